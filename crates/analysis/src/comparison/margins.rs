//! The change that counts as noise for each figure and workload: default, given, or from an A/A comparison.

use super::change::{Change, ComparedCell};
use super::figure::Figure;
use super::matching::Index;
use crate::statistics::Margin;
use halfpower_model::Workload;
use halfpower_model::units::significant;
use serde::Serialize;

/// Larger A/A noise gives no margin, because nearly everything would be equivalent. A chosen rule.
const FOUND_MAX: f64 = 0.25;

/// The margins of a comparison.
#[derive(Clone, Copy, Debug)]
pub enum Margins<'a> {
    /// Each figure's default.
    Usual,
    /// One for all figures.
    Said(Margin),
    /// A/A noise by workload: at least the default, none above a quarter. Unmeasured workloads use the default.
    Found(&'a [ComparedCell]),
}

/// The margin of one figure of one workload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Held {
    /// Default or given.
    Margin(Margin),
    /// A/A noise above the default.
    Noise(Margin),
    /// No margin because of A/A noise, which a change must still exceed.
    TooNoisy(Option<Margin>),
}

impl Held {
    /// The margin, if there is one.
    pub(super) fn margin(self) -> Option<Margin> {
        match self {
            Held::Margin(margin) | Held::Noise(margin) => Some(margin),
            Held::TooNoisy(_) => None,
        }
    }

    /// What a change must exceed.
    pub(super) fn least(self, figure: Figure) -> Margin {
        match self {
            Held::Margin(margin) | Held::Noise(margin) | Held::TooNoisy(Some(margin)) => margin,
            Held::TooNoisy(None) => figure.usual_margin(),
        }
    }
}

/// The margin that an A/A change implies: at least the default, which also serves single samples.
pub(super) fn held(change: &Change) -> Held {
    let usual = change.figure.usual_margin();
    match Margin::of_the_same(change.ratio) {
        None if change.single => Held::Margin(usual),
        Some(found) if found <= usual => Held::Margin(usual),
        Some(found) if found.share() <= FOUND_MAX => Held::Noise(found),
        found => Held::TooNoisy(found),
    }
}

/// Margins taken from an A/A comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FoundMargins {
    /// In one line.
    pub sentence: String,
    /// The largest margin used.
    pub largest: Option<Margin>,
    /// Figures without a margin because of noise.
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

/// Margins with an index.
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

    /// Whether they are from an A/A comparison.
    pub(super) fn are_found(&self) -> bool {
        matches!(self.margins, Margins::Found(_))
    }
}
