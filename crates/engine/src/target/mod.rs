//! Targets of requests: opens and examines them, and protects those in use.

pub(crate) mod directory;
mod error;
mod facts;
mod file_id;
mod in_use;
pub(crate) mod interference;
mod open;
pub(crate) mod own_entries;
mod reopened;
mod set;
mod state;
pub mod test_file;
pub(crate) mod test_tree;

pub use error::TargetError;
pub use facts::Access;
pub(crate) use facts::facts_unopened;
pub use open::{Mark, NULL_TARGET, Target};
pub(crate) use reopened::{OpenTarget, Opened};
pub(crate) use set::Targets;
pub use set::refuse_same;
