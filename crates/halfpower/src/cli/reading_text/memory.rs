//! A reading of `halfpower memory` for people: memory first, then the caches, then the studies' tests.

use halfpower_model::BytesPerSecond;
use halfpower_model::reading::{Kernel, MemorySpeed, Rounds, StudyTest};
use halfpower_model::units::significant;
use std::fmt::Write;

/// Where there is no figure.
const NONE: &str = "–";

pub(super) fn memory(text: &mut String, speed: &MemorySpeed) {
    for sentence in speed.verdict() {
        let _ = writeln!(text, "{sentence}");
    }
    let _ = writeln!(text, "  {:<22} {}", "vectors", speed.vectors);
    let caches: Vec<String> =
        speed.caches.iter().map(|cache| format!("L{} {}", cache.level, cache.size_bytes)).collect();
    if !caches.is_empty() {
        let _ = writeln!(text, "  {:<22} {}", "caches", caches.join(", "));
    }
    if let Some(share) = speed.huge_page_share {
        let _ = writeln!(text, "  {:<22} {} % of the buffers", "huge pages", significant(share * 100.0));
    }
    for threads in speed.thread_counts() {
        bandwidth(text, speed, threads);
    }
    studies(text, speed);
}

/// One table: a row a working set, a column a kernel.
fn bandwidth(text: &mut String, speed: &MemorySpeed, threads: u32) {
    let plural = if threads == 1 { "" } else { "s" };
    let alone = threads == 1;
    let _ = write!(text, "\n  {:>15}", format!("{threads} thread{plural}, GB/s"));
    for kernel in Kernel::ALL {
        let _ = write!(text, " {kernel:>10}");
    }
    let _ = writeln!(text, "{}", if alone { format!(" {:>10}", "load, ns") } else { String::new() });
    for size in speed.sizes(threads) {
        let _ = write!(text, "  {:>15}", size.to_string());
        for kernel in Kernel::ALL {
            let rate = speed.bandwidth(kernel, threads, size);
            let rate = rate.map_or_else(|| NONE.to_owned(), gigabytes);
            let _ = write!(text, " {rate:>10}");
        }
        let latency = speed.latency.iter().find(|latency| alone && latency.size_bytes == size);
        let latency = latency.map(|latency| format!(" {:>10}", significant(latency.latency_ns.median)));
        let _ = writeln!(text, "{}", latency.unwrap_or_default());
    }
}

fn gigabytes(rounds: &Rounds) -> String {
    significant(rounds.median / 1e9)
}

fn studies(text: &mut String, speed: &MemorySpeed) {
    let Some(size) = speed.studies.first().map(|study| study.size_bytes) else { return };
    let _ = writeln!(text, "\n  As in the studies, {size}, less a null test");
    let all = speed.studies.iter().map(|study| study.threads).max().unwrap_or(1);
    let _ = writeln!(text, "  {:<20} {:>12} {:>12}", "", "1 thread", format!("{all} threads"));
    for test in
        [StudyTest::DoubleRead, StudyTest::DoubleWrite, StudyTest::FileRead, StudyTest::FileWrite, StudyTest::Memcpy]
    {
        // On one processor the second half of the tests is the first half again.
        let mut of = speed.studies.iter().filter(|study| study.test == test);
        let mut rate =
            || of.next().map_or_else(|| NONE.to_owned(), |study| BytesPerSecond(study.bytes_per_s.median).to_string());
        let _ = writeln!(text, "  {test:<20} {:>12} {:>12}", rate(), rate());
    }
}
