//! Generated data.
//!
//! Element k (row-major number in the view) of a tensor is a function of the seed, the tensor's name
//! and k alone: of Philox with the seed as key and (k, FNV-1a of the name) as counter. It depends
//! neither on strides nor on threads nor on what else is filled, and is computed with correctly rounded
//! operations only, so every machine makes the same bits.
//!
//! | fill | element k |
//! |---|---|
//! | `randn` | √(−2 ln u) · cos(2πv), u in (0, 1], v in [0, 1), 52 bits each |
//! | `uniform(lo, hi)` | lo + (hi − lo) · v; rounding to the dtype may reach hi |
//! | `randint(lo, hi)` | lo + ⌊w · (hi − lo) / 2^64⌋, w a 64-bit word: biased by less than (hi − lo) / 2^64 |
//! | `arange` | k, wrapped to an integer dtype's width, rounded to a float dtype |
//! | `eye` | 1 where the last two indices are equal, else 0 |
//! | `extreme` | the dtype's extreme values, each block of them in an order of its own |
//! | `ties` | small integers from -2 to 2 |
//! | `spike` | `randn` / 1000, one element 300 |
//! | `one_nan`, `one_inf` | `randn`, one element NaN or infinite |
//! | `subnormal`, `signed_zeros` | bits below those of the least normal number, or of zero, of either sign |
//!
//! Values are made in f64 or i128 and rounded to the dtype once (see [`Dtype`]).

use rayon::prelude::*;

use crate::file::{CaseFill, Spelled};
use crate::memory::scatter;
use crate::philox::Stream;
use crate::{Dtype, Tensor};

/// What storage holds before the launch.
#[derive(Debug, Clone)]
pub(crate) enum Contents {
    /// Nothing that may be read.
    Uninit,
    Zeros,
    Fill(Fill),
    /// 64-bit pointers.
    Addresses(Vec<u64>),
    File {
        path: Spelled,
        key: Option<Spelled>,
    },
}

/// A generator of elements.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Fill {
    /// The same bits everywhere.
    Constant(u64),
    Arange,
    Randn,
    Uniform(f64, f64),
    /// `count` integers from `least` on; `count` is at most 2^64.
    Randint {
        least: i128,
        count: u128,
    },
    Eye,
    Extreme,
    /// Small integers from -2 to 2.
    Ties,
    /// `randn` made small, with one element of other bits.
    Except {
        bits: u64,
        scale: f64,
    },
    /// Bits from 1 to below `limit`, with either sign.
    Tiny {
        limit: u64,
        sign: u64,
    },
}

impl Fill {
    /// What a case generator asks for, for elements of a type.
    pub(crate) fn of_case(case: CaseFill, dtype: Dtype) -> Fill {
        let (exponent, fraction) = format(dtype);
        let sign = 1u64 << (exponent + fraction);
        let except = |value: f64, scale| Fill::Except {
            bits: dtype.encode_float(value),
            scale,
        };
        match case {
            CaseFill::Extreme => Fill::Extreme,
            CaseFill::Ties => Fill::Ties,
            CaseFill::Equal => Fill::Constant(dtype.encode_float(1.5)),
            CaseFill::Spike => except(300.0, 0.001),
            CaseFill::Nan => except(f64::NAN, 1.0),
            CaseFill::Infinity => except(f64::INFINITY, 1.0),
            CaseFill::Subnormal => Fill::Tiny {
                limit: 1 << fraction,
                sign,
            },
            CaseFill::Zeros => Fill::Tiny { limit: 1, sign },
        }
    }
}

/// Elements made by one task.
const CHUNK: usize = 1 << 14;

/// Elements made before they are put in their places, where these are not neighbours.
const BUFFER: u64 = 1 << 22;

/// Fills the elements of the view, nothing between them. Of elements in one place the last stays.
pub(crate) fn fill(fill: &Fill, seed: u64, tensor: &Tensor, bytes: &mut [u8]) {
    let size = tensor.dtype.bytes();
    if tensor
        .shape
        .iter()
        .zip(&tensor.strides)
        .any(|(&n, &stride)| n > 1 && stride == 0)
    {
        return expanded(fill, seed, tensor, bytes);
    }
    let total = tensor.elements();
    let mut runs = tensor.runs();
    let first = runs.next();
    if let (Some(run), None) = (first, runs.next())
        && run.stride == 1
    {
        let start = run.position as usize * size;
        if let Some(packed) = bytes.get_mut(start..start + total as usize * size) {
            generate(fill, seed, tensor, 0, packed);
        }
        return;
    }
    let mut packed = vec![0; total.min(BUFFER) as usize * size];
    let mut done = 0;
    while done < total {
        let count = (total - done).min(BUFFER);
        let Some(packed) = packed.get_mut(..count as usize * size) else {
            return;
        };
        generate(fill, seed, tensor, done, packed);
        scatter(bytes, tensor.runs(), size, done, packed);
        done += count;
    }
}

/// Fills a view with dimensions of stride 0: only the last index of such a dimension is made, so that the
/// time goes by places, not by elements.
fn expanded(fill: &Fill, seed: u64, tensor: &Tensor, bytes: &mut [u8]) {
    let size = tensor.dtype.bytes();
    let numbers = crate::layout::row_major(&tensor.shape);
    let mut first = 0;
    let mut dims = Vec::new();
    for ((&n, &stride), &number) in tensor.shape.iter().zip(&tensor.strides).zip(&numbers) {
        match stride {
            0 => first += (n - 1) * number,
            _ => dims.push((n, stride, number)),
        }
    }
    if tensor.elements() == 0 {
        return;
    }
    let mut index = vec![0; dims.len()];
    let mut element = vec![0; size];
    loop {
        let at = |distance: fn(&(i64, i64, i64)) -> i64| {
            dims.iter().zip(&index).map(|(d, i)| distance(d) * i).sum::<i64>()
        };
        let (number, position) = (first + at(|d| d.2), tensor.offset + at(|d| d.1));
        elements(fill, seed, tensor, number as u64, &mut element);
        let place = position.max(0) as usize * size;
        if let Some(place) = bytes.get_mut(place..place + size) {
            place.copy_from_slice(&element);
        }
        let mut axis = dims.len();
        loop {
            if axis == 0 {
                return;
            }
            axis -= 1;
            index[axis] += 1;
            if index[axis] < dims[axis].0 {
                break;
            }
            index[axis] = 0;
        }
    }
}

/// Writes the elements from number `first` on, packed, until `packed` is full; on all cores.
fn generate(fill: &Fill, seed: u64, tensor: &Tensor, first: u64, packed: &mut [u8]) {
    let chunks = packed.par_chunks_mut(CHUNK * tensor.dtype.bytes()).enumerate();
    chunks.for_each(|(chunk, out)| elements(fill, seed, tensor, first + (chunk * CHUNK) as u64, out));
}

/// The same on this thread alone.
pub(crate) fn elements(fill: &Fill, seed: u64, tensor: &Tensor, first: u64, packed: &mut [u8]) {
    let dtype = tensor.dtype;
    let stream = Stream::new(seed, &tensor.name);
    match *fill {
        Fill::Constant(bits) => each(dtype, first, packed, |_| bits),
        Fill::Arange => each(dtype, first, packed, |k| dtype.encode_int(k.into())),
        Fill::Randn => blocks(dtype, &stream, first, packed, normal),
        Fill::Uniform(low, high) => {
            blocks(dtype, &stream, first, packed, |_, word| {
                low + (high - low) * unit(word)
            });
        }
        Fill::Randint { least, count } => each(dtype, first, packed, |k| {
            let [word, _] = stream.words(k);
            dtype.encode_int(least + ((u128::from(word) * count) >> 64) as i128)
        }),
        Fill::Eye => {
            let columns = tensor.shape.last().map_or(1, |&n| n.max(1) as u64);
            let rows = tensor.shape.iter().rev().nth(1).map_or(1, |&n| n.max(1) as u64);
            each(dtype, first, packed, |k| {
                dtype.encode_int((k % columns == k / columns % rows).into())
            });
        }
        Fill::Ties => each(dtype, first, packed, |k| {
            let [word, _] = stream.words(k);
            dtype.encode_int(i128::from(word % 5) - 2)
        }),
        Fill::Except { bits, scale } => {
            blocks(dtype, &stream, first, packed, |a, b| scale * normal(a, b));
            let [word, _] = stream.words(u64::MAX);
            let at = word % tensor.elements().max(1);
            let size = dtype.bytes();
            if let Some(start) = at.checked_sub(first).and_then(|k| usize::try_from(k).ok())
                && let Some(element) = packed
                    .get_mut(start.saturating_mul(size)..)
                    .and_then(|p| p.get_mut(..size))
            {
                element.copy_from_slice(&bits.to_le_bytes()[..size]);
            }
        }
        Fill::Tiny { limit, sign } => each(dtype, first, packed, |k| {
            let [word, other] = stream.words(k);
            (word % limit) | if other & 1 == 1 { sign } else { 0 }
        }),
        Fill::Extreme => {
            let values = extremes(dtype);
            each(dtype, first, packed, |k| extreme(&values, &stream, k));
        }
    }
}

/// Calls `bits` for each element number and stores the low bytes of what it gives.
fn each(dtype: Dtype, first: u64, packed: &mut [u8], bits: impl Fn(u64) -> u64) {
    match dtype.bytes() {
        1 => store::<1>(first, packed, &bits),
        2 => store::<2>(first, packed, &bits),
        4 => store::<4>(first, packed, &bits),
        _ => store::<8>(first, packed, &bits),
    }
}

fn store<const SIZE: usize>(first: u64, out: &mut [u8], bits: &impl Fn(u64) -> u64) {
    for (i, element) in out.as_chunks_mut::<SIZE>().0.iter_mut().enumerate() {
        let bytes = bits(first + i as u64).to_le_bytes();
        element.copy_from_slice(&bytes[..SIZE]);
    }
}

fn pack<const SIZE: usize>(bits: &[u64], out: &mut [u8]) {
    for (bits, element) in bits.iter().zip(out.as_chunks_mut::<SIZE>().0) {
        element.copy_from_slice(&bits.to_le_bytes()[..SIZE]);
    }
}

/// Elements computed side by side: enough for the compiler to keep the loops and make vector code of them.
const LANES: usize = 64;

/// Calls `value` for each element's two random words and stores what it gives, rounded to the dtype.
fn blocks(dtype: Dtype, stream: &Stream, first: u64, packed: &mut [u8], value: impl Fn(u64, u64) -> f64) {
    let size = dtype.bytes();
    for (i, out) in packed.chunks_mut(LANES * size).enumerate() {
        let [a, b] = stream.block::<LANES>(first + (i * LANES) as u64);
        let values: [f64; LANES] = std::array::from_fn(|lane| value(a[lane], b[lane]));
        let bits: [u64; LANES] = match dtype {
            Dtype::F32 => values.map(|v| u64::from((v as f32).to_bits())),
            Dtype::F64 => values.map(f64::to_bits),
            _ => values.map(|v| dtype.encode_float(v)),
        };
        match size {
            1 => pack::<1>(&bits, out),
            2 => pack::<2>(&bits, out),
            4 => pack::<4>(&bits, out),
            _ => pack::<8>(&bits, out),
        }
    }
}

/// [0, 1), all multiples of 2^-52.
#[inline(always)]
fn unit(word: u64) -> f64 {
    f64::from_bits(word >> 12 | 1.0f64.to_bits()) - 1.0
}

/// One normally distributed number (Box and Muller, 1958; of its pair only the cosine is used).
#[inline(always)]
fn normal(a: u64, b: u64) -> f64 {
    (-2.0 * logarithm(1.0 - unit(a))).sqrt() * cosine_of_turns(unit(b))
}

/// Natural logarithm of a normal number in (0, 1], without branches; relative error below 2^-50.
///
/// x = m · 2^e with m in [√½, √2), and ln m = 2 artanh(s) with s = (m − 1) / (m + 1), |s| < 0.172, by its
/// series, of which the first term left out is below 2^-57 of the sum.
#[inline(always)]
fn logarithm(x: f64) -> f64 {
    const LEAST: u64 = std::f64::consts::FRAC_1_SQRT_2.to_bits();
    // 1/3, 1/5, ...: the factors of s², s⁴, ... in artanh(s) / s.
    const SERIES: [f64; 10] = {
        let mut series = [0.0; 10];
        let mut k = 0;
        while k < series.len() {
            series[k] = 1.0 / (2 * k + 3) as f64;
            k += 1;
        }
        series
    };
    // The exponent field of this is that of x, one more from √½ of the binade on.
    let shifted = x.to_bits().wrapping_add(1.0f64.to_bits() - LEAST);
    // As the low bits of 2^52 it becomes a float without a conversion.
    let exponent = f64::from_bits(shifted >> 52 | 0x4330_0000_0000_0000) - (4_503_599_627_370_496.0 + 1023.0);
    let m = f64::from_bits((shifted & ((1 << 52) - 1)) + LEAST);
    let s = (m - 1.0) / (m + 1.0);
    let square = s * s;
    let sum = SERIES
        .iter()
        .rev()
        .fold(0.0, |sum, factor| (sum + factor) * square);
    exponent * std::f64::consts::LN_2 + (2.0 * s + 2.0 * s * sum)
}

/// cos(2πv) for v in [0, 1), without branches; absolute error below 2^-51.
///
/// v = q/4 + r with |r| <= ⅛; the series of sine and cosine at 2πr end below 2^-57.
#[inline(always)]
fn cosine_of_turns(v: f64) -> f64 {
    // Adding 1.5 · 2^52 rounds to an integer, which then stands in the low bits.
    const ROUND: f64 = 6_755_399_441_055_744.0;
    const COSINE: [f64; 10] = factorials(0);
    const SINE: [f64; 10] = factorials(1);
    let rounded = 4.0 * v + ROUND;
    let quadrant = rounded.to_bits();
    let x = (v - 0.25 * (rounded - ROUND)) * std::f64::consts::TAU;
    let square = -x * x;
    let series = |factors: [f64; 10]| {
        factors
            .iter()
            .rev()
            .fold(0.0, |sum, factor| sum * square + factor)
    };
    let value = if quadrant & 1 == 0 {
        series(COSINE)
    } else {
        series(SINE) * x
    };
    // Quadrants 1 and 2 are the negative ones.
    let sign = (quadrant ^ quadrant >> 1) & 1;
    f64::from_bits(value.to_bits() ^ sign << 63)
}

/// 1 / (2k + first)! for k = 0, 1, ...
const fn factorials(first: usize) -> [f64; 10] {
    let mut inverses = [1.0; 10];
    let mut factorial = 1.0;
    let mut k = 1;
    while k < inverses.len() {
        factorial *= ((2 * k + first) * (2 * k + first - 1)) as f64;
        inverses[k] = 1.0 / factorial;
        k += 1;
    }
    inverses
}

/// Bits of the exponent and of the fraction of a float.
fn format(dtype: Dtype) -> (u32, u32) {
    match dtype {
        Dtype::F8E4M3 => (4, 3),
        Dtype::F8E5M2 => (5, 2),
        Dtype::F16 => (5, 10),
        Dtype::BF16 => (8, 7),
        Dtype::F32 => (8, 23),
        _ => (11, 52),
    }
}

/// The extreme values of a type as bits, no two equal.
fn extremes(dtype: Dtype) -> Vec<u64> {
    let mut values = Vec::new();
    if let Some((least, most)) = dtype.integer_range() {
        values.extend([least, least + 1, -1, 0, 1, most - 1, most].map(|v| dtype.encode_int(v)));
    } else {
        let (exponent_bits, mantissa_bits) = format(dtype);
        let sign = 1u64 << (exponent_bits + mantissa_bits);
        let infinity = sign - (1 << mantissa_bits);
        let one = dtype.encode_int(1);
        // Zero, least and largest subnormal, least normal, one and its neighbour.
        let mut positive = vec![0, 1, (1 << mantissa_bits) - 1, 1 << mantissa_bits, one, one + 1];
        match dtype {
            Dtype::F8E4M3 => positive.push(sign - 2),
            _ => positive.extend([infinity - 1, infinity]),
        }
        values.extend(positive.iter().flat_map(|&bits| [bits, bits | sign]));
        values.push(sign - 1);
    }
    let mut seen = std::collections::BTreeSet::new();
    values.retain(|bits| seen.insert(*bits));
    values
}

/// Element k of the values repeated, each repetition in an order drawn from its number.
fn extreme(values: &[u64], stream: &Stream, k: u64) -> u64 {
    let n = values.len().max(1) as u64;
    let (block, at) = (k / n, k % n);
    // Fisher and Yates from the end, only as far as the wanted place: later swaps leave it alone.
    let mut order: Vec<u64> = values.to_vec();
    for i in (at.max(1)..n).rev() {
        let [word, _] = stream.words(block.wrapping_mul(n).wrapping_add(i));
        let j = ((u128::from(word) * u128::from(i + 1)) >> 64) as usize;
        order.swap(i as usize, j);
    }
    order.get(at as usize).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AllocationId, Role};

    fn tensor(dtype: Dtype, shape: &[i64], strides: &[i64]) -> Tensor {
        Tensor {
            name: "x".into(),
            dtype,
            shape: shape.to_vec(),
            strides: strides.to_vec(),
            offset: 0,
            role: Role::InOut,
            allocation: AllocationId(0),
            uninit: false,
            pointers: Vec::new(),
        }
    }

    fn floats(fill_kind: Fill, count: i64) -> Vec<f64> {
        let tensor = tensor(Dtype::F64, &[count], &[1]);
        let mut bytes = vec![0; count as usize * 8];
        fill(&fill_kind, 0, &tensor, &mut bytes);
        bytes
            .as_chunks::<8>()
            .0
            .iter()
            .map(|b| f64::from_le_bytes(*b))
            .collect()
    }

    fn bits(fill_kind: Fill, dtype: Dtype, shape: &[i64]) -> Vec<u64> {
        let strides = crate::layout::row_major(shape);
        let tensor = tensor(dtype, shape, &strides);
        let size = dtype.bytes();
        let mut bytes = vec![0xaa; tensor.elements() as usize * size];
        fill(&fill_kind, 7, &tensor, &mut bytes);
        bytes
            .chunks(size)
            .map(|b| b.iter().rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte)))
            .collect()
    }

    #[test]
    fn the_series_are_accurate() {
        let stream = Stream::new(1, "series");
        for k in 0..200_000 {
            let [a, b] = stream.words(k).map(unit);
            for u in [1.0 - a, 1.0 - a * 1e-9, (1.0 - a) * 1e-12] {
                let expected = libm::log(u);
                let error = (logarithm(u) - expected).abs();
                assert!(error <= expected.abs() * 2f64.powi(-50), "log {u}: {error}");
            }
            let error = (cosine_of_turns(b) - libm::cos(std::f64::consts::TAU * b)).abs();
            assert!(error < 2f64.powi(-50), "cos {b}: {error}");
        }
        assert_eq!(logarithm(1.0), 0.0);
        assert_eq!(
            [0.0, 0.25, 0.5, 0.75].map(cosine_of_turns),
            [1.0, -0.0, -1.0, 0.0]
        );
    }

    #[test]
    fn randn_is_normal() {
        const N: i64 = 1_000_000;
        let values = floats(Fill::Randn, N);
        let moment = |p: i32| values.iter().map(|v| v.powi(p)).sum::<f64>() / N as f64;
        // Five standard errors of each moment's estimate.
        assert!(moment(1).abs() < 5e-3, "mean {}", moment(1));
        assert!(
            (moment(2) - 1.0).abs() < 5.0 * (2.0 / N as f64).sqrt(),
            "variance {}",
            moment(2)
        );
        assert!(
            moment(3).abs() < 5.0 * (15.0 / N as f64).sqrt(),
            "third moment {}",
            moment(3)
        );
        assert!(
            (moment(4) - 3.0).abs() < 5.0 * (96.0 / N as f64).sqrt(),
            "fourth moment {}",
            moment(4)
        );
        let neighbours: f64 = values.windows(2).map(|w| w[0] * w[1]).sum::<f64>() / N as f64;
        assert!(neighbours.abs() < 5e-3, "correlation {neighbours}");
        let tail = values.iter().filter(|v| v.abs() > 1.959_964).count() as f64 / N as f64;
        assert!(
            (tail - 0.05).abs() < 5.0 * (0.05 * 0.95 / N as f64).sqrt(),
            "tail {tail}"
        );
    }

    /// Fixed for ever: files of expected results rest on them. The random values were computed by a
    /// second implementation, in Python.
    #[test]
    fn data_never_changes() {
        let values = floats(Fill::Randn, 3);
        assert_eq!(
            values.iter().map(|v| v.to_bits()).collect::<Vec<_>>(),
            [13826419409509330612, 4585633594357738203, 4599026179576548146]
        );
        let ints = bits(
            Fill::Randint {
                least: -50,
                count: 100,
            },
            Dtype::I32,
            &[4],
        );
        assert_eq!(
            ints.iter().map(|&v| v as u32 as i32).collect::<Vec<_>>(),
            [-37, 24, -46, 11]
        );
        assert_eq!(
            bits(Fill::Extreme, Dtype::I8, &[7]),
            [0, 129, 128, 255, 126, 127, 1]
        );
    }

    #[test]
    fn strides_and_threads_do_not_matter() {
        let shape = [37, 91];
        let dense = tensor(Dtype::F32, &shape, &[91, 1]);
        let mut plain = vec![0; 37 * 91 * 4];
        fill(&Fill::Randn, 3, &dense, &mut plain);
        for strides in [[100, 1], [1, 37], [182, 2]] {
            let view = tensor(Dtype::F32, &shape, &strides);
            let mut bytes = vec![0xff; 37 * 91 * 2 * 4];
            fill(&Fill::Randn, 3, &view, &mut bytes);
            let written = bytes.chunks(4).filter(|b| *b != [0xff; 4]).count();
            assert_eq!(written, 37 * 91, "only the view's elements are filled");
            for k in 0..37 * 91 {
                let at = (k / 91 * strides[0] as usize + k % 91 * strides[1] as usize) * 4;
                assert_eq!(bytes[at..at + 4], plain[k * 4..k * 4 + 4]);
            }
        }
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let mut alone = vec![0; plain.len()];
        pool.install(|| fill(&Fill::Randn, 3, &dense, &mut alone));
        assert_eq!(alone, plain);
    }

    #[test]
    fn the_last_of_several_elements_in_one_place_stays() {
        let view = tensor(Dtype::I32, &[5, 2], &[0, 1]);
        let mut bytes = vec![0; 8];
        fill(&Fill::Arange, 0, &view, &mut bytes);
        assert_eq!(bytes, [8, 0, 0, 0, 9, 0, 0, 0]);
        let view = tensor(Dtype::I32, &[2, 5, 2, 1 << 40], &[1, 0, 2, 0]);
        let mut bytes = vec![0; 16];
        fill(&Fill::Randn, 0, &view, &mut bytes);
        let stream = Stream::new(0, "x");
        let number = |i: u64, j: u64| ((i * 5 + 4) * 2 + j) * (1 << 40) + (1 << 40) - 1;
        for (place, k) in bytes
            .chunks(4)
            .zip([number(0, 0), number(1, 0), number(0, 1), number(1, 1)])
        {
            let [a, b] = stream.words(k);
            assert_eq!(Dtype::I32.encode_float(normal(a, b)).to_le_bytes()[..4], *place);
        }
    }

    #[test]
    fn bounds_are_kept_and_reached() {
        let values = floats(Fill::Uniform(-2.0, 3.0), 100_000);
        assert!(values.iter().all(|v| (-2.0..3.0).contains(v)));
        let mean = values.iter().sum::<f64>() / 1e5;
        assert!((mean - 0.5).abs() < 0.03, "{mean}");
        let ints = bits(Fill::Randint { least: -3, count: 7 }, Dtype::I8, &[10_000]);
        let mut counts = [0; 7];
        ints.iter()
            .for_each(|&v| counts[(v as u8 as i8 + 3) as usize] += 1);
        assert!(counts.iter().all(|c| (1200..1700).contains(c)), "{counts:?}");
        let all = bits(
            Fill::Randint {
                least: 0,
                count: 1 << 64,
            },
            Dtype::U64,
            &[4],
        );
        assert!(all.iter().any(|&v| v > 1 << 60));
    }

    #[test]
    fn plain_fills() {
        assert_eq!(bits(Fill::Arange, Dtype::U8, &[300])[254..258], [254, 255, 0, 1]);
        assert_eq!(
            bits(Fill::Eye, Dtype::I32, &[2, 2, 3]),
            [1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1, 0]
        );
        assert_eq!(bits(Fill::Constant(0x3c00), Dtype::F16, &[2]), [0x3c00, 0x3c00]);
    }

    #[test]
    fn extremes_are_cycled_and_shuffled() {
        for dtype in Dtype::ALL {
            let mut values = extremes(dtype);
            let n = values.len();
            let data = bits(Fill::Extreme, dtype, &[3 * n as i64]);
            values.sort_unstable();
            for block in data.chunks(n) {
                let mut block = block.to_vec();
                block.sort_unstable();
                assert_eq!(block, values, "{dtype:?}");
            }
            assert!(
                n < 5 || data[..n] != data[n..2 * n] || data[..n] != data[2 * n..],
                "{dtype:?} is not shuffled"
            );
        }
        let largest = extremes(Dtype::F8E4M3)
            .iter()
            .map(|&b| Dtype::F8E4M3.decode_float(b))
            .fold(0.0, f64::max);
        assert_eq!(largest, 448.0);
        assert!(extremes(Dtype::F16).contains(&0x7c00));
    }
}
