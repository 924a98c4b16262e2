//! How long a run will still take: the plan's estimates at first, then what its trials really took.

use super::CellState;
use crate::plan::Plan;
use halfpower_model::Nanoseconds;

/// What a trial is taken to last when nothing limits its time and none has been seen.
const UNKNOWN: Nanoseconds = Nanoseconds(5_000_000_000);

/// Durations by cell.
#[derive(Clone, Debug)]
pub(super) struct Forecast {
    least: u32,
    most: u32,
    time_limit: Option<Nanoseconds>,
    /// By cell: the estimate, until a trial was seen.
    durations: Vec<Nanoseconds>,
}

impl Forecast {
    pub(super) fn new(plan: &Plan) -> Self {
        let estimate = |cell: &crate::plan::Cell| plan.trial_duration(&cell.workload).unwrap_or(UNKNOWN);
        Forecast {
            least: plan.repetitions.min,
            most: plan.repetitions.max,
            time_limit: plan.time_limit,
            durations: plan.cells.iter().map(estimate).collect(),
        }
    }

    /// A trial of a cell took so long.
    pub(super) fn took(&mut self, cell: usize, duration: Nanoseconds) {
        self.durations[cell] = duration;
    }

    /// The time left: the least repetitions that are missing, and until the time limit for the rest, if any is likely.
    pub(super) fn left(&self, elapsed: Nanoseconds, cells: &[CellState]) -> Nanoseconds {
        let missing = |upto: u32| -> u64 {
            let of_cell = |(cell, duration): (&CellState, &Nanoseconds)| {
                let done = if cell.given_up { upto } else { cell.rates.len() as u32 };
                u64::from(upto.saturating_sub(done)) * duration.0
            };
            cells.iter().zip(&self.durations).map(of_cell).sum()
        };
        let sure = missing(self.least);
        let to_limit = self.time_limit.map_or(0, |limit| limit.0.saturating_sub(elapsed.0));
        Nanoseconds(sure.max(to_limit.min(missing(self.most))))
    }
}
