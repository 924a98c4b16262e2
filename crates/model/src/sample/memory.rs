//! Warns if the page cache was measured instead of the storage: writes without a flush, and reads of which the device delivered
//! little by its own counters. A requested warm cache gives no warning.

use super::block::Block;
use super::record::{Sample, Warning};
use crate::environment::TargetKind;
use crate::units::significant;
use crate::workload::{CachePolicy, Durability, Pattern, Personality, Workload};

/// Below this share of the bytes read from the device a figure is that of memory. The counters include read-ahead, warm-up and
/// other programs, so the share is an upper bound.
const MIN_SHARE: f64 = 0.5;
/// From this number of device reads per write on they are the bottleneck, not memory; as in the attribution.
const READS_FIRST: f64 = 0.25;
/// From this share of the bytes written on, the device kept up, and the figure is the storage's.
const KEPT_UP: f64 = 0.9;
/// Below this share only memory was measured; as in the attribution.
const MEMORY_ALONE: f64 = 0.1;
/// The least that the device writes for a random write.
const PAGE_BYTES: u64 = 4096;
/// The code of [`memory_speed`].
pub const MEMORY_SPEED: &str = "memory_speed";

/// The warning for a sample that measured memory.
pub fn memory_speed(sample: &Sample) -> Option<Warning> {
    let workload = &sample.workload;
    let is_null = sample.environment.target.kind == TargetKind::Null || workload.personality == Personality::Null;
    if is_null || workload.buffering.is_direct() || sample.total.bytes == 0 {
        return None;
    }
    if workload.durability == Durability::None
        && workload.writes_to_cache()
        && let Some(what) = not_stored(sample)
    {
        let message = format!("nothing waited until the writes were stored{what}");
        let remedy = match workload.trace {
            Some(_) => "set buffering to direct",
            None => "set durability to flush_at_end, or buffering to direct",
        };
        return Some(Warning::new(MEMORY_SPEED, message, remedy));
    }
    let asked = sample.read.as_ref().map(|read| read.bytes).filter(|bytes| *bytes > 0)?;
    if workload.cache == CachePolicy::Warm {
        return None;
    }
    let remedy = match workload.cache {
        CachePolicy::Cold if came_around(sample) => once_over(workload),
        // At most one pass: another program read it, or the cache was not dropped.
        CachePolicy::Cold | CachePolicy::ColdEachPass => "set buffering to direct".to_owned(),
        CachePolicy::Keep | CachePolicy::Warm => "set cache to cold, or buffering to direct".to_owned(),
    };
    match sample.block.as_ref().and_then(share_of_device(asked)) {
        Some(share) if share < MIN_SHARE => {
            let percent = share * 100.0;
            let message = format!(
                "the device moved {percent:.0} % of the bytes that were read: this is the speed of memory, not of the storage"
            );
            Some(Warning::new(MEMORY_SPEED, message, &remedy))
        }
        // An unknown state after a cold start has its own warnings.
        None if workload.cache == CachePolicy::Keep => {
            let message = "how much was read from the page cache is unknown: this may be the speed of memory";
            Some(Warning::new(MEMORY_SPEED, message, &remedy))
        }
        _ => None,
    }
}

/// Why unflushed writes are not storage speed; none if they are.
fn not_stored(sample: &Sample) -> Option<String> {
    // Such writes wait for device reads, but not until they are stored.
    if let Some(reads) = reads_for_writes(sample).filter(|reads| *reads >= READS_FIRST) {
        let reads = significant(reads);
        return Some(format!(
            ", and the device read {reads} times for each of them: this is the speed of those reads, and not of storing the writes"
        ));
    }
    let share = share_stored(sample).unwrap_or(0.0);
    if share >= KEPT_UP {
        None
    } else if share >= MEMORY_ALONE {
        let percent = share * 100.0;
        Some(format!(", and the device moved {percent:.0} % of their bytes meanwhile: the storage is slower than this"))
    } else {
        Some(": this is the speed of memory, not of the storage".to_owned())
    }
}

/// Share of the bytes written that the device wrote during the sample.
fn share_stored(sample: &Sample) -> Option<f64> {
    let (write, block) = (sample.write.as_ref()?, sample.block.as_ref()?);
    let least = if sample.workload.pattern == Pattern::Sequential { 0 } else { write.requests * PAGE_BYTES };
    let asked = write.bytes.max(least) * sample.workload.copies();
    (asked > 0).then_some(block.write?.bytes as f64 / (asked as f64 * with_warmup(sample)))
}

/// Device reads per write; none if the workload reads too.
fn reads_for_writes(sample: &Sample) -> Option<f64> {
    let (write, block) = (sample.write.as_ref()?, sample.block.as_ref()?);
    // The device's counters include the warm-up.
    let reads = block.read?.requests as f64 / with_warmup(sample);
    (sample.read.is_none() && write.requests > 0).then_some(reads / write.requests as f64)
}

/// Warm-up and measured part together, as a multiple of the measured part at the same rate.
fn with_warmup(sample: &Sample) -> f64 {
    1.0 + sample.workload.warmup.seconds() / sample.elapsed_s.max(1e-9)
}

/// Whether more was read than the span holds, with the warm-up.
pub fn came_around(sample: &Sample) -> bool {
    sample.total.bytes as f64 * with_warmup(sample) > sample.workload.once_over().0 as f64
}

/// The remedy that limits reads to one pass.
pub fn once_over(workload: &Workload) -> String {
    if workload.trace.is_some() {
        return "set buffering to direct".to_owned();
    }
    let said = workload.once_over().exactly();
    let without_warmup = if workload.warmup.0 > 0 { " without a warm-up" } else { "" };
    format!("set bytes to {said}{without_warmup}, use a larger target, or set buffering to direct")
}

fn share_of_device(asked: u64) -> impl Fn(&Block) -> Option<f64> {
    move |block| Some(block.read?.bytes as f64 / asked as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::Environment;
    use crate::sample::{Direction, Totals};
    use crate::units::{Bytes, Nanoseconds};
    use crate::workload::trace::Trace;
    use crate::workload::{Buffering, Operation};

    fn message(workload: Workload, device_bytes: Option<u64>) -> Option<String> {
        warned(workload, device_bytes).map(|warning| warning.message)
    }

    /// The warning of a sample of a million bytes, with these bytes moved by the device.
    fn warned(workload: Workload, device_bytes: Option<u64>) -> Option<Warning> {
        let workload = Workload { personality: Personality::Sync, ..workload };
        let mut sample = Sample::empty(workload, Environment::unknown("a", None));
        let totals = Totals { requests: 10, bytes: 1_000_000, ..Totals::default() };
        sample.read = sample.workload.operation.reads().then(|| totals.clone());
        sample.write = sample.workload.operation.writes().then(|| totals.clone());
        (sample.total, sample.elapsed_s) = (totals, 1.0);
        sample.block = device_bytes.map(block);
        memory_speed(&sample)
    }

    /// Counters of a device that read this number of bytes.
    fn block(bytes: u64) -> Block {
        let read = Direction { requests: bytes >> 12, bytes, amplification: None };
        Block { requests: 1, bytes, devices: 1, read: Some(read), ..Block::default() }
    }

    fn buffered(operation: Operation) -> Workload {
        Workload { operation, buffering: Buffering::Buffered, ..Workload::default() }
    }

    #[test]
    fn writes_that_nobody_waits_for_are_reported() {
        let write = || buffered(Operation::Write);
        let memory = "nothing waited until the writes were stored: this is the speed of memory, not of the storage";
        assert_eq!(message(write(), None).as_deref(), Some(memory));
        assert_eq!(message(write(), Some(4096)).as_deref(), Some(memory), "one read for ten writes");
        let reads = message(write(), Some(10 * 4096)).unwrap();
        assert!(reads.contains("read 1 times for each of them: this is the speed of those reads"), "{reads}");
        let stored = |share: f64, workload: Workload| {
            let mut sample = Sample::empty(workload, Environment::unknown("a", None));
            let totals = Totals { requests: 1000, bytes: 1_000_000, ..Totals::default() };
            let device = Direction { requests: 9, bytes: (share * 1e6) as u64, amplification: None };
            sample.block = Some(Block { write: Some(device), ..block(0) });
            (sample.write, sample.total, sample.elapsed_s) = (Some(totals.clone()), totals, 1.0);
            memory_speed(&sample).map(|warning| warning.message)
        };
        assert_eq!([stored(0.9, write()), stored(0.09, write())], [None, Some(memory.to_owned())]);
        let remedy = |workload| warned(workload, None).map(|warning| warning.remedy);
        assert!(remedy(write()).is_some_and(|remedy| remedy.contains("durability")));
        let replay = Workload { trace: Some(Trace::of_nothing()), ..write() };
        assert_eq!(remedy(replay).as_deref(), Some("set buffering to direct"), "the others are keys of `io` alone");
        let part = |message: Option<String>| message.is_some_and(|text| text.ends_with("storage is slower than this"));
        assert!(part(stored(0.1, write())) && stored(0.89, write()).is_some_and(|message| message.contains("89 % of")));
        // The device's count has what the warm-up wrote in it, what goes to it are pages, and each side of a mirror has all.
        let warm = Workload { warmup: Nanoseconds(1_000_000_000), ..write() };
        let random = Workload { pattern: Pattern::Random, ..write() };
        let mirror = Workload { layout: "mirror".parse().unwrap(), targets: 2, ..write() };
        assert!(part(stored(1.2, warm)) && part(stored(2.4, random)) && part(stored(1.2, mirror)));
        for waited_for in [
            Workload { durability: Durability::FlushAtEnd, ..write() },
            Workload { buffering: Buffering::Through, ..write() },
            Workload { buffering: Buffering::Direct, ..write() },
            Workload { rw_flags: "dsync".parse().unwrap(), ..write() },
        ] {
            assert_eq!(message(waited_for.clone(), None), None, "{waited_for}");
        }
    }

    #[test]
    fn reads_that_the_device_had_little_part_in_are_reported() {
        let read = |cache| Workload { cache, ..buffered(Operation::Read) };
        let keep = |device| message(read(CachePolicy::Keep), device);
        assert!(keep(Some(490_000)).is_some_and(|message| message.contains("the device moved 49 %")));
        assert_eq!(keep(Some(510_000)), None);
        assert!(keep(None).is_some_and(|message| message.contains("is unknown")));
        assert!(message(read(CachePolicy::Cold), Some(0)).is_some(), "it was not cold, or did not stay so");
        assert_eq!(message(read(CachePolicy::Cold), None), None, "cold_unknown says it");
        assert_eq!(message(read(CachePolicy::Warm), Some(0)), None, "it was asked for");
        assert_eq!(message(Workload { buffering: Buffering::Direct, ..read(CachePolicy::Keep) }, Some(0)), None);
    }

    #[test]
    fn the_remedy_is_not_what_was_done_already() {
        let remedy = |cache, span, warmup_s: u64| {
            let warmup = Nanoseconds(warmup_s * 1_000_000_000);
            let read = Workload { cache, span: Bytes(span), warmup, ..buffered(Operation::Read) };
            warned(read, Some(0)).unwrap().remedy
        };
        assert!(remedy(CachePolicy::Keep, 2_000_000, 0).contains("cache to cold"));
        assert_eq!(remedy(CachePolicy::Cold, 2_000_000, 0), "set buffering to direct", "it did not come around");
        let around = remedy(CachePolicy::Cold, 1 << 19, 0);
        assert_eq!(around, "set bytes to 512KiB, use a larger target, or set buffering to direct");
        assert!(remedy(CachePolicy::Cold, 999_999, 0).contains("bytes to 999999,"), "to the byte");
        assert!(remedy(CachePolicy::Cold, 2_000_000, 9).contains(" without a warm-up"), "that came around");
    }
}
