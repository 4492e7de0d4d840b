//! The line of a key in a TOML text, for error messages.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The line (from 1) of the innermost part of `path` that the text has; `None` where the text has no part of it.
pub fn line_of<S: AsRef<str>>(text: &str, path: &[S]) -> Option<usize> {
    let table = DeTable::parse(text).ok()?;
    offset_of(table.get_ref(), path).map(|offset| line_at(text, offset))
}

/// The byte offset of the innermost part of `path` that a table has; `None` where it has no part of it.
pub(crate) fn offset_of<S: AsRef<str>>(table: &DeTable<'_>, path: &[S]) -> Option<usize> {
    let mut offset = None;
    let mut within = Within::Table(table);
    for part in path {
        let Some((start, value)) = within.step(part.as_ref()) else { break };
        offset = Some(start);
        within = match value {
            DeValue::Table(table) => Within::Table(table),
            DeValue::Array(list) => Within::List(list),
            _ => break,
        };
    }
    offset
}

/// The line (from 1) of a byte offset.
pub fn line_at(text: &str, offset: usize) -> usize {
    1 + text.as_bytes()[..offset.min(text.len())].iter().filter(|b| **b == b'\n').count()
}

enum Within<'d, 't> {
    Table(&'d DeTable<'t>),
    List(&'d [Spanned<DeValue<'t>>]),
}

impl<'d, 't> Within<'d, 't> {
    fn step(&self, part: &str) -> Option<(usize, &'d DeValue<'t>)> {
        match self {
            Self::Table(table) => {
                let (key, value) = table.iter().find(|(key, _)| key.get_ref() == part)?;
                Some((key.span().start, value.get_ref()))
            }
            Self::List(list) => {
                let value = list.get(part.parse::<usize>().ok()?)?;
                Some((value.span().start, value.get_ref()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_part_that_is_there_decides() {
        let text = "title = 'x'\n\n[[targets]]\nworkload = 'a'\n[[targets]]\nworkload = 'b'\ncore = 9\n[excursions]\ngap = '1 us'\n";
        for (path, line) in [
            ("title", Some(1)),
            ("targets.1.core", Some(7)),
            ("targets.0.core", Some(3)),
            ("excursions.gap", Some(9)),
            ("excursions.nothing", Some(8)),
            ("absent", None),
        ] {
            assert_eq!(line_of(text, &path.split('.').collect::<Vec<_>>()), line, "{path}");
        }
    }
}
