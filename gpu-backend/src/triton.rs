//! The same kernel compiled by Triton: its own code on our memory, launched and timed as ours is.
//!
//! Triton is a Python program, which the caller runs: `python3 -c SCRIPT TTIR FOLDER CAPABILITY WARPS STAGES` leaves the machine code in
//! `FOLDER/kernel.cubin` and says on its output what a launch must know. [`kernel`] reads that. Without arguments it does so for each
//! line of its input, words separated by tabs, and ends each answer with [`DONE`] or [`REFUSED`]. Left out: kernels that want several
//! blocks to a program, and descriptors made by the host.

use tilescope_diagnostics::{Error, Result};
use tilescope_ir::{Function, Type};
use tilescope_launch::{Argument, Launch};

use crate::emit::{Generated, Parameter};

/// The Python program.
pub const SCRIPT: &str = r#"
import re
import sys
import triton
from triton.backends.compiler import GPUTarget

def compiled(path, folder, target, options):
    try:
        return triton.compile(path, target=target, options=options)
    except RuntimeError as error:
        with open(path) as f:
            text = f.read()
        # Triton 3.6 writes a tensor's type inside that of a descriptor, 3.9 does not.
        descriptor = r"(!tt\.tensordesc|tt\.make_tensor_descriptor .* : <[^<>]*>, )<([^<>]*)>"
        older = re.sub(descriptor, r"\1<tensor<\2>>", text)
        if "Parse MLIR" not in str(error) or older == text:
            raise
    path = folder + "/older.ttir"
    with open(path, "w") as f:
        f.write(older)
    return triton.compile(path, target=target, options=options)

def code(path, folder, capability, warps, stages):
    target = GPUTarget("cuda", int(capability), 32)
    options = {"num_warps": int(warps), "num_stages": int(stages)}
    kernel = compiled(path, folder, target, options)
    with open(folder + "/kernel.cubin", "wb") as f:
        f.write(kernel.asm["cubin"])
    said = {"version": triton.__version__}
    for key in ("name", "num_warps", "num_ctas", "shared", "global_scratch_size", "profile_scratch_size", "launch_cooperative_grid"):
        if hasattr(kernel.metadata, key):
            said[key] = getattr(kernel.metadata, key)
    for key, value in said.items():
        print(f"tilescope: {key} = {value}")

if len(sys.argv) > 1:
    code(*sys.argv[1:6])
else:
    for line in sys.stdin:
        try:
            code(*line.rstrip("\n").split("\t"))
            print("tilescope: done", flush=True)
        except Exception as error:
            print("tilescope: refused " + " ".join(str(error).split())[:300], flush=True)
"#;

/// The line behind what was said of a kernel of many.
pub const DONE: &str = "tilescope: done";

/// How the line begins that says why there is no code for one of many.
pub const REFUSED: &str = "tilescope: refused ";

/// The compute capability of an architecture, as Triton numbers it: 90 of `sm_90a`.
pub fn capability(architecture: &str) -> String {
    architecture.chars().filter(char::is_ascii_digit).collect()
}

/// What Triton said of a kernel, by name.
fn said<'t>(output: &'t str, key: &str) -> Option<&'t str> {
    output.lines().find_map(|line| {
        let (name, value) = line.strip_prefix("tilescope: ")?.split_once(" = ")?;
        (name == key).then_some(value.trim())
    })
}

/// The version of Triton that wrote this output.
pub fn version(output: &str) -> Option<&str> {
    said(output, "version")
}

/// A kernel that Triton compiled, as a launch wants it: without source.
///
/// # Errors
/// What is not run, by name; an output without what a launch must know.
pub fn kernel(function: &Function, launch: &Launch, output: &str) -> Result<Generated> {
    let number = |key: &str| said(output, key).and_then(|value| value.parse::<u64>().ok());
    let (Some(name), Some(warps), Some(shared)) =
        (said(output, "name"), number("num_warps"), number("shared"))
    else {
        return Err(Error::unsupported(
            "this version of Triton does not say how its kernels are launched",
        ));
    };
    if number("num_ctas").is_some_and(|n| n > 1) || said(output, "launch_cooperative_grid") == Some("True") {
        return Err(Error::unsupported(format!(
            "`{name}` is launched in clusters or cooperatively, which --backend triton does not do"
        )));
    }
    let mut parameters = Vec::new();
    for (&param, argument) in function.params().iter().zip(&launch.arguments) {
        let bytes = match function.ty(param) {
            Type::Scalar(elem) => elem.bytes(),
            _ => 8,
        };
        parameters.push(match argument {
            Argument::Tensor(id) => Parameter::Tensor(*id),
            Argument::Scalar { bits } => Parameter::Scalar { bits: *bits, bytes },
            Argument::Null => Parameter::Scalar { bits: 0, bytes: 8 },
            Argument::Descriptor { .. } => {
                return Err(Error::unsupported(
                    "a descriptor made by the host is not given to Triton's kernels",
                ));
            }
        });
    }
    for key in ["global_scratch_size", "profile_scratch_size"] {
        parameters.extend(number(key).map(|bytes| Parameter::Scratch { bytes }));
    }
    Ok(Generated {
        source: String::new(),
        name: name.into(),
        threads: (warps as u32).saturating_mul(32),
        shared_bytes: shared as u32,
        parameters,
        places: Vec::new(),
        dumped: None,
        slots: 0,
        layouts: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_triton_says_is_found_among_warnings() {
        let output = "a warning\ntilescope: name = softmax\ntilescope: shared = 16\nnoise = 3\n";
        assert_eq!(said(output, "name"), Some("softmax"));
        assert_eq!(said(output, "shared"), Some("16"));
        assert_eq!(said(output, "noise"), None);
        assert_eq!(capability("sm_90a"), "90");
    }
}
