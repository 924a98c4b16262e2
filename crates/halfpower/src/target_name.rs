//! What the name of a target says about it, before anything is opened.

use crate::simulator::name::SimulatedName;
use halfpower_engine::{NULL_TARGET, is_remote};
use std::path::Path;

/// Whether it is a path of this host.
pub(crate) fn is_path(target: &Path) -> bool {
    target.as_os_str() != NULL_TARGET && !is_time_virtual(target) && !is_remote(target)
}

/// Whether time on it is virtual: nobody waits for it.
pub(crate) fn is_time_virtual(target: &Path) -> bool {
    SimulatedName::of(target).is_some()
}
