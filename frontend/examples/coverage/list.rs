//! A list of kernels to compile: one JSON object a line, made outside of the project.
//!
//! `{"package", "roots": [folder…], "file", "kernel", "args": [[name, type, constant]…], "ttir", "src_ttir"}`:
//! `type` is as in Triton's signatures (`*fp16`, `i32`, `tensordesc<fp16[64,64]>`, a list for a tuple) or `constexpr`,
//! with the constant as Python's `str` writes it. `divisible` names the arguments that are multiples of 16 (default:
//! all pointers and integers); `options` may hold `num_warps` and `num_stages`.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use num_bigint::BigInt;
use serde_json::Value as Json;
use tilescope_diagnostics::{Error, Source};
use tilescope_frontend::request::{ArgSpec, Compiled, Request, Specialized, compile};
use tilescope_frontend::source::{Files, Program};
use tilescope_frontend::types::{Dtype, Elem, PtrTy, Ty};
use tilescope_frontend::value::Value;
use tilescope_ir::Shape;

/// A kernel of the list.
#[derive(Debug, Clone)]
#[allow(dead_code, reason = "each tool that reads the list uses a part of it")]
pub struct Entry {
    /// The package that it comes from.
    pub package: String,
    /// Where imports are searched.
    pub roots: Vec<String>,
    /// The Python file.
    pub file: String,
    /// The function.
    pub kernel: String,
    /// What the real Triton made of it: after its passes, and before them.
    pub ttir: [Option<PathBuf>; 2],
    args: Vec<(String, Json, String)>,
    divisible: Option<Vec<String>>,
    num_warps: u32,
    num_stages: u32,
}

impl Entry {
    /// Reads a list.
    ///
    /// # Errors
    /// A file that cannot be read, or is not such a list.
    pub fn read_all(path: &str) -> Result<Vec<Entry>, String> {
        let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
        let lines = text.lines().enumerate().filter(|(_, line)| !line.is_empty());
        let parse = |(number, line)| {
            let json: Json = serde_json::from_str(line).map_err(|error| error.to_string())?;
            Entry::parse(&json)
                .ok_or_else(|| String::from("not a kernel of a list"))
                .map_err(|why| format!("{path}:{}: {why}", number + 1))
        };
        lines.map(parse).collect()
    }

    fn parse(json: &Json) -> Option<Entry> {
        let string = |key: &str| json[key].as_str().map(String::from);
        let strings = |key: &str| -> Option<Vec<String>> {
            let items = json[key].as_array()?.iter();
            items.map(|item| item.as_str().map(String::from)).collect()
        };
        let number = |key: &str| {
            let option = &json["options"][key];
            let text = option.as_str().map_or(option.to_string(), String::from);
            text.parse::<u32>().ok()
        };
        let mut args = Vec::new();
        for arg in json["args"].as_array()? {
            let constant = arg[2].as_str().unwrap_or_default();
            args.push((arg[0].as_str()?.to_string(), arg[1].clone(), constant.to_string()));
        }
        Some(Entry {
            package: string("package")?,
            roots: strings("roots")?,
            file: string("file")?,
            kernel: string("kernel")?,
            ttir: ["ttir", "src_ttir"].map(|key| string(key).map(PathBuf::from)),
            args,
            divisible: strings("divisible"),
            num_warps: number("num_warps").unwrap_or(4),
            num_stages: number("num_stages").unwrap_or(3),
        })
    }

    /// `package/kernel`.
    pub fn name(&self) -> String {
        format!("{}/{}", self.package, self.kernel)
    }

    /// Compiles it, and says how long it computed, its files read and parsed in that time.
    pub fn compile(&self) -> (Result<Compiled, Vec<Box<Error>>>, Duration) {
        // The list writes the type `fp16` and the string `"fp16"` alike: a type first, then a string.
        let (result, elapsed) = self.compile_with(true);
        let named = |text: &String| dtype(text).is_some();
        if result.is_ok() || !self.args.iter().any(|(_, _, constant)| named(constant)) {
            return (result, elapsed);
        }
        match self.compile_with(false) {
            (Ok(compiled), elapsed) => (Ok(compiled), elapsed),
            _ => (result, elapsed),
        }
    }

    fn compile_with(&self, types: bool) -> (Result<Compiled, Vec<Box<Error>>>, Duration) {
        let mut args = Vec::new();
        for (name, ty, constant) in &self.args {
            let Some(spec) = self.spec(name, ty, constant, types) else {
                let error = Error::input(format!("the list gives `{name}` an unknown type: {ty}"));
                return (Err(vec![error]), Duration::ZERO);
            };
            args.push((name.clone(), spec));
        }
        let request = Request {
            kernel: self.kernel.clone(),
            args,
            host: self.host(),
            capability: 90,
            num_warps: Some(self.num_warps),
            num_stages: Some(self.num_stages),
        };
        let start = Instant::now();
        let program = Program::new(&Disk, self.roots.clone());
        let result = match program.load(&self.file) {
            Ok(module) => compile(&program, module, &request),
            Err(error) => Err(vec![error]),
        };
        (result, start.elapsed())
    }

    /// What heuristics see: a number for each number.
    fn host(&self) -> Vec<(String, Value)> {
        let number = |ty: &Json| match ty.as_str()? {
            "i32" | "i64" => Some(Value::Int(BigInt::from(1024))),
            "fp32" | "fp64" => Some(Value::Float(0.5)),
            _ => None,
        };
        let numbers = self
            .args
            .iter()
            .filter_map(|(name, ty, _)| Some((name.clone(), number(ty)?)));
        numbers.collect()
    }

    fn spec(&self, name: &str, ty: &Json, constant: &str, types: bool) -> Option<ArgSpec> {
        if let Some(items) = ty.as_array() {
            let items = items.iter().map(|ty| self.spec("", ty, "", types));
            return items.collect::<Option<_>>().map(ArgSpec::Tuple);
        }
        let ty = ty.as_str()?;
        if ty == "constexpr" {
            return Some(ArgSpec::Constant(value(constant, types)));
        }
        if let Some(inner) = ty.strip_prefix("tensordesc<") {
            let (elem, dims) = inner.split_once('[')?;
            let dims = dims.split(']').next()?.split(',');
            let dims: Option<Vec<u64>> = dims.map(|d| d.trim().parse().ok()).collect();
            return Some(ArgSpec::Descriptor(Shape::new(&dims?)?, dtype(elem)?));
        }
        let target = ty.trim_start_matches('*');
        let levels = (ty.len() - target.len()) as u8;
        let is_const = target.starts_with('k');
        let to = dtype(target.trim_start_matches('k'))?;
        let elem = match levels {
            0 => Elem::Num(to),
            _ => Elem::Ptr(PtrTy { to, levels, is_const }),
        };
        let divisible_by_16 = match &self.divisible {
            Some(names) => names.iter().any(|n| n == name),
            None => !name.is_empty() && (levels > 0 || matches!(to, Dtype::Int32 | Dtype::Int64)),
        };
        Some(ArgSpec::Scalar(elem, Specialized { divisible_by_16 }))
    }
}

/// The number type of a name, as Triton's signatures or its types write it.
fn dtype(name: &str) -> Option<Dtype> {
    let name = match name {
        "i1" | "u1" => "int1",
        "i8" => "int8",
        "i16" => "int16",
        "i32" => "int32",
        "i64" => "int64",
        "u8" => "uint8",
        "u16" => "uint16",
        "u32" => "uint32",
        "u64" => "uint64",
        other => other,
    };
    Dtype::ALL.into_iter().find(|d| d.name() == name)
}

/// A constant from what Python's `str` writes.
fn value(text: &str, types: bool) -> Value {
    let named = dtype(text).filter(|_| types);
    match text {
        "None" => Value::None,
        "True" => Value::Bool(true),
        "False" => Value::Bool(false),
        _ if named.is_some() => named.map_or(Value::None, |d| Value::Type(Ty::num(d))),
        _ => match (text.parse::<BigInt>(), text.parse::<f64>()) {
            (Ok(number), _) => Value::Int(number),
            (_, Ok(number)) => Value::Float(number),
            _ => Value::str(text),
        },
    }
}

/// The files of this machine.
#[derive(Debug)]
pub struct Disk;

impl Files for Disk {
    fn read(&self, path: &str) -> Result<Option<Arc<Source>>, String> {
        match std::fs::read_to_string(path) {
            Ok(text) => Ok(Some(Source::new(path, text))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.to_string()),
        }
    }
}
