//! Why a machine cannot be made.

use std::collections::BTreeMap;

/// Why a machine cannot be made: the machine, where the mistake is written, the key, what is wrong with its value, and what there can
/// be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct MachineError(pub String);

/// What is wrong with a key, whose values each could be: the way to it from the top of the file, and the reason.
#[derive(Debug)]
pub(super) struct Wrong {
    pub(super) key: Vec<String>,
    pub(super) message: String,
}

impl Wrong {
    pub(super) fn at(key: &[&str], message: impl Into<String>) -> Wrong {
        Wrong { key: key.iter().map(|word| (*word).to_owned()).collect(), message: message.into() }
    }
}

/// The part of a name; `key` is the place that names it.
pub(super) fn named_in<'a, T>(
    all: &'a BTreeMap<String, T>,
    key: &[&str],
    kind: &str,
    name: &str,
) -> Result<&'a T, Wrong> {
    all.get(name).ok_or_else(|| Wrong::at(key, format!("there is no {kind} {name:?}")))
}
