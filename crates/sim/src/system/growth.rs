//! Files that grow, on systems that extend them one write at a time.
//!
//! Writes to such a file run one after the other. A gap before a write is filled with zeros first, 64 KiB at a time, so that no
//! old data can be read there. A file written last block first is written twice.
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
    /// End of its data.
    pub(super) valid: u64,
    /// Start of the write under way.
    pub(super) busy_since_ns: Option<u64>,
    /// Time with a write under way, before that.
    pub(super) busy_ns: u64,
    pub(super) waiting: VecDeque<u32>,
}

/// The files of the targets.
#[derive(Debug)]
pub(super) struct Growth {
    pub(super) files: Vec<File>,
}

impl Growth {
    /// None if files do not grow, or if the system writes them in parallel.
    pub(super) fn of(machine: &Machine, workload: &Workload) -> Option<Growth> {
        let is_serial = machine.system.growth == machine::Growth::Serial && workload.file_state.grows();
        is_serial.then(|| Growth { files: vec![File::default(); workload.volumes() as usize] })
    }

    /// Time with a write under way until now, summed over files.
    pub(super) fn busy_ns(&self, now_ns: u64) -> u64 {
        let under_way = |file: &File| file.busy_since_ns.map_or(0, |since_ns| now_ns - since_ns);
        self.files.iter().map(|file| file.busy_ns + under_way(file)).sum()
    }
}

/// The wait for the write before.
pub(super) fn wait() -> Part {
    let until = "for the one before, so a deeper queue does not help";
    Part::wait("system.growth", WaitFor::Growth, LONG, "writes that extend a file", until)
}

#[cfg(test)]
mod tests {
    use super::super::flush::tests::{one_disk, writes};
    use super::super::tests::*;
    use halfpower_model::FileState;

    #[test]
    fn a_file_grows_one_write_at_a_time_where_the_system_does_that() {
        let stripe = Volume::Stripe { chunk: Bytes(65_536) };
        let mut machine = machine(atlas(Scheduler::CLook), 4, stripe).without_write_caches();
        let of = |machine: &Machine, depth, state| course(machine, &writes(16, 65_536, depth, state)).elapsed_ns as f64;
        let one_deep = of(&machine, 1, FileState::Written);
        assert!(of(&machine, 4, FileState::Written) < 0.5 * one_deep);
        assert!((of(&machine, 4, FileState::Append) / one_deep - 1.0).abs() < 0.02);
        let growing = |machine: &Machine, depth, state| {
            let parts = course(machine, &writes(16, 65_536, depth, state)).parts;
            parts.into_iter().find(|part| part.name == "system.growth").map(|part| part.busy)
        };
        let told = [1, 4].map(|depth| growing(&machine, depth, FileState::Append));
        assert!(told.iter().all(|busy| busy.is_some_and(|busy| (0.95..=1.0).contains(&busy))), "{told:?}");
        assert_eq!(growing(&machine, 4, FileState::Written), None);
        machine.system.growth = Growth::Free;
        assert!((of(&machine, 4, FileState::Append) / of(&machine, 4, FileState::Written) - 1.0).abs() < 0.03);
    }

    #[test]
    fn a_file_whose_last_block_is_written_first_is_written_twice() {
        let machine = machine(larger(Scheduler::CLook), 1, Volume::Each);
        let of = |state| course(&machine, &writes(64, 65_536, 4, state));
        let (ordered, last_first) = (of(FileState::Append), of(FileState::LastFirst));
        assert_eq!((ordered.device[1].1, last_first.device[1].1), (64 << 20, (128 << 20) - 65_536));
        let ratio = last_first.elapsed_ns as f64 / ordered.elapsed_ns as f64;
        assert!((1.9..2.1).contains(&ratio), "{ratio}");
    }

    #[test]
    fn what_a_file_does_not_hold_is_not_read_before_a_write() {
        let machine = one_disk();
        let of = |file_state| {
            let write = Workload { buffering: Buffering::Buffered, ..writes(4, 2048, 1, file_state) };
            course(&machine, &write).device[0].0
        };
        assert_eq!((of(FileState::Written), of(FileState::Append)), (1024, 0));
    }

    #[test]
    fn workers_that_share_a_cursor_write_a_growing_file_once() {
        let shared = Workload { workers: 3, sharing: Sharing::Cursor, ..writes(4, 65_536, 1, FileState::Append) };
        let outcome = course(&machine(larger(Scheduler::CLook), 1, Volume::Each), &shared);
        assert_eq!((requests(&outcome), outcome.device[1]), (64, (64, 4 << 20)));
    }
}
