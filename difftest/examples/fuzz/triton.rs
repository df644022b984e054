//! Whether the real Triton reads a kernel's text and finds it well formed.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Reads paths, one a line, and says `ok` or `refused`, after what MLIR says of the file.
const SCRIPT: &str = r#"
import os, sys
os.dup2(1, 2)
from triton._C.libtriton import ir
context = ir.context()
ir.load_dialects(context)
print("ready", flush=True)
for line in sys.stdin:
    try:
        module = ir.parse_mlir_module(line.strip(), context)
        good = module.verify() if hasattr(module, "verify") else True
        print("ok" if good else "refused", flush=True)
    except Exception as error:
        print(str(error) + "\nrefused", flush=True)
"#;

/// A Python that has Triton, waiting for paths.
pub struct Triton {
    child: Child,
    paths: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Triton {
    /// Starts Python.
    pub fn start(python: &Path) -> Result<Triton, String> {
        let wrong = |why: String| format!("{}: {why}", python.display());
        let mut child = Command::new(python)
            .args(["-c", SCRIPT])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|e| wrong(e.to_string()))?;
        let paths = child.stdin.take().ok_or(wrong("no input".into()))?;
        let answers = child.stdout.take().ok_or(wrong("no output".into()))?;
        let mut triton = Triton {
            child,
            paths,
            answers: BufReader::new(answers),
        };
        match triton.line()?.as_str() {
            "ready" => Ok(triton),
            other => Err(wrong(format!("does not start: {other}"))),
        }
    }

    fn line(&mut self) -> Result<String, String> {
        let mut line = String::new();
        match self.answers.read_line(&mut line) {
            Ok(1..) => Ok(line.trim().to_string()),
            Ok(0) => Err(String::from("Python ended: it has no Triton, or Triton crashed")),
            Err(e) => Err(e.to_string()),
        }
    }

    /// What Triton says of a file: nothing if it takes it.
    pub fn refuses(&mut self, file: &Path) -> Result<Option<String>, String> {
        writeln!(self.paths, "{}", file.display()).map_err(|e| e.to_string())?;
        let mut first = None;
        loop {
            match self.line()?.as_str() {
                "ok" => return Ok(None),
                "refused" => return Ok(Some(first.unwrap_or_default())),
                said => {
                    first.get_or_insert(said.to_string());
                }
            }
        }
    }
}

impl Drop for Triton {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
