//! The page of a reading with fixed figures.

use super::super::tests::markup;
use super::*;
use halfpower_model::reading::{
    Bandwidth, Cache, Kernel, LoadLatency, MemorySpeed, Rounds, Scrubbed, StudySpeed, StudyTest, Vectors,
};
use halfpower_model::{Bytes, Environment, TargetFacts, TargetKind};

fn rounds(middle: f64) -> Rounds {
    Rounds::new([0.97, 0.98, 0.985, 0.99, 1.0, 1.01, 1.02, 1.03, 1.04].map(|part| part * middle).to_vec())
}

/// Two threads, three working sets; the deeper, the slower.
fn speed() -> MemorySpeed {
    let sizes = [16 << 10, 1 << 20, 256 << 20].map(Bytes);
    let cells = [1, 2].into_iter().flat_map(|threads| sizes.map(|size| (threads, size)));
    let bandwidth = cells.flat_map(|(threads, size_bytes)| {
        let rate = 200e9 * f64::from(threads) / (size_bytes.kib() / 16.0).powf(0.25);
        Kernel::ALL.into_iter().enumerate().map(move |(index, kernel)| Bandwidth {
            kernel,
            threads,
            size_bytes,
            bytes_per_s: rounds(rate / (1.0 + index as f64 / 4.0)),
        })
    });
    let study = |test, threads, rate| StudySpeed {
        test,
        threads,
        size_bytes: Bytes(10 << 20),
        null_ns: 33_600.0,
        bytes_per_s: rounds(rate),
    };
    MemorySpeed {
        vectors: Vectors::Avx2,
        caches: vec![
            Cache { level: 1, size_bytes: Bytes(32 << 10), shared_by: 1 },
            Cache { level: 3, size_bytes: Bytes(32 << 20), shared_by: 2 },
        ],
        huge_page_share: Some(1.0),
        processors: vec![0, 1],
        studies: vec![study(StudyTest::DoubleRead, 1, 40e9), study(StudyTest::Memcpy, 2, 24e9)],
        bandwidth: bandwidth.collect(),
        latency: sizes
            .map(|size_bytes| LoadLatency { size_bytes, latency_ns: rounds(size_bytes.kib().sqrt() / 4.0) })
            .to_vec(),
    }
}

fn reading(figures: Figures) -> Reading {
    let target = TargetFacts::bare("null:", TargetKind::Null, Bytes(0));
    let environment =
        Environment { host: "<b>host</b>".to_owned(), ..halfpower_engine::environment(target, Vec::new()) };
    let mut reading = Reading::new(figures, environment, jiff::Timestamp::UNIX_EPOCH);
    reading.note = Some("<script>alert(1)</script>".to_owned());
    reading
}

fn page_of(figures: Figures) -> Option<String> {
    let reading = reading(figures);
    reading_html(&ReadingInput { run: 7, target: "", command: "halfpower memory", reading: &reading }).unwrap()
}

#[test]
fn a_page_is_well_formed_and_what_records_say_stays_text() {
    let page = page_of(Figures::Memory(speed())).unwrap();
    markup::check_nesting(&page);
    markup::check_ids(&page);
    assert!(!page.contains("<script") && !page.contains("<b>"), "{page}");
    assert!(page.contains("&lt;script&gt;"));
    assert!(
        page.contains("<meta name=\"generator\" content=\"halfpower "),
        "without it no later page could replace it"
    );
}

#[test]
fn memory_has_a_chart_for_each_number_of_threads_with_a_line_a_kernel() {
    let page = page_of(Figures::Memory(speed())).unwrap();
    let charts: Vec<&str> = markup::elements(&page, "svg").filter(|svg| svg.contains("class=\"chart\"")).collect();
    assert_eq!(charts.len(), 3);
    for (index, chart) in charts[..2].iter().enumerate() {
        assert!(chart.contains(&format!("Bandwidth on {} thread", index + 1)));
        let drawn = (0..6).filter(|line| chart.contains(&format!("var(--line-{line})"))).count();
        assert_eq!(drawn, 6, "one colour a kernel");
    }
    // The figures as a table, the verdict of the largest working set, and the studies' tests with what was taken off.
    for text in [
        "<td>200 GB&#x2f;s ± 2.5 %</td>",
        "1 thread, 256 MiB: read 17.7 GB&#x2f;s",
        "<th scope=\"row\">double read</th><td>1</td><td>40 GB&#x2f;s ± 2.5 %</td><td>33.6 µs</td>",
        "32 MiB for 2 processors",
    ] {
        assert!(page.contains(text), "{text}\n{page}");
    }
    assert!(!page.contains("null:"), "memory has no target");
}

#[test]
fn an_instrument_without_a_page_has_none() {
    assert_eq!(page_of(Figures::Scrub(Scrubbed::default())), None);
}
