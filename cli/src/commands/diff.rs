//! `tilescope diff LAUNCH`: many cases, each by every path; the first that differs, made small.

use anyhow::Result;
use tilescope_diagnostics::render::text;
use tilescope_diagnostics::{Error, Finding, Launched, Report, Severity};
use tilescope_difftest::case::{Case, Space, block_sizes};
use tilescope_difftest::judge::{Bench, Paths, Subject};
use tilescope_difftest::{Engine, Failure, Found, Judge, Other, Outcome, Relation, Verdict, search};
use tilescope_interpreter::Options;
use tilescope_kernels::REFERENCES;
use tilescope_launch::expr::Value;
use tilescope_launch::{Oracle, Overrides};

use super::{quoted, refuse};
use crate::against::Against;
use crate::args::{Diff, Format, Global, Path};
use crate::engine::{self, Opened, Refused, Template, available_memory, cpu};
use crate::engines::OnGpu;
use crate::interrupt;
use crate::judge::Judge as Sieve;
use crate::kept::Kept;
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
    let done = engine::read(&args.launch, &args.sources, |template| match &args.against {
        None => look(args, template, None),
        Some(name) => engine::read(name, &args.sources, |other| {
            let against = Against {
                name,
                template: other,
            };
            against.check(&args.launch, template)?;
            look(args, template, Some(against))
        }),
    });
    let mut out = Out::new(terminal);
    let (report, refused, mut status) = match done {
        Ok(done) => {
            let mut status = done.status();
            if args.format == Format::Text {
                for note in done.notes.iter().filter(|_| !global.quiet) {
                    terminal.note(note);
                }
                status = status.and(out.text(&done.text(global, terminal)));
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
    /// The case that failed: lines about it, and where its output differs.
    case: Option<(Vec<String>, Option<String>)>,
    /// What could not be judged.
    notes: Vec<String>,
    /// The launch file whose kernels the findings are in.
    opened: Opened,
    interrupted: bool,
}

fn look(args: &Diff, template: &Template<'_>, against: Option<Against<'_>>) -> Result<Done, Refused> {
    if args.replay.is_none() {
        ends_of_ranges(template)?;
    }
    let on_gpus = on_gpus(args)?;
    let engines: Vec<&dyn Engine> = on_gpus.iter().map(|engine| engine as &dyn Engine).collect();
    let kept = match args.no_write {
        true => None,
        false => Kept::of(&args.launch, args.out.as_deref())?,
    };
    let opened = template.bind(&Overrides::default())?;
    has_what_is_asked(args, &opened)?;
    let judge = sieve(args, &opened)?;
    let sift = |launch: usize, findings: &mut Vec<Finding>| judge.sift(findings, &opened, launch);
    let other = against.map(|against| against.template.bind(&Overrides::default()));
    let other = other.transpose()?;
    let other_judge = other.as_ref().map(|other| sieve(args, other)).transpose()?;
    let other_sift = |launch: usize, findings: &mut Vec<Finding>| {
        if let (Some(judge), Some(other)) = (&other_judge, &other) {
            judge.sift(findings, other, launch);
        }
    };
    let other_bench = other.as_ref().map(|other| bench(args, other, &other_sift));
    let other_bench = other_bench.transpose()?;
    let constants = opened.bound.constexprs.iter().flatten().map(|(_, value)| value);
    let space = Space::of(&template.file, &args.dtypes, &block_sizes(constants))?;
    let mut judging = Judging {
        template,
        space: &space,
        bench: Bench {
            engines: &engines,
            ..bench(args, &opened, &sift)?
        },
        against: against.zip(other_bench.as_ref()),
        notes: Vec::new(),
        refused: Vec::new(),
        interrupted: false,
        lost: false,
    };
    let (first, cases) = match &args.replay {
        Some(words) => (vec![space.parse(words)?], 1),
        None => {
            let known = kept.as_ref().map_or(Ok(Vec::new()), Kept::cases)?;
            let first = judging.known(&known);
            let cases = args.cases.saturating_add(first.len() as u32);
            (first, cases)
        }
    };
    // Data files are right for the launch as the file says it, and for no other case.
    let mut own = match judging.bench.paths.file && args.replay.is_none() && against.is_none() {
        true => judging.own(&opened)?,
        false => None,
    };
    judging.bench.paths.file = false;
    let cases = if own.is_some() { 0 } else { cases };
    let mut outcome = match search(&space, cases, args.seed, &first, &mut judging) {
        Ok(outcome) => outcome,
        Err(error) => {
            let mut errors = judging.refused;
            errors.insert(0, error);
            return Err(Refused(errors));
        }
    };
    if let Some(found) = &mut outcome.found {
        of_its_own(&space, found);
    }
    if let Some(found) = outcome
        .found
        .as_mut()
        .filter(|_| args.bisect && !judging.interrupted)
    {
        judging.bisect(found)?;
    }
    if let Some(failure) = own.as_mut().filter(|_| args.bisect) {
        judging.bench.bisect(&Subject::from(&opened), None, 0, failure)?;
    }
    let (mut notes, interrupted) = (judging.notes, judging.interrupted);
    // Asked for, and not for one case there.
    let refused = on_gpus.iter().find_map(OnGpu::ran_nothing);
    if let (Some(why), None, None) = (refused, &outcome.found, &own) {
        return Err(why.into());
    }
    notes.extend(on_gpus.iter().map(OnGpu::note));
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
        notes: Vec::new(),
    };
    let summary = summary(&outcome, &space, args);
    let (mut case, mut is_there) = (None, false);
    if let Some(mut found) = outcome.found {
        let mut lines = vec![
            format!("smallest case: {}", space.describe(&found.smallest)),
            format!(
                "first seen in: {} (made small in {} runs)",
                space.describe(&found.first),
                found.shrinking
            ),
        ];
        match keep(kept.as_ref(), template, &space, &mut found) {
            Ok(Some(path)) => lines.push(format!("its launch file: {path}")),
            Ok(None) => lines.push(format!(
                "run it again{}: tilescope diff {}{} --bisect --replay {}",
                if args.bisect { "" } else { ", for where it begins" },
                quoted(&args.launch),
                against.map_or(String::new(), |other| format!(
                    " --against {}",
                    quoted(other.name)
                )),
                quoted(&space.describe(&found.smallest))
            )),
            Err(error) => notes.push(error.message.clone()),
        }
        is_there = found.failure.relation == Relation::There;
        launched.findings = found.failure.findings;
        launched.notes.extend(lines.iter().cloned());
        case = Some((lines, found.failure.difference.map(|difference| difference.map)));
    }
    if let Some(failure) = own {
        launched.findings = failure.findings;
        let lines = vec![String::from(
            "the launch as the file says it differs: no case was drawn",
        )];
        launched.notes.extend(lines.iter().cloned());
        case = Some((lines, failure.difference.map(|difference| difference.map)));
    }
    launched.notes.extend(summary.lines().map(String::from));
    launched.notes.extend(notes.iter().cloned());
    Ok(Done {
        launched,
        summary,
        case,
        notes,
        opened: other.filter(|_| is_there).unwrap_or(opened),
        interrupted,
    })
}

/// What the checks found with the other value of a tunable parameter is told as a case of its own.
fn of_its_own(space: &Space, found: &mut Found<Failure>) {
    if found.failure.relation != Relation::ChecksOfChoice {
        return;
    }
    for case in [&mut found.first, &mut found.smallest] {
        if let Some((other, _)) = space.other_choice(case) {
            *case = other;
        }
    }
    found.failure.relation = Relation::Checks;
}

/// # Errors
/// A range whose least or largest value makes no launch, as sooner or later a case would say.
fn ends_of_ranges(template: &Template<'_>) -> Result<(), Box<Error>> {
    for var in template.file.vars() {
        let Some((least, largest)) = var.range else {
            continue;
        };
        for (value, end) in [(least, "least"), (largest, "largest")] {
            let overrides = Overrides {
                vars: vec![(var.name.clone(), Value::Int(value.into()))],
                ..Overrides::default()
            };
            let evaluated = template.file.evaluate(&overrides);
            let note = format!("with {} = {value}, the {end} of its range", var.name);
            evaluated.map_err(|error| error.note(note))?;
        }
    }
    Ok(())
}

/// # Errors
/// A path of `--paths` that has nothing to compare with.
fn has_what_is_asked(args: &Diff, opened: &Opened) -> Result<(), Box<Error>> {
    let expect = &opened.bound.expect;
    let of_file = |oracle: &Oracle| matches!(oracle, Oracle::File { .. });
    if args.paths.contains(&Path::Reference) && expect.iter().all(|e| of_file(&e.oracle)) {
        let error =
            Error::input("--paths reference: the launch file expects nothing by a reference or a formula");
        return Err(error.help("write an `[expect]`, or leave the path out"));
    }
    if args.paths.contains(&Path::File) {
        if !expect.iter().any(|e| of_file(&e.oracle)) {
            let error = Error::input("--paths file: the launch file expects nothing by a data file");
            return Err(error.help("write an `[expect]` with a `file`, or leave the path out"));
        }
        if args.replay.is_some() || args.against.is_some() {
            let error = Error::input("--paths file: data files hold for the launch as its file says it");
            return Err(error.help("leave out --replay and --against, or the path"));
        }
    }
    Ok(())
}

/// What of the findings in the kernels of a file counts.
fn sieve<'a>(args: &'a Diff, opened: &Opened) -> Result<Sieve<'a>, Refused> {
    let (mut judge, mut wrong) = Sieve::new(&args.judge);
    for (index, launch) in opened.bound.launches.iter().enumerate() {
        wrong.extend(judge.learn(&launch.kernel, opened, index));
    }
    match wrong.is_empty() {
        true => Ok(judge),
        false => Err(Refused(wrong)),
    }
}

/// The GPUs among the paths.
fn on_gpus(args: &Diff) -> Result<Vec<OnGpu>, Refused> {
    let mut engines = Vec::new();
    for (path, by_triton) in [(Path::Gpu, false), (Path::Triton, true)] {
        if args.paths.contains(&path) {
            engines.push(OnGpu::open(args.device, by_triton)?);
        }
    }
    Ok(engines)
}

fn bench<'a>(
    args: &Diff,
    opened: &'a Opened,
    sift: &'a dyn Fn(usize, &mut Vec<Finding>),
) -> Result<Bench<'a>, Refused> {
    let given = |path: Path| args.paths.is_empty() || args.paths.contains(&path);
    Ok(Bench {
        files: &opened.files,
        references: REFERENCES,
        paths: Paths {
            interpreter: given(Path::Stepping),
            twin: given(Path::Twin),
            reference: given(Path::Reference),
            file: given(Path::File),
        },
        engines: &[],
        options: Options {
            threads: args.threads.map(|n| n as usize),
            max_steps: args.max_steps,
            max_findings: 100,
            cpu: cpu()?,
            ..Options::default()
        },
        rtol: args.rtol,
        atol: args.atol,
        limit: available_memory(),
        cancel: interrupt::flag(),
        sift,
    })
}

/// Writes the smallest case down, and names in its findings the command that debugs it; gives the file's path.
fn keep(
    kept: Option<&Kept>,
    template: &Template<'_>,
    space: &Space,
    found: &mut Found<Failure>,
) -> tilescope_diagnostics::Result<Option<String>> {
    let Some(kept) = kept else { return Ok(None) };
    let words = space.describe(&found.smallest);
    let is_made = found.failure.relation == Relation::Checks;
    let findings = &mut found.failure.findings;
    let saw = findings.iter().find(|f| f.severity == Severity::Error);
    let saw = saw.map_or("", |finding| finding.check.id());
    let head = format!("# The smallest case in which `tilescope diff` saw {saw}: {words}\n");
    let path = kept.launch_file(&template.file, &space.overrides(&found.smallest), &head)?;
    let path = path.display().to_string();
    kept.add(&words, saw)?;
    for (index, finding) in findings.iter_mut().enumerate() {
        let command = format!("tilescope debug {}", quoted(&path));
        finding.debug = Some(match (finding.program, &finding.tensor, &finding.element) {
            (Some(_), ..) if is_made => format!("{command} --finding {}", index + 1),
            (_, Some(tensor), Some(element)) if !is_made => {
                let element: Vec<String> = element.iter().map(i64::to_string).collect();
                format!(
                    "{command}, and there: continue, who-wrote {}[{}]",
                    tensor.name,
                    element.join(", ")
                )
            }
            _ => command,
        });
    }
    Ok(Some(path))
}

/// Judges the cases of one launch file.
struct Judging<'a> {
    template: &'a Template<'a>,
    space: &'a Space,
    bench: Bench<'a>,
    /// The other launch file, and what runs it.
    against: Option<(Against<'a>, &'a Bench<'a>)>,
    notes: Vec<String>,
    /// Errors beside the first.
    refused: Vec<Box<Error>>,
    interrupted: bool,
    /// An engine is lost: nothing more is run.
    lost: bool,
}

impl Judging<'_> {
    /// What is wrong with the launch as the file says it, where it has data files to compare with.
    fn own(&mut self, opened: &Opened) -> Result<Option<Failure>, Refused> {
        let mut expect = opened.bound.expect.iter();
        if !expect.any(|expect| matches!(expect.oracle, Oracle::File { .. })) {
            return Ok(None);
        }
        let judged = self.bench.judge(&Subject::from(opened), None, 0)?;
        self.interrupted |= judged.interrupted;
        Ok(judged.failure)
    }

    /// The cases of the list that the launch file still allows.
    fn known(&mut self, words: &[String]) -> Vec<Case> {
        let mut cases = Vec::new();
        for words in words {
            match self.space.parse(words) {
                Ok(case) => cases.push(case),
                Err(_) => self
                    .notes
                    .push(format!("a known case no longer fits the launch file: {words}")),
            }
        }
        cases
    }

    /// The same case with another value of a tunable parameter, if there is one that can be launched.
    fn other(&self, case: &Case) -> Option<(Subject, String)> {
        let (case, words) = self.space.other_choice(case)?;
        Some((self.subject(&case).ok()?, words))
    }

    /// Says of a failure where its two sides part.
    fn bisect(&self, found: &mut Found<Failure>) -> Result<(), Refused> {
        let case = &found.smallest;
        let subject = self.subject(case)?;
        let overrides = self.space.overrides(case);
        let other = match self.against {
            Some((against, bench)) => Some((against.subject(&overrides)?, against.name.to_string(), bench)),
            None => self
                .other(case)
                .map(|(subject, words)| (subject, words, &self.bench)),
        };
        let other = other.as_ref().map(|(subject, words, bench)| Other {
            bench,
            subject,
            words,
        });
        self.bench
            .bisect(&subject, other, case.seed.into(), &mut found.failure)?;
        Ok(())
    }

    fn subject(&self, case: &Case) -> Result<Subject, Refused> {
        Ok(Subject::from(&self.template.bind(&self.space.overrides(case))?))
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
        let judged = match self.against {
            None => {
                let other = self.other(case);
                let other = other.as_ref().map(|(subject, words)| (subject, words.as_str()));
                self.bench.judge(&subject, other, case.seed.into())
            }
            Some((against, bench)) => {
                let other = against.subject(&self.space.overrides(case));
                let other = other.map_err(|refused| first_of(refused).note(words()))?;
                let other = Other {
                    bench,
                    subject: &other,
                    words: against.name,
                };
                self.bench.judge_against(&subject, other)
            }
        };
        let judged = judged.map_err(|error| error.note(words()))?;
        for note in &judged.notes {
            if !self.notes.contains(note) {
                self.notes.push(note.clone());
            }
        }
        self.interrupted |= judged.interrupted;
        self.lost |= judged.lost;
        Ok(judged.verdict())
    }

    fn same(&self, a: &Failure, b: &Failure) -> bool {
        a.is_like(b)
    }

    fn go_on(&mut self, _: u32) -> bool {
        self.interrupted |= interrupt::requested();
        !self.interrupted && !self.lost
    }
}

fn first_of(refused: Refused) -> Box<Error> {
    let first = refused.0.into_iter().next();
    first.unwrap_or_else(|| Error::input("the launch is refused"))
}

fn summary(outcome: &Outcome<Failure>, space: &Space, args: &Diff) -> String {
    let mut text = format!("{} cases run", outcome.cases);
    if space.is_fixed() {
        text.push_str(" (nothing varies but the data: give `[vars]` ranges)");
    }
    text.push_str(&format!(", seed {}\n", args.seed));
    if outcome.fitted > 0 {
        text.push_str(&format!(
            "{} were drawn larger and made to fit {MOST_ELEMENTS} elements\n",
            outcome.fitted
        ));
    }
    if let (count @ 1.., Some(why)) = &outcome.invalid {
        text.push_str(&format!("{count} could not be launched: {why}\n"));
    }
    for (output, fit) in &outcome.tightness.0 {
        text.push_str(&format!("`{output}`: {} elements compared", fit.judged));
        if fit.judged > 0 {
            let share = 100.0 * fit.largest;
            text.push_str(&format!("; differences took at most {share:.1} % of their bound"));
        }
        if fit.unknown > 0 {
            text.push_str(&format!("; {} have no bound and were not judged", fit.unknown));
        }
        text.push('\n');
    }
    let judged = outcome.tightness.0.values().map(|fit| fit.judged);
    if outcome.found.is_none() && judged.sum::<u64>() == 0 {
        text.push_str("no element was compared by a bound\n");
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
        if let Some((lines, map)) = &self.case {
            if let Some(map) = map {
                report.push_str(&format!(
                    "where it differs (the last dimension across, all others down; `#` all, `+` some, `.` none):\n{map}"
                ));
            }
            for line in lines {
                report.push_str(line);
                report.push('\n');
            }
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
