//! Which workloads a survey measures next, so that each trial may change the verdict.
//!
//! A curve is what differs only in request size, or only in queue depth. First its ends and its middle are measured. Between two
//! measured points comes the one in the middle, if a figure of the verdict lies between them: half of the curve's maximum, the
//! rate from which on a setting is good enough, or the latency up to which it is low. The neighbours of a maximum are measured too. Then the workloads that the verdict
//! names are repeated, and those that may take their place: the best of each kind, the smallest that is good enough, and the
//! two points around the half-power size. The rest is measured once, and of a stream's setting the other queue depths.

use super::advice::{LONGER, SHARE_OF_BEST, good_enough};
use super::kinds::{Scatter, of_kind, order, rate};
use crate::cells::{Cell, Observed, gather};
use crate::comparable::{Axis, are_comparable, groups};
use crate::evidence::best;
use crate::kind::Kind;
use crate::limits;
use halfpower_model::{Among, Pattern, Workload};

/// Of fewer points each is measured.
const POINTS_MIN: usize = 3;
/// A figure this close to the rate of a point may lie on its other side.
const CLOSE: f64 = 0.05;

/// The workloads that take another repetition, by their numbers. The verdict needs `least` repetitions of those that it names.
pub fn next(planned: &[&Workload], samples: &[Observed<'_>], least: usize) -> Vec<bool> {
    let mut measured = gather(samples);
    limits::of(&mut measured);
    let mut cells: Vec<Cell<'_>> =
        (0..).zip(planned).map(|(number, workload)| Cell::planned(number, workload)).collect();
    for cell in measured {
        if let Some(planned) = cells.get_mut(cell.number as usize) {
            *planned = cell;
        }
    }
    let kinds: Vec<Vec<&Cell<'_>>> = Kind::ALL.into_iter().map(|kind| of_kind(&cells, kind)).collect();
    let mut survey = Survey { wanted: vec![false; cells.len()], least };
    survey.complete(&cells, &kinds);
    for kind in &kinds {
        survey.repeat(kind);
    }
    survey.wanted
}

fn lasting<'a>(kind: &[&'a Cell<'a>]) -> Vec<&'a Cell<'a>> {
    kind.iter().copied().filter(|cell| !cell.is_burst && !cell.bytes_per_s.is_empty()).collect()
}

fn best_that_lasts<'a>(kind: &[&'a Cell<'a>]) -> Option<&'a Cell<'a>> {
    best(&lasting(kind)).map(|(cell, _)| cell)
}

struct Survey {
    wanted: Vec<bool>,
    least: usize,
}

impl Survey {
    /// Wants what is not measured at all.
    fn complete(&mut self, cells: &[Cell<'_>], kinds: &[Vec<&Cell<'_>>]) {
        let mut is_on_curve = vec![false; cells.len()];
        for axis in [Axis::RequestSize, Axis::Depth] {
            let curves = groups(cells.iter(), &[axis]).into_iter().filter(|curve| curve.len() >= POINTS_MIN);
            for mut curve in curves {
                curve.sort_by_key(|cell| order(cell));
                curve.iter().for_each(|cell| is_on_curve[cell.number as usize] = true);
                let of_kind = kinds.iter().find(|kind| kind.iter().any(|cell| cell.number == curve[0].number));
                self.complete_curve(&curve, of_kind.and_then(|kind| best_that_lasts(kind)).map(rate), axis);
            }
        }
        for cell in cells {
            // Targets alone and together are compared with each other.
            let is_one_of_several = cell.workload.among != Among::All;
            let enough = if is_one_of_several { self.least } else { 1 };
            let is_alone = is_one_of_several || !is_on_curve[cell.number as usize];
            self.wanted[cell.number as usize] |= is_alone && cell.repetitions.len() < enough;
        }
    }

    /// `best` is the highest rate of its kind.
    fn complete_curve(&mut self, curve: &[&Cell<'_>], best: Option<f64>, axis: Axis) {
        let last = curve.len() - 1;
        let measured: Vec<usize> = (0..curve.len()).filter(|at| !curve[*at].bytes_per_s.is_empty()).collect();
        let mut ask = |at: usize| self.wanted[curve[at].number as usize] |= curve[at].repetitions.is_empty();
        [0, last / 2, last].into_iter().for_each(&mut ask);
        // What outran a limit reaches what lasts.
        let at_most = |cell: &Cell<'_>| best.filter(|_| cell.is_burst).unwrap_or(f64::INFINITY);
        let rate_at = |at: usize| rate(curve[at]).min(at_most(curve[at]));
        let Some(top) = measured.iter().copied().max_by(|one, other| rate_at(*one).total_cmp(&rate_at(*other))) else {
            return;
        };
        let most = rate_at(top);
        let may_be_best = best.is_some_and(|best| most >= best * SHARE_OF_BEST.powi(2));
        if may_be_best {
            [top.saturating_sub(1), (top + 1).min(last)].into_iter().for_each(&mut ask);
        }
        let is_direct = curve[0].workload.buffering.is_direct();
        let good_enough = best.filter(|_| may_be_best).map(|best| SHARE_OF_BEST * best);
        let knee = (may_be_best || is_direct).then_some(SHARE_OF_BEST * most);
        let half = (is_direct && axis == Axis::RequestSize).then_some(most / 2.0);
        let figures: Vec<f64> = [good_enough, knee, half].into_iter().flatten().collect();
        // Where random reads begin to take too long for a low latency.
        let has_low = axis == Axis::Depth && Kind::of(curve[0].workload) == Some(Kind::RandomRead);
        let latency_at = |at: usize| curve[at].outstanding() as f64 / rate_at(at);
        let longest = measured.first().filter(|_| has_low).map(|first| LONGER * latency_at(*first));
        for ends in measured.windows(2) {
            let [low, high] = [ends[0], ends[1]].map(rate_at);
            let between = low.min(high) * (1.0 - CLOSE)..=low.max(high) * (1.0 + CLOSE);
            let is_longest = |longest: f64| (latency_at(ends[0])..latency_at(ends[1])).contains(&longest);
            let is_asked = longest.is_some_and(is_longest) || figures.iter().any(|figure| between.contains(figure));
            if ends[1] - ends[0] > 1 && is_asked {
                ask(usize::midpoint(ends[0], ends[1]));
            }
        }
        if half.is_some() && curve[0].workload.pattern == Pattern::Sequential && curve[0].outstanding() == 1 {
            let reaches = measured.iter().position(|at| rate_at(*at) >= most / 2.0).filter(|place| *place > 0);
            let around = reaches.map(|place| [measured[place - 1], measured[place]]).into_iter().flatten();
            around.for_each(|at| self.wanted[curve[at].number as usize] |= curve[at].repetitions.len() < self.least);
        }
    }

    /// Wants what the verdict names of a kind, and what may take its place.
    fn repeat(&mut self, kind: &[&Cell<'_>]) {
        let Some(best) = best_that_lasts(kind) else { return };
        let measured = lasting(kind);
        let choice = good_enough(&measured, best);
        [best, choice].into_iter().for_each(|cell| self.wanted[cell.number as usize] = true);
        // The first that outran a limit would be the choice if it lasts: another repetition may come after the burst.
        let goes_first = |cell: &&&Cell<'_>| {
            cell.is_burst && rate(cell) >= SHARE_OF_BEST * rate(best) && order(cell) < order(choice)
        };
        let open = kind.iter().filter(|cell| cell.repetitions.len() < self.least);
        if let Some(first) = open.filter(goes_first).min_by_key(|cell| order(cell)) {
            self.wanted[first.number as usize] = true;
        }
        // Of a stream, whether another queue depth does alike; a curve of depths has it between its points.
        let is_beside = |cell: &&&Cell<'_>| {
            choice.workload.pattern.is_ordered() && are_comparable(cell.workload, choice.workload, &[Axis::Depth])
        };
        for cell in kind.iter().filter(is_beside) {
            self.wanted[cell.number as usize] |= cell.repetitions.is_empty();
        }
        let scatter = Scatter::within_run(measured.iter().copied());
        for cell in measured.iter().filter(|cell| order(cell) < order(choice)) {
            let may_be_good = scatter.may_reach(SHARE_OF_BEST, cell, best);
            self.wanted[cell.number as usize] |= may_be_good && cell.repetitions.len() < self.least;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{Run, buffered, deep, hockney, random, read, write};
    use crate::limits::tests::limited;
    use crate::{Advice, analyse};
    use halfpower_model::Bytes;

    /// The workloads of a survey.
    fn grid() -> Vec<Workload> {
        let sizes: Vec<u64> = (2..=10).map(|exponent| 1 << exponent).collect();
        let sequential = sizes
            .iter()
            .flat_map(|kib| [read(*kib), write(*kib), deep(8, read(*kib)), deep(8, write(*kib)), buffered(read(*kib))]);
        let depths = [1, 2, 4, 8, 16, 32].into_iter();
        sequential.chain(depths.flat_map(|depth| [read(4), write(4)].map(|one| deep(depth, random(one))))).collect()
    }

    /// Bytes per second of a device that needs `latency_s`, and is done with a request in `service_s`.
    fn of_device(workload: &Workload, latency_s: f64, service_s: f64) -> f64 {
        let depth = f64::from(workload.depth);
        let all = hockney(workload.request_size, latency_s / depth, 2e9);
        all.min(workload.request_size.0 as f64 / service_s).min(2e9)
    }

    fn wanted(grid: &[Workload], rates: &[Vec<f64>], least: usize) -> Vec<bool> {
        let mut run = Run::default();
        for (number, (workload, rates)) in (0..).zip(grid.iter().zip(rates)) {
            let cell = run.add(workload.clone(), rates);
            // One without rates has no number.
            run.samples.iter_mut().filter(|placed| placed.cell == cell).for_each(|placed| placed.cell = number);
        }
        next(&grid.iter().collect::<Vec<_>>(), &run.observed(), least)
    }

    /// The advice of a survey that asks until nothing is left, with its trials; `factor` is the scatter of a repetition.
    fn survey(rate: impl Fn(&Workload) -> f64, factor: impl Fn(usize, usize) -> f64) -> (Vec<Advice>, usize) {
        let grid = grid();
        let mut rates: Vec<Vec<f64>> = vec![Vec::new(); grid.len()];
        loop {
            let wanted = wanted(&grid, &rates, 5);
            let is_open = |of: &usize| wanted[*of] && rates[*of].len() < 5;
            let open: Vec<usize> = (0..grid.len()).filter(is_open).collect();
            if open.is_empty() {
                break;
            }
            open.into_iter().for_each(|of| {
                let repetition = rates[of].len();
                rates[of].push(rate(&grid[of]) * factor(of, repetition));
            });
        }
        let mut run = Run::default();
        grid.iter().zip(&rates).filter(|(_, rates)| !rates.is_empty()).for_each(|(workload, rates)| {
            run.add(workload.clone(), rates);
        });
        (analyse(&run.observed()).verdict.advice, rates.iter().map(Vec::len).sum())
    }

    fn in_full(rate: impl Fn(&Workload) -> f64) -> Vec<Advice> {
        let mut run = Run::default();
        grid().into_iter().for_each(|workload| {
            let rate = rate(&workload);
            run.add(workload, &[0.99, 0.995, 1.0, 1.005, 1.01].map(|factor| factor * rate));
        });
        analyse(&run.observed()).verdict.advice
    }

    #[test]
    fn two_trials_a_workload_give_the_same_advice() {
        for (latency_s, service_s) in [(80e-6, 2e-6), (80e-6, 10e-6), (5e-3, 5e-3), (20e-6, 1e-6), (1e-3, 300e-6)] {
            let rate = |workload: &Workload| of_device(workload, latency_s, service_s);
            let (advice, trials) = survey(rate, |of, repetition| 1.0 + 0.01 * ((of + repetition) % 3) as f64);
            let full = in_full(rate);
            assert!(trials <= grid().len() * 2, "{trials} of {} workloads", grid().len());
            assert_eq!(advice.len(), full.len());
            for (one, other) in advice.iter().zip(&full) {
                let is_in = |[from, to]: [Bytes; 2], size| (from..=to).contains(&size);
                let is_alike = is_in(other.request_size, one.workload.request_size)
                    && is_in(one.request_size, other.workload.request_size)
                    && (other.depth[0]..=other.depth[1]).contains(&one.workload.depth);
                assert!(is_alike, "{latency_s} {service_s}: {one:?} and {other:?}");
            }
        }
    }

    #[test]
    fn the_best_and_the_smallest_that_is_good_enough_are_repeated() {
        let workloads = [4, 64, 256, 1024].map(read);
        let rates = [1e8, 9.5e8, 9.8e8, 10e8].map(|rate| vec![rate]);
        // 4 KiB and 64 KiB are also around the half-power size.
        assert_eq!(wanted(&workloads, &rates, 5), [true, true, false, true]);
        assert_eq!(wanted(&workloads, &rates, 1), [false, true, false, true]);
    }

    #[test]
    fn what_outran_a_limit_may_be_the_choice() {
        // 60 MB/s last. At QD2, 4 KiB are slower, 16 and 64 KiB ran from a full bucket, and 8 and 32 KiB are not measured.
        let mut run = limited();
        let first = run.samples.iter().map(|placed| placed.cell + 1).max().unwrap();
        for (number, rate) in (first..).step_by(2).zip([20e6, 500e6, 500e6]) {
            let cell = run.add(deep(2, read(4 << (number - first))), &[rate]);
            run.samples.iter_mut().filter(|placed| placed.cell == cell).for_each(|placed| placed.cell = number);
        }
        let planned: Vec<Workload> = (0..first + 5)
            .map(|number| {
                let measured = run.samples.iter().find(|placed| placed.cell == number);
                measured.map_or_else(|| deep(2, read(4 << (number - first))), |placed| placed.sample.workload.clone())
            })
            .collect();
        let wanted = next(&planned.iter().collect::<Vec<_>>(), &run.observed(), 5);
        assert_eq!(wanted[first as usize..], [false, true, true, true, false]);
    }

    #[test]
    fn what_is_alone_is_measured_once() {
        let workload = [buffered(write(4))];
        assert_eq!((wanted(&workload, &[vec![]], 5), wanted(&workload, &[vec![1e8]], 5)), (vec![true], vec![false]));
        assert_eq!(wanted(&[], &[], 5), Vec::<bool>::new());
    }
}
