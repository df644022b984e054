//! The tape as text, for `emit --tape`.

use crate::tape::{Code, Tape, What};
use std::fmt::Write;
use tilescope_ir::Module;

/// All instructions with their slots and source places, and the size of the frame.
pub fn listing(module: &Module, tape: &Tape) -> String {
    let mut text = format!(
        "frame: {} slots, {} bytes when all are dense\norder: {:?}\n",
        tape.slots, tape.frame_bytes, tape.order
    );
    for preset in &tape.presets {
        let _ = writeln!(text, "       s{} <- parameter", preset.slot.0);
    }
    for (aside, when) in [
        (&tape.prologue, "once per worker"),
        (&tape.first, "in the first program only"),
    ] {
        if !aside.insts.is_empty() {
            let _ = writeln!(text, "{when}:");
            code(module, tape, aside, 0, &mut text);
        }
    }
    if !tape.prologue.insts.is_empty() || !tape.first.insts.is_empty() {
        text.push_str("in every program:\n");
    }
    code(module, tape, &tape.code, 0, &mut text);
    text
}

fn code(module: &Module, tape: &Tape, code_: &Code, depth: usize, text: &mut String) {
    for (pc, inst) in code_.insts.iter().enumerate() {
        for (label, _) in code_
            .labels
            .iter()
            .enumerate()
            .filter(|(_, at)| **at as usize == pc)
        {
            let _ = writeln!(text, "{:depth$}L{label}:", "", depth = depth * 4);
        }
        let slots = |slots: &[crate::frame::Slot]| {
            slots
                .iter()
                .map(|s| format!("s{}", s.0))
                .collect::<Vec<_>>()
                .join(", ")
        };
        let origin = tape.origins.get(inst.at.0 as usize);
        let (name, place) = match origin.map(|o| (o.what, &module.funcs[o.func])) {
            Some((What::Op(op), function)) => {
                let data = &function.ops[op];
                let frame = module.locs.frames(data.loc).into_iter().next();
                (
                    data.code.to_string(),
                    frame.map_or(String::new(), |(file, line, _)| format!("  ; {file}:{line}")),
                )
            }
            _ => ("parameter".into(), String::new()),
        };
        let step = inst.step.name();
        let lanes = match inst.lanes {
            0 => String::new(),
            lanes => format!(" x{lanes}"),
        };
        let outs = if inst.outs.is_empty() {
            String::new()
        } else {
            format!("{} <- ", slots(&inst.outs))
        };
        let line = format!("{pc:4}  {outs}{step} {}{lanes} [{name}]{place}", slots(&inst.ins));
        let _ = writeln!(text, "{:depth$}{line}", "", depth = depth * 4);
        if let Some(nested) = inst.step.nested() {
            code(module, tape, nested, depth + 1, text);
        }
    }
}
