//! Plausible arguments for any function, from its text alone: to see that nothing makes the compiler panic.

use num_bigint::BigInt;
use tilescope_frontend::request::{ArgSpec, Request, Specialized};
use tilescope_frontend::types::{Dtype, Elem, PtrTy, Ty};
use tilescope_frontend::value::Value;

/// A function as its first lines read.
#[derive(Debug, Clone)]
pub struct Guessed {
    /// Its name.
    pub name: String,
    /// Whether a decorator above it speaks of `jit`.
    #[allow(dead_code, reason = "each tool uses a part of it")]
    pub jit: bool,
    /// Parameters with what stands after their colon.
    pub params: Vec<(String, String)>,
}

/// The functions of a text, wherever they stand.
pub fn functions(text: &str) -> Vec<Guessed> {
    let mut found = Vec::new();
    let mut decorated = false;
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        let start = offset;
        offset += line.len();
        let trimmed = line.trim_start();
        if trimmed.starts_with('@') {
            decorated |= trimmed.contains("jit");
        } else if let Some(rest) = trimmed.strip_prefix("def ") {
            let name = rest.split(['(', ':', ' ']).next().unwrap_or_default();
            let from = start + line.len() - rest.len() + name.len();
            if let Some(params) = text.get(from..).and_then(parameters) {
                found.push(Guessed {
                    name: name.to_string(),
                    jit: decorated,
                    params,
                });
            }
            decorated = false;
        }
    }
    found
}

/// The parameters between the parentheses at the start of a text.
fn parameters(text: &str) -> Option<Vec<(String, String)>> {
    let inner = text.strip_prefix('(')?;
    let (mut depth, mut start) = (0i32, 0);
    let mut pieces = Vec::new();
    for (at, c) in inner.char_indices().take(20_000) {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' if depth == 0 => {
                pieces.push(&inner[start..at]);
                let params = pieces.into_iter().filter_map(parameter);
                return Some(params.collect());
            }
            ')' | ']' | '}' => depth -= 1,
            ',' if depth == 0 => {
                pieces.push(&inner[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    None
}

fn parameter(piece: &str) -> Option<(String, String)> {
    let code: Vec<&str> = piece
        .lines()
        .map(|l| l.split('#').next().unwrap_or_default())
        .collect();
    let code = code.join(" ");
    let declared = code.split('=').next().unwrap_or_default();
    let (name, annotation) = declared.split_once(':').unwrap_or((declared, ""));
    let name = name.trim();
    let plain = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    plain.then(|| (name.to_string(), annotation.trim().to_string()))
}

impl Guessed {
    /// A request with arguments that suit the parameters' names; others for other variants.
    pub fn request(&self, variant: usize) -> Request {
        let args = self
            .params
            .iter()
            .map(|(name, annotation)| (name.clone(), spec(name, annotation, variant)));
        Request {
            kernel: self.name.clone(),
            args: args.collect(),
            host: Vec::new(),
            capability: 90,
            num_warps: None,
            num_stages: None,
        }
    }
}

fn spec(name: &str, annotation: &str, variant: usize) -> ArgSpec {
    let lower = name.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    if annotation.contains("constexpr") {
        return ArgSpec::Constant(constant(&lower, variant));
    }
    let divisible_by_16 = variant.is_multiple_of(2);
    let number = |dtype| {
        ArgSpec::Scalar(
            Elem::Num(dtype),
            Specialized {
                divisible_by_16: false,
            },
        )
    };
    let pointer = |to| {
        let elem = Elem::Ptr(PtrTy {
            to,
            levels: 1,
            is_const: annotation.contains("const"),
        });
        ArgSpec::Scalar(elem, Specialized { divisible_by_16 })
    };
    let single = name.len() <= 2 && name.chars().all(|c| c.is_uppercase());
    let data = [Dtype::Fp16, Dtype::Fp32, Dtype::Int32, Dtype::Bf16][variant % 4];
    match () {
        () if has(&["idx", "index", "indices", "seqlens", "indptr"]) && has(&["ptr", "s"]) => {
            pointer(Dtype::Int32)
        }
        () if has(&["ptr", "pointer"]) || single => pointer(data),
        () if has(&["eps", "scale", "alpha", "beta", "prob", "slope"]) => number(Dtype::Fp32),
        () if has(&["stride", "num", "size", "seed", "len", "dim", "n_", "start"]) => {
            ArgSpec::Scalar(Elem::Num(Dtype::Int32), Specialized { divisible_by_16 })
        }
        () if lower.len() <= 3 && variant.is_multiple_of(2) => pointer(data),
        () => number(Dtype::Int32),
    }
}

fn constant(lower: &str, variant: usize) -> Value {
    let starts = |words: &[&str]| words.iter().any(|word| lower.starts_with(word));
    if starts(&[
        "use", "is", "has", "do", "apply", "even", "causal", "save", "store", "return", "with",
    ]) {
        return Value::Bool(variant.is_multiple_of(2));
    }
    if lower.contains("dtype") || lower.ends_with("type") {
        return Value::Type(Ty::num(
            [Dtype::Fp16, Dtype::Fp32, Dtype::Int8, Dtype::Bf16][variant % 4],
        ));
    }
    if lower.contains("activation") || lower.contains("mode") {
        return Value::str(["relu", "none", "silu", "gelu"][variant % 4]);
    }
    Value::Int(BigInt::from([16, 64, 1, 32][variant % 4]))
}
