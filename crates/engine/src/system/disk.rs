//! The work of the block layer, from the device's `stat` file (Linux, Documentation/block/stat.rst). Reading it, before and
//! after a sample, costs a few microseconds.

use super::filesystem::whole_disk;
use super::{Root, text};
use halfpower_model::sample::{Block, Direction};
use std::path::{Path, PathBuf};

/// Devices with readable counters.
#[derive(Clone, Debug)]
pub(crate) struct DiskCounters {
    paths: Vec<PathBuf>,
}

/// The counters at one moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    /// Reads, writes and trims.
    requests: [u64; 3],
    bytes: [u64; 3],
    /// Whether the kernel counts trims (Linux 4.18).
    has_trims: bool,
    merges: u64,
    busy_ms: u64,
}

impl DiskCounters {
    /// Of the devices `major:minor`, each once; a disk's counters include its partitions'. None if there is no device, or one
    /// has no counters.
    pub(crate) fn of(numbers: impl IntoIterator<Item = Option<(u32, u32)>>) -> Option<Self> {
        let mut devices = Vec::new();
        for number in numbers {
            let device = Root::host().device(number?)?;
            if !devices.contains(&device) {
                devices.push(device);
            }
        }
        if !devices.iter().all(|device| is_counting(device)) {
            return None;
        }
        let within = |device: &PathBuf| whole_disk(device) == *device || !devices.contains(&whole_disk(device));
        let paths: Vec<PathBuf> =
            devices.iter().filter(|device| within(device)).map(|device| device.join("stat")).collect();
        (!paths.is_empty() && paths.iter().all(|path| path.exists())).then_some(DiskCounters { paths })
    }

    /// Reads them, one reading per device.
    pub(crate) fn read(&self) -> Option<Vec<Reading>> {
        self.paths.iter().map(|path| Reading::parse(&std::fs::read_to_string(path).ok()?)).collect()
    }
}

/// Whether the kernel counts: queue/iostats can turn it off, and the counters of some devices stay 0.
fn is_counting(device: &Path) -> bool {
    text(whole_disk(device).join("queue/iostats")).as_deref() != Some("0")
}

impl Reading {
    fn parse(text: &str) -> Option<Reading> {
        let fields: Vec<u64> = text.split_ascii_whitespace().map_while(|word| word.parse().ok()).collect();
        let field = |index: usize| fields.get(index).copied();
        Some(Reading {
            requests: [field(0)?, field(4)?, field(11).unwrap_or(0)],
            merges: field(1)? + field(5)? + field(12).unwrap_or(0),
            // The unit is 512 bytes, whatever the device's block size.
            bytes: [field(2)? * 512, field(6)? * 512, field(13).unwrap_or(0) * 512],
            busy_ms: field(9)?,
            has_trims: field(13).is_some(),
        })
    }
}

/// The difference of two readings: the sum of the devices, and the mean of their busy fractions.
pub(crate) fn between(before: &[Reading], after: &[Reading], elapsed_s: f64) -> Block {
    let sum = |figure: &dyn Fn(&Reading) -> u64| {
        before.iter().zip(after).map(|(before, after)| figure(after).saturating_sub(figure(before))).sum::<u64>()
    };
    let busy_s = sum(&|reading| reading.busy_ms) as f64 / 1e3 / before.len().max(1) as f64;
    let [read, write, trim] = [0, 1, 2].map(|way| Direction {
        requests: sum(&|reading| reading.requests[way]),
        bytes: sum(&|reading| reading.bytes[way]),
        amplification: None,
    });
    Block {
        requests: read.requests + write.requests + trim.requests,
        bytes: read.bytes + write.bytes,
        merges: sum(&|reading| reading.merges),
        busy_fraction: (busy_s / elapsed_s.max(1e-9)).min(1.0),
        devices: before.len().max(1) as u32,
        outstanding_mean: None,
        read: Some(read),
        write: Some(write),
        trim: after.iter().all(|reading| reading.has_trims).then_some(trim),
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
    fn trims_are_counted_apart_and_move_no_bytes() {
        let reading = |text: &str| [Reading::parse(text).unwrap()];
        let (before, after) = (reading("1 0 8 0 1 0 8 0 0 0 0 2 0 8 0"), reading("2 0 16 0 1 0 8 0 0 0 0 7 1 48 0"));
        let block = between(&before, &after, 1.0);
        assert_eq!((block.requests, block.bytes, block.merges), (6, 8 * 512, 1));
        assert_eq!(block.trim.map(|trim| (trim.requests, trim.bytes)), Some((5, 40 * 512)));
        let old = between(&reading("1 0 8 0 1 0 8 0 0 0 0"), &reading("2 0 16 0 1 0 8 0 0 0 0"), 1.0);
        assert_eq!(old.trim, None, "a kernel that does not count them");
    }
}
