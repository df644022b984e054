//! Machine code of generated kernels by the real Triton: a Python of its own for each thread that asks.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use tilescope_gpu_backend::triton::{DONE, REFUSED, SCRIPT, capability, kernel};
use tilescope_gpu_backend::{Generated, Image};

use crate::paths::Opened;

/// What Triton may take for a kernel, a quarter of which is the start of Python: some of its passes do not always end.
const PATIENCE: Duration = Duration::from_secs(12);

/// A Python that has Triton, waiting for kernels. One that Triton crashes or keeps busy for too long is started again.
pub struct Triton {
    python: PathBuf,
    folder: PathBuf,
    architecture: String,
    running: Option<Running>,
}

struct Running {
    child: Child,
    kernels: ChildStdin,
    answers: Receiver<String>,
}

impl Triton {
    /// One whose files lie in a folder of its own.
    pub fn new(python: &Path, folder: PathBuf, architecture: &str) -> Result<Triton, String> {
        std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        Ok(Triton {
            python: python.to_path_buf(),
            folder,
            architecture: architecture.to_string(),
            running: None,
        })
    }

    fn start(&self) -> Result<Running, String> {
        let started = Command::new(&self.python)
            .args(["-c", SCRIPT])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let mut child = started.map_err(|e| format!("{}: {e}", self.python.display()))?;
        match (child.stdin.take(), child.stdout.take()) {
            (Some(kernels), Some(output)) => {
                let (sender, answers) = channel();
                // Ends with the process.
                std::thread::spawn(move || {
                    let lines = BufReader::new(output).lines().map_while(Result::ok);
                    lines.take_while(|line| sender.send(line.clone()).is_ok()).count();
                });
                Ok(Running {
                    child,
                    kernels,
                    answers,
                })
            }
            _ => Err(String::from("Python has no streams")),
        }
    }

    /// A kernel with its launch's number of warps, or why Triton has no code for it.
    pub fn compile(&mut self, opened: &Opened) -> Result<(Generated, Image), String> {
        let launch = &opened.bound.launches[0];
        let wrong = |e: std::io::Error| e.to_string();
        let file = self.folder.join("kernel.ttir");
        std::fs::write(&file, tilescope_ir::text::print(&opened.module)).map_err(wrong)?;
        let line = format!(
            "{}\t{}\t{}\t{}\t{}",
            file.display(),
            self.folder.display(),
            capability(&self.architecture),
            launch.options.num_warps,
            launch.options.num_stages
        );
        let mut running = match self.running.take() {
            Some(running) => running,
            None => self.start()?,
        };
        match running.answer(&line) {
            Ok(said) => {
                self.running = Some(running);
                let code = std::fs::read(self.folder.join("kernel.cubin")).map_err(wrong)?;
                let function = &opened.module.funcs[opened.function];
                let image = Image {
                    code,
                    resources: Default::default(),
                };
                let generated = kernel(function, launch, &said).map_err(|e| e.message.clone())?;
                Ok((generated, image))
            }
            Err(Unanswered::Refused(why)) => {
                self.running = Some(running);
                Err(why)
            }
            Err(Unanswered::Ended) => Err(String::from("crashes, or does not end")),
        }
    }
}

enum Unanswered {
    Refused(String),
    Ended,
}

impl Running {
    /// What Triton says of a kernel that it compiled.
    fn answer(&mut self, line: &str) -> Result<String, Unanswered> {
        writeln!(self.kernels, "{line}").map_err(|_| Unanswered::Ended)?;
        let mut said = String::new();
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let line = self.answers.recv_timeout(left).map_err(|_| Unanswered::Ended)?;
            if line == DONE {
                return Ok(said);
            }
            if let Some(why) = line.strip_prefix(REFUSED) {
                return Err(Unanswered::Refused(why.to_string()));
            }
            said.push_str(&line);
            said.push('\n');
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
