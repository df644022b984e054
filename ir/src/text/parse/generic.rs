//! Operations in generic form: `"name"(operands)[successors] <{…}> ({ … }) {…} : type`.

use super::Parser;
use super::attrs::Dict;
use super::draft::Draft;
use super::names::Use;
use crate::attrs::AttrValue;
use crate::ops::OpCode;
use tilescope_diagnostics::{Error, Result};

impl<'a> Parser<'a> {
    /// Reads what follows the quoted name.
    pub(super) fn generic(&mut self, draft: &mut Draft<'a>) -> Result<()> {
        self.expect(b'(', "`(` of the operands")?;
        let uses = if self.c.peek() == b')' {
            Vec::new()
        } else {
            self.operands()?
        };
        self.expect(b')', "`)` after the operands")?;
        self.generic_successors(draft)?;
        self.properties(&mut draft.dict)?;
        self.generic_regions(draft)?;
        self.attr_dict(&mut draft.dict)?;
        self.expect(b':', "`:` and the type of the operation")?;
        let (inputs, results) = self.function_type()?;
        draft.results = results;
        let mut operands = self.resolve_all(&uses, &inputs)?;
        let segments = self.segments(draft)?;
        match draft.code {
            OpCode::Br => {
                if let [target] = draft.successors.as_mut_slice() {
                    target.args = std::mem::take(&mut operands);
                }
            }
            OpCode::CondBr => self.split_branch(draft, &mut operands, segments.as_deref())?,
            _ => self.check_segments(draft, segments.as_deref(), operands.len())?,
        }
        draft.operands = operands;
        Ok(())
    }

    fn generic_successors(&mut self, draft: &mut Draft<'a>) -> Result<()> {
        if !self.c.eat(b'[') || self.c.eat(b']') {
            return Ok(());
        }
        loop {
            let target = self.successor()?;
            draft.successors.push(target);
            if self.c.eat(b']') {
                return Ok(());
            }
            self.expect(b',', "`,` or `]` after a block")?;
        }
    }

    /// `<{…}>` if it is there.
    pub(super) fn properties(&mut self, dict: &mut Dict<'a>) -> Result<()> {
        if !self.c.eat(b'<') {
            return Ok(());
        }
        self.attr_dict(dict)?;
        self.expect(b'>', "`>` after the properties")
    }

    /// `({ … }, { … })` if it is there.
    pub(super) fn generic_regions(&mut self, draft: &mut Draft<'a>) -> Result<()> {
        if !self.c.eat(b'(') || self.c.eat(b')') {
            return Ok(());
        }
        loop {
            let region = self.region(&[])?;
            // `{}` is an `scf.if` without `else`
            let entry = self.f.regions[region].blocks.first();
            let empty =
                entry.is_some_and(|&b| self.f.blocks[b].ops.is_empty() && self.f.blocks[b].args.is_empty());
            if draft.code != OpCode::If || draft.regions.is_empty() || !empty {
                draft.regions.push(region);
            }
            if self.c.eat(b')') {
                return Ok(());
            }
            self.expect(b',', "`,` or `)` after a region")?;
        }
    }

    fn segments(&mut self, draft: &mut Draft<'a>) -> Result<Option<Vec<i128>>> {
        let Some(item) = draft
            .dict
            .take_any(&["operandSegmentSizes", "operand_segment_sizes"])
        else {
            return Ok(None);
        };
        match item.value {
            AttrValue::DenseArray(_, sizes) => Ok(Some(sizes)),
            _ => Err(self.expected(item.at, "this attribute", "a list such as `array<i32: 1, 0, 0>`")),
        }
    }

    fn bad_segments(&self, draft: &Draft<'a>, why: &str) -> Box<Error> {
        Error::input(format!("the operand groups of `{}` do not fit", draft.code)).at(
            &self.source,
            self.c.item(draft.at),
            why,
        )
    }

    fn split_branch(
        &self,
        draft: &mut Draft<'a>,
        operands: &mut Vec<crate::ValueId>,
        segments: Option<&[i128]>,
    ) -> Result<()> {
        let error = self.bad_segments(
            draft,
            "expected `operandSegmentSizes` of a condition and two argument lists",
        );
        let (Some(&[1, first, second]), [then, otherwise]) = (segments, draft.successors.as_mut_slice())
        else {
            return Err(error);
        };
        let (first, second) = (usize::try_from(first).ok(), usize::try_from(second).ok());
        let (Some(first), Some(second)) = (first, second) else {
            return Err(error);
        };
        if first.checked_add(second).and_then(|n| n.checked_add(1)) != Some(operands.len()) {
            return Err(error);
        }
        otherwise.args = operands.split_off(1 + first);
        then.args = operands.split_off(1);
        Ok(())
    }

    /// Optional operands may only be missing from the end; where more than one can be missing alone,
    /// the sizes stay behind as attributes.
    fn check_segments(&self, draft: &mut Draft<'a>, segments: Option<&[i128]>, count: usize) -> Result<()> {
        let Some(segments) = segments else {
            return Ok(());
        };
        let total: i128 = segments.iter().fold(0, |a, &b| a.saturating_add(b));
        if total != count as i128 || segments.iter().any(|&s| s < 0) {
            return Err(self.bad_segments(draft, "the sizes do not add up to the operands"));
        }
        match draft.code {
            OpCode::DotScaled => match segments {
                [1, 1, 1, a @ 0..=1, b @ 0..=1] => {
                    draft.dict.add("a_scale", AttrValue::Bool(*a == 1), draft.at);
                    draft.dict.add("b_scale", AttrValue::Bool(*b == 1), draft.at);
                }
                _ => return Err(self.bad_segments(draft, "expected three operands and up to two scales")),
            },
            OpCode::Load if matches!(segments, [1, 0, 1]) => {
                return Err(self.bad_segments(draft, "a value for masked-off lanes needs a mask"));
            }
            _ => {}
        }
        Ok(())
    }

    /// Uses in brackets: `[%a, %b]`, possibly empty.
    pub(super) fn bracketed(&mut self) -> Result<Vec<Use<'a>>> {
        self.expect(b'[', "`[`")?;
        if self.c.eat(b']') {
            return Ok(Vec::new());
        }
        let uses = self.operands()?;
        self.expect(b']', "`]` after the values")?;
        Ok(uses)
    }
}
