//! A panic is a bug of ours: say so, ask for a report, and end with status 70, never with 101.

use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, set_hook};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::status::Status;
use crate::terminal::message;

/// Runs `body`; a panic in it, or in a thread it waits for, becomes [`Status::Internal`].
pub fn guard(body: impl FnOnce() -> Status) -> Status {
    set_hook(Box::new(report));
    catch_unwind(AssertUnwindSafe(body)).unwrap_or(Status::Internal)
}

/// Says it once, even where several threads panic.
fn report(info: &PanicHookInfo<'_>) {
    static SAID: AtomicBool = AtomicBool::new(false);
    if SAID.swap(true, Ordering::Relaxed) {
        return;
    }
    let what = info.payload_as_str().unwrap_or("unknown cause");
    let place = info
        .location()
        .map(|l| format!(" at {}:{}", l.file(), l.line()))
        .unwrap_or_default();
    message(&format!(
        "internal error: {what}{place}\n\
         This is a bug in tilescope {}. Please report it with the launch file and the kernel.\n",
        env!("CARGO_PKG_VERSION")
    ));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_the_internal_status() {
        assert_eq!(guard(|| Status::Found), Status::Found);
        assert_eq!(guard(|| panic!("on purpose")), Status::Internal);
    }
}
