//! `tilescope emit LAUNCH --ttir | --tape | --cuda | --layout | --ptx | --resources`.

use anyhow::Result;
use tilescope_gpu_backend::layout::picture;
use tilescope_gpu_backend::nvrtc::Form;
use tilescope_interpreter::Options;

use crate::args::Emit;
use crate::engine::{Opened, Refused, open};
use crate::gpu;
use crate::status::Status;
use crate::terminal::Terminal;

/// Prints the kernel of each launch of the file.
pub fn run(args: &Emit, terminal: &Terminal) -> Result<Status> {
    let text = open(&args.launch, &args.sources).and_then(|opened| {
        opened.bound.notes.iter().for_each(|note| terminal.note(note));
        let mut text = String::new();
        for (index, kernel) in opened.kernels.iter().enumerate() {
            if args.form.ttir {
                text.push_str(&tilescope_ir::text::print(&kernel.module));
            } else if args.form.tape {
                text.push_str(&opened.prepare(index, Options::default())?.listing());
            } else {
                text.push_str(&for_gpu(args, &opened, index)?);
            }
        }
        Ok(text)
    });
    match text {
        Ok(text) => {
            terminal.page(&text)?;
            Ok(Status::Clean)
        }
        Err(refused) => Ok(super::refuse(&refused, terminal)),
    }
}

/// The generated code of a launch, or what it is compiled to.
fn for_gpu(args: &Emit, opened: &Opened, launch: usize) -> std::result::Result<String, Refused> {
    let options = tilescope_gpu_backend::Options {
        specialize: !args.no_specialize,
        checked: args.checked,
        ..Default::default()
    };
    let generated = gpu::generated(opened, launch, options)?;
    if args.form.layout {
        let pictures = generated
            .layouts
            .iter()
            .map(|(shape, layout)| picture(shape, layout));
        return Ok(pictures.collect::<Vec<String>>().join("\n"));
    }
    if args.form.cuda {
        return Ok(generated.source);
    }
    let form = if args.form.ptx { Form::Ptx } else { Form::Cubin };
    let image = gpu::nvrtc()?.compile(&generated, &args.arch, form)?;
    if args.form.ptx {
        return Ok(String::from_utf8_lossy(&image.code).into_owned());
    }
    let used = image.resources;
    Ok(format!(
        "{} on {}: {} registers, {} bytes of stack, spills of {} bytes stored and {} loaded, {} bytes of shared memory, {} threads\n",
        generated.name,
        args.arch,
        used.registers,
        used.stack,
        used.spill_stores,
        used.spill_loads,
        generated.shared_bytes,
        generated.threads
    ))
}
