//! Shared by commands: their context, common options, and a run from its start to its report.

pub(crate) mod clock;
pub(crate) mod context;
mod full_screen;
pub(crate) mod interrupts;
pub(crate) mod live;
pub(crate) mod note;
pub(crate) mod number;
pub(crate) mod price;
pub(crate) mod session;
pub(crate) mod targets;
