//! The twin's launch: a tensor of f64 and one of bounds beside every tensor of floats; and what they hold afterwards.

use tilescope_diagnostics::{Error, Result};
use tilescope_ir::Scalar;
use tilescope_launch::{
    ALIGNMENT, Allocation, AllocationId, Argument, Bytes, Dtype, FIRST_ADDRESS, Launch, Memory, Role, Tensor,
    TensorId,
};

use super::shadow::Kind;
use super::{Twin, rounding};

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
    /// Elements from a bound to the size of what was added to its element atomically, and from there to how often; zero where
    /// nothing is.
    distance: usize,
    /// What is not zero after the run if another path may have stored elsewhere.
    flag: Option<AllocationId>,
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
            flag: None,
            distance: 0,
        };
        self.prepare_after(launch, start)
    }

    /// The twin's launch on what another twin left: the next one of a pipeline.
    ///
    /// # Errors
    /// As [`prepare`](Twin::prepare).
    pub fn prepare_after(&self, launch: &Launch, mut before: Prepared) -> Result<Prepared> {
        before.settle();
        let tensors = std::mem::take(&mut before.launch.tensors);
        let mut build = before;
        build.launch = Launch {
            tensors,
            ..launch.clone()
        };
        let mut arguments = Vec::new();
        let mut bounds = Vec::new();
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
                    if *kind == Kind::FloatPlace {
                        bounds.push((arguments.len() - 1, error));
                    }
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
        if self.flagged {
            arguments.push(Argument::Tensor(build.flag()?));
        }
        if self.sums {
            build.make_room()?;
            for (at, error) in bounds {
                arguments[at] = Argument::Tensor(build.with_sums(error));
            }
        }
        if self.measured {
            let bits = build.distance as u64;
            arguments.push(Argument::Scalar { bits });
        }
        build.launch.arguments = arguments;
        Ok(build)
    }
}

impl Prepared {
    /// True after a run in which another path may have stored elsewhere than this one: then nothing is known of any output.
    pub fn is_elsewhere(&self) -> bool {
        let flag = self
            .flag
            .and_then(|id| self.memory.allocations.get(id.0 as usize));
        flag.is_some_and(|flag| flag.bytes.iter().any(|&byte| byte != 0))
    }

    /// The outputs that have twins, after the run.
    pub fn outputs(&self) -> Vec<Bounded> {
        let tensor = |id: TensorId| &self.launch.tensors[id.0 as usize];
        let twins = self.twins.iter().enumerate();
        let twins =
            twins.filter_map(|(i, twins)| twins.map(|(wide, error)| (TensorId(i as u32), wide, error)));
        let outputs = twins.filter(|(id, _, _)| tensor(*id).role != Role::In);
        let elsewhere = self.is_elsewhere();
        let outputs = outputs.map(|(id, wide, error)| {
            let got = self.numbers(tensor(id));
            let (wide, mut error) = match tensor(id).dtype.is_float() {
                true => self.floats(tensor(id).dtype, tensor(wide), tensor(error)),
                // Integers are exact where no float decides them.
                false => {
                    let unsure = self.numbers(tensor(error)).into_iter();
                    let error = unsure.map(|flag| if flag == 0.0 { 0.0 } else { f64::NAN });
                    (got.clone(), error.collect())
                }
            };
            if elsewhere {
                error.fill(f64::NAN);
            }
            Bounded {
                tensor: tensor(id).clone(),
                got,
                wide,
                error,
            }
        });
        outputs.collect()
    }

    /// The twin of a tensor of floats, and its bounds, with those of sums.
    fn floats(&self, dtype: Dtype, wide: &Tensor, error: &Tensor) -> (Vec<f64>, Vec<f64>) {
        let (wide, errors) = (self.numbers(wide), self.numbers(error));
        let beside = |times: i64| {
            let mut tensor = error.clone();
            tensor.offset += times * self.distance as i64;
            self.numbers(&tensor)
        };
        let (Some(number), true) = (number_of(dtype), self.has_room(error.allocation)) else {
            return (wide, errors);
        };
        let sums = beside(1).into_iter().zip(beside(2));
        let lanes = wide.iter().zip(&errors).zip(sums);
        let errors = lanes.map(|((&wide, &error), sums)| rounding::of_sums(wide, error, sums, number));
        let errors = errors.collect();
        (wide, errors)
    }

    /// True for bounds with what was added beside them.
    fn has_room(&self, error: AllocationId) -> bool {
        let bytes = &self.memory.allocations[error.0 as usize].bytes;
        self.distance > 0 && bytes.len() == 3 * 8 * self.distance
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

/// The format of a tensor of floats.
fn number_of(dtype: Dtype) -> Option<Scalar> {
    let numbers = [Scalar::F64, Scalar::F32, Scalar::F16, Scalar::BF16];
    numbers
        .into_iter()
        .find(|&number| Dtype::of_scalar(number) == Some(dtype))
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
    /// Before another launch: what is not known of what the last one left is written down beside it.
    fn settle(&mut self) {
        self.settle_sums();
        if !self.is_elsewhere() {
            return;
        }
        for (tensor, twins) in self.launch.tensors.iter().zip(&self.twins) {
            let Some((_, error)) = twins.filter(|_| tensor.role != Role::In) else {
                continue;
            };
            let error = self.launch.tensors[error.0 as usize].allocation;
            let bytes = &mut self.memory.allocations[error.0 as usize].bytes;
            match tensor.dtype.is_float() {
                true => bytes
                    .chunks_exact_mut(8)
                    .for_each(|e| e.copy_from_slice(&f64::NAN.to_le_bytes())),
                false => bytes.fill(1),
            }
        }
        if let Some(flag) = self.flag {
            self.memory.allocations[flag.0 as usize].bytes.fill(0);
        }
    }

    /// The bounds of sums become bounds as others, with nothing added since.
    fn settle_sums(&mut self) {
        for &(_, dtype, wide, error) in &self.storage {
            let (Some(number), true) = (number_of(dtype), self.has_room(error)) else {
                continue;
            };
            let wide: Vec<f64> =
                decoded(Dtype::F64, &self.memory.allocations[wide.0 as usize].bytes).collect();
            let bytes = &mut self.memory.allocations[error.0 as usize].bytes;
            let (errors, sums) = bytes.split_at_mut(8 * self.distance);
            let (sizes, counts) = sums.split_at(8 * self.distance);
            let sizes = decoded(Dtype::F64, sizes);
            let sums = sizes.zip(decoded(Dtype::F64, counts));
            for ((slot, wide), sums) in errors.chunks_exact_mut(8).zip(wide).zip(sums) {
                let error = decoded(Dtype::F64, slot).next().unwrap_or(f64::NAN);
                let error = rounding::of_sums(wide, error, sums, number);
                slot.copy_from_slice(&error.to_le_bytes());
            }
            bytes[8 * self.distance..].fill(0);
        }
    }

    /// Makes bounds three times as long: what is added to elements is noted behind them.
    fn make_room(&mut self) -> Result<()> {
        let floats = self.storage.iter().filter(|(_, dtype, ..)| dtype.is_float());
        let floats: Vec<(AllocationId, AllocationId)> =
            floats.map(|&(_, _, wide, error)| (wide, error)).collect();
        let elements = |memory: &Memory, id: AllocationId| memory.allocations[id.0 as usize].bytes.len() / 8;
        let most = floats.iter().map(|&(wide, _)| elements(&self.memory, wide)).max();
        let most = most.unwrap_or(0).max(1);
        if 3 * (most as u64).saturating_mul(floats.len() as u64) > MAX_ELEMENTS {
            let why = "tensors that floats are added to atomically are too large for a float64 twin";
            return Err(Error::unsupported(why));
        }
        self.distance = most;
        for (wide, old) in floats {
            if self.has_room(old) {
                continue;
            }
            let mut bytes = zeroed(3 * 8 * most)?;
            let count = 8 * elements(&self.memory, wide);
            let from = std::mem::replace(&mut self.memory.allocations[old.0 as usize].bytes, zeroed(0)?);
            bytes[..count].copy_from_slice(&from[..count]);
            let name = self.memory.allocations[old.0 as usize].name.clone();
            let new = self.allocate(&name, bytes);
            for tensor in self.launch.tensors.iter_mut().filter(|t| t.allocation == old) {
                tensor.allocation = new;
            }
            for storage in self.storage.iter_mut().filter(|storage| storage.3 == old) {
                storage.3 = new;
            }
        }
        Ok(())
    }

    /// A view of bounds with what is beside them.
    fn with_sums(&mut self, error: TensorId) -> TensorId {
        let tensor = &self.launch.tensors[error.0 as usize];
        let mut all = tensor.clone();
        all.shape.insert(0, 3);
        all.strides.insert(0, self.distance as i64);
        self.launch.tensors.push(all);
        TensorId(self.launch.tensors.len() as u32 - 1)
    }

    /// The flag's tensor, for a launch that wants it.
    fn flag(&mut self) -> Result<TensorId> {
        let allocation = match self.flag {
            Some(allocation) => allocation,
            None => self.allocate("flag.elsewhere", zeroed(1)?),
        };
        self.flag = Some(allocation);
        self.launch.tensors.push(Tensor {
            name: String::from("flag.elsewhere"),
            dtype: Dtype::I1,
            shape: vec![1],
            strides: vec![1],
            offset: 0,
            role: Role::InOut,
            allocation,
            uninit: false,
            pointers: Vec::new(),
        });
        Ok(TensorId(self.launch.tensors.len() as u32 - 1))
    }

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
