//! What `halfpower link` shows: throughput of each target alone and of several together, and whether the medium was involved.

use crate::instrument::page::{Bar, Body, Page, Section};
use crate::reading::link::{LinkSetting, LinkSpeed, LinkTarget, Medium, MediumVerdict, SharingVerdict};
use crate::report::table::Table;
use halfpower_model::units::significant;
use halfpower_model::{Estimate, Nanoseconds};

pub(crate) fn page(link: &LinkSpeed) -> Page {
    Page {
        title: "Link",
        verdict: [verdict(link)].into_iter().chain(link.targets.iter().filter_map(caveat)).collect(),
        sections: vec![throughput(link), media(link)],
        method: vec![
            "After the first read the region is in the drive\u{2019}s cache, so re-reads measure cache, link and bus. Each target \
             is read alone, then several together. Every setting is repeated, in random order. Targets that give less \
             together than the sum of each alone share a bottleneck.",
            "Small reads at QD1, inside the region and far from it, show whether the medium was involved.",
        ],
        ..Page::default()
    }
}

fn verdict(link: &LinkSpeed) -> String {
    let rate = |estimate: &Estimate| estimate.quantity.format(estimate.value);
    let count = link.targets.len();
    let Some(most) = link.settings.iter().max_by_key(|setting| setting.targets.len()) else {
        return "Nothing was measured.".to_owned();
    };
    let all = rate(&most.bytes_per_s);
    match (&link.limit, link.sharing) {
        _ if count == 1 => format!("{all} from one target."),
        (Some(limit), _) => {
            format!("Shared bottleneck: {}, reached by {} targets.", rate(&limit.bytes_per_s), limit.targets)
        }
        (None, Some(SharingVerdict::Nothing)) => {
            format!("{all} from {count} targets; they share no bottleneck up to that throughput.")
        }
        _ => {
            let share = share_of_alone(most).map(|share| format!(": {share}")).unwrap_or_default();
            format!("{all} from {count} targets; a shared bottleneck is undecided{share}.")
        }
    }
}

/// Why the figure of a target may not be the link's.
fn caveat(target: &LinkTarget) -> Option<String> {
    let LinkTarget { path, medium } = target;
    match &medium.limited {
        Some(limit) => Some(format!("{path} is throttled ({limit}); its figure may be that limit.")),
        None => (medium.verdict == MediumVerdict::Medium)
            .then(|| format!("{path} read from its medium; its figure is not the link\u{2019}s.")),
    }
}

fn throughput(link: &LinkSpeed) -> Section {
    let end = |setting: &LinkSetting| setting.bytes_per_s.high.unwrap_or(setting.bytes_per_s.value);
    let most = link.settings.iter().map(end).fold(0.0, f64::max);
    let bar = |setting: &LinkSetting| {
        let about = share_of_alone(setting).unwrap_or_default();
        Bar::of_estimate(name(link, setting), setting.bytes_per_s, most, about)
    };
    let LinkSpeed { request_bytes, region_bytes, depth, duration, .. } = link;
    let repetitions = link.settings.first().map_or(0, |setting| setting.repetitions.len());
    let about = format!(
        "Direct {request_bytes} reads of the same {region_bytes} at QD{depth}, {repetitions} × {duration}: mean, 95 % CI."
    );
    Section::new("Alone and together", about, Body::Bars(link.settings.iter().map(bar).collect()))
}

/// The target that was read alone, or how many were read together.
fn name(link: &LinkSpeed, setting: &LinkSetting) -> String {
    match &setting.targets[..] {
        [alone] => link.targets.get(*alone as usize).map_or_else(String::new, |target| target.path.clone()),
        several => format!("{} together", several.len()),
    }
}

fn share_of_alone(setting: &LinkSetting) -> Option<String> {
    let percent = |share: f64| significant(share * 100.0);
    let ratio = setting.of_alone?;
    let interval = ratio.low.zip(ratio.high);
    let interval = interval.map(|(low, high)| format!(" [{} to {}]", percent(low), percent(high)));
    Some(format!("{} %{} of the sum of each alone", percent(ratio.value), interval.unwrap_or_default()))
}

fn media(link: &LinkSpeed) -> Section {
    let rows = link.targets.iter().map(|target| [target.path.clone(), source(&target.medium)]);
    Section::new("Cache or medium", "", Body::Facts(Table::new(["target", "re-reads came from"], rows)))
}

fn source(medium: &Medium) -> String {
    let time = |time_ns: Option<u64>| time_ns.map_or("unknown".to_owned(), |time_ns| Nanoseconds(time_ns).to_string());
    let (near, far) = (time(medium.near_p50_ns), time(medium.far_p50_ns));
    match (medium.verdict, medium.slow_share) {
        _ if medium.limited.is_some() => "cache or medium: throttled, so latency shows neither".to_owned(),
        (MediumVerdict::Cache, _) => format!("cache: a small read takes {near}, far away {far}"),
        (MediumVerdict::Medium, Some(share)) => {
            format!("medium: {} % of the re-reads were as slow as a far read ({far})", significant(share * 100.0))
        }
        (MediumVerdict::Medium, None) => format!("medium: even a small read takes {near}"),
        (MediumVerdict::Undecided, _) if medium.far_p50_ns.is_none() => {
            "cache or medium: no room for far reads to compare with".to_owned()
        }
        (MediumVerdict::Undecided, _) => {
            format!("cache, or as fast a medium: a small read takes {near}, far away {far}")
        }
    }
}
