//! A layout for people: what each bit of register and thread number adds, and a corner of the tile.

use super::{LANE_BITS, Layout};

/// Rows and columns of the corner that is drawn.
const ROWS: usize = 16;
const COLUMNS: usize = 16;

/// The coordinates of a row-major index.
fn coordinates(shape: &[usize], index: usize) -> Vec<usize> {
    let mut rest = index;
    let mut at = vec![0; shape.len()];
    for (slot, &n) in at.iter_mut().zip(shape).rev() {
        *slot = rest % n.max(1);
        rest /= n.max(1);
    }
    at
}

fn list(numbers: &[usize]) -> String {
    let words: Vec<String> = numbers.iter().map(usize::to_string).collect();
    words.join(", ")
}

/// Text of a layout of tiles of a shape. A cell says `thread.register`, the lowest that holds the element; of more than two
/// dimensions the first two-dimensional part is drawn.
pub fn picture(shape: &[usize], layout: &Layout) -> String {
    let mut text = format!(
        "tile of shape [{}]: {} registers in each of {} threads\n",
        list(shape),
        layout.registers(),
        layout.thread_count()
    );
    let elements: usize = shape.iter().product();
    let mut row = |name: String, base: u32| {
        let at = match base {
            0 => String::from("the same element again"),
            _ => format!("({})", list(&coordinates(shape, base as usize))),
        };
        text.push_str(&format!("  {name:14} {at}\n"));
    };
    for (bit, &base) in layout.regs.iter().enumerate() {
        row(format!("register + {}", 1 << bit), base);
    }
    for (bit, &base) in layout.threads.iter().enumerate() {
        let name = match bit.checked_sub(LANE_BITS) {
            None => format!("lane + {}", 1 << bit),
            Some(bit) => format!("warp + {}", 1 << bit),
        };
        row(name, base);
    }
    let mut holder: Vec<Option<(usize, usize)>> = vec![None; elements];
    for register in (0..layout.registers()).rev() {
        for thread in (0..layout.thread_count()).rev() {
            let element = layout.element(register as u32, thread as u32) as usize;
            if let Some(slot) = holder.get_mut(element) {
                *slot = Some((thread, register));
            }
        }
    }
    let width = shape.last().copied().unwrap_or(1);
    let height = match shape {
        [.., height, _] => *height,
        _ => 1,
    };
    let cell = |y: usize, x: usize| match holder.get(y * width + x) {
        Some(Some((thread, register))) => format!("{thread}.{register}"),
        _ => String::from("-"),
    };
    for y in 0..height.min(ROWS) {
        let cells: Vec<String> = (0..width.min(COLUMNS))
            .map(|x| format!("{:>7}", cell(y, x)))
            .collect();
        let more = if width > COLUMNS { "  ..." } else { "" };
        text.push_str(&format!("{}{more}\n", cells.concat()));
    }
    if height > ROWS {
        text.push_str("    ...\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_layout_is_drawn_whole() {
        let layout = Layout {
            regs: vec![1],
            threads: vec![2, 4, 0],
        };
        let expected = "\
tile of shape [2, 4]: 2 registers in each of 8 threads
  register + 1   (0, 1)
  lane + 1       (0, 2)
  lane + 2       (1, 0)
  lane + 4       the same element again
    0.0    0.1    1.0    1.1
    2.0    2.1    3.0    3.1
";
        assert_eq!(picture(&[2, 4], &layout), expected);
    }
}
