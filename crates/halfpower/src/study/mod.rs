//! Studies: a question, a target and a sweep, as a TOML file.
//!
//! A study is resolved on a machine into a [`Plan`](crate::plan::Plan). Nothing is guessed: an unknown key, a value out
//! of range or a repeated cell is a mistake, and all mistakes of a file are reported together. A file may include
//! another one; a folder is the study of its files. `docs/FORMAT.md` describes the format; the built-in studies are
//! examples.

mod builtin;
mod diagnostic;
#[cfg(test)]
mod figures_tests;
mod model;
mod near;
mod read;
mod setting;
mod source;
mod sweep;
mod table;
#[cfg(test)]
mod tests;
mod value;
mod write;

pub(crate) use diagnostic::StudyErrors;
pub(crate) use model::{Exhibit, LIMITS, Order, Repetitions, Shows, StandIns, Study, Sweep, VOLUME, volumes_in};
pub(crate) use source::{Shelf, natural};
pub(crate) use sweep::cross;
pub(crate) use write::study_text;
