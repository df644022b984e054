//! Arrays as the oracle compares them: integers exactly, everything else in float64.

use ndarray::ArrayD;
use tilescope_diagnostics::Value;
use tilescope_launch::{DataArray, Dtype, Memory, Tensor};

use crate::Operand;

/// The elements of a tensor (or a scalar, with no dimensions), row-major.
#[derive(Debug, Clone, PartialEq)]
pub enum Numbers {
    /// Elements of an integer dtype (`i1` as 0 and 1); wide enough for `i64` and `u64`.
    Int(ArrayD<i128>),
    /// Elements of a float dtype, widened exactly.
    Float(ArrayD<f64>),
}

impl Numbers {
    /// The elements of a tensor's view.
    ///
    /// # Errors
    /// Says so where the view has more than `limit` elements.
    pub fn of(tensor: &Tensor, memory: &Memory, limit: usize) -> Result<Numbers, String> {
        if tensor.elements() > limit as u64 {
            return Err(format!(
                "`{}` has {} elements, more than {limit}",
                tensor.name,
                tensor.elements()
            ));
        }
        Numbers::decode(
            tensor.dtype,
            &tensor.shape,
            &memory.gather(tensor, 0, tensor.elements()),
        )
    }

    /// The elements of a data file.
    ///
    /// # Errors
    /// Says so where the bytes do not match the shape.
    pub fn of_data(data: &DataArray) -> Result<Numbers, String> {
        Numbers::decode(data.dtype, &data.shape, &data.bytes)
    }

    fn decode(dtype: Dtype, shape: &[i64], bytes: &[u8]) -> Result<Numbers, String> {
        let shape: Vec<usize> = shape.iter().map(|&d| d.max(0) as usize).collect();
        let bits = bytes.chunks_exact(dtype.bytes()).map(|element| {
            let mut word = [0; 8];
            word[..element.len()].copy_from_slice(element);
            u64::from_le_bytes(word)
        });
        let numbers = if dtype.is_float() {
            ArrayD::from_shape_vec(shape, bits.map(|b| dtype.decode_float(b)).collect()).map(Numbers::Float)
        } else {
            let elements = bits.map(|b| dtype.decode_int(b).unwrap_or(0)).collect();
            ArrayD::from_shape_vec(shape, elements).map(Numbers::Int)
        };
        numbers.map_err(|error| format!("the data do not match the shape: {error}"))
    }

    /// Elements per dimension.
    pub fn shape(&self) -> &[usize] {
        match self {
            Numbers::Int(a) => a.shape(),
            Numbers::Float(a) => a.shape(),
        }
    }

    /// In float64; integers beyond 2^53 are rounded to nearest.
    pub fn into_f64(self) -> ArrayD<f64> {
        match self {
            Numbers::Int(a) => a.mapv(|v| v as f64),
            Numbers::Float(a) => a,
        }
    }

    /// As a [`Reference`](crate::Reference) takes it: an array without dimensions is a scalar.
    pub fn into_operand(self) -> Operand {
        let array = self.into_f64();
        match array.first() {
            Some(&value) if array.ndim() == 0 => Operand::Scalar(value),
            _ => Operand::Array(array),
        }
    }

    /// The element at a row-major position.
    pub(crate) fn element(&self, index: &[usize]) -> Option<Value> {
        match self {
            Numbers::Int(a) => a.get(index).map(|&v| Value::Int(v)),
            Numbers::Float(a) => a.get(index).map(|&v| Value::Float(v)),
        }
    }
}
