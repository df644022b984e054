//! What an output looks like: its extremes, how many NaNs and infinities, and a digest.

use std::sync::atomic::{AtomicBool, Ordering};

use sha2::{Digest, Sha256};
use tilescope_diagnostics::{OutputSummary, Value};
use tilescope_launch::{Dtype, Memory, Tensor};

/// Elements that are looked at in one go, so that a large output is never copied whole.
const CHUNK: u64 = 1 << 16;

/// Summarises a tensor's view; with `hash`, also the SHA-256 of its elements in row-major order, little-endian.
/// None if `cancel` is set before all elements are seen: a tensor may have billions.
pub fn summary(tensor: &Tensor, memory: &Memory, hash: bool, cancel: &AtomicBool) -> Option<OutputSummary> {
    let mut digest = hash.then(Sha256::new);
    let mut seen = Seen::default();
    let mut first = 0;
    while first < tensor.elements() {
        if cancel.load(Ordering::Relaxed) {
            return None;
        }
        let bytes = memory.gather(tensor, first, CHUNK);
        if bytes.is_empty() {
            break;
        }
        seen.add(tensor.dtype, &bytes);
        if let Some(digest) = &mut digest {
            digest.update(&bytes);
        }
        first += CHUNK;
    }
    let (min, max) = seen.range(tensor.dtype);
    Some(OutputSummary {
        name: tensor.name.clone(),
        dtype: tensor.dtype.name().to_string(),
        shape: tensor.shape.clone(),
        min,
        max,
        nan: seen.nan,
        inf: seen.inf,
        sha256: digest.map(|d| d.finalize().iter().map(|byte| format!("{byte:02x}")).collect()),
    })
}

#[derive(Default)]
struct Seen {
    ints: Option<(i128, i128)>,
    floats: Option<(f64, f64)>,
    nan: u64,
    inf: u64,
}

impl Seen {
    fn add(&mut self, dtype: Dtype, bytes: &[u8]) {
        for element in bytes.chunks_exact(dtype.bytes()) {
            let mut word = [0; 8];
            word[..element.len()].copy_from_slice(element);
            let bits = u64::from_le_bytes(word);
            match dtype.decode_int(bits) {
                Some(i) => {
                    let (min, max) = self.ints.unwrap_or((i, i));
                    self.ints = Some((min.min(i), max.max(i)));
                }
                None => self.float(dtype.decode_float(bits)),
            }
        }
    }

    fn float(&mut self, f: f64) {
        if f.is_nan() {
            self.nan += 1;
            return;
        }
        self.inf += u64::from(f.is_infinite());
        let (min, max) = self.floats.unwrap_or((f, f));
        self.floats = Some((min.min(f), max.max(f)));
    }

    fn range(&self, dtype: Dtype) -> (Option<Value>, Option<Value>) {
        let int = |i: i128| match dtype {
            Dtype::I1 => Value::Bool(i != 0),
            _ => Value::Int(i),
        };
        match (self.ints, self.floats) {
            (Some((min, max)), _) => (Some(int(min)), Some(int(max))),
            (None, Some((min, max))) => (Some(Value::Float(min)), Some(Value::Float(max))),
            (None, None) => (None, None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(dtype: Dtype, values: &[f64]) -> Seen {
        let mut seen = Seen::default();
        for &value in values {
            seen.add(dtype, &dtype.encode_float(value).to_le_bytes()[..dtype.bytes()]);
        }
        seen
    }

    #[test]
    fn nans_and_infinities_are_counted_and_nans_left_out_of_the_range() {
        let seen = seen(Dtype::F16, &[1.5, f64::NAN, f64::NEG_INFINITY, -2.0]);
        assert_eq!((seen.nan, seen.inf), (1, 1));
        let range = seen.range(Dtype::F16);
        assert_eq!(
            range,
            (Some(Value::Float(f64::NEG_INFINITY)), Some(Value::Float(1.5)))
        );
    }

    #[test]
    fn integers_keep_their_sign_and_width() {
        assert_eq!(
            seen(Dtype::I8, &[-128.0, 127.0]).range(Dtype::I8),
            (Some(Value::Int(-128)), Some(Value::Int(127)))
        );
        let mut words = Seen::default();
        words.add(Dtype::U64, &u64::MAX.to_le_bytes());
        assert_eq!(words.range(Dtype::U64).0, Some(Value::Int(u64::MAX.into())));
        assert_eq!(seen(Dtype::F32, &[]).range(Dtype::F32), (None, None));
    }
}
