//! The record of `halfpower map`, and its bands: change points in the logarithms of the throughput.
//!
//! A step counts by its ratio; one below 0.2 % is no step. The edge of a band is half way between two places, and so uncertain
//! by at least half their distance. Places are read in random order, so a change over time is noise, not a band.

use halfpower_analysis::statistics::{change_points, median_estimate};
use halfpower_engine::map::Probe;
use halfpower_model::{Bytes, Estimate, Quantity};
use serde::{Deserialize, Serialize};

/// Throughput across a target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct DeviceMap {
    /// The target, as it was named.
    pub(crate) path: String,
    /// Its size.
    pub(crate) size_bytes: Bytes,
    /// Size of the read at each place.
    pub(crate) read_bytes: Bytes,
    /// Number of places; an interrupted map has fewer probes.
    pub(crate) places: u32,
    /// Seed for the order of the places.
    pub(crate) seed: u64,
    /// The read at each place, from the first byte to the last.
    pub(crate) probes: Vec<Probe>,
    /// Bands of equal throughput, from the first byte to the last; empty if there are too few probes.
    pub(crate) bands: Vec<Band>,
    /// Throughput lost from the first band to the last, as a share of the first; none with fewer than two bands.
    pub(crate) loss: Option<Estimate>,
    /// A control group's limit of reads, which makes the figures meaningless; none without a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) limited: Option<String>,
}

/// A band of equal throughput.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Band {
    /// Its first byte: half way between two places.
    pub(crate) from_bytes: Bytes,
    /// The first byte behind it.
    pub(crate) to_bytes: Bytes,
    /// The median of its probes.
    pub(crate) bytes_per_s: Estimate,
}

impl DeviceMap {
    /// Whether every place was read.
    pub(crate) fn is_complete(&self) -> bool {
        self.probes.len() == self.places as usize
    }
}

const RESOLUTION: f64 = 0.002;
/// Minimum number of probes to look for bands.
const PROBES_MIN: usize = 12;

/// The bands of a target of some size, from probes in order of place. Empty with fewer than twelve probes, or if one has no
/// throughput.
pub(crate) fn bands(probes: &[Probe], size: Bytes) -> Vec<Band> {
    let rates: Vec<f64> = probes.iter().map(|probe| probe.bytes_per_s.0).collect();
    if rates.len() < PROBES_MIN || rates.iter().any(|rate| *rate <= 0.0) {
        return Vec::new();
    }
    let logarithms: Vec<f64> = rates.iter().map(|rate| rate.ln()).collect();
    let changes = change_points(&logarithms, RESOLUTION);
    let starts = std::iter::once(0).chain(changes.iter().copied());
    let ends = changes.iter().copied().chain([probes.len()]);
    let edge = |index: usize| match (index.checked_sub(1).and_then(|before| probes.get(before)), probes.get(index)) {
        (None, _) => Bytes(0),
        (_, None) => size,
        (Some(before), Some(after)) => Bytes(u64::midpoint(before.at_bytes.0, after.at_bytes.0)),
    };
    starts
        .zip(ends)
        .filter_map(|(start, end)| {
            let bytes_per_s = median_estimate(Quantity::BytesPerSecond, &rates[start..end])?;
            Some(Band { from_bytes: edge(start), to_bytes: edge(end), bytes_per_s })
        })
        .collect()
}

/// Throughput lost from the first band to the last. Its interval is conservative: from the closest ends of theirs to the
/// furthest. None with fewer than two bands.
pub(crate) fn loss(bands: &[Band]) -> Option<Estimate> {
    let [first, .., last] = bands else { return None };
    let (first, last) = (first.bytes_per_s, last.bytes_per_s);
    Some(Estimate {
        quantity: Quantity::Ratio,
        value: 1.0 - last.value / first.value,
        low: last.high.zip(first.low).map(|(last, first)| 1.0 - last / first),
        high: last.low.zip(first.high).map(|(last, first)| 1.0 - last / first),
        repetitions: first.repetitions.min(last.repetitions),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use halfpower_model::BytesPerSecond;
    use halfpower_model::random::Random;

    /// The standard normal distribution (Box and Muller, 1958).
    struct Normal(Random);

    impl Normal {
        fn draw(&mut self) -> f64 {
            let mut uniform = || (self.0.below(1 << 53) + 1) as f64 / (1_u64 << 53) as f64;
            let (radius, angle) = (uniform(), uniform());
            (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
        }
    }

    /// Probes 100 bytes apart with these rates.
    fn probes(rates: impl IntoIterator<Item = f64>) -> Vec<Probe> {
        let probe = |(place, rate): (u32, f64)| Probe {
            place,
            at_bytes: Bytes(u64::from(place) * 100),
            bytes_per_s: BytesPerSecond(rate),
        };
        (0..).zip(rates).map(probe).collect()
    }

    #[test]
    fn two_bands_by_hand() {
        let probes = probes([20.0, 20.0, 21.0, 20.0, 20.0, 20.0, 10.0, 10.0, 9.9, 10.0, 10.0, 10.1]);
        let bands = bands(&probes, Bytes(1200));
        let edges: Vec<_> = bands.iter().map(|band| (band.from_bytes.0, band.to_bytes.0)).collect();
        assert_eq!(edges, [(0, 550), (550, 1200)]);
        let loss = loss(&bands).unwrap();
        // Six values: the ends lie 5/14 of the way from the outermost to the next (`statistics/median.rs`).
        let (inner, outer) = (5.0 / 14.0, 9.0 / 14.0);
        assert_eq!(loss.value, 0.5);
        assert!((loss.low.unwrap() - (1.0 - (10.0 * inner + 10.1 * outer) / 20.0)).abs() < 1e-12, "{loss:?}");
        assert!(
            (loss.high.unwrap() - (1.0 - (10.0 * inner + 9.9 * outer) / (20.0 * inner + 21.0 * outer))).abs() < 1e-12,
            "{loss:?}"
        );
    }

    #[test]
    fn what_is_flat_is_one_band_without_a_loss() {
        let mut normal = Normal(Random::new(7));
        let bands = bands(&probes((0..256).map(|_| 500.0 * (0.05 * normal.draw()).exp())), Bytes(25_600));
        assert_eq!(bands.len(), 1, "{bands:?}");
        assert_eq!((bands[0].from_bytes, bands[0].to_bytes), (Bytes(0), Bytes(25_600)));
        assert_eq!(loss(&bands), None);
    }

    #[test]
    fn the_studies_disk_has_its_loss_in_spite_of_their_scatter() {
        // Figure 2 of the Windows 2000 study: from 24 to 17 MB/s and "considerable variance", 10 %.
        let mut normal = Normal(Random::new(2000));
        let rate = |place: u32| 24.0 - f64::from(place / 32);
        let bands = bands(&probes((0..256).map(|place| rate(place) * (1.0 + 0.03 * normal.draw()))), Bytes(25_600));
        assert!(bands.len() >= 4, "{}", bands.len());
        assert!(bands.is_sorted_by(|one, other| one.bytes_per_s.value > other.bytes_per_s.value), "{bands:?}");
        let loss = loss(&bands).unwrap();
        assert!((loss.value - (1.0 - 17.0 / 24.0)).abs() < 0.03, "{loss:?}");
        assert!(loss.low.unwrap() <= loss.value && loss.value <= loss.high.unwrap());
    }

    #[test]
    fn too_few_probes_and_stopped_ones_have_no_bands() {
        assert!(bands(&probes([1.0; 11]), Bytes(1100)).is_empty());
        assert!(bands(&probes((0..12).map(|place| f64::from(u8::from(place != 5)))), Bytes(1200)).is_empty());
    }
}
