//! The progress bar of a run: on stderr, and only for runs over a second.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{Scope, park_timeout};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

const PATIENCE: Duration = Duration::from_secs(1);
const REFRESH: Duration = Duration::from_millis(100);

/// Runs `body` beside a bar that follows `done` up to `total`; without `show` just runs it.
pub fn with_bar<T>(show: bool, total: u64, done: &AtomicU64, body: impl FnOnce() -> T) -> T {
    if !show {
        return body();
    }
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let bar = draw(scope, total, done, &over);
        // Ends the bar also when the body panics, else the scope would wait for ever.
        let _end = End { over: &over, bar };
        body()
    })
}

struct End<'a> {
    over: &'a AtomicBool,
    bar: std::thread::Thread,
}

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
        self.bar.unpark();
    }
}

fn draw<'scope>(
    scope: &'scope Scope<'scope, '_>,
    total: u64,
    done: &'scope AtomicU64,
    over: &'scope AtomicBool,
) -> std::thread::Thread {
    let handle = scope.spawn(move || {
        let started = Instant::now();
        while started.elapsed() < PATIENCE {
            if over.load(Ordering::Acquire) {
                return;
            }
            park_timeout(PATIENCE.saturating_sub(started.elapsed()));
        }
        let bar =
            ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr()).with_elapsed(PATIENCE);
        if let Ok(style) =
            ProgressStyle::with_template("[{bar:40}] {pos}/{len} programs  {elapsed} (left {eta})")
        {
            bar.set_style(style.progress_chars("=> "));
        }
        while !over.load(Ordering::Acquire) {
            bar.set_position(done.load(Ordering::Relaxed).min(total));
            park_timeout(REFRESH);
        }
        bar.finish_and_clear();
    });
    handle.thread().clone()
}
