//! Plug-ins: used where they are named on the command line, never because a study names them.

#[path = "../../../../examples/built.rs"]
mod examples;

use crate::support::{Lab, skip, wait_for};
use std::path::Path;
use std::process::Command;

/// A shared object that leaves a trace in the current directory as soon as it is loaded.
const TRACE: &str = "
#include <fcntl.h>
__attribute__((constructor)) static void leave_a_trace(void) { creat(\"trace\", 0644); }
";

/// A laboratory with the plug-in that fails on demand in it, as `own.so`; none where it cannot be built.
fn lab() -> Option<Lab> {
    let lab = Lab::new();
    std::fs::copy(examples::ram()?, lab.path("own.so")).unwrap();
    Some(lab)
}

fn study(plugin: &str) -> String {
    format!(
        "name = \"own\"\n[trial]\nrepetitions = 100\n[[sweep]]\nrequest_size = \"4KiB\"\nrequests = 20\n\
         personality = [\"sync\", \"plugin:{plugin}\", \"plugin:{plugin},delay_us=2000\"]\n"
    )
}

#[test]
fn one_that_is_named_is_used_and_recorded() {
    let Some(lab) = lab() else { return };
    let io = ["io", "null:", "--size=1MiB", "--requests=100", "--depth=4", "--personality"];
    let sample = lab.json([&io[..], &["plugin:./own.so,short_every=10", "--json"]].concat());
    assert_eq!(sample["workload"]["personality"], "plugin");
    assert_eq!(sample["workload"]["plugin"], "./own.so,short_every=10");
    assert_eq!(sample["instrument"]["obtained"][0], "ram 1.0 short_every=10");
    assert_eq!(sample["total"]["requests"], 100);
    let outcome = lab.run([&io[..], &["plugin:./own.so,fail_after=9"]].concat());
    assert_eq!(outcome.status, Some(1), "{}", outcome.stderr);
    assert!(outcome.stdout.contains("plugin:./own.so,fail_after=9"), "{}", outcome.stdout);
    assert!(outcome.stderr.contains("failed: EIO"), "{}", outcome.stderr);
}

#[test]
fn one_on_a_real_file_reads_what_is_there() {
    let lab = Lab::new();
    let Some(positioned) = examples::positioned() else { return };
    lab.data_file("data", 1024);
    let named = format!("--personality=plugin:{}", positioned.display());
    let sample = lab.json(["io", "data", "--pattern=random", "--depth=8", "--requests=200", "--json", &named]);
    assert_eq!((&sample["total"]["requests"], &sample["total"]["bytes"]), (&200.into(), &(200 * 4096).into()));
    // Writes to a file that exists take the same word as with any personality.
    lab.refuses(["io", "data", "--op=write", &named], 2, "--overwrite");
}

#[test]
fn what_is_no_plug_in_is_refused_before_anything_is_made() {
    let lab = Lab::new();
    lab.write("text.so", b"not a shared object");
    rustix::fs::mknodat(rustix::fs::CWD, lab.path("pipe"), rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    for (named, status, needle) in [
        ("plugin", 2, "plugin:FILE"),
        ("plugin:own.so", 2, "plugin:FILE"),
        ("plugin:./missing.so", 1, "cannot load the plug-in ./missing.so"),
        ("plugin:./text.so", 1, "cannot load the plug-in ./text.so"),
        ("plugin:./place,x=1", 1, "cannot load the plug-in ./place"),
        ("plugin:./pipe", 1, "cannot load the plug-in ./pipe: it is not a regular file"),
    ] {
        let arguments = ["io", "place", "--size=1MiB", "--personality", named];
        let outcome = lab.run(arguments);
        assert_eq!(outcome.status, Some(status), "{named}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(needle), "{named}: {}", outcome.stderr);
        assert_eq!(std::fs::read_dir(lab.place()).unwrap().count(), 0, "{named}");
    }
}

#[test]
fn a_study_loads_nothing_that_the_command_line_does_not_name() {
    let lab = Lab::new();
    lab.write("own.toml", study("./trace.so").as_bytes());
    lab.write("trace.c", TRACE.as_bytes());
    let shared = ["-shared", "-fPIC", "-o", "trace.so", "trace.c"];
    let Ok(status) = Command::new("cc").args(shared).current_dir(lab.path(".")).status() else {
        return skip("there is no C compiler");
    };
    assert!(status.success());
    let run = ["study", "run", "own.toml", "--target=place", "--size=1MiB"];
    lab.refuses(run, 2, "say --plugin ./trace.so");
    lab.refuses([&run[..], &["--dry-run"]].concat(), 2, "say --plugin ./trace.so");
    lab.refuses([&run[..], &["--plugin=trace.so", "--plugin=/usr"]].concat(), 2, "say --plugin ./trace.so");
    for harmless in [&["study", "check", "own.toml"][..], &["plan", "own.toml", "--target=place", "--size=1MiB"]] {
        let outcome = lab.run(harmless);
        assert_eq!(outcome.status, Some(0), "{harmless:?}: {}", outcome.stderr);
    }
    assert!(!lab.path("trace").exists(), "it was loaded");
    // Named, it is, and turns out to be none.
    let outcome = lab.run([&run[..], &["--plugin=./trace.so"]].concat());
    assert_eq!(outcome.status, Some(1), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("./trace.so is not a plug-in"), "{}", outcome.stderr);
    assert!(lab.path("trace").exists(), "the trace is left by loading it");
}

#[test]
fn a_study_with_one_runs_and_resumes_where_it_is_named() {
    let Some(lab) = lab() else { return };
    lab.write("own.toml", study("./own.so").as_bytes());
    let run = ["study", "run", "own.toml", "--target=place", "--size=1MiB", "--no-report", "--plugin=./own.so"];
    let mut running = lab.start(run);
    wait_for("all three cells", || running.has_ended() || lab.samples(1).len() >= 3);
    running.signal(rustix::process::Signal::INT);
    let outcome = running.wait();
    assert_eq!(outcome.status, Some(130), "{}", outcome.stderr);
    let plugins = |record: &String| {
        let record: serde_json::Value = serde_json::from_str(record).unwrap();
        record["workload"]["plugin"].as_str().map(str::to_owned)
    };
    let mut named: Vec<_> = lab.samples(1).iter().map(|(.., record)| plugins(record)).collect();
    named.sort();
    named.dedup();
    assert_eq!(named, [None, Some("./own.so".to_owned()), Some("./own.so,delay_us=2000".to_owned())]);
    lab.refuses(["study", "resume", "1"], 2, "say --plugin ./own.so");
    let before = lab.samples(1).len();
    let mut running = lab.start(["study", "resume", "1", "--plugin=./own.so"]);
    wait_for("another sample", || running.has_ended() || lab.samples(1).len() > before);
    running.signal(rustix::process::Signal::INT);
    assert_eq!(running.wait().status, Some(130));
}

#[test]
fn the_header_is_c_plus_plus_too() {
    let lab = Lab::new();
    let header = concat!(env!("CARGO_MANIFEST_DIR"), "/../../include");
    assert!(Path::new(header).join("halfpower_personality.h").exists());
    lab.write("a.cpp", b"#include <halfpower_personality.h>\nstatic_assert(sizeof(hp_completion) == 8, \"fixed\");\n");
    let arguments = ["-std=c++11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", "-I", header, "a.cpp"];
    match Command::new("c++").args(arguments).current_dir(lab.path(".")).output() {
        Ok(output) => assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr)),
        Err(_) => skip("there is no C++ compiler"),
    }
}
