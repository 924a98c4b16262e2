//! The one account of what limits reads or writes.
//!
//! A limit that was seen comes first: it explains an idle CPU and a busy device. Otherwise it is what the best cells of large
//! sequential and of small random requests agree on, or what each of them shows. Of a device that a program or a provider serves,
//! the host does not see the parts.

use super::kinds::of_kind;
use crate::attribution::{Attribution, Owner, Sureness};
use crate::evidence::{Evidence, best};
use crate::findings::Paces;
use crate::kind::Kind;
use crate::limits::{Limit, is_virtual};
use crate::pyramid::Pyramid;
use crate::wording::{listed, sentence};
use halfpower_model::{Durability, Operation, Quantity};
use serde::Serialize;

const LARGE: &str = "large";
const SMALL: &str = "small";
/// How many times a limit in requests buffered ones exceed it that were merged.
const BEYOND: f64 = 1.1;

/// What limits requests of an operation.
#[derive(Clone, Debug, Serialize)]
pub struct Account {
    /// Its name: `the device`, `a limit of 3 000 IOPS`.
    pub level: String,
    /// None if it is unknown.
    pub confidence: Option<Sureness>,
    /// What shows it, or what would tell.
    pub evidence: Vec<String>,
    /// Suspects ruled out, each with its figure.
    pub ruled_out: Vec<String>,
    /// What would give more: settings, or else other hardware.
    pub remedies: Vec<String>,
    /// What stands behind its name: how sure it is, or what else it may be, and what would tell.
    #[serde(skip)]
    doubt: String,
}

/// What one kind of requests shows.
struct Part<'a> {
    /// [`LARGE`] or [`SMALL`].
    requests: &'static str,
    name: String,
    sureness: Option<Sureness>,
    reason: String,
    pace: &'a Attribution,
    outstanding: u64,
    is_virtual: bool,
    /// Whether it is a server's volume, without this host's kernel between.
    is_remote: bool,
    /// Whether one flush follows all writes, so that there is no fewer.
    is_flushed_once: bool,
    /// The kernel's maximum of requests at the device, if more are outstanding.
    queue: Option<u64>,
}

pub(super) fn of(
    operation: Operation,
    evidence: &Evidence<'_>,
    paces: &Paces,
    limits: &[Limit],
    pyramids: &[Pyramid],
) -> Option<Account> {
    let mut parts = parts(operation, evidence, paces);
    // Levels with known peaks, or with a limit that targets share, say it of large requests.
    let pyramid = pyramids.iter().find(|pyramid| pyramid.operation == operation);
    if let Some(pyramid) = pyramid
        && let levels = pyramid.bottleneck.map_or(pyramid.alike.clone(), |level| vec![level])
        && !levels.is_empty()
        && let Some(part) = parts.iter_mut().find(|part| part.requests == LARGE)
        && (levels.len() > 1 || part.sureness != Some(Sureness::Sure))
    {
        let names: Vec<String> = levels.iter().map(|level| format!("the {}", level.name())).collect();
        part.name = names.join(" or ");
        part.sureness = Some(Sureness::Likely);
        part.reason.clone_from(&pyramid.brief);
    }
    let ruled_out = parts.first().map(|part| ruled_out_by_all(&parts, part)).unwrap_or_default();
    let is_of = |limit: &&Limit| limit.operation.is_none_or(|of| of == operation);
    let (all, limits): (_, Vec<&Limit>) = (limits, limits.iter().filter(is_of).collect());
    // A server with a limit pauses before an answer: data that arrive all the time show the link, whose rate is as regular.
    let is_link = |part: &Part<'_>| part.is_remote && part.pace.owner == Some(Owner::Link);
    let is_of_link = limits.iter().all(|limit| limit.what == Quantity::BytesPerSecond) && parts.iter().any(is_link);
    if !limits.is_empty() && !is_of_link {
        let rates: Vec<String> = limits.iter().map(|limit| limit.brief()).collect();
        let confidence = limits.iter().map(|limit| limit.confidence).min();
        let may_fall = limits.iter().all(|limit| limit.burst.is_none());
        let may_be_a_cache = limits.iter().all(|limit| limit.may_be_a_cache(all));
        let merges = merges_before(operation, evidence, &limits);
        // The host of a virtual disk may limit writes alone.
        let is_cache = may_be_a_cache
            && evidence.cells.iter().flat_map(|cell| &cell.repetitions).any(|one| !is_virtual(&one.sample.environment));
        let is_of_group = limits.iter().any(|limit| limit.group.is_some());
        let holder = if is_of_group { "the control group" } else { "the volume or of its host" };
        let remedy = (!may_be_a_cache).then(|| format!("raise the limit of {holder}"));
        return Some(Account {
            level: format!(
                "{} {}",
                if is_cache { "a write cache that fills up:" } else { "a limit of" },
                listed(&rates)
            ),
            confidence,
            evidence: limits.iter().map(|limit| limit.sentence.clone()).collect(),
            ruled_out,
            remedies: remedy.into_iter().collect(),
            doubt: in_brackets([
                (confidence == Some(Sureness::Likely)).then_some("likely"),
                match limits.iter().find_map(|limit| limit.known) {
                    _ if !may_fall || confidence != Some(Sureness::Likely) => None,
                    None => Some("it may be a burst"),
                    known => known,
                },
                (may_be_a_cache && !is_cache).then_some("or of a write cache that fills up"),
                merges,
            ]),
        });
    }
    let named: Vec<&Part<'_>> = parts.iter().filter(|part| part.sureness.is_some()).collect();
    let evidence_of = |part: &&Part<'_>| sentence(&format!("{} requests: {}", part.requests, part.reason));
    let confidence = named.iter().filter_map(|part| part.sureness).min();
    let (level, evidence) = match named[..] {
        [] => {
            let reason = &parts.first()?.reason;
            return Some(Account {
                level: "unknown".to_owned(),
                confidence: None,
                evidence: vec![sentence(reason), sentence(would_tell(reason))],
                ruled_out,
                remedies: Vec::new(),
                doubt: format!(" ({}; {})", suspects(reason), would_tell(reason)),
            });
        }
        [first, second] if first.name != second.name => {
            let level =
                format!("{} for {} requests, {} for {}", first.name, first.requests, second.name, second.requests);
            (level, named.iter().map(evidence_of).collect())
        }
        [first, ..] => (first.name.clone(), named.iter().map(evidence_of).collect()),
    };
    let remedies = remedies(&named);
    Some(Account { level, confidence, evidence, ruled_out, remedies, doubt: doubt(confidence) })
}

/// What explains that the page cache lets through more requests than a limit of them: it makes one of several.
fn merges_before(operation: Operation, evidence: &Evidence<'_>, limits: &[&Limit]) -> Option<&'static str> {
    let kind = if operation == Operation::Read { Kind::RandomRead } else { Kind::RandomWrite };
    let fastest =
        best(&of_kind(evidence.cells.iter().copied(), kind)).filter(|(cell, _)| !cell.workload.buffering.is_direct());
    let rate = fastest.map_or(0.0, |(_, rate)| rate.value);
    let is_passed = |limit: &&Limit| limit.what == Quantity::RequestsPerSecond && rate > BEYOND * limit.sustained.value;
    limits.iter().any(is_passed).then_some("the page cache merges small requests before it")
}

/// What would give more, without doubles: settings, or else other hardware.
fn remedies(parts: &[&Part<'_>]) -> Vec<String> {
    let of = |remedy: fn(&Part<'_>) -> Option<String>| -> Vec<String> {
        let mut all: Vec<String> = parts.iter().filter_map(|part| remedy(part)).collect();
        all.dedup();
        all
    };
    let settings = of(setting);
    if settings.is_empty() { of(hardware) } else { settings }
}

fn setting(part: &Part<'_>) -> Option<String> {
    if let Some(queue) = part.queue {
        return Some(format!("raise nr_requests (now {queue})"));
    }
    let words = match part.pace.owner? {
        Owner::ThrottledBandwidth | Owner::ThrottledRequests => "raise the limit of the control group",
        Owner::DirtyPages => "write with direct I/O",
        Owner::ReadBeforeWrite => "write whole blocks",
        Owner::Flushes if !part.is_flushed_once => "flush less often",
        Owner::DelayedAcknowledgement => "set TCP_NODELAY at the server",
        Owner::Credits => "raise the server's credits, or use more --connections",
        Owner::Depth => return Some(format!("try more than QD{}", part.outstanding)),
        _ => return None,
    };
    Some(words.to_owned())
}

fn hardware(part: &Part<'_>) -> Option<String> {
    let words = match part.pace.owner? {
        Owner::Cpu => "use larger requests or a faster CPU",
        Owner::Bus => "use a faster bus",
        Owner::Controller => "use a faster controller",
        Owner::Link if part.is_remote => "use a faster link, or more --connections if the server sends slowly",
        Owner::Link => "use a faster link",
        Owner::Device if part.is_virtual => "ask the provider of the disk for a faster one",
        Owner::Device => "use a faster device, or several",
        Owner::Server => "measure on the server, which tells its own part from its storage",
        _ => return None,
    };
    Some(words.to_owned())
}

/// What the best large sequential and the best small random requests show.
fn parts<'a>(operation: Operation, evidence: &Evidence<'_>, paces: &'a Paces) -> Vec<Part<'a>> {
    let kinds = match operation {
        Operation::Read => [Kind::SequentialRead, Kind::RandomRead],
        _ => [Kind::SequentialWrite, Kind::RandomWrite],
    };
    let part = |kind: Kind| {
        let (cell, _) = best(&of_kind(evidence.cells.iter().copied(), kind))?;
        let pace = paces.get(cell).filter(|pace| pace.says_something())?;
        let environment = &cell.repetitions.first()?.sample.environment;
        let requests = if matches!(kind, Kind::RandomRead | Kind::RandomWrite) { SMALL } else { LARGE };
        let (outstanding, is_virtual) = (cell.outstanding(), is_virtual(environment));
        // The device may have been kept from more.
        let is_kept = |most: &u64| *most < outstanding && pace.owner == Some(Owner::Device);
        let queue = environment.target.requests_max.filter(is_kept);
        let name = match (pace.owner, &pace.at) {
            (Some(Owner::Device), _) if queue.is_some() => "the device or its short queue (nr_requests)".to_owned(),
            (Some(Owner::Device), _) if is_virtual => "the virtual disk or what is behind it".to_owned(),
            (Some(Owner::Depth), _) => format!("queue depth (QD{outstanding} was the deepest measured)"),
            (Some(owner), Some(at)) => format!("{} ({at})", owner.name()),
            (owner, _) => owner.map_or("unknown", Owner::name).to_owned(),
        };
        let (sureness, reason) = (pace.sureness, pace.reason.clone());
        let is_flushed_once = cell.workload.durability == Durability::FlushAtEnd;
        let is_remote = environment.remote_target().is_some();
        Some(Part {
            requests,
            name,
            sureness,
            reason,
            pace,
            outstanding,
            is_virtual,
            is_remote,
            is_flushed_once,
            queue,
        })
    };
    kinds.into_iter().filter_map(part).collect()
}

/// What each of the parts rules out, with the figures of the first.
fn ruled_out_by_all(parts: &[Part<'_>], first: &Part<'_>) -> Vec<String> {
    let name = |reason: &str| reason.split(" (").next().unwrap_or_default().to_owned();
    let by = |part: &Part<'_>, reason: &String| part.pace.ruled_out.iter().any(|other| name(other) == name(reason));
    first.pace.ruled_out.iter().filter(|reason| parts.iter().all(|part| by(part, reason))).cloned().collect()
}

/// ` (likely; it may be a burst)`; nothing without parts.
fn in_brackets<const N: usize>(parts: [Option<&str>; N]) -> String {
    let parts: Vec<&str> = parts.into_iter().flatten().collect();
    if parts.is_empty() { String::new() } else { format!(" ({})", parts.join("; ")) }
}

fn doubt(confidence: Option<Sureness>) -> String {
    if confidence == Some(Sureness::Likely) { " (likely)".to_owned() } else { String::new() }
}

/// `the CPU or the device`, of `the CPU: 100 % of all …; the device: it had …`.
fn suspects(reason: &str) -> String {
    let names: Vec<&str> = reason.split("; ").filter_map(|part| Some(part.split_once(": ")?.0)).collect();
    if names.is_empty() { reason.split("; ").next().unwrap_or_default().to_owned() } else { names.join(" or ") }
}

/// The measurement that would tell which of the suspects it is.
fn would_tell(reason: &str) -> &'static str {
    let is_about = |name: &str| reason.split("; ").any(|part| part.starts_with(name));
    match () {
        () if is_about("the repetitions disagree") => "a run while nothing else runs would tell",
        () if is_about("the CPU") => "a run on an idle machine would tell",
        () if is_about("queue depth") => "a deeper queue would tell",
        () if is_about("the device: it has no counters") => "--pap device=RATE would tell",
        () if is_about("the server") => "a deeper queue would tell",
        () if is_about("the load generator") => "more workers would tell",
        () => "halfpower io --block-phases would tell",
    }
}

impl Account {
    /// The level with its confidence; if it is unknown, with the suspects and the measurement that would tell.
    pub fn words(&self) -> String {
        format!("{}{}", self.level, self.doubt)
    }

    /// `the bottleneck of reads is the device (likely)`.
    pub(super) fn claim(&self, requests: &str) -> String {
        format!("the bottleneck of {requests} is {}", self.words())
    }

    pub(crate) fn sentence(&self, requests: &str) -> String {
        sentence(&self.claim(requests))
    }
}
