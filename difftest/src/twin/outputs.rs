//! The twin's launch: a tensor of f64 and one of bounds beside every tensor of floats; and what they hold afterwards.

use tilescope_diagnostics::{Error, Result};
use tilescope_launch::{
    ALIGNMENT, Allocation, AllocationId, Argument, Bytes, Dtype, FIRST_ADDRESS, Launch, Memory, Role, Tensor,
    TensorId,
};

use super::Twin;
use super::shadow::Kind;

/// Elements of tensors that a twin is made for, at the most: each takes 16 bytes more.
const MAX_ELEMENTS: u64 = 1 << 28;

/// A twin with its arguments: run it on its memory, then look at the outputs.
#[derive(Debug)]
pub struct Prepared {
    /// The launch, with the arguments that the twin wants.
    pub launch: Launch,
    /// Its memory: the first launch's bytes, and the twins'.
    pub memory: Memory,
    /// By tensor of the first launch: its twins, where it has them; an integer's only one stands twice.
    twins: Vec<Option<(TensorId, TensorId)>>,
    /// Storage that has twins, the type of its elements, and the twins.
    storage: Vec<(AllocationId, Dtype, AllocationId, AllocationId)>,
}

/// One output: what the kernel stored, what its twin did, and the bound.
#[derive(Debug, Clone, PartialEq)]
pub struct Bounded {
    /// The output.
    pub tensor: Tensor,
    /// The kernel's elements in row-major order.
    pub got: Vec<f64>,
    /// The same in f64.
    pub wide: Vec<f64>,
    /// How far a correct path may be from `wide`. Nothing is known where it is NaN (another path may decide otherwise) or
    /// infinite (a number on the way is larger than its type holds).
    pub error: Vec<f64>,
}

impl Twin {
    /// The twin's launch on the data of another.
    ///
    /// # Errors
    /// Tensors that are too large, that are made lazily, or that share storage under different types.
    pub fn prepare(&self, launch: &Launch, memory: &Memory) -> Result<Prepared> {
        let start = Prepared {
            launch: launch.clone(),
            memory: copy(memory)?,
            twins: vec![None; launch.tensors.len()],
            storage: Vec::new(),
        };
        self.prepare_after(launch, start)
    }

    /// The twin's launch on what another twin left: the next one of a pipeline.
    ///
    /// # Errors
    /// As [`prepare`](Twin::prepare).
    pub fn prepare_after(&self, launch: &Launch, mut before: Prepared) -> Result<Prepared> {
        let tensors = std::mem::take(&mut before.launch.tensors);
        let mut build = before;
        build.launch = Launch {
            tensors,
            ..launch.clone()
        };
        let mut arguments = Vec::new();
        for (argument, kind) in launch.arguments.iter().zip(&self.params) {
            arguments.push(argument.clone());
            let count = match kind {
                Kind::Plain | Kind::Float => 0,
                Kind::IntPlace => 1,
                Kind::FloatPlace => 2,
            };
            if count == 0 {
                continue;
            }
            match argument {
                Argument::Tensor(id) => {
                    let (wide, error) = build.twins_of(*id, *kind)?;
                    arguments.extend([wide, error].into_iter().take(count).map(Argument::Tensor));
                }
                Argument::Descriptor { tensor, block_shape } => {
                    let (wide, error) = build.twins_of(*tensor, *kind)?;
                    arguments.extend([wide, error].into_iter().take(count).map(|tensor| {
                        Argument::Descriptor {
                            tensor,
                            block_shape: block_shape.clone(),
                        }
                    }));
                }
                Argument::Scalar { .. } | Argument::Null => {
                    arguments.extend(std::iter::repeat_n(Argument::Null, count));
                }
            }
        }
        build.launch.arguments = arguments;
        Ok(build)
    }
}

impl Prepared {
    /// The outputs that have twins, after the run.
    pub fn outputs(&self) -> Vec<Bounded> {
        let tensor = |id: TensorId| &self.launch.tensors[id.0 as usize];
        let twins = self.twins.iter().enumerate();
        let twins =
            twins.filter_map(|(i, twins)| twins.map(|(wide, error)| (TensorId(i as u32), wide, error)));
        let outputs = twins.filter(|(id, _, _)| tensor(*id).role != Role::In);
        let outputs = outputs.map(|(id, wide, error)| {
            let got = self.numbers(tensor(id));
            let (wide, error) = match tensor(id).dtype.is_float() {
                true => (self.numbers(tensor(wide)), self.numbers(tensor(error))),
                // Integers are exact where no float decides them.
                false => {
                    let unsure = self.numbers(tensor(error)).into_iter();
                    let error = unsure.map(|flag| if flag == 0.0 { 0.0 } else { f64::NAN });
                    (got.clone(), error.collect())
                }
            };
            Bounded {
                tensor: tensor(id).clone(),
                got,
                wide,
                error,
            }
        });
        outputs.collect()
    }

    fn numbers(&self, tensor: &Tensor) -> Vec<f64> {
        decoded(tensor.dtype, &self.memory.gather(tensor, 0, u64::MAX)).collect()
    }
}

fn decoded(dtype: Dtype, bytes: &[u8]) -> impl Iterator<Item = f64> + '_ {
    bytes.chunks_exact(dtype.bytes()).map(move |element| {
        let mut bits = [0; 8];
        for (to, from) in bits.iter_mut().zip(element) {
            *to = *from;
        }
        let bits = u64::from_le_bytes(bits);
        dtype
            .decode_int(bits)
            .map_or_else(|| dtype.decode_float(bits), |integer| integer as f64)
    })
}

fn copy(memory: &Memory) -> Result<Memory> {
    let mut allocations = Vec::new();
    for from in &memory.allocations {
        if from.deferred.is_some() || from.bytes.len() as u64 > 8 * MAX_ELEMENTS {
            return Err(Error::unsupported(format!(
                "`{}` is too large for a float64 twin",
                from.name
            )));
        }
        let mut bytes = zeroed(from.bytes.len())?;
        bytes.copy_from_slice(&from.bytes);
        allocations.push(Allocation {
            name: from.name.clone(),
            base: from.base,
            bytes,
            deferred: None,
            written: Vec::new(),
        });
    }
    Ok(Memory { allocations })
}

fn zeroed(len: usize) -> Result<Bytes> {
    Bytes::zeroed(len).ok_or_else(|| Error::input("there is too little memory for the float64 twin"))
}

impl Prepared {
    /// The twins of a tensor.
    fn twins_of(&mut self, id: TensorId, kind: Kind) -> Result<(TensorId, TensorId)> {
        let Some(slot) = self.twins.get(id.0 as usize) else {
            return Err(Error::input("an argument names a tensor that there is not"));
        };
        if let Some(twins) = slot {
            return Ok(*twins);
        }
        let tensor = self.launch.tensors[id.0 as usize].clone();
        let dtype = match kind {
            Kind::FloatPlace => Dtype::F64,
            _ => Dtype::I1,
        };
        let (wide, error) = self.storage_of(&tensor, dtype)?;
        let mut add = |suffix: &str, allocation: AllocationId| {
            self.launch.tensors.push(Tensor {
                name: format!("{}.{suffix}", tensor.name),
                dtype,
                allocation,
                uninit: false,
                pointers: Vec::new(),
                ..tensor.clone()
            });
            TensorId(self.launch.tensors.len() as u32 - 1)
        };
        let twins = match kind {
            Kind::FloatPlace => (add("wide", wide), add("error", error)),
            _ => {
                let flags = add("unsure", wide);
                (flags, flags)
            }
        };
        self.twins[id.0 as usize] = Some(twins);
        Ok(twins)
    }

    fn storage_of(&mut self, tensor: &Tensor, twin: Dtype) -> Result<(AllocationId, AllocationId)> {
        let known = self.storage.iter().find(|(of, ..)| *of == tensor.allocation);
        if let Some(&(_, dtype, wide, error)) = known {
            if dtype != tensor.dtype {
                return Err(Error::unsupported(format!(
                    "`{}` has a float64 twin only if all views of its storage have one type",
                    tensor.name
                )));
            }
            return Ok((wide, error));
        }
        let from = &self.memory.allocations[tensor.allocation.0 as usize];
        let elements = from.bytes.len() / tensor.dtype.bytes();
        let mut wide = zeroed(elements * twin.bytes())?;
        if twin == Dtype::F64 {
            let numbers = decoded(tensor.dtype, &from.bytes);
            for (to, number) in wide.chunks_exact_mut(8).zip(numbers) {
                to.copy_from_slice(&number.to_le_bytes());
            }
        }
        let wide = self.allocate(&format!("{}.wide", tensor.name), wide);
        let error = match twin {
            Dtype::F64 => {
                let zeros = zeroed(elements * twin.bytes())?;
                self.allocate(&format!("{}.error", tensor.name), zeros)
            }
            _ => wide,
        };
        self.storage.push((tensor.allocation, tensor.dtype, wide, error));
        Ok((wide, error))
    }

    fn allocate(&mut self, name: &str, bytes: Bytes) -> AllocationId {
        let last = self.memory.allocations.last();
        let end = last.map_or(FIRST_ADDRESS, |a| a.base + (a.bytes.len() as u64).max(1));
        self.memory.allocations.push(Allocation {
            name: name.to_string(),
            base: end.next_multiple_of(ALIGNMENT),
            bytes,
            deferred: None,
            written: Vec::new(),
        });
        AllocationId(self.memory.allocations.len() as u32 - 1)
    }
}
