//! tilescope-interpreter
