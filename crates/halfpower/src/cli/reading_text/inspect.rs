//! What `halfpower inspect` found, as a tree for people. Names are what the kernel tells, so every one is made harmless.

use crate::harmless::harmless;
use halfpower_model::reading::{Branch, Inspected, InspectedTarget};
use std::fmt::Write;

/// Every target with its tree and its levels, then the machine.
pub(super) fn inspect(text: &mut String, inspected: &Inspected) {
    for shown in &inspected.targets {
        target(text, shown);
    }
    let _ = writeln!(text, "This machine");
    tree(text, &inspected.machine.facts(), 1);
}

fn target(text: &mut String, target: &InspectedTarget) {
    let _ = writeln!(text, "{}", harmless(&target.path));
    tree(text, &target.ground.tree(), 1);
    let _ = writeln!(text, "\n  {:<12} {:<12} from", "level", "advertised");
    for level in &target.levels {
        let (name, peak) = (level.name.title(), level.peak());
        let _ = writeln!(text, "  {name:<12} {peak:<12} {}", harmless(&level.source));
    }
    if target.levels.iter().any(|level| level.pap_bytes_per_s.is_none()) {
        let _ = writeln!(text, "  What is unknown can be given: --pap device=3500MB/s");
    }
    text.push('\n');
}

/// A line for each branch: set in by its depth, a name, and what there is to say.
fn tree(text: &mut String, branches: &[Branch], depth: usize) {
    for branch in branches {
        let indent = "  ".repeat(depth);
        let _ = writeln!(text, "{indent}{:<13} {}", harmless(&branch.name), harmless(&branch.said));
        tree(text, &branch.below, depth + 1);
    }
}
