//! The simulated machines in the program: names of their volumes, settings, the papers' figures, their validation and
//! the command `halfpower sim`. The physics is in the crate `halfpower-sim`.

pub(crate) mod command;
pub(crate) mod name;
pub(crate) mod paper_figures;
pub(crate) mod published;
pub(crate) mod stand_ins;
pub(crate) mod validate;
