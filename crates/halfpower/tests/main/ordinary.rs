//! An ordinary user: every instrument works, and features that need root are reported as unavailable.
//!
//! Run by root, these tests become nobody; otherwise they stay the user.

use crate::support::{Lab, Outcome, Words, assert_refusal, is_root, is_too_busy, names, outcome};
use serde_json::Value;

/// A laboratory whose place, store and files `own` and `other` are an ordinary user's; all but `theirs`, which is root's
/// where there is root. None where nobody cannot run the program; prints the reason.
fn laboratory() -> Option<Lab> {
    let lab = Lab::new();
    lab.directory("home");
    for name in ["place/own", "place/other", "theirs"] {
        lab.data_file(name, 8192);
    }
    for name in ["home", "place", "place/own", "place/other"] {
        lab.give_away(name);
    }
    lab.as_nobody("--version")?;
    Some(lab)
}

fn run(lab: &Lab, words: impl Words) -> Outcome {
    outcome(lab.as_nobody(words).unwrap())
}

/// Runs it, which must succeed, and gives what it printed.
fn works(lab: &Lab, words: &str) -> String {
    run(lab, words).ended(0, "").stdout
}

fn json(lab: &Lab, words: &str) -> Value {
    serde_json::from_str(&works(lab, &format!("{words} --json"))).unwrap()
}

#[test]
fn every_instrument_works_is_kept_and_has_its_page() {
    let Some(lab) = laboratory() else { return };
    let instruments = [
        ("Idle", "idle 1"),
        ("Memory", "memory --quick --threads=1 --sizes=16KiB"),
        ("Inspect", "inspect place/own place"),
        ("Files", "files place --files=20 --repetitions=2"),
        ("Drop cache", "drop-cache place/own"),
        ("Map", "map place/own --places=16 --read-size=64KiB"),
        ("Link", "link place/own place/other --duration=50ms --repetitions=2 --request-size=64KiB"),
    ];
    let (measured, _) = instruments.split_at(if lab.has_direct_ring() { 7 } else { 4 });
    for (number, (title, words)) in measured.iter().enumerate() {
        let outcome = run(&lab, words);
        if is_too_busy(&outcome) {
            return;
        }
        outcome.ended(0, "");
        works(&lab, &format!("report {} --output=place/{number}.html", number + 1));
        let page = lab.read(format!("place/{number}.html"));
        assert!(page.contains(&format!("<h1>{title}</h1>")), "{page}");
    }
}

#[test]
fn what_needs_root_is_said_and_the_rest_is_measured() {
    let Some(lab) = laboratory() else { return };
    let phases = "io place/own --requests=50 --block-phases";
    let text = works(&lab, phases);
    assert!(text.contains("unavailable block_phases: needs root") && text.contains("throughput "), "{text}");
    let sample = json(&lab, phases);
    assert_eq!(sample["instrument"]["refused"], serde_json::json!(["block_phases: needs root"]));
    assert!(sample["failure"].is_null() && sample["total"]["requests"] == 50, "{}", sample["total"]);
    let memory = &json(&lab, "inspect place --no-store")["figures"]["machine"]["memory"];
    assert!(memory["pap_bytes_per_s"].is_null() && memory["source"].as_str().unwrap().contains(" "), "{memory}");
    let refused = run(&lab, "drop-cache place/own --drop-caches");
    assert_refusal(&refused, 1, "--drop-caches needs root; run as root", "a feature for root");
    let soaked = run(&lab, "io place/own --cpu-accounting=soaker --duration=300ms --json");
    if is_too_busy(&soaked) {
        return;
    }
    let cpu = &soaked.document()["cpu"];
    assert!(cpu["upper_s"].as_f64().unwrap() > 0.0, "{cpu}");
    assert_ne!(cpu["counters_unavailable"].is_string(), cpu["clocks_per_byte"].is_f64(), "a figure or a reason: {cpu}");
}

#[test]
fn whether_a_file_of_somebody_else_is_cold_is_unknown() {
    let Some(lab) = laboratory() else { return };
    if !is_root() {
        return;
    }
    // An unknown state is not cold.
    let dropped = run(&lab, "drop-cache theirs").ended(1, "");
    assert!(dropped.stdout.contains("unknown: mincore needs write access to the file"), "{}", dropped.stdout);
    works(&lab, "report 1 --output=place/page.html");
    assert!(lab.read("place/page.html").contains("Cold or not is unknown"));
}

#[test]
fn a_directory_of_ones_own_is_surveyed() {
    let Some(lab) = laboratory() else { return };
    works(&lab, "run place --quick --size=16MiB --dry-run");
    let before = names(&lab.place());
    works(&lab, "study run tiny.toml --target=place --size=1MiB --report=place/out.html");
    assert!(lab.read("place/out.html").contains("· run 1 ·"));
    std::fs::remove_file(lab.path("place/out.html")).unwrap();
    assert_eq!(names(&lab.place()), before, "the test file is removed");
}
