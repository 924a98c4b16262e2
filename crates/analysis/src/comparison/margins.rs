//! What does not matter, of each figure of each workload: the usual margin, one that was said, or what a comparison of
//! the same with the same found there.

use super::change::{Change, ComparedCell};
use super::figure::Figure;
use super::matching::Index;
use crate::statistics::Margin;
use halfpower_model::Workload;
use halfpower_model::units::significant;
use serde::Serialize;

/// The most that the same may differ by and still give a margin: with a wider one nearly everything is equivalent. A rule that
/// was set.
const FOUND_MAX: f64 = 0.25;

/// The margins that a comparison is held against.
#[derive(Clone, Copy, Debug)]
pub enum Margins<'a> {
    /// Each figure's own.
    Usual,
    /// One for every figure.
    Said(Margin),
    /// What the same differed by on this machine, workload by workload, never less than usual, and none where it
    /// is more than a quarter. What was not measured there has the usual margin.
    Found(&'a [ComparedCell]),
}

/// What a figure of a workload is held against.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Held {
    /// What usually does not matter, or what was said.
    Margin(Margin),
    /// What the same differed by, which is more than usual.
    Noise(Margin),
    /// No margin: the same differed by this much, or without bounds. A change still has to lie beyond it.
    TooNoisy(Option<Margin>),
}

impl Held {
    /// What does not matter; none where nobody can tell.
    pub(super) fn margin(self) -> Option<Margin> {
        match self {
            Held::Margin(margin) | Held::Noise(margin) => Some(margin),
            Held::TooNoisy(_) => None,
        }
    }

    /// What a change must lie beyond.
    pub(super) fn least(self, figure: Figure) -> Margin {
        match self {
            Held::Margin(margin) | Held::Noise(margin) | Held::TooNoisy(Some(margin)) => margin,
            Held::TooNoisy(None) => figure.usual_margin(),
        }
    }
}

/// What a workload's changes are held against by this: the least margin that calls it equivalent to itself, and not less
/// than the usual one. The usual one too where one repetition a side tells nothing.
pub(super) fn held(change: &Change) -> Held {
    let usual = change.figure.usual_margin();
    match Margin::of_the_same(&[change.ratio]) {
        None if change.single => Held::Margin(usual),
        Some(found) if found <= usual => Held::Margin(usual),
        Some(found) if found.share() <= FOUND_MAX => Held::Noise(found),
        found => Held::TooNoisy(found),
    }
}

/// What a comparison took from one of the same with the same.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FoundMargins {
    /// All of it in a line.
    pub sentence: String,
    /// The largest margin that a figure was held against; none where none had one.
    pub largest: Option<Margin>,
    /// Figures of workloads that have no margin, since the same differed by too much there.
    pub without: Vec<String>,
}

impl FoundMargins {
    pub(super) fn of(cells: &[ComparedCell]) -> FoundMargins {
        const NAMED: usize = 4;
        let all = || {
            let changes = cells.iter().flat_map(|cell| cell.changes.iter().map(move |change| (cell, change)));
            changes.map(|(cell, change)| (change.margin, format!("{} of {}", change.figure.name(), cell.name)))
        };
        let with = all().filter_map(|(margin, name)| Some((margin?, name)));
        let largest = with.max_by(|one, other| one.0.share().total_cmp(&other.0.share()));
        let without: Vec<String> = all().filter(|(margin, _)| margin.is_none()).map(|(_, name)| name).collect();
        let percent = |share: f64| format!("{} %", significant(share * 100.0));
        let mut sentence = largest.as_ref().map_or_else(String::new, |(margin, name)| {
            format!(
                "Margin from an A/A comparison: changes up to {} are treated as noise ({name}).",
                percent(margin.share())
            )
        });
        if !without.is_empty() {
            let more = without.len().saturating_sub(NAMED);
            let more = if more == 0 { String::new() } else { format!("; and {more} more") };
            let named = without[..without.len().min(NAMED)].join("; ");
            let (limit, count, figures) = (percent(FOUND_MAX), without.len(), all().count());
            sentence += &format!(
                " {count} of {figures} figures have no margin, because identical runs may differ by more than {limit} there; only a larger \
                 change than that can be detected: {named}{more}."
            );
        }
        FoundMargins { sentence: sentence.trim_start().to_owned(), largest: largest.map(|(margin, _)| margin), without }
    }
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
            Margins::Found(cells) => Index::of(cells.iter().map(|cell| &cell.workload)),
        };
        Lookup { margins, index }
    }

    /// Of a figure of a workload.
    pub(super) fn of(&self, figure: Figure, workload: &Workload) -> Held {
        match self.margins {
            Margins::Usual => Held::Margin(figure.usual_margin()),
            Margins::Said(margin) => Held::Margin(margin),
            Margins::Found(cells) => {
                let cell = self.index.find(workload).map(|place| &cells[place]);
                let change = cell.and_then(|cell| cell.change(figure));
                change.map_or(Held::Margin(figure.usual_margin()), held)
            }
        }
    }

    /// Whether they are those of a comparison of the same with the same.
    pub(super) fn are_found(&self) -> bool {
        matches!(self.margins, Margins::Found(_))
    }
}
