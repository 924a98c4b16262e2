//! The closest workload of this program to a trace, as a study, and how far it is off: both are judged by the same figures.

use super::statistics::{EVEN, Gatherer, Statistics};
use crate::study::study_text;
use crate::text::percent;
use halfpower_model::arrivals::ArrivalStream;
use halfpower_model::trace::{Contents, Entry};
use halfpower_model::units::significant;
use halfpower_model::{
    Arrivals, Bytes, Nanoseconds, Operation, Pattern, Rate, Request, RequestKind, RequestStream, Sizes, Workload,
    WorkloadSpec,
};
use std::fmt::Write as _;

/// Sizes of each kind that it has.
const SIZES: usize = 8;
/// Requests by which it is judged.
const JUDGED: u64 = 1_000_000;
/// Shares from which requests count as sequential, and as going to a hot fifth.
const SEQUENTIAL: f64 = 0.5;
const HOT: f64 = 0.35;

/// The workload.
fn spec(of: &Statistics) -> WorkloadSpec {
    let pattern = if of.sequential_share() >= SEQUENTIAL {
        Pattern::Sequential
    } else if of.hottest_fifth >= HOT {
        let requests_percent = (of.hottest_fifth * 100.0).round().clamp(21.0, 99.0) as u8;
        Pattern::HotCold { requests_percent, places_percent: 20 }
    } else {
        Pattern::Random
    };
    let list = |kind: RequestKind| {
        let of_kind = of.kinds.iter().find(|of| of.kind == kind && kind != RequestKind::Flush)?;
        let kept: u64 = of_kind.sizes.iter().take(SIZES).map(|(_, count)| count).sum();
        let weight = |count: u64| (count as f64 * 1000.0 / kept as f64).round().max(1.0);
        let item = |(size, count): &(u32, u64)| format!("{}:{}", Bytes((*size).into()).exactly(), weight(*count));
        let word = kind.word();
        Some(format!("{word}={}", of_kind.sizes.iter().take(SIZES).map(item).collect::<Vec<_>>().join("/")))
    };
    let sizes: Vec<String> = RequestKind::ALL.into_iter().filter_map(list).collect();
    let sizes: Sizes = sizes.join(",").parse().unwrap_or_default();
    let request_size = sizes.all().max().unwrap_or(Bytes(4096));
    let one_size = sizes.all().all(|size| size == request_size);
    let outstanding = u32::from(of.contents.outstanding);
    WorkloadSpec {
        operation: Some(Operation::of_counts(frequent(of.contents.requests))),
        pattern: Some(pattern),
        request_size: one_size.then_some(request_size),
        sizes: (!one_size).then_some(sizes),
        depth: Some(if outstanding == 0 { 64 } else { outstanding.min(1024) }),
        size: Some(Bytes(span(of, pattern).max(16 * request_size.0).next_multiple_of(1 << 20))),
        arrivals: Some(if of.dispersion.is_some_and(|dispersion| dispersion < EVEN) {
            Arrivals::Constant
        } else {
            Arrivals::Poisson
        }),
        rate: Some(Rate::Requests(of.requests_per_s.round().max(1.0) as u64)),
        ..WorkloadSpec::default()
    }
}

/// Without the kinds of less than half a percent, which a whole percent would multiply.
fn frequent(requests: [u64; 4]) -> [u64; 4] {
    let total: u64 = requests.iter().sum();
    requests.map(|count| if count.saturating_mul(200) < total { 0 } else { count })
}

/// The bytes in which the pattern accesses as many different ones as the trace: from these to all that the trace reaches, if it
/// accesses few twice.
fn span(of: &Statistics, pattern: Pattern) -> u64 {
    let accessed = of.working_set_bytes as f64;
    let moved = of.contents.bytes[..2].iter().sum::<u64>() as f64;
    let hot = if matches!(pattern, Pattern::HotCold { .. }) { of.hottest_fifth } else { 0.2 };
    let distinct = |size: f64| match pattern {
        Pattern::Sequential => moved.min(size),
        // Of independent requests to each part, as in drawing with replacement.
        _ => [(hot, 0.2), (1.0 - hot, 0.8)]
            .iter()
            .map(|(share, part)| part * size * -(-share * moved / (part * size)).exp_m1())
            .sum(),
    };
    let (mut low, mut high) = (accessed, accessed.max(of.contents.end.0 as f64));
    for _ in 0..64 {
        let middle = low.midpoint(high);
        *if distinct(middle) <= accessed { &mut low } else { &mut high } = middle;
    }
    low as u64
}

/// The figures of a workload's own stream.
fn statistics(workload: &Workload, requests: u64) -> Statistics {
    let each = |mut add: Box<dyn FnMut(&Entry) + '_>| {
        let mut stream = RequestStream::new(workload, 0, None);
        let mut arrivals = ArrivalStream::new(workload, 0);
        for _ in 0..requests.min(JUDGED) {
            let mut request = [Request::default()];
            stream.fill(&mut request);
            let at = Nanoseconds(arrivals.as_ref().map_or(0, ArrivalStream::next_ns));
            add(&Entry { at, request: request[0], latency: None, outstanding: 0 });
            arrivals.iter_mut().for_each(|arrivals| arrivals.advance(request[0].length));
        }
    };
    let mut contents = Contents::default();
    each(Box::new(|entry| contents.add(entry)));
    let mut gatherer = Gatherer::new(contents);
    each(Box::new(|entry| gatherer.add(entry)));
    gatherer.finish()
}

/// The study.
pub(crate) fn study(name: &str, of: &Statistics) -> String {
    let spec = spec(of);
    let mut workload = Workload { workers: 1, targets: 1, ..spec.imported(Some(1)) };
    // The largest of several sizes, as resolving sets it.
    workload.request_size = workload.sizes.all().max().unwrap_or(workload.request_size);
    let synthetic = statistics(&workload, of.contents.total());
    let mut head = format!("# The closest workload to the trace {name}, and how far it is off:\n#\n");
    let _ = writeln!(head, "# {:<26} {:>12} {:>12}", "", "trace", "this");
    let bytes = |bytes: f64| Bytes(bytes.round() as u64).to_string();
    let variance = |of: &Statistics| of.dispersion.map_or("–".to_owned(), significant);
    let kind = |what, kind| (what, percent(of.share(kind)), percent(synthetic.share(kind)));
    let rare = [("trims", RequestKind::Trim), ("flushes", RequestKind::Flush)];
    let rare = rare.into_iter().filter(|(_, kind)| of.share(*kind) > 0.0).map(|(what, of)| kind(what, of));
    let first = [
        ("requests/s", significant(of.requests_per_s), significant(synthetic.requests_per_s)),
        ("variance of arrivals", variance(of), variance(&synthetic)),
        kind("reads", RequestKind::Read),
    ];
    let last = [
        ("mean size", bytes(of.mean_bytes()), bytes(synthetic.mean_bytes())),
        ("sequential", percent(of.sequential_share()), percent(synthetic.sequential_share())),
        ("to the hottest fifth", percent(of.hottest_fifth), percent(synthetic.hottest_fifth)),
        ("bytes accessed", bytes(of.working_set_bytes as f64), bytes(synthetic.working_set_bytes as f64)),
        ("of the first", of.contents.end.to_string(), synthetic.contents.end.to_string()),
    ];
    for (what, trace, this) in first.into_iter().chain(rare).chain(last) {
        let _ = writeln!(head, "# {what:<26} {trace:>12} {this:>12}");
    }
    head.push_str(
        "#\n# The variance is that of the requests in 10 ms over their mean: 1 for independent arrivals.\n\n",
    );
    let question = "What does the storage give to requests like those of the trace?";
    let sweeps = [("like the trace".to_owned(), WorkloadSpec { size: None, ..spec.clone() })];
    study_text(&head, &format!("like-{name}"), question, spec.size, 5.0, &sweeps)
}
