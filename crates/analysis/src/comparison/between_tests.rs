//! Comparisons of runs that vary by a known amount.

use super::tests::{close, compared, one_run, run, samples, standing_of};
use super::*;
use crate::fixtures::{Normal, Run, begins, ends, read, says};
use halfpower_model::sample::SystemAccount;

/// Runs of five repetitions whose states differ by `between`, and their repetitions by `within`, as a share.
fn made_runs(normal: &mut Normal, count: usize, [mean, between, within]: [f64; 3]) -> Vec<Run> {
    let run = |_| {
        let state = mean * (between * normal.draw()).exp();
        Run::of([(read(4), [0; 5].map(|_| state * (within * normal.draw()).exp()))])
    };
    (0..count).map(run).collect()
}

fn one_each(runs: &[Run]) -> Vec<OfRun<'_>> {
    runs.iter().map(one_run).collect()
}

/// In how many of 500 comparisons a change is named, with this many runs before, after and earlier.
fn named([before, after, earlier]: [usize; 3], change: f64, [between, within]: [f64; 2]) -> usize {
    let mut normal = Normal::new(11);
    let is_named = |_: &usize| {
        let mut made = |count, mean| made_runs(&mut normal, count, [mean, between, within]);
        let (before, after, earlier) = (made(before, 1e8), made(after, 1e8 * change), made(earlier, 1e8));
        let earlier = one_each(&earlier);
        let method = Method { design: Design::Runs(&earlier), ..Method::default() };
        standing_of(&compare(&one_each(&before), &one_each(&after), method), 0).is_change()
    };
    (0..500).filter(is_named).count()
}

#[test]
fn runs_that_differ_by_chance_are_no_change() {
    let mut all = 0;
    let designs = [[2, 2, 0], [5, 5, 0], [1, 1, 2], [1, 1, 8], [1, 3, 0]];
    for (runs, variation) in designs.into_iter().flat_map(|runs| [(runs, [0.03, 0.01]), (runs, [0.1, 0.03])]) {
        let named = named(runs, 1.0, variation);
        // 5 % of 500, and three standard errors of that many draws.
        assert!(named <= 25 + 15, "{named} with {runs:?} {variation:?}");
        all += named;
    }
    assert!(all <= 10 * 25, "{all}");
    // What is assumed where there is no other run covers a quiet machine, and one whose repetitions vary as the runs do.
    for variation in [[0.03, 0.01], [0.06, 0.01], [0.3, 0.3]] {
        let named = named([1, 1, 0], 1.0, variation);
        assert!(named <= 25, "{named} with {variation:?}");
    }
}

#[test]
fn a_tenth_is_found_with_five_runs_a_side() {
    let found = named([5, 5, 0], 0.9, [0.03, 0.02]);
    assert!(found >= 400, "{found}");
    let found = named([1, 1, 8], 0.8, [0.03, 0.02]);
    assert!(found >= 400, "with eight earlier runs a fifth is found by one: {found}");
}

#[test]
fn a_longer_burst_before_the_same_rate_is_no_change() {
    let runs = [60e6, 300e6].map(crate::limits::tests::limited_with);
    let [before, after] = runs.each_ref().map(one_run);
    let compared = compare(&[before], &[after], Method::default());
    let large = compared.cells.iter().find(|cell| cell.workload.request_size.0 == 1 << 20 && cell.workload.depth == 32);
    let change = large.unwrap().change(Figure::Throughput).unwrap();
    assert!((change.before.value / 60e6 - 1.0).abs() < 0.02, "{change:?}");
    assert!((change.ratio.value - 1.0).abs() < 0.02, "{change:?}");
}

#[test]
fn the_first_line_says_how_runs_vary() {
    let mut normal = Normal::new(3);
    let runs = made_runs(&mut normal, 6, [1e8, 0.03, 0.01]);
    let runs = one_each(&runs);
    let between = |before: usize, after: usize, earlier: usize| {
        let (before, others) = runs.split_at(before);
        let (after, others) = others.split_at(after);
        let method = Method { design: Design::Runs(&others[..earlier]), ..Method::default() };
        compare(before, after, method).between_runs.unwrap()
    };
    assert_eq!((between(1, 1, 0).basis, between(1, 1, 1).basis), (Basis::Assumed, Basis::Assumed));
    assert_eq!((between(1, 1, 2).basis, between(1, 1, 2).runs), (Basis::EarlierRuns, 4));
    assert_eq!((between(2, 2, 2).basis, between(2, 2, 2).runs), (Basis::NamedRuns, 4));
    assert_eq!(between(1, 3, 0).basis, Basis::NamedRuns);
    begins(&between(1, 1, 0).sentence, "Fewer than two earlier runs of these workloads are stored: ");
    begins(&between(1, 1, 4).sentence, "Between runs: throughput varies by ");
}

#[test]
fn runs_of_another_environment_are_no_earlier_ones() {
    let mut normal = Normal::new(3);
    let mut runs = made_runs(&mut normal, 6, [1e8, 0.03, 0.01]);
    let basis = |runs: &[Run]| {
        let runs = one_each(runs);
        let method = Method { design: Design::Runs(&runs[2..]), ..Method::default() };
        compare(&runs[..1], &runs[1..2], method).between_runs.unwrap().basis
    };
    assert_eq!(basis(&runs), Basis::EarlierRuns);
    let others = runs[2..].iter_mut().flat_map(|run| &mut run.samples);
    others.for_each(|placed| placed.sample.environment.kernel = "5".to_owned());
    assert_eq!(basis(&runs), Basis::Assumed);
}

#[test]
fn runs_beside_other_programs_vary_by_their_share() {
    let beside = |rate: f64, user_s: f64, device_bytes: u64| {
        let mut made = run(&[(read(4), &close(rate))]);
        made.device_reads(0, |_| (30_000, device_bytes));
        for placed in &mut made.samples {
            let account = SystemAccount { wall_s: 1.0, user_s, idle_s: 2.0 - user_s, ..SystemAccount::default() };
            placed.sample.cpu.system = Some(account);
        }
        made
    };
    let judged = |before: &Run, after: &Run| {
        let compared = compare(&[one_run(before)], &[one_run(after)], Method::default());
        (standing_of(&compared, 0), compared.sentence, compared.between_runs.unwrap())
    };
    let quiet = beside(1e8, 0.02, 100_000_000);
    let (standing, _, between) = judged(&quiet, &beside(0.6e8, 0.02, 60_000_000));
    assert_eq!((standing, between.sentence.contains("Other programs")), (Standing::Worse, false));
    let (standing, sentence, between) = judged(&quiet, &beside(0.6e8, 1.2, 60_000_000));
    assert_eq!(standing, Standing::Undecided, "{sentence}");
    says(&sentence, "beside other programs");
    ends(&between.sentence, "Other programs used 1 % of the CPU time before and 60 % after.");
    let (standing, _, between) = judged(&quiet, &beside(0.6e8, 0.0, 180_000_000));
    assert_eq!(standing, Standing::Undecided);
    ends(&between.sentence, "Other programs caused 0 % of the device's I/O before and 67 % after.");
    // Several runs on each side show how far they vary, unless others worked beside one side only.
    let several = |before: &Run, after: &Run| standing_of(&compared(before, after), 0);
    let busy = beside(0.6e8, 1.2, 60_000_000);
    assert_eq!(several(&beside(1e8, 1.2, 100_000_000), &busy), Standing::Worse);
    assert_eq!(several(&quiet, &busy), Standing::Undecided);
    assert_eq!(several(&quiet, &beside(0.2e8, 1.2, 20_000_000)), Standing::Worse, "by more than their share explains");
}

#[test]
fn pairs_beside_other_programs_vary_by_their_share() {
    let arms = |user_s: f64| {
        [1e8, 1.4e8].map(|rate| {
            let mut made = run(&[(read(4), &close(rate))]);
            let account = SystemAccount { wall_s: 1.0, user_s, idle_s: 2.0 - user_s, ..SystemAccount::default() };
            made.samples.iter_mut().for_each(|placed| placed.sample.cpu.system = Some(account));
            made
        })
    };
    let judged = |user_s: f64| {
        let [a, b] = arms(user_s);
        let method = Method { design: Design::Pairs, ..Method::default() };
        let compared = compare(&samples(&a), &samples(&b), method);
        (standing_of(&compared, 0), compared.warnings.into_iter().map(|warning| warning.message).collect::<Vec<_>>())
    };
    assert_eq!(judged(0.02), (Standing::Better, Vec::new()));
    let said = "Other programs used 80 % of the CPU time in A and 80 % in B".to_owned();
    assert_eq!(judged(1.6), (Standing::Undecided, vec![said]));
}

#[test]
fn repetitions_that_agree_by_chance_scatter_as_those_of_other_workloads() {
    let scattered = |rate: f64| [0.5, 0.7, 1.0, 1.3, 1.5].map(|factor| factor * rate);
    let made = |of_first: f64| {
        let others = [read(8), read(16)].map(|workload| (workload, scattered(1e8)));
        let cells = others.each_ref().map(|(workload, rates)| (workload.clone(), &rates[..]));
        run(&[&[(read(4), &close(of_first)[..])], &cells[..]].concat())
    };
    let judged = |before: &Run, after: &Run| {
        let compared = compare(&[one_run(before)], &[one_run(after)], Method::default());
        standing_of(&compared, 0)
    };
    assert_eq!(judged(&made(1e8), &made(0.6e8)), Standing::Undecided);
    let alone = |rate: f64| run(&[(read(4), &close(rate))]);
    assert_eq!(judged(&alone(1e8), &alone(0.6e8)), Standing::Worse);
}
