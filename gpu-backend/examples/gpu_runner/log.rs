//! The log of a test: a line when a case starts on the device, and one with its outcome. A run that was cut off is gone on with.

use std::collections::{BTreeMap, HashSet};
use std::io::Write;
use std::path::Path;

/// What came of a case.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// As the interpreter: registers, bytes of stack, seconds of compilation.
    Agrees(u32, u32, f64),
    /// Not so.
    Differs(String),
    /// No code is generated for it.
    Refused(String),
    /// It did not end.
    Hung,
}

/// The log, and what is in it.
pub struct Log {
    file: std::fs::File,
    /// Outcomes by case: its kernel and its sizes.
    pub outcomes: BTreeMap<(String, String), Outcome>,
}

impl Log {
    /// Opens a log; a case that was started and has no outcome hung.
    pub fn open(path: &Path) -> std::io::Result<Log> {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let file = std::fs::OpenOptions::new().create(true).append(true).open(path)?;
        let mut log = Log {
            file,
            outcomes: BTreeMap::new(),
        };
        let mut started: HashSet<(String, String)> = HashSet::new();
        for line in text.lines() {
            let parts: Vec<&str> = line.splitn(4, '\t').collect();
            let [kind, name, sizes, rest @ ..] = &parts[..] else {
                continue;
            };
            let key = (name.to_string(), sizes.to_string());
            let rest = rest.first().copied().unwrap_or_default();
            let outcome = match *kind {
                "starts" => {
                    started.insert(key);
                    continue;
                }
                "agrees" => {
                    let numbers: Vec<f64> = rest.split(' ').filter_map(|n| n.parse().ok()).collect();
                    let number = |i: usize| numbers.get(i).copied().unwrap_or(0.0);
                    Outcome::Agrees(number(0) as u32, number(1) as u32, number(2))
                }
                "differs" => Outcome::Differs(rest.into()),
                "refused" => Outcome::Refused(rest.into()),
                _ => Outcome::Hung,
            };
            started.remove(&key);
            log.outcomes.insert(key, outcome);
        }
        for (name, sizes) in started {
            log.end(&name, &sizes, Outcome::Hung);
        }
        Ok(log)
    }

    fn line(&mut self, line: &str) {
        // A log that cannot be written is seen by its absence.
        let _ = writeln!(self.file, "{line}").and_then(|()| self.file.flush());
    }

    /// Notes that a case starts on the device.
    pub fn start(&mut self, name: &str, sizes: &str) {
        self.line(&format!("starts\t{name}\t{sizes}"));
    }

    /// Notes what came of a case.
    pub fn end(&mut self, name: &str, sizes: &str, outcome: Outcome) {
        let (kind, rest) = match &outcome {
            Outcome::Agrees(registers, stack, seconds) => {
                ("agrees", format!("{registers} {stack} {seconds:.3}"))
            }
            Outcome::Differs(why) => ("differs", why.replace(['\n', '\t'], " ")),
            Outcome::Refused(why) => ("refused", why.replace(['\n', '\t'], " ")),
            Outcome::Hung => ("hung", String::new()),
        };
        self.line(&format!("{kind}\t{name}\t{sizes}\t{rest}"));
        self.outcomes.insert((name.into(), sizes.into()), outcome);
    }
}
