//! Loops over registers: where formulas are computed, element-wise operations share a loop, and tiles change their layout.

use std::collections::HashMap;
use std::rc::Rc;

use tilescope_diagnostics::Result;
use tilescope_ir::ValueId;

use super::tile::{Bound, Tile, TileKind};
use super::{Emitter, text};
use crate::layout::{Access, Layout, RegisterMap};

/// Marks the name of a result of the open loop, until it is known whether it is an array.
const OPEN: char = '\u{1}';
const CLOSE: char = '\u{2}';

/// Uses of a value that must be an array.
const ALWAYS: u32 = u32::MAX;

/// The inside of a loop over registers.
#[derive(Debug, Default)]
pub struct Body {
    pub lines: Vec<String>,
    /// Names of formulas computed so far.
    memo: HashMap<(u32, Access, String), String>,
    /// Results of this loop, by tile, which can be named without their register.
    open: HashMap<u32, String>,
    identity: Option<Access>,
}

/// Element-wise operations that follow each other, in one loop.
#[derive(Debug)]
pub struct Group {
    layout: Rc<Layout>,
    body: Body,
    results: Vec<Pending>,
}

#[derive(Debug)]
struct Pending {
    tile: Rc<Tile>,
    /// The value that `total` counts the uses of, and how deep in calls it is. By another name (a parameter of a function
    /// that is put in here) the tile may be used any number of times more.
    value: Option<(usize, ValueId)>,
    ctype: String,
    /// Line of the body in which it is computed, and how.
    line: usize,
    expression: String,
    inside: u32,
    total: u32,
}

impl Emitter<'_> {
    // ---- Index arithmetic

    /// The index that `access` gives for register `variable` of this thread.
    pub(super) fn index(&mut self, access: &Access, variable: &str) -> String {
        let bases = access
            .layout
            .regs
            .iter()
            .chain(&access.layout.threads)
            .chain([&access.offset]);
        let disjoint = text::is_disjoint(bases);
        let mut terms = Vec::new();
        terms.extend(self.thread_term(&access.layout.threads));
        terms.extend(text::bit_fields(&access.layout.regs, variable));
        if access.offset != 0 {
            terms.push(access.offset.to_string());
        }
        text::join(&terms, disjoint)
    }

    /// What the thread's number adds to an index: a name from the top of the function.
    fn thread_term(&mut self, threads: &[u32]) -> Option<String> {
        let fields = text::bit_fields(threads, "tid");
        if fields.is_empty() {
            return None;
        }
        if let Some(name) = self.terms.get(threads) {
            return Some(name.clone());
        }
        let name = self.names.fresh("t");
        let expression = text::join(&fields, text::is_disjoint(threads));
        self.prologue.push(format!("const int {name} = {expression};"));
        self.terms.insert(threads.to_vec(), name.clone());
        Some(name)
    }

    fn register(map: &RegisterMap, variable: &str) -> String {
        let mut terms = text::bit_fields(&map.bits, variable);
        if map.offset != 0 {
            terms.push(map.offset.to_string());
        }
        text::join(&terms, text::is_disjoint(map.bits.iter().chain([&map.offset])))
    }

    /// Opens a loop over registers, `step` at a time.
    pub(super) fn open_registers(&mut self, registers: usize, step: usize) {
        if registers == step {
            self.open("{");
            self.line("constexpr int r = 0;");
        } else {
            self.line("#pragma unroll");
            let next = if step == 1 {
                String::from("++r")
            } else {
                format!("r += {step}")
            };
            self.open(format!("for (int r = 0; r < {registers}; {next}) {{"));
        }
    }

    /// Puts the lines of a body here.
    pub(super) fn put(&mut self, body: &mut Body) {
        for line in body.lines.drain(..) {
            self.line(line);
        }
    }

    // ---- Elements

    /// The array that holds what `access` asks for in the same thread: the tile's own, or a copy in another layout.
    fn resolve(&self, tile: &Rc<Tile>, access: &Access) -> Option<(String, RegisterMap)> {
        let TileKind::Array { layout } = &tile.kind else {
            return None;
        };
        if let Some(map) = layout.registers_for(access) {
            return Some((tile.name.clone(), map));
        }
        let copies = self
            .conversions
            .iter()
            .rev()
            .filter_map(|map| map.get(&tile.id))
            .flatten();
        copies
            .filter_map(|copy| match &copy.kind {
                TileKind::Array { layout } => Some((copy.name.clone(), layout.registers_for(access)?)),
                _ => None,
            })
            .next()
    }

    /// Makes sure that [`Emitter::element`] finds all registers that it will read. May end the open group.
    pub(super) fn prepare(&mut self, tile: &Rc<Tile>, access: &Access) -> Result<()> {
        match &tile.kind {
            TileKind::Range { .. } | TileKind::Splat(_) | TileKind::Table(_) => Ok(()),
            TileKind::Op { operands, .. } if tile.reads => operands
                .iter()
                .try_for_each(|operand| self.prepare(operand, access)),
            TileKind::Op { .. } => Ok(()),
            TileKind::View { map, operand } => self.prepare(operand, &access.through(map)),
            TileKind::Pick { map, low, high, .. } => {
                let access = access.through(map);
                self.prepare(low, &access)?;
                self.prepare(high, &access)
            }
            TileKind::Array { .. } => {
                if let Some(group) = &self.group
                    && group.body.open.contains_key(&tile.id)
                {
                    if group.body.identity.as_ref() == Some(access) {
                        return Ok(());
                    }
                    self.flush();
                }
                match self.resolve(tile, access) {
                    Some(_) => Ok(()),
                    None => {
                        self.flush();
                        self.convert(tile, access)
                    }
                }
            }
        }
    }

    /// An expression for the element that `access` gives register `variable`; adds what it takes to the body.
    pub(super) fn element(
        &mut self,
        body: &mut Body,
        tile: &Rc<Tile>,
        access: &Access,
        variable: &str,
    ) -> Result<String> {
        match &tile.kind {
            TileKind::Splat(value) => return Ok(value.clone()),
            TileKind::View { map, operand } => {
                return self.element(body, operand, &access.through(map), variable);
            }
            TileKind::Array { .. } => {
                if let Some(name) = body.open.get(&tile.id)
                    && body.identity.as_ref() == Some(access)
                {
                    return Ok(name.clone());
                }
                // Always found, after `prepare`.
                let (name, map) = self.resolve(tile, access).unwrap_or_else(|| {
                    (
                        tile.name.clone(),
                        RegisterMap {
                            bits: Vec::new(),
                            offset: 0,
                        },
                    )
                });
                return Ok(format!("{name}[{}]", Self::register(&map, variable)));
            }
            _ => {}
        }
        let key = (tile.id, access.clone(), variable.to_string());
        if let Some(name) = body.memo.get(&key) {
            return Ok(name.clone());
        }
        let expression = match &tile.kind {
            TileKind::Range { start } => {
                let index = self.index(access, variable);
                match start {
                    0 => index,
                    start => format!("{start} + ({index})"),
                }
            }
            TileKind::Table(table) => format!("{table}[{}]", self.index(access, variable)),
            TileKind::Op { text, operands } => {
                let mut values = Vec::new();
                for operand in operands {
                    values.push(self.element(body, operand, access, variable)?);
                }
                place(text, &values)
            }
            TileKind::Pick { bit, map, low, high } => {
                let index = self.index(access, variable);
                let inner = access.through(map);
                let low = self.element(body, low, &inner, variable)?;
                let high = self.element(body, high, &inner, variable)?;
                format!("(({index}) >> {bit} & 1) == 0 ? {low} : {high}")
            }
            _ => String::from("0"),
        };
        let ctype = self.type_of(tile.elem)?;
        let name = self.names.fresh(&tile.name);
        body.lines.push(format!("{ctype} const {name} = {expression};"));
        body.memo.insert(key, name.clone());
        Ok(name)
    }

    // ---- Element-wise operations

    /// Computes an operation into registers, together with its neighbours. `text` has `$0` and so on for its operands.
    pub(super) fn compute(
        &mut self,
        value: Option<ValueId>,
        model: &Rc<Tile>,
        operands: &[(Option<ValueId>, Rc<Tile>)],
        expression: &str,
        comment: Option<String>,
    ) -> Result<Rc<Tile>> {
        let layout = self.layout(model.shape);
        if self.group.as_ref().is_some_and(|group| group.layout != layout) {
            self.flush();
        }
        let access = layout.identity();
        for (_, operand) in operands {
            self.prepare(operand, &access)?;
        }
        let mut group = self.group.take().unwrap_or_else(|| Group {
            layout: layout.clone(),
            body: Body {
                identity: Some(access.clone()),
                ..Body::default()
            },
            results: Vec::new(),
        });
        group.body.lines.extend(comment);
        let mut values = Vec::new();
        for (id, operand) in operands {
            let text = self.element(&mut group.body, operand, &access, "r");
            values.push(text?);
            let named = id.map(|id| (self.scopes.len(), id));
            let mut results = group.results.iter_mut();
            if let Some(pending) =
                results.find(|p| p.tile.id == operand.id && p.value == named && named.is_some())
            {
                pending.inside += 1;
            }
        }
        let kind = TileKind::Array { layout };
        let tile = self.make(model.name.clone(), model.shape, model.elem, kind);
        group
            .body
            .open
            .insert(tile.id, format!("{OPEN}{}{CLOSE}", tile.name));
        group.results.push(Pending {
            tile: tile.clone(),
            value: value.map(|value| (self.scopes.len(), value)),
            ctype: self.type_of(tile.elem)?,
            line: group.body.lines.len(),
            expression: place(expression, &values),
            inside: 0,
            // A checked build may ask for any value again, when it is used; a dump does when it is made.
            total: value
                .filter(|&v| !self.is_checked() && !self.is_kept(v))
                .map_or(ALWAYS, |v| self.uses(v)),
        });
        group.body.lines.push(String::new());
        self.group = Some(group);
        if let Some(value) = value {
            self.bind(value, Bound::Tile(tile.clone()));
        }
        Ok(tile)
    }

    /// Ends the open group: its loop is written.
    pub(super) fn flush(&mut self) {
        let Some(mut group) = self.group.take() else {
            return;
        };
        let registers = group.layout.registers();
        let mut arrays: HashMap<&str, bool> = HashMap::new();
        for pending in &group.results {
            let array = pending.total > pending.inside;
            arrays.insert(&pending.tile.name, array);
            let line = match array {
                true => format!("{OPEN}{}{CLOSE} = {};", pending.tile.name, pending.expression),
                false => format!(
                    "{} const {} = {};",
                    pending.ctype, pending.tile.name, pending.expression
                ),
            };
            if let Some(slot) = group.body.lines.get_mut(pending.line) {
                *slot = line;
            }
        }
        let declared: Vec<String> = group
            .results
            .iter()
            .filter(|p| p.total > p.inside)
            .map(|p| format!("{} {}[{registers}];", p.ctype, p.tile.name))
            .collect();
        let lines: Vec<String> = group.body.lines.iter().map(|line| named(line, &arrays)).collect();
        for line in declared {
            self.line(line);
        }
        self.open_registers(registers, 1);
        for line in lines {
            self.line(line);
        }
        self.close("}");
    }

    /// The tile as an array: itself, or its formula computed into registers. The open group is ended.
    pub(super) fn array(&mut self, tile: &Rc<Tile>) -> Result<(Rc<Tile>, Rc<Layout>)> {
        let found = match &tile.kind {
            TileKind::Array { .. } => tile.clone(),
            _ => {
                let name = self.names.fresh(&tile.name);
                let model = self.make(name, tile.shape, tile.elem, TileKind::Range { start: 0 });
                self.compute(None, &model, &[(None, tile.clone())], "$0", None)?
            }
        };
        self.flush();
        let layout = match &found.kind {
            TileKind::Array { layout } => layout.clone(),
            _ => self.layout(tile.shape),
        };
        Ok((found, layout))
    }

    /// The tile as an array in the given layout, under a new name of which it is the only user.
    pub(super) fn copy_to(&mut self, tile: &Rc<Tile>, name: &str, layout: &Rc<Layout>) -> Result<()> {
        self.flush();
        let access = layout.identity();
        self.prepare(tile, &access)?;
        let mut body = Body::default();
        let value = self.element(&mut body, tile, &access, "r")?;
        self.open_registers(layout.registers(), 1);
        self.put(&mut body);
        self.line(format!("{name}[r] = {value};"));
        self.close("}");
        Ok(())
    }

    // ---- Conversions

    /// Copies an array into the layout that an access needs, through shared memory.
    fn convert(&mut self, tile: &Rc<Tile>, access: &Access) -> Result<()> {
        let TileKind::Array { layout } = &tile.kind else {
            return Ok(());
        };
        let mut regs: Vec<u32> = Vec::new();
        for &basis in access.layout.regs.iter().chain([&access.offset]) {
            let so_far = Layout {
                regs: regs.clone(),
                threads: Vec::new(),
            };
            let wanted = Access {
                layout: Layout {
                    regs: vec![basis],
                    threads: Vec::new(),
                },
                offset: 0,
            };
            if so_far.registers_for(&wanted).is_none() {
                regs.push(basis);
            }
        }
        let target = Rc::new(Layout {
            regs,
            threads: access.layout.threads.clone(),
        });
        let ctype = self.type_of(tile.elem)?;
        let name = self.names.fresh(&tile.name);
        let bytes = tile.elem.bytes();
        let elements = tile.shape.elements();
        let row = tile.shape.dims().last().unwrap_or(1).max(1);
        let padding = if bytes >= 8 { 0 } else { 4 / bytes };
        let size = (elements + elements / row * padding) * bytes;
        self.line(format!("{ctype} {name}[{}];", target.registers()));
        let shared = self.shared(size as u32);
        self.open("{");
        self.line(format!(
            "// {}: to other threads, through shared memory",
            tile.name
        ));
        self.line(format!("{ctype}* const slots = ts::at<{ctype}>{shared};"));
        let from = self.index(&layout.identity(), "r");
        self.open_registers(layout.registers(), 1);
        self.line(format!(
            "slots[ts::padded<{ctype}, {row}>({from})] = {}[r];",
            tile.name
        ));
        self.close("}");
        self.line("ts::barrier();");
        let to = self.index(&target.identity(), "r");
        self.open_registers(target.registers(), 1);
        self.line(format!("{name}[r] = slots[ts::padded<{ctype}, {row}>({to})];"));
        self.close("}");
        self.close("}");
        let copy = self.make(name, tile.shape, tile.elem, TileKind::Array { layout: target });
        if let Some(map) = self.conversions.last_mut() {
            map.entry(tile.id).or_default().push(copy);
        }
        Ok(())
    }
}

/// Puts operands into an expression.
pub(super) fn place(expression: &str, operands: &[String]) -> String {
    let mut out = String::with_capacity(expression.len() + 16);
    let mut rest = expression;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        let digit = rest[at + 1..].chars().next().and_then(|c| c.to_digit(10));
        match digit {
            Some(digit) => {
                out.push_str(operands.get(digit as usize).map_or("0", |o| o.as_str()));
                rest = &rest[at + 2..];
            }
            None => {
                out.push('$');
                rest = &rest[at + 1..];
            }
        }
    }
    out.push_str(rest);
    out
}

/// Gives results of the group their final spelling.
fn named(line: &str, arrays: &HashMap<&str, bool>) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(start) = rest.find(OPEN) {
        out.push_str(&rest[..start]);
        let Some(end) = rest[start..].find(CLOSE).map(|i| start + i) else {
            break;
        };
        let name = &rest[start + 1..end];
        out.push_str(name);
        if arrays.get(name).copied().unwrap_or(true) {
            out.push_str("[r]");
        }
        rest = &rest[end + 1..];
    }
    out.push_str(rest);
    out
}
