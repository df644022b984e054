//! Any text as a launch file: it is read, bound and given its data, or refused with a place inside the text.
//!
//! A launch that names `vector_add.py`, `softmax.py` or `matmul.py` is bound to that example's kernel as Triton compiled it,
//! any other to a kernel without parameters.
#![no_main]

use std::collections::BTreeMap;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use tilescope_diagnostics::{Error, Source};
use tilescope_launch::{LaunchFile, NoFiles, Overrides, Signature};

/// By the name of the Python file.
static SIGNATURES: LazyLock<BTreeMap<&str, Signature>> = LazyLock::new(|| {
    let signature = |text: &str| {
        let module = tilescope_ir::text::parse(&Source::new("kernel.ttir", text)).expect("an example is TTIR");
        let (id, _) = module.kernels().next().expect("an example has a kernel");
        Signature::of(&module, id)
    };
    BTreeMap::from([
        ("vector_add.py", signature(include_str!("../../kernels/vector_add/vector_add.ttir"))),
        ("softmax.py", signature(include_str!("../../kernels/softmax/softmax.ttir"))),
        ("matmul.py", signature(include_str!("../../kernels/matmul/matmul.ttir"))),
    ])
});

fn check(text: &str, error: &Error) {
    assert!(error.labels.iter().all(|label| {
        let inside = label.range.start <= label.range.end && label.range.end <= label.source.text.len();
        inside && (label.source.name != "fuzz.launch.toml" || label.source.text == text)
    }));
}

fuzz_target!(|text: &str| {
    let file = match LaunchFile::parse(Source::new("fuzz.launch.toml", text)) {
        Ok(file) => file,
        Err(error) => return check(text, &error),
    };
    let signatures: Vec<Signature> = file
        .launches()
        .iter()
        .map(|launch| match SIGNATURES.get(launch.kernel.path.as_str()) {
            Some(signature) => signature.clone(),
            None => Signature { name: "k".to_string(), parameters: Vec::new(), ..Signature::default() },
        })
        .collect();
    match file.bind(&signatures, &Overrides::default()) {
        Err(error) => check(text, &error),
        // Small memory: the search is for panics, not for large tensors.
        Ok(bound) => match bound.allocate(&NoFiles, 1 << 12) {
            Err(error) => check(text, &error),
            Ok(memory) => {
                for tensor in bound.tensors() {
                    memory.gather(tensor, 0, 100);
                }
            }
        },
    }
});
