//! Files that grow, on systems that extend them one write at a time.
//!
//! A write beyond what the file holds must not overtake another, and what lies between must not be read as it was: so such
//! writes go one after another, and a gap before one is filled with zeros first, 64 KiB at a time. Written in its order
//! a file has no gaps; written last block first it is written twice.
//!
//! Source: Riedel, van Ingen and Gray (1997), section 5.3; Chung, Gray, Worthington and Horst (2000), figure 3.

use super::outcome::LONG;
use crate::machine::{self, Machine};
use halfpower_model::Workload;
use halfpower_model::sample::{Part, WaitFor};
use std::collections::VecDeque;

/// One file.
#[derive(Clone, Debug, Default)]
pub(super) struct File {
    /// Up to where it holds data.
    pub(super) valid: u64,
    /// Since when a write of it is under way.
    pub(super) busy_since_ns: Option<u64>,
    /// For how long before that there was one.
    pub(super) busy_ns: u64,
    pub(super) waiting: VecDeque<u32>,
}

/// The files of the targets.
#[derive(Debug)]
pub(super) struct Growth {
    pub(super) files: Vec<File>,
}

impl Growth {
    /// None where files do not grow, or the system lets their writes go as they come.
    pub(super) fn of(machine: &Machine, workload: &Workload) -> Option<Growth> {
        let is_serial = machine.system.growth == machine::Growth::Serial && workload.file_state.grows();
        is_serial.then(|| Growth { files: vec![File::default(); workload.volumes() as usize] })
    }

    /// For how long up to now a write was under way, of all files together.
    pub(super) fn busy_ns(&self, now_ns: u64) -> u64 {
        let under_way = |file: &File| file.busy_since_ns.map_or(0, |since_ns| now_ns - since_ns);
        self.files.iter().map(|file| file.busy_ns + under_way(file)).sum()
    }
}

/// What writes that extend a file wait for.
pub(super) fn wait() -> Part {
    let until = "for the one before, so a deeper queue does not help";
    Part::wait("system.growth", WaitFor::Growth, LONG, "writes that extend a file", until)
}
