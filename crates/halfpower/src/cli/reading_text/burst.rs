//! What `halfpower burst` found, for people.

use crate::cli::console::printable;
use halfpower_model::reading::{Burst, BurstSetting, BurstTarget, Medium, MediumVerdict};
use halfpower_model::units::significant;
use halfpower_model::{Estimate, Nanoseconds};
use std::fmt::Write;

/// The limit first, then each target, then those at once.
pub(super) fn write(text: &mut String, burst: &Burst) {
    let _ = writeln!(text, "{}", headline(burst));
    let _ = writeln!(
        text,
        "  {} reads of the same {}, {} deep, direct, {} times {}",
        burst.request_bytes,
        burst.region_bytes,
        burst.depth,
        burst.settings.first().map_or(0, |setting| setting.repetitions.len()),
        burst.duration,
    );
    let width = burst.targets.iter().map(|target| target.path.chars().count()).max().unwrap_or(0).max(12);
    let (alone, together): (Vec<_>, Vec<_>) = burst.settings.iter().partition(|setting| setting.targets.len() == 1);
    for (target, setting) in burst.targets.iter().zip(alone) {
        let _ = writeln!(text, "  {:<width$}  {}", printable(&target.path), setting.bytes_per_s);
        let _ = writeln!(text, "  {:<width$}  {}", "", medium(target));
    }
    for setting in together {
        let name = format!("{} at once", setting.targets.len());
        let _ = writeln!(text, "  {name:<width$}  {}{}", setting.bytes_per_s, of_alone(setting));
    }
}

fn headline(burst: &Burst) -> String {
    let most = burst.settings.iter().max_by_key(|setting| setting.targets.len());
    let rate = |estimate: Option<Estimate>| {
        estimate.map_or_else(|| "nothing".to_owned(), |rate| rate.quantity.format(rate.value))
    };
    let all = rate(most.map(|setting| setting.bytes_per_s));
    match (&burst.limit, burst.targets.len()) {
        (_, 1) => format!("{all} from one target"),
        (Some(limit), _) => {
            let reached = limit.targets;
            format!("{} shared: {reached} targets reach what they have in common", rate(Some(limit.bytes_per_s)))
        }
        (None, count) => format!("{all} from {count} targets, which share no limit that this reaches"),
    }
}

fn of_alone(setting: &BurstSetting) -> String {
    let percent = |share: f64| significant(share * 100.0);
    let interval = |ratio: &Estimate| match (ratio.low, ratio.high) {
        (Some(low), Some(high)) => format!(" [{} to {}]", percent(low), percent(high)),
        _ => String::new(),
    };
    let text = |ratio: Estimate| format!(", {} %{} of the sum alone", percent(ratio.value), interval(&ratio));
    setting.of_alone.map(text).unwrap_or_default()
}

fn medium(target: &BurstTarget) -> String {
    let Medium { near_p50_ns, far_p50_ns, slow_share, verdict } = target.medium;
    let time = |nanoseconds: Option<u64>| {
        nanoseconds.map_or_else(|| "an unknown time".to_owned(), |nanoseconds| Nanoseconds(nanoseconds).to_string())
    };
    let (near, far) = (time(near_p50_ns), time(far_p50_ns));
    let slow = slow_share.map(|share| significant(share * 100.0));
    match (verdict, slow) {
        (MediumVerdict::Cache, _) => format!("from a cache: a small read here takes {near}, one far away {far}"),
        (MediumVerdict::Medium, Some(share)) => {
            format!("went to its medium: {share} % of the re-reads took as much longer as that takes ({far})")
        }
        (MediumVerdict::Medium, None) => format!("went to its medium: even a small read here takes {near}"),
        (MediumVerdict::Undecided, _) if far_p50_ns.is_none() => {
            "from a cache or a medium: there is nothing far away to compare with".to_owned()
        }
        (MediumVerdict::Undecided, _) => {
            format!("from a cache or a medium as fast: a small read here takes {near}, one far away {far}")
        }
    }
}
