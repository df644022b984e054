//! What `diff` leaves behind when a case differs: a launch file of the smallest case, and the list of cases that ever
//! differed, which are run first the next time.
//!
//! Both stand beside the launch file, or in the folder of `--out`: `NAME.case.launch.toml`, `NAME.regressions.toml`.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use tilescope_diagnostics::{Error, Result, Source};
use tilescope_launch::{LaunchFile, Overrides};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::files;

/// The version of the list that is written, and the only one that is read.
const VERSION: i64 = 1;

/// Cases that a list may hold.
const MOST: usize = 1000;

/// Where the files of one launch go.
#[derive(Debug, Clone)]
pub struct Kept {
    /// Folder of the launch file.
    from: PathBuf,
    folder: PathBuf,
    name: String,
}

impl Kept {
    /// Of a launch file on disk; none for a built-in example, unless it is told where.
    ///
    /// # Errors
    /// A folder that is none.
    pub fn of(argument: &str, out: Option<&Path>) -> Result<Option<Kept>> {
        if let Some(out) = out.filter(|out| !out.is_dir()) {
            let error = Error::input(format!("--out: `{}` is no folder", out.display()));
            return Err(error.help(
                "name a folder that is there: the smallest case and the list of cases are written into it",
            ));
        }
        let path = Path::new(argument);
        let is_file = path.is_file();
        let Some(folder) = out.or_else(|| path.parent().filter(|_| is_file)) else {
            return Ok(None);
        };
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = name.strip_suffix(".toml").unwrap_or(&name);
        let name = name
            .strip_suffix(".launch")
            .or(name.strip_suffix(".pipeline"))
            .unwrap_or(name);
        Ok(Some(Kept {
            from: path
                .parent()
                .filter(|_| is_file)
                .unwrap_or(Path::new(""))
                .to_path_buf(),
            folder: folder.to_path_buf(),
            name: name.to_string(),
        }))
    }

    fn list(&self) -> PathBuf {
        self.folder.join(format!("{}.regressions.toml", self.name))
    }

    /// The cases of the list, in words, with their places; none where there is no list.
    ///
    /// # Errors
    /// A list that cannot be read, of another version, or with something else in it.
    pub fn cases(&self) -> Result<Vec<String>> {
        let path = self.list();
        if !path.exists() {
            return Ok(Vec::new());
        }
        let name = path.display().to_string();
        let text =
            files::read_text(&path).map_err(|why| Error::input(format!("cannot read `{name}`: {why}")))?;
        cases(&Source::new(name, text))
    }

    /// Adds a case to the list, unless it is there.
    ///
    /// # Errors
    /// What cannot be written.
    pub fn add(&self, case: &str, saw: &str) -> Result<()> {
        let path = self.list();
        if self.cases()?.iter().any(|known| known == case) {
            return Ok(());
        }
        let mut text = match path.exists() {
            true => files::read_text(&path).unwrap_or_default(),
            false => format!(
                "# Cases in which `tilescope diff` saw something wrong: it runs them first. Keep this file with the launch file.\nversion = {VERSION}\n"
            ),
        };
        text.push_str(&format!(
            "\n[[case]]\ncase = {}\nsaw = \"{saw}\"\n",
            toml_string(case)
        ));
        write(&path, &text)
    }

    /// Writes the launch file of a case; gives its path.
    ///
    /// # Errors
    /// What cannot be written.
    pub fn launch_file(&self, file: &Arc<LaunchFile>, overrides: &Overrides, head: &str) -> Result<PathBuf> {
        let kind = match file.launches().len() > 1 || file.source().name.ends_with(".pipeline.toml") {
            true => "pipeline",
            false => "launch",
        };
        let path = self.folder.join(format!("{}.case.{kind}.toml", self.name));
        let way = way(&self.folder, &self.from);
        let place = |named: &str| match &way {
            Some(way) if Path::new(named).is_relative() => way.join(named).to_string_lossy().into_owned(),
            _ => named.to_string(),
        };
        let text = file.patched(overrides, &place)?;
        write(&path, &format!("{head}{text}"))?;
        Ok(path)
    }
}

/// The way from one folder to another; none where they are one.
fn way(from: &Path, to: &Path) -> Option<PathBuf> {
    let absolute = |path: &Path| {
        let path = if path.as_os_str().is_empty() {
            Path::new(".")
        } else {
            path
        };
        std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf())
    };
    let (from, to) = (absolute(from), absolute(to));
    if from == to {
        return None;
    }
    let (a, b): (Vec<Component<'_>>, Vec<Component<'_>>) =
        (from.components().collect(), to.components().collect());
    let same = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    let mut way = PathBuf::new();
    for _ in same..a.len() {
        way.push("..");
    }
    way.extend(&b[same..]);
    Some(way)
}

fn toml_string(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text)
        .map_err(|why| Error::input(format!("cannot write `{}`: {why}", path.display())))
}

fn cases(source: &Arc<Source>) -> Result<Vec<String>> {
    let root = DeTable::parse(&source.text).map_err(|error| {
        let span = error.span().unwrap_or(0..0);
        let message = error.message().lines().next().unwrap_or("syntax error");
        Error::input(format!("not TOML: {message}")).at(source, span, "")
    })?;
    let mut cases = Vec::new();
    let mut version = None;
    for (key, value) in root.into_inner() {
        let span = value.span();
        match (&**key.get_ref(), value.into_inner()) {
            ("version", DeValue::Integer(number)) => {
                version = number.as_str().parse().ok();
                if version != Some(VERSION) {
                    let error = Error::input(format!("a list of regressions of version {}", number.as_str()));
                    return Err(error.at(source, span, "").help(format!(
                        "this tilescope reads version {VERSION}: move the file away to begin a new one"
                    )));
                }
            }
            ("case", DeValue::Array(entries)) => {
                for entry in entries {
                    cases.push(case(source, entry)?);
                }
            }
            (name, _) => {
                let error = Error::input(format!("`{name}` has no place in a list of regressions"));
                return Err(error.at(source, key.span(), "it holds `version` and [[case]] tables"));
            }
        }
    }
    if version.is_none() {
        let error = Error::input("a list of regressions without its version").at(source, 0..0, "");
        return Err(error.help(format!("write version = {VERSION}")));
    }
    cases.truncate(MOST);
    Ok(cases)
}

fn case(source: &Arc<Source>, entry: Spanned<DeValue<'_>>) -> Result<String> {
    let span = entry.span();
    if let DeValue::Table(table) = entry.into_inner() {
        for (key, value) in table {
            let at = value.span();
            if let ("case", DeValue::String(words)) = (&**key.get_ref(), value.into_inner()) {
                let is_part = |part: &str| {
                    part.split_once('=')
                        .is_some_and(|(name, value)| !name.is_empty() && !value.is_empty())
                };
                if words.split(',').all(is_part) {
                    return Ok(words.into_owned());
                }
                let error = Error::input(format!("`{words}` is no case")).at(source, at, "no NAME=VALUE,…");
                return Err(error.help("a case is written as in a report of `tilescope diff`: n=65,seed=3"));
            }
        }
    }
    Err(Error::input("a case must say `case = \"n=65,seed=3\"`").at(source, span, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<String>> {
        cases(&Source::new("a.regressions.toml", text))
    }

    #[test]
    fn a_list_of_another_version_is_refused() {
        let list = "version = 1\n[[case]]\ncase = \"n=65,seed=3\"\nsaw = \"oob-load\"\n";
        assert_eq!(read(list).unwrap(), ["n=65,seed=3"]);
        for (text, why) in [
            ("version = 2\n", "of version 2"),
            ("[[case]]\ncase = \"n=1\"\n", "without its version"),
            ("version = 1\n[[case]]\nsaw = \"x\"\n", "must say"),
            ("version = 1\ncases = []\n", "has no place"),
            ("version = ", "not TOML"),
            ("version = 1\n[[case]]\ncase = \"zz\"\n", "`zz` is no case"),
            ("version = 1\n[[case]]\ncase = \"\"\n", "`` is no case"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn the_way_between_folders_goes_up_and_down() {
        let root = std::env::temp_dir();
        assert_eq!(way(&root, &root), None);
        assert_eq!(
            way(&root.join("a/b"), &root.join("a/c")),
            Some(PathBuf::from("../c"))
        );
    }
}
