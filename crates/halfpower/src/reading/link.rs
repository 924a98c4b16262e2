//! The record of `halfpower link` and its conclusions: a shared bottleneck, and whether the medium was involved.
//!
//! Ratios are paired by block: throughput together over the sum of each alone. Targets share a bottleneck if the interval of
//! the ratio lies below 0.95, and none if it lies above. Otherwise, or without an interval, it is undecided.
//!
//! Neither the re-reads nor the kernel's counters show whether the medium was involved: the device moves the same bytes either
//! way. Latency does: small reads inside the region against small reads far from it. If far reads take at least twice as long,
//! the region was cached, and re-reads slower by half the difference came from the medium; more than 1 % of them count. If
//! both are equally fast it is undecided, except for a hard disk whose re-reads take 2 ms or more: no cache is that slow.
//! Throttled reads can wait anywhere, so they decide nothing.

use halfpower_analysis::statistics::{mean_estimate, paired_ratio};
use halfpower_model::histogram::{Histogram, bucket_middle};
use halfpower_model::{Bytes, BytesPerSecond, Estimate, Nanoseconds, Quantity};
use serde::{Deserialize, Serialize};

/// The throughput of re-reading small regions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct LinkSpeed {
    /// The region that is read again and again, from the start of each target.
    pub(crate) region_bytes: Bytes,
    /// Request size.
    pub(crate) request_bytes: Bytes,
    /// Queue depth at each target.
    pub(crate) depth: u32,
    /// Length of each measurement, without its warm-up.
    #[serde(rename = "duration_s")]
    pub(crate) duration: Nanoseconds,
    /// Seed for the order of the measurements.
    pub(crate) seed: u64,
    /// The targets, in the order they were named.
    pub(crate) targets: Vec<LinkTarget>,
    /// Each target alone, then the first two, three and so on together.
    pub(crate) settings: Vec<LinkSetting>,
    /// Whether they share a bottleneck; none for one target.
    pub(crate) sharing: Option<SharingVerdict>,
    /// The shared bottleneck; none unless `sharing` is `Limit`.
    pub(crate) limit: Option<SharedLimit>,
}

/// Whether targets share a bottleneck.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SharingVerdict {
    /// Yes: together they give less than the sum of each alone.
    Limit,
    /// None up to this throughput: together they give the sum of each alone.
    Nothing,
    /// The interval allows both, or there are too few repetitions.
    Undecided,
}

/// A target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct LinkTarget {
    /// As it was named.
    pub(crate) path: String,
    /// Whether its medium was involved.
    pub(crate) medium: Medium,
}

/// Targets that are read together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct LinkSetting {
    /// Their places in the list of targets, from 0.
    pub(crate) targets: Vec<u32>,
    /// Throughput of each repetition.
    pub(crate) repetitions: Vec<BytesPerSecond>,
    /// The mean of the repetitions.
    pub(crate) bytes_per_s: Estimate,
    /// Ratio to the sum of each alone; none for one target.
    pub(crate) of_alone: Option<Estimate>,
}

/// A bottleneck that targets share.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SharedLimit {
    /// How many targets reach it.
    pub(crate) targets: u32,
    /// Its throughput: that of all targets together.
    pub(crate) bytes_per_s: Estimate,
}

/// Whether re-reads came from the medium: latency of small QD1 reads inside and outside the region, and of the re-reads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Medium {
    /// Median inside the region; none if there were too few.
    pub(crate) near_p50_ns: Option<u64>,
    /// Median at random places behind the region; none if there is no room, or there were too few.
    pub(crate) far_p50_ns: Option<u64>,
    /// Share of re-reads slower than their median by half the difference between far and near. None unless far reads take
    /// at least twice as long as near ones.
    pub(crate) slow_share: Option<f64>,
    /// A control group's limit of reads, whose delay looks like that of a medium; none without a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) limited: Option<String>,
    /// The conclusion.
    pub(crate) verdict: MediumVerdict,
}

/// Whether the re-reads came from the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum MediumVerdict {
    /// No: they are clearly faster than reads from the medium.
    Cache,
    /// Yes, or some of them did.
    Medium,
    /// Unknown: far reads are as fast as near ones, or reads are throttled.
    Undecided,
}

/// Below this ratio to the sum of each alone, targets share a bottleneck.
const SHARED_BELOW: f64 = 0.95;
/// A far read takes at least this many times as long as a near one if the medium can be recognised.
const TIMES_FARTHER: u64 = 2;
/// From this share of slow re-reads on, the drive read from its medium.
const SLOW_SHARE: f64 = 0.01;
/// Half a revolution at 15 000 rpm: the least mean rotational delay.
const HALF_TURN_NS: u64 = 2_000_000;

/// Settings with their estimates, from their throughput in each block. `rates` has every target alone among its settings.
/// Blocks that not every setting has are left out.
pub(crate) fn settings(rates: &[(Vec<u32>, Vec<f64>)]) -> Vec<LinkSetting> {
    let blocks = rates.iter().map(|(_, rates)| rates.len()).min().unwrap_or(0);
    let alone = |target: u32, block: usize| -> Option<f64> {
        rates.iter().find(|(targets, _)| *targets == [target]).map(|(_, rates)| rates[block])
    };
    let of = |(targets, rates): &(Vec<u32>, Vec<f64>)| {
        let rates = &rates[..blocks];
        let sum = |block| targets.iter().map(|target| alone(*target, block)).sum::<Option<f64>>();
        let pairs: Option<Vec<(f64, f64)>> =
            rates.iter().enumerate().map(|(block, rate)| Some((*rate, sum(block)?))).collect();
        Some(LinkSetting {
            targets: targets.clone(),
            repetitions: rates.iter().copied().map(BytesPerSecond).collect(),
            bytes_per_s: mean_estimate(Quantity::BytesPerSecond, rates)?,
            of_alone: pairs.filter(|_| targets.len() > 1).and_then(|pairs| paired_ratio(&pairs)),
        })
    };
    rates.iter().filter_map(of).collect()
}

/// Whether all targets share a bottleneck; none for one target.
pub(crate) fn sharing(settings: &[LinkSetting]) -> Option<SharingVerdict> {
    let most = settings.iter().max_by_key(|setting| setting.targets.len())?;
    (most.targets.len() > 1).then(|| sharing_of(most))
}

fn sharing_of(setting: &LinkSetting) -> SharingVerdict {
    match setting.of_alone.and_then(|ratio| ratio.low.zip(ratio.high)) {
        Some((_, high)) if high < SHARED_BELOW => SharingVerdict::Limit,
        Some((low, _)) if low >= SHARED_BELOW => SharingVerdict::Nothing,
        _ => SharingVerdict::Undecided,
    }
}

/// The shared bottleneck; none unless it is shown.
pub(crate) fn limit(settings: &[LinkSetting]) -> Option<SharedLimit> {
    let is_shared = |setting: &&LinkSetting| sharing_of(setting) == SharingVerdict::Limit;
    let most = settings.iter().max_by_key(|setting| setting.targets.len()).filter(is_shared)?;
    let least = settings.iter().filter(is_shared).map(|setting| setting.targets.len()).min()?;
    Some(SharedLimit { targets: least as u32, bytes_per_s: most.bytes_per_s })
}

/// Whether re-reads came from the medium, by the latency of near and far reads and of the re-reads; undecided if reads are
/// throttled.
pub(crate) fn medium(
    near: &Histogram,
    far: Option<&Histogram>,
    reread: &Histogram,
    rotational: Option<bool>,
    limited: Option<String>,
) -> Medium {
    let near_p50_ns = near.quantile(0.5);
    let far_p50_ns = far.and_then(|far| far.quantile(0.5));
    let distinct = near_p50_ns.zip(far_p50_ns).filter(|(near, far)| *far >= near * TIMES_FARTHER);
    let slow_share = distinct.and_then(|(near, far)| {
        let limit_ns = reread.quantile(0.5)? + (far - near) / 2;
        let slow: u64 =
            reread.bins().filter(|(bucket, _)| bucket_middle(*bucket) > limit_ns).map(|(_, count)| count).sum();
        Some(slow as f64 / reread.count() as f64)
    });
    let verdict = match (slow_share, near_p50_ns) {
        _ if limited.is_some() => MediumVerdict::Undecided,
        (Some(share), _) if share < SLOW_SHARE => MediumVerdict::Cache,
        (Some(_), _) => MediumVerdict::Medium,
        (None, Some(near)) if rotational == Some(true) && near >= HALF_TURN_NS => MediumVerdict::Medium,
        (None, _) => MediumVerdict::Undecided,
    };
    Medium { near_p50_ns, far_p50_ns, slow_share, limited, verdict }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn histogram(latencies_ns: &[(u64, u64)]) -> Histogram {
        let mut histogram = Histogram::default();
        for (latency_ns, count) in latencies_ns {
            (0..*count).for_each(|_| histogram.record(*latency_ns));
        }
        histogram
    }

    /// Four targets of 24 MB/s behind a bus of 60 MB/s, with noise of 1 %.
    fn behind_a_bus() -> Vec<(Vec<u32>, Vec<f64>)> {
        let around = |rate: f64| vec![rate, rate * 1.01, rate * 0.99, rate * 1.005, rate * 0.995];
        let alone = (0..4).map(|target| (vec![target], around(24e6)));
        let together = (2_u32..=4).map(|count| ((0..count).collect(), around((24e6 * f64::from(count)).min(60e6))));
        alone.chain(together).collect()
    }

    #[test]
    fn a_full_bus_is_found() {
        let settings = settings(&behind_a_bus());
        let ratios: Vec<Option<f64>> =
            settings.iter().map(|setting| setting.of_alone.map(|ratio| (ratio.value * 1e3).round() / 1e3)).collect();
        assert_eq!(ratios, [None, None, None, None, Some(1.0), Some(0.833), Some(0.625)]);
        assert_eq!(sharing(&settings), Some(SharingVerdict::Limit));
        let limit = limit(&settings).unwrap();
        assert_eq!(limit.targets, 3);
        assert!((limit.bytes_per_s.value / 60e6 - 1.0).abs() < 1e-9);
    }

    #[test]
    fn targets_that_share_nothing_have_no_limit() {
        let rates: Vec<_> = behind_a_bus().into_iter().filter(|(targets, _)| targets.len() <= 2).collect();
        assert_eq!((limit(&settings(&rates)), sharing(&settings(&rates))), (None, Some(SharingVerdict::Nothing)));
        let one = settings(&rates[..1]);
        assert_eq!((limit(&one), sharing(&one)), (None, None), "one alone shares nothing");
    }

    #[test]
    fn one_repetition_decides_nothing() {
        for together in [20.0, 10.0] {
            let settings = settings(&[(vec![0], vec![10.0]), (vec![1], vec![10.0]), (vec![0, 1], vec![together])]);
            assert_eq!((limit(&settings), sharing(&settings)), (None, Some(SharingVerdict::Undecided)), "{together}");
        }
    }

    #[test]
    fn a_ratio_that_could_be_one_is_no_limit() {
        let rates = [(vec![0], vec![10.0; 3]), (vec![1], vec![10.0; 3]), (vec![0, 1], vec![20.0, 10.0, 21.0])];
        let settings = settings(&rates);
        assert!(settings[2].of_alone.unwrap().value < SHARED_BELOW);
        assert_eq!((limit(&settings), sharing(&settings)), (None, Some(SharingVerdict::Undecided)));
    }

    #[test]
    fn only_blocks_that_all_have_are_compared() {
        let rates = [(vec![0], vec![10.0, 10.0]), (vec![1], vec![10.0]), (vec![0, 1], vec![20.0, 1.0])];
        assert_eq!(settings(&rates)[2].repetitions, [BytesPerSecond(20.0)]);
    }

    #[test]
    fn far_reads_show_what_comes_from_a_cache() {
        let (near, far) = (histogram(&[(100_000, 1000)]), histogram(&[(8_000_000, 40)]));
        let reread = histogram(&[(500_000, 995), (5_000_000, 5)]);
        let medium = super::medium(&near, Some(&far), &reread, Some(true), None);
        assert_eq!((medium.verdict, medium.slow_share), (MediumVerdict::Cache, Some(0.005)));
        let often = histogram(&[(500_000, 980), (5_000_000, 20)]);
        let medium = super::medium(&near, Some(&far), &often, Some(true), None);
        assert_eq!((medium.verdict, medium.slow_share), (MediumVerdict::Medium, Some(0.02)));
        let throttle = "reads to 20 MB/s, by control group blkio:/batch";
        for reread in [&reread, &often] {
            let medium = super::medium(&near, Some(&far), reread, Some(true), Some(throttle.to_owned()));
            assert_eq!(medium.verdict, MediumVerdict::Undecided, "a throttle makes reads wait anywhere");
        }
    }

    #[test]
    fn equal_latencies_decide_nothing_unless_a_disk_is_slow() {
        let (fast, slow) = (histogram(&[(90_000, 1000)]), histogram(&[(6_000_000, 50)]));
        let verdict = |near, far, rotational| super::medium(near, far, near, rotational, None).verdict;
        assert_eq!(verdict(&fast, Some(&fast), Some(true)), MediumVerdict::Undecided);
        assert_eq!(verdict(&fast, None, Some(true)), MediumVerdict::Undecided);
        assert_eq!(verdict(&slow, Some(&slow), Some(true)), MediumVerdict::Medium);
        assert_eq!(verdict(&slow, None, Some(false)), MediumVerdict::Undecided);
        assert_eq!(verdict(&histogram(&[]), None, None), MediumVerdict::Undecided);
    }

    proptest! {
        #[test]
        fn the_ratio_does_not_depend_on_what_slows_a_block(slow in 0.1_f64..1.0) {
            let mut rates = behind_a_bus();
            let plain = settings(&rates);
            rates.iter_mut().for_each(|(_, rates)| rates[1] *= slow);
            for (one, other) in plain.iter().zip(settings(&rates)) {
                let (one, other) = (one.of_alone.map(|ratio| ratio.value), other.of_alone.map(|ratio| ratio.value));
                prop_assert!(one.zip(other).is_none_or(|(one, other)| (one / other - 1.0).abs() < 1e-9));
            }
        }
    }
}
