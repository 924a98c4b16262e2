//! Comparisons of samples with known changes.

use super::*;
use crate::support::{Run, around, buffered, deep, flushed, read, write};
use halfpower_model::BytesPerSecond;
use halfpower_model::sample::Parallel;

fn samples(run: &Run) -> Vec<&Sample> {
    run.samples.iter().map(|placed| &placed.sample).collect()
}

fn run(cells: &[(Workload, &[f64])]) -> Run {
    let mut run = Run::default();
    for (workload, rates) in cells {
        run.add(workload.clone(), rates);
    }
    run
}

/// Five repetitions that hardly differ.
fn close(rate: f64) -> [f64; 5] {
    [0.999, 1.0, 1.0, 1.0, 1.001].map(|factor| factor * rate)
}

fn compared(before: &Run, after: &Run) -> Comparison {
    compare(&samples(before), &samples(after), None)
}

fn standing_of(comparison: &Comparison, cell: usize) -> Standing {
    comparison.cells[cell].change(Figure::Throughput).unwrap().standing
}

#[test]
fn workloads_meet_whatever_their_place_and_seed() {
    let before = run(&[(read(4), &close(1e8)), (write(64), &around(5e8)), (read(8), &around(2e8))]);
    let seeded = Workload { seed: 77, ..write(64) };
    let after = run(&[(seeded, &around(3e8)), (read(4), &close(1.001e8)), (deep(4, read(4)), &around(9e8))]);
    let comparison = compared(&before, &after);
    assert_eq!(comparison.outcome, Outcome::Regression, "{}", comparison.sentence);
    assert_eq!((standing_of(&comparison, 0), standing_of(&comparison, 1)), (Standing::Equivalent, Standing::Worse));
    assert_eq!((comparison.only_before.len(), comparison.only_after.len()), (1, 1));
    let change = comparison.cells[1].change(Figure::Throughput).unwrap();
    assert!((change.ratio.value - 0.6).abs() < 1e-9 && change.ratio.low.unwrap() < 0.6, "{change:?}");
    assert!(comparison.sentence.contains("1.67 times lower"), "{}", comparison.sentence);
}

#[test]
fn the_outcome_is_the_worst_that_is_sure() {
    let base = run(&[(read(4), &around(1e8)), (read(64), &around(1e9))]);
    let outcome = |small: f64, large: f64| {
        compared(&base, &run(&[(read(4), &around(small)), (read(64), &around(large))])).outcome
    };
    assert_eq!(outcome(1e8, 1e9), Outcome::Undecided, "1 % steps of five hold more than 2 %");
    assert_eq!(outcome(2e8, 2e9), Outcome::Improved);
    assert_eq!(outcome(2e8, 1e9), Outcome::Undecided);
    assert_eq!(outcome(2e8, 0.5e9), Outcome::Regression);
    let same = compared(&run(&[(read(4), &close(1e8))]), &run(&[(read(4), &close(1.005e8))]));
    assert_eq!((same.outcome, same.cells.len()), (Outcome::Equivalent, 1), "{}", same.sentence);
    assert_eq!(compared(&base, &run(&[(write(4), &around(1e8))])).outcome, Outcome::Undecided);
}

#[test]
fn a_threshold_is_what_does_not_matter() {
    let (before, after) = (run(&[(read(4), &around(1e8))]), run(&[(read(4), &around(0.9e8))]));
    assert_eq!(compared(&before, &after).outcome, Outcome::Regression);
    let lenient = compare(&samples(&before), &samples(&after), Margin::new(0.25));
    assert_eq!(lenient.outcome, Outcome::Equivalent, "{}", lenient.sentence);
}

#[test]
fn one_sample_shows_only_what_no_noise_does() {
    let before = run(&[(read(4), &[1e8]), (read(8), &[1e8]), (read(64), &[1e8])]);
    let after = run(&[(read(4), &[0.7e8]), (read(8), &[0.6e8]), (read(64), &[1.6e8])]);
    let comparison = compared(&before, &after);
    let standings = [0, 1, 2].map(|cell| standing_of(&comparison, cell));
    assert_eq!(standings, [Standing::Undecided, Standing::Worse, Standing::Better]);
    assert!(comparison.cells.iter().all(|cell| cell.changes[0].single && cell.changes[0].ratio.low.is_none()));
    let quiet = compared(&before, &before);
    assert_eq!(quiet.outcome, Outcome::Undecided);
    assert!(quiet.sentence.starts_with("Undecided: one sample"), "{}", quiet.sentence);
}

#[test]
fn the_fault_is_above_the_device_where_only_cached_writes_became_slower() {
    let cells = |slow: f64, direct: f64| {
        run(&[(flushed(buffered(write(1024))), &around(slow)), (flushed(write(1024)), &around(direct))])
    };
    let before = cells(9e7, 8.8e7);
    let above = compared(&before, &cells(1e7, 8.8e7));
    assert!(above.sentence.ends_with("the cause is above the device."), "{}", above.sentence);
    let both = compared(&before, &cells(1e7, 1e7));
    assert!(!both.sentence.contains("above the device"), "{}", both.sentence);
}

#[test]
fn what_the_parent_sees_is_a_figure_of_its_own_with_several_workers() {
    let make = |parent: f64| {
        let mut made = run(&[(Workload { workers: 2, ..write(1024) }, &[8.5e7])]);
        made.samples[0].sample.parallel =
            Some(Parallel { parent_bytes_per_s: BytesPerSecond(parent), ..Parallel::default() });
        made
    };
    let comparison = compared(&make(8.5e7), &make(4.9e7));
    assert_eq!(standing_of(&comparison, 0), Standing::Undecided);
    assert_eq!(comparison.cells[0].change(Figure::ParentThroughput).unwrap().standing, Standing::Worse);
    assert!(comparison.sentence.contains("as the parent sees it 1.73 times lower"), "{}", comparison.sentence);
}

#[test]
fn less_latency_and_cost_are_better() {
    let make = |cost: f64, tail: u64| {
        let mut made = run(&[(read(4), &around(1e8))]);
        made.cost(0, |block| cost * (1.0 + 0.001 * f64::from(block)));
        made.samples
            .iter_mut()
            .for_each(|placed| placed.sample.total.latency_ns.p99 = Some(tail + u64::from(placed.block)));
        made
    };
    let comparison = compared(&make(3.0, 90_000), &make(2.0, 180_000));
    let standing = |figure| comparison.cells[0].change(figure).unwrap().standing;
    assert_eq!((standing(Figure::ProcessorCost), standing(Figure::TailLatency)), (Standing::Better, Standing::Worse));
}

#[test]
fn what_the_two_were_measured_on_is_told_where_it_differs() {
    let (before, mut after) = (run(&[(read(4), &around(1e8))]), run(&[(read(4), &around(1e8))]));
    assert_eq!(compared(&before, &after).differences, []);
    for placed in &mut after.samples {
        placed.sample.environment.kernel = "7".to_owned();
        placed.sample.environment.target.filesystem = Some("xfs".to_owned());
        placed.sample.environment.clock.cost_ns = 17.0;
    }
    let differences = compared(&before, &after).differences;
    let said: Vec<String> =
        differences.iter().map(|one| format!("{} {:?} {:?}", one.fact, one.before, one.after)).collect();
    assert_eq!(said, [r#"kernel ["6"] ["7"]"#, r#"target.filesystem ["not told"] ["xfs"]"#]);
}

#[test]
fn a_thousand_cells_are_compared_in_no_time() {
    // The work is linear: every workload is found by its own nature, not by looking at all others.
    let many = |rate: f64| {
        let mut made = Run::default();
        (1..=1000).for_each(|size| {
            made.add(Workload { offset: halfpower_model::Bytes(size * 4096), ..read(4) }, &[rate, rate * 1.01]);
        });
        made
    };
    let comparison = compared(&many(1e8), &many(1e8));
    assert_eq!((comparison.cells.len(), comparison.only_after.len()), (1000, 0));
}
