//! Targets: what the requests go to. Opens them, finds out what they are, and guards devices that are in use.

mod error;
mod facts;
mod file_id;
pub(crate) mod ground;
mod identity;
mod in_use;
pub(crate) mod meddling;
mod open;
mod reopened;
mod several;
mod state;
pub mod test_file;

pub use error::TargetError;
pub(crate) use facts::facts_unopened;
pub use identity::refuse_same;
pub use open::{Access, NULL_TARGET, Target};
pub(crate) use reopened::{Opened, OpenedHandle};
pub(crate) use several::Targets;
