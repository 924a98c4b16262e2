//! The known keys of a TOML table with their places; any other key is a mistake.

use super::diagnostic::{Diagnostics, Problem, shown};
use super::near::nearest;
use super::value;
use std::collections::BTreeMap;
use std::ops::Range;
use toml::de::{DeTable, DeValue};

/// A key of a table.
pub(super) struct Found<'d, 't> {
    /// Place of the key.
    pub key: Range<usize>,
    /// Place of the value.
    pub span: Range<usize>,
    /// The value.
    pub value: &'d DeValue<'t>,
}

/// The known keys that a table has.
#[derive(Default)]
pub(super) struct Keys<'d, 't>(BTreeMap<&'static str, Found<'d, 't>>);

impl<'d, 't> Keys<'d, 't> {
    pub(super) fn get(&self, name: &str) -> Option<&Found<'d, 't>> {
        self.0.get(name)
    }

    /// The value of a key as `read` parses it; an error is noted.
    pub(super) fn read<T>(
        &self,
        name: &str,
        diagnostics: &mut Diagnostics<'_>,
        read: impl FnOnce(&DeValue<'_>) -> Result<T, Problem>,
    ) -> Option<T> {
        let found = self.get(name)?;
        diagnostics.keep(found.span.clone(), read(found.value))
    }

    /// The keys of a table within this one; empty if it is missing.
    pub(super) fn table(&self, name: &str, known: &[&'static str], diagnostics: &mut Diagnostics<'_>) -> Keys<'d, 't> {
        let found = self.get(name);
        found.and_then(|found| keys_of(found, &format!("`{name}`"), known, diagnostics)).unwrap_or_default()
    }
}

/// The keys of a value that must be a table; none, with a noted mistake, if it is not.
pub(super) fn keys_of<'d, 't>(
    found: &Found<'d, 't>,
    what: &str,
    known: &[&'static str],
    diagnostics: &mut Diagnostics<'_>,
) -> Option<Keys<'d, 't>> {
    let is_not = || value::is_not(found.value, &format!("{what} with {}", known.join(", ")));
    let table = diagnostics.keep(found.span.clone(), found.value.as_table().ok_or_else(is_not))?;
    Some(sort_out(table, what, known, diagnostics))
}

/// The known keys of a table; others are noted as mistakes.
pub(super) fn sort_out<'d, 't>(
    table: &'d DeTable<'t>,
    what: &str,
    known: &[&'static str],
    diagnostics: &mut Diagnostics<'_>,
) -> Keys<'d, 't> {
    let mut keys = Keys::default();
    for (key, value) in table {
        let word: &str = key.get_ref();
        match known.iter().find(|name| **name == word) {
            Some(name) => {
                keys.0.insert(name, Found { key: key.span(), span: value.span(), value: value.get_ref() });
            }
            None => {
                let list = known.join(", ");
                let help = match nearest(word, known) {
                    Some(meant) => format!("did you mean `{meant}`? The keys of {what} are {list}"),
                    None => format!("the keys of {what} are {list}"),
                };
                diagnostics.wrong(key.span(), format!("unknown key `{}`", shown(word)), help);
            }
        }
    }
    keys
}
