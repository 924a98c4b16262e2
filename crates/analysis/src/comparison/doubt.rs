//! Why a change stays undecided, or is not called equivalent, where its interval against the margin is not all there is to say:
//! the same differed by as much, or by so much that nothing can be told.

use super::Figure;
use super::margins::Held;
use crate::statistics::{Contrast, Verdict};
use serde::Serialize;

/// Why a change is undecided, beside what its interval says.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum Doubt {
    /// It lies beyond what usually does not matter, and not beyond what the same differed by.
    NoiseMayExplain,
    /// The same differed by so much there that it gives no margin, and the change does not lie beyond that.
    TooNoisy,
}

/// The verdict that stands, and what is in doubt.
pub(super) fn judged(figure: Figure, held: Held, contrast: &Contrast, verdict: Verdict) -> (Verdict, Option<Doubt>) {
    let is_beyond_usual = || is_change(Contrast { margin: figure.usual_margin(), ..*contrast }.verdict());
    let doubt = match held {
        Held::TooNoisy(None) => Some(Doubt::TooNoisy),
        _ if is_change(verdict) => None,
        Held::TooNoisy(Some(_)) => Some(Doubt::TooNoisy),
        Held::Noise(_) => is_beyond_usual().then_some(Doubt::NoiseMayExplain),
        Held::Margin(_) => None,
    };
    (if doubt.is_some() { Verdict::Undecided } else { verdict }, doubt)
}

fn is_change(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Higher | Verdict::Lower)
}
