//! tilescope-ir
