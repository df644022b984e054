//! The session: one launch, its programs, where the user stands.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tilescope_diagnostics::{Check, CheckSet, Error, Finding, Frame, Printed, Result, closest};
use tilescope_interpreter::poison::Poison;
use tilescope_interpreter::report::Reporter;
use tilescope_interpreter::simd::Cpu;
use tilescope_interpreter::sink::Sink;
use tilescope_interpreter::stepping::{Program, Stepping};
use tilescope_interpreter::tape::{Order, Tape};
use tilescope_interpreter::target::Target;
use tilescope_ir::{FuncId, VerifiedModule};
use tilescope_launch::{Launch, Memory};

use crate::breakpoints::Breakpoints;
use crate::code::Code;
use crate::command::{COMMANDS, Command, CommandInfo, Schedule};
use crate::engine::{Engine, Remake};
use crate::history::{History, State};
use crate::levels::Seen;
use crate::reply::{OpView, Position, Reason, Reply, Stopped};

/// What a session is opened on.
pub struct Opening {
    /// The kernel's module.
    pub module: Arc<VerifiedModule>,
    /// The kernel.
    pub kernel: FuncId,
    /// The launch.
    pub launch: Launch,
    /// Its tensors, as they are before it.
    pub memory: Memory,
    /// Makes them once more, the same.
    pub remake: Remake,
    /// Set by others to stop a long command; the session never clears it.
    pub cancel: &'static AtomicBool,
    /// Bounds.
    pub options: Options,
}

/// Bounds of a session.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Bytes that snapshots may take.
    pub history_bytes: usize,
    /// Operations that one program may execute.
    pub max_steps: u64,
    /// Vector instructions.
    pub cpu: Cpu,
    /// The GPU that the launch is meant for.
    pub target: Option<&'static Target>,
    /// What lanes without a value hold.
    pub poison: Poison,
    /// The checks that are on.
    pub checks: CheckSet,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            history_bytes: 256 << 20,
            max_steps: 100_000_000,
            cpu: Cpu::detect(),
            target: None,
            poison: Poison::Zero,
            checks: CheckSet::ALL,
        }
    }
}

/// True for checks that a session looks for; the others need all programs at once, or a second run of some.
fn looks_for(check: Check) -> bool {
    !matches!(
        check,
        Check::RaceWriteWrite
            | Check::RaceReadWrite
            | Check::BenignRace
            | Check::UninitLoad
            | Check::NanBorn
            | Check::InfBorn
            | Check::PrecisionLoss
    )
}

/// A launch being debugged.
#[derive(Debug)]
pub struct Session {
    pub(crate) code: Code,
    pub(crate) engine: Engine,
    pub(crate) state: State,
    pub(crate) history: History,
    pub(crate) stops: Breakpoints,
    pub(crate) schedule: Schedule,
    /// Where moves began: time, program and level of calls.
    pub(crate) moves: Vec<(u64, u64, u32)>,
    /// The level of calls that is seen, where it is not that of the operation.
    pub(crate) seen: Option<Seen>,
    /// The time before the last move, to tell what it changed.
    pub(crate) moved_from: u64,
    /// The tape of the fast path, made when it is first needed.
    pub(crate) fast: Option<Tape>,
    /// What another run found, and this session does not look for, with the number that it has here.
    pub(crate) brought: Option<(u64, Finding)>,
}

impl Session {
    /// Opens a session: it stands before the first operation of the first program.
    ///
    /// # Errors
    /// Unsupported operations, by name and place.
    pub fn open(opening: Opening) -> Result<Session> {
        let Opening {
            module,
            kernel,
            launch,
            memory,
            remake,
            cancel,
            options,
        } = opening;
        let stepping = Stepping::new(
            &module,
            kernel,
            &launch,
            tilescope_interpreter::Options {
                cpu: options.cpu,
                target: options.target,
                checks: options.checks,
                ..Default::default()
            },
        )?;
        let code = Code::new(module, kernel, stepping);
        let engine = Engine::new(launch, memory, remake, cancel, options);
        let mut session = Session {
            code,
            engine,
            state: State::default(),
            history: History::new(options.history_bytes),
            stops: Breakpoints::default(),
            schedule: Schedule::Sequential,
            moves: Vec::new(),
            seen: None,
            moved_from: 0,
            fast: None,
            brought: None,
        };
        session.begin();
        Ok(session)
    }

    /// Does what a command asks. After an error the session is where it was.
    ///
    /// # Errors
    /// In words, for the user; where the command's text is at fault, with its place.
    pub fn run(&mut self, command: Command) -> Result<Reply> {
        Ok(match command {
            Command::Step { .. }
            | Command::Next { .. }
            | Command::Out { .. }
            | Command::StepOp { .. }
            | Command::Continue { .. }
            | Command::Until(_)
            | Command::Program(_)
            | Command::NextProgram
            | Command::Restart
            | Command::GotoFinding(_)
            | Command::Undo => Reply::Stopped(Box::new(self.go(command)?)),
            Command::Where => Reply::Stopped(Box::new(self.stopped(Reason::Stepped))),
            Command::Break {
                at,
                condition,
                programs,
                once,
            } => self.add_breakpoint(at, condition, programs, once)?,
            Command::WatchMemory { range, reads } => self.watch_memory(range, reads)?,
            Command::WatchValue { value, condition } => self.watch_value(value, condition)?,
            Command::StopAtFindings(stop) => {
                self.stops.at_findings = stop;
                Reply::Done(String::from(match stop {
                    true => "stops at the first occurrence of each finding",
                    false => "stops at no finding",
                }))
            }
            Command::Delete(id) => self.delete(id)?,
            Command::Enable(id) => self.enable(id, true)?,
            Command::Disable(id) => self.enable(id, false)?,
            Command::Ignore(id, count) => self.ignore(id, count)?,
            Command::Breakpoints => Reply::Breakpoints(self.breakpoints()),
            Command::Print(expression) => self.print(&expression)?,
            Command::Tile(name) => self.summarise(&name)?,
            Command::Memory(range) => Reply::Memory(self.memory(&range)?),
            Command::Touched(tensor) => Reply::Touched(self.touched(&tensor)?),
            Command::WhoWrote(range) => self.who_wrote(&range)?,
            Command::Why(expression) => Reply::Why(self.why(&expression)?),
            Command::Locals => Reply::Variables(self.variables()),
            Command::Args => Reply::Variables(self.arguments()),
            Command::Backtrace => Reply::Backtrace(self.backtrace()),
            Command::List(line) => Reply::Listing(self.listing(line)?),
            Command::Ir => {
                let (lines, current) = self.operations_around();
                Reply::Operations { lines, current }
            }
            Command::Findings => Reply::Findings(self.findings()),
            Command::Prints => Reply::Prints(self.prints()),
            Command::Grid => Reply::Grid(self.grid()),
            Command::Schedule(None) => Reply::Schedule(self.schedule),
            Command::Schedule(Some(schedule)) => {
                self.schedule = schedule;
                Reply::Schedule(schedule)
            }
            Command::Help(topic) => help(topic.as_deref())?,
            Command::Quit => Reply::Quit,
        })
    }

    /// The state before anything has run.
    pub(crate) fn begin(&mut self) {
        self.state = State::default();
        self.history.forget();
        self.history.cut(0);
        self.ensure_started();
        self.snapshot();
    }

    /// Number of programs in the grid.
    pub fn programs(&self) -> u64 {
        self.engine
            .launch
            .grid
            .iter()
            .fold(1, |count: u64, &n| count.saturating_mul(n))
    }

    /// The launch.
    pub fn launch(&self) -> &Launch {
        &self.engine.launch
    }

    /// The tensors as they are now.
    pub fn tensors(&self) -> &Memory {
        &self.engine.memory
    }

    /// The kernel's text, which [`OpView::line`] counts in.
    pub fn ir(&self) -> &tilescope_diagnostics::Source {
        &self.code.text
    }

    /// Files that the kernel's operations come from.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.code.files.iter().map(|file| &**file)
    }

    /// Lines of a file that operations come from, rising: those where a breakpoint can be.
    pub fn code_lines(&self, file: &str) -> Vec<u32> {
        let file = self.code.file(file);
        file.map_or(Vec::new(), |file| self.code.code_lines(file).collect())
    }

    /// The program that the session looks at.
    pub(crate) fn program(&self) -> Option<&Arc<Program>> {
        self.state.programs.get(&self.state.current)
    }

    /// The coordinates of a program.
    pub fn coordinates(&self, linear: u64) -> [u32; 3] {
        let [gx, gy, _] = self.engine.launch.grid.map(|n| n.max(1));
        [
            (linear % gx) as u32,
            (linear / gx % gy) as u32,
            (linear / gx / gy) as u32,
        ]
    }

    /// Where the session stands.
    pub fn position(&self) -> Position {
        let linear = self.state.current;
        let program = self.program();
        let at = program
            .filter(|program| !program.ended)
            .map(|program| program.position);
        let op = at.and_then(|position| self.code.op(position));
        Position {
            program: self.coordinates(linear),
            linear,
            tick: program.map_or(0, |program| program.ticks),
            location: at.and_then(|position| match self.level() {
                level if level < self.code.depth(position) => self.code.call_location(position, level),
                _ => self.code.location(position),
            }),
            op: op.map(|(func, id, op)| OpView {
                mnemonic: op.code.info().mnemonic,
                result: self.result_name(func, op),
                line: self.code.op_line(func, id),
            }),
            depth: self.level(),
            enters: at.map_or(0, |position| self.code.depth(position)) > self.level(),
            ended: self.state.done.contains(linear),
        }
    }

    fn result_name(&self, func: FuncId, op: &tilescope_ir::Op) -> Option<String> {
        let value = *op.results.first()?;
        let function = &self.code.module.funcs[func];
        function
            .value_name(&self.code.module.locs, value)
            .map(String::from)
    }

    pub(crate) fn stopped(&self, reason: Reason) -> Stopped {
        Stopped {
            reason,
            position: self.position(),
            notes: Vec::new(),
        }
    }

    /// All that was found up to now.
    pub(crate) fn sink(&self) -> Sink {
        let mut sink = (*self.state.found).clone();
        for (linear, program) in &self.state.programs {
            if !self.state.done.contains(*linear) {
                sink.merge(program.sink.clone());
            }
        }
        sink
    }

    /// Asks the interpreter's reporter.
    pub(crate) fn report<R>(&mut self, ask: impl FnOnce(&Reporter<'_>) -> R) -> R {
        let Session {
            code, engine, state, ..
        } = self;
        let launch = engine.launch.clone();
        let tape = &code.stepping.tape;
        engine.walk(tape, &mut state.stored, |context, _| {
            ask(&Reporter {
                module: &code.module,
                kernel: code.kernel,
                launch: &launch,
                tape,
                memory: &context.memory,
            })
        })
    }

    /// What the checks have found up to now; numbers of findings count in it, from 1.
    pub fn findings(&mut self) -> Vec<Finding> {
        let mut sink = self.sink();
        let whole = self.state.done.count() >= self.programs();
        self.report(|reporter| reporter.findings(&mut sink, &[], whole))
    }

    /// The number here of what another run of the launch found, once all programs have run; none where this session did
    /// not find it.
    ///
    /// # Errors
    /// The launch cannot be run to its end.
    pub fn number_of(&mut self, wanted: &Finding) -> Result<Option<u64>> {
        if !looks_for(wanted.check) {
            return Ok(None);
        }
        self.run_to_end()?;
        let findings = self.findings();
        let same = |f: &Finding| {
            f.check == wanted.check && f.location == wanted.location && f.tensor == wanted.tensor
        };
        Ok(findings.iter().position(same).map(|index| index as u64 + 1))
    }

    /// Takes in what another run of the launch found and this session does not look for (a race, say); gives the number
    /// by which [`Command::GotoFinding`] goes to its program and operation. One at a time.
    ///
    /// # Errors
    /// The launch cannot be run to its end.
    pub fn bring(&mut self, finding: Finding) -> Result<u64> {
        self.run_to_end()?;
        let number = self.findings().len() as u64 + 1;
        self.brought = Some((number, finding));
        Ok(number)
    }

    /// What the kernel has printed up to now, in program order.
    pub fn prints(&mut self) -> Vec<Printed> {
        let mut sink = self.sink();
        sink.prints.sort_by_key(|print| print.linear);
        self.report(|reporter| reporter.prints(&sink))
    }

    /// The calls that led here, innermost first; Triton's own library is left out.
    pub fn backtrace(&self) -> Vec<Frame> {
        let Some(program) = self.program().filter(|program| !program.ended) else {
            return Vec::new();
        };
        let Some(stack) = self.code.stack(program.position) else {
            return Vec::new();
        };
        let columns = self.position().location;
        let seen = stack.iter().take(self.level() as usize + 1);
        let mut frames: Vec<Frame> = seen
            .rev()
            .map(|&(file, line)| Frame {
                file: self.code.files[file as usize].to_string(),
                line,
                column: 0,
                function: None,
            })
            .collect();
        if let Some(outermost) = frames.last_mut() {
            outermost.function = Some(self.code.function().name.to_string());
        }
        if let (Some(innermost), Some(location)) = (frames.first_mut(), columns)
            && innermost.line == location.frame.line
        {
            innermost.column = location.frame.column;
        }
        frames
    }

    /// True if programs may run on the fast path, in any order, with the same result.
    pub(crate) fn is_parallel(&self) -> bool {
        matches!(self.code.stepping.tape.order, Order::Parallel | Order::Logged)
    }
}

fn help(topic: Option<&str>) -> Result<Reply> {
    let row = |info: &CommandInfo| {
        let mut names = info.name.to_string();
        for alias in info.aliases {
            names.push_str(&format!(", {alias}"));
        }
        (
            format!("{names} {}", info.usage).trim_end().to_string(),
            info.help.to_string(),
        )
    };
    let Some(topic) = topic else {
        return Ok(Reply::Help(COMMANDS.iter().map(row).collect()));
    };
    match CommandInfo::find(topic) {
        Some(info) => Ok(Reply::Help(vec![row(info)])),
        None => {
            let error = Error::input(format!("there is no command `{topic}`"));
            Err(match closest(topic, COMMANDS.iter().map(|info| info.name)) {
                Some(near) => error.help(format!("did you mean `{near}`?")),
                None => error.help("`help` lists them"),
            })
        }
    }
}
