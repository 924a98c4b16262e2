//! What a personality and its options go together with.

use super::{ResolveError, first_broken};
use crate::workload::{Personality, RwFlag, Workload};

/// Refuses what the way cannot do.
pub(super) fn check(workload: &Workload) -> Result<(), ResolveError> {
    let flags = workload.rw_flags;
    let direct = workload.buffering.is_direct();
    let mmap = workload.personality == Personality::Mmap;
    let rules = [
        (
            mmap && direct,
            "mmap goes through the file cache by its nature; use --buffering buffered or through, or another --personality",
        ),
        (
            mmap && workload.file_state.grows(),
            "a mapping does not make a file longer; use --file-state written, preallocated or sparse, or another --personality",
        ),
        (
            !flags.is_empty() && workload.personality != Personality::Vectored,
            "--rw-flags are of preadv2 and pwritev2; use --personality vectored, or leave them out",
        ),
        (
            flags.has(RwFlag::Hipri) && !direct,
            "hipri asks the device itself until it is done; use --buffering direct, or leave hipri out of --rw-flags",
        ),
        (
            flags.has(RwFlag::Dontcache) && direct,
            "dontcache is for requests through the file cache; use --buffering buffered, or leave it out of --rw-flags",
        ),
        (
            flags.has(RwFlag::Dsync) && !workload.operation.writes(),
            "dsync is for writes; use --op write, or leave it out of --rw-flags",
        ),
    ];
    first_broken(&rules)
}
