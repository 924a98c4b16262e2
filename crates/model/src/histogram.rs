//! A log-linear latency histogram: 64 sub-buckets an octave, mergeable, compact in records.
//!
//! Values below 128 have a bucket each; above, every octave is cut into 64, so a bucket's midpoint is within 0.79 % of
//! every value in it. The buckets are fio's (`stat.h`, FIO_IO_U_PLAT_BITS 6), so that its histograms can be taken over
//! without loss. Minimum, maximum and sum are exact; percentiles and the deviation come from the buckets. Percentiles
//! of several workers or repetitions come from the merged histogram: averages of percentiles are not offered.
//!
//! A histogram read from a record stays packed in some hundred bytes, because a run can have a hundred thousand of them. Adding to
//! one expands all buckets, which takes 30 kB.

mod packed;

use packed::Packed;
use serde::{Deserialize, Serialize};

/// log2 of the sub-buckets in an octave.
pub const SUB_BUCKET_BITS: u32 = 6;
/// Buckets up to the largest value, 2^63 ns and above: 29 octaves would reach 69 s; 58 cover every `u64`.
pub const BUCKETS: usize = (64 - SUB_BUCKET_BITS as usize + 1) << SUB_BUCKET_BITS;

/// The bucket a value falls into.
#[inline]
pub fn bucket_of(value: u64) -> usize {
    let exponent = (63 - (value | 127).leading_zeros()) - SUB_BUCKET_BITS;
    ((exponent as usize) << SUB_BUCKET_BITS) + (value >> exponent) as usize
}

/// The lowest value of a bucket.
pub fn bucket_low(bucket: usize) -> u64 {
    let octave = bucket >> SUB_BUCKET_BITS;
    if octave < 2 {
        return bucket as u64;
    }
    let exponent = octave as u32 - 1;
    let mantissa = (bucket & ((1 << SUB_BUCKET_BITS) - 1)) as u64 + (1 << SUB_BUCKET_BITS);
    mantissa << exponent
}

/// The value that stands for a bucket: its midpoint.
pub fn bucket_middle(bucket: usize) -> u64 {
    let octave = bucket >> SUB_BUCKET_BITS;
    if octave < 2 { bucket as u64 } else { bucket_low(bucket) + (1_u64 << (octave - 1)) / 2 }
}

/// Counts of values by bucket, with the exact minimum, maximum and sum.
///
/// In records it is `{sub_buckets, min, max, sum, bins: [[bucket, count], …]}` with the empty buckets left out.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "Compact", into = "Compact")]
pub struct Histogram {
    /// As read; empty once expanded.
    packed: Packed,
    /// Counts of all buckets.
    laid_out: Option<Vec<u64>>,
    count: u64,
    sum: f64,
    min: u64,
    max: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Compact {
    sub_buckets: u32,
    min: u64,
    max: u64,
    sum: f64,
    bins: Vec<(usize, u64)>,
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram { packed: Packed::default(), laid_out: None, count: 0, sum: 0.0, min: u64::MAX, max: 0 }
    }
}

impl Histogram {
    /// From counts by bucket and the exact sum, minimum and maximum of the values behind them.
    ///
    /// # Panics
    /// When there are not [`BUCKETS`] counts.
    pub fn from_counts(counts: Vec<u64>, sum: f64, min: u64, max: u64) -> Self {
        assert_eq!(counts.len(), BUCKETS, "a histogram has a fixed number of buckets");
        let count = counts.iter().sum();
        Histogram { packed: Packed::default(), laid_out: Some(counts), count, sum, min, max }
    }

    /// Adds one value.
    pub fn record(&mut self, value: u64) {
        self.laid_out()[bucket_of(value)] += 1;
        self.count += 1;
        self.sum += value as f64;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Adds all of another's values.
    pub fn merge(&mut self, other: &Histogram) {
        let counts = self.laid_out();
        other.bins().for_each(|(bucket, count)| counts[bucket] += count);
        self.count += other.count;
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// The expanded counts, to add to them.
    fn laid_out(&mut self) -> &mut [u64] {
        self.laid_out.get_or_insert_with(|| {
            let mut counts = vec![0; BUCKETS];
            std::mem::take(&mut self.packed).bins().for_each(|(bucket, count)| counts[bucket] = count);
            counts
        })
    }

    /// The same packed, for a complete histogram.
    pub fn packed(self) -> Self {
        let packed = self.bins().collect();
        Histogram { packed, laid_out: None, ..self }
    }

    /// Its heap memory in bytes.
    pub fn memory(&self) -> usize {
        self.packed.memory() + self.laid_out.as_ref().map_or(0, |counts| size_of_val(&counts[..]))
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The sum of the values, exact below 2^53.
    pub fn sum(&self) -> f64 {
        self.sum
    }

    /// The smallest value, none when empty.
    pub fn min(&self) -> Option<u64> {
        (self.count > 0).then_some(self.min)
    }

    /// The largest value, none when empty.
    pub fn max(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max)
    }

    /// The exact mean, none when empty.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }

    /// The standard deviation, from the buckets' midpoints held between minimum and maximum, around the exact mean; none when
    /// empty.
    pub fn stddev(&self) -> Option<f64> {
        let mean = self.mean()?;
        let middle = |bucket| bucket_middle(bucket).clamp(self.min, self.max) as f64;
        let squares: f64 = self.bins().map(|(bucket, count)| (middle(bucket) - mean).powi(2) * count as f64).sum();
        Some((squares / self.count as f64).sqrt())
    }

    /// The value below or at which a share `quantile` (0 to 1) of the values lies, as its bucket's midpoint held
    /// between minimum and maximum.
    ///
    /// None when fewer than 10 values lie beyond it (design rule 4: p99.9 needs 10 000), except for the median, which
    /// needs one value.
    pub fn quantile(&self, quantile: f64) -> Option<u64> {
        let beyond = (self.count as f64 * (1.0 - quantile)).round();
        self.value_at(quantile).filter(|_| quantile <= 0.5 || beyond >= 10.0)
    }

    /// The same of any number of values, for formats that have every percentile; none without values.
    pub fn value_at(&self, quantile: f64) -> Option<u64> {
        let rank = ((self.count as f64 * quantile).ceil() as u64).max(1);
        let mut seen = 0;
        let (bucket, _) = self.bins().find(|(_, count)| {
            seen += count;
            seen >= rank
        })?;
        Some(bucket_middle(bucket).clamp(self.min, self.max))
    }

    /// The non-empty buckets in ascending order, each with its count.
    pub fn bins(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let laid_out = self.laid_out.iter().flatten().copied().enumerate().filter(|(_, count)| *count > 0);
        laid_out.chain(self.packed.bins())
    }
}

/// Equality of the values, packed or expanded.
impl PartialEq for Histogram {
    fn eq(&self, other: &Self) -> bool {
        (self.count, self.sum, self.min, self.max) == (other.count, other.sum, other.min, other.max)
            && self.bins().eq(other.bins())
    }
}

impl From<Histogram> for Compact {
    fn from(histogram: Histogram) -> Self {
        let empty = histogram.count == 0;
        Compact {
            sub_buckets: 1 << SUB_BUCKET_BITS,
            min: if empty { 0 } else { histogram.min },
            max: histogram.max,
            sum: histogram.sum,
            bins: histogram.bins().collect(),
        }
    }
}

impl TryFrom<Compact> for Histogram {
    type Error = String;

    fn try_from(compact: Compact) -> Result<Self, String> {
        let Compact { sub_buckets, min, max, sum, mut bins } = compact;
        if sub_buckets != 1 << SUB_BUCKET_BITS {
            let fault = "sub-buckets an octave cannot be read; this program uses 64";
            return Err(format!("a histogram with {sub_buckets} {fault}"));
        }
        if let Some((bucket, _)) = bins.iter().find(|(bucket, _)| *bucket >= BUCKETS) {
            return Err(format!("bucket {bucket} of a histogram does not exist; the last one is {}", BUCKETS - 1));
        }
        let count = bins.iter().try_fold(0_u64, |count, (_, more)| count.checked_add(*more));
        let count = count.ok_or("a histogram counts more values than fit")?;
        if count > 0 && min > max {
            return Err("the smallest value of a histogram is above its largest".to_owned());
        }
        // Records of this program are sorted already.
        bins.sort_by_key(|(bucket, _)| *bucket);
        let min = if count > 0 { min } else { u64::MAX };
        Ok(Histogram { packed: bins.into_iter().collect(), laid_out: None, count, sum, min, max })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn buckets_are_fios() {
        // fio's plat_val_to_idx for the same values.
        for (value, bucket) in [(0, 0), (127, 127), (128, 128), (129, 128), (255, 191), (256, 192), (1 << 20, 960)] {
            assert_eq!(bucket_of(value), bucket, "{value}");
        }
        assert_eq!(bucket_of(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn percentiles_of_one_to_ten_thousand() {
        let mut histogram = Histogram::default();
        (1..=10_000).for_each(|value| histogram.record(value));
        for (quantile, expected) in [(0.5, 5_000.0), (0.9, 9_000.0), (0.99, 9_900.0), (0.999, 9_990.0)] {
            let got = histogram.quantile(quantile).unwrap() as f64;
            assert!((got / expected - 1.0).abs() < 0.008, "{quantile}: {got}");
        }
        assert_eq!(histogram.quantile(0.9999), None, "one value beyond is too few");
        assert_eq!((histogram.min(), histogram.max()), (Some(1), Some(10_000)));
        assert_eq!(histogram.mean(), Some(5_000.5));
        assert!((histogram.stddev().unwrap() / 2_886.75 - 1.0).abs() < 0.01);
        let mut alike = Histogram::default();
        (0..3).for_each(|_| alike.record(7_025_898));
        assert_eq!(alike.stddev(), Some(0.0), "which is not the middle of its bucket");
        let empty = Histogram::default();
        assert_eq!((empty.min(), empty.mean(), empty.quantile(0.5)), (None, None, None));
    }

    #[test]
    fn a_damaged_record_is_refused() {
        for bad in [
            r#"{"sub_buckets":32,"min":0,"max":0,"sum":0,"bins":[]}"#,
            r#"{"sub_buckets":64,"min":0,"max":0,"sum":0,"bins":[[99999,1]]}"#,
            r#"{"sub_buckets":64,"min":9,"max":3,"sum":0,"bins":[[5,1]]}"#,
            r#"{"sub_buckets":64,"min":0,"max":0,"sum":0,"bins":[[1,18446744073709551615],[2,1]]}"#,
        ] {
            assert!(serde_json::from_str::<Histogram>(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn the_middle_is_within_0_79_percent(value in any::<u64>(), shift in 0_u32..64) {
            let value = value >> shift;
            let middle = bucket_middle(bucket_of(value)) as f64;
            prop_assert!((middle - value as f64).abs() <= value as f64 * 0.0079);
            prop_assert!(bucket_low(bucket_of(value)) <= value);
        }

        #[test]
        fn merging_is_recording_all(a in proptest::collection::vec(any::<u32>(), 0..200),
                                    b in proptest::collection::vec(any::<u32>(), 0..200)) {
            let of = |values: &[u32]| {
                let mut histogram = Histogram::default();
                values.iter().for_each(|value| histogram.record(u64::from(*value)));
                histogram
            };
            let mut merged = of(&a);
            merged.merge(&of(&b));
            prop_assert_eq!(&merged, &of(&[a.clone(), b].concat()));
            let mut packed = merged.clone().packed();
            prop_assert!(packed.laid_out.is_none());
            prop_assert_eq!(&packed, &merged);
            packed.merge(&of(&a));
            merged.merge(&of(&a));
            prop_assert_eq!(&packed, &merged);
            let text = serde_json::to_string(&merged).unwrap();
            prop_assert_eq!(serde_json::from_str::<Histogram>(&text).unwrap(), merged);
        }
    }
}
