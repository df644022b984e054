//! Outputs of small cases as the device computed them, to be kept in the repository: tests compare the interpreter with them.

use tilescope_gpu_backend::device::Device;
use tilescope_gpu_backend::nvrtc::Nvrtc;
use tilescope_launch::Role;

use crate::case::Case;

/// One case: its sizes, and the bytes of its outputs' allocations in hexadecimal.
pub fn entry(name: &str, vars: &[(String, i64)], case: &Case, after: &[Vec<u8>]) -> String {
    let vars: Vec<String> = vars.iter().map(|(n, v)| format!("\"{n}\": {v}")).collect();
    let outputs = case.bound.tensors().iter().filter(|t| t.role != Role::In);
    let outputs = outputs.map(|tensor| {
        let bytes = &after[tensor.allocation.0 as usize];
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("\"{}\": \"{hex}\"", tensor.name)
    });
    let outputs: Vec<String> = outputs.collect();
    format!(
        "  \"{name}\": {{\"vars\": {{{}}}, \"outputs\": {{{}}}}}",
        vars.join(", "),
        outputs.join(", ")
    )
}

/// The file.
pub fn file(device: &Device, nvrtc: &Nvrtc, entries: Vec<String>) -> String {
    let (major, minor) = nvrtc.version();
    format!(
        "{{\n \"device\": \"{}\",\n \"driver\": {},\n \"nvrtc\": \"{major}.{minor}\",\n \"version\": \"{}\",\n \"cases\": {{\n{}\n }}\n}}\n",
        device.name(),
        device.driver(),
        env!("CARGO_PKG_VERSION"),
        entries.join(",\n")
    )
}
