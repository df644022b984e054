//! NVRTC: CUDA C++ to machine code, in this process. The library is loaded at run time; without it an error says what is missing.

#![allow(unsafe_code, reason = "calls a C library")]

use std::ffi::{CStr, CString, c_char};
use std::path::Path;

use cudarc::nvrtc::sys as nv;
use tilescope_diagnostics::{Error, Result};

use crate::emit::{Generated, HEADER, HEADER_NAME};

/// NVRTC, loaded.
#[derive(Debug, Clone, Copy)]
pub struct Nvrtc(());

/// What a kernel takes, as the assembler reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Resources {
    /// Registers per thread.
    pub registers: u32,
    /// Local memory per thread, in bytes.
    pub stack: u32,
    /// Bytes stored for want of registers.
    pub spill_stores: u32,
    /// Bytes loaded for want of registers.
    pub spill_loads: u32,
}

/// A compiled kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// Machine code (an ELF file), or PTX text.
    pub code: Vec<u8>,
    /// What it takes; of machine code only.
    pub resources: Resources,
}

/// What to compile to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Machine code.
    Cubin,
    /// PTX text.
    Ptx,
}

/// Libraries of a folder that NVRTC needs; the first must be loaded before the second, which does not look beside itself.
const PARTS: [&str; 2] = ["libnvrtc-builtins.so", "libnvrtc.so"];

impl Nvrtc {
    /// Loads NVRTC: from `folder` (where a Python wheel has it, for instance), else from where the system looks.
    ///
    /// # Errors
    /// Unsupported, when it is not there.
    pub fn find(folder: Option<&Path>) -> Result<Nvrtc> {
        if let Some(folder) = folder {
            load_parts(folder)?;
        }
        // SAFETY: loads a library by its well-known name; its initialisers are NVIDIA's.
        match unsafe { nv::is_culib_present() } {
            true => Ok(Nvrtc(())),
            false => Err(
                Error::unsupported("NVRTC is not installed: libnvrtc.so is not found")
                    .help("pip install nvidia-cuda-nvrtc, and set TILESCOPE_NVRTC to its lib folder"),
            ),
        }
    }

    /// Its version: major, minor.
    pub fn version(&self) -> (i32, i32) {
        let (mut major, mut minor) = (0, 0);
        // SAFETY: both point to numbers that live until the call returns.
        unsafe { nv::nvrtcVersion(&mut major, &mut minor) };
        (major, minor)
    }

    /// Compiles a generated kernel for an architecture (`sm_90a`).
    ///
    /// # Errors
    /// The compiler's own messages: a bug of this backend.
    pub fn compile(&self, kernel: &Generated, architecture: &str, form: Form) -> Result<Image> {
        let mut program = Program::new(&kernel.source, &kernel.name)?;
        let mut options = vec![
            format!("--gpu-architecture={architecture}"),
            String::from("--std=c++17"),
            String::from("--ftz=false"),
            String::from("--device-as-default-execution-space"),
            // A name that is not used is no mistake in generated code.
            String::from("-diag-suppress=177"),
        ];
        if form == Form::Cubin {
            options.push(String::from("--ptxas-options=-v"));
        } else {
            options[0] = format!("--gpu-architecture={}", architecture.replace("sm_", "compute_"));
        }
        let log = program.compile(&options).map_err(|log| {
            let lines: Vec<&str> = log.lines().take(12).collect();
            Error::unsupported(format!(
                "NVRTC does not compile what was generated for `{}`",
                kernel.name
            ))
            .note(lines.join("\n"))
        })?;
        Ok(Image {
            code: program.image(form)?,
            resources: resources_of(&log),
        })
    }
}

fn load_parts(folder: &Path) -> Result<()> {
    let names: Vec<String> = std::fs::read_dir(folder)
        .map_err(|why| {
            Error::input(format!(
                "cannot read the folder of NVRTC, {}: {why}",
                folder.display()
            ))
        })?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
    for part in PARTS {
        let mut found: Vec<&String> = names.iter().filter(|name| name.starts_with(part)).collect();
        found.sort();
        let Some(name) = found.first() else {
            return Err(Error::unsupported(format!(
                "NVRTC is not in {}: no {part}",
                folder.display()
            )));
        };
        // SAFETY: NVIDIA's library, whose initialisers have no precondition.
        let library = unsafe { libloading::Library::new(folder.join(name)) };
        let library = library.map_err(|why| {
            Error::unsupported(format!("NVRTC in {} does not load: {why}", folder.display()))
        })?;
        // It stays loaded: it is found again by its name.
        std::mem::forget(library);
    }
    Ok(())
}

/// A program of NVRTC; destroyed when dropped.
struct Program(nv::nvrtcProgram);

impl Program {
    fn new(source: &str, name: &str) -> Result<Program> {
        let text = |text: &str| {
            CString::new(text).map_err(|_| Error::input("the generated code contains a zero byte"))
        };
        let (source, name) = (text(source)?, text(&format!("{name}.cu"))?);
        let (header, header_name) = (text(HEADER)?, text(HEADER_NAME)?);
        let mut program = std::ptr::null_mut();
        // SAFETY: all strings end in zero and live until the call returns, which copies them.
        let status = unsafe {
            nv::nvrtcCreateProgram(
                &mut program,
                source.as_ptr(),
                name.as_ptr(),
                1,
                &header.as_ptr(),
                &header_name.as_ptr(),
            )
        };
        match status {
            nv::nvrtcResult::NVRTC_SUCCESS => Ok(Program(program)),
            other => Err(Error::unsupported(format!("NVRTC does not start: {other:?}"))),
        }
    }

    /// Compiles; gives the log, either way.
    fn compile(&mut self, options: &[String]) -> std::result::Result<String, String> {
        let options: Vec<CString> = options
            .iter()
            .filter_map(|o| CString::new(o.as_str()).ok())
            .collect();
        let pointers: Vec<*const c_char> = options.iter().map(|o| o.as_ptr()).collect();
        // SAFETY: the program is alive; the option strings live until the call returns.
        let status = unsafe { nv::nvrtcCompileProgram(self.0, pointers.len() as i32, pointers.as_ptr()) };
        let mut size = 0;
        // SAFETY: `size` lives until the call returns.
        unsafe { nv::nvrtcGetProgramLogSize(self.0, &mut size) };
        let mut log = vec![0u8; size.max(1)];
        // SAFETY: the buffer has the size that was asked for.
        unsafe { nv::nvrtcGetProgramLog(self.0, log.as_mut_ptr().cast()) };
        let log = CStr::from_bytes_until_nul(&log)
            .map(|s| s.to_string_lossy().into_owned())
            .unwrap_or_default();
        match status {
            nv::nvrtcResult::NVRTC_SUCCESS => Ok(log),
            _ => Err(log),
        }
    }

    fn image(&self, form: Form) -> Result<Vec<u8>> {
        let mut size = 0;
        // SAFETY: `size` lives until the call returns.
        let status = unsafe {
            match form {
                Form::Cubin => nv::nvrtcGetCUBINSize(self.0, &mut size),
                Form::Ptx => nv::nvrtcGetPTXSize(self.0, &mut size),
            }
        };
        let mut code = vec![0u8; size];
        if status == nv::nvrtcResult::NVRTC_SUCCESS && size > 0 {
            // SAFETY: the buffer has the size that was asked for.
            let status = unsafe {
                match form {
                    Form::Cubin => nv::nvrtcGetCUBIN(self.0, code.as_mut_ptr().cast()),
                    Form::Ptx => nv::nvrtcGetPTX(self.0, code.as_mut_ptr().cast()),
                }
            };
            if status == nv::nvrtcResult::NVRTC_SUCCESS {
                if form == Form::Ptx {
                    code.pop_if(|last| *last == 0);
                }
                return Ok(code);
            }
        }
        Err(Error::unsupported("NVRTC gives no code"))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: created by NVRTC, destroyed once.
        unsafe { nv::nvrtcDestroyProgram(&mut self.0) };
    }
}

/// The numbers in the assembler's report.
fn resources_of(log: &str) -> Resources {
    let before = |what: &str| -> u32 {
        let Some((head, _)) = log.split_once(what) else {
            return 0;
        };
        let digits: String = head
            .trim_end()
            .chars()
            .rev()
            .take_while(char::is_ascii_digit)
            .collect();
        digits.chars().rev().collect::<String>().parse().unwrap_or(0)
    };
    Resources {
        registers: before("registers"),
        stack: before("bytes stack frame"),
        spill_stores: before("bytes spill stores"),
        spill_loads: before("bytes spill loads"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_of_the_assembler_is_read() {
        let log = "ptxas info    : Function properties for k\nptxas         .     8 bytes stack frame, 4 bytes spill stores, \
                   12 bytes spill loads\nptxas info    : Used 40 registers, used 1 barriers, 16 bytes smem";
        let expected = Resources {
            registers: 40,
            stack: 8,
            spill_stores: 4,
            spill_loads: 12,
        };
        assert_eq!(resources_of(log), expected);
    }
}
