//! `tilescope diff LAUNCH`: many cases, each by every path; the first that differs, made small.

use anyhow::Result;
use tilescope_diagnostics::render::text;
use tilescope_diagnostics::{Error, Launched, Report};
use tilescope_difftest::case::{Case, Space, block_sizes};
use tilescope_difftest::judge::{Bench, Paths, Subject};
use tilescope_difftest::{Failure, Judge, Outcome, Verdict, search};
use tilescope_interpreter::Options;
use tilescope_kernels::REFERENCES;
use tilescope_launch::Overrides;

use super::refuse;
use crate::args::{Diff, Format, Global, Path};
use crate::engine::{self, Opened, Refused, Template, available_memory, cpu};
use crate::interrupt;
use crate::report::{Files, Out, document};
use crate::status::Status;
use crate::terminal::Terminal;

/// Elements of all tensors of a case together, at the most: larger cases are made to fit.
const MOST_ELEMENTS: u64 = 1 << 18;

/// Searches for a case that differs.
pub fn run(args: &Diff, global: &Global, terminal: &Terminal) -> Result<Status> {
    let files = match Files::prepare(&args.report) {
        Ok(files) => files,
        Err(error) => return Ok(refuse(&error.into(), terminal)),
    };
    let done = engine::read(&args.launch, &args.sources, |template| look(args, template));
    let mut out = Out::new(terminal);
    let (report, refused, mut status) = match done {
        Ok(done) => {
            let status = done.status();
            if args.format == Format::Text {
                for note in done.notes.iter().filter(|_| !global.quiet) {
                    terminal.note(note);
                }
                out.text(&done.text(global, terminal));
            }
            let launches = vec![done.launched];
            (
                Report {
                    launches,
                    unused: Vec::new(),
                },
                Refused(Vec::new()),
                status,
            )
        }
        Err(refused) => {
            let status = refuse(&refused, terminal);
            (Report::default(), refused, status)
        }
    };
    if let Some(document) = document(args.format, &report, &refused.0) {
        status = status.and(out.document(&document, &report));
    }
    for error in files.write(&report, &refused.0) {
        status = status.and(refuse(&error.into(), terminal));
    }
    Ok(status)
}

/// What a search gave, for its report.
struct Done {
    launched: Launched,
    /// What varied and what was compared, and how the bounds fared.
    summary: String,
    /// The case that failed.
    case: Option<Failed>,
    /// What could not be judged.
    notes: Vec<String>,
    opened: Opened,
    interrupted: bool,
}

/// The case that failed, in words.
struct Failed {
    words: String,
    first: String,
    shrinking: u32,
    map: Option<String>,
}

fn look(args: &Diff, template: &Template<'_>) -> Result<Done, Refused> {
    let opened = template.bind(&Overrides::default())?;
    let constants = opened.bound.constexprs.iter().flatten().map(|(_, value)| value);
    let space = Space::of(&template.file, &[], &block_sizes(constants))?;
    let given = |path: Path| args.paths.is_empty() || args.paths.contains(&path);
    let bench = Bench {
        files: &opened.files,
        references: REFERENCES,
        paths: Paths {
            interpreter: given(Path::Stepping),
            twin: given(Path::Twin),
            reference: given(Path::Reference),
            file: given(Path::File),
        },
        options: Options {
            threads: args.threads.map(|n| n as usize),
            max_steps: args.max_steps,
            max_findings: 100,
            cpu: cpu()?,
            ..Options::default()
        },
        limit: available_memory(),
        cancel: interrupt::flag(),
    };
    let replay = match &args.replay {
        Some(words) => vec![space.parse(words)?],
        None => Vec::new(),
    };
    let cases = match args.replay {
        Some(_) => 1,
        None => args.cases,
    };
    let mut judging = Judging {
        template,
        space: &space,
        bench,
        notes: Vec::new(),
        refused: Vec::new(),
        interrupted: false,
    };
    let outcome = match search(&space, cases, args.seed, &replay, &mut judging) {
        Ok(outcome) => outcome,
        Err(error) => {
            let mut errors = judging.refused;
            errors.insert(0, error);
            return Err(Refused(errors));
        }
    };
    let (notes, interrupted) = (judging.notes, judging.interrupted);
    let launch = &opened.bound.launches[0];
    let mut launched = Launched {
        launch: launch.name.clone(),
        kernel: launch.kernel.clone(),
        grid: launch.grid,
        programs: 0,
        elapsed_s: 0.0,
        outputs: Vec::new(),
        prints: Vec::new(),
        findings: Vec::new(),
        suppressed: Vec::new(),
        findings_cut: false,
        interrupted,
        notes: notes.clone(),
    };
    let summary = summary(&outcome, &space);
    let mut case = None;
    if let Some(found) = outcome.found {
        launched.findings = found.failure.findings;
        case = Some(Failed {
            words: space.describe(&found.smallest),
            first: space.describe(&found.first),
            shrinking: found.shrinking,
            map: found.failure.difference.map(|difference| difference.map),
        });
    }
    Ok(Done {
        launched,
        summary,
        case,
        notes,
        opened,
        interrupted,
    })
}

/// Judges the cases of one launch file.
struct Judging<'a> {
    template: &'a Template<'a>,
    space: &'a Space,
    bench: Bench<'a>,
    notes: Vec<String>,
    /// Errors beside the first.
    refused: Vec<Box<Error>>,
    interrupted: bool,
}

impl Judging<'_> {
    fn subject(&self, case: &Case) -> Result<Subject, Refused> {
        let opened = self.template.bind(&self.space.overrides(case))?;
        Ok(Subject {
            file: opened.file,
            bound: opened.bound,
            kernels: opened
                .kernels
                .into_iter()
                .map(|k| (k.module, k.function))
                .collect(),
        })
    }
}

impl Judge for Judging<'_> {
    type Failure = Failure;

    fn fit(&self, case: Case) -> Case {
        let size = |case: &Case| {
            let overrides = self.space.overrides(case);
            self.template.file.evaluate(&overrides).ok().map(|e| e.elements())
        };
        self.space.fitted(case, MOST_ELEMENTS, size)
    }

    fn judge(&mut self, case: &Case) -> tilescope_diagnostics::Result<Verdict<Failure>> {
        let words = || format!("in the case {}", self.space.describe(case));
        let subject = match self.subject(case) {
            Ok(subject) => subject,
            Err(refused) => {
                let mut errors = refused.0.into_iter();
                let first = errors
                    .next()
                    .unwrap_or_else(|| Error::input("the launch is refused"));
                // A kernel may refuse combinations of its parameters; ranges are the launch file's own.
                if case.choices.iter().any(|&choice| choice != 0) {
                    return Ok(Verdict::Invalid(first.message));
                }
                let words = words();
                self.refused.extend(errors);
                return Err(first.note(words));
            }
        };
        let other = self.space.other_choice(case);
        let other = other.and_then(|(case, words)| Some((self.subject(&case).ok()?, words)));
        let other = other.as_ref().map(|(subject, words)| (subject, words.as_str()));
        let judged = self
            .bench
            .judge(&subject, other)
            .map_err(|error| error.note(words()))?;
        for note in &judged.notes {
            if !self.notes.contains(note) {
                self.notes.push(note.clone());
            }
        }
        self.interrupted |= judged.interrupted;
        Ok(judged.verdict())
    }

    fn same(&self, a: &Failure, b: &Failure) -> bool {
        a.is_like(b)
    }

    fn go_on(&mut self, _: u32) -> bool {
        self.interrupted |= interrupt::requested();
        !self.interrupted
    }
}

fn summary(outcome: &Outcome<Failure>, space: &Space) -> String {
    let mut text = format!("{} cases run", outcome.cases);
    if space.is_fixed() {
        text.push_str(" (nothing varies but the data: give `[vars]` ranges)");
    }
    text.push('\n');
    if outcome.fitted > 0 {
        text.push_str(&format!(
            "{} were drawn larger and made to fit {MOST_ELEMENTS} elements\n",
            outcome.fitted
        ));
    }
    if let (count @ 1.., Some(why)) = &outcome.invalid {
        text.push_str(&format!("{count} could not be launched: {why}\n"));
    }
    let tightness = &outcome.tightness;
    if tightness.judged > 0 {
        text.push_str(&format!(
            "{} elements compared; differences took at most {:.1} % of their bound\n",
            tightness.judged,
            100.0 * tightness.largest
        ));
    }
    if tightness.unknown > 0 {
        text.push_str(&format!(
            "{} elements have no bound and were not judged\n",
            tightness.unknown
        ));
    }
    text
}

impl Done {
    fn status(&self) -> Status {
        let found = match self.case {
            Some(_) => Status::Found,
            None => Status::Clean,
        };
        match self.interrupted {
            true => Status::Interrupted,
            false => found,
        }
    }

    fn text(&self, global: &Global, terminal: &Terminal) -> String {
        let mut report = String::new();
        let texts = self.opened.texts(0);
        for finding in &self.launched.findings {
            report.push_str(&text::finding(finding, &texts, terminal.report));
            report.push('\n');
        }
        if let Some(case) = &self.case {
            if let Some(map) = &case.map {
                report.push_str(&format!("where (rows, columns):\n{map}"));
            }
            report.push_str(&format!(
                "smallest case: {}\nfirst seen in: {} ({} runs to make it small)\n",
                case.words, case.first, case.shrinking
            ));
        }
        if !global.quiet {
            report.push_str(&format!("{}: {}", self.launched.launch, self.summary));
            report.push_str(match (&self.case, self.interrupted) {
                (Some(_), _) => "verdict: a case differs\n",
                (None, true) => "verdict: none differs so far\n",
                (None, false) => "verdict: no case differs\n",
            });
        }
        report
    }
}
