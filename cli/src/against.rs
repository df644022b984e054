//! `diff LAUNCH --against OTHER`: another launch file on the same cases.

use std::fs;
use std::path::Path;

use tilescope_diagnostics::{Error, Result};
use tilescope_difftest::judge::Subject;
use tilescope_launch::Overrides;

use crate::engine::{Refused, Template};

/// The other launch file.
#[derive(Debug, Clone, Copy)]
pub struct Against<'a> {
    /// Its name, as the user gave it.
    pub name: &'a str,
    /// What it says.
    pub template: &'a Template<'a>,
}

impl Against<'_> {
    /// # Errors
    /// The same file; variables that this one lacks, by name.
    pub fn check(&self, asked: &str, mine: &Template<'_>) -> Result<()> {
        let name = self.name;
        let file = |argument: &str| fs::canonicalize(Path::new(argument)).ok();
        if asked == name || file(asked).is_some_and(|path| file(name) == Some(path)) {
            let error = Error::input(format!("--against: `{name}` is the same file"));
            return Err(error.help("name the launch file of another version, or of another block size"));
        }
        let known: Vec<&str> = self
            .template
            .file
            .vars()
            .iter()
            .map(|var| var.name.as_str())
            .collect();
        let mut ranged = mine.file.vars().iter().filter(|var| var.range.is_some());
        match ranged.find(|var| !known.contains(&var.name.as_str())) {
            Some(var) => {
                let error = Error::input(format!(
                    "--against {name}: the variable `{}` of {asked} is not in that file",
                    var.name
                ));
                Err(error.help("a variable with a range is drawn for both files: both need it"))
            }
            None => Ok(()),
        }
    }

    /// The same case there: its variables, data, types and storage; parameters are those of its own file.
    ///
    /// # Errors
    /// What is wrong with the launch.
    pub fn subject(&self, overrides: &Overrides) -> std::result::Result<Subject, Refused> {
        let overrides = Overrides {
            constexprs: Vec::new(),
            ..overrides.clone()
        };
        Ok(Subject::from(&self.template.bind(&overrides)?))
    }
}
