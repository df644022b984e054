//! Integer arithmetic, comparisons and operations on bits.

use super::instruction::{Made, Mnemonic, Type};

/// The number of a signed type's bits.
fn extend(bits: u64, width: u32) -> i64 {
    (bits << (64 - width)) as i64 >> (64 - width)
}

/// Both readings of an operand.
#[derive(Clone, Copy)]
struct Number {
    width: u32,
    signed: bool,
}

impl Number {
    fn of(ty: Type) -> Option<Number> {
        let (width, signed) = match ty {
            Type::Signed(width) => (width, true),
            Type::Unsigned(width) | Type::Bits(width) => (width, false),
            _ => return None,
        };
        (width >= 16).then_some(Number { width, signed })
    }

    fn value(self, bits: u64) -> i128 {
        let bits = bits & self.mask();
        if self.signed {
            i128::from(extend(bits, self.width))
        } else {
            i128::from(bits)
        }
    }

    fn mask(self) -> u64 {
        u64::MAX >> (64 - self.width)
    }

    fn wrap(self, value: i128) -> u64 {
        value as u64 & self.mask()
    }
}

/// `add sub mul mad div rem min max neg abs` on integers.
pub fn make(m: &mut Mnemonic<'_>) -> Result<Made, String> {
    let ty = m.only_type()?;
    let n = Number::of(ty).ok_or_else(|| m.refused())?;
    let unary = |f: fn(i128) -> i128| Made::new(vec![ty], move |[a, ..]| n.wrap(f(n.value(a))));
    let binary = |f: fn(i128, i128) -> i128| {
        Made::new(vec![ty; 2], move |[a, b, ..]| n.wrap(f(n.value(a), n.value(b))))
    };
    Ok(match m.name {
        "add" => binary(|a, b| a + b),
        "sub" => binary(|a, b| a - b),
        "min" => binary(i128::min),
        "max" => binary(i128::max),
        // By zero: all ones, as on the card.
        "div" => binary(|a, b| if b == 0 { -1 } else { a / b }),
        "rem" => binary(|a, b| if b == 0 { -1 } else { a % b }),
        "neg" if n.signed => unary(|a| -a),
        "abs" if n.signed => unary(i128::abs),
        "mul" | "mad" => return make_product(m, ty, n),
        _ => return Err(m.refused()),
    })
}

fn make_product(m: &mut Mnemonic<'_>, ty: Type, n: Number) -> Result<Made, String> {
    let half = m.take_of(&["lo", "hi", "wide"]);
    let add = m.name == "mad";
    let product = move |a, b| n.value(a).wrapping_mul(n.value(b));
    let sources = |last: Type| if add { vec![ty, ty, last] } else { vec![ty; 2] };
    Ok(match half {
        Some("lo") => Made::new(sources(ty), move |[a, b, c, _]| {
            n.wrap(product(a, b).wrapping_add(n.value(c)))
        }),
        Some("hi") => Made::new(sources(ty), move |[a, b, c, _]| {
            n.wrap((product(a, b) >> n.width).wrapping_add(n.value(c)))
        }),
        Some("wide") if n.width <= 32 => {
            let wide = if n.signed {
                Type::Signed(2 * n.width)
            } else {
                Type::Unsigned(2 * n.width)
            };
            let w = Number {
                width: 2 * n.width,
                ..n
            };
            Made::new(sources(wide), move |[a, b, c, _]| {
                w.wrap(product(a, b) + w.value(c))
            })
        }
        _ => return Err(m.refused()),
    })
}

/// `setp` on integers.
pub fn make_setp(m: &mut Mnemonic<'_>) -> Result<Made, String> {
    let ty = m.only_type()?;
    let n = Number::of(ty).ok_or_else(|| m.refused())?;
    let words = ["eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs"];
    let (Some(word), Type::Signed(_) | Type::Unsigned(_) | Type::Bits(_)) = (m.take_of(&words), ty) else {
        return Err(m.refused());
    };
    let holds: fn(i128, i128) -> bool = match word {
        "eq" => |a, b| a == b,
        "ne" => |a, b| a != b,
        "lt" | "lo" => |a, b| a < b,
        "le" | "ls" => |a, b| a <= b,
        "gt" | "hi" => |a, b| a > b,
        _ => |a, b| a >= b,
    };
    Ok(Made::new(vec![ty; 2], move |[a, b, ..]| {
        u64::from(holds(n.value(a), n.value(b)))
    }))
}

/// Moves and operations on bits.
pub fn make_bits(m: &mut Mnemonic<'_>) -> Result<Made, String> {
    let name = m.name;
    if name == "shf" {
        return make_funnel(m);
    }
    let ty = m.only_type()?;
    let mask = ty.mask();
    let width = ty.bits();
    let (u32_, s) = (Type::Unsigned(32), matches!(ty, Type::Signed(_)));
    let is_word = matches!(
        ty,
        Type::Bits(16 | 32 | 64) | Type::Unsigned(16 | 32 | 64) | Type::Signed(16 | 32 | 64)
    );
    let logic = |f: fn(u64, u64) -> u64| Made::new(vec![ty; 2], move |[a, b, ..]| f(a, b) & mask);
    let bits32 = ty == Type::Bits(32);
    Ok(match name {
        "mov" => Made::new(vec![ty], move |[a, ..]| a & mask),
        "selp" => Made::new(
            vec![ty, ty, Type::Pred],
            move |[a, b, p, _]| if p != 0 { a } else { b } & mask,
        ),
        "and" if is_word || ty == Type::Pred => logic(|a, b| a & b),
        "or" if is_word || ty == Type::Pred => logic(|a, b| a | b),
        "xor" if is_word || ty == Type::Pred => logic(|a, b| a ^ b),
        "not" if is_word || ty == Type::Pred => Made::new(vec![ty], move |[a, ..]| !a & mask),
        "prmt" if bits32 => Made::new(vec![ty; 3], |[a, b, c, _]| permute(a, b, c)),
        "lop3" if bits32 => Made::new(vec![ty, ty, ty, u32_], |[a, b, c, table]| {
            let of = |n: u32, x: u64| if n & 1 != 0 { x } else { !x };
            let term = |n: u32| of(n >> 2, a) & of(n >> 1, b) & of(n, c);
            (0..8)
                .filter(|n| table >> n & 1 != 0)
                .map(term)
                .fold(0, |all, t| all | t)
                & 0xffff_ffff
        }),
        "shl" if is_word => Made::new(vec![ty, u32_], move |[a, n, ..]| {
            if n as u32 >= width {
                0
            } else {
                a << (n as u32) & mask
            }
        }),
        "shr" if is_word => Made::new(vec![ty, u32_], move |[a, n, ..]| {
            let n = (n as u32).min(width);
            match s {
                true => (extend(a & mask, width) >> n.min(width - 1)) as u64 & mask,
                false => (a & mask).checked_shr(n).unwrap_or(0),
            }
        }),
        "bfe" if width >= 32 => Made::new(vec![ty, u32_, u32_], move |[a, at, len, _]| {
            extract(a & mask, at as u32 & 0xff, len as u32 & 0xff, width, s) & mask
        }),
        "bfi" if width >= 32 => Made::new(vec![ty, ty, u32_, u32_], move |[a, b, at, len]| {
            let (at, len) = (at as u32 & 0xff, len as u32 & 0xff);
            let field = u64::MAX
                .checked_shr(64 - len.min(64))
                .unwrap_or(0)
                .checked_shl(at)
                .unwrap_or(0)
                & mask;
            (a.checked_shl(at).unwrap_or(0) & field) | (b & !field & mask)
        }),
        "popc" if width >= 32 => Made::new(vec![ty], move |[a, ..]| (a & mask).count_ones().into()),
        "clz" if width >= 32 => Made::new(vec![ty], move |[a, ..]| {
            ((a & mask).leading_zeros() - (64 - width)).into()
        }),
        "brev" if width >= 32 => {
            Made::new(vec![ty], move |[a, ..]| (a & mask).reverse_bits() >> (64 - width))
        }
        _ => return Err(m.refused()),
    })
}

/// `prmt`: each nibble of `c` picks one of the eight bytes of b:a, or its sign.
fn permute(a: u64, b: u64, c: u64) -> u64 {
    let bytes = (a & 0xffff_ffff) | b << 32;
    (0..4).fold(0, |out, i| {
        let pick = c >> (4 * i);
        let byte = bytes >> (8 * (pick & 7)) & 0xff;
        let byte = if pick & 8 == 0 { byte } else { (byte >> 7) * 0xff };
        out | byte << (8 * i)
    })
}

/// `bfe`: a field of bits, its highest repeated above if signed.
fn extract(a: u64, at: u32, len: u32, width: u32, signed: bool) -> u64 {
    if len == 0 {
        return 0;
    }
    let sign_at = (at + len - 1).min(width - 1);
    let sign = if signed && a >> sign_at & 1 != 0 {
        u64::MAX
    } else {
        0
    };
    let field = a.checked_shr(at).unwrap_or(0);
    let have = width.saturating_sub(at).min(len);
    let low = u64::MAX.checked_shr(64 - have).unwrap_or(0);
    (field & low) | (sign & !low)
}

/// `shf`: 32 bits out of the 64 of b:a.
fn make_funnel(m: &mut Mnemonic<'_>) -> Result<Made, String> {
    let left = match m.take_of(&["l", "r"]) {
        Some(side) => side == "l",
        None => return Err(m.refused()),
    };
    let wrap = match m.take_of(&["wrap", "clamp"]) {
        Some(mode) => mode == "wrap",
        None => return Err(m.refused()),
    };
    let b32 = Type::Bits(32);
    if m.only_type()? != b32 {
        return Err(m.refused());
    }
    Ok(Made::new(
        vec![b32, b32, Type::Unsigned(32)],
        move |[a, b, n, _]| {
            let n = if wrap { n & 31 } else { n.min(32) };
            let both = (a & 0xffff_ffff) | b << 32;
            let out = if left { both << n >> 32 } else { both >> n };
            out & 0xffff_ffff
        },
    ))
}
