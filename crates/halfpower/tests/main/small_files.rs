//! `halfpower files`: every file is counted, nothing is left, and nothing else is touched.

use crate::support::{Lab, Mounted, Running, contents, is_root, names, outcome};
use rustix::process::Signal;
use serde_json::Value;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

const LONG: &str = "files place --files=40 --per-directory=5 --workers=2 --repetitions=100000";

/// The phases of a reading that were completed, each with its number of files.
fn phases(reading: &Value) -> Vec<(String, u64)> {
    let runs = reading["figures"]["runs"].as_array().unwrap().iter();
    runs.map(|run| (run["phase"].as_str().unwrap().to_owned(), run["files"].as_u64().unwrap())).collect()
}

/// The only directory of small files in the place.
fn tree(lab: &Lab) -> Option<PathBuf> {
    names(&lab.place()).into_iter().find(|name| name.ends_with(".files")).map(|name| lab.place().join(name))
}

/// A long run that has made files.
fn working(lab: &Lab) -> Running {
    lab.start(LONG).until("files", || tree(lab).is_some_and(|tree| tree.join("w1/d0/f0").exists()))
}

#[test]
fn every_file_is_counted_stored_and_shown() {
    let lab = Lab::new();
    let reading = lab.json("files place --files=50 --per-directory=8 --workers=3 --repetitions=2 --note=mail");
    assert_eq!((&reading["instrument"], &reading["note"]), (&"files".into(), &"mail".into()));
    let expected = ["create", "stat", "read", "delete"].map(|phase| (phase.to_owned(), 50));
    assert_eq!(phases(&reading), [expected.clone(), expected].concat());
    let figures = &reading["figures"];
    assert_eq!((&figures["is_complete"], &figures["size_bytes"]), (&true.into(), &4096.into()));
    assert!(figures["runs"].as_array().unwrap().iter().all(|run| run["errors"] == serde_json::json!({})), "{figures}");
    for phase in figures["rates"].as_array().unwrap() {
        assert!(phase["files_per_s"]["value"].as_f64().unwrap() > 0.0, "{phase}");
        assert!(phase["latency_ns"]["p50"].as_u64().unwrap() > 0, "{phase}");
        let changes = phase["phase"] == "create" || phase["phase"] == "delete";
        assert_eq!(phase["flushed_files_per_s"].is_object(), changes, "{phase}");
        let workers = &phase["worker_files_per_s"];
        assert!(workers[0].as_f64().unwrap() <= workers[2].as_f64().unwrap(), "{workers}");
    }
    assert_eq!(names(&lab.place()), [""; 0]);
    assert_eq!((lab.json("runs show 1"), lab.runs()), (reading, vec![(1, "complete".to_owned())]));
    let shown = lab.run("runs show 1").stdout;
    assert!(shown.starts_with("Creates ") && shown.contains("\n  delete "), "{shown}");
    assert!(shown.lines().all(|line| line.chars().count() <= 100), "{shown}");
    let page = lab.page(1);
    assert!(page.contains("<h1>Files</h1>") && page.contains("<h2>Files per second</h2>"), "{page}");

    let some = lab.json("files place --files=7 --size=0 --fsync --phases=delete,create --repetitions=1 --no-store");
    assert_eq!(phases(&some), ["create", "delete"].map(|phase| (phase.to_owned(), 7)));
    let listed = lab.json("files place --files=30 --per-directory=8 --phases=list --repetitions=1 --no-store");
    assert_eq!(phases(&listed), [("list".to_owned(), 30)]);
    let bins = listed["figures"]["runs"][0]["latency_histogram"]["bins"].as_array().unwrap();
    assert_eq!(bins.iter().map(|bin| bin[1].as_u64().unwrap()).sum::<u64>(), 4, "one latency of each directory");
    let short = lab.json("files place --files=60 --duration=1us --repetitions=1 --no-store");
    assert_eq!(phases(&short)[1], ("stat".to_owned(), 1), "what was created is looked at");
    assert_eq!((names(&lab.place()).len(), lab.runs().len()), (0, 1));
}

#[test]
fn what_is_there_stays_and_no_link_is_followed() {
    let lab = Lab::new();
    lab.data_file("place/w0", 4);
    lab.directory("place/d0");
    lab.data_file("place/d0/f0", 4);
    let theirs = lab.directory("place/halfpower-0123456789abcdef.files");
    lab.directory(theirs.join("w0"));
    symlink(lab.path("place/d0"), lab.path("place/link")).unwrap();
    symlink("/nowhere", lab.path("place/dangling")).unwrap();
    let before = contents(&lab.place());
    let words = "files --files=20 --repetitions=1 place";
    lab.ends(words, 0, "0123456789abcdef.files looks like a directory of small files, but");
    lab.ok("runs clean");
    // A link to a directory that is named is that directory.
    lab.ok("files --files=20 --repetitions=1 place/link");
    assert_eq!(contents(&lab.place()), before);
}

#[test]
fn an_interrupted_run_leaves_nothing_and_shows_what_was_measured() {
    let lab = Lab::new();
    for signal in [Signal::INT, Signal::TERM] {
        let running = working(&lab);
        running.end(signal).ended(130, "Interrupted");
        assert_eq!(names(&lab.place()), [""; 0], "{signal:?}");
    }
    assert!(lab.runs().iter().all(|(_, status)| status == "interrupted"));
    let reading = lab.json("runs show 1");
    assert_eq!(reading["figures"]["is_complete"], false);
    assert!(phases(&reading).iter().all(|(_, files)| *files == 40), "whole phases count");
    lab.ok("runs show 1");
    assert!(lab.page(1).contains("Not finished"));
}

#[test]
fn what_a_killed_run_left_is_found_and_only_that_is_removed() {
    let lab = Lab::new();
    working(&lab).end(Signal::KILL);
    let left = tree(&lab).unwrap();
    let named = left.file_name().unwrap().to_str().unwrap();
    let next = lab.ends("files place --files=5 --repetitions=1", 0, "a killed run left its directory of small files ");
    assert!(next.stderr.contains(named) && next.stderr.contains("runs clean"), "{}", next.stderr);
    assert!(left.exists(), "it is not removed unasked");
    // Somebody moved the files of a worker and put links in their place, and a file of their own.
    std::fs::rename(left.join("w0"), lab.path("moved")).unwrap();
    symlink(lab.path("moved"), left.join("w0")).unwrap();
    std::fs::write(left.join("w1/notes"), "mine").unwrap();
    let before = contents(&lab.path("moved"));
    let cleaned = lab.ends("runs clean", 0, "holds something that Halfpower did not make");
    assert!(cleaned.stderr.contains(named), "{}", cleaned.stderr);
    assert_eq!((contents(&lab.path("moved")), names(&left)), (before, vec!["w0".to_owned(), "w1".to_owned()]));
    assert_eq!(names(&left.join("w1")), ["notes"]);
    std::fs::remove_file(left.join("w0")).unwrap();
    std::fs::remove_file(left.join("w1/notes")).unwrap();
    lab.ends("runs clean", 0, "Removed ");
    assert_eq!(names(&lab.place()), [""; 0]);
    lab.ends("runs clean", 0, "No test file was left");
}

#[test]
fn a_directory_with_the_left_ones_name_is_not_taken_for_it() {
    let lab = Lab::new();
    working(&lab).end(Signal::KILL);
    let left = tree(&lab).unwrap();
    std::fs::rename(&left, lab.path("elsewhere")).unwrap();
    std::fs::create_dir_all(left.join("w0/d0")).unwrap();
    std::fs::write(left.join("w0/d0/f0"), "mine").unwrap();
    lab.ok("runs clean");
    assert_eq!(std::fs::read_to_string(left.join("w0/d0/f0")).unwrap(), "mine");
}

#[test]
fn what_cannot_be_measured_is_refused_and_nothing_is_made() {
    let lab = Lab::new();
    lab.write("file", "a few bytes");
    lab.refuses_each([
        ("files none", 2, "none does not exist; name a directory"),
        ("files file", 2, "file is no directory"),
        ("files null:", 2, "name a directory"),
        ("files s3://bucket/one", 1, "s3://BUCKET/PREFIX/"),
        ("files nbd://host/one", 1, "s3://BUCKET/PREFIX/"),
        ("files s3://bucket/row/ --cold", 2, "--cold is for file systems"),
        ("files sim:hdd-18tb:disk", 2, "is simulated; files needs"),
        ("files place --phases=create,open", 2, "use create, stat, list, read or delete"),
        ("files place --files=3 --workers=4", 2, "4 workers have no file each"),
        ("files place --size=65MiB", 2, "use up to 64 MiB"),
        ("files place --duration=0", 2, "--duration is 0"),
        ("files place --files=1000000000 --size=64MiB --per-directory=1000000000", 2, "are needed and "),
        ("files place --files=4294967296", 2, "larger than any such number"),
    ]);
    let limited = lab.limited("-n 100", "files place --files=1000 --per-directory=10");
    limited.ended(2, "the limit on open files is 100; use --per-directory 29 or more");
    assert_eq!(names(&lab.place()), [""; 0]);
}

#[test]
fn what_a_user_may_not_do_is_refused() {
    let lab = Lab::new();
    if !is_root() {
        return;
    }
    let Some(cold) = lab.as_nobody("files place --cold --no-store") else { return };
    outcome(cold).ended(2, "--cold drops the caches of this machine, which needs root");
    let theirs = lab.as_nobody("files place --no-store").unwrap();
    outcome(theirs).ended(1, "no permission to write place");
    assert_eq!(names(&lab.place()), [""; 0]);
}

#[test]
fn a_file_system_without_room_is_named_with_what_it_lacks() {
    let lab = Lab::new();
    for (options, needle) in [
        ("size=1M", "39.5 MiB are needed and 1 MiB are free, on the file system of small; free some, "),
        ("size=64M,nr_inodes=500", "10102 inodes are needed and "),
        ("size=64M,ro", "small is on a read-only file system; name a directory on one that can be written"),
    ] {
        let Some(mounted) = Mounted::tmpfs(lab.path("small"), options) else { return };
        lab.ends("files small --no-store", 2, needle);
        assert_eq!(names(&mounted.0), [""; 0]);
    }
}
