//! Access patterns: the order of request offsets.

use crate::units::Bytes;
use crate::words::{Value, forms, settled, words};
use std::fmt;
use std::str::FromStr;

/// Access patterns. Offsets are multiples of the step, from `offset` on; `docs/METHOD.md` gives each law.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Pattern {
    /// Ascending from an offset that the seed draws, around the end to the start.
    #[default]
    Sequential,
    /// The same, descending.
    Reverse,
    /// A fixed stride between requests; at the end again from the start plus one step, until all offsets are used.
    Strided {
        /// Distance between the starts of two requests.
        stride: Bytes,
    },
    /// Ascending from the start in runs, with a gap after each; at the end again from the start.
    Runs {
        /// Length of a run.
        length: Bytes,
        /// What is left out after it.
        gap: Bytes,
    },
    /// Uniform.
    Random,
    /// In random order, each offset once before any repeats.
    Shuffled,
    /// The offset of rank k with a probability proportional to 1 / k^θ; ranks are spread over the span.
    Zipf {
        /// θ.
        theta: Thousandths,
    },
    /// Self-similar: a share h of the offsets gets 1 - h of the requests, and so on within it; ranks are spread.
    Pareto {
        /// h.
        share: Thousandths,
    },
    /// A share of the requests to a share of the offsets, the rest to the rest; ranks are spread.
    HotCold {
        /// Percent of the requests to the hot offsets.
        requests_percent: u8,
        /// Percent of the offsets that are hot.
        places_percent: u8,
    },
    /// Zones of the span one after another, each with its share of the requests.
    Zoned {
        /// The zones.
        zones: Zones,
    },
    /// Around the middle of the span.
    Normal {
        /// Standard deviation as a share of the span.
        deviation: Thousandths,
    },
}

/// Most zones of a pattern.
const ZONES: usize = 8;

/// Zones in their order, each with its percent of the requests and of the span; both add up to 100. Written
/// `50/5:30/15:20/80`, as fio does; that is the workload of JESD219.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Zones {
    zones: [(u8, u8); ZONES],
}

impl Zones {
    /// Percent of the requests and of the span of each.
    pub fn percents(&self) -> impl Iterator<Item = (u8, u8)> {
        self.zones.into_iter().filter(|(_, places)| *places > 0)
    }
}

impl fmt::Display for Zones {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, (requests, places)) in self.percents().enumerate() {
            write!(f, "{}{requests}/{places}", if number > 0 { ":" } else { "" })?;
        }
        Ok(())
    }
}

impl Value for Zones {
    fn exact(&self) -> Option<String> {
        Some(self.to_string())
    }
}

impl FromStr for Zones {
    type Err = ();

    /// The last zone may leave out its share of the span, and has the rest.
    fn from_str(text: &str) -> Result<Self, ()> {
        let mut zones = [(0_u8, 0_u8); ZONES];
        let (mut requests_left, mut places_left) = (100_u8, 100_u8);
        for (number, zone) in text.split(':').enumerate() {
            let (requests, places) = zone.split_once('/').ok_or(())?;
            let requests: u8 = requests.parse().map_err(drop)?;
            let places = if places.is_empty() { places_left } else { places.parse().map_err(drop)? };
            requests_left = requests_left.checked_sub(requests).ok_or(())?;
            places_left = places_left.checked_sub(places).filter(|_| places > 0).ok_or(())?;
            *zones.get_mut(number).ok_or(())? = (requests, places);
        }
        (requests_left == 0 && places_left == 0).then_some(Zones { zones }).ok_or(())
    }
}

/// A number with three decimals, exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Thousandths(pub u32);

words! {
    /// How several workers share an ordered pattern.
    pub enum Sharing {
        /// Each worker has its own equal part of the span.
        Parts = "parts",
        /// Each worker has every n-th request, as many as there are workers.
        Interleaved = "interleaved",
        /// One cursor for all: each worker takes the next request.
        Cursor = "cursor",
        /// Each worker covers the whole span, and may find data in a cache that another has just read.
        Whole = "whole",
    }
}

const CHOICES: &str = "sequential, reverse, strided=SIZE, runs=LENGTH/GAP, random, shuffled, zipf=THETA, pareto=SHARE, hot_cold=80/20, \
                       zoned=50/5:30/15:20/80, normal=DEVIATION";

impl Pattern {
    /// An example of every pattern.
    pub const EXAMPLES: [&'static str; 11] = [
        "sequential",
        "reverse",
        "strided=1MiB",
        "runs=1MiB/3MiB",
        "random",
        "shuffled",
        "zipf=0.99",
        "pareto=0.2",
        "hot_cold=80/20",
        "zoned=50/5:30/15:20/80",
        "normal=0.1",
    ];

    /// Whether it goes to all offsets equally often, in random order.
    pub fn is_uniform(self) -> bool {
        matches!(self, Pattern::Random | Pattern::Shuffled)
    }

    /// Whether each offset follows from the one before.
    pub fn is_ordered(self) -> bool {
        matches!(self, Pattern::Sequential | Pattern::Reverse | Pattern::Strided { .. } | Pattern::Runs { .. })
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

/// The valid choices; for a pattern with a number, the range of that number.
fn choices(text: &str) -> &'static str {
    let Some((word, _)) = text.split_once('=') else { return CHOICES };
    match settled(word, &["hot_cold"]) {
        "strided" => "strided=SIZE, like strided=1MiB",
        "runs" => "runs=LENGTH/GAP, like runs=256MiB/2GiB",
        "zipf" => "zipf=0.001 to zipf=10, with three decimals at most",
        "pareto" => "pareto=0.001 to pareto=0.5, with three decimals at most",
        "zoned" => {
            "zoned=REQUESTS/SPAN:…, at most 8 zones in whole percents that add up to 100, like zoned=50/5:30/15:20/80"
        }
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
    "runs" => Runs { length: length, gap: gap } = |text: &str| {
        let (length, gap) = text.split_once('/')?;
        Some((length.parse().ok()?, gap.parse().ok()?))
    },
    "zipf" => Zipf { theta: theta } = within(1, 10_000),
    "pareto" => Pareto { share: share } = within(1, 500),
    "hot_cold" => HotCold { requests_percent: requests, places_percent: places } = percents,
    "zoned" => Zoned { zones: zones } = |text: &str| text.parse().ok(),
    "normal" => Normal { deviation: deviation } = within(1, 1000),
});
