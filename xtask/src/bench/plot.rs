//! `cargo xtask bench --plot`: time against size over four decades for three kernels, as an SVG.
//!
//! The launches are those of the table with another `n`. A slope of one is time in proportion to size; what a launch
//! costs at all is the flat part at the left.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result};

use super::sides::Tilescope;
use super::table::{self, seconds};

const PICTURE: &str = "docs/benchmarks.svg";

/// A kernel, the launch file it comes from, and what in that file is replaced by the size.
struct Series {
    label: &'static str,
    launch: &'static str,
    from: &'static str,
    to: fn(u64) -> String,
    color: &'static str,
}

const SERIES: [Series; 3] = [
    Series {
        label: "one_element: elements, a program each",
        launch: "one_element-1048576",
        from: "n = 1048576",
        to: |n| format!("n = {n}"),
        color: "#c2410c",
    },
    Series {
        label: "softmax: elements, in rows of 1024",
        launch: "softmax-4096x4096",
        from: "n_rows = 4096\nn_cols = 4096",
        to: |n| format!("n_rows = {}\nn_cols = 1024", n / 1024),
        color: "#047857",
    },
    Series {
        label: "vadd: elements, in programs of 1024",
        launch: "vadd-4194304",
        from: "n = 4194304",
        to: |n| format!("n = {n}"),
        color: "#1d4ed8",
    },
];

/// Sizes: powers of two, four decades and a little more.
const EXPONENTS: std::ops::RangeInclusive<u32> = 10..=24;
/// No more programs than this: it is what is promised.
const LARGEST_GRID: u64 = 1 << 22;

/// Points of a line: size, seconds.
type Points = Vec<(f64, f64)>;

/// Where the page says how time grows with the grid.
const BEGIN: &str = "<!-- cargo xtask bench --plot: begin -->\n";
const END: &str = "<!-- cargo xtask bench --plot: end -->\n";

/// Measures and draws, and tells the page what a program takes in grids of all sizes.
pub fn run(root: &Path, folder: &Path, tilescope: &Tilescope) -> Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let mut lines = Vec::new();
    for series in &SERIES {
        lines.push(points(root, folder, tilescope, series)?);
    }
    let path = root.join(PICTURE);
    std::fs::write(&path, picture(&lines)).with_context(|| format!("cannot write {PICTURE}"))?;
    println!("wrote {PICTURE}");
    let growth = growth(lines.first().map_or(&[], |points| &points[..]));
    println!("\n{growth}");
    table::write_between(root, BEGIN, END, &growth)?;
    Ok(())
}

/// What a program of one element takes in grids of all sizes, as a table.
fn growth(points: &[(f64, f64)]) -> String {
    let mut table = String::from("| programs of one element | time | of each |\n|---:|---:|---:|\n");
    for &(programs, time) in points {
        let each = time / programs * 1e9;
        let _ = writeln!(
            table,
            "| 2^{:.0} | {} | {each:.0} ns |",
            programs.log2(),
            seconds(time)
        );
    }
    table
}

fn points(root: &Path, folder: &Path, tilescope: &Tilescope, series: &Series) -> Result<Points> {
    let kernels = root.join("xtask/bench/kernels");
    let file = format!("{}.launch.toml", series.launch);
    let text = std::fs::read_to_string(kernels.join(&file)).with_context(|| format!("cannot read {file}"))?;
    let kernel = format!("{}.ttir", series.launch);
    std::fs::copy(kernels.join(&kernel), folder.join(&kernel))?;
    let mut points = Points::new();
    for size in EXPONENTS.map(|exponent| 1u64 << exponent) {
        if series.launch.starts_with("one_element") && size > LARGEST_GRID {
            break;
        }
        let replaced = text.replace(series.from, &(series.to)(size));
        // The rows of the softmax are padded to a power of two.
        let launch = folder.join(&file);
        std::fs::write(&launch, replaced.replace("BLOCK = 4096", "BLOCK = 1024"))?;
        let time = tilescope.check(&launch)?;
        println!("{} {size}: {}", series.launch, seconds(time));
        points.push((size as f64, time));
    }
    Ok(points)
}

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 440.0;
/// Room beside the axes: left, right, top, bottom.
const ROOM: [f64; 4] = [70.0, 20.0, 20.0, 50.0];

/// Decades of both axes.
struct Axes {
    size: [i32; 2],
    time: [i32; 2],
}

impl Axes {
    fn of(lines: &[Points]) -> Axes {
        let decades = |value: fn(&(f64, f64)) -> f64| {
            let all = || lines.iter().flatten().map(|point| value(point).log10());
            let (low, high) = (all().fold(f64::MAX, f64::min), all().fold(f64::MIN, f64::max));
            [low.floor() as i32, high.ceil() as i32]
        };
        Axes {
            size: decades(|point| point.0),
            time: decades(|point| point.1),
        }
    }

    fn x(&self, size: f64) -> f64 {
        let [left, right, ..] = ROOM;
        let [low, high] = self.size.map(f64::from);
        left + (size.log10() - low) / (high - low) * (WIDTH - left - right)
    }

    fn y(&self, time: f64) -> f64 {
        let [_, _, top, bottom] = ROOM;
        let [low, high] = self.time.map(f64::from);
        HEIGHT - bottom - (time.log10() - low) / (high - low) * (HEIGHT - top - bottom)
    }
}

fn picture(lines: &[Points]) -> String {
    let axes = Axes::of(lines);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" \
         font-size=\"13\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
    );
    grid(&mut svg, &axes);
    for (i, (points, series)) in lines.iter().zip(&SERIES).enumerate() {
        let path: Vec<String> = points
            .iter()
            .map(|&(size, time)| format!("{:.1},{:.1}", axes.x(size), axes.y(time)))
            .collect();
        let color = series.color;
        let _ = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"2\"/>",
            path.join(" ")
        );
        let y = ROOM[2] + 20.0 + 20.0 * i as f64;
        let x = ROOM[0] + 14.0;
        let _ = writeln!(
            svg,
            "<rect x=\"{x}\" y=\"{}\" width=\"14\" height=\"4\" fill=\"{color}\"/><text x=\"{}\" y=\"{y}\">{}</text>",
            y - 6.0,
            x + 20.0,
            series.label
        );
    }
    svg + "</svg>\n"
}

/// Decades as thin lines with their labels.
fn grid(svg: &mut String, axes: &Axes) {
    let [left, right, top, bottom] = ROOM;
    for decade in axes.size[0]..=axes.size[1] {
        let x = axes.x(10f64.powi(decade));
        let _ = writeln!(
            svg,
            "<path d=\"M{x:.1} {top}V{}\" stroke=\"#ddd\"/><text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">10<tspan \
             dy=\"-5\" font-size=\"9\">{decade}</tspan></text>",
            HEIGHT - bottom,
            HEIGHT - bottom + 18.0
        );
    }
    for decade in axes.time[0]..=axes.time[1] {
        let y = axes.y(10f64.powi(decade));
        let _ = writeln!(
            svg,
            "<path d=\"M{left} {y:.1}H{}\" stroke=\"#ddd\"/><text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            WIDTH - right,
            left - 8.0,
            y + 4.0,
            label(decade)
        );
    }
    let _ = writeln!(
        svg,
        "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">elements</text>",
        (left + WIDTH - right) / 2.0,
        HEIGHT - 10.0
    );
}

/// A decade of seconds.
fn label(decade: i32) -> String {
    match decade {
        ..-3 => format!("{} µs", 10f64.powi(decade + 6)),
        -3..0 => format!("{} ms", 10f64.powi(decade + 3)),
        0.. => format!("{} s", 10f64.powi(decade)),
    }
}
