//! What elements that were not written have in common, in words.
//!
//! A pattern is told where it holds of all of them and of no other element: the tail, neighbouring elements, or a
//! choice of indices along each dimension (a range, or every so many). Anything else is told by its first and last
//! element only.

use std::ops::Range;

/// Ranges of one length in steps of one length; the last may be shorter where the dimension ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stripes {
    first: i64,
    width: i64,
    step: i64,
    count: i64,
    /// One past the last index.
    end: i64,
    /// They are such ranges.
    regular: bool,
}

impl Stripes {
    /// None yet.
    pub const NONE: Stripes = Stripes {
        first: 0,
        width: 0,
        step: 0,
        count: 0,
        end: 0,
        regular: true,
    };

    /// Adds indices behind those that are known, which may continue the last range.
    pub fn add(&mut self, range: Range<i64>) {
        let last = self.first + self.step * (self.count - 1).max(0);
        let width = range.end - range.start;
        if self.count == 0 {
            (self.first, self.width, self.count) = (range.start, width, 1);
        } else if range.start == self.end {
            let whole = range.end - last;
            if self.count == 1 {
                self.width = whole;
            }
            self.regular &= whole <= self.width;
        } else {
            // A short one is the last.
            self.regular &= self.end - last == self.width;
            if self.count == 1 {
                self.step = range.start - self.first;
            }
            self.regular &= range.start == last + self.step && width <= self.width;
            self.count += 1;
        }
        self.end = range.end;
    }

    /// How many indices; none where there is no pattern, given the length of the dimension.
    pub fn size(&self, len: i64) -> Option<i64> {
        let last = self.end - (self.first + self.step * (self.count - 1));
        let cut = self.width - last;
        (self.regular && (cut == 0 || self.end == len)).then_some(self.width * self.count - cut)
    }

    fn is_all(&self, len: i64) -> bool {
        self.count == 1 && self.first == 0 && self.end == len
    }

    /// As a subscript of NumPy's, where it is one.
    fn subscript(&self, len: i64) -> Option<String> {
        let last = self.first + self.step * (self.count - 1);
        let goes_on = |step: i64| last + step >= len;
        Some(match (self.count, self.width) {
            _ if self.is_all(len) => ":".into(),
            (1, 1) => self.first.to_string(),
            (1, _) if self.end == len => format!("{}:", self.first),
            (1, _) => format!("{}:{}", self.first, self.end),
            (_, 1) if goes_on(self.step) => format!("{}::{}", self.first, self.step),
            (_, 1) => format!("{}:{}:{}", self.first, self.end, self.step),
            _ => return None,
        })
    }

    /// In words, given those for one index and for many: `rows 3 to 5`.
    fn words(&self, [one, many]: [&str; 2], len: i64) -> String {
        let last = self.first + self.step * (self.count - 1);
        let reach = |from: i64| match last + self.step >= len {
            true => format!("from {from} on"),
            false => format!("from {from} to {}", self.end - 1),
        };
        match (self.count, self.width) {
            (1, 1) => format!("{one} {}", self.first),
            (1, _) if self.end == len => format!("{many} from {} on", self.first),
            (1, _) => format!("{many} {} to {}", self.first, self.end - 1),
            (_, 1) => format!("every {} {one} {}", ordinal(self.step), reach(self.first)),
            _ => format!(
                "{} of every {} {many}, {}",
                self.width,
                self.step,
                reach(self.first)
            ),
        }
    }
}

fn ordinal(n: i64) -> String {
    let ending = match (n % 10, n % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{n}{ending}")
}

const ROWS: [&str; 2] = ["row", "rows"];
const COLUMNS: [&str; 2] = ["column", "columns"];

/// A choice of indices along each dimension of a tensor called `name`.
pub fn words(name: &str, shape: &[i64], chosen: &[Stripes]) -> String {
    let all = |d: usize| {
        chosen
            .get(d)
            .zip(shape.get(d))
            .is_some_and(|(c, &len)| c.is_all(len))
    };
    let subscripts: Option<Vec<String>> = chosen
        .iter()
        .zip(shape)
        .map(|(stripes, &len)| stripes.subscript(len))
        .collect();
    let subscript = subscripts.map(|list| format!("{name}[{}]", list.join(", ")));
    let told = match (shape, chosen) {
        ([len], [stripes]) => stripes.words(["element", "elements"], *len),
        ([rows, _], [row, _]) if all(1) => format!("whole rows: {}", row.words(ROWS, *rows)),
        ([_, columns], [_, column]) if all(0) => format!("{} of every row", column.words(COLUMNS, *columns)),
        ([rows, columns], [row, column]) => {
            format!(
                "{} of {}",
                column.words(COLUMNS, *columns),
                row.words(ROWS, *rows)
            )
        }
        _ => {
            let some = chosen.iter().zip(shape).enumerate().filter(|&(d, _)| !all(d));
            let each = some.map(|(d, (stripes, &len))| {
                format!("{} of dimension {d}", stripes.words(["index", "indices"], len))
            });
            each.collect::<Vec<_>>().join(", ")
        }
    };
    match subscript {
        Some(subscript) if shape.len() > 1 => format!("{told} ({subscript})"),
        _ => told,
    }
}

#[cfg(test)]
#[allow(
    clippy::single_range_in_vec_init,
    reason = "holes are lists of ranges, some of one"
)]
mod tests {
    use super::*;

    fn stripes(ranges: &[Range<i64>]) -> Stripes {
        let mut stripes = Stripes::NONE;
        ranges.iter().for_each(|range| stripes.add(range.clone()));
        stripes
    }

    fn one(len: i64, ranges: &[Range<i64>]) -> Option<String> {
        let stripes = stripes(ranges);
        stripes.size(len).map(|size| {
            assert_eq!(size, ranges.iter().map(|r| r.end - r.start).sum::<i64>());
            words("y", &[len], &[stripes])
        })
    }

    #[test]
    fn regular_ranges_have_words() {
        let told = |len: i64, ranges: &[Range<i64>]| one(len, ranges).expect("a pattern");
        assert_eq!(told(10, &[3..4]), "element 3");
        assert_eq!(told(10, &[3..4, 4..6]), "elements 3 to 5");
        assert_eq!(told(10, &[7..10]), "elements from 7 on");
        assert_eq!(told(10, &[1..2, 4..5, 7..8]), "every 3rd element from 1 on");
        assert_eq!(told(20, &[1..2, 4..5, 7..8]), "every 3rd element from 1 to 7");
        assert_eq!(told(22, &[3..4, 14..15]), "every 11th element from 3 on");
        assert_eq!(
            told(16, &[2..4, 6..8, 10..12, 14..16]),
            "2 of every 4 elements, from 2 on"
        );
        assert_eq!(
            told(15, &[2..4, 6..8, 10..12, 14..15]),
            "2 of every 4 elements, from 2 on"
        );
        assert_eq!(told(99, &[2..4, 6..8]), "2 of every 4 elements, from 2 to 7");
        assert_eq!(
            told(20, &[1..3, 5..6, 6..7, 9..11]),
            "2 of every 4 elements, from 1 to 10"
        );
    }

    #[test]
    fn irregular_ranges_have_none() {
        assert_eq!(one(20, &[1..2, 4..5, 8..9]), None);
        assert_eq!(one(20, &[1..2, 4..6]), None);
        assert_eq!(one(20, &[1..3, 4..5]), None);
        assert_eq!(one(20, &[1..3, 4..5, 7..9]), None);
        assert_eq!(one(20, &[1..3, 5..6, 6..8, 9..11]), None);
    }

    #[test]
    fn dimensions_are_told_one_by_one() {
        let (rows, columns) = (stripes(&[1..2, 3..4]), stripes(&[0..8]));
        assert_eq!(
            words("y", &[5, 8], &[rows, columns]),
            "whole rows: every 2nd row from 1 on (y[1::2, :])"
        );
        let columns = stripes(&[6..8]);
        assert_eq!(
            words("y", &[5, 8], &[stripes(&[0..5]), columns]),
            "columns from 6 on of every row (y[:, 6:])"
        );
        assert_eq!(
            words("y", &[5, 8], &[stripes(&[4..5]), columns]),
            "columns from 6 on of row 4 (y[4, 6:])"
        );
        assert_eq!(
            words(
                "y",
                &[2, 5, 8],
                &[stripes(&[1..2]), stripes(&[0..5]), stripes(&[2..6])]
            ),
            "index 1 of dimension 0, indices 2 to 5 of dimension 2 (y[1, :, 2:6])"
        );
    }
}
