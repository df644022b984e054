//! What stands in the head of a loop: `tl.range`, `tl.static_range`, `tl.condition`.

use std::rc::Rc;

use super::args::Arg;
use super::{Bound, builtins, raw_builtins};
use crate::cx::{Cx, Result};
use crate::konst;
use crate::value::{Condition, Range, Value};

raw_builtins! { RANGES in "triton.language", Class, range;
    "range" "arg1, arg2=None, step=None, num_stages=None, loop_unroll_factor=None, disallow_acc_multi_buffer=False, flatten=False, warp_specialize=False, disable_licm=False",
        "The numbers of a loop, as Python's `range`, with hints for the compiler.";
    "static_range" "arg1, arg2=None, step=None", "The numbers of a loop that is unrolled at compile time.";
}

builtins! { TABLE in "triton.language";
    Class "condition" "arg1, disable_licm=False" => condition, "The condition of a `while`, with a hint.";
}

fn range(cx: &mut Cx<'_>, args: &Bound) -> Result<Value> {
    let is_static = args.builtin.name == "static_range";
    let bound = |index: usize| -> Result<Option<Value>> {
        let arg = args.arg(index);
        match arg.value {
            Value::None if index > 0 => Ok(None),
            Value::Tensor(_) if !is_static => Ok(Some(arg.value.clone())),
            _ if konst::as_int(arg.value).is_some() => Ok(Some(arg.value.clone())),
            _ => Err(refuse_bound(cx, &arg, is_static)),
        }
    };
    let (first, second, step) = (bound(0)?, bound(1)?, bound(2)?);
    let first = first.unwrap_or(Value::None);
    let (start, stop) = match second {
        Some(stop) => (first, stop),
        None => (Value::int(0), first),
    };
    let hints = super::bind::params(args.builtin.params).zip(&args.values).skip(3);
    Ok(Value::Range(Rc::new(Range {
        start,
        stop,
        step: step.unwrap_or_else(|| Value::int(1)),
        is_static,
        hints: hints.map(|(param, value)| (param.name, value.clone())).collect(),
    })))
}

fn refuse_bound(cx: &Cx<'_>, arg: &Arg<'_>, is_static: bool) -> Box<tilescope_diagnostics::Error> {
    if is_static {
        let error = arg.mismatch(cx, "a compile-time integer");
        return if arg.value.is_runtime() {
            error.help("a loop over run-time bounds is `tl.range`")
        } else {
            error
        };
    }
    arg.mismatch(cx, "an integer")
}

fn condition(_: &mut Cx<'_>, value: Value, disable_licm: bool) -> Result<Value> {
    Ok(Value::Condition(Rc::new(Condition { value, disable_licm })))
}
