//! Any text as TTIR: it is read, or refused with a place inside the text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tilescope_diagnostics::Source;
use tilescope_ir::text::parse;

fuzz_target!(|text: &str| {
    let source = Source::new("fuzz.ttir", text);
    if let Err(error) = parse(&source) {
        assert!(error.labels.iter().all(|label| label.range.start <= label.range.end && label.range.end <= text.len()));
        // What a renderer does with the place.
        for label in &error.labels {
            let (line, _) = source.line_column(label.range.start);
            assert!(line >= 1);
        }
    }
});
