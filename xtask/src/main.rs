//! tilescope-xtask
fn main() {}
