//! The page of `halfpower memory`: bandwidth against working set with a line a kernel, load latency, the studies' tests.

use super::{Body, Page, Section, sentence};
use crate::report::chart::{Chart, Line, Point, Stroke, Value, XAxis, YAxis};
use crate::report::table::Table;
use halfpower_model::Quantity;
use halfpower_model::reading::{Kernel, MemorySpeed, Rounds};
use halfpower_model::units::significant;

pub(super) fn page(speed: &MemorySpeed) -> Page {
    let bandwidth = speed.thread_counts().into_iter().map(|threads| bandwidth(speed, threads));
    Page {
        title: "Memory",
        verdict: speed.verdict().iter().map(|words| sentence(words)).collect(),
        unfinished: None,
        charts: bandwidth.chain([latency(speed)]).collect(),
        sections: vec![facts(speed), studies(speed)],
        method: vec![
            "Each thread is pinned to a processor and has a working set of its own; all start together, and a round lasts \
             until the last one has ended. Kernels of one working set take turns. A figure is the median of its rounds; of \
             a copy, source and destination are the working set, and each byte counts once.",
            "“Past” is with stores that pass the caches by. A plain store into memory that no cache holds makes most \
             processors read it first; that traffic is not counted. After its first round each kernel is checked to have \
             moved every byte.",
        ],
    }
}

fn point(x: f64, rounds: &Rounds, quantity: Quantity) -> Point {
    Point { x, y: Value::Estimate(rounds.estimate(quantity)) }
}

fn bandwidth(speed: &MemorySpeed, threads: u32) -> Chart {
    let line = |kernel: Kernel| {
        let cells = speed.bandwidth.iter().filter(|cell| (cell.kernel, cell.threads) == (kernel, threads));
        let stroke = match kernel {
            Kernel::WriteNonTemporal | Kernel::CopyNonTemporal => Stroke::Dashed,
            Kernel::Read | Kernel::Write | Kernel::Copy | Kernel::Memcpy => Stroke::Solid,
        };
        let points = cells.map(|cell| point(cell.size_bytes.0 as f64, &cell.bytes_per_s, Quantity::BytesPerSecond));
        Line { label: kernel.to_string(), stroke, points: points.collect(), fitted: None }
    };
    let lines = Kernel::ALL.into_iter().map(line).filter(|line| !line.points.is_empty()).collect();
    Chart {
        id: format!("bandwidth-{threads}"),
        title: format!("Bandwidth on {threads} thread{}", if threads == 1 { "" } else { "s" }),
        point: "the median bandwidth of a kernel, all threads together,",
        x: XAxis::WorkingSet,
        y: YAxis::Bandwidth,
        lines,
        half_of_peak: None,
    }
}

fn latency(speed: &MemorySpeed) -> Chart {
    let points = speed.latency.iter();
    let points = points.map(|it| point(it.size_bytes.0 as f64, &it.latency_ns, Quantity::Nanoseconds)).collect();
    Chart {
        id: "load-latency".to_owned(),
        title: "Latency of a load that waits for the one before".to_owned(),
        point: "the median time of a load",
        x: XAxis::WorkingSet,
        y: YAxis::Latency,
        lines: vec![Line { label: "random order, 1 thread".to_owned(), stroke: Stroke::Solid, points, fitted: None }],
        half_of_peak: None,
    }
}

fn facts(speed: &MemorySpeed) -> Section {
    let caches = speed.caches.iter().map(|cache| {
        let shared =
            if cache.shared_by == 1 { "one processor".to_owned() } else { format!("{} processors", cache.shared_by) };
        [format!("L{} cache", cache.level), format!("{} for {shared}", cache.size_bytes)]
    });
    let huge = speed.huge_page_share.map(|share| format!("{} % of the buffers", significant(share * 100.0)));
    let rows = [["widest vectors".to_owned(), speed.vectors.to_string()]].into_iter().chain(caches);
    let rows = rows.chain(huge.map(|huge| ["huge pages".to_owned(), huge]));
    Section {
        title: "Processor".to_owned(),
        about:
            "As the kernel and the processor tell. A virtual machine may be told of caches that it shares with others."
                .to_owned(),
        body: Body::Table(Table::new(["what", "here"], rows)),
    }
}

fn studies(speed: &MemorySpeed) -> Section {
    let rows = speed.studies.iter().map(|study| {
        [
            study.test.to_string(),
            study.threads.to_string(),
            study.bytes_per_s.estimate(Quantity::BytesPerSecond).to_string(),
            Quantity::Nanoseconds.format(study.null_ns),
        ]
    });
    let size = speed.studies.first().map(|study| study.size_bytes.to_string()).unwrap_or_default();
    Section {
        title: "The studies’ tests".to_owned(),
        about: format!(
            "Each thread reads, writes or copies {size}; what the same instructions take without reading or writing (null) \
             is taken off. Today {size} lie in a cache more often than not."
        ),
        body: Body::Table(Table::new(["test", "threads", "speed", "null"], rows)),
    }
}
