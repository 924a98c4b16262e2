//! The figures of a trace as text: what it is first, then a table and a map.

use super::statistics::{BURSTS, COLUMNS, EVEN, OfKind, Statistics};
use crate::text::{percent, sparkline};
use halfpower_model::units::significant;
use halfpower_model::{Bytes, BytesPerSecond, Nanoseconds, RequestKind};
use std::fmt::Write as _;

/// Sizes that are named for each kind.
const SIZES: usize = 4;
/// Marks of the map, from few requests to many.
const MARKS: [char; 5] = [' ', '░', '▒', '▓', '█'];

/// The page of a trace on the terminal, at most 80 columns wide.
pub(crate) fn text(name: &str, of: &Statistics) -> String {
    let mut text = String::new();
    let bytes = of.contents.bytes.iter().sum::<u64>() as f64 / of.duration().seconds();
    let rate = match of.duration().0 {
        0 => "at one time".to_owned(),
        _ => format!("{} IOPS and {} on average", significant(of.requests_per_s), BytesPerSecond(bytes)),
    };
    let mean = Bytes(of.mean_bytes().round() as u64);
    let _ = writeln!(text, "{name}: {} requests in {}, {rate}", of.contents.total(), of.duration(),);
    let reads = percent(of.share(RequestKind::Read));
    let _ =
        writeln!(text, "{reads} reads, requests of {mean} on average, {} sequential.", percent(of.sequential_share()));
    let arrivals = match of.dispersion {
        None => "not characterised (the trace is shorter than 0.2 s)".to_owned(),
        Some(..EVEN) => "even".to_owned(),
        Some(EVEN..BURSTS) => "at random".to_owned(),
        Some(times) => format!("in bursts ({} times the variance of random ones)", significant(times)),
    };
    let busiest = of.busiest_second;
    let _ = writeln!(text, "Arrivals are {arrivals}; the busiest second has {busiest} requests.\n");
    let _ = writeln!(
        text,
        "{:<6} {:>11} {:>10} {:>10} {:>9} {:>9}  Sizes",
        "", "Requests", "Bytes", "Sequential", "p50", "p99"
    );
    for kind in &of.kinds {
        row(&mut text, kind);
    }
    let outstanding = of.contents.outstanding;
    let depth = of
        .depth_mean
        .map(|mean| format!("\noutstanding, of all programs: {} on average, {outstanding} at most", significant(mean)));
    let gaps =
        [of.gap_p50_ns, of.gap_p99_ns].map(|gap| gap.map_or("none".to_owned(), |gap| Nanoseconds(gap).to_string()));
    let _ = writeln!(text, "\ngaps p50 {}, p99 {}{}", gaps[0], gaps[1], depth.unwrap_or_default());
    let _ = writeln!(text, "{} accessed of the first {}", Bytes(of.working_set_bytes), of.contents.end);
    let caches = of.cache_serves.iter().filter(|(bytes, _)| *bytes < 2 * of.working_set_bytes.max(1 << 23));
    let caches: Vec<String> = caches.map(|(bytes, share)| format!("{} {}", Bytes(*bytes), percent(*share))).collect();
    if !caches.is_empty() {
        let _ = writeln!(text, "Served by an LRU cache of {}", caches.join(", "));
    }
    text.push('\n');
    map(&mut text, of);
    text
}

fn row(text: &mut String, of: &OfKind) {
    let total = of.requests.max(1) as f64;
    let sizes = of.sizes.iter().take(SIZES).map(|(size, count)| {
        let share = *count as f64 / total;
        if share > 0.995 {
            Bytes((*size).into()).to_string()
        } else {
            format!("{} {:.0} %", Bytes((*size).into()), share * 100.0)
        }
    });
    let latency = |latency: Option<u64>| latency.map_or("–".to_owned(), |latency| Nanoseconds(latency).to_string());
    let (bytes, sequential) = match of.kind {
        RequestKind::Flush => ("–".to_owned(), "–".to_owned()),
        _ => (Bytes(of.bytes).to_string(), percent(of.sequential as f64 / total)),
    };
    let kind = of.kind.word();
    let sizes = sizes.collect::<Vec<_>>().join(", ");
    let (p50, p99) = (latency(of.latency_p50_ns), latency(of.latency_p99_ns));
    let _ = writeln!(text, "{kind:<6} {:>11} {bytes:>10} {sequential:>10} {p50:>9} {p99:>9}  {sizes}", of.requests);
}

/// Requests over time, and where they are.
fn map(text: &mut String, of: &Statistics) {
    let columns: Vec<f64> = (0..COLUMNS).map(|column| of.map.iter().map(|row| row[column] as f64).sum()).collect();
    let width = 11;
    let _ = writeln!(text, "{:>width$} {}", "requests", sparkline(&columns));
    let most = of.map.iter().flatten().copied().max().unwrap_or(0).max(1) as f64;
    let rows = of.map.len() as u64;
    for (number, row) in of.map.iter().enumerate().rev() {
        // The square root shows the few beside the many.
        let mark = |count: &u64| MARKS[((*count as f64 / most).sqrt() * 4.0).ceil() as usize];
        let from = Bytes(of.contents.end.0 / rows * number as u64).to_string();
        let _ = writeln!(text, "{from:>width$} {}", row.iter().map(mark).collect::<String>().trim_end());
    }
    let _ = writeln!(text, "{:>width$} 0 s{:>length$}", "", of.duration().to_string(), length = COLUMNS - 3);
}
