//! The page of `halfpower link`: each target alone, then together, and whether a medium was involved.

use super::{Bar, Body, Page, Section, sentence};
use crate::report::table::Table;
use halfpower_model::reading::{LinkSetting, LinkSpeed, MediumVerdict};

pub(super) fn page(link: &LinkSpeed) -> Page {
    let went = link.targets.iter().filter(|target| target.medium.verdict == MediumVerdict::Medium);
    let went = went.map(|target| format!("{} went to its medium, so its figure is not that of a link.", target.path));
    let held = link.targets.iter().filter_map(|target| Some((&target.path, target.medium.limited.as_ref()?)));
    let held =
        held.map(|(path, limit)| format!("{path} is limited: {limit}; its figure may be that limit and no link’s."));
    Page {
        title: "Link",
        verdict: [sentence(&link.verdict())].into_iter().chain(went).chain(held).collect(),
        unfinished: None,
        charts: Vec::new(),
        sections: vec![rates(link), media(link)],
        method: vec![
            "After the first time a device has the region in its cache, so that no medium is involved and what is measured \
             is the cache, the link and the bus. Each target is read alone, then several at once, each setting several times \
             in an order drawn anew. Where targets give together less than the sum of what they give alone, they share \
             something, and what they give then is its limit.",
            "Whether a medium was involved is looked at by small reads, one at a time, within the region and far from it.",
        ],
    }
}

fn rates(link: &LinkSpeed) -> Section {
    let end = |setting: &LinkSetting| setting.bytes_per_s.high.unwrap_or(setting.bytes_per_s.value);
    let most = link.settings.iter().map(end).fold(0.0, f64::max);
    let bar = |setting: &LinkSetting| {
        let of_alone = setting.share_of_alone().unwrap_or_default();
        Bar::of_estimate(name(link, setting), setting.bytes_per_s, most, of_alone)
    };
    Section {
        title: "Alone and together".to_owned(),
        about: format!("{}. A figure is the mean, the dark line its 95 % interval.", link.requests()),
        body: Body::Bars(link.settings.iter().map(bar).collect()),
    }
}

/// The target that was read alone, or how many were read at once.
fn name(link: &LinkSpeed, setting: &LinkSetting) -> String {
    match &setting.targets[..] {
        [alone] => link.targets.get(*alone as usize).map_or_else(String::new, |target| target.path.clone()),
        several => format!("{} at once", several.len()),
    }
}

fn media(link: &LinkSpeed) -> Section {
    let rows = link.targets.iter().map(|target| [target.path.clone(), target.medium.to_string()]);
    Section {
        title: "Cache or medium".to_owned(),
        about: String::new(),
        body: Body::Facts(Table::new(["target", "where the bytes came from"], rows)),
    }
}
