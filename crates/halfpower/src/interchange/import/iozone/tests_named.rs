//! The tests of iozone by the names it prints, and what each does.

use super::Head;
use halfpower_model::{Bytes, CachePolicy, FileState, Operation, Pattern, Personality, WorkloadSpec};

/// What a test does; none for one that has no workload of ours.
///
/// Left out are the mixed workload, whose shares are not printed, rewriting one record over and over, and the tests of
/// the C library (`fwrite`, `fread`), which are not of the storage's requests.
pub(super) fn workload_of(name: &str, head: &Head, record: Option<Bytes>) -> Option<WorkloadSpec> {
    let (operation, pattern) = match name {
        "initial writers" | "rewriters" | "writer" | "re-writer" | "pwrite writers" | "pwrite" => {
            (Operation::Write, Pattern::Sequential)
        }
        "readers" | "re-readers" | "reader" | "re-reader" | "pread readers" | "pread" => {
            (Operation::Read, Pattern::Sequential)
        }
        "reverse readers" | "backward read" => (Operation::Read, Pattern::Reverse),
        // The stride is printed in records, and is the same for all of them.
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
    // What was read a moment ago is read again.
    let cache = name.starts_with("re-reader").then_some(CachePolicy::Warm);
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
