//! A reading of an instrument for people.

mod idle;
mod inspect;
mod link;
mod map;
mod memory;

use crate::harmless::harmless;
use halfpower_model::Reading;
use halfpower_model::reading::{DroppedCache, Figures, cached_share};
use std::fmt::Write;

/// A reading for people.
pub(super) fn summary(reading: &Reading) -> String {
    let mut text = String::new();
    match &reading.figures {
        Figures::Inspect(inspected) => inspect::inspect(&mut text, inspected),
        Figures::DropCache(dropped) => drop_cache(&mut text, dropped),
        Figures::Link(link) => link::write(&mut text, link),
        Figures::Map(map) => map::write(&mut text, map),
        Figures::Memory(speed) => memory::memory(&mut text, speed),
        Figures::Idle(idleness) => idle::idle(&mut text, idleness),
    }
    for warning in &reading.warnings {
        let _ = writeln!(text, "  {:<11} {}; {}", "warning", harmless(&warning.message), warning.remedy);
    }
    text
}

fn drop_cache(text: &mut String, dropped: &DroppedCache) {
    for target in &dropped.targets {
        let _ = writeln!(text, "{}, {}", harmless(&target.path), target.size_bytes);
        let _ = writeln!(text, "  {:<22} {}", "in the cache before", cached_share(target.cached_before));
        for step in &target.steps {
            let _ = writeln!(text, "  {:<22} {}", step.way, cached_share(step.cached_after));
        }
    }
}
