//! What findings count as: suppressions, from comments and files, and `--deny`.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use tilescope_diagnostics::render::Sources;
use tilescope_diagnostics::{
    Check, Error, Finding, Launched, Pattern, Result, Rule, Severity, Source, Suppressed, Suppressions,
    Unused, Whose, closest,
};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::args::{Denied, JudgeOptions};
use crate::engine::Opened;
use crate::files;

/// The keys of an entry of a file.
const KEYS: [&str; 4] = ["id", "kernel", "line", "reason"];

/// Judges the findings of all launches of a command.
#[derive(Debug)]
pub struct Judge<'a> {
    suppressions: Suppressions,
    denied: &'a [Denied],
    /// Comments that are wrong and were told: message and place.
    told: BTreeSet<(String, String, usize)>,
}

impl Judge<'_> {
    /// Reads the files of suppressions. What is wrong there is given, and does not keep the rest from being used.
    pub fn new(options: &JudgeOptions) -> (Judge<'_>, Vec<Box<Error>>) {
        let mut suppressions = Suppressions::default();
        let mut errors = Vec::new();
        for path in &options.suppress {
            match read(path) {
                Ok(entries) => entries.into_iter().for_each(|entry| match entry {
                    Ok(rule) => suppressions.add(rule),
                    Err(error) => errors.push(error),
                }),
                Err(error) => errors.push(error),
            }
        }
        let judge = Judge {
            suppressions,
            denied: &options.deny,
            told: BTreeSet::new(),
        };
        (judge, errors)
    }

    /// Takes out what is suppressed, and makes errors of what is denied. Gives comments that are wrong, each once.
    pub fn judge(&mut self, launched: &mut Launched, opened: &Opened, launch: usize) -> Vec<Box<Error>> {
        let errors = self.learn(&launched.kernel, opened, launch);
        self.suppressions.apply(launched, &opened.texts(launch));
        launched
            .findings
            .iter_mut()
            .for_each(|finding| self.deny(finding));
        errors
    }

    /// Reads the comments in the source of a launch. Gives those that are wrong, each once.
    pub fn learn(&mut self, kernel: &str, opened: &Opened, launch: usize) -> Vec<Box<Error>> {
        let texts = opened.texts(launch);
        let mut errors = Vec::new();
        for (file, lines) in opened.lines(launch) {
            if let Some(source) = texts.text(&file) {
                let is_run = |line: u32| lines.contains(&line);
                errors.extend(self.suppressions.read_comments(&source, kernel, &is_run));
            }
        }
        errors.retain(|error| {
            let label = error.labels.first();
            let place = label.map_or_else(Default::default, |l| (l.source.name.clone(), l.range.start));
            self.told.insert((error.message.clone(), place.0, place.1))
        });
        errors
    }

    /// Takes out what is known to be suppressed, and makes errors of what is denied.
    pub fn sift(&self, findings: &mut Vec<Finding>, opened: &Opened, launch: usize) {
        let texts = opened.texts(launch);
        findings.retain(|finding| !self.suppressions.silences(finding, &texts));
        findings.iter_mut().for_each(|finding| self.deny(finding));
    }

    fn deny(&self, finding: &mut Finding) {
        let is_denied = |denied: &Denied| match denied {
            Denied::Warnings => finding.severity == Severity::Warning,
            Denied::Check(check) => finding.check == *check,
        };
        if self.denied.iter().any(is_denied) {
            finding.severity = Severity::Error;
        }
    }

    /// Suppressions that silenced nothing.
    pub fn unused(&self) -> Vec<Unused> {
        self.suppressions.unused()
    }

    /// True if warnings count as errors.
    pub fn denies_warnings(&self) -> bool {
        self.denied.contains(&Denied::Warnings)
    }
}

/// Reads a file of suppressions: `[[suppress]]` tables with `id`, `reason` and, where not all kernels and lines are meant,
/// `kernel` and `line`. An entry that is wrong is an error of its own: it silences nothing, the others do.
///
/// # Errors
/// A file that cannot be read, or is no TOML.
fn read(path: &Path) -> Result<Vec<Result<Rule>>> {
    let name = path.display().to_string();
    let text = files::read_text(path).map_err(|why| {
        Error::input(format!("cannot read `{name}`: {why}"))
            .help("--suppress names a TOML file: docs/report.md says what is in it")
    })?;
    let source = Source::new(name, text);
    let root = DeTable::parse(&source.text).map_err(|error| {
        let span = error.span().unwrap_or(0..0);
        let message = error.message().lines().next().unwrap_or("syntax error");
        Error::input(format!("not TOML: {message}")).at(&source, span, "")
    })?;
    let mut rules = Vec::new();
    for (key, value) in root.into_inner() {
        if key.get_ref() != "suppress" {
            let error = Error::input(format!("unknown key `{}`", key.get_ref()));
            rules.push(Err(error
                .at(&source, key.span(), "")
                .help("entries are written [[suppress]]")));
            continue;
        }
        let span = value.span();
        let DeValue::Array(entries) = value.into_inner() else {
            let error = Error::input("`suppress` must be a list of tables");
            rules.push(Err(error
                .at(&source, span, "")
                .help("write [[suppress]] before each entry")));
            continue;
        };
        for entry in entries {
            rules.push(rule(&source, entry));
        }
    }
    Ok(rules)
}

fn rule(source: &Arc<Source>, entry: Spanned<DeValue<'_>>) -> Result<Rule> {
    let span = entry.span();
    let DeValue::Table(entries) = entry.into_inner() else {
        return Err(Error::input("a suppression must be a table").at(source, span, ""));
    };
    let mut values: [Option<(String, std::ops::Range<usize>)>; 4] = Default::default();
    for (key, value) in entries {
        let (key_span, span) = (key.span(), value.span());
        let key = key.into_inner();
        let Some(index) = KEYS.iter().position(|known| **known == *key) else {
            let error = Error::input(format!("unknown key `{key}`")).at(source, key_span, "");
            return Err(match closest(&key, KEYS) {
                Some(near) => error.help(format!("did you mean `{near}`?")),
                None => error.note(format!("the keys are {}", KEYS.join(", "))),
            });
        };
        let DeValue::String(text) = value.into_inner() else {
            return Err(Error::input(format!("`{key}` must be a string")).at(source, span, ""));
        };
        values[index] = Some((text.into_owned(), span));
    }
    let [id, kernel, line, reason] = values;
    let missing = |what: &str| {
        Error::input(format!("a suppression needs `{what}`")).at(source, span.clone(), "in this entry")
    };
    let (id, id_span) = id.ok_or_else(|| missing("id"))?;
    let check = Check::from_id(&id).ok_or_else(|| {
        let error = Error::input(format!("there is no check `{id}`")).at(source, id_span, "");
        match closest(&id, Check::ALL.iter().map(|check| check.id())) {
            Some(near) => error.help(format!("did you mean `{near}`?")),
            None => error.help("`tilescope explain` lists all checks"),
        }
    })?;
    let (reason, _) = reason
        .filter(|(reason, _)| !reason.trim().is_empty())
        .ok_or_else(|| missing("reason").help("say why this is no fault"))?;
    let pattern = |value: Option<(String, _)>| value.map(|(text, _)| Pattern::new(text));
    Ok(Rule {
        check,
        whose: Whose::Matching {
            kernel: pattern(kernel),
            line: pattern(line),
        },
        by: Suppressed {
            reason,
            file: source.name.clone(),
            line: u32::try_from(source.line_column(span.start).0).unwrap_or(u32::MAX),
            in_source: false,
        },
    })
}
