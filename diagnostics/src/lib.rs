//! tilescope-diagnostics
