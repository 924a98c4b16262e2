//! Why a change stays undecided, or is not called equivalent, where its interval against the margin is not all there is to say:
//! it is one of many that were looked at, or the same differed by as much, or by so much that nothing can be told.

use super::change::Doubt;
use super::figure::Figure;
use super::margins::Held;
use crate::statistics::{Contrast, Verdict};

/// The verdict that stands, and what is in doubt; `verdict` is adjusted over so many workloads.
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
