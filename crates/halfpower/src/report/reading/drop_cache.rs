//! The page of `halfpower drop-cache`: what of each target was in the file cache, and what is left after each step.

use super::{Bar, Body, Page, Section, sentence};
use halfpower_model::reading::{DroppedCache, DroppedTarget, cached_share};

pub(super) fn page(dropped: &DroppedCache) -> Page {
    Page {
        title: "Drop cache",
        verdict: vec![sentence(&dropped.verdict())],
        unfinished: None,
        charts: Vec::new(),
        sections: dropped.targets.iter().map(section).collect(),
        method: vec![
            "What is dirty is written out, and the kernel is told that the rest will not be needed (posix_fadvise). Where \
             that is not enough and it was asked for, all caches are dropped, or a scratch file as large as the memory is \
             read. What share is in the file cache is looked up (mincore) before, and after each step; a target is cold \
             with less than 1 %.",
        ],
    }
}

fn section(target: &DroppedTarget) -> Section {
    let bar = |label: String, share: Option<f64>| Bar::of_share(label, share, cached_share(share), String::new());
    let steps = target.steps.iter().map(|step| bar(step.way.to_string(), step.cached_after));
    Section {
        title: target.path.clone(),
        about: format!("{}, and the share of it in the file cache.", target.size_bytes),
        body: Body::Bars([bar("before".to_owned(), target.cached_before)].into_iter().chain(steps).collect()),
    }
}
