//! Plans for other programs, like cmdgen of the Windows 2000 study, which wrote batch files of SQLIO commands.
//!
//! An emitted plan measures the plan's cells in its order, with its seeds and the minimum repetitions; it cannot add
//! repetitions where results vary, as a run does. It writes only what the plan may write. Parts without an exact
//! equivalent are rejected or left out with the reason.

mod emission;
pub(crate) mod fio;
pub(crate) mod options;
mod shell;

pub(crate) use emission::Emission;
pub(crate) use fio::fio;
pub(crate) use shell::shell;
