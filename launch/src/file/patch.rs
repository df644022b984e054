//! The text of a launch file with other values in it: comments, order and everything else stay.

use std::ops::Range;

use tilescope_diagnostics::Result;

use super::{ConstexprValue, Entry, EntryKind, LaunchFile, Oracle, Origin, Overrides, TensorSpec};
use crate::expr::{Expression, Value};

/// A change of a text: what stands in the range is replaced.
type Edit = (Range<usize>, String);

impl LaunchFile {
    /// The file's text, changed so that it says by itself what it says with `overrides`. `place` turns the paths in it
    /// into those that the new file must name.
    ///
    /// # Errors
    /// Overrides with which the file cannot be evaluated.
    pub fn patched(&self, overrides: &Overrides, place: &dyn Fn(&str) -> String) -> Result<String> {
        let mut edits: Vec<Edit> = Vec::new();
        for var in &self.vars {
            if let Some(value) = named(&overrides.vars, &var.name) {
                edits.push(self.value(&var.value, value));
            }
        }
        for constexpr in self.launches.iter().flat_map(|launch| &launch.constexprs) {
            if let (Some(value), ConstexprValue::Expression(written)) =
                (named(&overrides.constexprs, &constexpr.name), &constexpr.value)
            {
                edits.push(self.value(written, value));
            }
        }
        if let Some(seed) = overrides.seed {
            edits.push(match &self.seed_span {
                Some(span) => (span.clone(), seed.to_string()),
                None => (0..0, format!("seed = {seed}\n")),
            });
        }
        let resolved = self.evaluate(overrides)?.resolved;
        let entries = self.launches.iter().flat_map(|launch| &launch.args);
        for entry in entries.chain(&self.tensors) {
            let EntryKind::Tensor(spec) = &entry.kind else {
                continue;
            };
            if let (Some(dtype), Some(span)) = (named(&overrides.dtypes, &entry.name), &spec.dtype_span) {
                edits.push((span.clone(), format!("\"{}\"", dtype.name())));
            }
            if let (Some(fill), Origin::Default) = (named(&overrides.fills, &entry.name), &spec.origin) {
                edits.push(self.added(entry, &format!("fill = \"{}\"", fill.spelled())));
            }
            if overrides.slack.iter().any(|(name, ..)| *name == entry.name)
                && let Some(tensor) = resolved.tensors.iter().find(|t| t.name == entry.name)
                && let Some(owner) = resolved.plan.owners.get(tensor.allocation.0 as usize)
            {
                let storage = owner.bytes / tensor.dtype.bytes() as u64;
                edits.extend(self.slack(entry, spec, tensor.offset, storage));
            }
        }
        edits.extend(self.paths(place));
        Ok(apply(&self.source.text, edits))
    }

    fn value(&self, written: &Expression, value: &Value) -> Edit {
        let span = written.root.span.clone();
        let before = self.source.text.get(..span.start).unwrap_or_default();
        let number = matches!(value, Value::Int(_) | Value::Float(_) | Value::Bool(_));
        match before.ends_with(['"', '\'']) || number {
            true => (span, value.to_string()),
            false => (span, format!("\"{value}\"")),
        }
    }

    /// A key more in the table of an entry.
    fn added(&self, entry: &Entry, key: &str) -> Edit {
        let text = self.source.text.as_str();
        let written = text.get(entry.span.clone()).unwrap_or_default();
        if written.starts_with('{')
            && let Some(end) = written.rfind('}')
        {
            let inner = written[..end].trim_end();
            let at = entry.span.start + inner.len();
            let comma = if inner.ends_with([',', '{']) { " " } else { ", " };
            return (at..at, format!("{comma}{key}"));
        }
        let rest = text.get(entry.key_span.end..).unwrap_or_default();
        if rest.trim_start_matches(['"', '\'', ' ']).starts_with(']') {
            let at = entry.key_span.end + rest.find('\n').map_or(rest.len(), |end| end + 1);
            return (at..at, format!("{key}\n"));
        }
        // Written with dotted keys: another line before the first.
        let before = text.get(..entry.key_span.start).unwrap_or_default();
        let at = before.rfind('\n').map_or(0, |end| end + 1);
        let name = text.get(entry.key_span.clone()).unwrap_or_default();
        (at..at, format!("{name}.{key}\n"))
    }

    fn slack(&self, entry: &Entry, spec: &TensorSpec, offset: i64, storage: u64) -> Vec<Edit> {
        let mut edits = Vec::new();
        let mut new = Vec::new();
        for (name, written, number) in [
            ("offset", &spec.offset, offset.to_string()),
            ("storage", &spec.storage, storage.to_string()),
        ] {
            match written {
                Some(written) => edits.push((written.root.span.clone(), number)),
                None => new.push(format!("{name} = {number}")),
            }
        }
        for key in new {
            edits.push(self.added(entry, &key));
        }
        edits
    }

    fn paths(&self, place: &dyn Fn(&str) -> String) -> Vec<Edit> {
        let quoted = |text: String| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
        let mut edits = Vec::new();
        let mut path = |span: &Range<usize>, path: &str, rest: &str| {
            let new = place(path);
            if new != path {
                edits.push((span.clone(), quoted(format!("{new}{rest}"))));
            }
        };
        for launch in &self.launches {
            let function = launch.kernel.function.as_ref();
            let rest = function.map_or(String::new(), |function| format!("::{function}"));
            path(&launch.kernel.span, &launch.kernel.path, &rest);
        }
        let entries = self.launches.iter().flat_map(|launch| &launch.args);
        for entry in entries.chain(&self.tensors) {
            if let EntryKind::Tensor(spec) = &entry.kind
                && let Origin::File { path: file, .. } = &spec.origin
            {
                path(&file.span, &file.text, "");
            }
        }
        for expect in &self.expect {
            if let Oracle::File { path: file, span, .. } = &expect.oracle {
                path(span, file, "");
            }
        }
        edits
    }
}

fn named<'o, T>(overrides: &'o [(String, T)], name: &str) -> Option<&'o T> {
    overrides
        .iter()
        .find(|(of, _)| of == name)
        .map(|(_, value)| value)
}

/// All edits at once; those at one place in their order.
fn apply(text: &str, mut edits: Vec<Edit>) -> String {
    edits.sort_by_key(|(range, _)| range.start);
    let (mut out, mut done) = (String::new(), 0);
    for (range, new) in edits {
        out.push_str(text.get(done..range.start).unwrap_or_default());
        out.push_str(&new);
        done = range.end.max(done);
    }
    out.push_str(text.get(done..).unwrap_or_default());
    out
}

#[cfg(test)]
mod tests {
    use tilescope_diagnostics::Source;

    use crate::{CaseFill, Dtype, LaunchFile, Overrides, expr::Value};

    /// The file written with the new values is the old one with overrides.
    #[test]
    fn a_patched_file_says_what_the_overrides_do() {
        let text = r#"# a comment
kernel = "k.py::k"
grid = ["n"]
[vars]
n = { value = 7, range = [1, 9] } # stays
m = { value = "n + 1", range = [1, 100] }
[args]
x = { dtype = "f32", shape = ["n", "m"], role = "in" }
z = { dtype = "f32", shape = ["n"], offset = 2 }
n = "n"
[args.y]
dtype = "fp32"
shape = ["n"]
[constexprs]
BLOCK = { value = 64, choices = [32, 64] }
[expect]
x = { file = "x.npy" }
"#;
        let file = LaunchFile::parse(Source::new("a.launch.toml", text)).unwrap();
        let names = |names: &[&str]| names.iter().map(|n| n.to_string()).collect::<Vec<_>>();
        let overrides = Overrides {
            vars: vec![("n".into(), Value::Int(3)), ("m".into(), Value::Int(5))],
            constexprs: vec![("BLOCK".into(), Value::Int(32))],
            seed: Some(9),
            fills: names(&["x", "y"])
                .into_iter()
                .map(|n| (n, CaseFill::Nan))
                .collect(),
            dtypes: names(&["x", "y", "z"])
                .into_iter()
                .map(|n| (n, Dtype::F16))
                .collect(),
            slack: names(&["x", "y", "z"]).into_iter().map(|n| (n, 4, 1)).collect(),
        };
        let patched = file.patched(&overrides, &|path| format!("up/{path}")).unwrap();
        assert_eq!(
            patched,
            r#"seed = 9
# a comment
kernel = "up/k.py::k"
grid = ["n"]
[vars]
n = { value = 3, range = [1, 9] } # stays
m = { value = "5", range = [1, 100] }
[args]
x = { dtype = "f16", shape = ["n", "m"], role = "in", fill = "one_nan", offset = 4, storage = 20 }
z = { dtype = "f16", shape = ["n"], offset = 6, storage = 10 }
n = "n"
[args.y]
fill = "one_nan"
offset = 4
storage = 8
dtype = "f16"
shape = ["n"]
[constexprs]
BLOCK = { value = 32, choices = [32, 64] }
[expect]
x = { file = "up/x.npy" }
"#
        );
        let again = LaunchFile::parse(Source::new("b.launch.toml", patched)).unwrap();
        let (old, new) = (
            file.evaluate(&overrides).unwrap(),
            again.evaluate(&Overrides::default()).unwrap(),
        );
        assert_eq!(old.resolved.tensors, new.resolved.tensors);
    }
}
