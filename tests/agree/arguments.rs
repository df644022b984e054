//! Made-up arguments for a kernel, the same for the same name, types and variant.

use tilescope_ir::{Elem, FuncId, Module, Scalar, Type};
use tilescope_launch::{
    ALIGNMENT, Allocation, AllocationId, Argument, Bytes, CompileOptions, Dtype, FIRST_ADDRESS, Launch,
    Memory, Role, Signature, Tensor, TensorId,
};

/// Elements of the tensor behind a pointer.
const ELEMENTS: i64 = 1 << 17;

/// The arguments of a launch, with the bytes of its tensors as they are before it.
pub struct Arguments {
    launch: Launch,
    tensors: Vec<(u64, Vec<u8>)>,
    next: u64,
}

/// A sequence of random numbers (SplitMix64).
struct Random(u64);

impl Random {
    fn of(text: &str, variant: u64) -> Random {
        let start = 0xcbf2_9ce4_8422_2325 ^ variant.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        Random(text.bytes().fold(start, step))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn pick<T: Copy>(&mut self, items: &[T], default: T) -> T {
        let index = (self.next() % items.len().max(1) as u64) as usize;
        items.get(index).copied().unwrap_or(default)
    }
}

fn dtype(scalar: Scalar) -> Dtype {
    match scalar {
        Scalar::I1 => Dtype::I1,
        Scalar::I16 => Dtype::I16,
        Scalar::I32 => Dtype::I32,
        Scalar::I64 | Scalar::Index => Dtype::I64,
        Scalar::F8E4M3FN => Dtype::F8E4M3,
        Scalar::F8E5M2 => Dtype::F8E5M2,
        Scalar::F16 => Dtype::F16,
        Scalar::BF16 => Dtype::BF16,
        Scalar::F32 => Dtype::F32,
        Scalar::F64 => Dtype::F64,
        _ => Dtype::I8,
    }
}

/// An element of a tensor: floats from -1 to 1, small integers; rising ones where the name says that they are offsets.
fn element(dtype: Dtype, name: &str, index: u64, random: &mut Random) -> u64 {
    if dtype.is_float() {
        let unit = (random.next() >> 11) as f64 / (1u64 << 53) as f64;
        return dtype.encode_float(2.0 * unit - 1.0);
    }
    let rising = ["cu_", "indptr", "offset", "start", "seqlens"];
    if dtype != Dtype::I1 && rising.iter().any(|word| name.contains(word)) {
        return dtype.encode_int(i128::from((index * 16).min(112)));
    }
    let below = if dtype == Dtype::I1 { 2 } else { 8 };
    dtype.encode_int(i128::from(random.next() % below))
}

fn integer(name: &str, variant: u64, random: &mut Random) -> i64 {
    let name = name.to_lowercase();
    if name.contains("stride") {
        return match variant {
            0 if name.ends_with(['k', 'n', 'd', 'w']) => 1,
            0 => 64,
            _ => random.pick(&[1, 16, 64, 256], 1),
        };
    }
    match variant {
        0 => 64,
        1 => random.pick(&[16, 32, 48, 80], 16),
        _ => random.pick(&[1, 2, 3, 16, 33], 16),
    }
}

impl Arguments {
    /// Arguments for a function.
    ///
    /// # Errors
    /// A parameter of a type that no argument has.
    pub fn new(module: &Module, kernel: FuncId, variant: u64, name: &str) -> Result<Arguments, String> {
        let signature = Signature::of(module, kernel);
        let mut made = Arguments {
            launch: Launch {
                name: name.to_string(),
                kernel: signature.name.clone(),
                grid: if variant == 0 { [3, 2, 1] } else { [2, 2, 2] },
                arguments: Vec::new(),
                tensors: Vec::new(),
                options: CompileOptions {
                    num_warps: 4,
                    num_stages: 3,
                },
            },
            tensors: Vec::new(),
            next: FIRST_ADDRESS,
        };
        for (index, parameter) in signature.parameters.iter().enumerate() {
            let name = parameter.name.clone().unwrap_or(format!("argument {index}"));
            let mut random = Random::of(&format!("{index} {name}"), variant);
            let argument = made
                .argument(parameter.ty, &name, variant, &mut random)
                .ok_or_else(|| format!("no argument for a parameter of type {}", parameter.ty))?;
            made.launch.arguments.push(argument);
        }
        Ok(made)
    }

    fn argument(&mut self, ty: Type, name: &str, variant: u64, random: &mut Random) -> Option<Argument> {
        Some(match ty {
            Type::Scalar(Elem::Ptr(pointer)) => {
                let dtype = match pointer.target() {
                    Elem::Scalar(scalar) => dtype(scalar),
                    Elem::Ptr(_) => Dtype::U64,
                };
                Argument::Tensor(self.tensor(dtype, name, vec![ELEMENTS], random))
            }
            Type::Scalar(Elem::Scalar(Scalar::I1)) => Argument::Scalar {
                bits: 1 ^ (variant & 1),
            },
            Type::Scalar(Elem::Scalar(scalar)) if scalar.is_float() => {
                let number = random.pick(&[0.125, 0.5, 1.0, 1.5], 1.0);
                Argument::Scalar {
                    bits: dtype(scalar).encode_float(number),
                }
            }
            Type::Scalar(Elem::Scalar(scalar)) => Argument::Scalar {
                bits: dtype(scalar).encode_int(i128::from(integer(name, variant, random))),
            },
            Type::Descriptor { block, elem, .. } => {
                let shape = block.dims().map(|d| (2 * d as i64 - 1).min(256)).collect();
                let tensor = self.tensor(dtype(elem), name, shape, random);
                let block_shape = block.dims().map(|d| d as i64).collect();
                Argument::Descriptor { tensor, block_shape }
            }
            _ => return None,
        })
    }

    fn tensor(&mut self, dtype: Dtype, name: &str, shape: Vec<i64>, random: &mut Random) -> TensorId {
        let mut strides = vec![1i64; shape.len()];
        for axis in (1..shape.len()).rev() {
            strides[axis - 1] = strides[axis] * shape[axis];
        }
        let elements = shape.iter().product::<i64>() as u64;
        let mut bytes = Vec::with_capacity(elements as usize * dtype.bytes());
        for index in 0..elements {
            let bits = element(dtype, name, index, random);
            bytes.extend_from_slice(&bits.to_le_bytes()[..dtype.bytes()]);
        }
        let index = self.launch.tensors.len() as u32;
        self.launch.tensors.push(Tensor {
            name: name.to_string(),
            dtype,
            shape,
            strides,
            offset: 0,
            role: Role::InOut,
            allocation: AllocationId(index),
            uninit: false,
            pointers: Vec::new(),
        });
        let base = self.next;
        self.next = (base + bytes.len() as u64).next_multiple_of(ALIGNMENT);
        self.tensors.push((base, bytes));
        TensorId(index)
    }

    /// The launch, and its memory as it is before it; none if there is not enough.
    pub fn fresh(&self) -> Option<(Launch, Memory)> {
        let mut memory = Memory::default();
        for (tensor, (base, content)) in self.launch.tensors.iter().zip(&self.tensors) {
            let mut bytes = Bytes::zeroed(content.len())?;
            bytes.copy_from_slice(content);
            memory.allocations.push(Allocation {
                name: tensor.name.clone(),
                base: *base,
                bytes,
                deferred: None,
                written: Vec::new(),
            });
        }
        Some((self.launch.clone(), memory))
    }

    /// Whether a launch has changed anything.
    pub fn stored(&self, after: &Memory) -> bool {
        let pairs = after.allocations.iter().zip(&self.tensors);
        pairs
            .into_iter()
            .any(|(a, (_, before))| a.bytes[..] != before[..])
    }

    /// The first element in which two memories differ, and how many do.
    pub fn difference(&self, a: &Memory, b: &Memory) -> Option<String> {
        for (index, tensor) in self.launch.tensors.iter().enumerate() {
            let (a, b) = (&a.allocations[index].bytes[..], &b.allocations[index].bytes[..]);
            if a == b {
                continue;
            }
            let width = tensor.dtype.bytes();
            let pairs = a.chunks(width).zip(b.chunks(width)).enumerate();
            let mut differ = pairs.filter(|(_, (a, b))| a != b);
            let (at, (x, y)) = differ.next()?;
            let show = |bytes: &[u8]| {
                let mut all = [0u8; 8];
                all[..bytes.len()].copy_from_slice(bytes);
                let bits = u64::from_le_bytes(all);
                match tensor.dtype.is_float() {
                    true => tensor.dtype.decode_float(bits).to_string(),
                    false => bits.to_string(),
                }
            };
            let more = differ.count();
            return Some(format!(
                "`{}` [{at}]: ours {}, theirs {}; {more} more elements differ",
                tensor.name,
                show(x),
                show(y)
            ));
        }
        None
    }
}
