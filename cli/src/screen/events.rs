//! What the user does, from a thread of its own: so that Ctrl-C stops a command while the model is at work.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use crossterm::event::{self, KeyCode as Code, KeyEventKind, KeyModifiers, MouseButton, MouseEventKind};
use tilescope_tui::{Input, Key, KeyCode, Mouse};

use crate::interrupt;
use crate::status::Status;

/// How often signals are looked for while nothing happens.
const TICK: Duration = Duration::from_millis(100);

/// Something to react to.
#[derive(Debug)]
pub enum Event {
    /// An event of the model.
    Input(Input),
    /// A signal, or the terminal is gone.
    End(Status),
}

/// The queue of events.
#[derive(Debug)]
pub struct Events {
    queue: Receiver<Event>,
    /// True while a command runs, which Ctrl-C then stops.
    pub busy: Arc<AtomicBool>,
}

impl Events {
    /// Begins to listen.
    pub fn listen() -> Events {
        let (sender, queue) = channel();
        let busy = Arc::new(AtomicBool::new(false));
        let shared = busy.clone();
        thread::spawn(move || listen(&sender, &shared));
        Events { queue, busy }
    }

    /// The next event.
    pub fn wait(&self) -> Event {
        self.queue.recv().unwrap_or(Event::End(Status::Internal))
    }

    /// The next event, if there is one already.
    pub fn queued(&self) -> Option<Event> {
        self.queue.try_recv().ok()
    }
}

fn listen(sender: &Sender<Event>, busy: &AtomicBool) {
    let terminated = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP] {
        // Where a signal cannot be caught, it ends the process as ever.
        let _ = signal_hook::flag::register(signal, terminated.clone());
    }
    loop {
        if terminated.load(Ordering::Relaxed) {
            interrupt::request();
            let _ = sender.send(Event::End(Status::Interrupted));
            return;
        }
        if interrupt::requested() && !busy.load(Ordering::Relaxed) {
            let _ = sender.send(Event::End(Status::Interrupted));
            return;
        }
        let event = match event::poll(TICK) {
            Ok(false) => continue,
            Ok(true) => event::read(),
            Err(why) => Err(why),
        };
        let Ok(event) = event else {
            let _ = sender.send(Event::End(Status::Input));
            return;
        };
        let Some(input) = translate(&event) else { continue };
        if input == Input::Key(Key::control('c')) && busy.load(Ordering::Relaxed) {
            interrupt::request();
        } else if sender.send(Event::Input(input)).is_err() {
            return;
        }
    }
}

/// The terminal's event in the model's words.
fn translate(event: &event::Event) -> Option<Input> {
    match event {
        event::Event::Key(key) if key.kind != KeyEventKind::Release => {
            let code = match key.code {
                Code::Char(c) => KeyCode::Char(c),
                Code::Enter => KeyCode::Enter,
                Code::Esc => KeyCode::Escape,
                Code::Tab => KeyCode::Tab,
                Code::BackTab => KeyCode::BackTab,
                Code::Backspace => KeyCode::Backspace,
                Code::Delete => KeyCode::Delete,
                Code::Up => KeyCode::Up,
                Code::Down => KeyCode::Down,
                Code::Left => KeyCode::Left,
                Code::Right => KeyCode::Right,
                Code::Home => KeyCode::Home,
                Code::End => KeyCode::End,
                Code::PageUp => KeyCode::PageUp,
                Code::PageDown => KeyCode::PageDown,
                _ => return None,
            };
            let control = key.modifiers.contains(KeyModifiers::CONTROL);
            Some(Input::Key(Key { code, control }))
        }
        event::Event::Mouse(mouse) => {
            let kind = match mouse.kind {
                MouseEventKind::Down(MouseButton::Left) => Mouse::Press,
                MouseEventKind::ScrollUp => Mouse::ScrollUp,
                MouseEventKind::ScrollDown => Mouse::ScrollDown,
                _ => return None,
            };
            Some(Input::Mouse(kind, mouse.column, mouse.row))
        }
        event::Event::Resize(columns, rows) => Some(Input::Resize(*columns, *rows)),
        _ => None,
    }
}
