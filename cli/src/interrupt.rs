//! Ctrl-C: the first asks the run to stop and report what it has; the second ends the process at once.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::status::Status;

static STOP: AtomicBool = AtomicBool::new(false);

/// Installs the handler. Without one (no signals here) Ctrl-C just ends the process.
pub fn install() {
    let _ = ctrlc::set_handler(|| {
        if STOP.swap(true, Ordering::Relaxed) {
            std::process::exit(Status::Interrupted.number().into());
        }
    });
}

/// The flag that a run watches.
pub fn flag() -> &'static AtomicBool {
    &STOP
}

/// True after the first Ctrl-C.
pub fn requested() -> bool {
    STOP.load(Ordering::Relaxed)
}
