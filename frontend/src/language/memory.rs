//! Loads, stores, atomics, block pointers and tensor descriptors.

use std::rc::Rc;

use tilescope_ir::attrs::ReduceKind;

use super::args::{FromArg, Ints};
use super::core::Block;
use super::{Bound, builtins, raw_builtins};
use crate::cx::{Cx, Result};
use crate::semantic::atomic::{AtomicOp, Order};
use crate::semantic::memory::Access;
use crate::value::{Descriptor, Tensor, Value};

builtins! { ACCESS in "triton.language";
    Function "load" "pointer, mask=None, other=None, boundary_check=(), padding_option=\"\", cache_modifier=\"\", eviction_policy=\"\", volatile=False"
        => load, "Reads through pointers where the mask holds; `other` elsewhere.";
    Method "store" "pointer, value, mask=None, boundary_check=(), cache_modifier=\"\", eviction_policy=\"\"" => store,
        "Writes through pointers where the mask holds.";
}

builtins! { BLOCK_POINTERS in "triton.language";
    Function "make_block_ptr" "base, shape, strides, offsets, block_shape, order" => make_block_ptr,
        "A pointer to a block of a tensor (removed from Triton 3.9, supported here).";
    Method "advance" "base, offsets" => advance, "The block pointer moved by an offset per dimension.";
}

builtins! { DESCRIPTORS in "triton.language";
    Function "make_tensor_descriptor" "base, shape, strides, block_shape, padding_option=\"zero\"" => make_descriptor,
        "A descriptor of a tensor, from which blocks are loaded and to which they are stored.";
    Function "_experimental_make_tensor_descriptor" "base, shape, strides, block_shape, padding_option=\"zero\""
        => make_descriptor, "As `make_tensor_descriptor`, by its name up to Triton 3.3.";
    Function "load_tensor_descriptor" "desc, offsets" => load_descriptor, "As `desc.load(offsets)`.";
    Function "store_tensor_descriptor" "desc, offsets, value" => store_descriptor, "As `desc.store(offsets, value)`.";
    Function "_experimental_descriptor_load" "desc_pointer, offsets, shape, dtype" => old_load,
        "As `desc.load(offsets)`, by its name up to Triton 3.3.";
    Function "_experimental_descriptor_store" "desc_pointer, value, offsets" => old_store,
        "As `desc.store(offsets, value)`, by its name up to Triton 3.3.";
}

raw_builtins! { ATOMICS in "triton.language", Method, atomic;
    "atomic_add" "pointer, val, mask=None, sem=None, scope=None", "Adds to memory; gives the old values.";
    "atomic_max" "pointer, val, mask=None, sem=None, scope=None", "The maximum into memory; gives the old values.";
    "atomic_min" "pointer, val, mask=None, sem=None, scope=None", "The minimum into memory; gives the old values.";
    "atomic_and" "pointer, val, mask=None, sem=None, scope=None", "Bitwise and into memory; gives the old values.";
    "atomic_or" "pointer, val, mask=None, sem=None, scope=None", "Bitwise or into memory; gives the old values.";
    "atomic_xor" "pointer, val, mask=None, sem=None, scope=None", "Bitwise exclusive or into memory; gives the old values.";
    "atomic_xchg" "pointer, val, mask=None, sem=None, scope=None", "Exchanges with memory; gives the old values.";
}

builtins! { OTHER_ATOMICS in "triton.language";
    Method "atomic_cas" "pointer, cmp, val, sem=None, scope=None" => atomic_cas,
        "Writes `val` where memory holds `cmp`; gives the old values.";
    Method "atomic_load" "pointer, mask=None, sem=None, scope=None" => atomic_load, "Reads atomically.";
    Method "atomic_store" "pointer, val, mask=None, sem=None, scope=None" => atomic_store, "Writes atomically.";
    Method "atomic_poll" "pointer, expected_value, sem=None, scope=None, timeout_ns=None" => atomic_poll,
        "Waits until memory holds a value; gives whether it came to.";
}

builtins! { DESCRIPTOR_METHODS in "triton.language.tensor_descriptor";
    DescriptorMethod "load" "self, offsets" => load_descriptor, "The block at these offsets; zero outside of the tensor.";
    DescriptorMethod "store" "self, offsets, value" => store_descriptor, "Writes the block at these offsets, inside of the tensor.";
    DescriptorMethod "gather" "self, x_offsets, y_offset" => gather, "Rows by index, columns from an offset.";
    DescriptorMethod "scatter" "self, value, x_offsets, y_offset" => scatter, "Writes rows by index, columns from an offset.";
}

raw_builtins! { DESCRIPTOR_ATOMICS in "triton.language.tensor_descriptor", DescriptorMethod, descriptor_atomic;
    "atomic_add" "self, offsets, value", "Adds a block to the tensor.";
    "atomic_min" "self, offsets, value", "The minimum of a block and the tensor, into the tensor.";
    "atomic_max" "self, offsets, value", "The maximum of a block and the tensor, into the tensor.";
    "atomic_and" "self, offsets, value", "Bitwise and of a block into the tensor.";
    "atomic_or" "self, offsets, value", "Bitwise or of a block into the tensor.";
    "atomic_xor" "self, offsets, value", "Bitwise exclusive or of a block into the tensor.";
}

type Text = Option<Rc<str>>;

fn text(text: Text) -> String {
    text.as_deref().unwrap_or_default().to_string()
}

#[allow(clippy::too_many_arguments, reason = "Triton's parameters")]
fn load(
    cx: &mut Cx<'_>,
    pointer: Value,
    mask: Value,
    other: Value,
    boundary_check: Option<Ints>,
    padding_option: Text,
    cache_modifier: Text,
    eviction_policy: Text,
    volatile: bool,
) -> Result<Tensor> {
    let access = Access {
        cache_modifier: text(cache_modifier),
        eviction_policy: text(eviction_policy),
        volatile,
        boundary_check: boundary_check.map(|dims| dims.0).unwrap_or_default(),
        padding_option: text(padding_option),
    };
    cx.load(&pointer, &mask, &other, &access)
}

fn store(
    cx: &mut Cx<'_>,
    pointer: Value,
    value: Value,
    mask: Value,
    boundary_check: Option<Ints>,
    cache_modifier: Text,
    eviction_policy: Text,
) -> Result<()> {
    let access = Access {
        cache_modifier: text(cache_modifier),
        eviction_policy: text(eviction_policy),
        boundary_check: boundary_check.map(|dims| dims.0).unwrap_or_default(),
        ..Access::default()
    };
    cx.store(&pointer, &value, &mask, &access)
}

fn make_block_ptr(
    cx: &mut Cx<'_>,
    base: Value,
    shape: Vec<Value>,
    strides: Vec<Value>,
    offsets: Vec<Value>,
    block: Block,
    order: Ints,
) -> Result<Tensor> {
    cx.make_block_ptr(&base, &shape, &strides, &offsets, block.0, &order.0)
}

/// Offsets: a tuple or list, or one alone.
fn several(value: Value) -> Vec<Value> {
    match value {
        Value::Tuple(tuple) => tuple.items.to_vec(),
        Value::List(list) => list.borrow().clone(),
        single => vec![single],
    }
}

fn advance(cx: &mut Cx<'_>, base: Value, offsets: Value) -> Result<Tensor> {
    cx.advance(&base, &several(offsets))
}

fn make_descriptor(
    cx: &mut Cx<'_>,
    base: Value,
    shape: Vec<Value>,
    strides: Vec<Value>,
    block: Block,
    padding: Rc<str>,
) -> Result<Value> {
    cx.make_tensor_descriptor(&base, &shape, &strides, block.0, &padding)
}

fn load_descriptor(cx: &mut Cx<'_>, desc: Rc<Descriptor>, offsets: Value) -> Result<Tensor> {
    cx.descriptor_load(&desc, &several(offsets), &Access::default())
}

fn store_descriptor(cx: &mut Cx<'_>, desc: Rc<Descriptor>, offsets: Value, value: Value) -> Result<()> {
    cx.descriptor_store(&desc, &several(offsets), &value)
}

/// Up to Triton 3.3 descriptors came as plain pointers; of these nothing is known here.
fn descriptor(cx: &Cx<'_>, value: Value) -> Result<Rc<Descriptor>> {
    match value {
        Value::Descriptor(descriptor) => Ok(descriptor),
        other => {
            let message = format!("{} as a tensor descriptor", other.describe());
            Err(cx
                .unsupported(message)
                .help("pass a tensor descriptor (`descriptor_of` in a launch file)"))
        }
    }
}

fn old_load(cx: &mut Cx<'_>, desc: Value, offsets: Value, _shape: Value, _dtype: Value) -> Result<Tensor> {
    let desc = descriptor(cx, desc)?;
    cx.descriptor_load(&desc, &several(offsets), &Access::default())
}

fn old_store(cx: &mut Cx<'_>, desc: Value, value: Value, offsets: Value) -> Result<()> {
    let desc = descriptor(cx, desc)?;
    cx.descriptor_store(&desc, &several(offsets), &value)
}

fn gather(cx: &mut Cx<'_>, desc: Rc<Descriptor>, x_offsets: Value, y_offset: Value) -> Result<Tensor> {
    cx.descriptor_gather(&desc, &x_offsets, &y_offset)
}

fn scatter(cx: &mut Cx<'_>, desc: Rc<Descriptor>, value: Value, x: Value, y: Value) -> Result<()> {
    cx.descriptor_scatter(&desc, &value, &x, &y)
}

fn descriptor_atomic(cx: &mut Cx<'_>, args: &Bound) -> Result<Value> {
    let kind = match args.builtin.name {
        "atomic_add" => ReduceKind::Add,
        "atomic_min" => ReduceKind::Min,
        "atomic_max" => ReduceKind::Max,
        "atomic_and" => ReduceKind::And,
        "atomic_or" => ReduceKind::Or,
        _ => ReduceKind::Xor,
    };
    let desc = Rc::<Descriptor>::from_arg(cx, args.arg(0))?;
    let offsets = several(args.arg(1).value.clone());
    cx.descriptor_reduce(kind, &desc, &offsets, args.arg(2).value)?;
    Ok(Value::None)
}

fn order(sem: Text, scope: Text) -> Order {
    Order {
        sem: sem.map(|text| text.to_string()),
        scope: scope.map(|text| text.to_string()),
    }
}

fn atomic(cx: &mut Cx<'_>, args: &Bound) -> Result<Value> {
    let op = match args.builtin.name {
        "atomic_add" => AtomicOp::Add,
        "atomic_max" => AtomicOp::Max,
        "atomic_min" => AtomicOp::Min,
        "atomic_and" => AtomicOp::And,
        "atomic_or" => AtomicOp::Or,
        "atomic_xor" => AtomicOp::Xor,
        _ => AtomicOp::Xchg,
    };
    let sem = Text::from_arg(cx, args.arg(3))?;
    let scope = Text::from_arg(cx, args.arg(4))?;
    let [pointer, value, mask] = [0, 1, 2].map(|index| args.arg(index).value);
    cx.atomic_rmw(op, pointer, value, mask, &order(sem, scope))
        .map(Value::Tensor)
}

fn atomic_cas(
    cx: &mut Cx<'_>,
    ptr: Value,
    expected: Value,
    value: Value,
    sem: Text,
    scope: Text,
) -> Result<Tensor> {
    cx.atomic_cas(&ptr, &expected, &value, &order(sem, scope))
}

fn atomic_load(cx: &mut Cx<'_>, ptr: Value, mask: Value, sem: Text, scope: Text) -> Result<Tensor> {
    cx.atomic_load(&ptr, &mask, &order(sem, scope))
}

fn atomic_store(
    cx: &mut Cx<'_>,
    ptr: Value,
    value: Value,
    mask: Value,
    sem: Text,
    scope: Text,
) -> Result<()> {
    cx.atomic_store(&ptr, &value, &mask, &order(sem, scope))
}

fn atomic_poll(
    cx: &mut Cx<'_>,
    ptr: Value,
    expected: Value,
    sem: Text,
    scope: Text,
    timeout_ns: Value,
) -> Result<Tensor> {
    cx.atomic_poll(&ptr, &expected, &timeout_ns, &order(sem, scope))
}
