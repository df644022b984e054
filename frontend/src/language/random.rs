//! Random numbers: Philox 4x32 and 4x64 (Salmon et al., SC 2011) and what Triton makes of its output.
//!
//! The operations and their order are those of `triton/language/random.py`, so that the numbers are the same bits.

use num_bigint::BigInt;
use tilescope_ir::OpCode;
use tilescope_ir::attrs::PropagateNan;

use super::args::Operand;
use super::builtins;
use super::operate::{numbers, tensor};
use crate::ast::{BinaryOp, CompareOp, UnaryOp};
use crate::cx::{Cx, Result};
use crate::semantic::arith::Extremum;
use crate::types::{Dtype, Elem};
use crate::value::{Tensor, Value};

builtins! { TABLE in "triton.language.random";
    Function "philox" "seed, c0, c1, c2, c3, n_rounds=10" => philox,
        "Four blocks of random bits from a seed and a counter of four parts.";
    Function "philox_impl" "c0, c1, c2, c3, k0, k1, n_rounds=10" => philox_impl,
        "The rounds of Philox on a counter and a key.";
    Function "randint" "seed, offset, n_rounds=10" => randint, "Random 32-bit integers, one per offset.";
    Function "randint4x" "seed, offset, n_rounds=10" => randint4x, "Four blocks of random 32-bit integers.";
    Function "rand" "seed, offset, n_rounds=10" => rand, "Random fp32, uniform from 0 to before 1.";
    Function "rand4x" "seed, offsets, n_rounds=10" => rand4x, "Four blocks of random fp32, uniform from 0 to before 1.";
    Function "randn" "seed, offset, n_rounds=10" => randn, "Random fp32 of the standard normal distribution.";
    Function "randn4x" "seed, offset, n_rounds=10" => randn4x,
        "Four blocks of random fp32 of the standard normal distribution.";
    Function "uint_to_uniform_float" "x" => uniform, "Random bits as numbers from 0 to before 1.";
    Function "pair_uniform_to_normal" "u1, u2" => normal,
        "Two blocks of uniform numbers to two of normal ones (Box and Muller, 1958).";
}

/// Multipliers of the rounds and steps of the key: of 32-bit and of 64-bit lanes.
struct Constants {
    round: [u64; 2],
    key: [u64; 2],
}

const OF_32: Constants = Constants {
    round: [0xD251_1F53, 0xCD9E_8D57],
    key: [0x9E37_79B9, 0xBB67_AE85],
};

const OF_64: Constants = Constants {
    round: [0xD2E7_470E_E14C_6C93, 0xCA5A_8263_9512_1157],
    key: [0x9E37_79B9_7F4A_7C15, 0xBB67_AE85_84CA_A73B],
};

/// Most rounds that are unrolled; Philox needs 10.
const MAX_ROUNDS: i64 = 1000;

fn int(value: u64) -> Value {
    Value::Int(BigInt::from(value))
}

fn dtype_of(x: &Tensor) -> Option<Dtype> {
    x.ty.dtype()
}

/// The upper half of a product, mixed with the neighbour's counter and the key.
fn mixed(
    cx: &mut Cx<'_>,
    factor: u64,
    multiplied: &Tensor,
    neighbour: &Tensor,
    key: &Tensor,
) -> Result<Tensor> {
    let high = cx.umulhi(&int(factor), &multiplied.clone().into())?;
    let high = tensor(cx, BinaryOp::Xor, &high.into(), &neighbour.clone().into())?;
    tensor(cx, BinaryOp::Xor, &high.into(), &key.clone().into())
}

fn rounds(cx: &mut Cx<'_>, counter: [Tensor; 4], key: [Tensor; 2], n_rounds: i64) -> Result<Vec<Tensor>> {
    let constants = match dtype_of(&counter[0]) {
        Some(Dtype::Uint32) => OF_32,
        Some(Dtype::Uint64) => OF_64,
        _ => {
            let message = format!("Philox works on `uint32` or `uint64`, not `{}`", counter[0].ty);
            return Err(cx.error(message));
        }
    };
    if !(0..=MAX_ROUNDS).contains(&n_rounds) {
        return Err(cx.error(format!(
            "`n_rounds` must be from 0 to {MAX_ROUNDS}, not {n_rounds}"
        )));
    }
    let [a, b] = constants.round;
    let ([mut c0, mut c1, mut c2, mut c3], [mut k0, mut k1]) = (counter, key);
    for _ in 0..n_rounds {
        let new0 = mixed(cx, b, &c2, &c1, &k0)?;
        let new2 = mixed(cx, a, &c0, &c3, &k1)?;
        c1 = tensor(cx, BinaryOp::Mul, &int(b), &c2.into())?;
        c3 = tensor(cx, BinaryOp::Mul, &int(a), &c0.into())?;
        (c0, c2) = (new0, new2);
        k0 = tensor(cx, BinaryOp::Add, &k0.into(), &int(constants.key[0]))?;
        k1 = tensor(cx, BinaryOp::Add, &k1.into(), &int(constants.key[1]))?;
    }
    Ok(vec![c0, c1, c2, c3])
}

#[allow(clippy::too_many_arguments, reason = "Triton's parameters")]
fn philox_impl(
    cx: &mut Cx<'_>,
    c0: Operand,
    c1: Operand,
    c2: Operand,
    c3: Operand,
    k0: Operand,
    k1: Operand,
    n_rounds: i64,
) -> Result<Vec<Tensor>> {
    rounds(cx, [c0.0, c1.0, c2.0, c3.0], [k0.0, k1.0], n_rounds)
}

fn generate(cx: &mut Cx<'_>, seed: &Tensor, counter: [Tensor; 4], n_rounds: i64) -> Result<Vec<Tensor>> {
    if !dtype_of(seed).is_some_and(Dtype::is_int) {
        return Err(cx.error(format!("a seed is an integer, not `{}`", seed.ty)));
    }
    let seed = cx.cast(seed, Elem::Num(Dtype::Uint64), None)?;
    let (lanes, key) = match dtype_of(&counter[0]).map(Dtype::bits) {
        Some(32) => {
            let seed = Value::from(seed);
            let high = numbers(cx, BinaryOp::Shr, &seed, &Value::int(32))?;
            let high = tensor(cx, BinaryOp::And, &high, &int(0xffff_ffff))?;
            let high = cx.cast(&high, Elem::Num(Dtype::Uint32), None)?;
            let low = tensor(cx, BinaryOp::And, &seed, &int(0xffff_ffff))?;
            let low = cx.cast(&low, Elem::Num(Dtype::Uint32), None)?;
            (Dtype::Uint32, [low, high])
        }
        Some(64) => {
            let one = cx.shape_of(&Value::tuple(vec![Value::int(1)]))?;
            let high = cx.full(one, &Value::int(0), Elem::Num(Dtype::Uint64))?;
            (Dtype::Uint64, [seed, high])
        }
        _ => {
            let message = format!("Philox works on 32 or 64 bits, not `{}`", counter[0].ty);
            return Err(cx.error(message));
        }
    };
    let [c0, c1, c2, c3] = counter;
    let c0 = cx.bitcast(&c0, Elem::Num(lanes))?;
    let c1 = cx.bitcast(&c1, Elem::Num(lanes))?;
    let c2 = cx.bitcast(&c2, Elem::Num(lanes))?;
    let c3 = cx.bitcast(&c3, Elem::Num(lanes))?;
    rounds(cx, [c0, c1, c2, c3], key, n_rounds)
}

fn philox(
    cx: &mut Cx<'_>,
    seed: Operand,
    c0: Operand,
    c1: Operand,
    c2: Operand,
    c3: Operand,
    n_rounds: i64,
) -> Result<Vec<Tensor>> {
    generate(cx, &seed.0, [c0.0, c1.0, c2.0, c3.0], n_rounds)
}

fn randint4x(cx: &mut Cx<'_>, seed: Operand, offset: Tensor, n_rounds: i64) -> Result<Vec<Tensor>> {
    let low = cx.cast(&offset, Elem::Num(Dtype::Uint32), None)?;
    let zero = tensor(cx, BinaryOp::Mul, &low.clone().into(), &Value::int(0))?;
    let high = if dtype_of(&offset).is_some_and(|dtype| dtype.bits() > 32) {
        let high = tensor(cx, BinaryOp::Shr, &offset.into(), &Value::int(32))?;
        cx.cast(&high, Elem::Num(Dtype::Uint32), None)?
    } else {
        zero.clone()
    };
    generate(cx, &seed.0, [low, high, zero.clone(), zero], n_rounds)
}

fn four(cx: &mut Cx<'_>, seed: Operand, offset: Tensor, n_rounds: i64) -> Result<[Tensor; 4]> {
    let out = randint4x(cx, seed, offset, n_rounds)?;
    <[Tensor; 4]>::try_from(out).map_err(|_| cx.error("Philox gives four blocks"))
}

fn randint(cx: &mut Cx<'_>, seed: Operand, offset: Tensor, n_rounds: i64) -> Result<Tensor> {
    let [first, ..] = four(cx, seed, offset, n_rounds)?;
    Ok(first)
}

fn uniform(cx: &mut Cx<'_>, x: Tensor) -> Result<Tensor> {
    // The largest scales with which the largest integer stays below 1 once rounded.
    let (signed, scale) = match dtype_of(&x) {
        Some(Dtype::Uint32 | Dtype::Int32) => (Dtype::Int32, 4.656_612_734_2e-10),
        Some(Dtype::Uint64 | Dtype::Int64) => (Dtype::Int64, 1.084_202_043_238_533_7e-19),
        _ => {
            let message = format!("random bits are integers of 32 or 64 bits, not `{}`", x.ty);
            return Err(cx.error(message));
        }
    };
    let x = cx.bitcast(&x, Elem::Num(signed))?;
    let negative = cx.compare(CompareOp::Lt, &x.clone().into(), &Value::int(0))?;
    let flipped = cx.unary(UnaryOp::Invert, &x)?;
    let x = cx.where_(&negative, &flipped, &x.into())?;
    tensor(cx, BinaryOp::Mul, &x.into(), &Value::Float(scale))
}

fn rand(cx: &mut Cx<'_>, seed: Operand, offset: Tensor, n_rounds: i64) -> Result<Tensor> {
    let source = randint(cx, seed, offset, n_rounds)?;
    uniform(cx, source)
}

fn rand4x(cx: &mut Cx<'_>, seed: Operand, offset: Tensor, n_rounds: i64) -> Result<Vec<Tensor>> {
    let mut out = Vec::with_capacity(4);
    for source in four(cx, seed, offset, n_rounds)? {
        out.push(uniform(cx, source)?);
    }
    Ok(out)
}

fn normal(cx: &mut Cx<'_>, u1: Operand, u2: Operand) -> Result<(Tensor, Tensor)> {
    const FLOATS: &[Dtype] = &[Dtype::Fp32, Dtype::Fp64];
    let u1 = cx.extremum(
        Extremum::Maximum,
        &Value::Float(1.0e-7),
        &u1.0.into(),
        PropagateNan::None,
    )?;
    let angle = numbers(
        cx,
        BinaryOp::Mul,
        &Value::Float(std::f64::consts::TAU),
        &u2.0.into(),
    )?;
    let log = cx.math1("log", OpCode::Log, &u1.into(), FLOATS)?;
    let square = numbers(cx, BinaryOp::Mul, &Value::Float(-2.0), &log.into())?;
    let radius = Value::from(cx.math1("sqrt", OpCode::Sqrt, &square, FLOATS)?);
    let cos = cx.math1("cos", OpCode::Cos, &angle, FLOATS)?;
    let x = tensor(cx, BinaryOp::Mul, &radius, &cos.into())?;
    let sin = cx.math1("sin", OpCode::Sin, &angle, FLOATS)?;
    let y = tensor(cx, BinaryOp::Mul, &radius, &sin.into())?;
    Ok((x, y))
}

fn randn(cx: &mut Cx<'_>, seed: Operand, offset: Tensor, n_rounds: i64) -> Result<Tensor> {
    let [i1, i2, ..] = four(cx, seed, offset, n_rounds)?;
    let (u1, u2) = (uniform(cx, i1)?, uniform(cx, i2)?);
    let (x, _) = normal(cx, Operand(u1), Operand(u2))?;
    Ok(x)
}

fn randn4x(cx: &mut Cx<'_>, seed: Operand, offset: Tensor, n_rounds: i64) -> Result<Vec<Tensor>> {
    let [i1, i2, i3, i4] = four(cx, seed, offset, n_rounds)?;
    let (u1, u2) = (uniform(cx, i1)?, uniform(cx, i2)?);
    let (u3, u4) = (uniform(cx, i3)?, uniform(cx, i4)?);
    let (n1, n2) = normal(cx, Operand(u1), Operand(u2))?;
    let (n3, n4) = normal(cx, Operand(u3), Operand(u4))?;
    Ok(vec![n1, n2, n3, n4])
}
