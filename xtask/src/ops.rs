//! `docs/ops.md`: the op table as a page.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result};
use tilescope_ir::OpCode;

/// Where the page stands, from the root of the workspace.
pub const PAGE: &str = "docs/ops.md";

/// The page as it should be.
pub fn page() -> String {
    let mut text = String::from(
        "# Operations\n\nMade by `cargo xtask ops` from the table in `ir/src/ops.rs`; do not edit.\n\n\
         | operation | family | effect | meaning |\n|---|---|---|---|\n",
    );
    for code in OpCode::ALL {
        let info = code.info();
        let family = format!("{:?}", info.family).to_lowercase();
        let effect = format!("{:?}", info.effect).to_lowercase();
        // Writing to a String does not fail.
        let _ = writeln!(
            text,
            "| `{}` | {family} | {effect} | {} |",
            info.mnemonic, info.doc
        );
    }
    text
}

/// Writes the page.
pub fn write(root: &Path) -> Result<()> {
    std::fs::write(root.join(PAGE), page()).with_context(|| format!("cannot write {PAGE}"))
}
