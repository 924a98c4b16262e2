//! What `halfpower memory` shows: bandwidth and load latency by working set, and the tests of the studies.

use crate::instrument::page::{Body, Page, Section};
use crate::report::chart::{Chart, Line, Point, Stroke, XAxis, YAxis};
use crate::report::table::Table;
use crate::text::{counted, percent};
use halfpower_model::reading::{Kernel, MemorySpeed, Rounds};
use halfpower_model::units::significant;
use halfpower_model::{BytesPerSecond, Quantity};

pub(crate) fn page(speed: &MemorySpeed) -> Page {
    let bandwidth = speed.thread_counts().into_iter().map(|threads| bandwidth(speed, threads));
    Page {
        title: "Memory",
        verdict: verdict(speed),
        charts: bandwidth.chain([latency(speed)]).filter(|chart| !chart.lines.is_empty()).collect(),
        sections: [cpu(speed)].into_iter().chain(studies(speed)).collect(),
        method: vec![
            "Each thread is pinned to a CPU and has its own working set. All threads start together, and a round lasts until \
             the last thread ends. Rounds of different kernels alternate. A figure is the median of its rounds. The working \
             set of a copy is its source and destination, and each byte counts once.",
            "NT: non-temporal stores, which bypass the caches. A plain store that misses all caches makes most CPUs read the \
             line first; that traffic is not counted. After its first round each kernel is checked to have moved every byte.",
        ],
        ..Page::default()
    }
}

/// Of the largest working sets: the best kernel of each kind, for each number of threads, then the latency.
fn verdict(speed: &MemorySpeed) -> Vec<String> {
    let bandwidth = speed.thread_counts().into_iter().filter_map(|threads| {
        let size = *speed.sizes(threads).last()?;
        let best = |kernels: &[Kernel]| {
            let rate = |kernel: &Kernel| Some((speed.bandwidth(*kernel, threads, size)?.median, *kernel));
            let best = kernels.iter().filter_map(rate).max_by(|one, other| one.0.total_cmp(&other.0));
            best.map_or("not measured".to_owned(), |(rate, kernel)| {
                format!("{}{}", BytesPerSecond(rate), if is_non_temporal(kernel) { " (NT)" } else { "" })
            })
        };
        let read = best(&[Kernel::Read]);
        let write = best(&[Kernel::Write, Kernel::WriteNonTemporal]);
        let copy = best(&[Kernel::Copy, Kernel::CopyNonTemporal, Kernel::Memcpy]);
        let threads = counted(threads as usize, "thread");
        Some(format!("{threads}, {size} each: read {read}, write {write}, copy {copy}."))
    });
    let latency = speed.latency.last();
    let latency =
        latency.map(|it| format!("Load latency, {}: {} ns.", it.size_bytes, significant(it.latency_ns.median)));
    bandwidth.chain(latency).collect()
}

fn is_non_temporal(kernel: Kernel) -> bool {
    matches!(kernel, Kernel::WriteNonTemporal | Kernel::CopyNonTemporal)
}

fn chart(id: String, title: String, point: &'static str, y: YAxis, lines: Vec<Line>) -> Chart {
    let lines = lines.into_iter().filter(|line| !line.points.is_empty()).collect();
    Chart::new(id, title, point, (XAxis::WorkingSet, y), lines)
}

fn point(x: f64, rounds: &Rounds, quantity: Quantity) -> Point {
    Point { x, y: rounds.estimate(quantity) }
}

fn bandwidth(speed: &MemorySpeed, threads: u32) -> Chart {
    let line = |kernel: Kernel| {
        let cells = speed.bandwidth.iter().filter(|cell| (cell.kernel, cell.threads) == (kernel, threads));
        let points = cells.map(|cell| point(cell.size_bytes.0 as f64, &cell.bytes_per_s, Quantity::BytesPerSecond));
        let stroke = if is_non_temporal(kernel) { Stroke::Dashed } else { Stroke::Solid };
        Line { label: kernel.to_string(), stroke, points: points.collect(), fitted: None }
    };
    let title = format!("Bandwidth on {}", counted(threads as usize, "thread"));
    let of = "the median bandwidth of a kernel, all threads together,";
    chart(format!("bandwidth-{threads}"), title, of, YAxis::Bandwidth, Kernel::ALL.into_iter().map(line).collect())
}

fn latency(speed: &MemorySpeed) -> Chart {
    let points = speed.latency.iter();
    let points = points.map(|it| point(it.size_bytes.0 as f64, &it.latency_ns, Quantity::Nanoseconds)).collect();
    let line = Line { label: "random order, 1 thread".to_owned(), stroke: Stroke::Solid, points, fitted: None };
    let title = "Latency of dependent loads".to_owned();
    chart("load-latency".to_owned(), title, "the median latency of a load", YAxis::Latency, vec![line])
}

fn cpu(speed: &MemorySpeed) -> Section {
    let caches = speed.caches.iter().map(|cache| {
        let shared = counted(cache.shared_by as usize, "CPU");
        [format!("L{} cache", cache.level), format!("{} for {shared}", cache.size_bytes)]
    });
    let huge = speed.huge_page_share.map(|share| format!("{} of the buffers", percent(share)));
    let rows = [["widest vectors".to_owned(), speed.vectors.to_string()]].into_iter().chain(caches);
    let rows = rows.chain(huge.map(|huge| ["huge pages".to_owned(), huge]));
    let table = Table { head: Vec::new(), rows: rows.map(Vec::from).collect() };
    let about = "As the kernel reports it. A virtual machine may share these caches with others.";
    Section::new("CPU", about, Body::Facts(table))
}

fn studies(speed: &MemorySpeed) -> Option<Section> {
    let size = speed.studies.first()?.size_bytes;
    let rows = speed.studies.iter().map(|study| {
        [
            study.test.to_string(),
            study.threads.to_string(),
            study.bytes_per_s.estimate(Quantity::BytesPerSecond).to_string(),
            Quantity::Nanoseconds.format(study.null_ns),
        ]
    });
    let about = format!("Each thread reads, writes or copies {size}; the time of a null test is subtracted.");
    let table = Table::new(["test", "threads", "throughput", "null test"], rows);
    Some(Section::new("The tests of the studies", about, Body::Table(table)))
}
