//! The launch being debugged: its tensors, and contexts for programs to run on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tilescope_diagnostics::{CheckSet, Result};
use tilescope_interpreter::access;
use tilescope_interpreter::machine::Context;
use tilescope_interpreter::poison::Poison;
use tilescope_interpreter::simd::Cpu;
use tilescope_interpreter::stored::StoredPointers;
use tilescope_interpreter::tape::Tape;
use tilescope_interpreter::target::Target;
use tilescope_launch::{Launch, Memory, Role};

use crate::recorder::Recorder;
use crate::session::Options;

/// Makes the tensors as they are before the launch.
pub type Remake = Arc<dyn Fn() -> Result<Memory> + Send + Sync>;

/// A flag for contexts in which nothing may interrupt a program between two halves of an instruction.
static NEVER: AtomicBool = AtomicBool::new(false);

/// Tensors up to so many bytes are copied when a session begins; larger ones are made again when needed.
const COPIED: usize = 64 << 20;

/// The tensors as they were.
enum Base {
    /// The bytes of the allocations that the kernel may write, by index.
    Copied(Vec<(usize, Vec<u8>)>),
    /// All are made again.
    Remade(Remake),
}

impl std::fmt::Debug for Base {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Base::Copied(_) => "Copied",
            Base::Remade(_) => "Remade",
        })
    }
}

/// The launch and its tensors.
#[derive(Debug)]
pub struct Engine {
    pub launch: Launch,
    pub memory: Memory,
    pub recorder: Recorder,
    pub cancel: &'static AtomicBool,
    pub max_steps: u64,
    pub cpu: Cpu,
    /// The checks that are on.
    pub checks: CheckSet,
    pub target: Option<&'static Target>,
    pub poison: Poison,
    base: Base,
}

impl Engine {
    pub fn new(
        launch: Launch,
        memory: Memory,
        remake: Remake,
        cancel: &'static AtomicBool,
        options: Options,
    ) -> Engine {
        let base = base(&launch, &memory, remake);
        Engine {
            launch,
            memory,
            recorder: Recorder::default(),
            cancel,
            max_steps: options.max_steps,
            cpu: options.cpu,
            poison: options.poison,
            target: options.target,
            checks: options.checks,
            base,
        }
    }

    /// The user asks to stop.
    pub fn interrupted(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }

    /// Gives the tensors the bytes that they had before the launch.
    pub fn reset(&mut self) -> Result<()> {
        drop(self.recorder.take_journal());
        match &self.base {
            Base::Copied(copies) => {
                for (index, bytes) in copies {
                    if let Some(allocation) = self.memory.allocations.get_mut(*index) {
                        allocation.bytes.copy_from_slice(bytes);
                    }
                }
            }
            Base::Remade(remake) => self.memory = remake()?,
        }
        Ok(())
    }

    /// Runs something on the launch, seen by the recorder; `stored` is what is known of pointers in memory.
    pub fn walk<R>(
        &mut self,
        tape: &Tape,
        stored: &mut Option<StoredPointers>,
        run: impl FnOnce(&Context<'_>, &Recorder) -> R,
    ) -> R {
        let recorder = &self.recorder;
        let mut memory = access::Memory::new(&self.launch, &mut self.memory, self.checks, &NEVER);
        if let Some(known) = stored.take() {
            memory.stored = known;
        }
        memory.shared.observe(recorder);
        memory.poison = self.poison;
        let context = Context::new(tape, self.launch.grid, memory, self.max_steps, self.cpu);
        let result = run(&context, recorder);
        *stored = Some(context.memory.stored);
        result
    }

    /// As [`Engine::walk`], unseen, and stopped by the user.
    pub fn race<R>(
        &mut self,
        tape: &Tape,
        stored: &mut Option<StoredPointers>,
        run: impl FnOnce(&Context<'_>) -> R,
    ) -> R {
        let mut memory = access::Memory::new(&self.launch, &mut self.memory, self.checks, self.cancel);
        memory.watch_all();
        memory.poison = self.poison;
        if let Some(known) = stored.take() {
            memory.stored = known;
        }
        let context = Context::new(tape, self.launch.grid, memory, self.max_steps, self.cpu);
        let result = run(&context);
        *stored = Some(context.memory.stored);
        result
    }
}

fn base(launch: &Launch, memory: &Memory, remake: Remake) -> Base {
    let mut written: Vec<usize> = launch
        .tensors
        .iter()
        .filter(|tensor| tensor.role != Role::In)
        .map(|tensor| tensor.allocation.0 as usize)
        .collect();
    written.sort_unstable();
    written.dedup();
    let allocations = written
        .iter()
        .filter_map(|&i| Some((i, memory.allocations.get(i)?)));
    let allocations: Vec<_> = allocations.collect();
    let total: usize = allocations.iter().map(|(_, a)| a.bytes.len()).sum();
    if total > COPIED || allocations.iter().any(|(_, a)| a.deferred.is_some()) {
        return Base::Remade(remake);
    }
    let copy = |(i, allocation): (usize, &tilescope_launch::Allocation)| (i, allocation.bytes.to_vec());
    Base::Copied(allocations.into_iter().map(copy).collect())
}
