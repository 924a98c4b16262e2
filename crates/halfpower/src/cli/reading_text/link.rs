//! What `halfpower link` found, for people.

use crate::harmless::harmless;
use halfpower_model::reading::LinkSpeed;
use std::fmt::Write;

/// The limit first, then each target, then those at once.
pub(super) fn write(text: &mut String, link: &LinkSpeed) {
    let _ = writeln!(text, "{}", link.verdict());
    let _ = writeln!(text, "  {}", link.requests());
    let width = link.targets.iter().map(|target| target.path.chars().count()).max().unwrap_or(0).max(12);
    let (alone, together): (Vec<_>, Vec<_>) = link.settings.iter().partition(|setting| setting.targets.len() == 1);
    for (target, setting) in link.targets.iter().zip(alone) {
        let _ = writeln!(text, "  {:<width$}  {}", harmless(&target.path), setting.bytes_per_s);
        let _ = writeln!(text, "  {:<width$}  {}", "", target.medium);
    }
    for setting in together {
        let name = format!("{} at once", setting.targets.len());
        let of_alone = setting.share_of_alone().map(|share| format!(", {share}"));
        let _ = writeln!(text, "  {name:<width$}  {}{}", setting.bytes_per_s, of_alone.unwrap_or_default());
    }
}
