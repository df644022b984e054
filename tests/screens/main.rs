//! Screens of the debugger, driven by keys: each file `*.screen` is a launch, keys, and what is then to be seen.
//!
//! A file holds lines `launch NAME` (an example, or a launch file beside it), `size COLUMNSxROWS`, `keys …` (as
//! [`tilescope_tui::events`] reads them), and pictures between `screen` and `end`, without blanks at the ends of lines.
//! `script` to `end` is the session as a script. `BLESS=1` rewrites pictures and scripts; read the difference.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use libtest_mimic::{Arguments, Failed, Trial};
use ratatui_core::backend::TestBackend;
use ratatui_core::terminal::Terminal;
use tilescope_debugger::{Opening, Options, Session};
use tilescope_diagnostics::Source;
use tilescope_diagnostics::render::Sources;
use tilescope_ir::VerifiedModule;
use tilescope_launch::{LaunchFile, NoFiles, Overrides, Signature};
use tilescope_tui::{Background, Depth, Flow, Texts, Theme, Tui, events};

fn main() {
    let folder = root().join("tests/screens");
    let mut trials = Vec::new();
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
        .expect("tests/screens")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|kind| kind == "screen"))
        .collect();
    files.sort();
    for path in files {
        let name = path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        trials.push(Trial::test(name, move || check(&path)));
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Plays a file and compares it with what comes out.
fn check(path: &Path) -> Result<(), Failed> {
    let text = std::fs::read_to_string(path)?;
    let played = play(&text)?;
    if text == played {
        return Ok(());
    }
    if std::env::var_os("BLESS").is_some() {
        return Ok(std::fs::write(path, played)?);
    }
    let differs = text.lines().zip(played.lines()).position(|(a, b)| a != b);
    let line = differs.map_or(0, |line| line + 1);
    Err(format!("{}:{line} differs; what came out:\n{played}", path.display()).into())
}

/// The file with its pictures as they are now.
fn play(text: &str) -> Result<String, Failed> {
    let mut out = String::new();
    let mut screen: Option<Screen> = None;
    let mut launch = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        out.push_str(line);
        out.push('\n');
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match (word, &mut screen) {
            ("", _) | ("#", _) => {}
            ("launch", _) => launch = rest.to_string(),
            ("size", _) => {
                let (columns, rows) = rest.split_once('x').ok_or("size COLUMNSxROWS")?;
                screen = Some(Screen::open(&launch, (columns.parse()?, rows.parse()?))?);
            }
            ("keys", Some(screen)) => screen.keys(rest)?,
            ("screen" | "script", Some(screen)) => {
                let _ = lines.by_ref().find(|line| *line == "end");
                out.push_str(&if word == "screen" {
                    screen.picture()?
                } else {
                    screen.tui.script()
                });
                out.push_str("end\n");
            }
            _ => return Err(format!("`{line}`?").into()),
        }
    }
    Ok(out)
}

/// A model on a backend without a terminal.
struct Screen {
    tui: Tui,
    terminal: Terminal<TestBackend>,
}

impl Screen {
    fn open(launch: &str, size: (u16, u16)) -> Result<Screen, Failed> {
        let (session, folder) = open(launch)?;
        let texts = Texts::of(&session, &Folder(folder));
        let theme = Theme {
            background: Background::Dark,
            depth: Depth::Sixteen,
        };
        Ok(Screen {
            tui: Tui::new(session, texts, launch, theme, size),
            terminal: Terminal::new(TestBackend::new(size.0, size.1))?,
        })
    }

    fn keys(&mut self, line: &str) -> Result<(), Failed> {
        for event in events(line).map_err(|word| format!("`{word}` is no key"))? {
            if let tilescope_tui::Input::Resize(columns, rows) = event {
                self.terminal.backend_mut().resize(columns, rows);
            }
            let mut flow = self.tui.update(event);
            while flow == Flow::Work {
                flow = self.tui.work();
            }
        }
        Ok(())
    }

    fn picture(&mut self) -> Result<String, Failed> {
        self.terminal.draw(|frame| {
            let cursor = self.tui.draw(frame.buffer_mut());
            if let Some(cursor) = cursor {
                frame.set_cursor_position(cursor);
            }
        })?;
        let buffer = self.terminal.backend().buffer();
        let mut out = String::new();
        for row in buffer.content().chunks(usize::from(buffer.area().width).max(1)) {
            let line: String = row.iter().map(|cell| cell.symbol()).collect();
            out.push_str(line.trim_end());
            out.push('\n');
        }
        Ok(out)
    }
}

struct Folder(PathBuf);

impl Sources for Folder {
    fn text(&self, file: &str) -> Option<Arc<Source>> {
        let text = std::fs::read_to_string(self.0.join(file)).ok()?;
        Some(Source::new(file, text))
    }
}

static NEVER: AtomicBool = AtomicBool::new(false);

/// A session on a launch whose kernel's TTIR lies beside its source; and the folder of the source.
fn open(launch: &str) -> Result<(Session, PathBuf), Failed> {
    let kernels = root().join("kernels");
    let path = match launch.ends_with(".toml") {
        true => root().join("tests/screens").join(launch),
        false => {
            let example = tilescope_kernels::example(launch).ok_or("no such example")?;
            let folder = example.source.name.trim_end_matches(".py");
            kernels.join(folder).join(example.launch.name)
        }
    };
    let read = |path: &Path| -> Result<Arc<Source>, Failed> {
        let text = std::fs::read_to_string(path).map_err(|why| format!("{}: {why}", path.display()))?;
        Ok(Source::new(
            path.file_name().unwrap_or_default().to_string_lossy(),
            text,
        ))
    };
    let wrong = |error: Box<tilescope_diagnostics::Error>| Failed::from(error.message.clone());
    let file = LaunchFile::parse(read(&path)?).map_err(wrong)?;
    let spec = &file.launches().first().ok_or("no launch")?.kernel.path;
    let ttir = match spec.ends_with(".ttir") {
        true => path.with_file_name(spec),
        false => kernels
            .join(spec.trim_end_matches(".py"))
            .join(format!("{launch}.ttir")),
    };
    let module = VerifiedModule::new(tilescope_ir::text::parse(&read(&ttir)?).map_err(wrong)?);
    let module =
        Arc::new(module.map_err(|errors| errors.first().map_or(String::new(), |e| e.message.clone()))?);
    let (kernel, _) = module.kernels().next().ok_or("no kernel")?;
    let overrides = Overrides::default();
    let bound = file.bind(&[Signature::of(&module, kernel)], &overrides);
    let bound = Arc::new(bound.map_err(|errors| format!("{errors:?}"))?);
    let memory = bound.allocate(&NoFiles, u64::MAX).map_err(wrong)?;
    let launch = bound.launches.first().cloned().ok_or("no launch")?;
    let remake = Arc::new(move || bound.allocate(&NoFiles, u64::MAX));
    let session = Session::open(Opening {
        module,
        kernel,
        launch,
        memory,
        remake,
        cancel: &NEVER,
        options: Options::default(),
    });
    let folder = ttir.parent().unwrap_or(&kernels).to_path_buf();
    Ok((session.map_err(wrong)?, folder))
}
