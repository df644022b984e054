//! Where panes are on a screen of a given size.
//!
//! Each pane's first row is its title; a column of its own divides panes that are side by side.

use ratatui_core::layout::Rect;

/// Fewest columns and rows that a screen must have.
pub const LEAST: (u16, u16) = (60, 16);

/// A pane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Pane {
    /// The author's source.
    Source,
    /// The operations.
    Ttir,
    /// The variables.
    Variables,
    /// A tile, a tensor, the programs or the findings.
    Inspector,
    /// Commands and replies.
    Console,
}

/// What the inspector shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tab {
    /// A tile.
    Tile,
    /// A tensor and who touched it.
    Memory,
    /// All programs.
    Grid,
    /// What the checks found.
    Findings,
}

impl Tab {
    /// All of them, in the order of their titles.
    pub const ALL: [Tab; 4] = [Tab::Tile, Tab::Memory, Tab::Grid, Tab::Findings];

    /// Its title.
    pub fn title(self) -> &'static str {
        match self {
            Tab::Tile => "tile",
            Tab::Memory => "memory",
            Tab::Grid => "programs",
            Tab::Findings => "findings",
        }
    }
}

/// The places of everything on the screen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Areas {
    /// The first row: where the session is.
    pub top: Rect,
    /// The last row: hints, or the line being typed.
    pub bottom: Rect,
    /// The panes that are shown, in the order that tab visits them.
    pub panes: Vec<(Pane, Rect)>,
    /// Columns between panes: column, first row, rows.
    pub dividers: Vec<(u16, u16, u16)>,
}

impl Areas {
    /// The place of a pane, if it is shown.
    pub fn of(&self, pane: Pane) -> Option<Rect> {
        self.panes
            .iter()
            .find(|(known, _)| *known == pane)
            .map(|(_, area)| *area)
    }

    /// Rows and columns that a pane has below its title.
    pub fn room(&self, pane: Pane) -> (usize, usize) {
        let area = self.of(pane).unwrap_or_default();
        (
            usize::from(area.height.saturating_sub(1)),
            usize::from(area.width),
        )
    }
}

/// Lays out the screen; none if it is too small.
pub fn areas((width, height): (u16, u16), zoomed: Option<Pane>, ttir: bool) -> Option<Areas> {
    if width < LEAST.0 || height < LEAST.1 {
        return None;
    }
    let body = Rect::new(0, 1, width, height - 2);
    let mut areas = Areas {
        top: Rect::new(0, 0, width, 1),
        bottom: Rect::new(0, height - 1, width, 1),
        ..Areas::default()
    };
    if let Some(pane) = zoomed {
        areas.panes.push((pane, body));
    } else if ttir {
        let upper = body.height * 11 / 20;
        let rest = body.height - upper;
        split(
            &mut areas,
            &[(Pane::Source, 1), (Pane::Ttir, 1)],
            Rect::new(0, 1, width, upper),
        );
        let lower = Rect::new(0, 1 + upper, width, rest);
        match width >= 110 {
            true => split(
                &mut areas,
                &[(Pane::Variables, 3), (Pane::Inspector, 4), (Pane::Console, 4)],
                lower,
            ),
            false => split(&mut areas, &[(Pane::Inspector, 1), (Pane::Console, 1)], lower),
        }
    } else {
        let left = width * 11 / 20;
        let right = width - left - 1;
        let console = (body.height / 4).clamp(5, 12);
        let variables = (body.height * 2 / 5).clamp(6, 16);
        let x = left + 1;
        areas.panes = vec![
            (Pane::Source, Rect::new(0, 1, left, body.height - console)),
            (Pane::Variables, Rect::new(x, 1, right, variables)),
            (
                Pane::Inspector,
                Rect::new(x, 1 + variables, right, body.height - variables),
            ),
            (
                Pane::Console,
                Rect::new(0, 1 + body.height - console, left, console),
            ),
        ];
        areas.dividers.push((left, 1, body.height));
    }
    Some(areas)
}

/// Puts panes side by side, by their shares of the width.
fn split(areas: &mut Areas, panes: &[(Pane, u16)], area: Rect) {
    let whole: u16 = panes.iter().map(|(_, share)| share).sum();
    let mut x = area.x;
    let mut taken = 0;
    for (i, (pane, share)) in panes.iter().enumerate() {
        taken += share;
        let end = area.x + (u32::from(area.width) * u32::from(taken) / u32::from(whole.max(1))) as u16;
        let last = i + 1 == panes.len();
        let right = if last { end } else { end.saturating_sub(1) };
        areas
            .panes
            .push((*pane, Rect::new(x, area.y, right.saturating_sub(x), area.height)));
        if !last {
            areas.dividers.push((right, area.y, area.height));
        }
        x = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panes_cover_the_screen_without_touching() {
        for size in [(60, 16), (80, 24), (120, 40), (300, 100)] {
            for ttir in [false, true] {
                let areas = areas(size, None, ttir).unwrap();
                let panes: u32 = areas.panes.iter().map(|(_, r)| r.area()).sum();
                let dividers: u32 = areas.dividers.iter().map(|(.., rows)| u32::from(*rows)).sum();
                assert_eq!(
                    panes + dividers,
                    u32::from(size.0) * (u32::from(size.1) - 2),
                    "{size:?} {ttir}"
                );
                for (i, (_, a)) in areas.panes.iter().enumerate() {
                    assert!(areas.panes.iter().skip(i + 1).all(|(_, b)| !a.intersects(*b)));
                }
            }
        }
        assert_eq!(areas((59, 40), None, false), None);
    }
}
