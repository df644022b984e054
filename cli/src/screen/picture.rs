//! A screen as it is after some keys, without a terminal: for documents, and to see how long keys take.

use std::fmt::Write;
use std::time::{Duration, Instant};

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use tilescope_diagnostics::Error;
use tilescope_diagnostics::render::number;
use tilescope_tui::{Background, Flow, Input, Tui, events, svg};

/// Presses keys; gives how long each took, until all that it changed was drawn.
///
/// # Errors
/// A word that is no key.
pub fn press(tui: &mut Tui, keys: &str) -> Result<Vec<(Input, Duration)>, Box<Error>> {
    let events = events(keys).map_err(|word| {
        Error::input(format!("--keys: `{word}` is no key"))
            .help("keys are written s, S, enter, ctrl-d, 3*n, \"text\", click:COLUMN,ROW")
    })?;
    let mut times = Vec::new();
    for event in events {
        let started = Instant::now();
        let mut flow = tui.update(event);
        while flow == Flow::Work {
            flow = tui.work();
        }
        let _ = drawn(tui);
        times.push((event, started.elapsed()));
    }
    Ok(times)
}

fn drawn(tui: &Tui) -> Buffer {
    let (columns, rows) = tui.size();
    let mut buffer = Buffer::empty(Rect::new(0, 0, columns, rows));
    let _ = tui.draw(&mut buffer);
    buffer
}

/// The screen as text, or as SVG.
pub fn picture(tui: &Tui, as_svg: bool, background: Background) -> String {
    let buffer = drawn(tui);
    if as_svg {
        return svg(&buffer, background);
    }
    let mut out = String::new();
    for row in buffer.content().chunks(usize::from(buffer.area().width).max(1)) {
        let line: String = row.iter().map(|cell| cell.symbol()).collect();
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// How long keys took: the median, the longest, and which key that was.
pub fn times(mut times: Vec<(Input, Duration)>) -> String {
    times.sort_by_key(|(_, time)| *time);
    let mut out = String::new();
    let (Some(middle), Some(longest)) = (times.get(times.len() / 2), times.last()) else {
        return out;
    };
    let key = match longest.0 {
        Input::Key(key) => key.to_string(),
        other => format!("{other:?}"),
    };
    let seconds = |time: Duration| number::seconds(time.as_secs_f64());
    let _ = writeln!(
        out,
        "{} keys: median {}, longest {} ({key})",
        times.len(),
        seconds(middle.1),
        seconds(longest.1)
    );
    out
}
