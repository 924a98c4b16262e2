//! Plans for other hands: the job of the study's cmdgen, which wrote batch files of calls of SQLIO.
//!
//! What is emitted measures the plan's cells in the plan's own order, with its seeds, as often as every cell is sure to
//! be measured; it cannot go on where results vary, as a run does. It names what the user named, and only what the plan
//! itself may write is written. What cannot be said truly is refused or left out with the reason, never bent.

mod emission;
pub(crate) mod fio;
pub(crate) mod options;
mod shell;

pub(crate) use emission::Emission;
pub(crate) use fio::fio;
pub(crate) use shell::shell;
