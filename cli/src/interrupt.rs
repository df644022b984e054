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

/// Asks the run to stop, as Ctrl-C does; on the debugger's screen Ctrl-C is a key and no signal.
pub fn request() {
    STOP.store(true, Ordering::Relaxed);
}

/// Forgets a Ctrl-C once what it stopped has stopped.
pub fn clear() {
    STOP.store(false, Ordering::Relaxed);
}

/// True after the first Ctrl-C.
pub fn requested() -> bool {
    STOP.load(Ordering::Relaxed)
}
