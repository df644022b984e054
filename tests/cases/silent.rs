//! No false alarms: every example launch at drawn sizes, with all checks that are on by default and its expected outputs.
//! Nothing may be found.
//!
//! A few small sizes each in every run; 200 each, over the whole ranges of the launch files, by
//! `cargo test --profile quick -p tilescope-cli --test cases -- --ignored silent/`. Seeds are fixed.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use libtest_mimic::{Failed, Trial};
use serde_json::Value;

use crate::{data, folders, name, said, scratch, tilescope};

/// Sizes of each launch in every run, and when asked for.
const FEW: usize = 3;
const MANY: usize = 200;

/// Largest value of a variable in the few sizes.
const SMALL: i64 = 90;

/// Launches in one call of the command.
const AT_ONCE: usize = 25;

pub fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for folder in folders(&data().join("../kernels")) {
        for launch in launches(&folder) {
            let test = name(&launch).replace(".launch.toml", "");
            let (small, all) = (launch.clone(), launch);
            trials.push(Trial::test(format!("silent_at_few_sizes/{test}"), move || {
                check(&small, FEW, SMALL)
            }));
            let many = move || check(&all, MANY, i64::MAX);
            trials.push(Trial::test(format!("silent/{test}"), many).with_ignored_flag(true));
        }
    }
    trials
}

fn launches(folder: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|file| file.path());
    let mut found: Vec<PathBuf> = files
        .filter(|path| name(path).ends_with(".launch.toml"))
        .collect();
    found.sort();
    found
}

fn check(launch: &Path, count: usize, most: i64) -> Result<(), Failed> {
    let text = std::fs::read_to_string(launch)?;
    let test = format!("silent_{count}_{}", name(launch));
    let folder = scratch(&test);
    let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ text.len() as u64);
    let mut sizes = Vec::new();
    for index in 0..count {
        let (drawn, said) = drawn(&text, launch, most, &mut random)?;
        std::fs::write(folder.join(format!("{index}.launch.toml")), drawn)?;
        sizes.push(said);
    }
    let mut wrong = String::new();
    for first in (0..count).step_by(AT_ONCE) {
        let names = (first..count.min(first + AT_ONCE)).map(|index| format!("{index}.launch.toml"));
        let mut command = tilescope(&folder);
        command.args(["check", "--format", "json"]).args(names);
        let output = command.output()?;
        let report: Value = serde_json::from_slice(&output.stdout).map_err(|_| said(&output))?;
        let launches = report["launches"].as_array().ok_or_else(|| said(&output))?;
        if let Some(errors) = report.get("errors") {
            let _ = writeln!(wrong, "{errors}");
        }
        for launched in launches {
            for finding in launched["findings"].as_array().into_iter().flatten() {
                let index = launched["launch"]
                    .as_str()
                    .and_then(|name| name.split('.').next());
                let size = index.and_then(|index| sizes.get(index.parse::<usize>().ok()?));
                let _ = writeln!(
                    wrong,
                    "{}: {} {}",
                    size.map_or("?", |s| s),
                    finding["id"],
                    finding["message"]
                );
            }
        }
    }
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(wrong.into()),
    }
}

/// The launch file with other values of its variables, and these in words.
fn drawn(text: &str, launch: &Path, most: i64, random: &mut Random) -> Result<(String, String), Failed> {
    let (mut file, mut sizes) = (String::new(), String::new());
    for line in text.lines() {
        if let Some(kernel) = line.strip_prefix("kernel = \"") {
            let folder = launch.parent().ok_or("no folder")?.canonicalize()?;
            writeln!(file, "kernel = \"{}/{kernel}", folder.display())?;
            continue;
        }
        match variable(line) {
            Some((name, low, high)) => {
                let value = random.size(low, high.min(most.max(low)));
                writeln!(file, "{name} = {{ value = {value}, range = [{low}, {high}] }}")?;
                write!(sizes, "{name}={value} ")?;
            }
            None => writeln!(file, "{line}")?,
        }
    }
    // Other data, too.
    let seed = random.next() % 1_000_000;
    write!(sizes, "seed={seed}")?;
    let file = match file.contains("\nseed") {
        true => file,
        false => file.replacen("\n[", &format!("\nseed = {seed}\n["), 1),
    };
    Ok((file, sizes))
}

/// The name and range of a variable that has one.
fn variable(line: &str) -> Option<(&str, i64, i64)> {
    let (name, rest) = line.split_once('=')?;
    let range = rest.split_once("range = [")?.1.split_once(']')?.0;
    let (low, high) = range.split_once(',')?;
    Some((name.trim(), low.trim().parse().ok()?, high.trim().parse().ok()?))
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A size within a range: half of them near powers of two, multiples of blocks and the ends; the others as often
    /// small as large.
    fn size(&mut self, low: i64, high: i64) -> i64 {
        let near = (self.next() % 3) as i64 - 1;
        let bits = self.next() % u64::from(((high - low).max(0) as u64 + 1).ilog2() + 1);
        let value = match self.next() % 6 {
            0 => low,
            1 => high,
            2 => (1i64 << (self.next() % 18)) + near,
            3 => 16 * (1 + (self.next() % 64) as i64) + near,
            _ => low + (self.next() % (2u64 << bits)) as i64,
        };
        value.clamp(low, high)
    }
}
