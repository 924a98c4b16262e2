//! Ctrl-C outside a measurement: every command ends at once with its status, and leaves nothing unfinished.

use crate::support::{Lab, Outcome, Running, names, wait_for};
use rustix::process::Signal;
use std::process::Stdio;

/// Whether a process handles SIGINT by now.
pub(crate) fn handles_interrupts(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap_or_default();
    u64::from_str_radix(caught.trim(), 16).is_ok_and(|mask| mask & (1 << (Signal::INT.as_raw() - 1)) != 0)
}

fn interrupted(mut running: Running, what: &str) -> Outcome {
    let pid = running.pid();
    wait_for("the handlers", || running.has_ended() || handles_interrupts(pid));
    assert!(!running.has_ended(), "{what} is over before it can be interrupted");
    running.end(Signal::INT).ended(130, "Stopped at once.")
}

#[test]
fn what_reads_or_waits_ends_at_once() {
    let lab = Lab::new();
    // Two runs with enough samples that reading all of them takes a while.
    for _ in 0..2 {
        lab.ok("io null: --requests=10 --warmup=0s");
    }
    lab.change_store(
        "WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 5000)
         INSERT INTO samples (run_id, cell, block, started_at, record)
         SELECT run_id, cell, n, started_at, record FROM samples, number",
    );
    let before = names(&lab.path("."));
    for words in ["report 1 --output r.html", "compare 1 2", "runs show 1", "export 1 --output r.jsonl", "sim validate"]
    {
        interrupted(lab.start(words), words);
        assert_eq!(names(&lab.path(".")), before, "{words} left something");
    }
    // Output without a reader, and input without a writer.
    interrupted(Running::of(lab.command("export 1").stdout(Stdio::piped())), "export");
    let mut import = lab.command("import /dev/stdin");
    interrupted(Running::of(import.stdin(Stdio::piped()).stdout(Stdio::null())), "import");
    // With --json the end is a document.
    let mut report = lab.command("report 1 --output r.html --json");
    let outcome = interrupted(Running::of(report.stdout(Stdio::piped())), "report");
    assert_eq!(outcome.document()["status"], 130);
}

#[test]
fn what_waits_for_the_store_ends_at_once() {
    let lab = Lab::new();
    lab.ok("io null: --requests=10 --warmup=0s");
    lab.ok("export 1 --output r.jsonl");
    let other = rusqlite::Connection::open(lab.store()).unwrap();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    // A workload waits before its run has begun, and there is nothing to keep yet.
    for words in ["import r.jsonl", "runs rm 1", "io null: --requests=10"] {
        interrupted(lab.start(words), words);
    }
    drop(other);
    assert_eq!(lab.runs(), [(1, "complete".to_owned())]);
}
