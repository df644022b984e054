//! CUDA C++ for a kernel: one function, made for one launch.
//!
//! Scalars are named constants. Tiles that only depend on positions and scalars (offsets, masks, pointers) are formulas, computed
//! in the loop that uses them; all others are arrays of registers in the layout of their shape ([`plan`]). Element-wise operations
//! that follow each other share one loop over registers. Between layouts values go through shared memory.
//!
//! Generated code calls the header `tilescope.cuh` and contains no assembly. What cannot be generated is refused by name.

mod arith;
mod atomic;
mod block;
mod cast;
pub(crate) mod checks;
mod compare;
mod control;
mod dot;
mod dump;
mod loops;
mod map;
mod math;
mod memory;
pub mod plan;
mod print;
mod reduce;
mod shape;
mod text;
mod tile;
mod undefined;

use std::collections::HashMap;
use std::rc::Rc;

use tilescope_diagnostics::{Error, Result};
use tilescope_ir::{
    BlockId, Class, Elem, FuncId, Function, LocId, Module, Op, OpCode, OpId, OpVisitor, Shape, Type, ValueId,
    VerifiedModule,
};
use tilescope_launch::{Argument, Launch, TensorId};

use crate::analysis::{Facts, Known};
use crate::checked::provenance::{self, Origins};
use crate::checked::{MAX_SLOTS, Place};
use crate::dump::Dump;
use crate::layout::Layout;
use plan::Plan;
use text::Names;
use tile::{Bound, Tile, TileKind};

/// Name under which generated code includes the header.
pub const HEADER_NAME: &str = "tilescope.cuh";

/// The header.
pub const HEADER: &str = include_str!("../../include/tilescope.cuh");

/// What the header includes on the CPU.
pub const CPU_HEADER: &str = include_str!("../../include/cpu.h");

/// Deepest nesting of regions and calls.
const MAX_DEPTH: usize = 200;

/// Most lines of generated code.
const MAX_LINES: usize = 200_000;

/// Formulas of more operations than this are computed once and kept in registers.
const MAX_COST: u32 = 24;

/// Shared memory that one value may take before it gives its place to the next, in bytes.
const SMALL: u32 = 2048;

/// How code is generated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Integer arguments are constants.
    pub specialize: bool,
    /// Warps per program, instead of what the launch says.
    pub warps: Option<u32>,
    /// Accesses, asserts and divisions are checked.
    pub checked: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            specialize: true,
            warps: None,
            checked: false,
        }
    }
}

/// A parameter of the generated kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Parameter {
    /// Address of the tensor's element (0, …, 0).
    Tensor(TensorId),
    /// A number.
    Scalar {
        /// Its bits, in this many bytes.
        bits: u64,
        /// Size.
        bytes: usize,
    },
    /// Address of the table of tensors of a checked build.
    Tensors,
    /// Address of the table of faults of a checked build.
    Faults,
    /// Address of the buffer of prints.
    Prints,
    /// Address of the buffer of a dump.
    Dump,
    /// Address of memory that the kernel has for itself, of so many bytes per program; of Triton's kernels.
    Scratch {
        /// Bytes per program.
        bytes: u64,
    },
}

/// A generated kernel.
#[derive(Debug, Clone)]
pub struct Generated {
    /// CUDA C++.
    pub source: String,
    /// The kernel's name in it.
    pub name: String,
    /// Threads of a block.
    pub threads: u32,
    /// Shared memory of a block, in bytes.
    pub shared_bytes: u32,
    /// Parameters in order, with the launch's values.
    pub parameters: Vec<Parameter>,
    /// Of a checked build: where faults are looked for, and how many slots the table of faults has.
    pub places: Vec<Place>,
    /// Slots of the table of faults.
    pub slots: u32,
    /// The program of which values are dumped, if some are.
    pub dumped: Option<u64>,
    /// The layout of each shape of tiles, without dimensions of size one.
    pub layouts: Vec<(Vec<usize>, Layout)>,
}

/// Lines of the author's source, for comments; none where not to be had.
pub type Lines<'a> = &'a dyn Fn(&str, u32) -> Option<String>;

/// Generates the kernel of a launch.
///
/// # Errors
/// What is not supported, by name and place.
pub fn generate(
    module: &VerifiedModule,
    kernel: FuncId,
    launch: &Launch,
    options: Options,
    lines: Lines<'_>,
) -> Result<Generated> {
    generate_dumping(module, kernel, launch, options, None, lines)
}

/// The same, and one program dumps what chosen operations give.
///
/// # Errors
/// What is not supported, by name and place.
pub fn generate_dumping(
    module: &VerifiedModule,
    kernel: FuncId,
    launch: &Launch,
    options: Options,
    dump: Option<&Dump>,
    lines: Lines<'_>,
) -> Result<Generated> {
    let function = &module.funcs[kernel];
    let known = Known::of_kernel(function, launch, options.specialize);
    let warps = options.warps.unwrap_or(launch.options.num_warps);
    if !warps.is_power_of_two() || warps > 32 {
        return Err(Error::unsupported(format!(
            "{warps} warps per program: 1 to 32, a power of two, can be run"
        )));
    }
    let mut emitter = Emitter {
        module,
        launch,
        lines,
        plan: plan::plan(function, &known, warps),
        scopes: vec![Scope::new(function, known, kernel)],
        checked: checks::Checked {
            checks: options.checked,
            ..checks::Checked::default()
        },
        prints: module
            .funcs
            .iter()
            .any(|(_, f)| f.ops.iter().any(|(_, op)| op.code == OpCode::Print)),
        dump,
        in_lambda: false,
        names: Names::default(),
        out: Vec::new(),
        indent: 1,
        prologue: Vec::new(),
        tables: Vec::new(),
        terms: HashMap::new(),
        group: None,
        conversions: vec![HashMap::new()],
        next_tile: 0,
        depth: 0,
        loop_depth: 0,
        shared_small: 0,
        shared_big: 0,
        big_used: false,
        last_line: None,
        map_result: None,
    };
    if options.checked {
        let scope = emitter.scope();
        scope.origins = provenance::follow(function, &provenance::of_arguments(launch));
    }
    let name = emitter.names.fresh(&function.name);
    let (parameters, signature) = emitter.parameters(function, options.specialize)?;
    emitter.body(function)?;
    emitter.flush();
    if emitter.checked.slots > MAX_SLOTS {
        return Err(
            Error::unsupported(format!("`{}` is too large for a checked build", function.name))
                .help("run it without --backend gpu: the interpreter's checks have no such limit"),
        );
    }
    Ok(emitter.finish(name, parameters, &signature))
}

/// A function being emitted: the kernel, or a callee.
struct Scope {
    values: HashMap<ValueId, Bound>,
    known: Known,
    uses: HashMap<ValueId, u32>,
    /// Where a return goes, and the variables for its values.
    exit: Option<(String, Vec<Bound>)>,
    /// Labels of blocks of a control-flow graph.
    labels: HashMap<BlockId, String>,
    /// The function, and the calls that led to it, innermost first.
    id: FuncId,
    calls: Rc<[LocId]>,
    /// Of a checked build: what pointers derive from, and lanes without a value.
    origins: Origins,
    undefined: HashMap<ValueId, undefined::Undefined>,
}

impl Scope {
    fn new(function: &Function, known: Known, id: FuncId) -> Scope {
        let mut uses: HashMap<ValueId, u32> = HashMap::new();
        for (_, op) in function.ops.iter() {
            for &value in op
                .operands
                .iter()
                .chain(op.successors.iter().flat_map(|s| &s.args))
            {
                *uses.entry(value).or_default() += 1;
            }
        }
        Scope {
            values: HashMap::new(),
            known,
            uses,
            exit: None,
            labels: HashMap::new(),
            id,
            calls: [].into(),
            origins: Origins::new(),
            undefined: HashMap::new(),
        }
    }
}

/// The state of emitting one kernel.
pub(crate) struct Emitter<'m> {
    module: &'m Module,
    launch: &'m Launch,
    lines: Lines<'m>,
    plan: Plan,
    scopes: Vec<Scope>,
    checked: checks::Checked,
    /// The module prints, so the kernel has a buffer for that.
    prints: bool,
    /// What is dumped, of a build that dumps.
    dump: Option<&'m Dump>,
    /// Inside of the region of a reduce, a scan or a map.
    in_lambda: bool,
    names: Names,
    out: Vec<String>,
    indent: usize,
    /// Lines at the top of the function.
    prologue: Vec<String>,
    /// Lines before the function.
    tables: Vec<String>,
    /// Names of what the thread's number adds to an index, by its basis vectors.
    terms: HashMap<Vec<u32>, String>,
    group: Option<loops::Group>,
    /// Copies of tiles in other layouts, by tile; one map per open block.
    conversions: Vec<HashMap<u32, Vec<Rc<Tile>>>>,
    next_tile: u32,
    depth: usize,
    loop_depth: usize,
    shared_small: u32,
    shared_big: u32,
    big_used: bool,
    last_line: Option<(std::sync::Arc<str>, u32)>,
    /// The type that the lambda of a map returns; none outside of one.
    map_result: Option<String>,
}

impl<'m> Emitter<'m> {
    fn parameters(&mut self, function: &Function, specialize: bool) -> Result<(Vec<Parameter>, String)> {
        let mut parameters = Vec::new();
        let mut signature = Vec::new();
        let launch = self.launch;
        for (&param, argument) in function.params().iter().zip(&launch.arguments) {
            let ty = function.ty(param);
            let name = self.name_of(function, param);
            let bound = match (argument, ty) {
                (Argument::Descriptor { tensor, .. }, Type::Descriptor { elem, .. }) => {
                    let ctype = self.type_of(Elem::Scalar(elem))?;
                    parameters.push(Parameter::Tensor(*tensor));
                    signature.push(format!("{ctype}* {name}"));
                    let data = &launch.tensors[tensor.0 as usize];
                    let numbers = |of: &[i64]| of.iter().map(|n| format!("{n}LL")).collect();
                    Bound::Block(Rc::new(tile::BlockPointer {
                        base: name,
                        shape: numbers(&data.shape),
                        strides: numbers(&data.strides),
                        offsets: Vec::new(),
                        nan: false,
                        align: crate::analysis::aligned(data.offset.wrapping_mul(data.dtype.bytes() as i64)),
                    }))
                }
                (_, Type::Scalar(elem)) => {
                    let ctype = self.type_of(elem)?;
                    match (argument, elem) {
                        (Argument::Tensor(id), _) => {
                            parameters.push(Parameter::Tensor(*id));
                            signature.push(format!("{ctype} {name}"));
                        }
                        (Argument::Scalar { bits }, Elem::Scalar(scalar))
                            if specialize && scalar.is_int() =>
                        {
                            self.prologue.push(format!(
                                "constexpr {ctype} {name} = {};",
                                text::literal(elem, *bits)
                            ));
                        }
                        (Argument::Scalar { bits }, elem) => {
                            parameters.push(Parameter::Scalar {
                                bits: *bits,
                                bytes: elem.bytes(),
                            });
                            signature.push(format!("{ctype} {name}"));
                        }
                        _ => self
                            .prologue
                            .push(format!("{ctype} const {name} = {};", text::literal(elem, 0))),
                    }
                    Bound::Scalar(name)
                }
                _ => {
                    return Err(Error::input(format!(
                        "argument `{name}` does not fit its parameter"
                    )));
                }
            };
            self.bind(param, bound);
        }
        if self.prints {
            parameters.push(Parameter::Prints);
            signature.push(String::from("ts::u64* print_buffer"));
        }
        if self.dump.is_some() {
            parameters.push(Parameter::Dump);
            signature.push(String::from("ts::u64* dump_buffer"));
        }
        if self.is_checked() {
            parameters.extend([Parameter::Tensors, Parameter::Faults]);
            signature.push(String::from("const ts::Tensor* tensor_table"));
            signature.push(String::from("ts::Fault* fault_table"));
        }
        Ok((parameters, signature.join(", ")))
    }

    fn finish(self, name: String, parameters: Vec<Parameter>, signature: &str) -> Generated {
        let small = self.shared_small.next_multiple_of(16);
        let shared_bytes = small + self.shared_big;
        let threads = 32u32 << self.plan.warps;
        let (is_checked, tensors) = (self.checked.checks, self.launch.tensors.len());
        let mut parts = String::new();
        let dumps = self.dump.is_some();
        for (part, is_there) in [("CHECKED", is_checked), ("PRINTS", self.prints), ("DUMPS", dumps)] {
            if is_there {
                parts.push_str(&format!("#define TILESCOPE_{part}\n"));
            }
        }
        let mut source = format!("// {name}: generated by tilescope.\n{parts}#include \"{HEADER_NAME}\"\n\n");
        for line in &self.tables {
            source.push_str(line);
            source.push('\n');
        }
        let [x, y, _] = self.launch.grid;
        let (places, slots) = (self.checked.places, self.checked.slots);
        source.push_str(&format!("TS_KERNEL({threads}) {name}({signature}) {{\n"));
        source.push_str("    const int tid = ts::thread();\n");
        if shared_bytes > 0 {
            source.push_str("    TS_SHARED(shared_bytes);\n");
            source.push_str("    unsigned char* const shared = shared_bytes;\n");
            source.push_str(&format!("    constexpr int BIG = {small};\n"));
        }
        if is_checked || self.prints || dumps {
            source.push_str(&format!(
                "    const ts::u64 program = ts::program_id(0) + {x}ull * (ts::program_id(1) + {y}ull * ts::program_id(2));\n"
            ));
        }
        if self.prints {
            source.push_str("    ts::u64 lines = 0;\n");
        }
        if dumps {
            source.push_str("    ts::Dump dump = {dump_buffer, dump_buffer[2] == program, 0};\n");
        }
        if is_checked {
            source.push_str(&format!(
                "    ts::Checks checks = {{tensor_table, {tensors}u, fault_table, program, 0}};\n"
            ));
        }
        for line in &self.prologue {
            source.push_str(&format!("    {line}\n"));
        }
        for line in &self.out {
            source.push_str(line);
            source.push('\n');
        }
        source.push_str("}\n");
        Generated {
            source,
            name,
            threads,
            shared_bytes,
            parameters,
            places,
            slots,
            dumped: self.dump.map(|dump| dump.program),
            layouts: self.plan.layouts(),
        }
    }

    // ---- Lines

    /// Adds a line.
    fn line(&mut self, line: impl AsRef<str>) {
        self.out
            .push(format!("{}{}", "    ".repeat(self.indent), line.as_ref()));
    }

    fn open(&mut self, line: impl AsRef<str>) {
        self.line(line);
        self.indent += 1;
        self.conversions.push(HashMap::new());
    }

    fn close(&mut self, line: impl AsRef<str>) {
        self.conversions.pop();
        self.indent -= 1;
        self.line(line);
    }

    /// The comment for an operation, when it comes from another line than the last one.
    fn comment(&mut self, op: &Op) -> Option<String> {
        let (file, line, _) = self.module.locs.frames(op.loc).into_iter().next()?;
        if self.last_line.as_ref() == Some(&(file.clone(), line)) {
            return None;
        }
        let short = file.rsplit('/').next().unwrap_or(&file).to_string();
        let text = (self.lines)(&file, line).map(|t| format!(": {}", t.trim().trim_end_matches('\\')));
        self.last_line = Some((file, line));
        Some(format!("// {short}:{line}{}", text.unwrap_or_default()))
    }

    fn note(&mut self, op: &Op) {
        if let Some(comment) = self.comment(op) {
            self.line(comment);
        }
    }

    // ---- Values

    fn scope(&mut self) -> &mut Scope {
        let last = self.scopes.len() - 1;
        &mut self.scopes[last]
    }

    fn bind(&mut self, value: ValueId, bound: Bound) {
        self.scope().values.insert(value, bound);
    }

    fn bound(&self, value: ValueId) -> Bound {
        let scope = &self.scopes[self.scopes.len() - 1];
        let found = scope.values.get(&value).cloned();
        found.unwrap_or_else(|| Bound::Scalar(String::from("0")))
    }

    /// A number or pointer. The only lane of a tile counts as one.
    fn scalar(&self, value: ValueId) -> String {
        match self.bound(value) {
            Bound::Scalar(text) => text,
            _ => String::from("0"),
        }
    }

    fn tile(&self, function: &Function, op: OpId, value: ValueId) -> Result<Rc<Tile>> {
        match self.bound(value) {
            Bound::Tile(tile) => Ok(tile),
            _ => Err(self.unsupported(function, op, "an operand that is no tile")),
        }
    }

    fn facts(&self, function: &Function, value: ValueId) -> Facts {
        self.scopes[self.scopes.len() - 1].known.get(function, value)
    }

    fn uses(&self, value: ValueId) -> u32 {
        self.scopes[self.scopes.len() - 1]
            .uses
            .get(&value)
            .copied()
            .unwrap_or(0)
    }

    fn name_of(&mut self, function: &Function, value: ValueId) -> String {
        let name = function.value_name(&self.module.locs, value).unwrap_or("t");
        // `x_5` is what MLIR makes of a second `x`.
        let base = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let base = base.strip_suffix('_').filter(|b| !b.is_empty()).unwrap_or(name);
        self.names.fresh(base)
    }

    fn type_of(&self, elem: Elem) -> Result<String> {
        text::type_name(elem)
            .ok_or_else(|| Error::unsupported(format!("values of type {elem} are not run on a GPU")))
    }

    /// A new tile.
    fn make(&mut self, name: String, shape: Shape, elem: Elem, kind: TileKind) -> Rc<Tile> {
        self.next_tile += 1;
        let (cost, reads) = match &kind {
            TileKind::Array { .. } => (0, true),
            TileKind::Range { .. } | TileKind::Splat(_) => (0, false),
            TileKind::Table(_) => (1, false),
            TileKind::Op { operands, .. } => operands.iter().fold((1, false), |(cost, reads), t| {
                (t.cost.saturating_add(cost), reads || t.reads)
            }),
            TileKind::View { operand, .. } => (operand.cost, operand.reads),
            TileKind::Pick { low, high, .. } => (
                low.cost.saturating_add(high.cost).saturating_add(1),
                low.reads || high.reads,
            ),
        };
        Rc::new(Tile {
            id: self.next_tile,
            name,
            shape,
            elem,
            kind,
            cost,
            reads,
        })
    }

    fn layout(&mut self, shape: Shape) -> Rc<Layout> {
        self.plan.layout(shape)
    }

    /// A scalar result: a named constant.
    fn define(&mut self, function: &Function, value: ValueId, expression: &str) -> Result<()> {
        let elem = function.ty(value).elem();
        let Some(elem) = elem else { return Ok(()) };
        let name = self.name_of(function, value);
        let ctype = self.type_of(elem)?;
        self.line(format!("{ctype} const {name} = {expression};"));
        self.bind(value, Bound::Scalar(name));
        Ok(())
    }

    // ---- Shared memory

    /// Shared memory for a value: an expression of its address. Ends with all threads past their earlier use of it.
    fn shared(&mut self, bytes: u32) -> String {
        let bytes = bytes.next_multiple_of(16);
        if bytes <= SMALL && self.shared_small + bytes <= 4 * SMALL {
            let offset = self.shared_small;
            self.shared_small += bytes;
            if self.loop_depth > 0 {
                self.line("ts::barrier();");
            }
            return format!("(shared + {offset})");
        }
        self.shared_big = self.shared_big.max(bytes);
        if self.big_used || self.loop_depth > 0 {
            self.line("ts::barrier();");
        }
        self.big_used = true;
        String::from("(shared + BIG)")
    }

    // ---- Errors

    fn unsupported(&self, function: &Function, op: OpId, what: impl Into<String>) -> Box<Error> {
        let data = &function.ops[op];
        let error = Error::unsupported(format!("{} is not run on a GPU yet", what.into()));
        let error = match &self.module.source {
            Some(source) => {
                let start = data.offset as usize;
                error.at(source, start..start + data.code.info().mnemonic.len(), "")
            }
            None => error.note(format!("in {} of {}", data.code, function.name)),
        };
        match self.module.locs.frames(data.loc).first() {
            Some((file, line, column)) => error.note(format!("the kernel's source: {file}:{line}:{column}")),
            None => error,
        }
    }

    fn operation(&mut self, function: &Function, op: OpId) -> Result<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH || self.out.len() > MAX_LINES {
            return Err(self.unsupported(function, op, "a kernel of this size"));
        }
        self.visit(function, op)?;
        undefined::follow(self, function, op)?;
        dump::dump(self, function, op)?;
        self.depth -= 1;
        Ok(())
    }

    /// Emits the operations of a region's only block but for its terminator, which is given back.
    fn region(&mut self, function: &Function, op: OpId, index: usize) -> Result<OpId> {
        let region = function.ops[op].regions.get(index).copied();
        let block = region.and_then(|r| function.regions[r].blocks.first().copied());
        let ops = block.and_then(|b| function.blocks[b].ops.split_last());
        let Some((&last, rest)) = ops else {
            return Err(self.unsupported(function, op, "an operation without its region"));
        };
        for &inner in rest {
            self.operation(function, inner)?;
        }
        Ok(last)
    }

    /// Arguments of a region's first block.
    fn region_args<'f>(&self, function: &'f Function, op: OpId, index: usize) -> &'f [ValueId] {
        let region = function.ops[op].regions.get(index).copied();
        let block = region.and_then(|r| function.regions[r].blocks.first().copied());
        block.map_or(&[], |b| &function.blocks[b].args)
    }
}

macro_rules! delegate {
    ($($method:ident => $($path:ident)::+;)*) => {
        impl OpVisitor for Emitter<'_> {
            type Output = Result<()>;

            fn elementwise(&mut self, function: &Function, op: OpId, class: Class) -> Result<()> {
                arith::elementwise(self, function, op, class)
            }

            $(fn $method(&mut self, function: &Function, op: OpId) -> Result<()> {
                $($path)::+(self, function, op)
            })*
        }
    };
}

/// Operations that no code is generated for yet.
fn refuse(emitter: &mut Emitter<'_>, function: &Function, op: OpId) -> Result<()> {
    let code = function.ops[op].code;
    Err(emitter.unsupported(function, op, code.to_string()))
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
    expand_dims => shape::reshape;
    reshape => shape::reshape;
    trans => shape::trans;
    join => shape::join;
    split => shape::split;
    cat => shape::cat;
    gather => reduce::gather;
    program_id => control::program_id;
    num_programs => control::num_programs;
    add_ptr => memory::add_ptr;
    load => memory::load;
    store => memory::store;
    make_tensor_ptr => block::make_tensor_ptr;
    advance => block::advance;
    make_tensor_descriptor => block::make_tensor_descriptor;
    descriptor_load => block::descriptor_load;
    descriptor_store => block::descriptor_store;
    descriptor_gather => block::descriptor_gather;
    descriptor_scatter => block::descriptor_scatter;
    descriptor_reduce => atomic::descriptor_reduce;
    atomic_rmw => atomic::atomic_rmw;
    atomic_cas => atomic::atomic_cas;
    atomic_load => atomic::atomic_load;
    atomic_store => atomic::atomic_store;
    atomic_poll => atomic::atomic_poll;
    reduce => reduce::reduce;
    scan => reduce::scan;
    map_elementwise => map::map_elementwise;
    region_return => map::region_return;
    histogram => reduce::histogram;
    dot => dot::dot;
    dot_scaled => refuse;
    extern_elementwise => math::extern_elementwise;
    inline_asm => refuse;
    call => control::call;
    return_ => control::return_;
    for_ => control::for_;
    if_ => control::if_;
    while_ => control::while_;
    yield_ => control::nothing;
    condition => control::nothing;
    br => control::br;
    cond_br => control::cond_br;
    assert => checks::must_hold;
    assume => checks::must_hold;
    print => print::print;
    barrier => control::barrier;
    grid_dependency => control::nothing;
}
