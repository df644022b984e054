//! Data files of tensors: which reader a path gets, and whether the file holds what was declared.

use std::sync::Arc;

use tilescope_diagnostics::{Error, Result, Source, closest};

use crate::file::Spelled;
use crate::npy::{self, NpyHeader};
use crate::{Dtype, Tensor};

/// Largest data file that is read.
pub const MAX_DATA_BYTES: u64 = 64 << 30;

/// Where files come from: a disk, or what is embedded in the binary.
pub trait Files {
    /// The whole content of the file at `path`, relative to the launch file.
    ///
    /// # Errors
    ///
    /// An error that names the path, without a place: the file is missing, unreadable, or longer than
    /// `max_bytes` (which must be found out without reading it).
    fn read(&self, path: &str, max_bytes: u64) -> Result<Vec<u8>>;
}

/// For launches that name no files.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoFiles;

impl Files for NoFiles {
    fn read(&self, path: &str, _max_bytes: u64) -> Result<Vec<u8>> {
        Err(Error::input(format!(
            "file `{path}` cannot be read: no files here"
        )))
    }
}

/// Elements of a data file, in row-major order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataArray {
    /// Type of an element.
    pub dtype: Dtype,
    /// Elements per dimension.
    pub shape: Vec<i64>,
    /// Packed little-endian elements.
    pub bytes: Vec<u8>,
}

/// Reads a `.npy` file, or the tensor `key` of a `.safetensors` file, to be used as `dtype`.
///
/// Types that a format cannot name may be stored as plain bytes of the same size: in `.npy`, bf16 as
/// `V2` or `u2` and the fp8 types as `V1` or `u1`.
///
/// # Errors
///
/// A file that cannot be read, is ill-formed, or holds elements of another type; big-endian and
/// structured data are refused by name.
pub fn read_data(files: &dyn Files, path: &str, key: Option<&str>, dtype: Dtype) -> Result<DataArray> {
    let content = files.read(path, MAX_DATA_BYTES)?;
    let named = |error: Box<Error>| {
        Box::new(Error {
            message: format!("`{path}`: {}", error.message),
            ..*error
        })
    };
    match key {
        None => npy_array(content, dtype).map_err(named),
        Some(key) => safetensors_array(&content, key, dtype).map_err(named),
    }
}

/// The elements for a declared tensor, packed in row-major order; errors point at the file's name in
/// the launch file.
pub(crate) fn read(
    files: &dyn Files,
    path: &Spelled,
    key: Option<&Spelled>,
    tensor: &Tensor,
    source: &Arc<Source>,
) -> Result<Vec<u8>> {
    let place = |error: Box<Error>| error.at(source, path.span.clone(), format!("for `{}`", tensor.name));
    let array = read_data(files, &path.text, key.map(|k| k.text.as_str()), tensor.dtype).map_err(place)?;
    if array.shape != tensor.shape {
        let message = format!(
            "`{}` has shape {:?}, declared is {:?}",
            path.text, array.shape, tensor.shape
        );
        return Err(place(Error::input(message)));
    }
    Ok(array.bytes)
}

fn npy_array(mut content: Vec<u8>, dtype: Dtype) -> Result<DataArray> {
    let NpyHeader {
        descr,
        fortran_order,
        shape,
        data_start,
    } = npy::header(&content)?;
    let wanted = npy::descriptions(dtype);
    if !wanted.contains(&descr.as_str()) {
        if descr.starts_with('>') {
            return Err(Error::unsupported(format!(
                "big-endian data (`{descr}`) is not read"
            )));
        }
        let message = format!(
            "elements are `{descr}`, {} wants `{}`",
            dtype.name(),
            wanted.join("` or `")
        );
        return Err(Error::input(message));
    }
    let size = dtype.bytes();
    let elements = shape.iter().try_fold(1i64, |n, &d| n.checked_mul(d));
    let expected = elements
        .and_then(|n| usize::try_from(n).ok())
        .and_then(|n| n.checked_mul(size));
    let found = content.len() - data_start.min(content.len());
    if expected != Some(found) {
        let expected = expected.map_or("more than 2^63".to_string(), |n| n.to_string());
        return Err(Error::input(format!(
            "{found} bytes of data, its shape {shape:?} needs {expected}"
        )));
    }
    content.drain(..data_start);
    let bytes = if fortran_order {
        npy::row_major(&content, &shape, size)
    } else {
        content
    };
    Ok(DataArray { dtype, shape, bytes })
}

fn safetensors_array(content: &[u8], key: &str, dtype: Dtype) -> Result<DataArray> {
    let file = safetensors::SafeTensors::deserialize(content)
        .map_err(|error| Error::input(format!("not a safetensors file: {error}")))?;
    let Ok(view) = file.tensor(key) else {
        let mut names: Vec<&str> = file.names().into_iter().collect();
        names.sort_unstable();
        let error = Error::input(format!("no tensor `{key}`"));
        return Err(match closest(key, names.iter().copied()) {
            Some(near) => error.help(format!("did you mean `{near}`?")),
            None => error.note(format!("it holds: {}", names.join(", "))),
        });
    };
    if safetensors_dtype(dtype) != view.dtype() {
        let message = format!(
            "elements of `{key}` are {:?}, declared is {}",
            view.dtype(),
            dtype.name()
        );
        return Err(Error::input(message));
    }
    let shape = view
        .shape()
        .iter()
        .map(|&d| i64::try_from(d))
        .collect::<Result<Vec<_>, _>>();
    let shape = shape.map_err(|_| Error::input(format!("the shape of `{key}` is too large")))?;
    Ok(DataArray {
        dtype,
        shape,
        bytes: view.data().to_vec(),
    })
}

fn safetensors_dtype(dtype: Dtype) -> safetensors::Dtype {
    match dtype {
        Dtype::I1 => safetensors::Dtype::BOOL,
        Dtype::I8 => safetensors::Dtype::I8,
        Dtype::I16 => safetensors::Dtype::I16,
        Dtype::I32 => safetensors::Dtype::I32,
        Dtype::I64 => safetensors::Dtype::I64,
        Dtype::U8 => safetensors::Dtype::U8,
        Dtype::U16 => safetensors::Dtype::U16,
        Dtype::U32 => safetensors::Dtype::U32,
        Dtype::U64 => safetensors::Dtype::U64,
        Dtype::F8E4M3 => safetensors::Dtype::F8_E4M3,
        Dtype::F8E5M2 => safetensors::Dtype::F8_E5M2,
        Dtype::F16 => safetensors::Dtype::F16,
        Dtype::BF16 => safetensors::Dtype::BF16,
        Dtype::F32 => safetensors::Dtype::F32,
        Dtype::F64 => safetensors::Dtype::F64,
    }
}

/// A `.npy` file (format 1.0) of packed row-major elements.
///
/// NumPy has no bf16 or fp8: they are written as raw bytes (`V2`, `V1`), as NumPy does for the types of
/// `ml_dtypes`; read them with `np.load(f).view(ml_dtypes.bfloat16)`.
pub fn write_npy(array: &DataArray) -> Vec<u8> {
    let mut file = npy_header(array.dtype, &array.shape);
    file.extend_from_slice(&array.bytes);
    file
}

/// What stands in a `.npy` file before its elements: with them behind it, it is what [`write_npy`] makes.
pub fn npy_header(dtype: Dtype, shape: &[i64]) -> Vec<u8> {
    npy::write_header(npy::descriptions(dtype)[0], shape)
}

/// A `.safetensors` file with the arrays under their names.
///
/// # Errors
///
/// An array whose bytes do not match its shape.
pub fn write_safetensors(arrays: &[(String, DataArray)]) -> Result<Vec<u8>> {
    let mut views = Vec::new();
    for (name, array) in arrays {
        let shape = array.shape.iter().map(|&d| d.max(0) as usize).collect();
        let view = safetensors::tensor::TensorView::new(safetensors_dtype(array.dtype), shape, &array.bytes)
            .map_err(|error| Error::input(format!("`{name}` cannot be written: {error}")))?;
        views.push((name.as_str(), view));
    }
    safetensors::serialize(views, None)
        .map_err(|error| Error::input(format!("cannot write safetensors: {error}")))
}
