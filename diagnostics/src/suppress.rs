//! Suppressions: findings that somebody knows and does not want to see, with the reason.
//!
//! One is a comment in the kernel's source, `# tilescope: ignore[id] reason`, on the line that a finding (or a call that
//! leads to it) stands on, or on the line of the kernel's `def`, for all of this kernel's findings of that kind. Or it is an
//! entry of a file, which [`Rule`] is the content of. A suppression never changes what is checked, and one that silences
//! nothing is told, so that none outlives its cause.

use std::sync::Arc;

use crate::render::Sources;
use crate::{Check, Error, Finding, Frame, Launched, Source, Suppressed, Unused, closest};

/// How a comment begins.
const MARK: &str = "# tilescope:";

/// A text with `*` for anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern(String);

/// Which findings of a check a rule is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Whose {
    /// Those of some kernels, at some lines, by the text of the lines without blanks around it; none: of all.
    Matching {
        /// The kernel's name.
        kernel: Option<Pattern>,
        /// The line's text.
        line: Option<Pattern>,
    },
    /// Those on the line of the rule.
    OfLine,
    /// Those of one kernel.
    OfKernel(String),
}

/// One suppression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// The check.
    pub check: Check,
    /// Which of its findings.
    pub whose: Whose,
    /// What a silenced finding says of it.
    pub by: Suppressed,
}

/// All suppressions of a command.
#[derive(Debug, Default)]
pub struct Suppressions {
    /// With: whether it silenced something.
    rules: Vec<(Rule, bool)>,
}

impl Pattern {
    /// A pattern as written.
    pub fn new(text: impl Into<String>) -> Pattern {
        Pattern(text.into())
    }

    /// True if the whole text is as the pattern says.
    pub fn matches(&self, text: &str) -> bool {
        let parts: Vec<&str> = self.0.split('*').collect();
        let [first, inner @ .., last] = parts.as_slice() else {
            return self.0 == text;
        };
        let Some(rest) = text.strip_prefix(first) else {
            return false;
        };
        let Some(mut rest) = rest.strip_suffix(last) else {
            return false;
        };
        for part in inner {
            match rest.find(part) {
                Some(at) => rest = &rest[at + part.len()..],
                None => return false,
            }
        }
        true
    }
}

impl Suppressions {
    /// Adds a rule, unless it is known.
    pub fn add(&mut self, rule: Rule) {
        if !self.rules.iter().any(|(known, _)| *known == rule) {
            self.rules.push((rule, false));
        }
    }

    /// Adds the comments of a file of kernels, those on lines that `is_run` knows or on the `def` of `kernel`.
    ///
    /// Gives what is wrong with comments there; those are left out.
    pub fn read_comments(
        &mut self,
        source: &Arc<Source>,
        kernel: &str,
        is_run: &dyn Fn(u32) -> bool,
    ) -> Vec<Box<Error>> {
        let mut errors = Vec::new();
        let mut offset = 0;
        for (number, line) in (1..).zip(source.text.split_inclusive('\n')) {
            let found = line.find(MARK).map(|at| offset + at);
            offset += line.len();
            let Some(start) = found else { continue };
            let whose = match defined(line) {
                Some(name) if name == kernel => Whose::OfKernel(name.to_string()),
                _ if is_run(number) => Whose::OfLine,
                _ => continue,
            };
            let end = start + line[line.find(MARK).unwrap_or(0)..].trim_end().len();
            match comment(source, start..end) {
                Ok((checks, reason)) => {
                    for check in checks {
                        let (whose, reason, file) = (whose.clone(), reason.clone(), source.name.clone());
                        let by = Suppressed {
                            reason,
                            file,
                            line: number,
                            in_source: true,
                        };
                        self.add(Rule { check, whose, by });
                    }
                }
                Err(error) => errors.push(error),
            }
        }
        errors
    }

    /// Takes the findings that are silenced out of those to report.
    pub fn apply(&mut self, launched: &mut Launched, sources: &dyn Sources) {
        if self.rules.is_empty() {
            return;
        }
        let (mut kept, mut silenced) = (Vec::new(), Vec::new());
        for mut finding in std::mem::take(&mut launched.findings) {
            let mut by = None;
            for (rule, used) in &mut self.rules {
                if rule.is_about(&finding, sources) {
                    *used = true;
                    by.get_or_insert_with(|| rule.by.clone());
                }
            }
            finding.suppressed = by;
            match finding.suppressed {
                Some(_) => silenced.push(finding),
                None => kept.push(finding),
            }
        }
        launched.findings = kept;
        launched.suppressed.extend(silenced);
    }

    /// True if a rule silences this finding; none counts as used by that.
    pub fn silences(&self, finding: &Finding, sources: &dyn Sources) -> bool {
        self.rules.iter().any(|(rule, _)| rule.is_about(finding, sources))
    }

    /// Those that silenced nothing.
    pub fn unused(&self) -> Vec<Unused> {
        let unused = self.rules.iter().filter(|(_, used)| !used);
        unused
            .map(|(rule, _)| Unused {
                check: rule.check,
                file: rule.by.file.clone(),
                line: rule.by.line,
            })
            .collect()
    }
}

impl Rule {
    fn is_about(&self, finding: &Finding, sources: &dyn Sources) -> bool {
        if self.check != finding.check {
            return false;
        }
        let frames = || {
            let location = finding.location.iter();
            location.flat_map(|l| std::iter::once(&l.frame).chain(&l.inlined_at))
        };
        match &self.whose {
            Whose::OfKernel(name) => *name == finding.kernel,
            Whose::OfLine => frames().any(|frame| {
                let here = |source: Arc<Source>| source.name == self.by.file;
                frame.line == self.by.line && sources.text(&frame.file).is_some_and(here)
            }),
            Whose::Matching { kernel, line } => {
                let of_kernel = |kernel: &Pattern| kernel.matches(&finding.kernel);
                let at_line = |line: &Pattern| {
                    let text = |frame: &Frame| {
                        let source = sources.text(&frame.file)?;
                        Some(source.line(frame.line as usize)?.trim().to_string())
                    };
                    frames().filter_map(text).any(|text| line.matches(&text))
                };
                kernel.as_ref().is_none_or(of_kernel) && line.as_ref().is_none_or(at_line)
            }
        }
    }
}

/// The function that a line defines.
fn defined(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix("def ")?.trim_start();
    rest.split_once('(').map(|(name, _)| name.trim_end())
}

/// `# tilescope: ignore[id, id] reason`: the checks and the reason.
fn comment(source: &Arc<Source>, span: std::ops::Range<usize>) -> Result<(Vec<Check>, String), Box<Error>> {
    const FORM: &str = "write `# tilescope: ignore[id] reason`";
    let text = source.text.get(span.clone()).unwrap_or_default();
    let wrong = |message: &str, label: &str| Error::input(message).at(source, span.clone(), label).help(FORM);
    let rest = text[MARK.len()..].trim_start();
    let Some((ids, reason)) = rest.strip_prefix("ignore[").and_then(|rest| rest.split_once(']')) else {
        return Err(wrong("this comment is no suppression", ""));
    };
    let mut checks = Vec::new();
    for id in ids.split(',').map(str::trim) {
        match Check::from_id(id) {
            Some(check) => checks.push(check),
            None => {
                let error = Error::input(format!("there is no check `{id}`")).at(source, span.clone(), "");
                return Err(match closest(id, Check::ALL.iter().map(|check| check.id())) {
                    Some(near) => error.help(format!("did you mean `{near}`?")),
                    None => error.help("`tilescope explain` lists all checks"),
                });
            }
        }
    }
    let reason = reason.trim();
    if reason.is_empty() {
        return Err(wrong("a suppression needs a reason", "say why this is no fault"));
    }
    Ok((checks, reason.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_anything() {
        let matches = |pattern: &str, text: &str| Pattern::new(pattern).matches(text);
        assert!(matches("softmax", "softmax") && !matches("softmax", "softmax_kernel"));
        assert!(matches("softmax*", "softmax_kernel") && matches("*", "") && matches("a*b*c", "aXbYbZc"));
        assert!(!matches("a*a", "a") && !matches("a*b*c", "acb") && !matches("", "x"));
    }

    fn comments(text: &str) -> (Suppressions, Vec<Box<Error>>) {
        let mut all = Suppressions::default();
        let errors = all.read_comments(&Source::new("k.py", text), "kernel", &|line| line == 2);
        (all, errors)
    }

    #[test]
    fn comments_are_read_on_lines_that_run_and_on_the_definition() {
        let text = "def kernel(x):  # tilescope: ignore[unwritten-output] by design\n    y = x  # tilescope: ignore[oob-load, nan-born] pad\n    # tilescope: ignore[oob-load] elsewhere\n";
        let (all, errors) = comments(text);
        assert!(errors.is_empty(), "{errors:?}");
        let read: Vec<(Check, u32)> = all.unused().iter().map(|u| (u.check, u.line)).collect();
        let expected = [
            (Check::UnwrittenOutput, 1),
            (Check::OobLoad, 2),
            (Check::NanBorn, 2),
        ];
        assert_eq!(read, expected);
    }

    #[test]
    fn comments_that_are_none_are_told() {
        for (line, message) in [
            ("# tilescope: ignore[oob-lode] x", "there is no check `oob-lode`"),
            ("# tilescope: ignore[oob-load]", "a suppression needs a reason"),
            ("# tilescope: ignore oob-load", "this comment is no suppression"),
            ("# tilescope: ignore[oob-load", "this comment is no suppression"),
        ] {
            let (_, errors) = comments(&format!("\nx = 1 {line}\n"));
            assert_eq!(errors.len(), 1);
            assert_eq!(errors[0].message, message);
        }
    }
}
