//! The `.npy` header: versions 1.0 to 3.0 of NumPy's format (NEP 1), plain dtypes only.

use tilescope_diagnostics::{Error, Result};

use crate::Dtype;
use crate::layout::row_major as row_major_strides;

/// Longest header that is read; NumPy's own are padded to 64 bytes and rarely longer than 128.
const MAX_HEADER: usize = 64 << 10;

const MAGIC: &[u8] = b"\x93NUMPY";

pub(crate) struct NpyHeader {
    /// For example `<f4`.
    pub descr: String,
    pub fortran_order: bool,
    pub shape: Vec<i64>,
    /// Offset of the first element.
    pub data_start: usize,
}

/// What NumPy calls the elements; the first is what is written.
pub(crate) fn descriptions(dtype: Dtype) -> &'static [&'static str] {
    match dtype {
        Dtype::I1 => &["|b1"],
        Dtype::I8 => &["|i1"],
        Dtype::I16 => &["<i2"],
        Dtype::I32 => &["<i4"],
        Dtype::I64 => &["<i8"],
        Dtype::U8 => &["|u1"],
        Dtype::U16 => &["<u2"],
        Dtype::U32 => &["<u4"],
        Dtype::U64 => &["<u8"],
        Dtype::F8E4M3 | Dtype::F8E5M2 => &["|V1", "<V1", "|u1", "<f1"],
        Dtype::F16 => &["<f2"],
        Dtype::BF16 => &["|V2", "<V2", "<u2"],
        Dtype::F32 => &["<f4"],
        Dtype::F64 => &["<f8"],
    }
}

pub(crate) fn header(file: &[u8]) -> Result<NpyHeader> {
    let bad = |why: &str| Error::input(format!("not a .npy file: {why}"));
    let rest = file
        .strip_prefix(MAGIC)
        .ok_or_else(|| bad("wrong magic number"))?;
    let short = || bad("it ends in the header");
    let (&[major, _minor], rest) = rest.split_first_chunk::<2>().ok_or_else(short)?;
    let (length, start) = match major {
        1 => (
            u16::from_le_bytes(*rest.first_chunk::<2>().ok_or_else(short)?) as usize,
            10,
        ),
        2 | 3 => (
            u32::from_le_bytes(*rest.first_chunk::<4>().ok_or_else(short)?) as usize,
            12,
        ),
        _ => return Err(Error::unsupported(format!(".npy version {major} is not read"))),
    };
    if length > MAX_HEADER {
        return Err(bad("its header is too long"));
    }
    let data_start = start + length;
    let text = file.get(start..data_start).ok_or_else(short)?;
    let text = std::str::from_utf8(text).map_err(|_| bad("its header is no text"))?;
    if text.contains("'descr': [") {
        return Err(Error::unsupported("structured arrays are not read"));
    }
    let mut parser = Literal { rest: text };
    let fields = parser
        .dictionary()
        .ok_or_else(|| bad("its header is no dictionary of descr, fortran_order, shape"))?;
    let (descr, fortran_order, shape) = fields;
    Ok(NpyHeader {
        descr,
        fortran_order,
        shape,
        data_start,
    })
}

/// The few Python literals that a header is made of.
struct Literal<'a> {
    rest: &'a str,
}

impl<'a> Literal<'a> {
    fn accept(&mut self, token: &str) -> bool {
        self.rest = self.rest.trim_start();
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn string(&mut self) -> Option<&'a str> {
        let quote = if self.accept("'") {
            '\''
        } else if self.accept("\"") {
            '"'
        } else {
            return None;
        };
        let (text, rest) = self.rest.split_once(quote)?;
        self.rest = rest;
        Some(text)
    }

    fn boolean(&mut self) -> Option<bool> {
        if self.accept("True") {
            Some(true)
        } else {
            self.accept("False").then_some(false)
        }
    }

    fn shape(&mut self) -> Option<Vec<i64>> {
        if !self.accept("(") {
            return None;
        }
        let mut shape = Vec::new();
        while !self.accept(")") {
            self.rest = self.rest.trim_start();
            let digits = self.rest.len() - self.rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            let (number, rest) = self.rest.split_at(digits);
            shape.push(number.parse().ok()?);
            self.rest = rest;
            // Python 2 wrote long integers.
            self.accept("L");
            if !self.accept(",") {
                return self.accept(")").then_some(shape);
            }
        }
        Some(shape)
    }

    fn dictionary(&mut self) -> Option<(String, bool, Vec<i64>)> {
        let (mut descr, mut fortran_order, mut shape) = (None, None, None);
        if !self.accept("{") {
            return None;
        }
        while !self.accept("}") {
            let key = self.string()?;
            if !self.accept(":") {
                return None;
            }
            match key {
                "descr" => descr = Some(self.string()?.to_string()),
                "fortran_order" => fortran_order = Some(self.boolean()?),
                "shape" => shape = Some(self.shape()?),
                _ => return None,
            }
            if !self.accept(",") {
                if !self.accept("}") {
                    return None;
                }
                break;
            }
        }
        self.rest
            .trim()
            .is_empty()
            .then_some((descr?, fortran_order?, shape?))
    }
}

/// Column-major elements put in row-major order. The bytes are as many as the shape says.
pub(crate) fn row_major(bytes: &[u8], shape: &[i64], size: usize) -> Vec<u8> {
    let mut strides: Vec<i64> = shape.to_vec();
    strides.reverse();
    let mut strides = row_major_strides(&strides);
    strides.reverse();
    let mut packed = Vec::with_capacity(bytes.len());
    for run in crate::layout::Runs::new(shape, &strides, 0) {
        for i in 0..run.count as i64 {
            let at = (run.position + i * run.stride) as usize * size;
            packed.extend_from_slice(bytes.get(at..at + size).unwrap_or_default());
        }
    }
    packed
}

/// Magic number, version 1.0 and a header padded so that the data begin on a multiple of 64.
pub(crate) fn write_header(descr: &str, shape: &[i64]) -> Vec<u8> {
    let dims: Vec<String> = shape.iter().map(i64::to_string).collect();
    let comma = if dims.len() == 1 { "," } else { "" };
    let mut text = format!(
        "{{'descr': '{descr}', 'fortran_order': False, 'shape': ({}{comma}), }}",
        dims.join(", ")
    );
    let before = MAGIC.len() + 4;
    let padded = (before + text.len() + 1).next_multiple_of(64);
    text.extend(std::iter::repeat_n(' ', padded - before - text.len() - 1));
    text.push('\n');
    let mut file = MAGIC.to_vec();
    file.extend([1, 0]);
    // At most 16 dimensions of 20 digits: far below 2^16.
    file.extend((text.len() as u16).to_le_bytes());
    file.extend(text.bytes());
    file
}
