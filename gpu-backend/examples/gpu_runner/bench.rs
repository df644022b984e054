//! Times launches over numbers of warps: graphs of many calls that rotate over buffers larger than the cache, device events, medians.
//!
//! Beside ours stands Triton's code of the same launches, compiled by the Triton of a Python: in the same process, on the same buffers,
//! with the same timer. Of several block sizes of one problem (`NAME-b1024`, `NAME-b2048`, …) and numbers of warps the best counts, for
//! both; the outputs of both are compared.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use tilescope_gpu_backend::Options;
use tilescope_gpu_backend::device::{Buffers, Device};
use tilescope_gpu_backend::nvrtc::Nvrtc;
use tilescope_launch::{Dtype, Role};

use crate::{Arguments, Built, build, case, finish, in_parallel, name_of, text};

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

/// The best way to run a problem.
#[derive(Clone, Copy)]
struct Best<'b> {
    us: f64,
    built: &'b Built,
    warps: u32,
    path: &'b PathBuf,
}

impl Best<'_> {
    fn how(&self) -> String {
        format!("{} w{}", name_of(self.path), self.warps)
    }
}

/// A variant of a launch: compiled by us or by Triton, for a number of warps.
struct Variant<'p> {
    path: &'p PathBuf,
    warps: u32,
    ours: bool,
    built: Built,
}

/// Compiles all launches for all numbers of warps, by both compilers; says what failed.
fn compile_all<'p>(
    arguments: &Arguments,
    nvrtc: &Nvrtc,
    architecture: &str,
    launches: &'p [PathBuf],
) -> Vec<Variant<'p>> {
    let mut jobs: Vec<(&PathBuf, u32, bool)> = Vec::new();
    for ours in [true, false] {
        if ours || arguments.python.is_some() {
            jobs.extend(
                launches
                    .iter()
                    .flat_map(|path| WARPS.map(|warps| (path, warps, ours))),
            );
        }
    }
    let built = in_parallel(&jobs, |&(path, warps, ours)| {
        let options = Options {
            warps: Some(warps),
            ..Options::default()
        };
        match (ours, &arguments.python) {
            (false, Some(python)) => crate::triton::build(python, architecture, path, warps),
            _ => build(nvrtc, architecture, path, &[], options).map_err(|trouble| trouble.to_string()),
        }
    });
    let mut variants = Vec::new();
    for ((path, warps, ours), built) in jobs.into_iter().zip(built) {
        match built {
            // More warps than asked for, where the tile is large: the same code again.
            Ok(built) if ours && built.generated.threads != 32 * warps => {}
            Ok(built) => variants.push(Variant {
                path,
                warps,
                ours,
                built,
            }),
            Err(why) => println!(
                "{:28} w{warps} {}: {why}",
                name_of(path),
                if ours { "ours" } else { "Triton" }
            ),
        }
    }
    variants
}

/// The tensors of a launch as a kernel leaves them, from the same data for every kernel.
fn outputs(device: &Device, built: &Built) -> Result<Vec<Vec<u8>>, String> {
    let tensors = built.case.bound.tensors();
    let mut buffers = device.blank(tensors, &pattern).map_err(text)?;
    device
        .scratch(&mut buffers, &built.generated, built.case.launch())
        .map_err(text)?;
    let loaded = device.load(&built.generated, &built.image).map_err(text)?;
    device
        .start(&loaded, &built.generated, built.case.launch(), &buffers)
        .map_err(text)?;
    finish(device).map_err(|trouble| trouble.to_string())?;
    tensors
        .iter()
        .enumerate()
        .filter(|(_, tensor)| tensor.role != Role::In)
        .map(|(index, _)| device.read(&buffers, index).map_err(text))
        .collect()
}

/// Whether two kernels of a launch leave the same outputs, up to what their types allow.
fn agree(device: &Device, ours: &Built, theirs: &Built) -> Result<(), String> {
    let (a, b) = (outputs(device, ours)?, outputs(device, theirs)?);
    let written = ours.case.bound.tensors().iter().filter(|t| t.role != Role::In);
    for (tensor, (a, b)) in written.zip(a.iter().zip(&b)) {
        if let Some(why) = case::difference(tensor.dtype, b, a) {
            return Err(format!("`{}`: {why}", tensor.name));
        }
    }
    Ok(())
}

/// Runs all and prints the table.
pub fn run(arguments: &Arguments, nvrtc: &Nvrtc, launches: &[PathBuf]) -> Result<bool, String> {
    let began = Instant::now();
    let device = Device::open(0).map_err(text)?;
    let variants = compile_all(arguments, nvrtc, &device.architecture(), launches);
    println!("compiled after {:.0} s", began.elapsed().as_secs_f64());
    let mut best: BTreeMap<(String, bool), Best<'_>> = BTreeMap::new();
    let mut by_path: BTreeMap<&PathBuf, Vec<&Variant<'_>>> = BTreeMap::new();
    for variant in &variants {
        by_path.entry(variant.path).or_default().push(variant);
    }
    for (path, variants) in &by_path {
        if began.elapsed().as_secs() > arguments.limit {
            println!("out of time before {}", name_of(path));
            break;
        }
        let name = name_of(path);
        let Some(first) = variants.first() else { continue };
        let bytes = bytes_of(&first.built);
        let count = ROTATION.div_ceil(bytes.max(1)).clamp(1, 64);
        let tensors = first.built.case.bound.tensors();
        let sets: Result<Vec<Buffers>, _> = (0..count).map(|_| device.blank(tensors, &pattern)).collect();
        let sets = sets.map_err(text)?;
        for variant in variants {
            let (warps, side) = (variant.warps, if variant.ours { "ours" } else { "Triton" });
            let us = match time(&device, &variant.built, &sets, 9) {
                Ok(us) => us,
                Err(why) => {
                    println!("{name:28} w{warps} {side}: {why}");
                    continue;
                }
            };
            let r = variant.built.image.resources;
            println!(
                "  {name:28} w{warps:<2} {side:6} {us:9.2} us {:7.0} GB/s, {} registers, stack {}",
                bytes as f64 / us / 1e3,
                r.registers,
                r.stack
            );
            let found = Best {
                us,
                built: &variant.built,
                warps,
                path: variant.path,
            };
            let entry = best.entry((problem(&name), variant.ours)).or_insert(found);
            if us < entry.us {
                *entry = found;
            }
        }
    }
    Ok(table(&device, &best, &variants))
}

/// Prints the table; false where outputs differ.
fn table(device: &Device, best: &BTreeMap<(String, bool), Best<'_>>, variants: &[Variant<'_>]) -> bool {
    let mut all = true;
    println!(
        "{:22} {:>9} {:>6} {:>9} {:>6}  {:8}  how",
        "problem", "us", "GB/s", "Triton us", "ratio", "outputs"
    );
    for ((problem, _), row) in best.iter().filter(|((_, ours), _)| *ours) {
        let other = best.get(&(problem.clone(), false));
        let (triton, how) = match other {
            Some(other) => (format!("{:9.2} {:6.3}", other.us, other.us / row.us), other.how()),
            None => (format!("{:>9} {:>6}", "-", "-"), String::new()),
        };
        // Variants of a problem may have outputs of other shapes, so Triton's code of the same launch is compared with.
        let same = variants.iter().find(|v| !v.ours && v.path == row.path);
        let outputs = match same.map(|theirs| agree(device, row.built, &theirs.built)) {
            None => String::from("-"),
            Some(Ok(())) => String::from("equal"),
            Some(Err(why)) => {
                all = false;
                format!("DIFFER: {why}")
            }
        };
        println!(
            "{problem:22} {:9.2} {:6.0} {triton}  {outputs:8}  {} | {how}",
            row.us,
            bytes_of(row.built) as f64 / row.us / 1e3,
            row.how()
        );
    }
    all
}
