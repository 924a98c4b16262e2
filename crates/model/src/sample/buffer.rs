//! Whether writes may have ended in a buffer of the device, so that a short trial has the speed of the buffer: unflushed writes,
//! and flushed ones if the buffer survives a loss of power, because a flush need not empty it.

use super::record::{Sample, Warning};
use crate::units::Bytes;
use crate::workload::{Buffering, Durability};

/// The code of [`in_write_cache`].
pub const IN_WRITE_CACHE: &str = "in_write_cache";
/// The code of [`left_in_buffer`].
pub const LEFT_IN_BUFFER: &str = "left_in_buffer";
/// Multiple of the buffer's size from which on it does not matter: at most a tenth is left there.
const ENOUGH: u64 = 10;
/// The least to write if the size of the buffer is unknown; larger than the buffers of drives and most controllers.
const ENOUGH_FOR_ANY: Bytes = Bytes::GIB;

/// The warning for a sample that wrote little compared with a buffer that needs no flush; `buffer` is none if its size is
/// unknown. Only for samples whose time includes the first write and the final flush.
pub fn left_in_buffer(sample: &Sample, buffer: Option<Bytes>) -> Option<Warning> {
    let workload = &sample.workload;
    let is_whole = workload.durability == Durability::FlushAtEnd && workload.warmup.0 == 0 && sample.is_complete();
    few(LEFT_IN_BUFFER, sample, is_whole, buffer, |written| match buffer {
        Some(buffer) => {
            let left = buffer.min(written);
            format!("{written} were written, and up to {left} of it was left in a buffer that needs no flush")
        }
        None => format!(
            "{written} were written to a device that needs no flush; part of it may still be in its protected buffer"
        ),
    })
}

/// The warning for a sample of unflushed direct writes that are few compared with the device's write cache; `cache` is none if
/// its size is unknown. The page cache is not considered.
pub fn in_write_cache(sample: &Sample, cache: Option<Bytes>) -> Option<Warning> {
    let workload = &sample.workload;
    let is_flushed = match workload.durability {
        Durability::FlushAtEnd => true,
        Durability::None if workload.trace.is_none() => false,
        // There may have been too few writes for one.
        _ => sample.flush.as_ref().is_some_and(|flush| flush.requests > 0),
    };
    let before = sample.write.as_ref()?.bytes as f64 * workload.warmup.seconds() / sample.elapsed_s;
    let is_left =
        workload.buffering == Buffering::Direct && !is_flushed && !cache.is_some_and(|cache| before >= cache.0 as f64);
    let mut warning = few(IN_WRITE_CACHE, sample, is_left, cache, |written| {
        let kept =
            cache.map(|cache| format!("up to {} of it was left in the device's write cache", cache.min(written)));
        let kept = kept.unwrap_or("part of it may still be in the device's write cache".to_owned());
        format!("{written} were written without a flush: {kept}")
    })?;
    if workload.trace.is_none() {
        warning.remedy += ", or durability to flush_at_end";
    }
    Some(warning)
}

/// The warning, if it applies, for a sample that wrote little compared with a buffer of this size.
fn few(
    code: &str,
    sample: &Sample,
    applies: bool,
    holds: Option<Bytes>,
    message: impl Fn(Bytes) -> String,
) -> Option<Warning> {
    let written = Bytes(sample.write.as_ref().filter(|write| applies && write.bytes > 0)?.bytes);
    let enough = holds.map_or(ENOUGH_FOR_ANY, |holds| Bytes(holds.0.saturating_mul(ENOUGH)));
    let remedy = match sample.workload.trace {
        Some(_) => format!("replay a trace that writes at least {enough}"),
        None => format!("set bytes to at least {enough} per repetition"),
    };
    (written < enough).then(|| Warning::new(code, message(written), remedy))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::Environment;
    use crate::sample::Totals;
    use crate::units::Nanoseconds;
    use crate::workload::Workload;
    use crate::workload::trace::Trace;

    type Judge = fn(&Sample, Option<Bytes>) -> Option<Warning>;

    /// The warning for one second of writes in MiB, with a buffer in MiB.
    fn said(judge: Judge, workload: &Workload, mib: u64, buffer: Option<u64>) -> Option<String> {
        let write = Totals { bytes: mib << 20, ..Totals::default() };
        let empty = Sample::empty(workload.clone(), Environment::unknown("a", None));
        let sample = Sample { write: Some(write), elapsed_s: 1.0, ..empty };
        judge(&sample, buffer.map(|mib| Bytes(mib << 20))).map(|warning| warning.message + "; " + &warning.remedy)
    }

    #[test]
    fn little_against_a_buffer_is_said() {
        let flushed = Workload { durability: Durability::FlushAtEnd, ..Workload::default() };
        let said = |mib, buffer, workload: &Workload| said(left_in_buffer, workload, mib, buffer);
        let words = "32 MiB were written, and up to 16 MiB of it was left in a buffer that needs no flush; set bytes to at least 160 MiB per repetition";
        assert_eq!(said(32, Some(16), &flushed).unwrap(), words);
        assert!(said(4, Some(16), &flushed).unwrap().contains("up to 4 MiB of it"));
        assert!(said(32, None, &flushed).unwrap().ends_with("at least 1 GiB per repetition"));
        let enough = [(160, Some(16)), (1024, None), (32, Some(0))];
        assert_eq!(enough.map(|(mib, buffer)| said(mib, buffer, &flushed)), [None, None, None]);
        // The buffer was full before the measured part, or nothing says that the figure is of the storage.
        assert_eq!(said(32, Some(16), &Workload { warmup: Nanoseconds(1), ..flushed }), None);
        assert_eq!(said(32, Some(16), &Workload::default()), None);
    }

    #[test]
    fn unflushed_writes_that_are_few_against_a_write_cache_are_said() {
        let direct = || Workload { buffering: Buffering::Direct, ..Workload::default() };
        let said = |mib, cache, workload: &Workload| said(in_write_cache, workload, mib, cache);
        assert_eq!(
            said(32, Some(16), &direct()).unwrap(),
            "32 MiB were written without a flush: up to 16 MiB of it was left in the device's write cache; \
             set bytes to at least 160 MiB per repetition, or durability to flush_at_end"
        );
        assert!(
            said(32, None, &direct()).unwrap().contains("be in the device's write cache; set bytes to at least 1 GiB")
        );
        let replay = Workload { trace: Some(Trace::of_nothing()), ..direct() };
        assert!(said(32, Some(16), &replay).unwrap().ends_with("; replay a trace that writes at least 160 MiB"));
        let enough = [(160, Some(16)), (1024, None), (32, Some(0))];
        assert_eq!(enough.map(|(mib, cache)| said(mib, cache, &direct())), [None, None, None]);
        for (workload, is_said) in [
            (Workload { durability: Durability::Fsync { every: 1000 }, ..direct() }, true),
            // A warm-up that did not fill it, and one that did.
            (Workload { warmup: Nanoseconds(400_000_000), ..direct() }, true),
            (Workload { warmup: Nanoseconds(500_000_000), ..direct() }, false),
            // Flushed, through the cache or by the system's.
            (Workload { durability: Durability::FlushAtEnd, ..direct() }, false),
            (Workload { buffering: Buffering::Through, ..direct() }, false),
            (Workload { buffering: Buffering::Buffered, ..direct() }, false),
        ] {
            assert_eq!(said(32, Some(16), &workload).is_some(), is_said, "{workload}");
        }
    }
}
