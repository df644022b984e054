//! Arguments of a launch: arrays and numbers of Rust.
//!
//! What Rust says of a reference is what the check holds the kernel to: through `&x` it may read, through `&mut x`
//! write too, and [`out`] says that it writes every element.

use std::fmt;

use ndarray::{ArrayBase, Data, DataMut, Dimension, RawData, ViewRepr};
use tilescope_launch::{DataArray, Dtype, Element, Role, TensorInit};

use crate::tile::Number;

/// An argument of a launch.
///
/// Made from `&array` (the kernel may read it), `&mut array` (write it, too), [`out`]`(&mut array)`, views of arrays,
/// slices, and numbers.
pub struct Arg<'a>(pub(crate) Kind<'a>);

pub(crate) enum Kind<'a> {
    Tensor(Tensor<'a>),
    Number(Number),
    Null,
}

/// An array as the launch takes it.
pub(crate) struct Tensor<'a> {
    pub dtype: Dtype,
    pub shape: Vec<i64>,
    pub strides: Vec<i64>,
    pub role: Role,
    /// The elements, packed in row-major order; none for one that holds nothing until the kernel writes it.
    pub bytes: Option<Vec<u8>>,
    /// Puts the elements, packed in row-major order, back into the array.
    pub back: Option<Back<'a>>,
}

impl Tensor<'_> {
    /// The tensor for a pointer to `dtype`; its elements are moved out.
    pub fn init(&mut self, dtype: Dtype) -> TensorInit {
        let init = match self.bytes.take() {
            Some(bytes) => TensorInit::packed(DataArray {
                dtype,
                shape: self.shape.clone(),
                bytes,
            }),
            None => TensorInit::new(dtype, &self.shape),
        };
        init.strides(&self.strides).role(self.role)
    }
}

type Back<'a> = Box<dyn FnOnce(&[u8]) + 'a>;

/// An array that the kernel writes whole: elements that no program wrote are a warning, and zero afterwards.
///
/// ```
/// use tilescope::out;
/// let mut y = vec![0f32; 8];
/// let argument = out(&mut y);
/// ```
pub fn out<'a>(array: impl Into<Arg<'a>> + Writable) -> Arg<'a> {
    let mut arg = array.into();
    if let Kind::Tensor(tensor) = &mut arg.0 {
        (tensor.role, tensor.bytes) = (Role::Out, None);
    }
    arg
}

/// Arrays that [`out`] takes: those behind `&mut`.
pub trait Writable {}

impl<S: RawData, D> Writable for &mut ArrayBase<S, D> {}
impl<T, D> Writable for ArrayBase<ViewRepr<&mut T>, D> {}
impl<T> Writable for &mut [T] {}
impl<T> Writable for &mut Vec<T> {}

/// A null pointer, for a parameter that the kernel does not use.
pub fn null() -> Arg<'static> {
    Arg(Kind::Null)
}

fn read_only<'a, S, D>(array: &ArrayBase<S, D>) -> Arg<'a>
where
    S: Data<Elem: Element>,
    D: Dimension,
{
    Arg(Kind::Tensor(Tensor {
        back: None,
        ..tensor(array, Role::In)
    }))
}

fn tensor<'a, S, D>(array: &ArrayBase<S, D>, role: Role) -> Tensor<'a>
where
    S: Data<Elem: Element>,
    D: Dimension,
{
    let mut bytes = Vec::with_capacity(array.len() * <S as RawData>::Elem::DTYPE.bytes());
    array.iter().for_each(|element| element.push_bytes(&mut bytes));
    Tensor {
        dtype: <S as RawData>::Elem::DTYPE,
        shape: array.shape().iter().map(|&n| n as i64).collect(),
        strides: array.strides().iter().map(|&n| n as i64).collect(),
        role,
        bytes: Some(bytes),
        back: None,
    }
}

impl<'a, S, D> From<&'a ArrayBase<S, D>> for Arg<'a>
where
    S: Data<Elem: Element>,
    D: Dimension,
{
    fn from(array: &'a ArrayBase<S, D>) -> Arg<'a> {
        read_only(array)
    }
}

impl<'a, T: Element, D: Dimension> From<ArrayBase<ViewRepr<&'a T>, D>> for Arg<'a> {
    fn from(array: ArrayBase<ViewRepr<&'a T>, D>) -> Arg<'a> {
        read_only(&array)
    }
}

impl<'a, S, D> From<&'a mut ArrayBase<S, D>> for Arg<'a>
where
    S: DataMut<Elem: Element>,
    D: Dimension + 'a,
{
    fn from(array: &'a mut ArrayBase<S, D>) -> Arg<'a> {
        Arg::from(array.view_mut())
    }
}

impl<'a, T: Element, D: Dimension + 'a> From<ArrayBase<ViewRepr<&'a mut T>, D>> for Arg<'a> {
    fn from(mut array: ArrayBase<ViewRepr<&'a mut T>, D>) -> Arg<'a> {
        let tensor = tensor(&array, Role::InOut);
        let back = move |packed: &[u8]| {
            for (element, bytes) in array.iter_mut().zip(packed.chunks_exact(T::DTYPE.bytes())) {
                *element = T::from_bytes(bytes);
            }
        };
        Arg(Kind::Tensor(Tensor {
            back: Some(Box::new(back)),
            ..tensor
        }))
    }
}

impl<'a, T: Element> From<&'a [T]> for Arg<'a> {
    fn from(slice: &'a [T]) -> Arg<'a> {
        Arg::from(ndarray::ArrayView1::from(slice))
    }
}

impl<'a, T: Element> From<&'a mut [T]> for Arg<'a> {
    fn from(slice: &'a mut [T]) -> Arg<'a> {
        Arg::from(ndarray::ArrayViewMut1::from(slice))
    }
}

impl<'a, T: Element> From<&'a Vec<T>> for Arg<'a> {
    fn from(vector: &'a Vec<T>) -> Arg<'a> {
        Arg::from(&vector[..])
    }
}

impl<'a, T: Element> From<&'a mut Vec<T>> for Arg<'a> {
    fn from(vector: &'a mut Vec<T>) -> Arg<'a> {
        Arg::from(&mut vector[..])
    }
}

macro_rules! numbers {
    ($($ty:ty)*) => {$(
        impl From<$ty> for Arg<'_> {
            fn from(value: $ty) -> Self {
                Arg(Kind::Number(value.into()))
            }
        }
    )*};
}

numbers!(bool i8 i16 i32 i64 u8 u16 u32 u64 usize f32 f64 half::f16 half::bf16);

/// All arguments of a launch, in the order of the kernel's parameters: a tuple of what makes an [`Arg`] each, or a
/// vector or array of them.
pub trait Args<'a> {
    /// The arguments in their order.
    fn args(self) -> Vec<Arg<'a>>;
}

impl<'a> Args<'a> for Vec<Arg<'a>> {
    fn args(self) -> Vec<Arg<'a>> {
        self
    }
}

impl<'a, const N: usize> Args<'a> for [Arg<'a>; N] {
    fn args(self) -> Vec<Arg<'a>> {
        self.into()
    }
}

impl Args<'static> for () {
    fn args(self) -> Vec<Arg<'static>> {
        Vec::new()
    }
}

macro_rules! tuples {
    ([$($done:ident $done_index:tt),*] $next:ident $next_index:tt $(, $name:ident $index:tt)*) => {
        impl<'a, $($done: Into<Arg<'a>>,)* $next: Into<Arg<'a>>> Args<'a> for ($($done,)* $next,) {
            fn args(self) -> Vec<Arg<'a>> {
                vec![$(self.$done_index.into(),)* self.$next_index.into()]
            }
        }
        tuples!([$($done $done_index,)* $next $next_index] $($name $index),*);
    };
    ([$($done:ident $done_index:tt),*]) => {};
}

tuples!([] A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12, N 13, O 14, P 15, Q 16, R 17, S 18, T 19);

impl fmt::Debug for Arg<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Tensor(tensor) => write!(f, "Arg({}{:?})", tensor.dtype.name(), tensor.shape),
            Kind::Number(number) => write!(f, "Arg({number:?})"),
            Kind::Null => f.write_str("Arg(null)"),
        }
    }
}
