//! C++ spelling: types, literals, identifiers, expressions of the op table.

use std::collections::HashMap;

use tilescope_ir::{Elem, Pointer, Scalar};

/// The C++ type of an element; none for types that the backend does not know.
pub fn type_name(elem: Elem) -> Option<String> {
    match elem {
        Elem::Scalar(scalar) => scalar_name(scalar).map(Into::into),
        Elem::Ptr(Pointer { pointee, levels, .. }) => Some(format!(
            "{}{}",
            scalar_name(pointee)?,
            "*".repeat(levels as usize)
        )),
    }
}

fn scalar_name(scalar: Scalar) -> Option<&'static str> {
    Some(match scalar {
        Scalar::I1 => "bool",
        Scalar::I8 => "ts::i8",
        Scalar::I16 => "short",
        Scalar::I32 => "int",
        Scalar::I64 | Scalar::Index => "ts::i64",
        Scalar::F8E4M3FN => "ts::f8e4m3",
        Scalar::F8E5M2 => "ts::f8e5m2",
        Scalar::F16 => "ts::f16",
        Scalar::BF16 => "ts::bf16",
        Scalar::F32 => "float",
        Scalar::F64 => "double",
        Scalar::I4 | Scalar::I128 | Scalar::F8E4M3B11FNUZ | Scalar::F8E4M3FNUZ | Scalar::F8E5M2FNUZ => {
            return None;
        }
    })
}

/// A constant with these bits.
pub fn literal(elem: Elem, bits: u64) -> String {
    let Elem::Scalar(scalar) = elem else {
        let name = type_name(elem).unwrap_or_default();
        return match bits {
            0 => format!("({name})nullptr"),
            _ => format!("({name}){bits:#x}ull"),
        };
    };
    match scalar {
        Scalar::I1 => String::from(if bits & 1 == 1 { "true" } else { "false" }),
        // Of their own types: templates and conversions to unsigned look at them.
        Scalar::I8 => format!("ts::i8({})", bits as i8),
        Scalar::I16 => format!("short({})", bits as i16),
        Scalar::I32 => signed(i64::from(bits as i32)),
        Scalar::I64 | Scalar::Index => match bits as i64 {
            i64::MIN => String::from("(-9223372036854775807LL - 1)"),
            value if value < 0 => format!("({value}LL)"),
            value => format!("{value}LL"),
        },
        Scalar::F32 => {
            let value = f32::from_bits(bits as u32);
            match value.is_finite() {
                true if value.is_sign_negative() => format!("({value:?}f)"),
                true => format!("{value:?}f"),
                false => format!("ts::bits_as<float>({:#010x}u)", bits as u32),
            }
        }
        Scalar::F64 => {
            let value = f64::from_bits(bits);
            match value.is_finite() {
                true if value.is_sign_negative() => format!("({value:?})"),
                true => format!("{value:?}"),
                false => format!("ts::bits_as<double>({bits:#018x}ull)"),
            }
        }
        _ => format!("{}{{{:#x}}}", scalar_name(scalar).unwrap_or("ts::u64"), bits),
    }
}

fn signed(value: i64) -> String {
    match value {
        -2_147_483_648 => String::from("(-2147483647 - 1)"),
        v if v < 0 => format!("({v})"),
        v => v.to_string(),
    }
}

/// An expression of the op table with its operands put in, and its functions found in the header.
pub fn substitute(expression: &str, operands: &[String]) -> String {
    let mut out = String::new();
    let mut word = String::new();
    let flush = |word: &mut String, next: Option<char>, out: &mut String| {
        let operand = match word.as_str() {
            "a" => operands.first(),
            "b" => operands.get(1),
            "c" => operands.get(2),
            _ => None,
        };
        match operand {
            Some(operand) if next != Some('(') => out.push_str(operand),
            _ if next == Some('(') && !word.is_empty() => {
                out.push_str("ts::");
                out.push_str(word);
            }
            _ => out.push_str(word),
        }
        word.clear();
    };
    for c in expression.chars() {
        if c.is_alphanumeric() || c == '_' {
            word.push(c);
        } else {
            flush(&mut word, Some(c), &mut out);
            out.push(c);
        }
    }
    flush(&mut word, None, &mut out);
    out
}

/// A sum (or exclusive or) of bit fields of a number: what `bases` makes of `variable`; none where it is always zero.
pub fn bit_fields(bases: &[u32], variable: &str) -> Vec<String> {
    let mut terms = Vec::new();
    let mut bit = 0;
    while bit < bases.len() {
        let base = bases[bit];
        if base == 0 {
            bit += 1;
            continue;
        }
        if !base.is_power_of_two() {
            terms.push(format!("({variable} >> {bit} & 1) * {base}"));
            bit += 1;
            continue;
        }
        let mut length = 1;
        while bit + length < bases.len() && u64::from(bases[bit + length]) == u64::from(base) << length {
            length += 1;
        }
        terms.push(field(
            variable,
            bit,
            length,
            base.trailing_zeros() as usize,
            bases.len(),
        ));
        bit += length;
    }
    terms
}

/// Bits `from .. from + length` of a number of `total` bits, moved to `to`.
fn field(variable: &str, from: usize, length: usize, to: usize, total: usize) -> String {
    let whole = from + length == total;
    let mask = (1u64 << length) - 1;
    match (from, whole) {
        (0, true) if to == 0 => variable.to_string(),
        (0, true) => format!("({variable} << {to})"),
        (0, false) if to == 0 => format!("({variable} & {mask})"),
        (0, false) => format!("(({variable} & {mask}) << {to})"),
        _ if from == to => match whole {
            true => format!("({variable} >> {from} << {to})"),
            false => format!("({variable} & {})", mask << from),
        },
        (_, true) if to == 0 => format!("({variable} >> {from})"),
        (_, true) => format!("({variable} >> {from} << {to})"),
        (_, false) if to == 0 => format!("({variable} >> {from} & {mask})"),
        (_, false) => format!("(({variable} >> {from} & {mask}) << {to})"),
    }
}

/// Joins terms: by addition where no two can have a bit in common, which compilers fold into addresses.
pub fn join(terms: &[String], disjoint: bool) -> String {
    match terms {
        [] => String::from("0"),
        _ if disjoint => terms.join(" + "),
        _ => terms.join(" ^ "),
    }
}

/// True when no index bit comes from two places.
pub fn is_disjoint<'a>(bases: impl IntoIterator<Item = &'a u32>) -> bool {
    let mut seen = 0u32;
    bases.into_iter().all(|&base| {
        let free = seen & base == 0;
        seen |= base;
        free
    })
}

/// Identifiers, each given out once.
#[derive(Debug, Default)]
pub struct Names {
    used: HashMap<String, u32>,
}

/// Words that no variable may be called.
const RESERVED: &[&str] = &[
    "ts",
    "r",
    "i",
    "q",
    "k",
    "tid",
    "shared",
    "shared_bytes",
    "BIG",
    "slots",
    "bins",
    "index",
    "checks",
    "program",
    "tensor_table",
    "fault_table",
    "print_buffer",
    "dump",
    "dump_buffer",
    "lines",
    "line",
    "int",
    "float",
    "double",
    "bool",
    "short",
    "long",
    "char",
    "unsigned",
    "signed",
    "void",
    "auto",
    "const",
    "constexpr",
    "if",
    "else",
    "for",
    "while",
    "do",
    "switch",
    "case",
    "default",
    "break",
    "continue",
    "return",
    "goto",
    "struct",
    "class",
    "union",
    "enum",
    "template",
    "typename",
    "namespace",
    "using",
    "operator",
    "new",
    "delete",
    "this",
    "true",
    "false",
    "nullptr",
    "static",
    "extern",
    "inline",
    "volatile",
    "register",
    "sizeof",
    "and",
    "or",
    "not",
    "xor",
    "bitand",
    "bitor",
    "compl",
    "try",
    "catch",
    "throw",
    "public",
    "private",
    "protected",
    "virtual",
    "friend",
    "explicit",
    "mutable",
    "asm",
    "typedef",
    "export",
    "final",
    "override",
    "concept",
    "requires",
    "decltype",
    "alignas",
    "alignof",
    "noexcept",
    "static_assert",
    "thread_local",
    "wchar_t",
    "main",
    "run",
    "y0",
    "y1",
    "yn",
    "j0",
    "j1",
    "jn",
    "linux",
    "unix",
    "NULL",
    "INFINITY",
    "NAN",
    "read",
    "write",
    "stdin",
    "stdout",
    "stderr",
    "errno",
    "signgam",
    "warpSize",
    "threadIdx",
    "blockIdx",
    "blockDim",
    "gridDim",
    "and_eq",
    "or_eq",
    "xor_eq",
    "not_eq",
    "typeid",
    "co_await",
    "co_return",
    "co_yield",
    "char8_t",
    "char16_t",
    "char32_t",
    "consteval",
    "constinit",
    "dynamic_cast",
    "static_cast",
    "reinterpret_cast",
    "const_cast",
];

impl Names {
    /// A new identifier that reads like `wanted`.
    pub fn fresh(&mut self, wanted: &str) -> String {
        let mut base: String = wanted
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
            .take(40)
            .collect();
        if base.is_empty() || base.starts_with(|c: char| c.is_ascii_digit()) || base.starts_with('_') {
            base.insert(0, 'v');
        }
        if RESERVED.contains(&base.as_str()) {
            base.push('_');
        }
        let count = self.used.entry(base.clone()).or_insert(0);
        *count += 1;
        if *count == 1 {
            return base;
        }
        let name = format!("{base}_{count}");
        match self.used.contains_key(&name) {
            true => self.fresh(&name),
            false => {
                self.used.insert(name.clone(), 1);
                name
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_expressions_get_their_operands() {
        let ops = [String::from("x[r]"), String::from("abs")];
        assert_eq!(substitute("a + b", &ops), "x[r] + abs");
        assert_eq!(substitute("minnum(a, b)", &ops), "ts::minnum(x[r], abs)");
        assert_eq!(substitute("-a", &ops), "-x[r]");
    }

    #[test]
    fn index_fields_are_runs_of_bits() {
        assert_eq!(bit_fields(&[1, 2, 512, 1024], "r"), ["(r & 3)", "(r >> 2 << 9)"]);
        assert_eq!(bit_fields(&[4, 8], "tid"), ["(tid << 2)"]);
        assert_eq!(bit_fields(&[0, 0], "tid"), [""; 0]);
        assert_eq!(bit_fields(&[3], "r"), ["(r >> 0 & 1) * 3"]);
    }

    #[test]
    fn names_are_given_once_and_never_a_word_of_the_language() {
        let mut names = Names::default();
        assert_eq!(names.fresh("x"), "x");
        assert_eq!(names.fresh("x"), "x_2");
        assert_eq!(names.fresh("x_2"), "x_2_2");
        assert_eq!(names.fresh("for"), "for_");
        assert_eq!(names.fresh("0"), "v0");
    }

    #[test]
    fn literals_keep_their_bits() {
        let f32 = Elem::Scalar(Scalar::F32);
        assert_eq!(literal(f32, u64::from(1.0f32.to_bits())), "1.0f");
        assert_eq!(literal(f32, 0xff80_0000), "ts::bits_as<float>(0xff800000u)");
        assert_eq!(literal(Elem::Scalar(Scalar::I32), 0xffff_ffff), "(-1)");
    }
}
