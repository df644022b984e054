//! Colours: what each part of a picture looks like on dark and light backgrounds, with 256, 16 or no colours.
//!
//! What colour says is said without it too, by a sign or by weight, so that nothing is lost with `NO_COLOR`.

use ratatui_core::style::{Color, Modifier, Style};

/// The terminal's background.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Background {
    /// Light text on dark.
    #[default]
    Dark,
    /// Dark text on light.
    Light,
}

/// How many colours there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Depth {
    /// None.
    None,
    /// The sixteen of every terminal.
    #[default]
    Sixteen,
    /// The palette of 256.
    Palette,
}

/// What the terminal can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Theme {
    /// Its background.
    pub background: Background,
    /// Its colours.
    pub depth: Depth,
}

/// A part of the picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Text.
    Plain,
    /// Text that matters less.
    Dim,
    /// A pane's title.
    Title,
    /// The title of the pane that has the focus.
    Focus,
    /// The first and the last row.
    Bar,
    /// A key in the hints.
    KeyName,
    /// The line to be executed next.
    Current,
    /// The cursor of the pane that has the focus.
    Cursor,
    /// The cursor of another pane.
    Shadow,
    /// What is linked to the cursor of another pane.
    Linked,
    /// A breakpoint.
    Breakpoint,
    /// A match of the search.
    Match,
    /// A keyword.
    Keyword,
    /// A string.
    Text,
    /// A comment.
    Comment,
    /// A number.
    Number,
    /// A name that is called.
    Call,
    /// A value that the last move changed.
    Changed,
    /// NaN.
    Nan,
    /// An infinity.
    Inf,
    /// A lane whose mask is off.
    Masked,
    /// A lane without meaning.
    Undefined,
    /// A lane outside its tensor.
    Outside,
    /// Read by this program.
    Read,
    /// Written by this program.
    Written,
    /// Read and written by this program.
    Both,
    /// Written by another program.
    Others,
    /// A program that has begun.
    Running,
    /// A program that has ended.
    Done,
    /// A program or message with a fault.
    Fault,
    /// A warning.
    Warning,
}

/// Steps of the heat map's scale.
pub const HEATS: usize = 12;

/// The scale from cold to hot in the palette of 256: rising in lightness, so that it reads in grey too.
const HEAT_PALETTE: [u8; HEATS] = [17, 18, 54, 90, 126, 161, 196, 202, 208, 214, 220, 229];

/// The scale in sixteen colours.
const HEAT_SIXTEEN: [Color; HEATS] = [
    Color::Black,
    Color::Blue,
    Color::Blue,
    Color::LightBlue,
    Color::Magenta,
    Color::Magenta,
    Color::Red,
    Color::Red,
    Color::LightRed,
    Color::Yellow,
    Color::LightYellow,
    Color::White,
];

impl Theme {
    /// How a part looks.
    pub fn style(self, role: Role) -> Style {
        let weight = self.weight(role);
        match self.depth {
            Depth::None => weight,
            Depth::Sixteen | Depth::Palette => {
                let (fg, bg) = self.colors(role);
                let mut style = match role {
                    Role::Cursor | Role::Shadow | Role::Bar | Role::Match => Style::new(),
                    _ => weight.remove_modifier(Modifier::REVERSED | Modifier::UNDERLINED),
                };
                style.fg = fg;
                style.bg = bg;
                style
            }
        }
    }

    /// What a part looks like without colours.
    fn weight(self, role: Role) -> Style {
        let style = Style::new();
        match role {
            Role::Title
            | Role::Current
            | Role::Keyword
            | Role::Changed
            | Role::Breakpoint
            | Role::KeyName => style.add_modifier(Modifier::BOLD),
            Role::Focus => style.add_modifier(Modifier::BOLD | Modifier::REVERSED),
            Role::Nan | Role::Inf | Role::Outside | Role::Fault => style.add_modifier(Modifier::BOLD),
            Role::Bar | Role::Cursor => style.add_modifier(Modifier::REVERSED),
            Role::Shadow | Role::Linked | Role::Match => style.add_modifier(Modifier::UNDERLINED),
            Role::Dim | Role::Comment | Role::Masked => style.add_modifier(Modifier::DIM),
            _ => style,
        }
    }

    fn colors(self, role: Role) -> (Option<Color>, Option<Color>) {
        let dark = self.background == Background::Dark;
        let palette = self.depth == Depth::Palette;
        // A colour that stands out on the background: the light one on dark, the dark one on light.
        let pick = |on_dark: Color, on_light: Color| Some(if dark { on_dark } else { on_light });
        let back = |on_dark: u8, on_light: u8, sixteen: Color| {
            Some(match (palette, dark) {
                (true, true) => Color::Indexed(on_dark),
                (true, false) => Color::Indexed(on_light),
                (false, _) => sixteen,
            })
        };
        match role {
            Role::Plain => (None, None),
            Role::Dim | Role::Comment | Role::Masked => (pick(Color::DarkGray, Color::DarkGray), None),
            Role::Title => (pick(Color::LightCyan, Color::Blue), None),
            Role::Focus => (
                pick(Color::Black, Color::White),
                pick(Color::LightCyan, Color::Blue),
            ),
            Role::Bar => (pick(Color::White, Color::White), back(24, 24, Color::Blue)),
            Role::KeyName => (pick(Color::LightCyan, Color::Blue), None),
            Role::Current => (pick(Color::LightYellow, Color::Red), None),
            Role::Cursor => match palette {
                true => (None, back(238, 252, Color::DarkGray)),
                false => (Some(Color::Black), Some(Color::Gray)),
            },
            Role::Shadow => match palette {
                true => (None, back(235, 254, Color::DarkGray)),
                false => (Some(Color::White), Some(Color::DarkGray)),
            },
            Role::Linked => match palette {
                true => (None, back(23, 194, Color::DarkGray)),
                false => (pick(Color::LightGreen, Color::Green), None),
            },
            Role::Breakpoint | Role::Fault => (pick(Color::LightRed, Color::Red), None),
            Role::Match => (Some(Color::Black), Some(Color::Yellow)),
            Role::Keyword => (pick(Color::LightMagenta, Color::Magenta), None),
            Role::Text => (pick(Color::LightGreen, Color::Green), None),
            Role::Number => (pick(Color::LightCyan, Color::Cyan), None),
            Role::Call => (pick(Color::LightBlue, Color::Blue), None),
            Role::Changed => (pick(Color::LightYellow, Color::Red), None),
            Role::Nan => (Some(Color::White), Some(Color::Red)),
            Role::Inf => (Some(Color::Black), Some(Color::Yellow)),
            Role::Undefined => (pick(Color::LightMagenta, Color::Magenta), None),
            Role::Outside => (Some(Color::White), Some(Color::Magenta)),
            Role::Read => (pick(Color::LightBlue, Color::Blue), None),
            Role::Written => (pick(Color::LightGreen, Color::Green), None),
            Role::Both => (pick(Color::LightCyan, Color::Cyan), None),
            Role::Others => (pick(Color::Yellow, Color::Yellow), None),
            Role::Running => (pick(Color::LightYellow, Color::Yellow), None),
            Role::Done => (pick(Color::LightGreen, Color::Green), None),
            Role::Warning => (pick(Color::LightYellow, Color::Yellow), None),
        }
    }

    /// A step of the heat map's scale; none without colours.
    pub fn heat(self, step: usize) -> Option<Color> {
        let step = step.min(HEATS - 1);
        match self.depth {
            Depth::None => None,
            Depth::Sixteen => HEAT_SIXTEEN.get(step).copied(),
            Depth::Palette => HEAT_PALETTE.get(step).copied().map(Color::Indexed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROLES: &[Role] = &[
        Role::Plain,
        Role::Dim,
        Role::Title,
        Role::Focus,
        Role::Bar,
        Role::Current,
        Role::Cursor,
        Role::Shadow,
        Role::Linked,
        Role::Breakpoint,
        Role::Match,
        Role::Changed,
        Role::Nan,
        Role::Masked,
        Role::Fault,
        Role::Running,
        Role::Done,
    ];

    fn theme(background: Background, depth: Depth) -> Theme {
        Theme { background, depth }
    }

    #[test]
    fn without_colours_there_are_none() {
        for &role in ROLES {
            let style = theme(Background::Dark, Depth::None).style(role);
            assert_eq!((style.fg, style.bg), (None, None), "{role:?}");
        }
        assert_eq!(Theme::default().heat(HEATS + 5), Theme::default().heat(HEATS - 1));
        assert_eq!(theme(Background::Light, Depth::None).heat(3), None);
    }

    #[test]
    fn sixteen_colours_are_sixteen() {
        for background in [Background::Dark, Background::Light] {
            for &role in ROLES {
                let style = theme(background, Depth::Sixteen).style(role);
                for color in [style.fg, style.bg].into_iter().flatten() {
                    assert!(!matches!(color, Color::Indexed(_) | Color::Rgb(..)), "{role:?}");
                }
            }
        }
    }

    #[test]
    fn where_the_cursor_is_can_be_seen_in_every_theme() {
        for background in [Background::Dark, Background::Light] {
            for depth in [Depth::None, Depth::Sixteen, Depth::Palette] {
                let theme = theme(background, depth);
                for role in [Role::Cursor, Role::Shadow, Role::Focus, Role::Match, Role::Linked] {
                    assert_ne!(theme.style(role), theme.style(Role::Plain), "{role:?} {depth:?}");
                }
                assert_ne!(theme.style(Role::Cursor), theme.style(Role::Shadow), "{depth:?}");
            }
        }
    }
}
