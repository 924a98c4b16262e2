//! What re-reading small regions says: rates alone and together, what the targets share, and whether a medium was
//! involved.
//!
//! The blocks are paired: together over the sum of alone is one ratio a block (`statistics::paired_ratio`). Targets share
//! something once the interval of that ratio lies below 0.95, and nothing once it lies above; else, and without an interval,
//! that is undecided.
//!
//! Whether the medium was involved cannot be read off the re-reads alone, nor off the kernel's counters: the device moves
//! the same bytes either way. What shows it is time: small reads within the region against small reads far from it. Where
//! the far ones take at least twice as long, the region came from a cache, except for re-reads that took longer than most
//! by half of that difference; with one in a hundred of those, the device went to its medium now and then. Where far reads
//! are as fast, nothing tells, except on a disk that spins, if even re-reads take the 2 ms that half a turn at 15 000 turns
//! a minute takes: no cache is that slow. Where something is known to hold reads back, a control group say, a read may wait
//! for that anywhere and nothing tells.

use crate::statistics::{mean_estimate, paired_ratio};
use halfpower_model::histogram::{Histogram, bucket_middle};
use halfpower_model::reading::{LinkSetting, Medium, MediumVerdict, SharedLimit, SharingVerdict};
use halfpower_model::{BytesPerSecond, Quantity};

/// Below this share of what they give alone, targets share something.
const SHARED_BELOW: f64 = 0.95;
/// How many times as long as a near read a far one takes at least, where the medium can be told.
const TIMES_FARTHER: u64 = 2;
/// The share of slow re-reads from which on the device went to its medium.
const SLOW_SHARE: f64 = 0.01;
/// Half a turn at 15 000 turns a minute: the least mean wait for a medium that turns.
const HALF_TURN_NS: u64 = 2_000_000;

/// Settings with their estimates, from what each gave in each of the same blocks.
///
/// `rates` names targets by their places and has every target alone among its settings. Blocks are cut to the fewest.
pub fn settings(rates: &[(Vec<u32>, Vec<f64>)]) -> Vec<LinkSetting> {
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

/// Whether all of the targets share something; none where there is only one.
pub fn sharing(settings: &[LinkSetting]) -> Option<SharingVerdict> {
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

/// What the targets share; none where that is not shown.
pub fn limit(settings: &[LinkSetting]) -> Option<SharedLimit> {
    let is_shared = |setting: &&LinkSetting| sharing_of(setting) == SharingVerdict::Limit;
    let most = settings.iter().max_by_key(|setting| setting.targets.len()).filter(is_shared)?;
    let least = settings.iter().filter(is_shared).map(|setting| setting.targets.len()).min()?;
    Some(SharedLimit { targets: least as u32, bytes_per_s: most.bytes_per_s })
}

/// Whether the medium was involved, by the latencies of small reads near and far and of the re-reads themselves; undecided
/// where something is known to hold reads back.
pub fn medium(
    near: &Histogram,
    far: Option<&Histogram>,
    reread: &Histogram,
    rotational: Option<bool>,
    limited: Option<String>,
) -> Medium {
    let near_p50_ns = near.quantile(0.5);
    let far_p50_ns = far.and_then(|far| far.quantile(0.5));
    let told_apart = near_p50_ns.zip(far_p50_ns).filter(|(near, far)| *far >= near * TIMES_FARTHER);
    let slow_share = told_apart.and_then(|(near, far)| {
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

    /// Four targets of 24 behind a bus of 60, with a scatter of 1 %.
    fn behind_a_bus() -> Vec<(Vec<u32>, Vec<f64>)> {
        let around = |rate: f64| vec![rate, rate * 1.01, rate * 0.99, rate * 1.005, rate * 0.995];
        let alone = (0..4).map(|target| (vec![target], around(24e6)));
        let together = (2_u32..=4).map(|count| ((0..count).collect(), around((24e6 * f64::from(count)).min(60e6))));
        alone.chain(together).collect()
    }

    #[test]
    fn a_bus_is_found_where_it_is_full() {
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
    fn a_cache_is_told_by_far_reads() {
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
            assert!(medium.to_string().contains(throttle), "{medium}");
        }
    }

    #[test]
    fn reads_that_are_alike_tell_nothing_but_on_a_disk_that_is_slow() {
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
