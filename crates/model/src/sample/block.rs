//! The device's work during a sample and the dirty memory, by the kernel's counters.

use super::record::Sample;
use super::totals::Latency;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// Work of the block layer during the sample, with warm-up and flush.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Block {
    /// Requests the device completed.
    pub requests: u64,
    /// Bytes it moved, trims excluded.
    pub bytes: u64,
    /// Requests merged into others.
    pub merges: u64,
    /// Share of the time with a request outstanding at the device; for several devices, the mean.
    pub busy_fraction: f64,
    /// Number of devices; omitted in records of one.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub devices: u32,
    /// Mean requests outstanding at all devices together; none if not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outstanding_mean: Option<f64>,
    /// Reads alone; none if the kernel does not count reads and writes separately.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<Direction>,
    /// Writes alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write: Option<Direction>,
    /// Trims, with the bytes discarded; none if the kernel does not count them (before Linux 4.18).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trim: Option<Direction>,
    /// Phases of the requests; none if not traced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phases: Option<Box<Phases>>,
}

fn one() -> u32 {
    1
}

fn is_one(number: &u32) -> bool {
    *number == 1
}

impl Block {
    /// `requests outstanding 23.4 % of the time`; for several devices with the note that it is their mean.
    pub fn outstanding(&self, share: &str) -> String {
        let mean = if self.devices > 1 { format!(", the mean of {} devices", self.devices) } else { String::new() };
        format!("requests outstanding {share} of the time{mean}")
    }
}

/// The kernel counts busy time in ticks of 1 to 10 ms, which are too coarse for a shorter time.
const BUSY_COUNTED_S: f64 = 0.1;

impl Sample {
    /// Share of the time with a request outstanding at the device; none without counters, or if the run was too short for them.
    pub fn device_busy(&self) -> Option<f64> {
        let counted_s = self.elapsed_s + self.workload.warmup.seconds();
        self.block.as_ref().filter(|_| counted_s >= BUSY_COUNTED_S).map(|block| block.busy_fraction)
    }
}

/// Work of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Direction {
    /// Requests the device completed.
    pub requests: u64,
    /// Bytes it moved.
    pub bytes: u64,
    /// Bytes it moved over bytes requested; none without requests.
    pub amplification: Option<f64>,
}

/// Phases of requests in the block layer, traced in short periods.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Phases {
    /// Requests traced from the queue to their completion.
    pub followed: u64,
    /// Time from the queue to the driver.
    pub queued_ns: Latency,
    /// Time from the driver to the completion.
    pub device_ns: Latency,
    /// Share of the requests' time queued; none if none was traced.
    pub queued_share: Option<f64>,
    /// Submissions that were too large for one request.
    pub split: u64,
    /// Submissions that were merged into a queued request.
    pub merged: u64,
    /// Requests that the driver requeued.
    pub requeued: u64,
    /// Requests still outstanding at the end of a trace period; if there are many, slow requests are missing.
    pub unfinished: u64,
    /// Share of the time that was traced.
    pub looked_share: f64,
}

/// Dirty memory of the whole machine, at the start and the end of the measured part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Dirty {
    /// Dirty bytes at the start.
    pub before_bytes: Bytes,
    /// Dirty bytes at the end.
    pub after_bytes: Bytes,
    /// The kernel writes back in the background from this amount on.
    pub background_bytes: Bytes,
    /// Maximum of dirty bytes; writers are throttled from the middle between background and limit on.
    pub limit_bytes: Bytes,
    /// Share of the observations, about every 50 ms, with throttled writers; none without observations.
    pub braked_share: Option<f64>,
}

impl Dirty {
    /// The kernel throttles writers from this amount on (balance_dirty_pages: the middle of the two).
    pub fn wait_from_bytes(&self) -> Bytes {
        Bytes(self.background_bytes.0.midpoint(self.limit_bytes.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_device_is_left_out_and_several_say_so() {
        let text = r#"{"requests":1,"bytes":512,"merges":0,"busy_fraction":0.5}"#;
        let one: Block = serde_json::from_str(text).unwrap();
        assert_eq!((one.devices, one.outstanding_mean), (1, None));
        assert_eq!(serde_json::to_string(&one).unwrap(), text);
        assert_eq!(one.outstanding("50 %"), "requests outstanding 50 % of the time");
        let four = Block { devices: 4, ..one };
        assert_eq!(four.outstanding("50 %"), "requests outstanding 50 % of the time, the mean of 4 devices");
    }
}
