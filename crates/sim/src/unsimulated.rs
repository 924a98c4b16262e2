//! What is not simulated: refused, with what to say instead, so that no option looks as if it had an effect that it has not.
//!
//! A study leaves out the workloads that say such a thing, with the reason, and runs the others.

use crate::machine::Machine;
use crate::volume::Volume;
use halfpower_model::content::Data;
use halfpower_model::{
    BlockPhases, Closing, CpuAccounting, FileState, Layout, MeasureError, RequestKind, Verify, WorkerKind, Workload,
};

/// Refuses what is not simulated of a machine's volume.
///
/// # Errors
/// With what it is, and what to say instead.
pub(crate) fn refuse(machine: &Machine, workload: &Workload) -> Result<(), MeasureError> {
    let all = of_the_volume(machine, workload).into_iter().chain(of_a_host(workload));
    match all.into_iter().find(|(is_asked, _)| *is_asked) {
        Some((_, what)) => Err(MeasureError::Unsupported(format!("a simulated machine does not do {what}"))),
        None => Ok(()),
    }
}

/// What volumes are not asked.
fn of_the_volume(machine: &Machine, workload: &Workload) -> [(bool, &'static str); 8] {
    let has = |kind| workload.operation.has(kind);
    let moves_none = has(RequestKind::Trim) || has(RequestKind::Flush);
    let limits = workload.limits;
    [
        (
            !workload.buffering.is_direct() && machine.system.cache.is_none(),
            "buffered requests of this volume, which has no file cache; use direct ones (--buffering direct)",
        ),
        (
            has(RequestKind::Trim) && !machine.disks.iter().all(|disk| disk.device.takes_trims()),
            "trims of this volume: they are of flash drives whose file says what one takes; use one of those, or reads and writes",
        ),
        (
            has(RequestKind::Trim) && matches!(machine.volume, Volume::Raid5 { .. }),
            "trims of a RAID5, whose parity they would leave wrong; use another volume, or reads and writes",
        ),
        (
            moves_none && (!workload.buffering.is_direct() || machine.share.is_some()),
            "trims and flushes through a file cache or a share; say --buffering direct on a local volume, or for flushes --durability",
        ),
        (workload.file_state == FileState::Sparse, "files of holes; name another --file-state"),
        (workload.verify != Verify::Off, "the bytes of blocks; leave --verify out"),
        (workload.layout != Layout::Each, "layouts of several targets; name a volume that is a stripe"),
        (
            limits.duration.is_none() && limits.requests.is_none() && limits.bytes.is_none(),
            "runs without an end; say --duration, --requests or --bytes",
        ),
    ]
}

/// What is of a real host, its kernel and its processes. Every field is named, so that a new one is either simulated or refused: the
/// compiler asks.
fn of_a_host(workload: &Workload) -> [(bool, &'static str); 10] {
    let Workload {
        ring,
        submit_batch,
        wait_batch,
        worker_kind,
        closing,
        data,
        block_phases,
        cpus,
        processors,
        cpu_accounting,
        // Refused of a volume, or of all.
        file_state: _,
        verify: _,
        layout: _,
        // No such way of doing it is offered.
        personality: _,
        plugin: _,
        rw_flags: _,
        // Simulated.
        operation: _,
        pattern: _,
        sharing: _,
        request_size: _,
        sizes: _,
        align: _,
        offset: _,
        depth: _,
        workers: _,
        buffering: _,
        among: _,
        targets: _,
        span: _,
        limits: _,
        arrivals: _,
        rate: _,
        warmup: _,
        interval: _,
        cache: _,
        durability: _,
        seed: _,
        set: _,
        // Of records that were imported.
        unknown: _,
    } = workload;
    [
        (
            !cpus.is_empty(),
            "workers that are pinned: each runs on whichever processor is free; leave --cpus out, or set how many there are, like \
             --set processor.count=1",
        ),
        (
            processors.is_some(),
            "programs that keep to some processors; leave --processors out, or set how many there are, like --set processor.count=1",
        ),
        (!ring.is_default(), "the options of a ring; leave --ring out"),
        (
            *submit_batch > 1,
            "requests that are handed over together: each is issued by itself; leave --submit-batch out",
        ),
        (*wait_batch > 1, "waiting for several requests: a worker goes on after each; leave --wait-batch out"),
        (
            *worker_kind == WorkerKind::Process,
            "workers as processes, which would be as threads are; leave --processes out",
        ),
        (*closing == Closing::Timed, "the closing of a target, which would take no time; leave --time-close out"),
        (*data != Data::Incompressible, "what the bytes of writes are like: no drive looks at them; leave --data out"),
        (
            *block_phases != BlockPhases::Off,
            "a kernel's block layer that could be looked into: the sample tells how busy each part was; leave --block-phases out",
        ),
        (
            *cpu_accounting != CpuAccounting::Account,
            "a soaker: its account of processor time is exact; leave --cpu-accounting out",
        ),
    ]
}
