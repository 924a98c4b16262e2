//! What `halfpower drop-cache` shows: the share of each target in the page cache, before and after each step.

use crate::instrument::page::{Bar, Body, Page, Section};
use crate::text::percent;
use halfpower_engine::drop_cache::{DroppedCache, DroppedTarget, Method};

pub(crate) fn page(dropped: &DroppedCache) -> Page {
    Page {
        title: "Drop cache",
        verdict: vec![verdict(&dropped.targets)],
        sections: dropped.targets.iter().map(section).collect(),
        method: vec![
            "Dirty pages are written back, then posix_fadvise drops the clean ones. On request, the whole page cache is \
             dropped, or a scratch file as large as the memory is read. mincore shows the share of each target in the page \
             cache, before and after each step. A target is cold with less than 1 %.",
        ],
        ..Page::default()
    }
}

fn verdict(targets: &[DroppedTarget]) -> String {
    let share = |target: &DroppedTarget| format!("{} of it is in the page cache", cached_share(target.cached_now()));
    match targets {
        [target] if target.cached_now().is_none() => format!("Cold or not is {}.", cached_share(None)),
        [target] if target.is_cold() => format!("Cold: {}.", share(target)),
        [target] => format!("Not cold: {}.", share(target)),
        targets => match targets.iter().filter(|target| !target.is_cold()).count() {
            0 => format!("Cold: all {} targets.", targets.len()),
            warm => format!("Not cold, or unknown: {warm} of {} targets.", targets.len()),
        },
    }
}

fn section(target: &DroppedTarget) -> Section {
    let bar = |label: &str, share| Bar::of_share(label.to_owned(), share, cached_share(share), String::new());
    let steps = target.steps.iter().map(|step| bar(named(step.method), step.cached_after));
    let bars = [bar("before", target.cached_before)].into_iter().chain(steps);
    Section::new(&target.path, format!("{}; share in the page cache:", target.size_bytes), Body::Bars(bars.collect()))
}

fn named(method: Method) -> &'static str {
    match method {
        Method::Advice => "written back, posix_fadvise",
        Method::DropCaches => "whole page cache dropped",
        Method::ScratchFile => "scratch file read",
    }
}

fn cached_share(share: Option<f64>) -> String {
    share.map_or_else(|| "unknown: mincore needs write access to the file".to_owned(), percent)
}
