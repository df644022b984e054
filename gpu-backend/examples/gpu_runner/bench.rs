//! Times launches over numbers of warps: graphs of many calls that rotate over buffers larger than the cache, device events, medians.
//!
//! What `triton_bench.py` measured in the same session stands beside it: its JSON has the same names. Of several block sizes of
//! one problem (`NAME-b1024`, `NAME-b2048`, …) the best counts, for both.

use std::collections::BTreeMap;
use std::path::PathBuf;

use tilescope_gpu_backend::Options;
use tilescope_gpu_backend::device::{Buffers, Device};
use tilescope_gpu_backend::nvrtc::Nvrtc;
use tilescope_launch::Dtype;

use crate::{Arguments, Built, build, in_parallel, name_of, text};

/// Bytes touched before any buffer is touched again.
const ROTATION: usize = 256 << 20;

/// Numbers of warps that are tried.
const WARPS: [u32; 5] = [1, 2, 4, 8, 16];

/// The problem that a name is a variant of: without its last part, where that is a block size.
pub fn problem(name: &str) -> String {
    let parts: Vec<&str> = name.split('-').collect();
    let is_variant = |part: &str| {
        let digits = part.trim_start_matches(|c: char| c.is_ascii_alphabetic());
        part == "whole"
            || part.contains('x')
            || (part.starts_with(['b', 'l', 'n', 's'])
                && !digits.is_empty()
                && digits.chars().all(|c| c.is_ascii_digit()))
    };
    let kept = parts
        .iter()
        .enumerate()
        .take_while(|(i, part)| *i == 0 || !is_variant(part));
    kept.map(|(_, part)| *part)
        .collect::<Vec<&str>>()
        .join("-")
        .replace("dropout4", "dropout")
}

/// Bits of numbers between -1 and 1, or small integers.
fn pattern(dtype: Dtype) -> Vec<u8> {
    let mut state = 1u64;
    let mut bytes = Vec::new();
    while bytes.len() < 1 << 20 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let value = (state >> 40) as f64 / f64::from(1 << 23) - 1.0;
        let bits = match dtype.is_float() {
            true => dtype.encode_float(value),
            false => (state >> 50) & 0x3ff,
        };
        bytes.extend(&bits.to_le_bytes()[..dtype.bytes()]);
    }
    bytes
}

fn bytes_of(built: &Built) -> usize {
    let tensors = built.case.bound.tensors();
    tensors
        .iter()
        .map(|t| t.elements() as usize * t.dtype.bytes())
        .sum()
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}

fn time(device: &Device, built: &Built, sets: &[Buffers], repeats: usize) -> Result<f64, String> {
    let loaded = device.load(&built.generated, &built.image).map_err(text)?;
    let launch = built.case.launch();
    let mut start = |i: usize| device.start(&loaded, &built.generated, launch, &sets[i % sets.len()]);
    let one = median(device.time(sets.len(), 3, &mut start).map_err(text)?);
    let calls = ((2000.0 / one.max(1.0)) as usize)
        .clamp(sets.len(), 200)
        .next_multiple_of(sets.len());
    device.time(calls, repeats, &mut start).map(median).map_err(text)
}

/// A row of the table.
struct Row {
    us: f64,
    how: String,
    bytes: usize,
}

/// Runs all and prints the table.
pub fn run(arguments: &Arguments, nvrtc: &Nvrtc, launches: &[PathBuf]) -> Result<bool, String> {
    let device = Device::open(0).map_err(|e| e.message.clone())?;
    let architecture = device.architecture();
    let jobs: Vec<(PathBuf, u32)> = launches
        .iter()
        .flat_map(|p| WARPS.map(|w| (p.clone(), w)))
        .collect();
    let built = in_parallel(&jobs, |(path, warps)| {
        let options = Options {
            warps: Some(*warps),
            ..Options::default()
        };
        build(nvrtc, &architecture, path, &[], options)
    });
    let mut best: BTreeMap<String, Row> = BTreeMap::new();
    let mut by_path: BTreeMap<&PathBuf, Vec<(u32, &Built)>> = BTreeMap::new();
    for ((path, warps), built) in jobs.iter().zip(&built) {
        match built {
            // More warps than asked for, where the tile is large: the same code again.
            Ok(built) if built.generated.threads == 32 * warps => {
                by_path.entry(path).or_default().push((*warps, built))
            }
            Ok(_) => {}
            Err(why) => println!("{:28} w{warps}: {why}", name_of(path)),
        }
    }
    for (path, variants) in by_path {
        let name = name_of(path);
        let Some((_, first)) = variants.first() else {
            continue;
        };
        let tensors = first.case.bound.tensors();
        let bytes = bytes_of(first);
        let count = ROTATION.div_ceil(bytes.max(1)).clamp(1, 64);
        let sets: Result<Vec<Buffers>, _> = (0..count).map(|_| device.blank(tensors, &pattern)).collect();
        let sets = sets.map_err(|e| e.message.clone())?;
        for (warps, built) in variants {
            let us = match time(&device, built, &sets, 9) {
                Ok(us) => us,
                Err(why) => {
                    println!("{name:28} w{warps}: {why}");
                    continue;
                }
            };
            let r = built.image.resources;
            println!(
                "  {name:28} w{warps:<2} {us:9.2} us {:7.0} GB/s, {} registers, stack {}",
                bytes as f64 / us / 1e3,
                r.registers,
                r.stack
            );
            let row = Row {
                us,
                how: format!("{name} w{warps}"),
                bytes,
            };
            let entry = best.entry(problem(&name)).or_insert_with(|| Row {
                us: f64::INFINITY,
                how: String::new(),
                bytes,
            });
            if row.us < entry.us {
                *entry = row;
            }
        }
    }
    let beside = arguments
        .beside
        .as_ref()
        .and_then(|path| std::fs::read_to_string(path).ok());
    let beside: BTreeMap<String, (f64, String)> = beside.map(|text| times(&text)).unwrap_or_default();
    println!(
        "{:26} {:>10} {:>8} {:>10} {:>6}  how",
        "problem", "us", "GB/s", "Triton us", "ratio"
    );
    for (problem, row) in &best {
        let (triton, how) = match beside.get(problem) {
            Some((us, how)) => (format!("{us:10.2} {:6.3}", us / row.us), how.as_str()),
            None => (format!("{:>10} {:>6}", "-", "-"), ""),
        };
        println!(
            "{problem:26} {:10.2} {:8.0} {triton}  {} | {how}",
            row.us,
            row.bytes as f64 / row.us / 1e3,
            row.how
        );
    }
    Ok(true)
}

/// The best time of each problem in lines of `NAME TAB MICROSECONDS TAB HOW`.
fn times(text: &str) -> BTreeMap<String, (f64, String)> {
    let mut best: BTreeMap<String, (f64, String)> = BTreeMap::new();
    for line in text.lines() {
        let mut parts = line.split('\t');
        let (Some(name), Some(Ok(us)), how) =
            (parts.next(), parts.next().map(str::parse::<f64>), parts.next())
        else {
            continue;
        };
        let entry = best
            .entry(problem(name))
            .or_insert((f64::INFINITY, String::new()));
        if us < entry.0 {
            *entry = (us, format!("{name} {}", how.unwrap_or_default()));
        }
    }
    best
}
