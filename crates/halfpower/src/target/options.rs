//! What the user requests of the targets.

use super::overwrite::Overwrite;
use crate::store::TestFile;
use halfpower_model::{Bytes, GivenPeak, Layout};
use std::path::PathBuf;

/// Options of the user.
#[derive(Clone, Debug, Default)]
pub(crate) struct TargetOptions {
    /// Files, devices, directories, or `null:`.
    pub(crate) targets: Vec<PathBuf>,
    /// Number of test files in each directory.
    pub(crate) files: Option<u32>,
    /// How several targets form one.
    pub(crate) layout: Layout,
    /// Size of what they form together, or of each of independent targets.
    pub(crate) size: Option<Bytes>,
    /// Whether the user requested the size, so that it must fit, or it may shrink.
    pub(crate) size_is_fixed: bool,
    /// Which targets may be overwritten.
    pub(crate) overwrite: Overwrite,
    /// Advertised throughput of levels, given by the user.
    pub(crate) peaks: Vec<GivenPeak>,
    /// Existing test files that will be reused.
    pub(crate) held: Vec<TestFile>,
}
