//! Plug-ins: used where they are named on the command line, never because a study names them.

#[path = "../../../../examples/built.rs"]
pub(super) mod examples;

use crate::support::{Lab, names, outcome, skip, tool};
use rustix::process::Signal;

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
    let io = "io null: --size=1MiB --requests=100 --depth=4 --personality";
    let sample = lab.json((io, "plugin:./own.so,short_every=10"));
    assert_eq!(sample["workload"]["personality"], "plugin");
    assert_eq!(sample["workload"]["plugin"], "./own.so,short_every=10");
    assert_eq!(sample["instrument"]["obtained"][0], "ram 1.0 short_every=10");
    assert_eq!(sample["total"]["requests"], 100);
    let failed = lab.ends((io, "plugin:./own.so,fail_after=9"), 1, "failed: EIO");
    assert!(failed.stdout.contains("plugin:./own.so,fail_after=9"), "{}", failed.stdout);
    // On a real file it reads what is there, and writes to one take the same word as with any personality.
    let Some(positioned) = examples::positioned() else { return };
    lab.data_file("data", 1024);
    let named = format!("--personality=plugin:{}", positioned.display());
    let sample = lab.json(("io data --pattern=random --depth=8 --requests=200", &named));
    assert_eq!((&sample["total"]["requests"], &sample["total"]["bytes"]), (&200.into(), &(200 * 4096).into()));
    lab.refuses(("io data --op=write", &named), 2, "--overwrite");
}

#[test]
fn what_is_no_plug_in_is_refused_before_anything_is_made() {
    let lab = Lab::new();
    lab.write("text.so", "not a shared object");
    rustix::fs::mknodat(rustix::fs::CWD, lab.path("pipe"), rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    for (named, status, needle) in [
        ("plugin", 2, "plugin:FILE"),
        ("plugin:own.so", 2, "plugin:FILE"),
        ("plugin:./missing.so", 1, "cannot load the plug-in ./missing.so"),
        ("plugin:./text.so", 1, "cannot load the plug-in ./text.so"),
        ("plugin:./place,x=1", 1, "cannot load the plug-in ./place"),
        ("plugin:./pipe", 1, "cannot load the plug-in ./pipe: it is not a regular file"),
    ] {
        lab.ends(("io place --size=1MiB --personality", named), status, needle);
        assert_eq!(names(&lab.place()), [""; 0], "{named}");
    }
}

#[test]
fn a_study_loads_nothing_that_the_command_line_does_not_name() {
    let lab = Lab::new();
    lab.write("own.toml", study("./trace.so"));
    lab.write("trace.c", TRACE);
    let [source, object] = ["trace.c", "trace.so"].map(|name| lab.path(name));
    if !tool("cc", ("-shared -fPIC -o", [object, source])) {
        return skip("there is no C compiler");
    }
    let run = "study run own.toml --target=place --size=1MiB";
    for more in ["", "--dry-run", "--plugin=trace.so --plugin=/usr"] {
        lab.refuses((run, more), 2, "say --plugin ./trace.so");
    }
    let shell = "plan own.toml --target=place --size=1MiB --emit=shell";
    lab.refuses(shell, 2, "--plugin ./trace.so");
    lab.ok("study check own.toml");
    lab.ok("plan own.toml --target=place --size=1MiB");
    assert!(!lab.path("trace").exists(), "it was loaded");
    // Named, it is, and turns out to be none.
    lab.ends((run, "--plugin=./trace.so"), 1, "./trace.so is not a plug-in");
    assert!(lab.path("trace").exists(), "the trace is left by loading it");
}

#[test]
fn a_study_with_one_runs_and_resumes_where_it_is_named() {
    let Some(lab) = lab() else { return };
    lab.write("own.toml", study("./own.so"));
    let running = lab.start("study run own.toml --target=place --size=1MiB --no-report --plugin=./own.so");
    running.until("all three cells", || lab.samples(1).len() >= 3).end(Signal::INT).ended(130, "");
    let plugin = |record: &serde_json::Value| record["workload"]["plugin"].as_str().map(str::to_owned);
    let mut named: Vec<_> = lab.records().iter().map(plugin).collect();
    named.sort();
    named.dedup();
    assert_eq!(named, [None, Some("./own.so".to_owned()), Some("./own.so,delay_us=2000".to_owned())]);
    lab.refuses("study resume 1", 2, "say --plugin ./own.so");
    let before = lab.samples(1).len();
    let running = lab.start("study resume 1 --plugin=./own.so");
    running.until("another sample", || lab.samples(1).len() > before).end(Signal::INT).ended(130, "");
}

#[test]
fn its_own_data_are_overwritten_by_permission_only_and_verified() {
    let Some(lab) = lab() else { return };
    let io = "io null: --size=1MiB --requests=200 --pattern=random --op=mix=50 --personality=plugin:./own.so";
    for given in ["", "--overwrite=/dev/sda"] {
        lab.refuses((io, given), 2, "--overwrite");
    }
    let write = "--overwrite --verify=read_back";
    let sample = lab.json((io, write));
    let verified = &sample["verified"];
    assert!(verified["wrong"] == 0 && verified["blocks"].as_u64().unwrap() > 50, "{verified}");
    lab.ends((format!("{io},flip_every=7"), write), 1, "not as written");
    // The personality null has none.
    lab.ok("io null: --op=write --requests=9");
    lab.refuses("io null: --op=write --verify=stamp", 2, "null: keeps nothing");

    lab.write(
        "both.toml",
        "name = \"both\"\n[trial]\nrepetitions = 1\n[[sweep]]\noperation = [\"read\", \"write\"]\n\
         request_size = \"4KiB\"\nrequests = 20\npersonality = \"plugin:./own.so\"\n",
    );
    let run = "study run both.toml --target=null: --size=1MiB --no-report --plugin=./own.so";
    for (given, written) in [("", 0), ("--overwrite", 1)] {
        let before = lab.records().len();
        lab.ok((run, given));
        let operations: Vec<_> =
            lab.records()[before..].iter().map(|record| record["workload"]["operation"].clone()).collect();
        let count = |name: &str| operations.iter().filter(|operation| **operation == name).count();
        assert_eq!((count("read"), count("write")), (1, written), "{operations:?}");
    }
    let id = lab.runs().iter().map(|(id, _)| *id).max().unwrap();
    lab.refuses(format!("study repeat {id} --plugin=./own.so"), 2, "--overwrite=null:");
}

#[test]
fn the_header_is_c_plus_plus_too() {
    let lab = Lab::new();
    let header = concat!(env!("CARGO_MANIFEST_DIR"), "/include");
    lab.write("a.cpp", "#include <halfpower_personality.h>\nstatic_assert(sizeof(hp_completion) == 8, \"fixed\");\n");
    if !tool("c++", "--version") {
        return skip("there is no C++ compiler");
    }
    let strict = "-std=c++11 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I";
    outcome(lab.program("c++", (strict, [header, "a.cpp"]))).ended(0, "");
}
