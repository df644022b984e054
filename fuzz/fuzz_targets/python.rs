//! Any text as a Python file: every function in it is compiled with plausible arguments, to IR that verifies and
//! survives printing, or is refused with places inside the text.
#![no_main]

#[path = "../../frontend/examples/coverage/guess.rs"]
mod guess;

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use tilescope_diagnostics::{Error, Source};
use tilescope_frontend::request::compile;
use tilescope_frontend::source::{Files, Program};
use tilescope_ir::text::{parse, print};

/// One file, which can also import itself.
#[derive(Debug)]
struct One(Arc<Source>);

impl Files for One {
    fn read(&self, path: &str) -> Result<Option<Arc<Source>>, String> {
        Ok((path == self.0.name).then(|| self.0.clone()))
    }
}

fn inside(errors: &[Box<Error>]) {
    assert!(!errors.is_empty());
    for label in errors.iter().flat_map(|error| &error.labels) {
        let range = &label.range;
        assert!(range.start <= range.end && range.end <= label.source.text.len());
    }
}

fuzz_target!(|text: &str| {
    let files = One(Source::new("fuzz.py", text));
    for (index, function) in guess::functions(text).iter().take(4).enumerate() {
        let program = Program::new(&files, vec![String::new()]);
        let module = match program.load("fuzz.py") {
            Ok(module) => module,
            Err(error) => return inside(&[error]),
        };
        let compiled = match compile(&program, module, &function.request(index)) {
            Ok(compiled) => compiled,
            Err(errors) => {
                inside(&errors);
                continue;
            }
        };
        let printed = print(&compiled.module);
        if let Err(errors) = tilescope_ir::verify(&compiled.module) {
            panic!("what was compiled does not verify: {:?}\n{printed}", errors.first());
        }
        if let Err(error) = parse(&Source::new("printed.ttir", printed.as_str())) {
            panic!("the printed text is refused: {error}\n{printed}");
        }
    }
});
