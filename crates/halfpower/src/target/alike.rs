//! Checks of the processes of an MPI launcher: equal commands, targets that are large enough, workloads that can share a target.

use crate::text::{UsageError, counted, refuse};
use halfpower_model::{Environment, FileState, MeasureError, Sharing, Verify, Workload};

/// The command line of this process, before it knew its rank.
pub(super) fn own_words() -> Vec<String> {
    std::env::args().skip(1).collect()
}

/// Rejects another command than rank 0's. Paths may differ: each host may have its own.
///
/// # Errors
/// With both words.
pub(super) fn check_command(own: &[String], first: &[String]) -> Result<(), UsageError> {
    let word = |words: &[String], at| words.get(at).map_or("nothing".to_owned(), String::clone);
    let both = (0..own.len().max(first.len())).map(|at| (word(own, at), word(first, at)));
    let mut other = both.filter(|(own, first)| own != first && !(own.contains('/') && first.contains('/')));
    let Some((own, first)) = other.next() else { return Ok(()) };
    refuse!(
        "its command line has {own} where rank 0 has {first}; start all with one command, in which {{rank}} and {{host}} stand for \
         names that differ"
    )
}

/// Rejects targets of this rank that are smaller than what rank 0 measures: writes would extend a file.
///
/// # Errors
/// With the remedy.
pub(super) fn check_size(workload: &Workload, here: &Environment) -> Result<(), String> {
    let part = workload.layout.part(workload.span, workload.targets);
    match here.all_targets().find(|target| target.size_bytes < part) {
        Some(target) => Err(format!(
            "{} has {}, and rank 0 measures {part}; give --size, or targets of one size",
            target.path, target.size_bytes
        )),
        None => Ok(()),
    }
}

/// Rejects what processes cannot do on targets that they share.
///
/// # Errors
/// With the remedy.
pub(super) fn check_shared(workload: &Workload, processes: u32) -> Result<(), MeasureError> {
    let workers = u64::from(processes) * u64::from(workload.workers);
    let is_parted = workload.pattern.is_ordered() && matches!(workload.sharing, Sharing::Parts | Sharing::Interleaved);
    let reason = if workload.trace.is_some() {
        "each process replays the whole trace; name a target for each ({rank})".to_owned()
    } else if is_parted && workload.places() < workers {
        let places = counted(workload.places() as usize, "place");
        format!("the target has {places} for {workers} workers of all processes; use a larger one")
    } else if workload.sharing == Sharing::Cursor {
        "processes do not share a cursor; use sharing interleaved".to_owned()
    } else if workload.verify != Verify::Off && !is_parted {
        "each process verifies its own data, and others would overwrite them; use pattern sequential".to_owned()
    } else if workload.file_state != FileState::Written {
        "a file that processes share keeps its state; leave file_state out".to_owned()
    } else {
        return Ok(());
    };
    Err(MeasureError::Unsupported(reason))
}
