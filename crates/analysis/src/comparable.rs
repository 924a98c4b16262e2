//! Which workloads may be compared, and what distinguishes the others.
//!
//! Two workloads are comparable if they are equal in everything but the given axes. All other fields must match, so that no
//! present or future setting is forgotten. Ignored are seed, limits, interval spacing, and the end of the span that the
//! request size does not divide.

use crate::cells::Cell;
use halfpower_model::{
    Among, Buffering, Bytes, CachePolicy, Durability, Limits, Nanoseconds, Operation, Pattern, Personality, Workload,
};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// What may differ between compared workloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Axis {
    RequestSize,
    Depth,
    Workers,
    /// Page cache use and state, and the personality, which follows from it by default.
    Caches,
    Durability,
    /// Excluded warm-up, which concerns the measurement only.
    Warmup,
    /// Which targets, with their span and workers.
    Targets,
    /// Read, write, mix.
    Operation,
    /// Access pattern and span.
    Where,
    /// Alignment and offset.
    Places,
}

impl Axis {
    /// What a user tunes for throughput.
    pub(crate) const LOAD: &[Axis] = &[Axis::RequestSize, Axis::Depth, Axis::Workers];
    /// The same, and how caches are used.
    pub(crate) const WAYS: &[Axis] = &[Axis::RequestSize, Axis::Depth, Axis::Workers, Axis::Caches, Axis::Durability];
}

/// Whether two workloads are equal but for the axes.
pub(crate) fn are_comparable(one: &Workload, other: &Workload, axes: &[Axis]) -> bool {
    // A cheap check first.
    let may_be = one.pattern == other.pattern
        && (one.operation == other.operation || axes.contains(&Axis::Operation))
        && (one.request_size == other.request_size || axes.contains(&Axis::RequestSize))
        && (one.depth == other.depth || axes.contains(&Axis::Depth));
    may_be && (axes.contains(&Axis::Targets) || same_span(one, other)) && bare(one, axes) == bare(other, axes)
}

/// Whether two spans are equal but for a partial request at the end.
pub(crate) fn same_span(one: &Workload, other: &Workload) -> bool {
    one.span.0.abs_diff(other.span.0) < one.request_size.0.max(other.request_size.0)
}

/// A workload without the axes and ignored fields.
pub(crate) fn bare(workload: &Workload, axes: &[Axis]) -> Workload {
    let mut bare = Workload {
        seed: 0,
        span: Bytes(0),
        interval: Nanoseconds(0),
        limits: Limits { duration: None, requests: None, bytes: None },
        ..workload.clone()
    };
    // Whether these are known does not matter either.
    ["seed", "interval_s", "limits"].into_iter().for_each(|field| bare.unknown.remove(field));
    for axis in axes {
        match axis {
            Axis::RequestSize => bare.request_size = Bytes(0),
            Axis::Depth => bare.depth = 0,
            Axis::Workers => bare.workers = 0,
            Axis::Caches => {
                (bare.buffering, bare.cache) = (Buffering::Buffered, CachePolicy::Keep);
                (bare.personality, bare.plugin) = (Personality::Sync, None);
            }
            Axis::Durability => bare.durability = Durability::None,
            Axis::Warmup => bare.warmup = Nanoseconds(0),
            Axis::Targets => (bare.among, bare.targets, bare.workers) = (Among::All, 0, 0),
            Axis::Operation => bare.operation = Operation::Read,
            // The span is cleared already.
            Axis::Where => bare.pattern = Pattern::Sequential,
            Axis::Places => (bare.align, bare.offset) = (None, Bytes(0)),
        }
    }
    bare
}

/// Groups of comparable cells, in the order of their first ones.
pub(crate) fn groups<'a>(cells: impl Iterator<Item = &'a Cell<'a>>, axes: &[Axis]) -> Vec<Vec<&'a Cell<'a>>> {
    // Each workload is cleared once.
    let mut groups: Vec<(Workload, Vec<&'a Cell<'a>>)> = Vec::new();
    for cell in cells {
        let bare = bare(cell.workload, axes);
        let any_span = axes.contains(&Axis::Targets) || axes.contains(&Axis::Where);
        let is_comparable = |first: &Cell<'_>| any_span || same_span(first.workload, cell.workload);
        match groups.iter_mut().find(|(common, group)| is_comparable(group[0]) && *common == bare) {
            Some((_, group)) => group.push(cell),
            None => groups.push((bare, vec![cell])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

/// What distinguishes each workload from others of the same name, as a suffix: `, cold cache`; empty if unique.
pub(crate) fn distinctions(named: &[(String, &Workload)], axes: &[Axis]) -> Vec<String> {
    let fields: Vec<Map<String, Value>> = named.iter().map(|(_, workload)| fields(&bare(workload, axes))).collect();
    let of = |index: usize| {
        let (name, workload) = &named[index];
        let namesakes = || (0..named.len()).filter(|other| *other != index && named[*other].0 == *name);
        let differs = |key: &str| namesakes().any(|other| fields[other].get(key) != fields[index].get(key));
        let other_span = namesakes().any(|other| !same_span(named[other].1, workload));
        let worded = [
            (differs("personality") || differs("plugin"), workload.named_personality().to_string()),
            (differs("cache"), format!("{} cache", workload.cache)),
            (other_span, format!("over {}", workload.span)),
            (differs("file_state"), workload.file_state.in_words()),
            (differs("warmup_s"), format!("warm-up {}", workload.warmup)),
            (differs("cpus"), cpus(workload)),
        ];
        let others: BTreeSet<&String> = namesakes().chain([index]).flat_map(|one| fields[one].keys()).collect();
        let is_worded = |key: &str| ["personality", "plugin", "cache", "file_state", "warmup_s", "cpus"].contains(&key);
        let others = others.into_iter().filter(|key| !is_worded(key) && differs(key));
        let others = others.map(|key| match workload.is_known(key) {
            true => in_words(key, fields[index].get(key)),
            false => format!("{} unknown", key.replace('_', " ")),
        });
        let worded = worded.into_iter().filter(|(differs, _)| *differs).map(|(_, words)| words);
        worded.chain(others).map(|word| format!(", {word}")).collect()
    };
    (0..named.len()).map(of).collect()
}

/// A workload's fields as in a record.
pub(crate) fn fields(workload: &Workload) -> Map<String, Value> {
    match serde_json::to_value(workload) {
        Ok(Value::Object(mut fields)) => {
            fields.remove("unknown");
            fields
        }
        _ => Map::new(),
    }
}

fn cpus(workload: &Workload) -> String {
    let cpus: Vec<String> = workload.cpus.iter().map(u32::to_string).collect();
    if cpus.is_empty() { "not pinned".to_owned() } else { format!("on CPUs {}", cpus.join(" and ")) }
}

/// A field and its text in records: `sharing whole`, `no rate`.
fn in_words(key: &str, value: Option<&Value>) -> String {
    let name = key.replace('_', " ");
    match value {
        None | Some(Value::Null) => format!("no {name}"),
        Some(Value::String(text)) => format!("{name} {text}"),
        Some(other) => format!("{name} {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{buffered, deep, flushed, read, write};
    use halfpower_model::{FileState, Layout, Sharing, SubmitBatch, Verify};

    #[test]
    fn every_field_parts_but_the_axes_and_what_is_no_part_of_its_nature() {
        let one = write(64);
        // Every field of a record set to something else, one at a time.
        let mut others = vec![
            ("seed", Workload { seed: 9, ..one.clone() }),
            ("limits", Workload { limits: Limits { requests: Some(5), ..one.limits }, ..one.clone() }),
            ("interval_s", Workload { interval: Nanoseconds(5), ..one.clone() }),
        ];
        assert!(others.iter().all(|(_, other)| are_comparable(&one, other, &[])), "none of its nature");
        others = vec![
            ("file_state", Workload { file_state: FileState::Append, ..one.clone() }),
            ("layout", Workload { layout: Layout::Stripe { chunk: Bytes(65_536) }, targets: 2, ..one.clone() }),
            ("sharing", Workload { sharing: Sharing::Cursor, ..one.clone() }),
            ("verify", Workload { verify: Verify::Stamp, ..one.clone() }),
            ("data", Workload { data: "zeros".parse().unwrap(), ..one.clone() }),
            ("ring", Workload { ring: "sqpoll".parse().unwrap(), ..one.clone() }),
            ("submit_batch", Workload { submit_batch: SubmitBatch::Requests(4), ..one.clone() }),
            ("offset", Workload { offset: Bytes(12 << 10), ..one.clone() }),
            ("span", Workload { span: Bytes(1 << 20), ..one.clone() }),
        ];
        for (field, other) in &others {
            assert!(!are_comparable(&one, other, Axis::WAYS), "{field}");
        }
        for other in [read(64), buffered(write(64)), flushed(write(64)), deep(2, write(64)), write(4)] {
            assert!(!are_comparable(&one, &other, &[]), "{other}");
        }
        assert!(are_comparable(&one, &deep(2, write(4)), Axis::LOAD));
        assert!(!are_comparable(&one, &buffered(write(64)), Axis::LOAD));
        assert!(are_comparable(&one, &flushed(buffered(deep(2, write(4)))), Axis::WAYS));
    }

    #[test]
    fn namesakes_get_the_fields_that_tell_them_apart() {
        let batched = Workload { submit_batch: SubmitBatch::Requests(4), verify: Verify::Stamp, ..read(64) };
        let shifted = Workload { align: Some(Bytes(4096)), ..read(64) };
        let name = |text: &str, workload| (text.to_owned(), workload);
        let (plain, lonely) = (read(64), buffered(read(64)));
        let named = [name("a", &plain), name("a", &batched), name("a", &shifted), name("b", &lonely)];
        assert_eq!(
            distinctions(&named, Axis::LOAD),
            [
                ", no align, submit batch auto, verify off",
                ", no align, submit batch 4, verify stamp",
                ", align 4096, submit batch auto, verify off",
                "",
            ]
        );
    }
}
