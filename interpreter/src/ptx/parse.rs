//! The text of inline assembly to instructions.

use super::Program;
use super::instruction::{Instruction, Made, Mnemonic, Source, Type, make};
use std::collections::HashMap;

/// Longest text; longer ones are not a few instructions.
const MAX_TEXT: usize = 64 << 10;

/// Most registers that may be declared.
const MAX_REGISTERS: usize = 4096;

/// Instructions whose effect on other threads or programs is what they are for: nothing happens here.
const WITHOUT_EFFECT: [&str; 6] = [
    "bar.sync",
    "barrier.sync",
    "bar.warp.sync",
    "griddepcontrol",
    "membar",
    "fence",
];

pub fn parse(text: &str, operands: usize) -> Result<Program, String> {
    if text.len() > MAX_TEXT {
        return Err(format!("assembly of {} bytes is not run", text.len()));
    }
    let mut parser = Parser {
        program: Program {
            instructions: Vec::new(),
            registers: operands,
        },
        operands,
        names: HashMap::new(),
    };
    for statement in statements(text)? {
        parser.statement(statement.trim())?;
    }
    Ok(parser.program)
}

/// The statements of a text, without comments, `;` and the braces of blocks.
fn statements(text: &str) -> Result<Vec<String>, String> {
    let mut statements = Vec::new();
    let mut current = String::new();
    let mut vector = false;
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        if let Some(comment) = rest.strip_prefix("//") {
            rest = comment.find('\n').map_or("", |end| &comment[end..]);
            continue;
        }
        if let Some(comment) = rest.strip_prefix("/*") {
            rest = comment.find("*/").map_or("", |end| &comment[end + 2..]);
            current.push(' ');
            continue;
        }
        match next {
            ';' => statements.push(std::mem::take(&mut current)),
            // A brace where a statement may begin opens or closes a block.
            '{' | '}' if !vector && current.trim().is_empty() => current.clear(),
            // A label may stand alone at a block's end.
            '}' if !vector && current.trim_end().ends_with(':') => {
                statements.push(std::mem::take(&mut current))
            }
            _ => {
                match next {
                    '{' => vector = true,
                    '}' => vector = false,
                    _ => {}
                }
                current.push(next);
            }
        }
        rest = &rest[next.len_utf8()..];
    }
    let rest: Vec<&str> = current.split_whitespace().collect();
    match &rest[..] {
        [] => Ok(statements),
        rest => Err(format!("`;` is missing after `{}`", rest.join(" "))),
    }
}

struct Parser {
    program: Program,
    operands: usize,
    names: HashMap<String, usize>,
}

impl Parser {
    fn statement(&mut self, text: &str) -> Result<(), String> {
        if text.is_empty() || WITHOUT_EFFECT.iter().any(|word| starts_with_word(text, word)) {
            return Ok(());
        }
        if let Some(declared) = text.strip_prefix(".reg") {
            return self.declare(declared);
        }
        if let Some(label) = text
            .split_whitespace()
            .next()
            .and_then(|word| word.strip_suffix(':'))
        {
            return Err(format!("jumps are not run: label `{label}`"));
        }
        let (guard, text) = match text.strip_prefix('@') {
            None => (None, text),
            Some(guarded) => {
                let (name, rest) = split_word(guarded);
                let (wanted, name) = match name.strip_prefix('!') {
                    Some(name) => (false, name),
                    None => (true, name),
                };
                (Some((self.register(name)?, wanted)), rest)
            }
        };
        let (mnemonic, operands) = split_word(text);
        let operands = split_operands(operands);
        let Some((target, sources)) = operands.split_first() else {
            return Err(format!("`{mnemonic}` is not run"));
        };
        if mnemonic.starts_with("mov.")
            && (target.starts_with('{') || sources.iter().any(|s| s.starts_with('{')))
        {
            return self.move_parts(mnemonic, target, sources, guard);
        }
        let Made {
            sources: types,
            compute,
        } = make(Mnemonic::parse(mnemonic), sources.len())?;
        let sources = sources.iter().zip(types).map(|(text, ty)| self.source(text, ty));
        let instruction = Instruction {
            sources: sources.collect::<Result<_, _>>()?,
            target: self.register(target)?,
            guard,
            compute,
        };
        self.program.instructions.push(instruction);
        Ok(())
    }

    /// `.reg .TYPE a, b, c<4>`.
    fn declare(&mut self, text: &str) -> Result<(), String> {
        let (ty, names) = split_word(text.trim_start());
        let known = ty.strip_prefix('.').and_then(Type::parse);
        if known.is_none() {
            return Err(format!("registers of type `{ty}` are not run"));
        }
        for name in names.split(',') {
            let name = name.trim();
            let (stem, count) = match name.split_once('<') {
                None => (name, None),
                Some((stem, count)) => {
                    let count = count.trim_end_matches('>').trim().parse::<usize>();
                    (
                        stem.trim(),
                        Some(count.map_err(|_| format!("`{name}` declares no registers"))?),
                    )
                }
            };
            if count.unwrap_or(1).saturating_add(self.program.registers) > MAX_REGISTERS {
                return Err(format!("more than {MAX_REGISTERS} registers are not run"));
            }
            match count {
                None => self.add(stem.to_string()),
                Some(count) => (0..count).for_each(|i| self.add(format!("{stem}{i}"))),
            }
        }
        Ok(())
    }

    fn add(&mut self, name: String) {
        self.names.insert(name, self.program.registers);
        self.program.registers += 1;
    }

    /// The register of a name, or an operand.
    fn register(&self, text: &str) -> Result<usize, String> {
        if let Some(number) = text.strip_prefix('$') {
            let number = number.parse::<usize>().ok().filter(|&n| n < self.operands);
            return number.ok_or_else(|| format!("there is no operand `{text}`"));
        }
        match self.names.get(text) {
            Some(&register) => Ok(register),
            None if text.starts_with('%') => Err(format!("special register `{text}` is not run")),
            None if text.starts_with('[') => Err(format!("memory is not accessed by assembly: `{text}`")),
            None => Err(format!("`{text}` is not a register")),
        }
    }

    fn source(&self, text: &str, ty: Type) -> Result<Source, String> {
        match constant(text, ty) {
            Some(bits) => Ok(Source::Bits(bits?)),
            None => self.register(text).map(Source::Register),
        }
    }

    /// `mov` between a register and its parts in braces, lowest first.
    fn move_parts(
        &mut self,
        mnemonic: &str,
        target: &str,
        sources: &[&str],
        guard: Option<(usize, bool)>,
    ) -> Result<(), String> {
        let refused = || format!("`{mnemonic}` between `{target}` and its parts is not run");
        let ty = Mnemonic::parse(mnemonic).only_type()?;
        let [source] = sources else {
            return Err(refused());
        };
        let (parts, packs) = match parts(source) {
            Some(parts) => (parts, true),
            None => (parts_of(target), false),
        };
        let width = ty.bits().checked_div(parts.len() as u32).unwrap_or(0);
        if parts.len() > 4 || width < 8 || target.starts_with('{') == packs {
            return Err(refused());
        }
        let mask = u64::MAX >> (64 - width);
        if packs {
            let part = |text: &&str| self.source(text, Type::Bits(width));
            let sources = parts.iter().map(part).collect::<Result<Vec<_>, _>>()?;
            let compute = move |s: [u64; 4]| {
                (0..4).fold(0, |all, i| match width * i < 64 {
                    true => all | (s[i as usize] & mask) << (width * i),
                    false => all,
                }) & ty.mask()
            };
            self.program.instructions.push(Instruction {
                target: self.register(target)?,
                sources,
                guard,
                compute: Box::new(compute),
            });
            return Ok(());
        }
        // By way of a register of its own: a part may be the source itself.
        let whole = self.program.registers;
        self.program.registers += 1;
        self.program.instructions.push(Instruction {
            target: whole,
            sources: vec![self.source(source, ty)?],
            guard,
            compute: Box::new(|[a, ..]| a),
        });
        for (text, i) in parts.iter().zip(0..) {
            // `_` is a part that is not wanted.
            if *text == "_" {
                continue;
            }
            let shift = width * i;
            self.program.instructions.push(Instruction {
                target: self.register(text)?,
                sources: vec![Source::Register(whole)],
                guard,
                compute: Box::new(move |[a, ..]| a >> shift & mask),
            });
        }
        Ok(())
    }
}

fn starts_with_word(text: &str, word: &str) -> bool {
    text.strip_prefix(word)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', ' ', '\t', '\n']))
}

/// The first word, and the rest without space before it.
fn split_word(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    (&text[..end], text[end..].trim())
}

/// Operands between commas; commas within braces are part of theirs.
fn split_operands(text: &str) -> Vec<&str> {
    let mut operands = Vec::new();
    let (mut start, mut depth) = (0, 0usize);
    for (at, c) in text.char_indices() {
        match c {
            '{' | '[' => depth += 1,
            '}' | ']' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                operands.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    operands.push(text[start..].trim());
    operands.retain(|operand| !operand.is_empty());
    operands
}

/// The parts of `{a, b}`; none for anything else.
fn parts(text: &str) -> Option<Vec<&str>> {
    let inside = text.strip_prefix('{')?.strip_suffix('}')?;
    Some(inside.split(',').map(str::trim).collect())
}

fn parts_of(text: &str) -> Vec<&str> {
    parts(text).unwrap_or_default()
}

/// A constant of a type; none for a text that is no number.
fn constant(text: &str, ty: Type) -> Option<Result<u64, String>> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let wrong = || format!("`{text}` is not a constant of the instruction's type");
    let bits = exact_float(digits).or_else(|| match ty {
        Type::F32 | Type::Tf32 => text.parse::<f32>().ok().map(|x| x.to_bits().into()),
        Type::F64 => text.parse::<f64>().ok().map(f64::to_bits),
        _ => {
            let value = integer(digits)?;
            let value = if digits.len() < text.len() {
                value.wrapping_neg()
            } else {
                value
            };
            Some(value & ty.mask())
        }
    });
    Some(bits.ok_or_else(wrong))
}

/// `0f` and eight or `0d` and sixteen hexadecimal digits: a float by its bits.
fn exact_float(text: &str) -> Option<u64> {
    let digits = match text.get(..2)? {
        "0f" | "0F" => text.get(2..).filter(|d| d.len() == 8)?,
        "0d" | "0D" => text.get(2..).filter(|d| d.len() == 16)?,
        _ => return None,
    };
    u64::from_str_radix(digits, 16).ok()
}

/// A decimal, hexadecimal, octal or binary integer, maybe with the `U` of an unsigned one.
fn integer(text: &str) -> Option<u64> {
    let text = text.strip_suffix('U').unwrap_or(text);
    let lower = text.to_ascii_lowercase();
    match (lower.strip_prefix("0x"), lower.strip_prefix("0b")) {
        (Some(digits), _) => u64::from_str_radix(digits, 16).ok(),
        (_, Some(digits)) => u64::from_str_radix(digits, 2).ok(),
        _ if lower.len() > 1 && lower.starts_with('0') => u64::from_str_radix(&lower[1..], 8).ok(),
        _ => lower.parse().ok(),
    }
}
