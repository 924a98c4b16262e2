//! A trace of SQLIO (Windows 2000 I/O Performance, table 8): a row per sample of reads or writes of one size in whole
//! KB.
//!
//! MB and KB are 2^20 and 2^10 bytes, FileSize is in KB as in the table, times are UTC without a zone. A trace has no
//! form for an unknown CPU time or time of day; such samples are left out.

use super::exported::Exported;
use crate::interchange::import::sqlio::HEADING;
use crate::store::StoredSample;
use halfpower_model::{Buffering, Operation, Sample};

/// The rows.
pub(super) fn write(samples: &[StoredSample]) -> Exported {
    Exported::of(&format!("{HEADING}\n"), samples, |stored| row(&stored.sample))
}

fn row(sample: &Sample) -> Result<String, &'static str> {
    let workload = &sample.workload;
    let operation = match workload.operation {
        Operation::Read if workload.is_known("operation") => "read",
        Operation::Write => "write",
        _ => return Err("a trace has reads or writes alone"),
    };
    if !sample.is_complete() {
        return Err("it failed");
    }
    if !["request_size", "depth", "workers", "buffering"].iter().all(|field| workload.is_known(field)) {
        return Err("its size, depth, threads or buffering is not known, and a trace must say them");
    }
    if !workload.sizes.is_empty() || !workload.request_size.0.is_multiple_of(1024) {
        return Err("its requests are not of one size in whole KB");
    }
    let figures = ["total.requests_per_s", "elapsed_s", "cpu.lower", "started_at"];
    if !figures.iter().all(|figure| sample.is_known(figure)) {
        return Err("its IOPS, its time or its CPU time is not known, and a trace must say them");
    }
    let buffering = match workload.buffering {
        Buffering::Buffered => "Y",
        Buffering::Through => "S",
        Buffering::Direct => "H",
        Buffering::None => "N",
    };
    let requests_per_s = sample.total.requests_per_s;
    let mib_per_s = requests_per_s * workload.request_size.0 as f64 / f64::from(1 << 20);
    let elapsed = jiff::SignedDuration::from_millis((sample.elapsed_s * 1e3).round() as i64);
    let end = sample.started_at.checked_add(elapsed).map_err(|_| "its time of day is out of range")?;
    let time_s = workload.limits.duration.map_or(0, |duration| duration.0 / 1_000_000_000);
    let lower = sample.cpu.lower;
    Ok(format!(
        "{mib_per_s:.2},{requests_per_s:.2},{operation},{},{},{buffering},{},{time_s},{},{:.2},{:.0},{:.0},{},{}\n",
        workload.request_size.0 >> 10,
        workload.depth,
        workload.workers,
        workload.span.0 >> 10,
        sample.elapsed_s,
        lower.user_s * 1e3,
        lower.system_s * 1e3,
        end.strftime("%a %b %d %H:%M:%S %Y"),
        comment(sample),
    ))
}

/// The note without commas, after the workload's parts without a column: the pattern, if the note does not contain it,
/// and the settings of a simulated machine.
fn comment(sample: &Sample) -> String {
    let workload = &sample.workload;
    let without_commas = |c: char| if c == ',' || c.is_control() { ' ' } else { c };
    let note: String = sample.note.iter().flat_map(|note| note.chars()).map(without_commas).collect();
    let pattern = workload.pattern.to_string();
    let is_named = note.split_whitespace().any(|word| word.eq_ignore_ascii_case(&pattern));
    let pattern = if is_named || !workload.is_known("pattern") { String::new() } else { format!("{pattern} ") };
    let set: String = workload.set.0.iter().map(|(key, value)| format!("{key}={value} ")).collect();
    let front: String = format!("{pattern}{set}").chars().map(without_commas).collect();
    if front.is_empty() { note } else { format!("{front}{note}").trim_end().to_owned() }
}
