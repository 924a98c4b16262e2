//! Ctrl-C while nothing is measured: every command ends at once, with its status, and leaves nothing half made.

use crate::support::{Lab, Running, names, wait_for};
use rustix::process::Signal;
use std::process::Stdio;

/// Runs of so many samples that a look at all of them takes a while.
const SAMPLES: u32 = 5_000;

/// Whether a process handles SIGINT by now.
pub(crate) fn handles_interrupts(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap_or_default();
    u64::from_str_radix(caught.trim(), 16).is_ok_and(|mask| mask & (1 << (Signal::INT.as_raw() - 1)) != 0)
}

fn interrupted(mut running: Running, what: &str) {
    let pid = running.pid();
    wait_for("the handlers", || running.has_ended() || handles_interrupts(pid));
    assert!(!running.has_ended(), "{what} is over before it can be interrupted");
    running.signal(Signal::INT);
    let outcome = running.wait();
    assert_eq!(outcome.status, Some(130), "{what}: {}", outcome.stderr);
    assert!(outcome.stderr.contains("Stopped at once."), "{what}: {}", outcome.stderr);
}

/// Two runs with many samples of one workload.
fn many_samples() -> Lab {
    let lab = Lab::new();
    for _ in 0..2 {
        assert_eq!(lab.run(["io", "null:", "--requests=10", "--warmup=0s"]).status, Some(0));
    }
    let copies = format!(
        "WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < {SAMPLES})
         INSERT INTO samples (run_id, cell, block, started_at, record)
         SELECT run_id, cell, n, started_at, record FROM samples, number"
    );
    rusqlite::Connection::open(lab.store()).unwrap().execute_batch(&copies).unwrap();
    lab
}

#[test]
fn what_only_reads_ends_at_once() {
    let lab = many_samples();
    let before = names(&lab.path("."));
    for arguments in [
        &["report", "1", "--output", "r.html"][..],
        &["compare", "1", "2"],
        &["runs", "show", "1"],
        &["export", "1", "--output", "r.jsonl"],
        &["sim", "validate"],
    ] {
        interrupted(lab.start(arguments), &arguments.join(" "));
        assert_eq!(names(&lab.path(".")), before, "{arguments:?} left something");
    }
}

#[test]
fn what_waits_for_a_reader_or_a_writer_ends_at_once() {
    let lab = many_samples();
    // Nobody reads what is printed.
    let mut export = lab.command(["export", "1"]);
    interrupted(Running::of(export.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()), "export");
    // Nobody writes what is read.
    let mut import = lab.command(["import", "/dev/stdin"]);
    let import = import.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    interrupted(Running::of(import.spawn().unwrap()), "import");
}

#[test]
fn what_waits_for_the_store_ends_at_once() {
    let lab = Lab::new();
    assert_eq!(lab.run(["io", "null:", "--requests=10", "--warmup=0s"]).status, Some(0));
    assert_eq!(lab.run(["export", "1", "--output", "r.jsonl"]).status, Some(0));
    let other = rusqlite::Connection::open(lab.store()).unwrap();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    // A workload waits before its run has begun, and there is nothing to keep yet.
    for arguments in [["import", "r.jsonl"].as_slice(), &["runs", "rm", "1"], &["io", "null:", "--requests=10"]] {
        interrupted(lab.start(arguments), &arguments.join(" "));
    }
    drop(other);
    assert_eq!(lab.runs(), [(1, "complete".to_owned())]);
}

#[test]
fn where_json_is_asked_for_the_end_is_a_document() {
    let lab = many_samples();
    let mut report = lab.command(["report", "1", "--output", "r.html", "--json"]);
    let mut running = Running::of(report.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    let pid = running.pid();
    wait_for("the handlers", || running.has_ended() || handles_interrupts(pid));
    running.signal(Signal::INT);
    let outcome = running.wait();
    let document: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!((outcome.status, &document["status"]), (Some(130), &130.into()), "{document}");
}
