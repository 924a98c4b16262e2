//! Comparisons of samples with known changes.

use super::*;
use crate::fixtures::{Normal, Run, around, begins, buffered, deep, ends, random, read, says, write};
use crate::statistics::Margin;
use halfpower_model::environment::DeviceLimit;
use halfpower_model::reading::inspect::Limit;
use halfpower_model::sample::Parallel;
use halfpower_model::{
    Bytes, BytesPerSecond, CachePolicy, Durability, HugePages, Pattern, Quantity, Sample, WorkerKind, Workload,
};

/// Each block as a run of its own.
pub(super) fn samples(run: &Run) -> Vec<OfRun<'_>> {
    let block =
        |block: u32| run.samples.iter().filter(move |placed| placed.block == block).map(|placed| &placed.sample);
    (0..).map(|number| block(number).collect()).take_while(|run: &OfRun<'_>| !run.is_empty()).collect()
}

/// The whole as one run.
pub(super) fn one_run(run: &Run) -> OfRun<'_> {
    samples(run).concat()
}

pub(super) fn run(cells: &[(Workload, &[f64])]) -> Run {
    let mut run = Run::default();
    for (workload, rates) in cells {
        run.add(workload.clone(), rates);
    }
    run
}

/// Five repetitions that hardly differ.
pub(super) fn close(rate: f64) -> [f64; 5] {
    [0.999, 1.0, 1.0, 1.0, 1.001].map(|factor| factor * rate)
}

pub(super) fn compared(before: &Run, after: &Run) -> Comparison {
    compare(&samples(before), &samples(after), Method::default())
}

fn compared_by(before: &Run, after: &Run, margin: f64) -> Comparison {
    compare(&samples(before), &samples(after), Method { margin: Margin::new(margin), ..Method::default() })
}

pub(super) fn standing_of(comparison: &Comparison, cell: usize) -> Standing {
    comparison.cells[cell].change(Figure::Throughput).unwrap().standing
}

#[test]
fn what_is_better_comes_before_what_is_undecided() {
    let before = run(&[(read(4), &close(1e8)), (write(4), &[1e8, 3e8, 2e8])]);
    let after = run(&[(read(4), &close(9e8)), (write(4), &[2e8, 1e8, 3e8])]);
    let compared = compared(&before, &after);
    assert_eq!(compared.outcome, Outcome::Undecided);
    begins(&compared.sentence, "Improved (");
    says(&compared.sentence, "9 times higher");
    ends(&compared.sentence, "Undecided: too much scatter, or too few repetitions, for 1 of 2 throughputs.");
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
    says(&comparison.sentence, "1.67 times lower");
}

#[test]
fn what_all_that_changed_have_is_said_once() {
    let cells = |factor: f64| {
        let rates = [(4, 1e8), (8, 2e8), (16, 3e8), (64, 4e8), (128, 5e8)];
        let cells = rates.map(|(kib, rate)| (deep(8, write(kib)), close(rate * factor)));
        run(&cells.each_ref().map(|(workload, rates)| (workload.clone(), &rates[..])))
    };
    let sentence = compared(&cells(1.0), &cells(0.25)).sentence;
    let said = "Regression (runs vary by 0.0707 %): sequential write, QD8, direct: throughput 4 times lower (4 KiB; 8 KiB; 16 KiB; 64 KiB)";
    assert!(sentence.starts_with(said) && sentence.ends_with("; and 1 more."), "{sentence}");
    let one = compared(&run(&[(read(4), &close(1e8))]), &run(&[(read(4), &close(5e7))])).sentence;
    assert_eq!(
        one,
        "Regression (runs vary by 0.0707 %): sequential read, 4 KiB, QD1, direct: throughput 2 times lower."
    );
}

#[test]
fn targets_of_different_sizes_are_compared_where_nothing_else_is() {
    let of = |span: u64, kib: u64, rate: f64| (Workload { span: Bytes(span), ..read(kib) }, close(rate));
    let side = |cells: &[(Workload, [f64; 5])]| {
        run(&cells.iter().map(|(workload, rates)| (workload.clone(), &rates[..])).collect::<Vec<_>>())
    };
    let small = side(&[of(1 << 30, 4, 1e8), of(1 << 30, 64, 1e9)]);
    let comparison = compared(&small, &side(&[of(1 << 32, 4, 2e8), of(1 << 32, 64, 1e9)]));
    says(&comparison.sentence, "The targets differ in size");
    assert_eq!([0, 1].map(|cell| standing_of(&comparison, cell)), [Standing::Better, Standing::Equivalent]);
    assert!(!comparison.cells[0].name.contains("GiB"), "{}", comparison.cells[0].name);
    let comparison = compared(&small, &side(&[of(1 << 32, 4, 2e8), of(1 << 30, 64, 1e9)]));
    assert!(comparison.cells.len() == 1 && !comparison.sentence.contains("size"), "{}", comparison.sentence);
}

#[test]
fn the_headline_has_every_number_of_workers() {
    let cells = |factors: [f64; 6]| {
        let shapes = [(1, 4), (1, 8), (2, 4), (2, 8), (3, 4), (3, 8)];
        let cells = shapes.into_iter().zip(factors);
        Run::of(cells.map(|((workers, kib), factor)| (Workload { workers, ..write(kib) }, [1e8 * factor])))
    };
    let sentence = compared(&cells([1.0; 6]), &cells([0.6, 0.6, 0.1, 0.11, 0.12, 0.13])).sentence;
    for part in ["10 times lower", "9.09 times lower", "8.33 times lower", "1.67 times lower", "and 2 more"] {
        says(&sentence, part);
    }
}

#[test]
fn samples_of_unknown_depth_are_not_taken_for_one_workload() {
    let unknown = Workload { unknown: ["depth"].into_iter().collect(), ..read(4) };
    let (one, several) = (run(&[(unknown.clone(), &[1e8])]), run(&[(unknown, &close(1e8))]));
    assert_eq!(compared(&one, &one).cells.len(), 1);
    assert_eq!((compared(&one, &several).cells.len(), compared(&several, &one).cells.len()), (0, 0));
    let sentence = compared(&one, &several).sentence;
    ends(&sentence, "Several samples that do not record depth may be of unlike workloads; compare one with one.");
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
    let lenient = compared_by(&before, &after, 0.25);
    assert_eq!(lenient.outcome, Outcome::Equivalent, "{}", lenient.sentence);
    // Of one sample a side too: a loss of 40 % is beyond noise, and not beyond a margin of double and half.
    let (before, after) = (run(&[(read(4), &[1e8])]), run(&[(read(4), &[0.6e8])]));
    assert_eq!(compared(&before, &after).outcome, Outcome::Regression);
    let lenient = compared_by(&before, &after, 1.0);
    assert_eq!(lenient.outcome, Outcome::Undecided, "{}", lenient.sentence);
}

#[test]
fn one_sample_shows_only_what_no_noise_does() {
    let before = run(&[(read(4), &[1e8]), (read(8), &[1e8]), (read(64), &[1e8])]);
    let after = run(&[(read(4), &[0.7e8]), (read(8), &[0.6e8]), (read(64), &[1.6e8])]);
    let comparison = compared(&before, &after);
    let standings = [0, 1, 2].map(|cell| standing_of(&comparison, cell));
    assert_eq!(standings, [Standing::Undecided, Standing::Worse, Standing::Better]);
    assert!(comparison.cells.iter().all(|cell| cell.changes[0].single && cell.changes[0].ratio.low.is_some()));
    let quiet = compared(&before, &before);
    assert_eq!(quiet.outcome, Outcome::Undecided);
    begins(&quiet.sentence, "Undecided (runs are assumed to vary by 14.6 %): one sample only");
}

#[test]
fn what_a_survey_measured_once_leaves_the_rest_its_verdict() {
    let with_one = |rates: &[f64], one: f64| run(&[(read(4), rates), (read(64), &[one])]);
    let base = [1e9, 1.001e9, 0.999e9, 1.0005e9, 0.9995e9];
    let better = base.map(|rate| 2.0 * rate);
    let said = |after: &[f64], one: f64| {
        let comparison = compared(&with_one(&base, 1e9), &with_one(after, one));
        (comparison.outcome, comparison.sentence)
    };
    let (outcome, sentence) = said(&better, 1.1e9);
    assert!(
        outcome == Outcome::Improved && sentence.ends_with("One that was measured once is not judged."),
        "{sentence}"
    );
    // What no noise does counts.
    assert_eq!(said(&better, 0.1e9).0, Outcome::Regression);
}

#[test]
fn equal_samples_of_a_simulated_machine_are_the_same_and_of_a_host_a_coincidence() {
    let simulated = |factor: f64| {
        let mut run = run(&[(read(4), &[1e8 * factor]), (read(64), &[1e8 * factor, 5e8 * factor])]);
        for placed in &mut run.samples {
            placed.sample.environment.target.kind = halfpower_model::TargetKind::Simulated;
        }
        run
    };
    let same = compared(&simulated(1.0), &simulated(1.0));
    assert_eq!(same.outcome, Outcome::Equivalent, "{}", same.sentence);
    assert_eq!(same.sentence, "Equivalent: identical, sample by sample, in all 2 workloads.");
    let changes = || same.cells.iter().flat_map(|cell| &cell.changes);
    assert!(changes().all(|change| change.same_samples && change.ratio.low == Some(1.0) && change.doubt.is_none()));
    let other = compared(&simulated(1.0), &simulated(1.1));
    assert_eq!(other.outcome, Outcome::Undecided, "{}", other.sentence);
    let host = run(&[(read(4), &[1e8])]);
    assert_eq!(compared(&host, &host).outcome, Outcome::Undecided);
}

#[test]
fn one_sample_beside_a_group_that_scatters_as_far_is_undecided() {
    let of = |before: &[f64], after: &[f64]| {
        let comparison = compared(&run(&[(read(4), before)]), &run(&[(read(4), after)]));
        standing_of(&comparison, 0)
    };
    assert_eq!(of(&[8.94e7, 9.69e6], &[9.69e6]), Standing::Undecided, "it is one of them");
    assert_eq!(of(&[9.69e6], &[8.94e7, 9.69e6]), Standing::Undecided);
    let noisy = [0.6e8, 0.8e8, 1e8, 1.2e8, 1.4e8];
    assert_eq!(of(&noisy, &[0.5e8]), Standing::Undecided, "one more of these lies between 4.9 MB/s and 195 MB/s");
    assert_eq!(of(&around(1e8), &[0.5e8]), Standing::Worse);
    assert_eq!(of(&[0.5e8], &around(1e8)), Standing::Better);
}

#[test]
fn cpu_time_of_few_ticks_decides_nothing_in_one_sample() {
    let standing = |of: fn(&mut Sample), elapsed_s: f64| {
        let make = |cost_us: f64| {
            let mut made = run(&[(read(4), &[4096.0 * 1000.0])]);
            let sample = &mut made.samples[0].sample;
            (sample.elapsed_s, sample.total.requests) = (elapsed_s, (1000.0 * elapsed_s) as u64);
            of(sample);
            made.cost(0, |_| cost_us);
            made
        };
        compared(&make(50.0), &make(100.0)).cells[0].change(Figure::CpuCost).unwrap().standing
    };
    let imported = |sample: &mut Sample| sample.origin = Some(Box::default());
    // 0.05 and 0.1 of the time: of 10 s that is 32 ticks of 1/64 s, of 60 s 192.
    assert_eq!(standing(imported, 10.0), Standing::Undecided);
    assert_eq!(standing(imported, 60.0), Standing::Worse);
    assert_eq!(standing(|_| {}, 10.0), Standing::Worse, "the kernel's own sum is exact but for its ends");
    assert_eq!(standing(|_| {}, 1.0), Standing::Undecided);
}

#[test]
fn throughput_past_the_page_cache_is_reported_as_far_as_it_is_known() {
    let cells = |slow: &[f64], direct: &[f64]| run(&[(buffered(write(64)), slow), (write(64), direct)]);
    let said = |before: Run, after: Run| compared(&before, &after).sentence;
    let shown = said(cells(&close(9e7), &close(9e7)), cells(&close(1e7), &close(9e7)));
    ends(&shown, "No direct throughput fell: the cause is likely above the device.");
    let both = said(cells(&close(9e7), &close(9e7)), cells(&close(1e7), &close(1e7)));
    assert!(!both.contains("above the device"), "{both}");
    let likely = said(cells(&[9e7], &[9e7]), cells(&[1e7], &[8.4e7]));
    let words = "No direct throughput fell nearly as far (6.67 % lower at most, undecided): the cause of the largest fall is likely above the device.";
    assert!(likely.ends_with(words), "{likely}");
    let near = said(cells(&[9e7], &[4e7]), cells(&[5e7], &[3.5e7]));
    assert!(near.starts_with("Regression") && !near.contains("above the device"), "{near}");
    let wide = said(cells(&close(9e7), &[1e7, 9e7, 9e7]), cells(&close(1e7), &[9e7, 1e7, 2e7]));
    assert!(wide.starts_with("Regression") && !wide.contains("above the device"), "{wide}");
}

#[test]
fn two_programs_are_compared_by_the_settings_that_both_record() {
    let lacking = ["cache", "ring"].into_iter().collect();
    let imported = Workload { unknown: lacking, worker_kind: WorkerKind::Process, ..read(4) };
    let before = run(&[(imported, &close(1e8))]);
    let warm = Workload { cache: CachePolicy::Warm, ..read(4) };
    let met = compared(&before, &run(&[(warm.clone(), &close(2e8)), (deep(9, read(4)), &close(1e8))]));
    assert_eq!((standing_of(&met, 0), met.only_after.len()), (Standing::Better, 1));
    ends(&met.sentence, "One side does not record cache and ring: these may differ.");
    // Several samples of ours are of one workload, also where the other side does not record its depth.
    let without = Workload { unknown: ["depth", "cache"].into_iter().collect(), ..read(4) };
    let deep = compared(&run(&[(without, &[1e8])]), &run(&[(read(4), &close(2e8))]));
    assert_eq!(deep.cells.len(), 1, "{}", deep.sentence);
    // Each program has its kind of workers.
    let several = |kind, unknown: &[&str]| Workload {
        worker_kind: kind,
        workers: 2,
        unknown: unknown.iter().copied().collect(),
        ..read(4)
    };
    let fio = run(&[(several(WorkerKind::Process, &["cache"]), &close(1e8))]);
    let ours = compared(&fio, &run(&[(several(WorkerKind::Thread, &[]), &close(2e8))]));
    ends(&ours.sentence, "these may differ. Workers are threads on one side and processes on the other.");
    let pages = |kib| {
        let small = Workload { huge_pages: HugePages::Off, unknown: ["cache"].into_iter().collect(), ..read(kib) };
        compared(&run(&[(small, &close(1e8))]), &run(&[(read(kib), &close(2e8))])).sentence
    };
    ends(&pages(1024), "Buffers are in huge pages on one side only, which can make large requests faster.");
    ends(&pages(4), "these may differ.");
    let once = Workload { pattern: Pattern::Shuffled, unknown: ["cache"].into_iter().collect(), ..random(read(4)) };
    let anew = compared(&run(&[(once, &close(1e8))]), &run(&[(random(read(4)), &close(2e8))]));
    ends(&anew.sentence, "One side uses each offset once before it repeats any; the other draws each at random.");
    // Two that differ only in such a setting match nothing.
    let ambiguous = compared(&before, &run(&[(warm, &close(2e8)), (read(4), &close(1e8))]));
    ends(&ambiguous.sentence, "The closest pair differs in processes, and in cache and ring, unknown on one side.");
}

#[test]
fn where_nothing_meets_it_is_said_what_parts_the_nearest() {
    let apart = |change: fn(&mut Workload)| {
        let mut other = read(4);
        change(&mut other);
        compared(&run(&[(read(4), &[1e8])]), &run(&[(deep(9, write(8)), &[1e8]), (other, &[1e8])])).sentence
    };
    let both = |workload: &mut Workload| (workload.depth, workload.unknown) = (8, ["ring"].into_iter().collect());
    let words = "Undecided: the two have no workload in common. The closest pair differs in depth, and in ring, unknown on one side.";
    assert_eq!(apart(both), words);
    let names = compared(&run(&[(read(4), &[1e8])]), &run(&[(write(4), &[1e8])])).only_after;
    assert!(names.iter().all(|name| !name.contains("duration")), "no reason: {names:?}");
    let operation = |workload: &mut Workload| {
        *workload = Workload { unknown: ["submit_batch"].into_iter().collect(), ..write(4) };
    };
    ends(&apart(operation), "differs in operation, and in submit batch, unknown on one side.");
    // Unknown seed and limits do not distinguish workloads.
    let seed = |workload: &mut Workload| workload.unknown = ["seed", "limits", "interval_s"].into_iter().collect();
    assert!(!apart(seed).contains("no workload in common"), "{}", apart(seed));
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
    says(&comparison.sentence, "as the parent sees it 1.73 times lower");
}

#[test]
fn less_latency_and_cost_are_better() {
    let make = |rate: f64, cost: f64, tail: u64| {
        let mut made = run(&[(read(4), &around(rate))]);
        made.cost(0, |block| cost * (1.0 + 0.001 * f64::from(block)));
        made.samples
            .iter_mut()
            .for_each(|placed| placed.sample.total.latency_ns.p99 = Some(tail + u64::from(placed.block)));
        made
    };
    let comparison = compared(&make(1e8, 3.0, 90_000), &make(1e8, 2.0, 180_000));
    let standing = |figure| comparison.cells[0].change(figure).unwrap().standing;
    assert_eq!((standing(Figure::CpuCost), standing(Figure::TailLatency)), (Standing::Better, Standing::Worse));
    let slower = compared(&make(1e8, 3.0, 90_000), &make(0.5e8, 3.0, 9_000_000)).sentence;
    says(&slower, "throughput 2 times lower; p99 latency 100 times higher");
    let faster = compared(&make(1e8, 2.0, 90_000), &make(2e8, 3.0, 90_000));
    begins(&faster.sentence, "Faster (");
    says(
        &faster.sentence,
        "throughput 2 times higher. Worse: sequential read, 4 KiB, QD1, direct: CPU time per I/O 1.5 times higher.",
    );
    assert_eq!(faster.outcome, Outcome::Regression);
}

#[test]
fn what_the_two_were_measured_on_is_reported_where_it_differs() {
    let (before, mut after) = (run(&[(read(4), &around(1e8))]), run(&[(read(4), &around(1e8))]));
    assert_eq!(compared(&before, &after).differences, []);
    for placed in &mut after.samples {
        placed.sample.environment.kernel = "7".to_owned();
        placed.sample.environment.governor = Some("performance".to_owned());
        placed.sample.environment.target.filesystem = Some("xfs".to_owned());
        placed.sample.environment.target.mount_options = Some("rw,noatime".to_owned());
        placed.sample.environment.target.scheduler = Some("bfq".to_owned());
        placed.sample.environment.target.firmware = Some("2".to_owned());
        placed.sample.environment.clock.cost_ns = 17.0;
    }
    let differences = compared(&before, &after).differences;
    let said: Vec<String> =
        differences.iter().map(|one| format!("{} {:?} {:?}", one.fact, one.before, one.after)).collect();
    assert_eq!(
        said,
        [
            r#"governor ["unknown"] ["performance"]"#,
            r#"kernel ["6"] ["7"]"#,
            r#"target.filesystem ["unknown"] ["xfs"]"#,
            r#"target.firmware ["unknown"] ["2"]"#,
            r#"target.mount_options ["unknown"] ["rw,noatime"]"#,
            r#"target.scheduler ["unknown"] ["bfq"]"#,
        ]
    );
}

#[test]
fn a_throttle_on_one_side_is_in_the_first_sentences() {
    let made = || run(&[(read(4), &close(1e8))]);
    let (before, mut after) = (made(), made());
    let limit = Limit { read_requests_per_s: Some(16_000), ..Limit::default() };
    let limit = DeviceLimit { device: "loop0".to_owned(), limit };
    after.samples.iter_mut().for_each(|placed| placed.sample.environment.target.limits = vec![limit.clone()]);
    let said = "The control group's limit of reads differs: none before, 16\u{202f}000 IOPS after.";
    assert!(compared(&before, &after).sentence.ends_with(said), "{}", compared(&before, &after).sentence);
    assert!(!compared(&before, &before).sentence.contains("control group"));
}

#[test]
fn the_drawn_name_of_a_test_file_is_no_difference_and_its_place_is() {
    let at = |path: &str| {
        let mut made = run(&[(read(4), &close(1e8))]);
        made.samples.iter_mut().for_each(|placed| placed.sample.environment.target.path = path.to_owned());
        made
    };
    let differ = |one: &str, other: &str| compared(&at(one), &at(other)).differences;
    assert_eq!(differ("./halfpower-dacb0123456789ab.test", "./halfpower-e2680123456789ab.test"), []);
    let [moved] = &differ("/a/halfpower-dacb0123456789ab.test", "/b/halfpower-dacb0123456789ab.test")[..] else {
        panic!("two places")
    };
    assert_eq!((moved.fact.as_str(), &moved.after[0][..]), ("target.path", "/b/halfpower-….test"));
    assert_eq!(differ("./halfpower-one.test", "./halfpower-two.test").len(), 1, "somebody named those");
}

#[test]
fn of_a_thousand_cells_each_meets_its_own() {
    let at = |block: u64| Workload { offset: halfpower_model::Bytes(block * 4096), ..read(4) };
    let many = Run::of((1..=1000).map(|block| (at(block), [1e8 + block as f64, 1.01e8])));
    let comparison = compared(&many, &many);
    assert_eq!((comparison.cells.len(), comparison.only_after.len()), (1000, 0));
    assert!(comparison.cells.iter().all(|cell| (cell.changes[0].ratio.value - 1.0).abs() < 1e-9));
}

#[test]
fn what_only_the_number_of_workloads_leaves_undecided_says_so() {
    // Just over the line alone; sixty beside it that did not change.
    let cells = |first: f64, others: u64| {
        let mut made = run(&[(read(4), &around(first))]);
        (1..=others).for_each(|place| {
            made.add(Workload { offset: halfpower_model::Bytes(place << 20), ..read(4) }, &around(1e8));
        });
        made
    };
    let of = |others| compared(&cells(1e8, others), &cells(1.045e8, others));
    let judged = |comparison: &Comparison| {
        let change = comparison.cells[0].change(Figure::Throughput).unwrap();
        (change.standing, change.doubt)
    };
    assert_eq!(judged(&of(0)), (Standing::Better, None));
    let among = of(60);
    assert_eq!(judged(&among), (Standing::Undecided, Some(Doubt::OneOfMany { workloads: 61 })));
    says(
        &among.sentence,
        "; one, 4.5 % higher (sequential read, 4 KiB, QD1, direct), would be significant alone, but not among 61",
    );
    assert_eq!(among.cells[1].changes[0].doubt, None);
}

/// A run that measures the same twice, by a scatter for each workload; ten blocks.
fn twice(scatters: &[(u64, f64)]) -> Run {
    let mut normal = Normal::new(7);
    let mut made = Run::default();
    for (kib, scatter) in scatters {
        let rates: Vec<f64> = (0..10).map(|_| 1e8 * (1.0 + scatter * normal.draw())).collect();
        made.add(read(*kib), &rates);
    }
    made
}

#[test]
fn the_same_twice_shows_the_noise_of_each_workload() {
    let noise = against_itself(&twice(&[(4, 0.0005), (64, 0.05)]).observed(), 1).unwrap();
    let [throughput] = noise.figures.as_slice() else { panic!("{noise:?}") };
    assert_eq!((throughput.figure, throughput.workloads, throughput.called_changed), (Figure::Throughput, 2, 0));
    assert!(throughput.largest_of.contains("64 KiB") && throughput.largest_difference > 0.001, "{throughput:?}");
    let arms: Vec<u32> = noise.comparison.cells.iter().map(|cell| cell.changes[0].before.repetitions).collect();
    assert_eq!(arms, [5, 5], "as many in either arm");
    assert!(against_itself(&run(&[(read(4), &[1e8, 1e8])]).observed(), 1).is_none(), "one a side has no interval");
}

#[test]
fn arms_are_drawn_by_the_seed_and_not_by_the_order() {
    // Odd blocks are all slower: arms in alternating order would differ.
    let made = run(&[(read(4), &[1.0e8, 0.8e8, 1.01e8, 0.81e8, 0.99e8, 0.79e8, 1.0e8, 0.8e8, 1.01e8, 0.81e8])]);
    let values: Vec<f64> =
        (0..20).map(|seed| against_itself(&made.observed(), seed).unwrap().figures[0].median_difference).collect();
    assert!(values.iter().any(|value| (value - values[0]).abs() > 1e-3), "{values:?}");
    assert!(values.iter().filter(|value| **value > 0.24).count() < 4, "{values:?}");
    let again = against_itself(&made.observed(), 3).unwrap().figures[0].median_difference;
    assert_eq!(again, values[3]);
}

#[test]
fn scatter_of_blocks_is_distinguished_from_that_of_repetitions() {
    let of = |between: f64, within: f64| {
        let (mut run, mut normal) = (Run::default(), Normal::new(7));
        let blocks: Vec<f64> = (0..40).map(|_| between * normal.draw()).collect();
        for kib in [4, 8, 16, 32] {
            run.add(
                read(kib),
                &blocks.iter().map(|block| 1e8 * (block + within * normal.draw()).exp()).collect::<Vec<_>>(),
            );
        }
        against_itself(&run.observed(), 1).unwrap().scatter.unwrap()
    };
    let scatter = of(0.1, 0.02);
    assert!((0.07..0.14).contains(&scatter.between_blocks), "{scatter:?}");
    assert!((0.015..0.025).contains(&scatter.within_blocks), "{scatter:?}");
    assert_eq!((scatter.blocks, scatter.workloads), (40, 4));
    assert!(scatter.sentence().contains("within a block. Interleaving"), "{}", scatter.sentence());
    assert!(of(0.0, 0.1).between_blocks < 0.03, "no blocks that differ");
    let alone = Run::of([(read(4), [1e8, 1.01e8, 1.02e8, 0.99e8])]);
    assert_eq!(against_itself(&alone.observed(), 1).unwrap().scatter, None, "one workload has no blocks");
}

#[test]
fn each_use_has_its_best_workload_on_either_side() {
    let committed = Workload { durability: Durability::Fsync { every: 1 }, ..buffered(write(4)) };
    let cells = |factor: f64| {
        let rates = [1e8, 4e8, 6e8, 2e7].map(|rate| close(factor * rate));
        let workloads = [random(read(4)), deep(32, random(read(4))), read(1024), committed.clone()];
        run(&workloads.into_iter().zip(&rates).map(|(of, rates)| (of, &rates[..])).collect::<Vec<_>>())
    };
    let compared = compared(&cells(1.0), &cells(0.5));
    let uses: Vec<_> = compared.by_use().iter().map(|(of, cell)| (*of, cell.workload.depth)).collect();
    assert_eq!(uses, [("random reads", 32), ("low latency", 1), ("commits", 1), ("streaming", 1)]);
    let few = run(&[(random(read(4)), &close(1e8))]);
    assert!(compare(&samples(&few), &samples(&few), Method::default()).by_use().is_empty());
}

#[test]
fn arms_that_are_better_at_some_and_worse_at_others_say_so_first() {
    let [before, after] =
        [[1e8, 2e8], [2e8, 1e8]].map(|[one, other]| run(&[(read(4), &around(one)), (write(64), &around(other))]));
    let compared = compare(&samples(&before), &samples(&after), Method { design: Design::Pairs, ..Method::default() });
    begins(&compared.sentence, "B is better at some, worse at others. Better: ");
    assert_eq!(compared.outcome, Outcome::Regression);
}

#[test]
fn before_times_ratio_is_after_though_a_pair_lies_far_out() {
    let tail = |p99: [u64; 5]| {
        let mut made = run(&[(read(4), &close(1e8))]);
        for (placed, p99) in made.samples.iter_mut().zip(p99) {
            placed.sample.total.latency_ns.p99 = Some(p99);
        }
        made
    };
    let (before, after) = (tail([10_000; 5]), tail([10_000, 11_000, 9_000, 10_000, 400_000]));
    let compared = compare(&samples(&before), &samples(&after), Method { design: Design::Pairs, ..Method::default() });
    let change = compared.cells[0].change(Figure::TailLatency).unwrap();
    assert!((change.before.value * change.ratio.value / change.after.value - 1.0).abs() < 1e-9, "{change:?}");
}

#[test]
fn pairs_of_one_run_need_no_other_runs() {
    let (before, after) = (run(&[(read(4), &around(1e8))]), run(&[(read(4), &around(0.9e8))]));
    let compared = compare(&samples(&before), &samples(&after), Method { design: Design::Pairs, ..Method::default() });
    assert_eq!((standing_of(&compared, 0), compared.between_runs), (Standing::Worse, None));
}

#[test]
fn a_new_level_over_many_runs_is_found_and_a_level_that_scatters_is_none() {
    let mut normal = Normal::new(5);
    let mut runs_of = |levels: &[f64]| -> Vec<Run> {
        let of = |level: &f64| Run::of([(random(read(4)), [0.0; 3].map(|_| level * (1.0 + 0.01 * normal.draw())))]);
        levels.iter().map(of).collect()
    };
    let histories = |runs: &[Run]| {
        let observed: Vec<Vec<&Sample>> =
            runs.iter().map(|run| run.samples.iter().map(|placed| &placed.sample).collect()).collect();
        history(&observed)
    };
    let flat = histories(&runs_of(&[1e8; 20]));
    assert!(flat.len() == 1 && flat[0].changes.is_empty() && flat[0].means.len() == 20, "{flat:?}");
    let stepped = histories(&runs_of(&[[1e8; 10], [0.9e8; 10]].concat()));
    assert_eq!((&stepped[0].changes[..], stepped[0].quantity), (&[10][..], Quantity::RequestsPerSecond));
    assert!((stepped[0].means[0] / (1e8 / 4096.0) - 1.0).abs() < 0.05);
}
