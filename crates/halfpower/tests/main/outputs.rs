//! What the program writes where the user says: looked at before anything is measured, never over what is somebody's, and
//! nothing that was measured is lost.

use crate::support::{LONGER, Lab, Mounted, Outcome, Running, TINY, names, wait_for};
use serde_json::Value;
use std::os::unix::fs::symlink;
use std::process::Stdio;

/// A laboratory with names that no report and no export may take.
fn taken() -> (Lab, [(&'static str, &'static str); 4]) {
    let lab = Lab::new();
    lab.write("thesis.html", b"my thesis");
    symlink("thesis.html", lab.path("link.html")).unwrap();
    let names = [
        ("thesis.html", "thesis.html exists"),
        ("link.html", "link.html is a symbolic link"),
        ("place", "place is not a regular file"),
        ("nowhere/report.html", "in nowhere; name a file in a directory that can be written"),
    ];
    (lab, names)
}

#[test]
fn the_place_of_a_report_is_looked_at_before_anything_is_measured() {
    let (lab, names) = taken();
    let interrupted = lab.json(["study", "run", "tiny.toml", "--target=place", "--no-report", "--json"]);
    assert_eq!(interrupted["samples"], 4);
    lab.write("halfpower-report.html", b"not ours");
    for (name, why) in names.into_iter().chain([("halfpower-report.html", "no report of Halfpower")]) {
        let report = format!("--report={name}");
        for command in ["study run tiny.toml --target=place", "run --quick place", "study resume 1", "compare 1 1"] {
            if command != "compare 1 1" {
                let refused = lab.refuses(command.split(' ').chain([&*report]), 1, why);
                assert!(refused.stderr.contains("--no-report"), "{}", refused.stderr);
            }
        }
        lab.refuses(["report", "1", &format!("--output={name}")], 1, why);
    }
    lab.refuses(["study", "run", "tiny.toml", "--target=place"], 1, "no report of Halfpower");
    assert_eq!(lab.runs().len(), 1, "nothing was begun");
    let Some(_mounted) = Mounted::tmpfs(lab.path("full"), "ro") else { return };
    lab.refuses(["run", "place", "--quick", "--report=full/r.html"], 1, "Read-only file system");
}

#[test]
fn a_comparison_s_page_is_looked_at_before_it_is_compared() {
    let (lab, names) = taken();
    for _ in 0..2 {
        lab.json(["study", "run", "tiny.toml", "--target=place", "--no-report", "--json"]);
    }
    for (name, why) in names {
        let refused = lab.refuses(["compare", "1", "2", &format!("--report={name}")], 1, why);
        assert_eq!(refused.stdout, "");
    }
}

#[test]
fn an_export_takes_no_other_file_s_place() {
    let (lab, names) = taken();
    lab.json(["study", "run", "tiny.toml", "--target=place", "--json"]);
    lab.write("empty", b"");
    // A report is no export, and an export nobody's but its owner's.
    assert_eq!(lab.run(["export", "1", "--format=csv", "--output=first.csv"]).status, Some(0));
    for (name, why) in names.into_iter().filter(|(name, _)| *name != "place").chain([
        ("halfpower-report.html", "exists"),
        ("empty", "exists"),
        ("first.csv", "exists"),
    ]) {
        lab.refuses(["export", "1", "--format=csv", &format!("--output={name}")], 1, why);
    }
    std::fs::create_dir(lab.path("folder")).unwrap();
    let export = ["export", "1", "--format=fio", "--output=folder"];
    assert_eq!(lab.run(export).status, Some(0));
    lab.refuses(export, 1, "exists, and nothing is written over");
}

/// A run under way whose report can not be written any more when it is over; and how it ended.
fn report_without_a_place(lab: &Lab, more: &[&str]) -> Outcome {
    std::fs::create_dir(lab.path("reports")).unwrap();
    let command = ["study", "run", "longer.toml", "--target=place", "--report=reports/r.html"];
    let running = lab.start([&command[..], more].concat());
    wait_for("the test file", || !names(&lab.place()).is_empty());
    std::fs::remove_dir(lab.path("reports")).unwrap();
    let outcome = running.wait();
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    outcome
}

/// The command between the last backticks of what was said, without the program's name.
fn remedy(said: &str) -> Vec<String> {
    let command = said.rsplit('`').nth(1).unwrap_or_else(|| panic!("no command in {said}"));
    command.split(' ').skip(1).map(|word| word.trim_matches('\'').to_owned()).collect()
}

#[test]
fn a_report_that_cannot_be_written_in_the_end_is_written_by_the_command_that_is_named() {
    let lab = Lab::new();
    assert!(LONGER.contains("min = 5"));
    // Kept where it was to be kept; in another store; and in the usual one where it was to be kept in none.
    let other = format!("--store={}", lab.path("other.db").display());
    let other = other.as_str();
    let cases: [(&[&str], &[&str]); 3] = [(&[], &[]), (&[other], &[other]), (&["--no-store"], &[])];
    for (more, store) in cases {
        let said = report_without_a_place(&lab, more).stderr;
        let mut command = remedy(&said);
        assert_eq!(command[0], "report", "{said}");
        let output = command.iter().position(|word| word == "FILE").unwrap();
        command[output] = "elsewhere.html".to_owned();
        let written = lab.run(&command);
        assert_eq!(written.status, Some(0), "{command:?}: {}", written.stderr);
        std::fs::remove_file(lab.path("elsewhere.html")).unwrap();
        let shown = lab.json([&["runs", "show", &command[1], "--json"], store].concat());
        assert_eq!((&shown["samples"], &shown["status"]), (&Value::from(30), &Value::from("complete")), "{said}");
    }
    assert_eq!(lab.runs().len(), 2);
}

/// Runs a command whose standard output takes nothing.
fn into_nothing(lab: &Lab, arguments: &[&str]) -> Outcome {
    let mut command = lab.command(arguments);
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    command.stdout(full).stderr(Stdio::piped());
    Running::of(command.spawn().unwrap()).wait()
}

#[test]
fn a_result_that_cannot_be_printed_is_in_the_store() {
    let lab = Lab::new();
    lab.data_file("data", 1024);
    let commands = ["io data --requests=9", "study run tiny.toml --target=place --no-report", "inspect data"];
    for (number, command) in commands.into_iter().enumerate() {
        for (place, more) in [&[][..], &["--no-store"], &["--no-store", "--json"]].into_iter().enumerate() {
            let arguments: Vec<&str> = command.split(' ').chain(more.iter().copied()).collect();
            let outcome = into_nothing(&lab, &arguments);
            assert_eq!(outcome.status, Some(1), "{arguments:?}: {}", outcome.stderr);
            assert!(outcome.stderr.contains("could not be printed"), "{arguments:?}: {}", outcome.stderr);
            let runs = lab.runs();
            assert_eq!(runs.len(), number * 3 + place + 1, "{arguments:?} is lost: {}", outcome.stderr);
            assert_eq!(runs.last().unwrap().1, "complete");
            let shown = lab.run(remedy(&outcome.stderr));
            assert!(shown.status == Some(0) && !shown.stdout.is_empty(), "{arguments:?}: {}", shown.stderr);
        }
    }
}

#[test]
fn a_sample_that_the_store_does_not_take_is_printed() {
    let lab = Lab::new();
    lab.data_file("data", 1024);
    lab.json(["io", "data", "--requests=9", "--json"]);
    let store = rusqlite::Connection::open(lab.store()).unwrap();
    store
        .execute_batch("CREATE TRIGGER full BEFORE INSERT ON samples BEGIN INSERT INTO nowhere VALUES (1); END")
        .unwrap();
    let document = |outcome: &Outcome| serde_json::from_str::<Value>(&outcome.stdout).unwrap();
    for command in ["io data --requests=9 --json", "study run tiny.toml --target=place --no-report --json"] {
        let outcome = lab.run(command.split(' '));
        assert_eq!(outcome.status, Some(1), "{command}: {}", outcome.stderr);
        assert!(outcome.stderr.contains("no such table"), "{command}: {}", outcome.stderr);
        assert_eq!(document(&outcome)["schema"], "halfpower.sample/1", "{command}");
    }
    let text = lab.run(["io", "data", "--requests=9"]);
    assert!(text.status == Some(1) && text.stdout.contains("throughput"), "{}", text.stdout);
    assert!(TINY.contains("4KiB") && names(&lab.place()).is_empty());
}
