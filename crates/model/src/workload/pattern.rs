//! Where the requests go.

use crate::units::Bytes;
use crate::words::{Value, forms, settled, words};
use std::fmt;
use std::str::FromStr;

/// Where the requests go. Places are multiples of the step, from the offset on; `docs/METHOD.md` gives each law.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Pattern {
    /// One after another, from a place that the seed draws, around the end to the start.
    #[default]
    Sequential,
    /// The same, downwards.
    Reverse,
    /// Every request so far behind the one before; at the end, from the start again one step on, until all is covered.
    Strided {
        /// From the start of a request to that of the next.
        stride: Bytes,
    },
    /// Uniform.
    Random,
    /// In random order, each place once before any comes again.
    Shuffled,
    /// The place of rank k with a probability as 1 / k^θ; the ranks are spread over the span.
    Zipf {
        /// θ.
        theta: Thousandths,
    },
    /// Self-similar: the share h of the places takes 1 - h of the requests, and so on within it; ranks spread.
    Pareto {
        /// h.
        share: Thousandths,
    },
    /// A share of the requests to a share of the places, the rest to the rest; ranks spread.
    HotCold {
        /// Percent of the requests that go to the hot places.
        requests_percent: u8,
        /// Percent of the places that are hot.
        places_percent: u8,
    },
    /// Around the middle of the span.
    Normal {
        /// The standard deviation as a share of the span.
        deviation: Thousandths,
    },
}

/// A number with three decimals, exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Thousandths(pub u32);

words! {
    /// How several workers share a pattern that has an order.
    pub enum Sharing {
        /// Each has its own equal part of the span, so that none reads what another has just read.
        Parts = "parts",
        /// One cursor for all: each takes the next request.
        Cursor = "cursor",
        /// Each goes through the whole: what one reads, another may have just read.
        Whole = "whole",
    }
}

const CHOICES: &str = "sequential, reverse, strided=SIZE, random, shuffled, zipf=THETA, pareto=SHARE, hot_cold=80/20, \
                       normal=DEVIATION";

impl Pattern {
    /// Words for every pattern, with an example where it takes a number.
    pub const EXAMPLES: [&'static str; 9] = [
        "sequential",
        "reverse",
        "strided=1MiB",
        "random",
        "shuffled",
        "zipf=0.99",
        "pareto=0.2",
        "hot_cold=80/20",
        "normal=0.1",
    ];

    /// True when one request tells where the next goes.
    pub fn is_ordered(self) -> bool {
        matches!(self, Pattern::Sequential | Pattern::Reverse | Pattern::Strided { .. })
    }
}

impl Thousandths {
    /// As a number.
    pub fn value(self) -> f64 {
        f64::from(self.0) / 1000.0
    }
}

impl fmt::Display for Thousandths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.value())
    }
}

impl Value for Thousandths {
    fn exact(&self) -> Option<String> {
        Some(self.to_string())
    }
}

impl FromStr for Thousandths {
    type Err = ();

    /// A plain decimal with at most three digits behind the point.
    fn from_str(text: &str) -> Result<Self, ()> {
        let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if decimals.len() > 3 || !digits(whole) || !digits(decimals) || text.len() == text.matches('.').count() {
            return Err(());
        }
        format!("{whole}{decimals:0<3}").parse().map(Thousandths).map_err(drop)
    }
}

fn within(least: u32, most: u32) -> impl Fn(&str) -> Option<Thousandths> {
    move |text| text.parse().ok().filter(|number: &Thousandths| (least..=most).contains(&number.0))
}

fn percents(text: &str) -> Option<(u8, u8)> {
    let percent = |text: &str| text.trim_end_matches('%').parse().ok().filter(|percent| (1..=99).contains(percent));
    let (requests, places) = text.split_once('/')?;
    Some((percent(requests)?, percent(places)?))
}

/// What is valid: for a pattern with a number, what that may be.
fn choices(text: &str) -> &'static str {
    let Some((word, _)) = text.split_once('=') else { return CHOICES };
    match settled(word, &["hot_cold"]) {
        "strided" => "strided=SIZE, like strided=1MiB",
        "zipf" => "zipf=0.001 to zipf=10, with three decimals at most",
        "pareto" => "pareto=0.001 to pareto=0.5, with three decimals at most",
        "hot_cold" => "hot_cold=1/1 to hot_cold=99/99, in whole percents",
        "normal" => "normal=0.001 to normal=1, with three decimals at most",
        _ => CHOICES,
    }
}

forms!(Pattern, choices, {
    "sequential" => Sequential,
    "reverse" => Reverse,
    "random" => Random,
    "shuffled" => Shuffled,
}, {
    "strided" => Strided { stride: stride } = |text: &str| text.parse().ok(),
    "zipf" => Zipf { theta: theta } = within(1, 10_000),
    "pareto" => Pareto { share: share } = within(1, 500),
    "hot_cold" => HotCold { requests_percent: requests, places_percent: places } = percents,
    "normal" => Normal { deviation: deviation } = within(1, 1000),
});
