//! What `halfpower map` shows: throughput by place, its bands, and the loss from the first band to the last.

use crate::instrument::page::{Body, Page, Section};
use crate::reading::map::{Band, DeviceMap};
use crate::report::chart::{Chart, Line, Point, Stroke, XAxis, YAxis, without_interval};
use crate::report::table::Table;
use crate::text::counted;
use halfpower_engine::map::Probe;
use halfpower_model::units::significant;
use halfpower_model::{BytesPerSecond, Estimate, Quantity};

pub(crate) fn page(map: &DeviceMap, run: &str) -> Page {
    let missing = map.places as usize - map.probes.len();
    let unfinished = format!(
        "Not finished: {missing} of {} places were not read. `halfpower map --resume {run}` reads them.",
        map.places
    );
    Page {
        title: "Map",
        verdict: vec![verdict(map)],
        unfinished: (!map.is_complete()).then_some(unfinished),
        charts: vec![chart(map)],
        sections: vec![bands(map)],
        method: vec![
            "One direct read at each of many evenly spaced places, in random order, so that a change over time is noise and \
             not a band. A small read just before each place, not counted, moves the arm of a disk there.",
            "A band has at least six places. Its figure is the median of its reads, with the 95 % interval. Steps smaller than \
             the noise are not found. On a rate-limited device single reads are either immediate or delayed, so a map means \
             nothing.",
        ],
        ..Page::default()
    }
}

fn verdict(map: &DeviceMap) -> String {
    if let Some(limit) = &map.limited {
        return format!("No result: reads are throttled ({limit}).");
    }
    let rate = |band: &Band| BytesPerSecond(band.bytes_per_s.value);
    match &map.bands[..] {
        [] => "Too few places were read to find bands.".to_owned(),
        [band] => format!("Flat: {} from the first byte to the last.", rate(band)),
        [first, .., last] => {
            let loss = map.loss.as_ref().map(change).unwrap_or_default();
            format!("{} bands: {} in the first, {} in the last{loss}.", map.bands.len(), rate(first), rate(last))
        }
    }
}

/// What the last band loses or gains.
fn change(loss: &Estimate) -> String {
    let word = if loss.value < 0.0 { "more" } else { "less" };
    let percent = |share: f64| significant(share.abs() * 100.0);
    let interval = match (loss.low, loss.high) {
        // If the ends differ in sign, so would their words.
        (Some(low), Some(high)) if low * high > 0.0 => {
            format!(" [{} to {}]", percent(low.abs().min(high.abs())), percent(low.abs().max(high.abs())))
        }
        _ => String::new(),
    };
    format!(", {} %{interval} {word}", percent(loss.value))
}

fn chart(map: &DeviceMap) -> Chart {
    let probe = |probe: &Probe| Point {
        x: probe.at_bytes.0 as f64,
        y: without_interval(Quantity::BytesPerSecond, probe.bytes_per_s.0, 1),
    };
    let probes = map.probes.iter().map(probe).collect();
    let edge = |at: u64, band: &Band| Point { x: at as f64, y: band.bytes_per_s };
    let bands = map.bands.iter().map(|band| edge(band.from_bytes.0, band));
    let bands = bands.chain(map.bands.last().map(|band| edge(band.to_bytes.0, band))).collect();
    let lines = [("a read", Stroke::Points, probes), ("the bands", Stroke::Steps, bands)];
    let line =
        |(label, stroke, points): (&str, _, Vec<Point>)| Line { label: label.to_owned(), stroke, points, fitted: None };
    Chart::new(
        "throughput".to_owned(),
        "Throughput from the first byte to the last".to_owned(),
        "one read; the steps are the medians of the bands, with their 95 % intervals.",
        (XAxis::Place, YAxis::BytesPerSecond),
        lines.map(line).into_iter().filter(|line| !line.points.is_empty()).collect(),
    )
}

fn bands(map: &DeviceMap) -> Section {
    let DeviceMap { size_bytes, read_bytes, places, .. } = map;
    let rows = map.bands.iter();
    let rows = rows.map(|band| [band.from_bytes.to_string(), band.to_bytes.to_string(), band.bytes_per_s.to_string()]);
    let of = if map.is_complete() { String::new() } else { format!("{} of ", map.probes.len()) };
    let places = counted(*places as usize, "place");
    let about = format!("One direct read of {read_bytes} at {of}{places}, {size_bytes} in all.");
    Section::new("Bands", about, Body::Table(Table::new(["from", "to", "throughput"], rows)))
}
