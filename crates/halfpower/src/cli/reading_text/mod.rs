//! A reading of an instrument for people.

mod burst;
mod inspect;
mod memory;
mod soak;
mod zones;

use crate::harmless::harmless;
use halfpower_model::Reading;
use halfpower_model::reading::{Figures, Scrubbed, cached_share};
use std::fmt::Write;

/// A reading for people.
pub(super) fn summary(reading: &Reading) -> String {
    let mut text = String::new();
    match &reading.figures {
        Figures::Inspect(inspected) => inspect::inspect(&mut text, inspected),
        Figures::Scrub(scrubbed) => scrub(&mut text, scrubbed),
        Figures::Burst(burst) => burst::write(&mut text, burst),
        Figures::Zones(zones) => zones::write(&mut text, zones),
        Figures::Memory(speed) => memory::memory(&mut text, speed),
        Figures::Soak(soaked) => soak::soak(&mut text, soaked),
    }
    for warning in &reading.warnings {
        let _ = writeln!(text, "  {:<11} {}; {}", "warning", harmless(&warning.message), warning.remedy);
    }
    text
}

fn scrub(text: &mut String, scrubbed: &Scrubbed) {
    for target in &scrubbed.targets {
        let _ = writeln!(text, "{}, {}", harmless(&target.path), target.size_bytes);
        let _ = writeln!(text, "  {:<22} {}", "in the cache before", cached_share(target.cached_before));
        for step in &target.steps {
            let _ = writeln!(text, "  {:<22} {}", step.way, cached_share(step.cached_after));
        }
    }
}
