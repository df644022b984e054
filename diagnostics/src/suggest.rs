//! "Did you mean": the known word nearest to one that is not known.

/// The candidate nearest to `word`, if one is near enough to be a slip of the keyboard.
///
/// Near enough is an edit distance (insert, delete, replace, swap neighbours) of at most a third of
/// the word's length, and at least one; a difference in case alone always is. The first wins a tie. Else it is the
/// only candidate that the word is the beginning of, up to a `_`: `out` for `out_ptr`.
pub fn closest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    const LONGEST: usize = 64;
    let letters: Vec<char> = word.chars().take(LONGEST + 1).collect();
    if letters.len() > LONGEST {
        return None;
    }
    let allowed = (letters.len() / 3).max(1);
    let mut best: Option<(usize, &str)> = None;
    let (mut begun, mut several) = (None, false);
    for candidate in candidates {
        if candidate
            .strip_prefix(word)
            .is_some_and(|rest| rest.starts_with('_'))
        {
            several |= begun.is_some();
            begun = Some(candidate).filter(|_| !several);
        }
        let distance = if candidate.eq_ignore_ascii_case(word) {
            0
        } else {
            let other: Vec<char> = candidate.chars().take(LONGEST + 1).collect();
            if other.len().abs_diff(letters.len()) > allowed {
                continue;
            }
            edit_distance(&letters, &other)
        };
        // A one-letter word is near to every other one: say nothing.
        let slip = distance <= allowed && distance < letters.len();
        if slip && best.is_none_or(|(d, _)| distance < d) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate).or(begun)
}

/// Optimal string alignment distance, three rows at a time.
fn edit_distance(a: &[char], b: &[char]) -> usize {
    let mut before = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, &x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, &y) in b.iter().enumerate() {
            let mut cost = (last[j] + usize::from(x != y))
                .min(last[j + 1] + 1)
                .min(row[j] + 1);
            if i > 0 && j > 0 && x == b[j - 1] && y == a[i - 1] {
                cost = cost.min(before[j - 1] + 1);
            }
            row.push(cost);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::closest;

    #[test]
    fn slips_are_found_and_strangers_are_not() {
        let known = ["n_cols", "n_rows", "grid", "stride"];
        assert_eq!(closest("n_col", known), Some("n_cols"));
        assert_eq!(closest("N_COLS", known), Some("n_cols"));
        assert_eq!(closest("gird", known), Some("grid"));
        assert_eq!(closest("batch", known), None);
        assert_eq!(closest("x", ["y"]), None);
        assert_eq!(closest("out", ["x_ptr", "out_ptr"]), Some("out_ptr"));
        assert_eq!(closest("x", ["x_ptr", "x_stride"]), None);
        assert_eq!(closest("", known), None);
        assert_eq!(closest(&"a".repeat(100_000), known), None);
    }
}
