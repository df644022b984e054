//! Any text as TTIR: it is read, verified, and survives printing, or is refused with a place inside the text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tilescope_diagnostics::Source;
use tilescope_ir::text::{parse, print, same};
use tilescope_ir::verify;

fuzz_target!(|text: &str| {
    let module = match parse(&Source::new("fuzz.ttir", text)) {
        Ok(module) => module,
        Err(error) => {
            let inside = |r: &std::ops::Range<usize>| r.start <= r.end && r.end <= text.len();
            return assert!(error.labels.iter().all(|label| inside(&label.range)));
        }
    };
    let printed = print(&module);
    if verify(&module).is_err() {
        return; // It is printed for a developer's eyes only.
    }
    let again = match parse(&Source::new("printed.ttir", printed.as_str())) {
        Ok(again) => again,
        Err(error) => panic!("the printed text is refused: {error}\n{printed}"),
    };
    if let Err(difference) = same(&module, &again) {
        panic!("print and parse change the module: {difference}\n{printed}");
    }
});
