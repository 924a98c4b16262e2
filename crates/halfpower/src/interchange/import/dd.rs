//! What dd prints on standard error when it ends: a sample for each copy.
//!
//! A copy is one request after another by one process, in order. dd repeats none of its operands, so it is unknown what was
//! read or written, whether requests were direct and whether writes were flushed. The rate is worked out of bytes and time,
//! because dd rounds the one it prints. Lines of `status=progress` are left out. Only the words of `LC_ALL=C` are known.

use super::error::Fault;
use super::record::{Figures, fill, lasted, origin, size};
use super::text::{lines, number, whole};
use super::{Collected, Format, Source};
use halfpower_model::{Bytes, Environment, Pattern, Sample, WorkerKind, WorkloadSpec};

const RECORDS: &str = " records out";
const COPIED: &str = " copied, ";

/// Whether it is of dd.
pub(super) fn is_one(source: Source<'_>) -> bool {
    source.text.contains(RECORDS) && source.text.contains(COPIED)
}

/// Every copy.
///
/// # Errors
/// At the first line of a copy that has no such figures.
pub(super) fn read(source: Source<'_>) -> Result<Collected, Fault> {
    let mut collected = Collected::default();
    let mut records = None;
    for line in lines(source.text) {
        let (line, text) = line?;
        if let Some(counts) = text.strip_suffix(RECORDS) {
            records = Some(counted(counts).ok_or_else(|| Fault::at(line, "the records out are not like `8+0`"))?);
        } else if let Some((bytes, time)) = text.split_once(COPIED)
            && let Some(records) = records.take()
        {
            let first = |text: &str| text.split(' ').next().map(str::to_owned).unwrap_or_default();
            let wrong = |what| Fault::at(line, format!("the {what} are not a number; run dd with LC_ALL=C"));
            let bytes = whole(&first(bytes)).ok_or_else(|| wrong("bytes"))?;
            let seconds = number(&first(time)).ok_or_else(|| wrong("seconds"))?;
            collected.take(sample(source, line, records, bytes, seconds))?;
        }
    }
    if records.is_some() {
        collected.note("cut_short", "the last copy has no bytes and no time", "check whether the file is complete");
    }
    Ok(collected)
}

/// Whole and partial records.
fn counted(counts: &str) -> Option<[u64; 2]> {
    let (full, partial) = counts.split_once('+')?;
    Some([whole(full)?, whole(partial)?])
}

fn sample(source: Source<'_>, line: u64, [full, partial]: [u64; 2], bytes: u64, seconds: f64) -> Sample {
    let spec = WorkloadSpec {
        pattern: Some(Pattern::Sequential),
        // The size of partial records is unknown.
        request_size: bytes.checked_div(full).filter(|_| partial == 0).and_then(size),
        depth: Some(1),
        workers: Some(1),
        processes: Some(WorkerKind::Process),
        bytes: Some(Bytes(bytes)),
        ..WorkloadSpec::default()
    };
    let from = origin(Format::Dd, source, Some(line), None, None);
    let mut sample = Sample::imported(spec.told(None), Environment::unknown("", None), from);
    // Not of a direction, which is unknown.
    fill(&mut sample, None, Figures::over(seconds, full.checked_add(partial), Some(bytes)));
    lasted(&mut sample, seconds);
    sample
}
