//! The page of `halfpower map`: throughput against place, the bands in it, and what is lost from the first to the last.

use super::{Body, Page, Section, sentence};
use crate::report::chart::{Chart, Line, Point, Stroke, Value, XAxis, YAxis};
use crate::report::table::Table;
use halfpower_model::reading::{Band, DeviceMap};

pub(super) fn page(map: &DeviceMap, run: i64) -> Page {
    Page {
        title: "Map",
        verdict: vec![sentence(&map.verdict())],
        unfinished: (!map.is_complete()).then(|| {
            let missing = map.places as usize - map.probes.len();
            format!(
                "Not finished: {missing} of {} places were not read. `halfpower map --resume {run}` reads them.",
                map.places
            )
        }),
        charts: vec![chart(map)],
        sections: vec![bands(map)],
        method: vec![
            "One direct read at each of many places, evenly spaced, in random order, so that what changes with time is \
             scatter and no band. What lies just before a place is read first and not counted: that brings an arm there.",
            "A band is a stretch of one throughput, six places at least, and its figure is the median of its reads with the \
             95 % interval. A step that is smaller than the scatter is not seen. Of a device that saves up what it is \
             allowed, under a limit say, single reads tell nothing.",
        ],
    }
}

fn chart(map: &DeviceMap) -> Chart {
    let probes = map.probes.iter();
    let probes = probes.map(|probe| Point { x: probe.at_bytes.0 as f64, y: Value::Once(probe.bytes_per_s) }).collect();
    let edge = |at: u64, band: &Band| Point { x: at as f64, y: Value::Estimate(band.bytes_per_s) };
    let bands = map.bands.iter().map(|band| edge(band.from_bytes.0, band));
    let bands = bands.chain(map.bands.last().map(|band| edge(band.to_bytes.0, band))).collect();
    let lines = [("a read", Stroke::Points, probes), ("the bands", Stroke::Steps, bands)];
    let line =
        |(label, stroke, points): (&str, _, Vec<Point>)| Line { label: label.to_owned(), stroke, points, fitted: None };
    Chart {
        id: "throughput".to_owned(),
        title: "Throughput from the first byte to the last".to_owned(),
        point: "one read; the steps are the medians of the bands, with their 95 % intervals.",
        x: XAxis::Place,
        y: YAxis::BytesPerSecond,
        lines: lines.map(line).into_iter().filter(|line| !line.points.is_empty()).collect(),
        half_of_peak: None,
    }
}

fn bands(map: &DeviceMap) -> Section {
    let rows = map
        .bands
        .iter()
        .map(|band| [band.from_bytes.to_string(), band.to_bytes.to_string(), band.bytes_per_s.to_string()]);
    Section {
        title: "Bands".to_owned(),
        about: format!(
            "{} of {} places were read, {} each, of {} in all.",
            map.probes.len(),
            map.places,
            map.read_bytes,
            map.size_bytes
        ),
        body: Body::Table(Table::new(["from", "to", "throughput"], rows)),
    }
}
