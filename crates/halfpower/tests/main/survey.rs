//! A study from its file to its report, and the sentence each command says on the way.

use crate::support::{Lab, names};

const SWEEP: &str = r#"
name = "ends"
question = "Where is the half-power point?"
[trial]
repetitions = { min = 3, max = 3 }
[[sweep]]
name = "sizes"
operation = "read"
request_size = ["512B", "4KiB", "64KiB", "512KiB"]
requests = 40
"#;

#[test]
fn a_study_ends_with_a_summary_and_a_report() {
    let lab = Lab::new();
    lab.write("sweep.toml", SWEEP.as_bytes());
    let study = ["study", "run", "sweep.toml", "--target", "place", "--size=8MiB", "--report=out.html"];
    let outcome = lab.run(study);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    for part in ["Peak", "half-power size", "4 workloads, 3 repetitions each, 12 samples, none failed"] {
        assert!(outcome.stdout.contains(part), "{part}: {}", outcome.stdout);
    }
    assert!(outcome.stderr.contains("It makes a test file of 8 MiB"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("Report: out.html"), "{}", outcome.stderr);
    assert_eq!(names(&lab.place()), [""; 0]);

    let report = std::fs::read_to_string(lab.path("out.html")).unwrap();
    assert!(report.len() < 2_000_000 && report.contains("<svg") && report.contains("Where is the half-power point?"));
    for remote in ["src=\"http", "href=\"http", "src=\"//", "url(http", "@import", "<link", "<script src"] {
        assert!(!report.contains(remote), "the report fetches something: {remote}");
    }
    assert_eq!(lab.run(["report", "1", "--output=again.html"]).status, Some(0));
    assert_eq!(std::fs::read_to_string(lab.path("again.html")).unwrap(), report, "made again, it is the same");
    assert_eq!(lab.run(["runs", "show", "1"]).stdout, outcome.stdout);
}

#[test]
fn a_dry_run_changes_nothing() {
    let lab = Lab::new();
    let outcome = lab.run(["run", "place", "--dry-run", "--quick", "--size=64MiB"]);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("It makes a test file of 64 MiB"), "{}", outcome.stderr);
    assert!(names(&lab.place()).is_empty() && !lab.store().exists());
}

#[test]
fn without_a_store_nothing_is_kept() {
    let lab = Lab::new();
    let study = ["study", "run", "tiny.toml", "--target", "place", "--size=1MiB", "--no-store", "--no-report"];
    assert_eq!(lab.run(study).status, Some(0));
    assert!(names(&lab.place()).is_empty() && !lab.store().exists());
}

#[test]
fn any_spelling_of_a_path_will_do() {
    let lab = Lab::new();
    for name in ["a b", "it's", "\"q\"", "$HOME", "-lead", "new\nline", "größe"] {
        std::fs::create_dir(lab.path(name)).unwrap();
        let target = format!("--target=./place/../{name}");
        let outcome = lab.run(["study", "run", "tiny.toml", &target, "--size=256KiB", "--report=r.html"]);
        assert_eq!(outcome.status, Some(0), "{name:?}: {}", outcome.stderr);
        assert_eq!(names(&lab.path(name)), [""; 0], "{name:?}");
    }
    lab.data_file("-file", 256);
    assert_eq!(lab.run(["io", "--requests=10", "--", "-file"]).status, Some(0));
}

#[test]
fn many_workers_end_as_quickly_as_few() {
    let lab = Lab::new();
    lab.data_file("data", 4096);
    let start = std::time::Instant::now();
    let outcome =
        lab.run(["io", "data", "--workers=1000", "--request-size=4KiB", "--requests=2000", "--personality=sync"]);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}
