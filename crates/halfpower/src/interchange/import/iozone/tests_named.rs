//! iozone's tests by the names it prints.

use super::Head;
use halfpower_model::{Bytes, CachePolicy, FileState, Operation, Pattern, Personality, WorkloadSpec};

/// The workload of a test; none if it has no counterpart.
///
/// Without a counterpart are the mixed workload, whose shares are not printed, rewriting one record repeatedly, and
/// tests of the C library (`fwrite`, `fread`), which do not measure storage requests.
pub(super) fn workload_of(name: &str, head: &Head, record: Option<Bytes>) -> Option<WorkloadSpec> {
    let (operation, pattern) = match name {
        "initial writers" | "rewriters" | "writer" | "re-writer" | "pwrite writers" | "pwrite" => {
            (Operation::Write, Pattern::Sequential)
        }
        "readers" | "re-readers" | "reader" | "re-reader" | "pread readers" | "pread" => {
            (Operation::Read, Pattern::Sequential)
        }
        "reverse readers" | "backward read" => (Operation::Read, Pattern::Reverse),
        // The stride in records is constant, and is not printed.
        "stride readers" | "stride read" => {
            (Operation::Read, Pattern::Strided { stride: Bytes(record?.0.checked_mul(17)?) })
        }
        "random readers" | "random read" => (Operation::Read, Pattern::Random),
        "random writers" | "random write" => (Operation::Write, Pattern::Random),
        _ => return None,
    };
    let file_state = match name {
        "initial writers" | "writer" => Some(FileState::Append),
        _ if operation.writes() => Some(FileState::Written),
        _ => None,
    };
    // The data were written or read just before.
    let cache = (!operation.writes() && !head.direct).then_some(CachePolicy::Warm);
    let personality = name.starts_with('p').then_some(Personality::Sync);
    Some(WorkloadSpec {
        operation: Some(operation),
        pattern: Some(pattern),
        request_size: record,
        file_state,
        cache,
        personality,
        ..head.spec(operation.writes())
    })
}
