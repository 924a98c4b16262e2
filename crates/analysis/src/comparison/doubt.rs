//! Why a change is undecided although its interval is clear: many comparisons, or A/A noise.

use super::change::Doubt;
use super::figure::Figure;
use super::margins::Held;
use crate::statistics::{Contrast, Verdict};

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
