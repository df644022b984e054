//! `triton.language.target_info`, and what `triton.language.extra` offers beside libdevice.

use std::rc::Rc;

use super::{Bound, builtins, raw_builtins};
use crate::cx::{Cx, Result};
use crate::types::{Dtype, Elem};
use crate::value::{Class, ClassKind, Tensor, Tuple, Value};

builtins! { INFO in "triton.language.target_info";
    Function "current_target" "" => current_target, "The target: its `backend`, `arch` and `warp_size`.";
    Function "cuda_capability_geq" "major, minor=0" => cuda_capability_geq,
        "Whether the target has this compute capability or a later one.";
}

raw_builtins! { BACKENDS in "triton.language.target_info", Function, is_backend;
    "is_cuda" "", "Whether the target is NVIDIA's: it is.";
    "is_hip" "", "Whether the target is AMD's: it is not.";
    "is_hip_cdna3" "", "Whether the target is AMD's CDNA 3: it is not.";
    "is_hip_cdna4" "", "Whether the target is AMD's CDNA 4: it is not.";
    "is_hip_gfx1250" "", "Whether the target is AMD's gfx1250: it is not.";
}

builtins! { CUDA in "triton.language.extra.cuda";
    Function "num_warps" "" => num_warps, "The number of warps of a program.";
    Function "num_threads" "" => num_threads, "The number of threads of a program.";
    Function "globaltimer" "" => globaltimer, "The device's clock in nanoseconds (refused at run time).";
    Function "smid" "" => smid, "The multiprocessor that the program runs on (refused at run time).";
    Function "gdc_wait" "" => gdc_wait, "Waits for the launches before this one.";
    Function "gdc_launch_dependents" "" => gdc_launch_dependents, "Lets launches that depend on this one begin.";
}

builtins! { HIP_CLOCK in "triton.language.extra.hip";
    Function "memrealtime" "" => memrealtime, "AMD's clock (refused at run time).";
}

raw_builtins! { HIP in "triton.language.extra.hip", Function, hip_only;
    "smid" "", "AMD's compute unit: refused, the target is NVIDIA's.";
}

raw_builtins! { HIP_MATH in "triton.language.extra.libdevice", Function, hip_only;
    "fast_tanhf" "arg0", "AMD's fast hyperbolic tangent: refused, the target is NVIDIA's.";
}

raw_builtins! { CUSTOM_FLOATS in "triton.language.extra.cuda", Function, custom_floats;
    "convert_custom_float8_sm70" "arg, dst_ty, fp_downcast_rounding=None", "A conversion of fp8e4b15: refused, `cast` does it.";
    "convert_custom_float8_sm80" "arg, dst_ty, fp_downcast_rounding=None", "A conversion of fp8e4b15: refused, `cast` does it.";
}

fn current_target(cx: &mut Cx<'_>) -> Result<Value> {
    let fields = ["backend", "arch", "warp_size"].map(|name| (Rc::from(name), Value::None));
    let class = Class {
        name: "GPUTarget".into(),
        kind: ClassKind::NamedTuple,
        fields: fields.to_vec(),
        members: Vec::new(),
    };
    let items = [
        Value::str("cuda"),
        Value::int(cx.options.capability),
        Value::int(32),
    ];
    Ok(Value::Tuple(Tuple {
        items: items.into(),
        class: Some(Rc::new(class)),
    }))
}

fn cuda_capability_geq(cx: &mut Cx<'_>, major: i64, minor: i64) -> Result<bool> {
    let asked = major.saturating_mul(10).saturating_add(minor);
    Ok(i64::from(cx.options.capability) >= asked)
}

fn is_backend(_: &mut Cx<'_>, args: &Bound) -> Result<Value> {
    Ok(Value::Bool(args.builtin.name == "is_cuda"))
}

fn num_warps(cx: &mut Cx<'_>) -> Result<Value> {
    Ok(Value::int(cx.options.num_warps))
}

fn num_threads(cx: &mut Cx<'_>) -> Result<Value> {
    Ok(Value::int(u64::from(cx.options.num_warps) * 32))
}

fn register(cx: &mut Cx<'_>, asm: &str, constraint: &str, dtype: Dtype, is_pure: bool) -> Result<Tensor> {
    let out = cx.inline_asm(asm, constraint, &[], &[Elem::Num(dtype)], is_pure, 1)?;
    out.into_iter()
        .next()
        .ok_or_else(|| cx.error("inline assembly without a result"))
}

fn globaltimer(cx: &mut Cx<'_>) -> Result<Tensor> {
    register(cx, "mov.u64 $0, %globaltimer;", "=l", Dtype::Int64, false)
}

fn smid(cx: &mut Cx<'_>) -> Result<Tensor> {
    register(cx, "mov.u32 $0, %smid;", "=r", Dtype::Int32, true)
}

fn memrealtime(cx: &mut Cx<'_>) -> Result<Tensor> {
    register(
        cx,
        "s_memrealtime $0\n                 s_waitcnt vmcnt(0)",
        "=r",
        Dtype::Int64,
        false,
    )
}

fn gdc_wait(cx: &mut Cx<'_>) -> Result<()> {
    cx.gdc_wait();
    Ok(())
}

fn gdc_launch_dependents(cx: &mut Cx<'_>) -> Result<()> {
    cx.gdc_launch_dependents();
    Ok(())
}

fn hip_only(cx: &mut Cx<'_>, args: &Bound) -> Result<Value> {
    let message = format!(
        "`{}` exists on AMD's devices only, the target is NVIDIA's",
        args.builtin.path()
    );
    Err(cx.unsupported(message))
}

fn custom_floats(cx: &mut Cx<'_>, args: &Bound) -> Result<Value> {
    Err(cx
        .unsupported(format!("`{}`", args.builtin.path()))
        .help("`x.to(dtype)` converts `fp8e4b15`"))
}
