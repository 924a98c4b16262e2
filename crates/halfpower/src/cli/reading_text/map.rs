//! What `halfpower map` found, for people.

use crate::harmless::harmless;
use halfpower_model::reading::{Band, DeviceMap};
use halfpower_model::{Bytes, BytesPerSecond};
use std::fmt::Write;

/// Columns and rows of the chart.
const COLUMNS: usize = 64;
const ROWS: usize = 10;
/// More bands than this are in the record and the chart only.
const BANDS_SHOWN: usize = 32;

/// The first and the last band first, then all of them, then a chart.
pub(super) fn write(text: &mut String, map: &DeviceMap) {
    let _ = writeln!(text, "{}, {}: {}", harmless(&map.path), map.size_bytes, map.verdict());
    let of = if map.is_complete() { String::new() } else { format!("{} of ", map.probes.len()) };
    let plural = if map.places == 1 { "" } else { "s" };
    let _ = writeln!(text, "  one direct read of {} at {of}{} place{plural}", map.read_bytes, map.places);
    if map.bands.len() > 1 {
        for band in map.bands.iter().take(BANDS_SHOWN) {
            let _ = writeln!(text, "  {:<24}  {}", place(band), band.bytes_per_s);
        }
    }
    if map.bands.len() > BANDS_SHOWN {
        let _ = writeln!(text, "  and {} more", map.bands.len() - BANDS_SHOWN);
    }
    chart(text, map);
}

fn place(band: &Band) -> String {
    format!("{} to {}", band.from_bytes, band.to_bytes)
}

/// Rates against places: medians of as many places as a column has, with the bands' own behind them. It begins at zero,
/// so that what is flat looks flat.
fn chart(text: &mut String, map: &DeviceMap) {
    let column_of = |at: Bytes| (u128::from(at.0) * COLUMNS as u128 / u128::from(map.size_bytes.0.max(1))) as usize;
    let mut columns = vec![Vec::new(); COLUMNS];
    for probe in &map.probes {
        columns[column_of(probe.at_bytes).min(COLUMNS - 1)].push(probe.bytes_per_s.0);
    }
    let points: Vec<Option<f64>> = columns.iter_mut().map(|rates| middle(rates)).collect();
    let levels: Vec<Option<f64>> = (0..COLUMNS)
        .map(|column| {
            let at = Bytes(((column as u128 * 2 + 1) * u128::from(map.size_bytes.0) / (COLUMNS as u128 * 2)) as u64);
            let band = map.bands.iter().find(|band| band.from_bytes <= at && at < band.to_bytes);
            band.map(|band| band.bytes_per_s.value)
        })
        .collect();
    let top = points.iter().chain(&levels).flatten().copied().fold(0.0, f64::max);
    if top <= 0.0 {
        return;
    }
    let row_of = |rate: &Option<f64>| rate.map(|rate| ((rate / top * ROWS as f64).ceil() as usize).clamp(1, ROWS));
    for row in (1..=ROWS).rev() {
        let cell = |column: usize| match (row_of(&points[column]) == Some(row), row_of(&levels[column]) == Some(row)) {
            (true, _) => '*',
            (false, true) => '-',
            (false, false) => ' ',
        };
        let label = if row == ROWS { BytesPerSecond(top).to_string() } else { String::new() };
        let line: String = (0..COLUMNS).map(cell).collect();
        let _ = writeln!(text, "  {label:>10} |{}", line.trim_end());
    }
    let _ = writeln!(text, "  {:>10} +{}", "0", "-".repeat(COLUMNS));
    let end = map.size_bytes.to_string();
    let _ = writeln!(text, "  {:>10}  0{end:>width$}", "", width = COLUMNS - 1);
}

fn middle(rates: &mut [f64]) -> Option<f64> {
    rates.sort_by(f64::total_cmp);
    rates.get(rates.len() / 2).copied()
}
