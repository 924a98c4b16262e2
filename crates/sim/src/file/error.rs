//! Why a machine cannot be made.

use std::collections::BTreeMap;

/// Why a machine cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MachineError {
    /// Something in its file, or in a setting, cannot be.
    #[error("machine {machine}{place}: {message}")]
    Mistake {
        /// The machine's name.
        machine: String,
        /// Where it is written.
        place: String,
        /// The key, what is wrong with its value, and what there can be.
        message: String,
    },
    /// There is no such machine.
    #[error("there is no machine {name}; machines are {}", known.join(", "))]
    Machine {
        /// As asked for.
        name: String,
        /// Those that ship.
        known: Vec<&'static str>,
    },
    /// There is no such volume.
    #[error("machine {machine} has no volume {volume:?}; its volumes are {}", known.join(", "))]
    NoVolume {
        /// The machine's name.
        machine: String,
        /// As asked for.
        volume: String,
        /// What there is.
        known: Vec<String>,
    },
}

/// What is wrong with a key, whose values each could be: the way to it from the top of the file, and the reason.
#[derive(Debug)]
pub(super) struct Wrong {
    pub(super) key: Vec<String>,
    /// Which of a list it is, from 0.
    pub(super) item: Option<usize>,
    pub(super) message: String,
}

impl Wrong {
    pub(super) fn at(key: &[&str], message: impl Into<String>) -> Wrong {
        Wrong { key: key.iter().map(|word| (*word).to_owned()).collect(), item: None, message: message.into() }
    }

    /// The same of one of the list that the key has.
    pub(super) fn of_item(self, item: usize) -> Wrong {
        Wrong { item: Some(item), ..self }
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
