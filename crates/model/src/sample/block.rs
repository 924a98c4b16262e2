//! What the device below did during a sample and what was left to write, as a system counts it.

use super::totals::Latency;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// What the block layer did during the sample, its warm-up and its flush included.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Block {
    /// Requests the device completed.
    pub requests: u64,
    /// Bytes it moved; what it trimmed is not moved.
    pub bytes: u64,
    /// Requests merged into others.
    pub merges: u64,
    /// Share of the time that a request was outstanding at the device; of several devices, the mean.
    pub busy_fraction: f64,
    /// How many devices they are; a record of one leaves it out.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub devices: u32,
    /// Requests outstanding at them on average, all together; none where nobody counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outstanding_mean: Option<f64>,
    /// Reads alone; none where the kernel does not tell reads and writes apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<Direction>,
    /// The same of writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write: Option<Direction>,
    /// Trims, with the bytes given back; none where the kernel does not count them (before Linux 4.18).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trim: Option<Direction>,
    /// Where the requests spent their time; none where nobody asked.
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
    /// `requests outstanding 23.4 % of the time` from the share in figures; of several devices it is said that it is their mean.
    pub fn outstanding(&self, share: &str) -> String {
        let mean = if self.devices > 1 { format!(", the mean of {} devices", self.devices) } else { String::new() };
        format!("requests outstanding {share} of the time{mean}")
    }
}

/// What the block layer did of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Direction {
    /// Requests the device completed.
    pub requests: u64,
    /// Bytes it moved.
    pub bytes: u64,
    /// Bytes it moved over bytes that were asked for; none where none were.
    pub amplification: Option<f64>,
}

/// The lives of requests in the block layer, as seen in short looks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Phases {
    /// Requests that were followed from the queue to their end.
    pub followed: u64,
    /// From being queued to being issued to the driver.
    pub queued_ns: Latency,
    /// From there to the completion.
    pub device_ns: Latency,
    /// Share of the requests' lives that was spent queued; none where none was followed.
    pub queued_share: Option<f64>,
    /// What was submitted and was too large for one request.
    pub split: u64,
    /// What was submitted and became part of a request that was queued already.
    pub merged: u64,
    /// Requests that the driver gave back.
    pub requeued: u64,
    /// Requests that had not ended when a look did: many of them mean that the slow ones are missing.
    pub unfinished: u64,
    /// Share of the time that was looked at.
    pub looked_share: f64,
}

/// Dirty memory of the whole machine, at the start and the end of the measured part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Dirty {
    /// Written by programs and not stored yet, at the start.
    pub before_bytes: Bytes,
    /// The same at the end.
    pub after_bytes: Bytes,
    /// From here on the kernel writes back by itself.
    pub background_bytes: Bytes,
    /// More than this it does not let programs make dirty; halfway from the background on it makes them wait.
    pub limit_bytes: Bytes,
    /// Of the looks at it, some 50 ms apart, those at which it made programs wait; none where nobody looked in between.
    pub braked_share: Option<f64>,
}

impl Dirty {
    /// From here on the kernel makes those who write wait (balance_dirty_pages: the middle of the two).
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
