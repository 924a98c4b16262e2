//! The change that counts as noise for each figure and workload: default, given, or from an A/A comparison; and why a change
//! is undecided although its interval is clear.

use super::change::{Change, ComparedCell, Doubt};
use super::figure::Figure;
use super::matching::Index;
use crate::statistics::{Contrast, Margin, Verdict};
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
        let changes = cells.iter().flat_map(|cell| cell.changes.iter().map(move |change| (cell, change)));
        let all: Vec<(Option<Margin>, String)> = changes
            .map(|(cell, change)| (change.margin, format!("{} of {}", change.figure.name(), cell.name)))
            .collect();
        let with = all.iter().filter_map(|(margin, name)| Some(((*margin)?, name)));
        let largest = with.max_by(|one, other| one.0.share().total_cmp(&other.0.share()));
        let without = all.iter().filter(|(margin, _)| margin.is_none()).map(|(_, name)| name.clone());
        let without: Vec<String> = without.collect();
        let percent = |share: f64| format!("{} %", significant(share * 100.0));
        let used = largest.map(|(margin, name)| {
            let share = percent(margin.share());
            format!("Margin from an A/A comparison: changes up to {share} are treated as noise ({name}).")
        });
        let unused = (!without.is_empty()).then(|| {
            let (limit, count, figures) = (percent(FOUND_MAX), without.len(), all.len());
            format!(
                "{count} of {figures} figures have no margin, because identical runs may differ by more than {limit} there; only a \
                 larger change than that can be detected: {}.",
                first_of(&without, "; ")
            )
        });
        let sentence = used.into_iter().chain(unused).collect::<Vec<_>>().join(" ");
        FoundMargins { sentence, largest: largest.map(|(margin, _)| margin), without }
    }
}

/// The first four, and how many more there are.
pub(super) fn first_of(words: &[String], between: &str) -> String {
    const SHOWN: usize = 4;
    let more = words.len().saturating_sub(SHOWN);
    let shown = words[..words.len() - more].join(between);
    if more == 0 { shown } else { format!("{shown}{between}and {more} more") }
}

/// The margin of a figure of a workload; `index` is of the A/A comparison's workloads.
pub(super) fn margin_of(margins: Margins<'_>, index: &Index<'_>, figure: Figure, workload: &Workload) -> Held {
    let usual = Held::Margin(figure.usual_margin());
    match margins {
        Margins::Usual => usual,
        Margins::Said(margin) => Held::Margin(margin),
        Margins::Found(cells) => {
            let change = index.find(workload).and_then(|place| cells[place].change(figure));
            change.map_or(usual, held)
        }
    }
}

/// The final verdict and its doubt; `verdict` is adjusted for the number of workloads.
pub(super) fn judged(
    figure: Figure,
    held: Held,
    contrast: &Contrast,
    verdict: Verdict,
    workloads: usize,
) -> (Verdict, Option<Doubt>) {
    let is_beyond_usual = || is_change(Contrast { margin: figure.usual_margin(), ..*contrast }.verdict());
    let doubt = match held {
        Held::TooNoisy(None) => Some(Doubt::TooNoisy),
        _ if is_change(verdict) => None,
        _ if is_change(contrast.verdict()) => Some(Doubt::OneOfMany { workloads }),
        Held::TooNoisy(Some(_)) => Some(Doubt::TooNoisy),
        Held::Noise(_) => is_beyond_usual().then_some(Doubt::NoiseMayExplain),
        Held::Margin(_) => None,
    };
    (if doubt.is_some() { Verdict::Undecided } else { verdict }, doubt)
}

fn is_change(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Higher | Verdict::Lower)
}
