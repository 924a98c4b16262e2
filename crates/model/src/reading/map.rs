//! Map: throughput from the first to the last byte.

use crate::finding::Estimate;
use crate::units::{Bytes, BytesPerSecond, significant};
use serde::{Deserialize, Serialize};

/// What reading a target here and there came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceMap {
    /// The target, as it was named.
    pub path: String,
    /// Bytes it holds.
    pub size_bytes: Bytes,
    /// Bytes of the one read at each place.
    pub read_bytes: Bytes,
    /// How many places there are. Fewer probes were interrupted.
    pub places: u32,
    /// Draws the order in which they are read.
    pub seed: u64,
    /// What each place gave, from the first byte to the last.
    pub probes: Vec<Probe>,
    /// Stretches of one throughput, from the first byte to the last; one where it is the same everywhere. Empty where
    /// there are too few probes.
    pub bands: Vec<Band>,
    /// What the last band gives less than the first, as a share of the first; none with fewer than two bands.
    pub loss: Option<Estimate>,
    /// What holds reads back, so that all of this means nothing; none where nothing is known to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limited: Option<String>,
}

/// One read.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Probe {
    /// Which place, from 0.
    pub place: u32,
    /// Its first byte.
    pub at_bytes: Bytes,
    /// Bytes over the time of the read.
    pub bytes_per_s: BytesPerSecond,
}

/// A stretch of one throughput.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Band {
    /// Its first byte; half way between two places.
    pub from_bytes: Bytes,
    /// The first byte behind it.
    pub to_bytes: Bytes,
    /// The median of its probes.
    pub bytes_per_s: Estimate,
}

impl DeviceMap {
    /// Whether every place was read.
    pub fn is_complete(&self) -> bool {
        self.probes.len() == self.places as usize
    }

    /// What the reader came for: the first and the last band and what is lost between, or that there is one only; or
    /// why nobody can tell.
    pub fn verdict(&self) -> String {
        if let Some(limit) = &self.limited {
            return format!("cannot be told: a limit holds {limit}");
        }
        let rate = |band: &Band| BytesPerSecond(band.bytes_per_s.value);
        match &self.bands[..] {
            [] => "too few places were read to look for bands".to_owned(),
            [band] => format!("flat, {} from the first byte to the last", rate(band)),
            [first, .., last] => {
                let lost = self.loss.map(|loss| lost(&loss)).unwrap_or_default();
                format!("{} bands, {} in the first, {} in the last{lost}", self.bands.len(), rate(first), rate(last))
            }
        }
    }
}

/// What the last band loses, or gains.
fn lost(loss: &Estimate) -> String {
    let word = if loss.value < 0.0 { "gained" } else { "lost" };
    let percent = |share: f64| significant(share.abs() * 100.0);
    let interval = match (loss.low, loss.high) {
        // Of one sign; else the ends have one of their own.
        (Some(low), Some(high)) if low * high > 0.0 => {
            format!(" [{} to {}]", percent(low.abs().min(high.abs())), percent(low.abs().max(high.abs())))
        }
        _ => String::new(),
    };
    format!(": {} %{interval} {word}", percent(loss.value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Quantity;

    #[test]
    fn under_a_limit_the_headline_gives_no_figure() {
        let rate =
            Estimate { quantity: Quantity::BytesPerSecond, value: 17.8e6, low: None, high: None, repetitions: 9 };
        let map = |limited: Option<&str>| DeviceMap {
            path: "disk".to_owned(),
            size_bytes: Bytes::MIB,
            read_bytes: Bytes(4096),
            places: 9,
            seed: 1,
            probes: Vec::new(),
            bands: vec![Band { from_bytes: Bytes(0), to_bytes: Bytes::MIB, bytes_per_s: rate }],
            loss: None,
            limited: limited.map(str::to_owned),
        };
        assert!(map(None).verdict().starts_with("flat, 17.8 MB/s"));
        let held = map(Some("reads to 24 MB/s, by control group blkio:/batch")).verdict();
        assert_eq!(held, "cannot be told: a limit holds reads to 24 MB/s, by control group blkio:/batch");
    }

    #[test]
    fn a_loss_has_its_interval_where_that_is_of_one_sign() {
        let of = |value, low, high| {
            let [low, high] = [low, high].map(Some);
            lost(&Estimate { quantity: Quantity::Ratio, value, low, high, repetitions: 9 })
        };
        assert_eq!(of(0.45, 0.44, 0.46), ": 45 % [44 to 46] lost");
        assert_eq!(of(-0.1, -0.2, -0.05), ": 10 % [5 to 20] gained");
        assert_eq!(of(0.02, -0.01, 0.05), ": 2 % lost");
    }
}
