//! The messages that `docs/rust-kernels.md` shows are those that its code gives; that the code runs, its doctests show.

use tilescope::{Kernel, check, out};

const PAGE: &str = include_str!("../../docs/rust-kernels.md");

/// The blocks of the page in a language.
fn blocks(language: &str) -> Vec<&'static str> {
    let mark = format!("\n```{language}\n");
    let rest = PAGE.split(mark.as_str()).skip(1);
    rest.filter_map(|rest| rest.split("```").next()).collect()
}

/// A message without file names and numbers of lines.
fn without_places(text: &str) -> String {
    let line = |line: &str| match (line.split_once("-->"), line.split_once('|')) {
        (Some(_), _) => String::from("-->"),
        (_, Some((number, code))) if number.trim().parse::<u32>().is_ok() || number.trim().is_empty() => {
            format!("| {}", code.trim())
        }
        // What a value was computed by is told with its line, too.
        _ => match line.split_once("  line ") {
            Some((value, place)) => {
                let place = place.trim_start_matches(|c: char| c.is_ascii_digit());
                format!("{}  line{place}", value.trim())
            }
            None => line.trim().to_string(),
        },
    };
    text.trim().lines().map(|text| line(text) + "\n").collect()
}

/// Whether the code of a block stands in this file, too.
fn stands_here(block: &str) {
    let here: Vec<&str> = include_str!("guide.rs").lines().map(str::trim).collect();
    for line in block
        .lines()
        .map(str::trim)
        .filter(|line| !line.starts_with("use "))
    {
        assert!(here.contains(&line), "{line}");
    }
}

#[test]
fn the_finding() {
    stands_here(blocks("rust")[1]);
    let double = Kernel::new("double", |k| {
        let (x_ptr, y_ptr) = (k.ptr::<f32>("x_ptr"), k.ptr::<f32>("y_ptr"));
        let n = k.scalar::<i32>("n");
        let offsets = k.program_id(0) * 64 + k.arange(0, 64);
        let x = k.load(x_ptr + offsets, None, None);
        k.store(y_ptr + offsets, x + x, offsets.lt(n));
    });
    let x = vec![1.0f32; 100];
    let mut y = vec![0.0f32; 100];
    let failure = check(&double, 2, (&x, out(&mut y), 100)).unwrap_err();
    assert!(failure.to_string().starts_with("error[oob-load]"));
    assert_eq!(
        without_places(&failure.to_string()),
        without_places(blocks("text")[0])
    );
}

#[test]
fn the_mistakes() {
    stands_here(blocks("rust")[2]);
    let wrong = Kernel::new("wrong", |k| {
        let rows = k.arange(0, 64);
        let cols = k.arange(0, 32);
        let sum = rows + cols;
        k.store(k.ptr::<f32>("p") + sum, sum.exp(), None);
        k.store(k.ptr::<i32>("q"), rows.exp(), None);
    });
    let refused = wrong.build().unwrap_err();
    assert_eq!(refused.errors().len(), 2);
    assert_eq!(
        without_places(&refused.to_string()),
        without_places(blocks("text")[1])
    );
}
