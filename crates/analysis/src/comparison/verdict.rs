//! The overall outcome of a comparison.

use super::change::{Change, ComparedCell, Doubt, Standing};
use super::figure::Figure;
use halfpower_model::Workload;
use halfpower_model::units::significant;
use serde::Serialize;

/// The overall outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// A figure of a workload is worse.
    Regression,
    /// Nothing is worse, but some throughput that was measured several times, or each, is undecided.
    Undecided,
    /// Some are better, and no throughput is undecided.
    Improved,
    /// Every throughput is within its margin.
    Equivalent,
}

/// The outcome and its sentence; arms of one run are A and B.
pub(super) fn of(cells: &[ComparedCell], are_arms: bool, is_one_target: bool) -> (Outcome, String) {
    let changes = || cells.iter().flat_map(|cell| cell.changes.iter().map(move |change| (cell, change)));
    let throughputs = changes().filter(|(_, change)| change.figure == Figure::Throughput).count();
    let worst = |standing: Standing| {
        // The parent's throughput adds nothing if the throughput changed alike.
        let says_it = |cell: &ComparedCell, change: &Change| {
            change.figure != Figure::ParentThroughput
                || cell.change(Figure::Throughput).is_none_or(|throughput| throughput.standing != standing)
        };
        let all = changes().filter(|(cell, change)| change.standing == standing && says_it(cell, change));
        let mut all: Vec<_> = all.collect();
        // Throughputs first: a p99 may be a hundred times longer where they fell by half. Those that changed alike stay in the
        // order of the plan.
        let rounded = |change: &Change| (factor(change) * 1e9).round();
        all.sort_by(|(_, one), (_, other)| {
            let throughput_first = other.figure.is_throughput().cmp(&one.figure.is_throughput());
            throughput_first.then(rounded(other).total_cmp(&rounded(one)))
        });
        all
    };
    let (worse, better) = (worst(Standing::Worse), worst(Standing::Better));
    let undecided = worst(Standing::Undecided);
    let undecided: Vec<_> = undecided.iter().filter(|(_, change)| change.figure == Figure::Throughput).collect();
    if cells.is_empty() {
        return (Outcome::Undecided, "Undecided: the two have no workload in common.".to_owned());
    }
    if throughputs > 0 && changes().all(|(_, change)| change.same_samples) {
        let sentence = match cells.len() {
            1 => "Equivalent: identical, sample by sample.".to_owned(),
            workloads => format!("Equivalent: identical, sample by sample, in all {workloads} workloads."),
        };
        return (Outcome::Equivalent, sentence);
    }
    let found = if better.is_empty() { String::new() } else { format!(" Better: {}.", listed(&better)) };
    // A gain in throughput goes before its cost in latency or CPU time.
    let is_of_throughput = |changes: &[(_, &Change)]| changes.iter().any(|(_, change)| change.figure.is_throughput());
    if !worse.is_empty() && is_of_throughput(&better) && !is_of_throughput(&worse) {
        let verdict = if are_arms { "B is faster" } else { "Faster" };
        return (Outcome::Regression, format!("{verdict}: {}. Worse: {}.", listed(&better), listed(&worse)));
    }
    if are_arms && is_of_throughput(&better) && is_of_throughput(&worse) {
        let words = "B is better at some, worse at others";
        return (Outcome::Regression, format!("{words}. Better: {}. Worse: {}.", listed(&better), listed(&worse)));
    }
    if !worse.is_empty() {
        let verdict = if are_arms { "B is worse" } else { "Regression" };
        let above =
            is_one_target.then(|| above_the_device(cells)).flatten().map(|said| format!(" {said}")).unwrap_or_default();
        return (Outcome::Regression, format!("{verdict}: {}.{found}{above}", listed(&worse)));
    }
    // A survey measures once what its answer does not depend on.
    let once = undecided.iter().filter(|(_, change)| change.single).count();
    let are_all_single = changes().all(|(_, change)| change.single || change.figure != Figure::Throughput);
    let is_found = undecided.is_empty() && !better.is_empty();
    if are_all_single && !is_found || undecided.len() > once {
        let doubts = doubts(&undecided);
        let unfound = || if doubts.is_empty() { unfound(changes().map(|(_, change)| change)) } else { String::new() };
        let found = if found.is_empty() { unfound() } else { found };
        let why =
            if 2 * once > undecided.len() { "one sample only" } else { "too much scatter, or too few repetitions" };
        let of = format!("{} of {throughputs} throughputs", undecided.len());
        let sentence = match better.is_empty() {
            true => format!("Undecided: {why}, for {of}{doubts}.{found}"),
            false => format!("{}: {}. Undecided: {why}, for {of}{doubts}.", improved(are_arms), listed(&better)),
        };
        return (Outcome::Undecided, sentence);
    }
    let not_judged = match once {
        0 => String::new(),
        1 => " One that was measured once is not judged.".to_owned(),
        _ => format!(" {once} that were measured once are not judged."),
    };
    if !better.is_empty() {
        return (Outcome::Improved, format!("{}: {}.{not_judged}", improved(are_arms), listed(&better)));
    }
    let judged = throughputs - once;
    let sentence = format!("Equivalent: none of {judged} throughputs changed by more than the margin.{not_judged}");
    (Outcome::Equivalent, sentence)
}

fn improved(are_arms: bool) -> &'static str {
    if are_arms { "B is better" } else { "Improved" }
}

/// ` No change was found; one of less than a factor of 1.6 would not be.`, at the median of the throughputs; empty without intervals.
fn unfound<'a>(changes: impl Iterator<Item = &'a Change>) -> String {
    let throughputs = changes.filter(|change| change.figure == Figure::Throughput);
    let needed = |change: &Change| Some(change.margin.ends().1 * change.ratio.high? / change.ratio.value);
    let mut factors: Vec<f64> = throughputs.filter_map(needed).collect();
    factors.sort_by(f64::total_cmp);
    let in_words = |factor: &f64| {
        format!(" No change was found; one of less than a factor of {} would not be.", significant(*factor))
    };
    factors.get(factors.len() / 2).map(in_words).unwrap_or_default()
}

/// Which are undecided among so many only, in a few words, with the largest of them. The changes are sorted.
fn doubts(undecided: &[&(&ComparedCell, &Change)]) -> String {
    let doubtful = || undecided.iter().filter_map(|(cell, change)| Some((*cell, *change, change.doubt?)));
    doubtful().next().map_or_else(String::new, |(cell, change, Doubt::OneOfMany { workloads })| {
        let (count, words) = (doubtful().count(), words(change));
        let largest = format!("{words} ({})", cell.name);
        let of = if count == 1 { format!("one, {largest},") } else { format!("{count} of them, up to {largest},") };
        format!("; {of} would be significant alone, but not among {workloads} comparisons")
    })
}

/// The larger over the smaller.
fn factor(change: &Change) -> f64 {
    change.ratio.value.max(1.0 / change.ratio.value)
}

/// The largest change of each kind of requests and number of workers, then the next largest ones; in their order.
fn shown<'a>(changes: &[(&'a ComparedCell, &'a Change)], most: usize) -> Vec<(&'a ComparedCell, &'a Change)> {
    let kind = |place: usize| {
        let workload = &changes[place].0.workload;
        (workload.workers, workload.operation, workload.pattern)
    };
    let is_first = |place: &usize| !(0..*place).any(|other| kind(other) == kind(*place));
    let (first, others): (Vec<usize>, Vec<usize>) = (0..changes.len()).partition(is_first);
    let mut places: Vec<usize> = first.into_iter().chain(others).take(most).collect();
    places.sort_unstable();
    places.into_iter().map(|place| changes[place]).collect()
}

/// The largest changes, with common words said once, and how many more there are.
fn listed(changes: &[(&ComparedCell, &Change)]) -> String {
    const SHOWN: usize = 4;
    let shown = &shown(changes, SHOWN);
    let parts: Vec<Vec<&str>> = shown.iter().map(|(cell, _)| cell.name.split(", ").collect()).collect();
    let is_shared = |part: &&str| parts.iter().all(|parts| parts.contains(part));
    let shared: Vec<&str> = parts.first().into_iter().flatten().copied().filter(is_shared).collect();
    let mut said: Vec<(String, Vec<String>)> = Vec::new();
    for ((_, change), parts) in shown.iter().zip(&parts) {
        let own: Vec<&str> = parts.iter().copied().filter(|part| !is_shared(part)).collect();
        let words = format!("{} {}", change.figure.name(), words(change));
        match said.last_mut().filter(|(last, _)| *last == words) {
            Some((_, workloads)) => workloads.push(own.join(", ")),
            None => said.push((words, vec![own.join(", ")])),
        }
    }
    let in_words = said.into_iter().map(|(words, workloads)| match workloads.join("; ") {
        of if of.is_empty() => words,
        of => format!("{words} ({of})"),
    });
    let in_words: Vec<String> = in_words.collect();
    let more = changes.len() - shown.len();
    let more = if more == 0 { String::new() } else { format!("; and {more} more") };
    let subject = if shared.is_empty() { String::new() } else { format!("{}: ", shared.join(", ")) };
    format!("{subject}{}{more}", in_words.join("; "))
}

/// `9.2 times lower`, `3.1 % higher`.
pub(super) fn words(change: &Change) -> String {
    let direction = if change.ratio.value < 1.0 { "lower" } else { "higher" };
    match factor(change) {
        factor if factor >= 1.5 => format!("{} times {direction}", significant(factor)),
        _ => format!("{} % {direction}", significant((change.ratio.value - 1.0).abs() * 100.0)),
    }
}

/// If buffered requests became slower and direct ones that are flushed alike did not, the cause is likely above the device: if
/// every direct throughput is better or equivalent, or if none can have fallen as far. It is not certain, because the device gets
/// other requests from the page cache.
fn above_the_device(cells: &[ComparedCell]) -> Option<String> {
    let throughputs = |direct: bool| {
        let of_kind = cells.iter().filter(move |cell| cell.workload.buffering.is_direct() == direct);
        of_kind.filter_map(|cell| Some((cell, cell.change(Figure::Throughput)?)))
    };
    let kind = |workload: &Workload| (workload.operation.reads(), workload.operation.writes(), workload.durability);
    let slower = throughputs(false).filter(|(_, change)| change.standing == Standing::Worse);
    let (first, fall) = slower.min_by(|one, other| one.1.ratio.value.total_cmp(&other.1.ratio.value))?;
    let direct: Vec<_> = throughputs(true).filter(|(cell, _)| kind(&cell.workload) == kind(&first.workload)).collect();
    let lowest = direct.iter().min_by(|one, other| one.1.ratio.value.total_cmp(&other.1.ratio.value))?.1;
    if direct.iter().any(|(_, change)| change.standing == Standing::Worse) {
        return None;
    }
    let exceptions: Vec<String> = direct
        .iter()
        .flat_map(|(cell, _)| cell.changes.iter().map(move |change| (cell, change)))
        .filter(|(_, change)| change.standing == Standing::Worse)
        .map(|(cell, change)| format!("; but {} of {} is {}", change.figure.name(), cell.name, words(change)))
        .collect();
    let exceptions = exceptions.concat();
    if direct.iter().all(|(_, change)| change.standing != Standing::Undecided) {
        return Some(format!("No direct throughput fell{exceptions}: the cause is likely above the device."));
    }
    let furthest = plausible(fall)?.1;
    let is_apart = |change: &Change| plausible(change).is_some_and(|(low, _)| low > furthest);
    let how_far =
        if lowest.ratio.value < 1.0 { format!("{} at most, undecided", words(lowest)) } else { "undecided".to_owned() };
    direct.iter().all(|(_, change)| is_apart(change)).then(|| {
        format!(
            "No direct throughput fell nearly as far ({how_far}{exceptions}): the cause of the largest fall is likely above \
             the device."
        )
    })
}

/// Plausible ratios of a change; none if unbounded.
fn plausible(change: &Change) -> Option<(f64, f64)> {
    change.ratio.low.zip(change.ratio.high)
}
