//! Properties of a session over real kernels: going back undoes going forward, whatever was done before, and a session
//! ends with the outputs of a plain run.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use proptest::prelude::*;
use tilescope_debugger::{BreakAt, Command, Opening, Options, Reason, Reply, Schedule, Session, Window};
use tilescope_diagnostics::Source;
use tilescope_interpreter::{Control, Prepared};
use tilescope_ir::VerifiedModule;
use tilescope_launch::{Bound, LaunchFile, Memory, NoFiles, Overrides, Signature};

static CANCEL: AtomicBool = AtomicBool::new(false);

/// A kernel of `kernels/` with its launch, made smaller by replacing parts of the launch file's text.
struct Case {
    module: Arc<VerifiedModule>,
    bound: Bound,
}

fn case(name: &str, smaller: &[(&str, &str)]) -> Case {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../kernels")
        .join(name);
    let read = |file: String| std::fs::read_to_string(folder.join(file)).expect("a file of kernels/");
    let mut launch = read(format!("{name}.launch.toml"));
    for (from, to) in smaller {
        assert!(launch.contains(from), "{from} is not in {name}.launch.toml");
        launch = launch.replace(from, to);
    }
    let lines: Vec<String> = launch
        .lines()
        .map(|line| match line.starts_with("kernel") {
            true => format!("kernel = \"{name}.ttir\""),
            false => line.to_string(),
        })
        .collect();
    let text = read(format!("{name}.ttir"));
    let module = tilescope_ir::text::parse(&Source::new("kernel.ttir", text)).expect("TTIR");
    let module = Arc::new(VerifiedModule::new(module).expect("verified"));
    let file = LaunchFile::parse(Source::new("launch", lines.join("\n"))).expect("a launch file");
    let (kernel, _) = module.kernels().next().expect("a kernel");
    let signature = Signature::of(&module, kernel);
    let bound = file.bind(&[signature], &Overrides::default()).expect("bound");
    Case { module, bound }
}

impl Case {
    fn memory(&self) -> Memory {
        self.bound.allocate(&NoFiles, u64::MAX).expect("memory")
    }

    fn session(&self, history_bytes: usize) -> Session {
        let (kernel, _) = self.module.kernels().next().expect("a kernel");
        let bound = self.bound.clone();
        Session::open(Opening {
            module: self.module.clone(),
            kernel,
            launch: self.bound.launches[0].clone(),
            memory: self.memory(),
            remake: Arc::new(move || bound.allocate(&NoFiles, u64::MAX)),
            cancel: &CANCEL,
            options: Options {
                history_bytes,
                ..Options::default()
            },
        })
        .expect("a session")
    }

    /// The bytes of all tensors after a plain run.
    fn run(&self) -> Vec<Vec<u8>> {
        let mut memory = self.memory();
        let (kernel, _) = self.module.kernels().next().expect("a kernel");
        let options = tilescope_interpreter::Options::default();
        let prepared =
            Prepared::new(&self.module, kernel, &self.bound.launches[0], options).expect("lowered");
        let control = Control {
            cancel: &CANCEL,
            progress: &|_| {},
        };
        prepared.run(&mut memory, &control).expect("run");
        bytes(&memory)
    }
}

fn bytes(memory: &Memory) -> Vec<Vec<u8>> {
    memory.allocations.iter().map(|a| a.bytes.to_vec()).collect()
}

/// Everything that can be seen of a session.
fn seen(session: &mut Session) -> String {
    let mut all = format!("{:?}\n", session.position());
    for variable in session.variables() {
        let window = session.tile(variable.id, &Window::last_axes(2, 8, 8));
        all.push_str(&format!("{} {:?} {:?}\n", variable.name, variable.value, window));
    }
    all.push_str(&format!("{:?}\n{:?}\n", session.grid(), session.findings()));
    for tensor in session.launch().tensors.clone() {
        all.push_str(&format!(
            "{:?}\n",
            session.marks(&tensor.name, &Window::last_axes(tensor.shape.len(), 64, 64))
        ));
    }
    let sums: Vec<u64> = bytes(session.tensors())
        .iter()
        .map(|bytes| {
            bytes
                .iter()
                .fold(7, |sum: u64, &b| sum.wrapping_mul(31).wrapping_add(b.into()))
        })
        .collect();
    all.push_str(&format!("{sums:?}\n"));
    all
}

/// A step of a random session.
#[derive(Debug, Clone)]
enum Act {
    Step(u64, bool),
    Next(u64, bool),
    StepOp(u64, bool),
    Program(u64),
    Continue(bool),
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        4 => (1u64..4, any::<bool>()).prop_map(|(n, back)| Act::Step(n, back)),
        2 => (1u64..3, any::<bool>()).prop_map(|(n, back)| Act::Next(n, back)),
        4 => (1u64..40, any::<bool>()).prop_map(|(n, back)| Act::StepOp(n, back)),
        2 => (0u64..64).prop_map(Act::Program),
        1 => any::<bool>().prop_map(Act::Continue),
    ];
    proptest::collection::vec(act, 0..10)
}

fn act(session: &mut Session, act: &Act) {
    let command = match *act {
        Act::Step(count, back) => Command::Step { count, back },
        Act::Next(count, back) => Command::Next { count, back },
        Act::StepOp(count, back) => Command::StepOp { count, back },
        Act::Program(n) => Command::Program([n % session.programs(), 0, 0]),
        Act::Continue(back) => Command::Continue { count: 1, back },
    };
    // A refusal (a program that has ended) leaves the session as it was.
    let _ = session.run(command);
}

fn there_and_back(
    case: &Case,
    acts: &[Act],
    n: u64,
    history: usize,
    schedule: Schedule,
) -> Result<(), TestCaseError> {
    let mut session = case.session(history);
    session
        .run(Command::Schedule(Some(schedule)))
        .expect("a schedule");
    let line = BreakAt::Op("tt.load".into());
    session
        .run(Command::Break {
            at: line,
            condition: None,
            programs: None,
            once: false,
        })
        .expect("a breakpoint");
    acts.iter().for_each(|a| act(&mut session, a));
    session.run(Command::Delete(None)).expect("no breakpoints");
    session.run(Command::StopAtFindings(false)).expect("no findings");
    let before = seen(&mut session);
    let ticks = session.position().tick;
    // Count the operations that are really executed: fewer than n where the program ends.
    let mut done = 0;
    while done < n {
        let tick = session.position().tick;
        let Ok(Reply::Stopped(stopped)) = session.run(Command::StepOp {
            count: 1,
            back: false,
        }) else {
            break;
        };
        done += u64::from(session.position().tick > tick);
        if stopped.reason != Reason::Stepped {
            break;
        }
    }
    if done > 0 {
        session
            .run(Command::StepOp {
                count: done,
                back: true,
            })
            .expect("back");
        let after = seen(&mut session);
        // The first operation of a program may not be where one begins: then it goes back to the beginning.
        if session.position().tick == ticks {
            prop_assert_eq!(before, after);
        } else {
            prop_assert!(session.position().tick < ticks || ticks == 0);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn going_back_undoes_going_forward(acts in acts(), n in 1u64..60, tight in any::<bool>()) {
        let case = case("softmax_looped", &[("value = 127", "value = 3"), ("value = 5003", "value = 1500")]);
        let history = if tight { 64 << 10 } else { 64 << 20 };
        there_and_back(&case, &acts, n, history, Schedule::Sequential)?;
    }

    #[test]
    fn also_with_programs_interleaved(acts in acts(), n in 1u64..40, seed in 0u64..9) {
        let case = case("histogram", &[("value = 98435", "value = 2500")]);
        there_and_back(&case, &acts, n, 8 << 20, Schedule::Interleave(seed))?;
    }

    #[test]
    fn a_session_ends_as_a_run_does(acts in acts(), seed in 0u64..4) {
        let case = case("cumsum", &[("value = 127", "value = 3")]);
        let expected = case.run();
        let mut session = case.session(16 << 20);
        let schedule = match seed {
            0 => Schedule::Sequential,
            1 => Schedule::Interleave(5),
            seed => Schedule::Random(seed),
        };
        session.run(Command::Schedule(Some(schedule))).expect("a schedule");
        acts.iter().for_each(|a| act(&mut session, a));
        let reply = session.run(Command::Continue { count: 1, back: false }).expect("the end");
        let at_end = matches!(&reply, Reply::Stopped(stopped) if stopped.reason == Reason::LaunchEnd);
        prop_assert!(at_end, "{reply:?}");
        prop_assert_eq!(bytes(session.tensors()), expected);
    }
}
