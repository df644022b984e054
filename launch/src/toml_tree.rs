//! A TOML document as a tree with places, and the questions that a reader asks of it.
//!
//! Tables keep the order of the file. Every answer that is not as wanted is an error at its place.

use std::ops::Range;
use std::sync::Arc;

use tilescope_diagnostics::{Error, Result, Source, closest};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::expr::Expression;

/// A value and the bytes it takes in the text.
#[derive(Debug, Clone)]
pub(crate) struct Item {
    pub span: Range<usize>,
    pub kind: Kind,
}

#[derive(Debug, Clone)]
pub(crate) enum Kind {
    Str(String),
    /// A number, truth value or date; its text is its span's.
    Plain(&'static str),
    Array(Vec<Item>),
    Table(Vec<(Key, Item)>),
}

#[derive(Debug, Clone)]
pub(crate) struct Key {
    pub name: String,
    pub span: Range<usize>,
}

/// A table under inspection: `what` is how messages call it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Table<'a> {
    pub source: &'a Arc<Source>,
    pub entries: &'a [(Key, Item)],
    pub span: &'a Range<usize>,
    pub what: &'a str,
}

/// Reads a whole document.
pub(crate) fn parse(source: &Arc<Source>) -> Result<Item> {
    // The TOML reader's own limits are on depth; the spans' arithmetic wants a bound on length too.
    const MAX_BYTES: usize = 16 << 20;
    if source.text.len() > MAX_BYTES {
        return Err(Error::input("launch file too long").at(
            source,
            0..0,
            format!("more than {MAX_BYTES} bytes"),
        ));
    }
    match DeTable::parse(&source.text) {
        Ok(root) => {
            let span = root.span();
            Ok(Item {
                kind: table(root.into_inner()),
                span,
            })
        }
        Err(error) => {
            let span = error.span().unwrap_or(0..0);
            let mut lines = error.message().lines();
            let message = format!("not TOML: {}", lines.next().unwrap_or("syntax error"));
            let label = lines.collect::<Vec<_>>().join("; ");
            Err(Error::input(message).at(source, span, label))
        }
    }
}

fn table(entries: DeTable<'_>) -> Kind {
    let mut entries: Vec<(Key, Item)> = entries
        .into_iter()
        .map(|(key, value)| {
            let span = key.span();
            (
                Key {
                    name: key.into_inner().into_owned(),
                    span,
                },
                item(value),
            )
        })
        .collect();
    entries.sort_by_key(|(key, _)| key.span.start);
    Kind::Table(entries)
}

// The depth is bounded by the TOML reader (80 levels).
fn item(value: Spanned<DeValue<'_>>) -> Item {
    let span = value.span();
    let kind = match value.into_inner() {
        DeValue::String(text) => Kind::Str(text.into_owned()),
        DeValue::Integer(_) => Kind::Plain("an integer"),
        DeValue::Float(_) => Kind::Plain("a float"),
        DeValue::Boolean(_) => Kind::Plain("a truth value"),
        DeValue::Datetime(_) => Kind::Plain("a date"),
        DeValue::Array(items) => Kind::Array(items.into_iter().map(item).collect()),
        DeValue::Table(entries) => table(entries),
    };
    Item { span, kind }
}

impl Item {
    /// The word for its type in messages.
    pub fn type_name(&self) -> &'static str {
        match &self.kind {
            Kind::Str(_) => "a string",
            Kind::Plain(name) => name,
            Kind::Array(_) => "an array",
            Kind::Table(_) => "a table",
        }
    }

    pub fn error(&self, source: &Arc<Source>, message: impl Into<String>) -> Box<Error> {
        Error::input(message).at(source, self.span.clone(), format!("this is {}", self.type_name()))
    }

    pub fn table<'a>(&'a self, source: &'a Arc<Source>, what: &'a str) -> Result<Table<'a>> {
        match &self.kind {
            Kind::Table(entries) => Ok(Table {
                source,
                entries,
                span: &self.span,
                what,
            }),
            _ => Err(self.error(source, format!("{what} must be a table"))),
        }
    }

    pub fn string(&self, source: &Arc<Source>, what: &str) -> Result<&str> {
        match &self.kind {
            Kind::Str(text) => Ok(text),
            _ => Err(self.error(source, format!("{what} must be a string"))),
        }
    }

    pub fn array(&self, source: &Arc<Source>, what: &str) -> Result<&[Item]> {
        match &self.kind {
            Kind::Array(items) => Ok(items),
            _ => Err(self.error(source, format!("{what} must be an array"))),
        }
    }

    /// A number, truth value or string as an expression; the spans point into the file where the text
    /// stands there letter for letter.
    pub fn expression(&self, source: &Arc<Source>, what: &str) -> Result<Expression> {
        match &self.kind {
            Kind::Str(text) => match self.inner_range(source, text) {
                Some(range) => Expression::parse(source, range),
                // Escapes in the string: the offsets of value and text differ.
                None => Expression::parse_text(&format!("{}, {what}", source.name), text)
                    .map_err(|error| error.at(source, self.span.clone(), "in this string")),
            },
            Kind::Plain("a date") => {
                Err(self.error(source, format!("{what} must be a number or an expression")))
            }
            Kind::Plain(_) => Expression::parse(source, self.span.clone()),
            _ => Err(self.error(
                source,
                format!("{what} must be a number or a string with an expression"),
            )),
        }
    }

    /// Where the string's value stands in the text, if it does so without escapes.
    pub fn inner_range(&self, source: &Arc<Source>, value: &str) -> Option<Range<usize>> {
        let raw = source.text.get(self.span.clone())?;
        let quotes = if raw.starts_with("\"\"\"") || raw.starts_with("'''") {
            3
        } else {
            1
        };
        let range = self.span.start + quotes..self.span.end.checked_sub(quotes)?;
        (source.text.get(range.clone())? == value).then_some(range)
    }

    pub fn expressions(&self, source: &Arc<Source>, what: &str) -> Result<Vec<Expression>> {
        self.array(source, what)?
            .iter()
            .map(|item| item.expression(source, what))
            .collect()
    }

    /// A TOML float or integer (not an expression).
    pub fn number(&self, source: &Arc<Source>, what: &str) -> Result<f64> {
        let text = source
            .text
            .get(self.span.clone())
            .unwrap_or_default()
            .replace('_', "");
        match (&self.kind, text.parse::<f64>()) {
            (Kind::Plain("a float" | "an integer"), Ok(value)) => Ok(value),
            _ => Err(self.error(source, format!("{what} must be a number"))),
        }
    }
}

impl<'a> Table<'a> {
    pub fn find(&self, name: &str) -> Option<&'a Item> {
        self.entries
            .iter()
            .find(|(key, _)| key.name == name)
            .map(|(_, item)| item)
    }

    pub fn need(&self, name: &str) -> Result<&'a Item> {
        self.find(name).ok_or_else(|| {
            Error::input(format!("{} has no `{name}`", self.what)).at(
                self.source,
                self.span.clone(),
                format!("`{name}` is required"),
            )
        })
    }

    /// Refuses keys that are not in `known`.
    pub fn only(&self, known: &[&str]) -> Result<()> {
        for (key, _) in self.entries {
            if !known.contains(&key.name.as_str()) {
                let error = Error::input(format!("unknown key `{}` in {}", key.name, self.what));
                let error = error.at(self.source, key.span.clone(), "");
                return Err(match closest(&key.name, known.iter().copied()) {
                    Some(near) => error.help(format!("did you mean `{near}`?")),
                    None => error.note(format!("known keys: {}", known.join(", "))),
                });
            }
        }
        Ok(())
    }

    /// Refuses the second of two keys that exclude each other.
    pub fn exclusive(&self, names: &[&str]) -> Result<()> {
        let mut present = self
            .entries
            .iter()
            .filter(|(key, _)| names.contains(&key.name.as_str()));
        if let (Some((first, _)), Some((second, _))) = (present.next(), present.next()) {
            let message = format!(
                "`{}` and `{}` exclude each other in {}",
                first.name, second.name, self.what
            );
            return Err(Error::input(message)
                .at(self.source, second.span.clone(), "remove this")
                .at(self.source, first.span.clone(), "or this"));
        }
        Ok(())
    }
}
