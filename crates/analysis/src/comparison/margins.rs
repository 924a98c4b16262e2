//! What does not matter, of each figure of each workload: the usual margin, one that was said, or what a comparison of
//! the same with the same found there.

use super::matching::Index;
use super::{Figure, Noise};
use crate::statistics::Margin;
use halfpower_model::Workload;

/// The margins that a comparison is held against.
#[derive(Clone, Copy, Debug)]
pub enum Margins<'a> {
    /// Each figure's own.
    Usual,
    /// One for every figure.
    Said(Margin),
    /// What the same differed by on this machine, workload by workload, and never less than usual. What was not
    /// measured there has the usual margin.
    Found(&'a Noise),
}

/// Margins, ready to be looked up.
pub(super) struct Lookup<'a> {
    margins: Margins<'a>,
    index: Index<'a>,
}

impl<'a> Lookup<'a> {
    pub(super) fn new(margins: Margins<'a>) -> Lookup<'a> {
        let index = match margins {
            Margins::Usual | Margins::Said(_) => Index::default(),
            Margins::Found(noise) => Index::of(noise.comparison.cells.iter().map(|cell| &cell.workload)),
        };
        Lookup { margins, index }
    }

    /// Of a figure of a workload.
    pub(super) fn of(&self, figure: Figure, workload: &Workload) -> Margin {
        match self.margins {
            Margins::Usual => figure.usual_margin(),
            Margins::Said(margin) => margin,
            Margins::Found(noise) => {
                let cell = self.index.find(workload).map(|place| &noise.comparison.cells[place]);
                let change = cell.and_then(|cell| cell.change(figure));
                change.and_then(super::noise::margin_of).unwrap_or(figure.usual_margin())
            }
        }
    }
}
