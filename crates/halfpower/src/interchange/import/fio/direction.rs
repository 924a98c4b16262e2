//! The requests of one kind in a job: fio's `read`, `write` and `trim`, in the units of its version.

use super::super::Collected;
use super::super::json::{count, figure};
use super::super::record::{Figures, histogram};
use super::super::text::whole;
use crate::interchange::percentiles;
use halfpower_model::Histogram;
use halfpower_model::sample::Latency;
use serde_json::Value;

/// One direction of a job.
#[derive(Clone, Debug)]
pub(super) struct Direction {
    pub(super) runtime_ms: u64,
    pub(super) figures: Figures,
}

/// fio's names of latencies, with the factor to ns; those that include the submission come first.
const FAMILIES: [(&str, f64); 4] = [("lat_ns", 1.0), ("clat_ns", 1.0), ("lat", 1e3), ("clat", 1e3)];

impl Direction {
    /// Parses it; none if there were no requests of the kind.
    ///
    /// # Errors
    /// If a required figure is missing or invalid.
    pub(super) fn read(part: &Value, collected: &mut Collected) -> Result<Option<Self>, String> {
        let required = |key: &str| part.get(key).ok_or_else(|| format!("`{key}` is missing"));
        let number = |key: &str| count(required(key)?).ok_or_else(|| format!("`{key}` is not a count"));
        let (moved, runtime_ms) = (number("io_bytes")?, number("runtime")?);
        let rate_kib = figure(required("bw")?).ok_or("`bw` is not a number")?;
        let per_s = figure(required("iops")?).ok_or("`iops` is not a number")?;
        let requests = part.get("total_ios").and_then(count);
        if requests.unwrap_or_default() == 0 && moved == 0 {
            return Ok(None);
        }
        let bytes = bytes_of(part, moved, rate_kib, runtime_ms, collected)?;
        let bytes_per_s = part.get("bw_bytes").and_then(figure).unwrap_or(rate_kib * 1024.0);
        let requests = requests.unwrap_or_else(|| (per_s * runtime_ms as f64 / 1e3).round() as u64);
        hold_together(collected, runtime_ms, (requests as f64, per_s), (bytes as f64, bytes_per_s));
        let family = family(part);
        let (latency, histogram) = family.map_or((Latency::default(), None), |(name, unit, family)| {
            // Where no submission was counted, it is no part of another latency either.
            let mean = |family: &str| part.get(family)?.get("mean").and_then(figure);
            if name.starts_with("clat") && (mean("slat_ns") != Some(0.0) || mean("lat_ns") != mean("clat_ns")) {
                let message = "latencies are fio's clat, from the end of the submission on";
                collected.doubt("completion_latency", message, "run fio with --lat_percentiles=1 for the whole");
            }
            let histogram = histogram_of(family);
            if histogram.is_none() && family.get("bins").is_some_and(|bins| *bins != Value::Null) {
                let message = "the bins of a latency histogram are not counts; its summary was taken";
                collected.doubt("histogram_left_out", message, "look at the file: fio does not write that");
            }
            (histogram.as_ref().map_or_else(|| latency_of(family, unit, requests), Latency::of), histogram)
        });
        let figures = Figures {
            requests: Some(requests),
            bytes: Some(bytes),
            requests_per_s: (runtime_ms > 0).then_some(per_s),
            bytes_per_s: (runtime_ms > 0).then_some(bytes_per_s),
            latency,
            histogram,
            short_transfers: part.get("short_ios").and_then(count),
        };
        Ok(Some(Direction { runtime_ms, figures }))
    }
}

/// The flushes of a job, fio's `sync`; none if there were none. It moves no bytes and has no rate.
pub(super) fn flushes(part: &Value, elapsed_ms: u64) -> Option<Figures> {
    let (_, unit, family) = family(part)?;
    let requests = part.get("total_ios").and_then(count).or_else(|| family.get("N").and_then(count));
    let requests = requests.filter(|requests| *requests > 0)?;
    let histogram = histogram_of(family);
    let latency = histogram.as_ref().map_or_else(|| latency_of(family, unit, requests), Latency::of);
    Some(Figures { latency, histogram, ..Figures::over(elapsed_ms as f64 / 1e3, Some(requests), None) })
}

/// Bytes moved. fio 2 prints KiB under the same name, which its rate shows.
fn bytes_of(part: &Value, moved: u64, rate_kib: f64, ms: u64, collected: &mut Collected) -> Result<u64, String> {
    if part.get("io_kbytes").is_some() {
        return Ok(moved);
    }
    let by_rate = rate_kib * 1024.0 * ms as f64 / 1e3;
    let distance = |bytes: f64| (bytes - by_rate).abs();
    if distance(moved as f64) <= distance(moved as f64 * 1024.0) {
        return Ok(moved);
    }
    collected.doubt("io_bytes_in_kib", "io_bytes is taken as KiB, as fio 2 has it: its rate says so", "nothing to do");
    moved.checked_mul(1024).ok_or_else(|| "`io_bytes` is too large".to_owned())
}

/// The latencies used: those with a histogram, else with percentiles, else with a maximum.
fn family(part: &Value) -> Option<(&'static str, f64, &Value)> {
    let families = || FAMILIES.iter().filter_map(|(name, unit)| Some((*name, *unit, part.get(name)?)));
    let with = |key: &str| families().find(|(_, _, family)| family.get(key).is_some_and(|bins| *bins != Value::Null));
    let counted = |family: &Value| family.get("max").and_then(figure).is_some_and(|max| max > 0.0);
    with("bins").or_else(|| with("percentile")).or_else(|| families().find(|(_, _, family)| counted(family)))
}

fn histogram_of(family: &Value) -> Option<Histogram> {
    let bins = family.get("bins")?.as_object()?;
    let pairs: Option<Vec<(u64, u64)>> =
        bins.iter().map(|(value, counted)| Some((whole(value)?, count(counted)?))).collect();
    let of = |key: &str| family.get(key).and_then(figure);
    let pairs = pairs?;
    let total: u64 = pairs.iter().try_fold(0_u64, |sum, (_, count)| sum.checked_add(*count))?;
    histogram(pairs.into_iter(), of("mean")? * total as f64, of("min")? as u64, of("max")? as u64)
}

/// Warns if a rate is not the amount divided by the time, as it is in a file of fio.
fn hold_together(collected: &mut Collected, runtime_ms: u64, requests: (f64, f64), bytes: (f64, f64)) {
    for ((amount, per_s), what) in [(requests, "requests"), (bytes, "bytes")] {
        let by_time = amount * 1e3 / runtime_ms as f64;
        if runtime_ms > 0 && (per_s - by_time).abs() > 0.05 * by_time.max(per_s) {
            let message = format!("{per_s} {what} per second are not {amount} in {runtime_ms} ms; the rate was taken");
            collected.doubt("rates_disagree", message, "look at the file");
        }
    }
}

/// A summary without a histogram; `unit` is in ns. As with our percentiles, at least ten of the `requests` lie beyond
/// one. It is at most the maximum, which fio's exceed if their bucket ends beyond it.
fn latency_of(family: &Value, unit: f64, requests: u64) -> Latency {
    let of = |key: &str| family.get(key).and_then(figure).map(|value| value * unit);
    let percentile = |percent: f64| {
        let value = family.get("percentile")?.get(format!("{percent:.6}")).and_then(figure)? * unit;
        let beyond = (requests as f64 * (1.0 - percent / 100.0)).round();
        let most = of("max").unwrap_or(f64::INFINITY);
        (beyond >= 10.0 || percent == 50.0).then_some(value.min(most) as u64)
    };
    let mut latency = Latency { mean: of("mean"), stddev: of("stddev"), ..Latency::default() };
    percentiles(&mut latency).into_iter().for_each(|(percent, place)| *place = percentile(percent));
    (latency.min, latency.max) = (of("min").map(|value| value as u64), of("max").map(|value| value as u64));
    latency
}

/// All directions together: counts over the longest run time; percentiles only if each has a histogram.
pub(super) fn together(all: &[Direction], elapsed_ms: u64, histogram: &Histogram) -> Figures {
    let sum = |of: fn(&Figures) -> Option<u64>| {
        all.iter().try_fold(0_u64, |sum, one| Some(sum.saturating_add(of(&one.figures)?)))
    };
    let latency = if all.iter().all(|one| one.figures.histogram.is_some()) {
        Latency::of(histogram)
    } else {
        Latency {
            min: all.iter().filter_map(|one| one.figures.latency.min).min(),
            max: all.iter().filter_map(|one| one.figures.latency.max).max(),
            ..Latency::default()
        }
    };
    let amounts = Figures::over(elapsed_ms as f64 / 1e3, sum(|one| one.requests), sum(|one| one.bytes));
    Figures { latency, short_transfers: sum(|one| one.short_transfers), ..amounts }
}
