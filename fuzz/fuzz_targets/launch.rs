//! Any text as a launch file: it is read, bound and given its data, or refused with a place inside the text.
//!
//! A launch that names a built-in example's TTIR is bound to that kernel, any other to a kernel without parameters.
#![no_main]

use std::collections::BTreeMap;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use tilescope_diagnostics::{Error, Source};
use tilescope_kernels::KERNELS;
use tilescope_launch::{LaunchFile, NoFiles, Overrides, Signature};

/// By the name of the TTIR file.
static SIGNATURES: LazyLock<BTreeMap<&str, Signature>> = LazyLock::new(|| {
    let signature = |text: &str| {
        let module = tilescope_ir::text::parse(&Source::new("kernel.ttir", text)).expect("an example is TTIR");
        let (id, _) = module.kernels().next().expect("an example has a kernel");
        Signature::of(&module, id)
    };
    KERNELS.iter().map(|example| (example.ttir.name, signature(example.ttir.text))).collect()
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
