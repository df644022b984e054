//! Outputs of small cases as the device computed them, to be kept in the repository: tests compare the interpreter with them.
//!
//! A file of JSON, one line each: first device, driver and versions, then a case per line.

use tilescope_gpu_backend::device::Device;
use tilescope_gpu_backend::nvrtc::Nvrtc;
use tilescope_launch::Role;

use crate::case::Case;

/// Cases with more bytes of outputs are not kept.
const MOST_BYTES: usize = 24 << 10;

/// One case: its sizes, and the bytes of its outputs' allocations in hexadecimal; none where they are too large.
pub fn entry(name: &str, vars: &[(String, i64)], case: &Case, after: &[Vec<u8>]) -> Option<String> {
    let tensors = case.bound.tensors();
    let outputs: Vec<_> = tensors
        .iter()
        .filter(|t| t.role != Role::In && t.pointers.is_empty())
        .filter_map(|t| Some((t, after.get(t.allocation.0 as usize)?)))
        .collect();
    if outputs.iter().map(|(_, bytes)| bytes.len()).sum::<usize>() > MOST_BYTES {
        return None;
    }
    let vars: Vec<String> = vars.iter().map(|(n, v)| format!("\"{n}\": {v}")).collect();
    let outputs = outputs.iter().map(|(tensor, bytes)| {
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("\"{}\": \"{hex}\"", tensor.name)
    });
    let outputs: Vec<String> = outputs.collect();
    Some(format!(
        "{{\"case\": \"{name}\", \"vars\": {{{}}}, \"outputs\": {{{}}}}}",
        vars.join(", "),
        outputs.join(", ")
    ))
}

/// The first line.
pub fn head(device: &Device, nvrtc: &Nvrtc) -> String {
    let (major, minor) = nvrtc.version();
    format!(
        "{{\"device\": \"{}\", \"driver\": {}, \"nvrtc\": \"{major}.{minor}\", \"version\": \"{}\"}}",
        device.name(),
        device.driver(),
        env!("CARGO_PKG_VERSION")
    )
}
