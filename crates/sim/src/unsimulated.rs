//! What is not simulated: refused, with what to say instead, so that no option looks as if it had an effect that it has not.
//!
//! A study leaves out the workloads that say such a thing, with the reason, and runs the others.

use crate::machine::Machine;
use crate::volume::Volume;
use halfpower_model::{CachePolicy, FileState, KEYS, Key, MeasureError, RequestKind, SubmitBatch, Workload};

/// Refuses what is not simulated of a machine's volume.
///
/// # Errors
/// With what it is, and what to say instead.
pub(crate) fn refuse(machine: &Machine, workload: &Workload) -> Result<(), MeasureError> {
    let of_the_volume = of_the_volume(machine, workload).into_iter().filter(|(is_asked, _)| *is_asked);
    match of_the_volume.map(|(_, what)| what.to_owned()).chain(of_a_host(workload)).next() {
        Some(what) => Err(MeasureError::Unsupported(format!("a simulated machine does not support {what}"))),
        None => Ok(()),
    }
}

/// What volumes are not asked.
fn of_the_volume(machine: &Machine, workload: &Workload) -> [(bool, &'static str); 7] {
    let has = |kind| workload.operation.has(kind);
    let moves_none = has(RequestKind::Trim) || has(RequestKind::Flush);
    let limits = workload.limits;
    [
        (
            !workload.buffering.is_direct() && machine.system.cache.is_none(),
            "buffered requests on this volume, which has no page cache; use --buffering direct",
        ),
        (
            has(RequestKind::Trim) && !machine.disks.iter().all(|disk| disk.device.takes_trims()),
            "trims of this volume; use a flash drive whose machine file has a trim table, or reads and writes",
        ),
        (
            has(RequestKind::Trim) && matches!(machine.volume, Volume::Raid5 { .. }),
            "trims of a RAID5, because its parity would be wrong; use another volume, or reads and writes",
        ),
        (
            moves_none && (!workload.buffering.is_direct() || machine.share.is_some()),
            "trims and flushes through a page cache or a share; use --buffering direct on a local volume, or --durability for flushes",
        ),
        (workload.file_state == FileState::Sparse, "sparse files; use another --file-state"),
        (workload.cache == CachePolicy::ColdEachPass, "a cache that is dropped again; use --cache cold"),
        (
            limits.duration.is_none() && limits.requests.is_none() && limits.bytes.is_none(),
            "runs without an end; use --duration, --requests or --bytes",
        ),
    ]
}

/// The keys of a real host, its kernel and its processes, as [`KEYS`] has them.
fn of_a_host(workload: &Workload) -> impl Iterator<Item = String> {
    let missing = |key: &Key| {
        let is_as_simulated = key.name == "submit_batch" && workload.submit_batch == SubmitBatch::Requests(1);
        let reason = key.about.unsimulated.filter(|_| !key.is_default(workload) && !is_as_simulated)?;
        let option = key.option();
        Some(match key.name {
            "cpus" | "cpu_count" => {
                format!("{reason}; leave --{option} out, or set their number, like --set cpu.count=1")
            }
            _ if reason.contains("; ") => reason.to_owned(),
            _ => format!("{reason}; leave --{option} out"),
        })
    };
    KEYS.iter().filter_map(missing)
}
