//! tilescope-cli
fn main() {}
