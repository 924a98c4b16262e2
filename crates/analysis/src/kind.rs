//! Kinds of requests.

use halfpower_model::{Durability, Operation, Pattern, RequestKind, Workload};

/// Kinds of requests, in the order of their rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    SequentialRead,
    RandomRead,
    SequentialWrite,
    RandomWrite,
    Mix,
    Commit,
}

impl Kind {
    pub(crate) fn of(workload: &Workload) -> Option<Kind> {
        let is_committed =
            matches!(workload.durability, Durability::Fsync { every: 1 } | Durability::Fdatasync { every: 1 });
        Some(match (workload.operation, workload.pattern) {
            (Operation::Write, _) if is_committed => Kind::Commit,
            (Operation::Read, Pattern::Sequential) => Kind::SequentialRead,
            (Operation::Read, pattern) if pattern.is_uniform() => Kind::RandomRead,
            (Operation::Write, Pattern::Sequential) => Kind::SequentialWrite,
            (Operation::Write, pattern) if pattern.is_uniform() => Kind::RandomWrite,
            (Operation::Mix(mix), pattern) if pattern.is_uniform() && mix.percent(RequestKind::Read) == 70 => Kind::Mix,
            _ => return None,
        })
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::SequentialRead => "sequential read",
            Kind::RandomRead => "random read",
            Kind::SequentialWrite => "sequential write",
            Kind::RandomWrite => "random write",
            Kind::Mix => "random 70/30",
            Kind::Commit => "write and fsync",
        }
    }

    pub(crate) const ALL: [Kind; 6] =
        [Kind::SequentialRead, Kind::RandomRead, Kind::SequentialWrite, Kind::RandomWrite, Kind::Mix, Kind::Commit];
}
