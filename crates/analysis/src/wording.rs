//! Words for workloads.

use crate::comparable::Axis;
use halfpower_model::{Buffering, CachePolicy, Durability, Estimate, Operation, Reach, RequestKind, RwFlag, Workload};

/// `random reads (4 KiB, QD8, direct)`: how a claim begins.
pub(crate) fn named(workload: &Workload, how: &str) -> String {
    format!("{} {} ({how})", workload.pattern, requests(workload.operation))
}

/// `reads`, `writes`, `mixed requests (70 % reads)`.
pub(crate) fn requests(operation: Operation) -> String {
    match operation {
        Operation::Read => "reads".to_owned(),
        Operation::Write => "writes".to_owned(),
        Operation::Trim => "trims".to_owned(),
        Operation::Flush => "flushes".to_owned(),
        Operation::TrimWrite => "trims, each with a write".to_owned(),
        Operation::Mix(mix) => format!("mixed requests ({} % reads)", mix.percent(RequestKind::Read)),
    }
}

/// `direct`, `buffered, flushed`.
pub(crate) fn caching(workload: &Workload) -> String {
    let mut words = match workload.buffering {
        Buffering::None => "direct, write-through".to_owned(),
        Buffering::Through => "write-through".to_owned(),
        buffering => buffering.to_string(),
    };
    match workload.durability {
        Durability::None => {}
        Durability::FlushAtEnd => words.push_str(", flushed"),
        between => words.push_str(&format!(", {between}")),
    }
    words
}

/// `4 KiB, QD8`.
pub(crate) fn place(workload: &Workload) -> String {
    format!("{}, {}", workload.request_size, depth(workload))
}

/// `QD8`, `QD8 × 2 workers`.
pub(crate) fn depth(workload: &Workload) -> String {
    match workload.workers {
        1 => format!("QD{}", workload.depth),
        workers => format!("QD{} × {workers} workers", workload.depth),
    }
}

/// What stays the same: `QD8, direct` over sizes, `4 KiB, direct` over depths, `4 KiB, QD1 per worker, direct` over workers,
/// `direct` over all.
pub(crate) fn circumstances(workload: &Workload, varied: &[Axis]) -> String {
    let first = match (varied, workload.workers) {
        ([Axis::RequestSize], _) => depth(workload),
        ([Axis::Depth], 1) => workload.request_size.to_string(),
        ([Axis::Depth], workers) => format!("{}, {workers} workers", workload.request_size),
        ([Axis::Workers], _) => format!("{}, QD{} per worker", workload.request_size, workload.depth),
        _ => return caching(workload),
    };
    format!("{first}, {}", caching(workload))
}

/// Storage if requests are direct, written through, flushed, or read from a cache that was not warmed; else memory.
pub(crate) fn reach(workload: &Workload) -> Reach {
    let writes_stay_in_memory = workload.operation.writes()
        && workload.buffering == Buffering::Buffered
        && workload.durability == Durability::None
        && !workload.rw_flags.has(RwFlag::Dsync);
    let reads_come_from_memory =
        workload.operation.reads() && !workload.buffering.is_direct() && workload.cache == CachePolicy::Warm;
    if writes_stay_in_memory || reads_come_from_memory { Reach::Memory } else { Reach::Storage }
}

/// Whether the figures are of the storage.
pub(crate) fn reaches_storage(workload: &Workload) -> bool {
    reach(workload) == Reach::Storage
}

/// A sentence that marks memory speed; empty for storage.
pub(crate) fn memory_note(workload: &Workload) -> &'static str {
    match (reaches_storage(workload), workload.operation.writes()) {
        (true, _) => "",
        (false, true) if !workload.is_known("durability") => {
            " Whether they were flushed is unknown: this may be memory speed."
        }
        (false, true) => " Not flushed: this is memory speed, not storage speed.",
        (false, false) => " Read from a warm page cache: this is memory speed, not storage speed.",
    }
}

/// `90 % [88 to 92] of the peak`, `1.1 times the peak`.
pub(crate) fn ratio_to(ratio: Estimate, reference: &str) -> String {
    let of = if ratio.value < 1.0 { " of" } else { "" };
    format!("{ratio}{of} {reference}")
}

/// `a, b and c`.
pub(crate) fn listed(all: &[impl AsRef<str>]) -> String {
    let all: Vec<&str> = all.iter().map(AsRef::as_ref).collect();
    match all.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} and {last}", others.join(", ")),
        _ => all.concat(),
    }
}

/// A claim as a sentence that marks memory speed.
pub(crate) fn noted(workload: &Workload, claim: &str) -> String {
    sentence(claim) + memory_note(workload)
}

/// Capitalised and with a full stop.
pub(crate) fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| format!("{}{}.", first.to_uppercase(), letters.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{random, read, write};

    #[test]
    fn words_read_like_a_report() {
        assert_eq!(circumstances(&read(4), &[Axis::RequestSize]), "QD1, direct");
        let workload = Workload { workers: 2, ..random(read(4)) };
        assert_eq!(circumstances(&workload, &[Axis::RequestSize]), "QD1 × 2 workers, direct");
        assert_eq!(circumstances(&workload, &[Axis::Depth]), "4 KiB, 2 workers, direct");
        assert_eq!(sentence("reads are fast"), "Reads are fast.");
    }

    #[test]
    fn memory_is_distinguished_from_storage() {
        let case = |operation, buffering, durability, cache| {
            reaches_storage(&Workload { operation, buffering, durability, cache, ..read(4) })
        };
        let (bare, flushed) = (Durability::None, Durability::FlushAtEnd);
        assert!(case(Operation::Write, Buffering::Direct, bare, CachePolicy::Keep));
        assert!(case(Operation::Write, Buffering::Buffered, flushed, CachePolicy::Keep));
        assert!(case(Operation::Write, Buffering::Through, bare, CachePolicy::Keep));
        assert!(!case(Operation::Write, Buffering::Buffered, bare, CachePolicy::Keep));
        let stored = Workload { rw_flags: "dsync".parse().unwrap(), buffering: Buffering::Buffered, ..write(4) };
        assert!(reaches_storage(&stored), "each write waits until it is stored");
        assert!(case(Operation::Read, Buffering::Buffered, bare, CachePolicy::Cold));
        assert!(!case(Operation::Read, Buffering::Buffered, bare, CachePolicy::Warm));
        assert!(case(Operation::Read, Buffering::Direct, bare, CachePolicy::Warm));
    }
}
