//! `tilescope emit LAUNCH --ttir | --tape`.

use anyhow::Result;
use tilescope_interpreter::Options;

use crate::args::Emit;
use crate::engine::open;
use crate::status::Status;
use crate::terminal::Terminal;

/// Prints the kernel of each launch of the file.
pub fn run(args: &Emit, terminal: &Terminal) -> Result<Status> {
    let text = open(&args.launch, &args.sources.python_path).and_then(|opened| {
        opened.bound.notes.iter().for_each(|note| terminal.note(note));
        let mut text = String::new();
        for (index, kernel) in opened.kernels.iter().enumerate() {
            if args.form.ttir {
                text.push_str(&tilescope_ir::text::print(&kernel.module));
            } else {
                text.push_str(&opened.prepare(index, Options::default())?.listing());
            }
        }
        Ok(text)
    });
    match text {
        Ok(text) => {
            terminal.report(&text)?;
            Ok(Status::Clean)
        }
        Err(refused) => Ok(super::refuse(&refused, terminal)),
    }
}
