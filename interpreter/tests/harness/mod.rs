//! Runs small TTIR texts on launches made by hand.

#![allow(dead_code, reason = "each test binary uses a part of it")]

use bytemuck::Pod;
use std::sync::atomic::AtomicBool;
use tilescope_diagnostics::{Check, Finding, Result, Source};
use tilescope_interpreter::{Control, Options, Outcome, Prepared};
use tilescope_ir::Module;
use tilescope_launch::{
    ALIGNMENT, Allocation, AllocationId, Argument, Bytes, CompileOptions, Dtype, FIRST_ADDRESS, Launch,
    Memory, Role, Tensor, TensorId,
};

/// A kernel with its arguments.
pub struct Bench {
    text: String,
    launch: Launch,
    contents: Vec<Vec<u8>>,
    bases: Vec<u64>,
    /// How it is run.
    pub options: Options,
}

/// What a run left.
pub struct Ran {
    pub outcome: Outcome,
    pub memory: Memory,
}

impl Bench {
    /// The kernel `@k` with these parameters and this body (without `tt.return`), on `grid` programs.
    pub fn new(parameters: &str, body: &str, grid: u64) -> Bench {
        let text = format!("module {{\ntt.func public @k({parameters}) {{\n{body}\ntt.return\n}}\n}}\n");
        Bench::of_text(text, grid)
    }

    /// The kernel `@k` of a whole text.
    pub fn of_text(text: String, grid: u64) -> Bench {
        Bench {
            text,
            launch: Launch {
                name: "test".into(),
                kernel: "k".into(),
                grid: [grid, 1, 1],
                arguments: Vec::new(),
                tensors: Vec::new(),
                options: CompileOptions {
                    num_warps: 4,
                    num_stages: 1,
                },
            },
            contents: Vec::new(),
            bases: Vec::new(),
            options: Options::default(),
        }
    }

    /// An `inout` tensor argument with these elements.
    pub fn tensor<T: Pod>(self, name: &str, dtype: Dtype, data: &[T]) -> Bench {
        self.tensor_as(name, dtype, Role::InOut, &[data.len() as i64], data)
    }

    /// A dense tensor argument.
    pub fn tensor_as<T: Pod>(
        mut self,
        name: &str,
        dtype: Dtype,
        role: Role,
        shape: &[i64],
        data: &[T],
    ) -> Bench {
        let id = self.storage(name, dtype, role, shape, data);
        self.launch.arguments.push(Argument::Tensor(id));
        self
    }

    /// A dense tensor that is no argument.
    pub fn storage<T: Pod>(
        &mut self,
        name: &str,
        dtype: Dtype,
        role: Role,
        shape: &[i64],
        data: &[T],
    ) -> TensorId {
        let mut strides = vec![1; shape.len()];
        for axis in (1..shape.len()).rev() {
            strides[axis - 1] = strides[axis] * shape[axis];
        }
        let base = self.next_base();
        self.contents.push(bytemuck::cast_slice(data).to_vec());
        self.bases.push(base);
        self.launch.tensors.push(Tensor {
            name: name.into(),
            dtype,
            shape: shape.into(),
            strides,
            offset: 0,
            role,
            allocation: AllocationId(self.contents.len() as u32 - 1),
            uninit: false,
            pointers: Vec::new(),
        });
        TensorId(self.launch.tensors.len() as u32 - 1)
    }

    fn next_base(&self) -> u64 {
        match (self.bases.last(), self.contents.last()) {
            (Some(base), Some(bytes)) => (base + bytes.len().max(1) as u64).next_multiple_of(ALIGNMENT),
            _ => FIRST_ADDRESS,
        }
    }

    /// Any other argument.
    pub fn argument(mut self, argument: Argument) -> Bench {
        self.launch.arguments.push(argument);
        self
    }

    /// A scalar argument.
    pub fn scalar(self, bits: u64) -> Bench {
        self.argument(Argument::Scalar { bits })
    }

    /// The launch, to change what the methods here do not offer.
    pub fn launch(&mut self) -> &mut Launch {
        &mut self.launch
    }

    /// Address of a tensor's first byte.
    pub fn base(&self, tensor: TensorId) -> u64 {
        self.bases[self.launch.tensors[tensor.0 as usize].allocation.0 as usize]
    }

    /// The module.
    pub fn module(&self) -> Module {
        let source = Source::new("test.ttir", self.text.clone());
        let module = tilescope_ir::text::parse(&source).unwrap_or_else(|e| panic!("{e}\n{}", self.text));
        if let Err(errors) = tilescope_ir::verify(&module) {
            panic!("{errors:?}\n{}", self.text);
        }
        module
    }

    /// Runs it.
    pub fn try_run(&self, threads: usize) -> Result<Ran> {
        let module = self.module();
        let kernel = module.find("k").expect("kernel");
        let options = Options {
            threads: Some(threads),
            ..self.options
        };
        let prepared = Prepared::new(&module, kernel, &self.launch, options)?;
        let mut memory = Memory::default();
        for (index, (bytes, &base)) in self.contents.iter().zip(&self.bases).enumerate() {
            let mut own = Bytes::zeroed(bytes.len()).expect("memory");
            own.copy_from_slice(bytes);
            memory.allocations.push(Allocation {
                name: format!("storage {index}"),
                base,
                bytes: own,
                deferred: None,
                written: Vec::new(),
            });
        }
        let cancel = AtomicBool::new(false);
        let control = Control {
            cancel: &cancel,
            progress: &|_| (),
        };
        let outcome = prepared.run(&mut memory, &control)?;
        Ok(Ran { outcome, memory })
    }

    /// Its tape as text.
    pub fn listing(&self) -> String {
        let module = self.module();
        let kernel = module.find("k").expect("kernel");
        let prepared = Prepared::new(&module, kernel, &self.launch, self.options);
        prepared.unwrap_or_else(|e| panic!("{e}")).listing()
    }

    /// Runs it on four threads; it must be supported.
    pub fn run(&self) -> Ran {
        self.run_on(4)
    }

    /// Runs it on some threads; it must be supported.
    pub fn run_on(&self, threads: usize) -> Ran {
        self.try_run(threads).unwrap_or_else(|e| panic!("{e}"))
    }
}

impl Ran {
    /// The elements of the storage made `index`-th.
    pub fn read<T: Pod>(&self, index: usize) -> Vec<T> {
        self.memory.allocations[index]
            .bytes
            .chunks_exact(size_of::<T>())
            .map(bytemuck::pod_read_unaligned)
            .collect()
    }

    /// The findings' checks and counts.
    pub fn checks(&self) -> Vec<(Check, u64)> {
        self.outcome.findings.iter().map(|f| (f.check, f.count)).collect()
    }

    /// The only finding.
    pub fn finding(&self) -> &Finding {
        match &self.outcome.findings[..] {
            [finding] => finding,
            other => panic!("one finding expected: {other:#?}"),
        }
    }

    /// Asserts that nothing was found.
    pub fn clean(self) -> Ran {
        assert!(self.outcome.findings.is_empty(), "{:#?}", self.outcome.findings);
        self
    }
}
