//! Launches built in Rust: the same thing as a launch file, without a file.
//!
//! The builder writes a launch file's text and keeps the given elements beside it, so that there is one
//! meaning and one set of messages; [`LaunchBuilder::text`] shows the file, for instance to keep a case
//! that failed.
//!
//! ```
//! use tilescope_ir::{Elem, Pointer, Scalar, Type};
//! use tilescope_launch::{Dtype, LaunchBuilder, Overrides, Parameter, Role, Signature, TensorInit};
//!
//! # fn main() -> tilescope_diagnostics::Result<()> {
//! // Usually `Signature::of(&module, function)`.
//! let pointer = Type::Scalar(Elem::Ptr(Pointer::to(Scalar::F32)));
//! let parameter = |name: &str, ty| Parameter { name: Some(name.into()), ty };
//! let signature = Signature {
//!     name: "scale".into(),
//!     parameters: vec![
//!         parameter("x_ptr", pointer),
//!         parameter("y_ptr", pointer),
//!         parameter("factor", Type::scalar(Scalar::F32)),
//!         parameter("n", Type::scalar(Scalar::I32)),
//!     ],
//!     ..Signature::default()
//! };
//!
//! let (file, data) = LaunchBuilder::new("scale.ttir")
//!     .tensor("x_ptr", TensorInit::elements(&[3], [1.0f32, 2.0, 3.0]).role(Role::In))
//!     .tensor("y_ptr", TensorInit::new(Dtype::F32, &[3]).role(Role::Out))
//!     .scalar("factor", 0.5)
//!     .scalar("n", 3)
//!     .grid(&[1])
//!     .build()?;
//! let bound = file.bind(&[signature], &Overrides::default())?;
//! let memory = bound.allocate(&data, 1 << 20)?;
//! assert_eq!(memory.gather(&bound.tensors()[0], 1, 1), 2.0f32.to_le_bytes());
//! # Ok(())
//! # }
//! ```

use std::collections::BTreeMap;
use std::fmt::Write;

use tilescope_diagnostics::{Error, Result, Source};

use crate::expr::Value;
use crate::{DataArray, Dtype, Files, LaunchFile, Role, write_npy};

/// A Rust number that is an element of a tensor.
pub trait Element: Copy {
    /// The tensor's dtype.
    const DTYPE: Dtype;

    /// Appends its bytes, little-endian.
    fn push_bytes(self, bytes: &mut Vec<u8>);

    /// The number with these bytes, little-endian; zero unless there are as many as the dtype has.
    fn from_bytes(bytes: &[u8]) -> Self;
}

macro_rules! elements {
    ($($ty:ty => $dtype:ident),*) => {
        $(impl Element for $ty {
            const DTYPE: Dtype = Dtype::$dtype;

            fn push_bytes(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }

            fn from_bytes(bytes: &[u8]) -> Self {
                Self::from_le_bytes(bytes.try_into().unwrap_or_default())
            }
        })*
    };
}

elements!(i8 => I8, i16 => I16, i32 => I32, i64 => I64, u8 => U8, u16 => U16, u32 => U32, u64 => U64,
          f32 => F32, f64 => F64, half::f16 => F16, half::bf16 => BF16);

impl Element for bool {
    const DTYPE: Dtype = Dtype::I1;

    fn push_bytes(self, bytes: &mut Vec<u8>) {
        bytes.push(self.into());
    }

    fn from_bytes(bytes: &[u8]) -> Self {
        bytes.first().is_some_and(|&byte| byte != 0)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Value {
        Value::Int(value.into())
    }
}

impl From<i32> for Value {
    fn from(value: i32) -> Value {
        Value::Int(value.into())
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Value {
        Value::Float(value)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Value {
        Value::Bool(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Value {
        Value::Str(value.into())
    }
}

/// How a tensor starts: its layout and contents. Shapes, strides and offsets are in elements.
#[derive(Debug, Clone)]
pub struct TensorInit {
    /// The entry's keys and values as TOML.
    fields: Vec<(&'static str, String)>,
    data: Option<DataArray>,
}

impl TensorInit {
    /// A tensor with the contents that its role and dtype imply.
    pub fn new(dtype: Dtype, shape: &[i64]) -> TensorInit {
        TensorInit {
            fields: vec![("dtype", quoted(dtype.name())), ("shape", format!("{shape:?}"))],
            data: None,
        }
    }

    /// A tensor with generated contents, for example `"randint(0, 10)"`.
    pub fn fill(dtype: Dtype, shape: &[i64], fill: &str) -> TensorInit {
        TensorInit::new(dtype, shape).with("fill", quoted(fill))
    }

    /// A tensor with these elements, in row-major order. For an `ndarray` array `a`, give its shape and
    /// `a.iter().copied()`.
    pub fn elements<T: Element>(shape: &[i64], elements: impl IntoIterator<Item = T>) -> TensorInit {
        let mut bytes = Vec::new();
        elements
            .into_iter()
            .for_each(|element| element.push_bytes(&mut bytes));
        TensorInit::packed(DataArray {
            dtype: T::DTYPE,
            shape: shape.to_vec(),
            bytes,
        })
    }

    /// A tensor with the elements of an array.
    pub fn packed(array: DataArray) -> TensorInit {
        TensorInit {
            data: Some(array.clone()),
            ..TensorInit::new(array.dtype, &array.shape)
        }
    }

    /// A view of another tensor's storage, with that one's layout until it is given its own.
    pub fn view_of(name: &str) -> TensorInit {
        TensorInit {
            fields: vec![("view_of", quoted(name))],
            data: None,
        }
    }

    fn with(mut self, key: &'static str, value: String) -> TensorInit {
        self.fields.retain(|(k, _)| *k != key);
        self.fields.push((key, value));
        self
    }

    /// Own shape of a view.
    pub fn shape(self, shape: &[i64]) -> TensorInit {
        self.with("shape", format!("{shape:?}"))
    }

    /// Distance of neighbours in each dimension.
    pub fn strides(self, strides: &[i64]) -> TensorInit {
        self.with("strides", format!("{strides:?}"))
    }

    /// Position of element (0, ..., 0) in the storage.
    pub fn offset(self, offset: i64) -> TensorInit {
        self.with("offset", offset.to_string())
    }

    /// Elements of the storage, where it is larger than the view.
    pub fn storage(self, elements: i64) -> TensorInit {
        self.with("storage", elements.to_string())
    }

    /// What the kernel may do to it.
    pub fn role(self, role: Role) -> TensorInit {
        let name = match role {
            Role::In => "in",
            Role::Out => "out",
            Role::InOut => "inout",
        };
        self.with("role", quoted(name))
    }
}

/// Elements given to a [`LaunchBuilder`], under the names by which its text calls them.
#[derive(Debug, Clone, Default)]
pub struct GivenData {
    files: BTreeMap<String, Vec<u8>>,
}

impl Files for GivenData {
    fn read(&self, path: &str, _max_bytes: u64) -> Result<Vec<u8>> {
        self.files
            .get(path)
            .cloned()
            .ok_or_else(|| Error::input(format!("no data called `{path}`")))
    }
}

/// Builds a launch of one kernel.
#[derive(Debug, Clone)]
pub struct LaunchBuilder {
    name: String,
    kernel: String,
    grid: String,
    seed: u64,
    args: String,
    tensors: String,
    constexprs: String,
    options: String,
    data: GivenData,
}

impl LaunchBuilder {
    /// A launch of the kernel `FILE` or `FILE::FUNCTION`, on a grid of one program.
    pub fn new(kernel: &str) -> LaunchBuilder {
        LaunchBuilder {
            name: "launch".into(),
            kernel: kernel.into(),
            grid: "[1]".into(),
            seed: 0,
            args: String::new(),
            tensors: String::new(),
            constexprs: String::new(),
            options: String::new(),
            data: GivenData::default(),
        }
    }

    /// The launch's name in reports and messages; `launch` unless given.
    pub fn name(mut self, name: &str) -> LaunchBuilder {
        self.name = name.into();
        self
    }

    /// Programs in x, y, z: one to three numbers.
    pub fn grid(mut self, grid: &[i64]) -> LaunchBuilder {
        self.grid = format!("{grid:?}");
        self
    }

    /// The seed of generated data; 0 unless given.
    pub fn seed(mut self, seed: u64) -> LaunchBuilder {
        self.seed = seed;
        self
    }

    /// A tensor argument.
    pub fn tensor(mut self, name: &str, init: TensorInit) -> LaunchBuilder {
        self.args += &self.data.entry(name, init);
        self
    }

    /// Storage that no parameter names: what views and pointers refer to.
    pub fn storage(mut self, name: &str, init: TensorInit) -> LaunchBuilder {
        self.tensors += &self.data.entry(name, init);
        self
    }

    /// A number, of the parameter's own type.
    pub fn scalar(mut self, name: &str, value: impl Into<Value>) -> LaunchBuilder {
        push_entry(&mut self.args, name, &quoted(&value.into().to_string()));
        self
    }

    /// A null pointer.
    pub fn none(mut self, name: &str) -> LaunchBuilder {
        push_entry(&mut self.args, name, "\"none\"");
        self
    }

    /// An array of pointers to other tensors.
    pub fn pointers(mut self, name: &str, tensors: &[&str]) -> LaunchBuilder {
        let names: Vec<String> = tensors.iter().map(|t| quoted(t)).collect();
        push_entry(
            &mut self.args,
            name,
            &format!("{{ dtype = \"u64\", pointers = [{}] }}", names.join(", ")),
        );
        self
    }

    /// A tensor descriptor.
    pub fn descriptor(mut self, name: &str, tensor: &str, block_shape: &[i64]) -> LaunchBuilder {
        let value = format!(
            "{{ descriptor_of = {}, block_shape = {block_shape:?} }}",
            quoted(tensor)
        );
        push_entry(&mut self.args, name, &value);
        self
    }

    /// A compile-time parameter.
    pub fn constexpr(mut self, name: &str, value: impl Into<Value>) -> LaunchBuilder {
        push_entry(&mut self.constexprs, name, &quoted(&value.into().to_string()));
        self
    }

    /// A compile option, for example `num_warps`.
    pub fn option(mut self, name: &str, value: i64) -> LaunchBuilder {
        push_entry(&mut self.options, name, &value.to_string());
        self
    }

    /// The launch as a launch file. Elements that were given stand in it as files, which are those of
    /// [`LaunchBuilder::build`]'s second result.
    pub fn text(&self) -> String {
        let mut text = format!("kernel = {}\ngrid = {}\n", quoted(&self.kernel), self.grid);
        if self.seed != 0 {
            let _ = writeln!(text, "seed = {}", self.seed);
        }
        for (name, body) in [
            ("args", &self.args),
            ("tensors", &self.tensors),
            ("constexprs", &self.constexprs),
            ("options", &self.options),
        ] {
            if !body.is_empty() {
                let _ = write!(text, "\n[{name}]\n{body}");
            }
        }
        text
    }

    /// The parsed launch and the data that it refers to, for [`Bound::allocate`](crate::Bound::allocate).
    ///
    /// # Errors
    ///
    /// As [`LaunchFile::parse`]; places are in [`LaunchBuilder::text`].
    pub fn build(self) -> Result<(LaunchFile, GivenData)> {
        let file = LaunchFile::parse(Source::new(&self.name, self.text()))?;
        Ok((file, self.data))
    }
}

impl GivenData {
    /// An entry's line; its data are kept.
    fn entry(&mut self, name: &str, mut init: TensorInit) -> String {
        if let Some(array) = init.data.take() {
            let path = format!("{name}.npy");
            init.fields.push(("file", quoted(&path)));
            self.files.insert(path, write_npy(&array));
        }
        let fields: Vec<String> = init
            .fields
            .iter()
            .map(|(key, value)| format!("{key} = {value}"))
            .collect();
        let mut line = String::new();
        push_entry(&mut line, name, &format!("{{ {} }}", fields.join(", ")));
        line
    }
}

fn push_entry(table: &mut String, name: &str, value: &str) {
    let bare = !name.is_empty() && name.bytes().all(|b| b == b'_' || b.is_ascii_alphanumeric());
    let key = if bare { name.to_string() } else { quoted(name) };
    let _ = writeln!(table, "{key} = {value}");
}

/// A TOML basic string.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Overrides, Parameter, Signature};
    use tilescope_ir::{Elem, Pointer, Scalar, Type};

    #[test]
    fn the_text_is_a_launch_file() {
        let builder = LaunchBuilder::new("k.ttir::f")
            .name("case 7")
            .grid(&[2, 3])
            .seed(u64::MAX)
            .tensor(
                "x",
                TensorInit::fill(Dtype::F16, &[4, 4], "randint(0, 9)")
                    .strides(&[8, 1])
                    .storage(40),
            )
            .tensor("y", TensorInit::view_of("x").offset(2).shape(&[3]).role(Role::In))
            .tensor(
                "z",
                TensorInit::elements(&[2], [half::bf16::ONE, half::bf16::ZERO]),
            )
            .scalar("eps", 1e-5)
            .scalar("flag", true)
            .scalar("low", -7)
            .none("bias")
            .pointers("ptrs", &["x", "slab"])
            .descriptor("desc", "x", &[2, 2])
            .storage("slab", TensorInit::new(Dtype::I1, &[3]))
            .constexpr("ACTIVATION", "it's \"gelu\"\n")
            .option("num_warps", 8);
        assert_eq!(
            builder.text(),
            r#"kernel = "k.ttir::f"
grid = [2, 3]
seed = 18446744073709551615

[args]
x = { dtype = "f16", shape = [4, 4], fill = "randint(0, 9)", strides = [8, 1], storage = 40 }
y = { view_of = "x", offset = 2, shape = [3], role = "in" }
z = { dtype = "bf16", shape = [2], file = "z.npy" }
eps = "1e-5"
flag = "true"
low = "-7"
bias = "none"
ptrs = { dtype = "u64", pointers = ["x", "slab"] }
desc = { descriptor_of = "x", block_shape = [2, 2] }

[tensors]
slab = { dtype = "i1", shape = [3] }

[constexprs]
ACTIVATION = "'it\\'s \"gelu\"\\n'"

[options]
num_warps = 8
"#
        );
        let (file, data) = builder.build().unwrap();
        let pointer = |s| Type::Scalar(Elem::Ptr(Pointer::to(s)));
        let types = [
            ("x", pointer(Scalar::F16)),
            ("y", pointer(Scalar::F16)),
            ("z", pointer(Scalar::BF16)),
            ("eps", Type::scalar(Scalar::F32)),
            ("flag", Type::BOOL),
            ("low", Type::scalar(Scalar::I32)),
            ("ptrs", pointer(Scalar::I64)),
            (
                "desc",
                Type::Descriptor {
                    block: tilescope_ir::Shape::new(&[2, 2]).unwrap(),
                    elem: Scalar::F16,
                    signed: None,
                },
            ),
        ];
        let parameters = types
            .map(|(name, ty)| Parameter {
                name: Some(name.into()),
                ty,
            })
            .to_vec();
        let bound = file
            .bind(
                &[Signature {
                    name: "f".into(),
                    parameters,
                    ..Signature::default()
                }],
                &Overrides::default(),
            )
            .unwrap();
        assert_eq!(bound.constexprs[0][0].1, Value::Str("it's \"gelu\"\n".into()));
        let memory = bound.allocate(&data, 1 << 20).unwrap();
        assert_eq!(
            memory
                .allocations
                .iter()
                .map(|a| a.bytes.len())
                .collect::<Vec<_>>(),
            [80, 4, 16, 3]
        );
        assert_eq!(memory.allocations[1].bytes[..], [0x80, 0x3f, 0, 0]);
    }

    #[test]
    fn wrong_elements_are_an_error_and_point_into_the_text() {
        let signature = Signature {
            name: "f".into(),
            parameters: vec![Parameter {
                name: Some("x".into()),
                ty: Type::Scalar(Elem::Ptr(Pointer::to(Scalar::F32))),
            }],
            ..Signature::default()
        };
        let (file, data) = LaunchBuilder::new("k.ttir")
            .tensor("x", TensorInit::elements(&[3], [1f32, 2.0]))
            .build()
            .unwrap();
        let error = file
            .bind(&[signature], &Overrides::default())
            .unwrap()
            .allocate(&data, 1 << 20)
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "launch:5:42: `x.npy`: 8 bytes of data, its shape [3] needs 12: for `x`"
        );
        let error = LaunchBuilder::new("k.ttir").scalar("a b", 1).build().unwrap_err();
        assert_eq!(
            error.to_string(),
            "launch:5:1: an argument's name must be an identifier: letters, digits and `_` only"
        );
    }
}
