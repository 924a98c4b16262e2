//! Link: what a cache, a link and a bus give when no medium is involved.

use crate::finding::Estimate;
use crate::units::{Bytes, BytesPerSecond, Nanoseconds, seconds, significant};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What re-reading small regions came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkSpeed {
    /// Bytes of each target that were read over and over, from its start.
    pub region_bytes: Bytes,
    /// Bytes of each request.
    pub request_bytes: Bytes,
    /// Requests outstanding at each target.
    pub depth: u32,
    /// Length of each measurement, what fills the caches before it left out.
    #[serde(rename = "duration_s", with = "seconds")]
    pub duration: Nanoseconds,
    /// Draws the order of the measurements.
    pub seed: u64,
    /// The targets, in the order they were named.
    pub targets: Vec<LinkTarget>,
    /// Each target alone, then so many together.
    pub settings: Vec<LinkSetting>,
    /// Whether they share one; none of one target, and in records of before.
    #[serde(default)]
    pub sharing: Option<SharingVerdict>,
    /// What they share and how much it gives; none where that is not shown.
    pub limit: Option<SharedLimit>,
}

/// Whether targets share something that gives less than all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SharingVerdict {
    /// Yes: together they give less than the sum alone.
    Limit,
    /// Nothing that this reaches: together they give the sum alone.
    Nothing,
    /// The scatter allows both, or there are too few repetitions to tell.
    Undecided,
}

/// A target, and whether its medium was involved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkTarget {
    /// As it was named.
    pub path: String,
    /// Whether its medium was involved.
    pub medium: Medium,
}

/// Targets that were read at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkSetting {
    /// Which, by their places in the list of targets, from 0.
    pub targets: Vec<u32>,
    /// What they gave in each repetition.
    pub repetitions: Vec<BytesPerSecond>,
    /// The mean over the repetitions.
    pub bytes_per_s: Estimate,
    /// That over the sum of what each gave alone; none for one alone.
    pub of_alone: Option<Estimate>,
}

/// Something that targets share, and that gives less than all of them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SharedLimit {
    /// How many targets reach it.
    pub targets: u32,
    /// What it gives: the rate of the most targets that were read at once.
    pub bytes_per_s: Estimate,
}

/// Signs of a medium: small reads, one at a time, within the region and far from it, and how long the requests took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Medium {
    /// Median of the reads within the region; none where there were too few.
    pub near_p50_ns: Option<u64>,
    /// Median of those at random places behind the region; none where there is no such place, or too few were read.
    pub far_p50_ns: Option<u64>,
    /// Share of the re-reads that took longer than most by at least half of what a far read takes longer; none where
    /// far reads do not take at least twice as long.
    pub slow_share: Option<f64>,
    /// What holds reads back on the way, which looks like a medium; none where nothing is known to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limited: Option<String>,
    /// What that says.
    pub verdict: MediumVerdict,
}

/// Whether the re-reads went to the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MediumVerdict {
    /// No: they are clearly faster than reads that go there.
    Cache,
    /// Yes, or some of them did.
    Medium,
    /// Nothing tells: reads far away are as fast as those of the region, or reads are held back on purpose.
    Undecided,
}

impl LinkSpeed {
    /// What the reader came for: what all of them give, and whether they share a limit.
    pub fn verdict(&self) -> String {
        let most = self.settings.iter().max_by_key(|setting| setting.targets.len());
        let rate = |estimate: Option<Estimate>| {
            estimate.map_or_else(|| "nothing".to_owned(), |rate| rate.quantity.format(rate.value))
        };
        let all = rate(most.map(|setting| setting.bytes_per_s));
        match (&self.limit, self.sharing, self.targets.len()) {
            (_, _, 1) => format!("{all} from one target"),
            (Some(limit), _, _) => {
                let reached = limit.targets;
                format!("{} shared: {reached} targets reach what they have in common", rate(Some(limit.bytes_per_s)))
            }
            (None, Some(SharingVerdict::Nothing), count) => {
                format!("{all} from {count} targets, which share no limit that this reaches")
            }
            (None, _, count) => {
                let share = most.and_then(LinkSetting::share_of_alone);
                let share = share.map(|share| format!(": {share}")).unwrap_or_default();
                format!("{all} from {count} targets; whether they share a limit is undecided{share}")
            }
        }
    }
}

impl LinkSpeed {
    /// What was asked for, and how often: `256 KiB reads of the same 1 MiB, 2 deep, direct, 5 times 1 s`.
    pub fn requests(&self) -> String {
        let times = match self.settings.first().map_or(0, |setting| setting.repetitions.len()) {
            1 => "once".to_owned(),
            times => format!("{times} times"),
        };
        let LinkSpeed { request_bytes, region_bytes, depth, duration, .. } = self;
        format!("{request_bytes} reads of the same {region_bytes}, {depth} deep, direct, {times} {duration}")
    }
}

impl LinkSetting {
    /// What targets together give, in percent of the sum alone; none for one alone.
    pub fn share_of_alone(&self) -> Option<String> {
        let percent = |share: f64| significant(share * 100.0);
        let interval = |ratio: &Estimate| match (ratio.low, ratio.high) {
            (Some(low), Some(high)) => format!(" [{} to {}]", percent(low), percent(high)),
            _ => String::new(),
        };
        self.of_alone.map(|ratio| format!("{} %{} of the sum alone", percent(ratio.value), interval(&ratio)))
    }
}

impl fmt::Display for Medium {
    /// Whether the medium was involved, and by what that shows.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = |nanoseconds: Option<u64>| {
            nanoseconds.map_or_else(|| "an unknown time".to_owned(), |nanoseconds| Nanoseconds(nanoseconds).to_string())
        };
        let (near, far) = (time(self.near_p50_ns), time(self.far_p50_ns));
        let slow = self.slow_share.map(|share| significant(share * 100.0));
        if let Some(limit) = &self.limited {
            return write!(f, "from a cache or a medium: waiting for what limits {limit} looks like either");
        }
        match (self.verdict, slow) {
            (MediumVerdict::Cache, _) => write!(f, "from a cache: a small read here takes {near}, one far away {far}"),
            (MediumVerdict::Medium, Some(share)) => {
                write!(f, "went to its medium: {share} % of the re-reads took as much longer as that takes ({far})")
            }
            (MediumVerdict::Medium, None) => write!(f, "went to its medium: even a small read here takes {near}"),
            (MediumVerdict::Undecided, _) if self.far_p50_ns.is_none() => {
                f.write_str("from a cache or a medium: there is nothing far away to compare with")
            }
            (MediumVerdict::Undecided, _) => {
                write!(f, "from a cache or a medium as fast: a small read here takes {near}, one far away {far}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Quantity;

    fn link(sharing: Option<SharingVerdict>, low: Option<f64>, high: Option<f64>) -> LinkSpeed {
        let estimate = |quantity, value, low, high| Estimate { quantity, value, low, high, repetitions: 3 };
        let medium = Medium {
            near_p50_ns: None,
            far_p50_ns: None,
            slow_share: None,
            limited: None,
            verdict: MediumVerdict::Undecided,
        };
        let target = |path: &str| LinkTarget { path: path.to_owned(), medium: medium.clone() };
        let setting = LinkSetting {
            targets: vec![0, 1],
            repetitions: Vec::new(),
            bytes_per_s: estimate(Quantity::BytesPerSecond, 50e6, None, None),
            of_alone: Some(estimate(Quantity::Ratio, 0.765, low, high)),
        };
        LinkSpeed {
            region_bytes: Bytes::MIB,
            request_bytes: Bytes(65536),
            depth: 1,
            duration: Nanoseconds(1),
            seed: 1,
            targets: vec![target("one"), target("two")],
            settings: vec![setting],
            sharing,
            limit: None,
        }
    }

    #[test]
    fn one_repetition_is_once() {
        let mut link = link(None, None, None);
        link.settings[0].repetitions = vec![BytesPerSecond(1.0)];
        assert!(link.requests().ends_with("direct, once 1 ns"), "{}", link.requests());
        link.settings[0].repetitions.push(BytesPerSecond(1.0));
        assert!(link.requests().ends_with("direct, 2 times 1 ns"), "{}", link.requests());
    }

    #[test]
    fn that_nothing_is_shared_is_said_only_where_it_is_shown() {
        let shown = link(Some(SharingVerdict::Nothing), Some(0.97), Some(1.01)).verdict();
        assert!(shown.contains("share no limit"), "{shown}");
        let open = link(Some(SharingVerdict::Undecided), Some(0.359), Some(1.63)).verdict();
        assert_eq!(
            open,
            "50 MB/s from 2 targets; whether they share a limit is undecided: 76.5 % [35.9 to 163] of the sum alone"
        );
        let before = link(None, None, None).verdict();
        assert!(before.ends_with("is undecided: 76.5 % of the sum alone"), "{before}");
    }
}
