//! The keys of a TOML table: those that are known, with where they stand; every other is a mistake.

use super::diagnostic::{Diagnostics, Problem, shown};
use super::near::nearest;
use super::value;
use std::collections::BTreeMap;
use std::ops::Range;
use toml::de::{DeTable, DeValue};

/// A key that is there.
pub(super) struct Found<'d, 't> {
    /// Where the key stands.
    pub key: Range<usize>,
    /// Where the value stands.
    pub span: Range<usize>,
    /// The value.
    pub value: &'d DeValue<'t>,
}

/// The known keys of a table that are there.
pub(super) type Keys<'d, 't> = BTreeMap<&'static str, Found<'d, 't>>;

/// The table that `value` is, its keys sorted out; none, and a note, when it is no table.
pub(super) fn keys_of<'d, 't>(
    value: &'d DeValue<'t>,
    span: Range<usize>,
    what: &str,
    known: &[&'static str],
    diagnostics: &mut Diagnostics<'_>,
) -> Option<Keys<'d, 't>> {
    let table = value.as_table().ok_or_else(|| value::is_not(value, &format!("{what} with {}", known.join(", "))));
    diagnostics.keep(span, table).map(|table| sort_out(table, what, known, diagnostics))
}

/// The known keys of a table; a note for every other.
pub(super) fn sort_out<'d, 't>(
    table: &'d DeTable<'t>,
    what: &str,
    known: &[&'static str],
    diagnostics: &mut Diagnostics<'_>,
) -> Keys<'d, 't> {
    let mut keys = Keys::new();
    for (key, value) in table {
        let word: &str = key.get_ref();
        match known.iter().find(|name| **name == word) {
            Some(name) => {
                keys.insert(name, Found { key: key.span(), span: value.span(), value: value.get_ref() });
            }
            None => {
                let list = known.join(", ");
                let help = match nearest(word, known) {
                    Some(meant) => format!("did you mean `{meant}`? The keys of {what} are {list}"),
                    None => format!("the keys of {what} are {list}"),
                };
                diagnostics.wrong(key.span(), Problem::new(format!("unknown key `{}`", shown(word)), help));
            }
        }
    }
    keys
}

impl Found<'_, '_> {
    /// What `read` makes of the value, its problem noted here.
    pub(super) fn read<T>(
        &self,
        diagnostics: &mut Diagnostics<'_>,
        read: impl FnOnce(&DeValue<'_>) -> Result<T, Problem>,
    ) -> Option<T> {
        diagnostics.keep(self.span.clone(), read(self.value))
    }
}
