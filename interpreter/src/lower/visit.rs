//! Which function lowers which operation: one line for each structured row of the op table.

use super::Lower;
use crate::steps;
use tilescope_diagnostics::Result;
use tilescope_ir::{Class, Function, OpId, OpVisitor};

macro_rules! delegate {
    ($($method:ident => $($path:ident)::+;)*) => {
        impl OpVisitor for Lower<'_> {
            type Output = Result<()>;

            fn elementwise(&mut self, function: &Function, op: OpId, class: Class) -> Result<()> {
                steps::arith::elementwise(self, function, op, class)
            }

            $(fn $method(&mut self, function: &Function, op: OpId) -> Result<()> {
                steps::$($path)::+(self, function, op)
            })*
        }
    };
}

delegate! {
    constant => arith::constant;
    poison => arith::poison;
    cmp_int => compare::cmp_int;
    cmp_float => compare::cmp_float;
    select => compare::select;
    clamp => compare::clamp;
    cast => cast::cast;
    make_range => shape::make_range;
    splat => shape::splat;
    unsplat => shape::unsplat;
    broadcast => shape::broadcast;
    expand_dims => shape::rename;
    reshape => shape::rename;
    trans => shape::trans;
    join => shape::join;
    split => shape::split;
    cat => shape::cat;
    gather => shape::gather;
    program_id => control::program_id;
    num_programs => control::num_programs;
    add_ptr => memory::add_ptr;
    load => memory::load;
    store => memory::store;
    make_tensor_ptr => memory::block::make_tensor_ptr;
    advance => memory::block::advance;
    make_tensor_descriptor => memory::block::make_tensor_descriptor;
    descriptor_load => memory::block::descriptor_load;
    descriptor_store => memory::block::descriptor_store;
    descriptor_gather => memory::block::descriptor_gather;
    descriptor_scatter => memory::block::descriptor_scatter;
    descriptor_reduce => memory::block::descriptor_reduce;
    atomic_rmw => atomic::atomic_rmw;
    atomic_cas => atomic::atomic_cas;
    atomic_load => atomic::atomic_load;
    atomic_store => atomic::atomic_store;
    atomic_poll => atomic::atomic_poll;
    reduce => reduce::reduce;
    scan => scan::scan;
    map_elementwise => scan::map_elementwise;
    region_return => reduce::region_return;
    histogram => histogram::histogram;
    dot => dot::dot;
    dot_scaled => dot_scaled::dot_scaled;
    extern_elementwise => math::extern_elementwise;
    inline_asm => math::inline_asm;
    call => control::call;
    return_ => control::return_;
    for_ => control::for_;
    if_ => control::if_;
    while_ => control::while_;
    yield_ => control::yield_;
    condition => control::condition;
    br => control::br;
    cond_br => control::cond_br;
    assert => control::assert;
    assume => control::assume;
    print => control::print;
    barrier => control::nothing;
    grid_dependency => control::nothing;
}
