//! `tilescope diff LAUNCH`: many cases, each by every path; the first that differs, made small.

use anyhow::Result;
use clap::ValueEnum;
use tilescope_diagnostics::render::{summary, text};
use tilescope_diagnostics::{Bounds, Error, FailedCase, Finding, Launched, Report, Searched, Severity};
use tilescope_difftest::case::{Case, Space, block_sizes};
use tilescope_difftest::judge::{Bench, Judged, Paths, Subject};
use tilescope_difftest::{
    Engine, Failure, Found, Judge, Other, Outcome, Relation, Tightness, Verdict, search,
};
use tilescope_interpreter::Options;
use tilescope_kernels::REFERENCES;
use tilescope_launch::expr::Value;
use tilescope_launch::{Oracle, Overrides, is_too_large};

use super::{quoted, refuse};
use crate::against::Against;
use crate::args::{Diff, Format, Global, MAX_STEPS, Path};
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
                for note in done.launched.notes.iter().filter(|_| !global.quiet) {
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

/// What is reported.
struct Done {
    launched: Launched,
    search: Searched,
    /// The launch file whose kernels the findings are in.
    opened: Opened,
}

/// What a search needs.
struct Ready<'a> {
    args: &'a Diff,
    template: &'a Template<'a>,
    opened: Opened,
    /// The other launch file, and as it is by itself.
    against: Option<(Against<'a>, Opened)>,
    gpus: Vec<OnGpu>,
    /// Where failing cases are written.
    kept: Option<Kept>,
    space: Space,
}

/// What a search gave.
struct Looked {
    outcome: Outcome<Failure>,
    /// What is wrong with the launch as the file says it, with its data files.
    own: Option<Failure>,
    notes: Vec<String>,
    interrupted: bool,
}

fn look<'a>(
    args: &'a Diff,
    template: &'a Template<'a>,
    against: Option<Against<'a>>,
) -> Result<Done, Refused> {
    let ready = Ready::open(args, template, against)?;
    let looked = ready.search()?;
    Ok(ready.report(looked))
}

impl<'a> Ready<'a> {
    /// Opens what is compared.
    fn open(
        args: &'a Diff,
        template: &'a Template<'a>,
        against: Option<Against<'a>>,
    ) -> Result<Ready<'a>, Refused> {
        if args.replay.is_none() {
            ends_of_ranges(template)?;
        }
        let gpus = on_gpus(args)?;
        let kept = match args.no_write {
            true => None,
            false => Kept::of(&args.launch, args.out.as_deref())?,
        };
        let opened = template.bind(&Overrides::default())?;
        has_what_is_asked(args, &opened)?;
        let against = match against {
            Some(against) => Some((against, against.template.bind(&Overrides::default())?)),
            None => None,
        };
        let constants = opened.bound.constexprs.iter().flatten().map(|(_, value)| value);
        let space = Space::of(&template.file, &args.dtypes, &block_sizes(constants))?;
        if args.replay.is_none() {
            all_choices(template, &space, &opened)?;
        }
        Ok(Ready {
            args,
            template,
            opened,
            against,
            gpus,
            kept,
            space,
        })
    }

    /// Runs the cases.
    fn search(&self) -> Result<Looked, Refused> {
        let (args, space) = (self.args, &self.space);
        let other = self.against.as_ref().map(|(_, other)| other);
        let engines: Vec<&dyn Engine> = self.gpus.iter().map(|engine| engine as &dyn Engine).collect();
        let judge = sieve(args, &self.opened)?;
        let sift = |launch: usize, findings: &mut Vec<Finding>| judge.sift(findings, &self.opened, launch);
        let other_judge = other.map(|other| sieve(args, other)).transpose()?;
        let other_sift = |launch: usize, findings: &mut Vec<Finding>| {
            if let (Some(judge), Some(other)) = (&other_judge, other) {
                judge.sift(findings, other, launch);
            }
        };
        let other_bench = other.map(|other| bench(args, other, &other_sift));
        let other_bench = other_bench.transpose()?;
        let against = self.against.as_ref().map(|(against, _)| *against);
        let mut judging = Judging {
            template: self.template,
            space,
            bench: Bench {
                engines: &engines,
                ..bench(args, &self.opened, &sift)?
            },
            against: against.zip(other_bench.as_ref()),
            notes: Vec::new(),
            refused: Vec::new(),
            interrupted: false,
            lost: false,
        };
        let (first, cases) = self.cases(&mut judging)?;
        // Data files are right for the launch as the file says it, and for no other case.
        let (mut own, tightness) =
            match judging.bench.paths.file && args.replay.is_none() && against.is_none() {
                true => judging.own(&self.opened)?,
                false => Default::default(),
            };
        judging.bench.paths.file = false;
        let cases = if own.is_some() { 0 } else { cases };
        let mut outcome = match search(space, cases, args.seed, &first, &mut judging) {
            Ok(outcome) => outcome,
            Err(error) => {
                let mut errors = judging.refused;
                errors.insert(0, error);
                return Err(Refused(errors));
            }
        };
        outcome.tightness.add(tightness);
        if let Some(found) = &mut outcome.found {
            of_its_own(space, found);
        }
        if let Some((case, error)) = outcome.found.as_ref().and_then(|found| found.error.as_ref()) {
            let words = space.describe(case);
            judging.notes.push(format!(
                "a smaller case could not be judged, {words}: {}",
                error.message
            ));
        }
        if args.bisect && !judging.interrupted {
            judging.bisect(outcome.found.as_mut());
            judging.bisect_own(&self.opened, own.as_mut());
        }
        // Asked for, and not for one case there.
        let refused = self.gpus.iter().find_map(OnGpu::ran_nothing);
        if let (Some(why), None, None) = (refused, &outcome.found, &own) {
            return Err(why.into());
        }
        let mut notes = judging.notes;
        notes.extend(self.gpus.iter().map(OnGpu::note));
        Ok(Looked {
            outcome,
            own,
            notes,
            interrupted: judging.interrupted,
        })
    }

    /// The cases that are known, and how many to run with them.
    fn cases(&self, judging: &mut Judging<'_>) -> Result<(Vec<Case>, u32), Refused> {
        let Some(words) = &self.args.replay else {
            let known = self.kept.as_ref().map_or(Ok(Vec::new()), Kept::cases)?;
            let first = judging.known(&known);
            let cases = self.args.cases.saturating_add(first.len() as u32);
            return Ok((first, cases));
        };
        let mut case = self.space.parse(words)?;
        case.dtype = case.dtype.or(self.args.dtypes.first().copied());
        Ok((vec![case], 1))
    }

    /// Says what was found, and writes the smallest case down.
    fn report(self, looked: Looked) -> Done {
        let Looked {
            outcome,
            own,
            mut notes,
            interrupted,
        } = looked;
        let (args, space) = (self.args, &self.space);
        let mut search = searched(&outcome, space, args);
        let (mut findings, mut is_there) = (Vec::new(), false);
        if let Some(mut found) = outcome.found {
            let words = space.describe(&found.smallest);
            let launch_file = match keep(self.kept.as_ref(), self.template, space, &mut found) {
                Ok(path) => path,
                Err(error) => {
                    notes.push(error.message.clone());
                    None
                }
            };
            is_there = found.failure.relation == Relation::There;
            search.case = Some(FailedCase {
                replay: again(args, Some(&words)),
                words: Some((words, space.describe(&found.first))),
                shrinking: found.shrinking,
                launch_file,
                bisected: args.bisect,
                map: found.failure.difference.map(|difference| difference.map),
            });
            findings = found.failure.findings;
        } else if let Some(failure) = own {
            search.case = Some(FailedCase {
                replay: again(args, None),
                words: None,
                shrinking: 0,
                launch_file: None,
                bisected: args.bisect,
                map: failure.difference.map(|difference| difference.map),
            });
            findings = failure.findings;
        }
        let launch = &self.opened.bound.launches[0];
        let launched = Launched {
            launch: launch.name.clone(),
            kernel: launch.kernel.clone(),
            grid: launch.grid,
            programs: 0,
            elapsed_s: 0.0,
            outputs: Vec::new(),
            prints: Vec::new(),
            findings,
            suppressed: Vec::new(),
            findings_cut: false,
            interrupted,
            notes,
            search: Some(search.clone()),
        };
        let other = self.against.map(|(_, other)| other);
        Done {
            launched,
            search,
            opened: other.filter(|_| is_there).unwrap_or(self.opened),
        }
    }
}

/// The command that runs a case, or the launch as its file says it, and says where it goes wrong: with all options that
/// were given and bear on that.
fn again(args: &Diff, case: Option<&str>) -> String {
    let mut words: Vec<String> = vec![String::from("tilescope diff"), quoted(&args.launch).into()];
    let mut option = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            words.push(format!("--{name} {}", quoted(&value)));
        }
    };
    let list = |names: Vec<String>| (!names.is_empty()).then(|| names.join(","));
    let tolerance = |number: f64| (number > 0.0).then(|| number.to_string());
    option("against", args.against.clone());
    option(
        "dtypes",
        list(args.dtypes.iter().map(|dtype| dtype.name().to_string()).collect()),
    );
    // Data files hold for no drawn case.
    let paths = args
        .paths
        .iter()
        .filter(|&&path| case.is_none() || path != Path::File);
    let paths: Vec<String> = paths
        .filter_map(|path| Some(path.to_possible_value()?.get_name().to_string()))
        .collect();
    option(
        "paths",
        match paths.is_empty() && !args.paths.is_empty() {
            true => Some(String::from("interpreter")),
            false => list(paths),
        },
    );
    option("device", (args.device != 0).then(|| args.device.to_string()));
    option("rtol", tolerance(args.rtol));
    option("atol", tolerance(args.atol));
    option(
        "max-steps",
        (args.max_steps != MAX_STEPS).then(|| args.max_steps.to_string()),
    );
    for denied in &args.judge.deny {
        option("deny", Some(denied.name().to_string()));
    }
    for path in &args.judge.suppress {
        option("suppress", Some(path.display().to_string()));
    }
    for path in &args.sources.python_path {
        option("python-path", Some(path.display().to_string()));
    }
    option(
        "target",
        args.sources.target.map(|target| target.name.to_string()),
    );
    option("out", args.out.as_ref().map(|path| path.display().to_string()));
    words.push(String::from("--bisect"));
    words.extend(case.map(|case| format!("--replay {}", quoted(case))));
    words.join(" ")
}

/// # Errors
/// A choice that makes no launch where all else is as the file says it, and a value that is none of its choices.
fn all_choices(template: &Template<'_>, space: &Space, opened: &Opened) -> Result<(), Refused> {
    for (name, value, values) in space.single_choices() {
        let mut given = opened.bound.constexprs.iter().flatten();
        if let Some((_, own)) = given.find(|(of, own)| of == name && !values.contains(own)) {
            let known: Vec<String> = values.iter().map(Value::to_string).collect();
            let error = Error::input(format!("`{name}` is {own}, which is none of its `choices`"));
            return Err(error.help(format!("the choices are {}", known.join(", "))).into());
        }
        let overrides = Overrides {
            constexprs: vec![(name.to_string(), value.clone())],
            ..Overrides::default()
        };
        template.bind(&overrides).map_err(|refused| {
            first_of(refused).note(format!("with {name} = {value}, one of its choices"))
        })?;
    }
    Ok(())
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
    /// What is wrong with the launch as the file says it, where it has data files to compare with; how tight the bounds
    /// were.
    fn own(&mut self, opened: &Opened) -> Result<(Option<Failure>, Tightness), Refused> {
        let mut expect = opened.bound.expect.iter();
        if !expect.any(|expect| matches!(expect.oracle, Oracle::File { .. })) {
            return Ok(Default::default());
        }
        let judged = self.bench.judge(&Subject::from(opened), None, 0)?;
        self.learn(&judged);
        Ok((judged.failure, judged.tightness))
    }

    /// What a case tells beside its verdict.
    fn learn(&mut self, judged: &Judged) {
        for note in &judged.notes {
            if !self.notes.contains(note) {
                self.notes.push(note.clone());
            }
        }
        self.interrupted |= judged.interrupted;
        self.lost |= judged.lost;
    }

    /// The cases of the list that the launch file still allows.
    fn known(&mut self, words: &[String]) -> Vec<Case> {
        let mut cases = Vec::new();
        for words in words {
            match self.space.parse(words) {
                Ok(case) => cases.push(case),
                Err(error) => self.notes.push(format!(
                    "a known case no longer fits the launch file: {words}: {}",
                    error.message
                )),
            }
        }
        cases
    }

    /// The same case with another value of a tunable parameter, if there is one that can be launched.
    fn other(&self, case: &Case) -> Option<(Subject, String)> {
        let (case, words) = self.space.other_choice(case)?;
        Some((self.subject(&case).ok()?, words))
    }

    /// Says of a failure where its two sides part; what keeps it from that is a note.
    fn bisect(&mut self, found: Option<&mut Found<Failure>>) {
        if let Some(found) = found
            && let Err(refused) = self.parted(found)
        {
            self.not_bisected(refused);
        }
    }

    /// The same of the launch as its file says it.
    fn bisect_own(&mut self, opened: &Opened, own: Option<&mut Failure>) {
        if let Some(failure) = own
            && let Err(error) = self.bench.bisect(&Subject::from(opened), None, 0, failure)
        {
            self.not_bisected(error.into());
        }
    }

    fn not_bisected(&mut self, refused: Refused) {
        let why = &first_of(refused).message;
        self.notes
            .push(format!("where it begins could not be found: {why}"));
    }

    fn parted(&self, found: &mut Found<Failure>) -> Result<(), Refused> {
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
        // A tensor of which the size cannot even be told is one that is too large.
        let size = |case: &Case| match self.template.file.evaluate(&self.space.overrides(case)) {
            Ok(evaluated) => Some(evaluated.elements()),
            Err(error) => is_too_large(&error).then_some(u64::MAX),
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
        self.learn(&judged);
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

fn searched(outcome: &Outcome<Failure>, space: &Space, args: &Diff) -> Searched {
    let bounds = outcome.tightness.0.iter().map(|(output, fit)| Bounds {
        output: output.clone(),
        judged: fit.judged,
        unknown: fit.unknown,
        largest: fit.largest,
    });
    Searched {
        cases: outcome.cases,
        seed: args.seed,
        fixed: space.is_fixed(),
        fitted: outcome.fitted,
        most_elements: MOST_ELEMENTS,
        not_launched: outcome.invalid.clone(),
        bounds: bounds.collect(),
        case: None,
    }
}

impl Done {
    fn status(&self) -> Status {
        match (self.launched.interrupted, &self.search.case) {
            (true, _) => Status::Interrupted,
            (false, Some(_)) => Status::Found,
            (false, None) => Status::Clean,
        }
    }

    fn text(&self, global: &Global, terminal: &Terminal) -> String {
        let mut report = String::new();
        let texts = self.opened.texts(0);
        for finding in &self.launched.findings {
            report.push_str(&text::finding(finding, &texts, terminal.report));
            report.push('\n');
        }
        report.push_str(&self.search.case.as_ref().map_or_else(String::new, summary::case));
        if !global.quiet {
            report.push_str(&summary::searched(&self.launched, &self.search));
        }
        report
    }
}
