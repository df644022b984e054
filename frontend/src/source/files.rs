//! Paths of files, as text: `/` between folders, no `.`, `..` only in front.

/// A path in its normal form; the folder that paths are relative to is the empty path.
pub(super) fn normal(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split(['/', '\\']) {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    let root = if path.starts_with('/') { "/" } else { "" };
    format!("{root}{}", parts.join("/"))
}

/// `name` inside of `folder`.
pub(super) fn join(folder: &str, name: &str) -> String {
    match folder {
        "" => name.to_string(),
        "/" => format!("/{name}"),
        folder => format!("{folder}/{name}"),
    }
}

/// The folder that a path is in; from the empty path on, `..`, `../..`, …; none above the root.
pub(super) fn parent(path: &str) -> Option<String> {
    if path.is_empty() || path == ".." || path.ends_with("/..") {
        return Some(join(path, ".."));
    }
    match path.rsplit_once('/') {
        Some(("", "")) => None,
        Some(("", _)) => Some("/".to_string()),
        Some((folder, _)) => Some(folder.to_string()),
        None => Some(String::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_normal() {
        for (path, expected) in [
            ("a/./b/../c.py", "a/c.py"),
            ("../../x", "../../x"),
            ("/a//b/", "/a/b"),
            ("./", ""),
        ] {
            assert_eq!(normal(path), expected);
        }
        assert_eq!(parent("a/b.py").as_deref(), Some("a"));
        assert_eq!(parent("b.py").as_deref(), Some(""));
        assert_eq!(parent("").as_deref(), Some(".."));
        assert_eq!(parent("..").as_deref(), Some("../.."));
        assert_eq!(parent("/a").as_deref(), Some("/"));
        assert_eq!(parent("/"), None);
    }
}
