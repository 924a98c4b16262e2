//! Where a cell's requests spent their time in the block layer, over all repetitions.
//!
//! Only cells that traced their requests have it. Each repetition gives shares; the figures are means of those.
//! Source: Riedel, van Ingen and Gray (1997), the table of the bus analyser.

use crate::cells::Cell;
use crate::statistics::mean_estimate;
use halfpower_model::sample::{Block, Direction, Phases};
use halfpower_model::{Estimate, Quantity};
use serde::Serialize;

/// Time of a cell's requests by block-layer phase, with splits, merges and requeues.
#[derive(Clone, Debug, Serialize)]
pub struct BlockLayer {
    /// Requests traced, in all repetitions.
    pub followed: u64,
    /// Share of their time queued.
    pub queued: Option<Estimate>,
    /// Share of their time at the device.
    pub at_device: Option<Estimate>,
    /// Splits per traced request.
    pub split: Option<Estimate>,
    /// Merges per traced request.
    pub merged: Option<Estimate>,
    /// Requeues per traced request.
    pub requeued: Option<Estimate>,
    /// Bytes read by the device over bytes requested.
    pub read_amplification: Option<Estimate>,
    /// The same for writes.
    pub write_amplification: Option<Estimate>,
    /// Share of the time with a request at the device.
    pub busy: Option<Estimate>,
}

/// None if no repetition traced its requests.
pub(crate) fn of(cell: &Cell<'_>) -> Option<BlockLayer> {
    let blocks: Vec<&Block> = cell.repetitions.iter().filter_map(|observed| observed.sample.block.as_ref()).collect();
    let phases: Vec<&Phases> = blocks.iter().filter_map(|block| block.phases.as_deref()).collect();
    if phases.is_empty() {
        return None;
    }
    let share = |of: &dyn Fn(&Phases) -> Option<f64>| mean(phases.iter().filter_map(|phases| of(phases)));
    let each = |count: fn(&Phases) -> u64| share(&|phases| Some(count(phases) as f64 / phases.followed as f64));
    let amplification = |direction: fn(&Block) -> Option<Direction>| {
        mean(blocks.iter().filter_map(|block| direction(block)?.amplification))
    };
    Some(BlockLayer {
        followed: phases.iter().map(|phases| phases.followed).sum(),
        queued: part(share(&|phases| phases.queued_share)),
        at_device: part(share(&|phases| Some(1.0 - phases.queued_share?))),
        split: each(|phases| phases.split),
        merged: each(|phases| phases.merged),
        requeued: each(|phases| phases.requeued),
        read_amplification: amplification(|block| block.read),
        write_amplification: amplification(|block| block.write),
        busy: part(mean(cell.repetitions.iter().filter_map(|observed| observed.sample.device_busy()))),
    })
}

/// A repetition that traced nothing has no shares.
fn mean(values: impl Iterator<Item = f64>) -> Option<Estimate> {
    let values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
    mean_estimate(Quantity::Ratio, &values)
}

/// A share and its interval end at 1.
fn part(estimate: Option<Estimate>) -> Option<Estimate> {
    estimate.map(|estimate| Estimate {
        value: estimate.value.min(1.0),
        low: estimate.low.map(|low| low.min(1.0)),
        high: estimate.high.map(|high| high.min(1.0)),
        ..estimate
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse;
    use crate::fixtures::{Run, block, read};

    #[test]
    fn repetitions_are_merged_and_those_that_saw_nothing_have_no_say() {
        let mut run = Run::default();
        run.add(read(4), &[1e6, 1e6, 1e6]);
        run.add(read(8), &[1e6]);
        let lives = [(10, Some(0.2), 5), (10, Some(0.4), 10), (0, None, 0)];
        for (placed, (followed, queued_share, split)) in run.samples.iter_mut().zip(lives) {
            let phases = Phases { followed, queued_share, split, ..Phases::default() };
            let read = Direction { amplification: Some(1.5), ..Direction::default() };
            let (read, phases) = (Some(read), Some(phases.into()));
            placed.sample.block = Some(Block { read, write: None, phases, ..block(10, 10) });
        }
        let cells = analyse(&run.observed()).cells;
        assert!(cells[1].block.is_none(), "nobody asked");
        let block = cells[0].block.as_ref().unwrap();
        let value = |estimate: Option<Estimate>| estimate.map(|e| ((e.value * 1e9).round() / 1e9, e.repetitions));
        assert_eq!((block.followed, value(block.queued)), (20, Some((0.3, 2))));
        assert_eq!((value(block.at_device), value(block.split)), (Some((0.7, 2)), Some((0.75, 2))));
        let ends = [block.queued, block.at_device].map(|part| part.and_then(|part| part.low.zip(part.high)));
        assert_eq!(ends, [Some((0.0, 1.0)); 2], "± 127 % of two repetitions");
        assert_eq!((value(block.requeued), value(block.busy)), (Some((0.0, 2)), Some((0.5, 3))));
        assert_eq!((value(block.read_amplification), block.write_amplification), (Some((1.5, 3)), None));
    }
}
