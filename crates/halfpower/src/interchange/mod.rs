//! Results of other programs in, and ours out. Units are converted here and nowhere else.

pub(crate) mod export;
pub(crate) mod import;
