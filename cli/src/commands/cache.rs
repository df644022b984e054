//! `tilescope cache clear`: removes the compiled kernels.

use anyhow::Result;

use crate::gpu;
use crate::status::Status;
use crate::terminal::Terminal;

/// Clears the cache; says what was in it.
pub fn clear(terminal: &Terminal) -> Result<Status> {
    let Some(cache) = gpu::cache() else {
        terminal.page("no folder for a cache: none of TILESCOPE_CACHE, XDG_CACHE_HOME and HOME is set\n")?;
        return Ok(Status::Clean);
    };
    match cache.clear() {
        Ok(count) => {
            let kernels = if count == 1 { "kernel" } else { "kernels" };
            terminal.page(&format!(
                "{count} compiled {kernels} removed from {}\n",
                cache.folder().display()
            ))?;
            Ok(Status::Clean)
        }
        Err(error) => Ok(super::refuse(&error.into(), terminal)),
    }
}
