//! What the block layer did, from the device's `stat` file (Linux, Documentation/block/stat.rst). Reading it costs a
//! few microseconds, before and after a sample.

use crate::target::filesystem::{sysfs_device, whole_disk};
use halfpower_model::sample::{Block, Direction};
use std::path::PathBuf;

/// Devices whose counters can be read.
#[derive(Clone, Debug)]
pub(crate) struct DiskCounters {
    paths: Vec<PathBuf>,
}

/// The counters at some moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    /// Reads and writes.
    requests: [u64; 2],
    bytes: [u64; 2],
    merges: u64,
    busy_ms: u64,
}

impl DiskCounters {
    /// Of the devices `major:minor`, each once; a partition's are in those of its disk. None where there is no device,
    /// or the kernel keeps none for one of them.
    pub(crate) fn of(numbers: impl IntoIterator<Item = Option<(u32, u32)>>) -> Option<Self> {
        let mut devices = Vec::new();
        for number in numbers {
            let device = sysfs_device(number?)?;
            if !devices.contains(&device) {
                devices.push(device);
            }
        }
        let within = |device: &PathBuf| whole_disk(device) == *device || !devices.contains(&whole_disk(device));
        let paths: Vec<PathBuf> =
            devices.iter().filter(|device| within(device)).map(|device| device.join("stat")).collect();
        (!paths.is_empty() && paths.iter().all(|path| path.exists())).then_some(DiskCounters { paths })
    }

    /// Reads them, one reading a device.
    pub(crate) fn read(&self) -> Option<Vec<Reading>> {
        self.paths.iter().map(|path| Reading::parse(&std::fs::read_to_string(path).ok()?)).collect()
    }
}

impl Reading {
    fn parse(text: &str) -> Option<Reading> {
        let fields: Vec<u64> = text.split_ascii_whitespace().map_while(|word| word.parse().ok()).collect();
        let field = |index: usize| fields.get(index).copied();
        Some(Reading {
            requests: [field(0)?, field(4)?],
            merges: field(1)? + field(5)?,
            // The unit is 512 bytes whatever the device's block is.
            bytes: [field(2)? * 512, field(6)? * 512],
            busy_ms: field(9)?,
        })
    }
}

/// What happened between two readings: the sums of the devices, and the mean of their busy fractions.
pub(crate) fn between(before: &[Reading], after: &[Reading], elapsed_s: f64) -> Block {
    let sum = |figure: &dyn Fn(&Reading) -> u64| {
        before.iter().zip(after).map(|(before, after)| figure(after).saturating_sub(figure(before))).sum::<u64>()
    };
    let busy_s = sum(&|reading| reading.busy_ms) as f64 / 1e3 / before.len().max(1) as f64;
    let [read, write] = [0, 1].map(|way| Direction {
        requests: sum(&|reading| reading.requests[way]),
        bytes: sum(&|reading| reading.bytes[way]),
        amplification: None,
    });
    Block {
        requests: read.requests + write.requests,
        bytes: read.bytes + write.bytes,
        merges: sum(&|reading| reading.merges),
        busy_fraction: (busy_s / elapsed_s.max(1e-9)).min(1.0),
        read: Some(read),
        write: Some(write),
        phases: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_summed_and_their_busy_time_averaged() {
        let reading = |text: &str| Reading::parse(text).unwrap();
        let before = [reading("1 0 8 0 1 0 8 0 0 100 0"), reading("0 0 0 0 0 0 0 0 0 0 0")];
        let after = [reading("3 1 24 0 2 0 16 0 0 1100 0"), reading("5 0 40 0 0 2 0 0 0 500 0")];
        let block = between(&before, &after, 1.0);
        assert_eq!((block.requests, block.bytes, block.merges), (8, 64 * 512, 3));
        assert!((block.busy_fraction - 0.75).abs() < 1e-9, "{block:?}");
    }

    #[test]
    fn a_target_without_a_device_has_no_counters() {
        assert!(DiskCounters::of([None]).is_none());
        assert!(DiskCounters::of([]).is_none());
    }
}
