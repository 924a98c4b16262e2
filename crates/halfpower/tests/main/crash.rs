//! Killed, interrupted, resumed: no finished sample is lost, and no test file stays unknown.

use crate::interrupts::handles_interrupts;
use crate::support::{Lab, PROGRAM, Running, names, outcome, wait_for};
use rustix::process::Signal;
use std::path::Path;
use std::time::{Duration, SystemTime};

const STUDY: [&str; 8] =
    ["study", "run", "longer.toml", "--target", "place", "--size=4MiB", "--write-budget=4GiB", "--no-report"];
/// Samples of the whole study.
const SAMPLES: usize = 30;
/// Longer than the time within which a second signal is one with the first.
const BETWEEN_KEYS: Duration = Duration::from_millis(400);

/// Delays that differ from run to run; told when a test fails.
struct Delays(u64);

impl Delays {
    fn new() -> Self {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        let seed = now.as_nanos() as u64;
        eprintln!("delays drawn from {seed}");
        Delays(seed)
    }

    fn next(&mut self, most: Duration) -> Duration {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        most.mul_f64((self.0 >> 40) as f64 / (1 << 24) as f64)
    }
}

fn cells_and_blocks(lab: &Lab, run: i64) -> Vec<(i64, i64)> {
    lab.samples(run).into_iter().map(|(cell, block, _)| (cell, block)).collect()
}

/// Waits until a run has as many samples, or has ended.
fn wait_for_samples(lab: &Lab, running: &mut Running, run: i64, count: usize) {
    wait_for("samples", || running.has_ended() || lab.samples(run).len() >= count);
}

#[test]
fn a_run_killed_again_and_again_ends_as_one_that_was_not() {
    let whole = Lab::new();
    assert_eq!(whole.run(STUDY).status, Some(0));
    let expected = cells_and_blocks(&whole, 1);
    assert_eq!(expected.len(), SAMPLES);

    let lab = Lab::new();
    let mut delays = Delays::new();
    let mut running = lab.start(STUDY);
    wait_for_samples(&lab, &mut running, 1, 1);
    for _ in 0..5 {
        std::thread::sleep(delays.next(Duration::from_millis(800)));
        let seen = lab.samples(1);
        running.signal(Signal::KILL);
        running.wait();
        let kept = lab.samples(1);
        assert_eq!(kept[..seen.len()], seen[..], "a finished sample was lost");
        assert_eq!(expected[..kept.len()], cells_and_blocks(&lab, 1), "they follow the plan without a gap");
        if kept.len() == SAMPLES {
            break;
        }
        assert_eq!(lab.runs(), [(1, "interrupted".to_owned())]);
        running = lab.start(["study", "resume", "1", "--report", "r.html"]);
    }
    let outcome = lab.run(["study", "resume", "1", "--report", "r.html"]);
    // The last of the background may have completed it or still be at it until it is dropped.
    assert!(matches!(outcome.status, Some(0 | 1)), "{}", outcome.stderr);
    wait_for("completion", || lab.samples(1).len() == SAMPLES);
    wait_for("the end", || lab.runs() == [(1, "complete".to_owned())]);
    assert_eq!(cells_and_blocks(&lab, 1), expected, "every repetition once, in the plan's order");
    lab.run(["runs", "clean"]);
    assert_eq!(names(&lab.place()), [""; 0]);
}

/// Kills a run in the middle of its measurements; gives the test file it left.
fn killed(lab: &Lab) -> String {
    let mut running = lab.start(STUDY);
    wait_for_samples(lab, &mut running, 1, 3);
    running.signal(Signal::KILL);
    running.wait();
    let left = names(&lab.place());
    assert_eq!(left.len(), 1, "the test file is left");
    left[0].clone()
}

#[test]
fn the_test_file_of_a_killed_run_is_spoken_of_and_used_again() {
    use std::os::unix::fs::MetadataExt;
    let lab = Lab::new();
    let left = killed(&lab);
    let inode = |name: &str| std::fs::metadata(lab.place().join(name)).unwrap().ino();
    let before = inode(&left);

    let next = lab.run(["io", "place", "--size=1MiB", "--requests=10"]);
    assert_eq!(next.status, Some(0), "{}", next.stderr);
    assert_eq!(next.stderr.matches(&left).count(), 1, "{}", next.stderr);
    assert!(next.stderr.contains("study resume 1") && next.stderr.contains("runs clean"), "{}", next.stderr);
    assert_eq!(names(&lab.place()), std::slice::from_ref(&left), "it is not removed unasked");

    let mut resumed = lab.start(["study", "resume", "1", "--report", "r.html"]);
    let had = lab.samples(1).len();
    wait_for_samples(&lab, &mut resumed, 1, had + 1);
    if !resumed.has_ended() {
        assert_eq!(names(&lab.place()), std::slice::from_ref(&left), "no second file is made");
        assert_eq!(inode(&left), before);
    }
    let outcome = resumed.wait();
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert_eq!((lab.samples(1).len(), names(&lab.place()).len()), (SAMPLES, 0));
    assert!(lab.path("r.html").exists());
    let again = lab.run(["study", "resume", "1"]);
    assert!(again.status == Some(1) && again.stderr.contains("run 1 is complete"), "{}", again.stderr);
}

#[test]
fn a_left_test_file_is_removed_when_asked() {
    let lab = Lab::new();
    let left = killed(&lab);
    let cleaned = lab.run(["runs", "clean"]);
    assert!(cleaned.status == Some(0) && cleaned.stderr.contains(&left), "{}", cleaned.stderr);
    assert_eq!(names(&lab.place()), [""; 0]);
    assert_eq!(lab.run(["study", "resume", "1", "--report", "r.html"]).status, Some(0), "a new one is made");
    assert_eq!((lab.samples(1).len(), names(&lab.place()).len()), (SAMPLES, 0));
}

#[test]
fn a_file_that_took_the_left_ones_name_stays() {
    let lab = Lab::new();
    let path = lab.place().join(killed(&lab));
    std::fs::rename(&path, lab.path("elsewhere")).unwrap();
    std::fs::write(&path, "my thesis").unwrap();
    assert_eq!(lab.run(["runs", "clean"]).status, Some(0));
    assert_eq!(lab.run(["study", "resume", "1", "--report", "r.html"]).status, Some(0));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "my thesis");
}

#[test]
fn a_run_killed_while_its_file_is_filled_is_filled_anew() {
    let lab = Lab::new();
    const SIZE: u64 = 96 << 20;
    let mut running = lab.start(["study", "run", "tiny.toml", "--target", "place", "--size=96MiB", "--no-report"]);
    let length = || {
        let files = names(&lab.place());
        files.first().map_or(0, |name| std::fs::metadata(lab.place().join(name)).map_or(0, |facts| facts.len()))
    };
    wait_for("some bytes", || running.has_ended() || length() > 0);
    running.signal(Signal::KILL);
    running.wait();
    let left = length();
    assert!(left > 0 && left < SIZE && lab.samples(1).is_empty(), "killed in the middle of filling: {left}");
    let next = lab.run(["io", "place", "--size=1MiB", "--requests=10"]);
    assert!(next.stderr.contains("study resume 1"), "{}", next.stderr);
    let resumed = lab.run(["study", "resume", "1", "--report", "r.html"]);
    assert_eq!(resumed.status, Some(0), "{}", resumed.stderr);
    assert!(!resumed.stderr.contains("given up"), "{}", resumed.stderr);
    assert_eq!((lab.samples(1).len(), names(&lab.place()).len()), (4, 0));
}

/// Those of the signals that a program hears which is started from here: under `nohup` SIGHUP is none of them.
fn heard<const COUNT: usize>(signals: [Signal; COUNT]) -> Vec<Signal> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    let hears = u64::from_str_radix(ignored.trim(), 16).unwrap() & 1 == 0;
    if !hears {
        crate::support::skip("SIGHUP is ignored here");
    }
    signals.into_iter().filter(|signal| hears || *signal != Signal::HUP).collect()
}

#[test]
fn a_signal_ends_a_run_cleanly() {
    for signal in heard([Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT, Signal::ALARM, Signal::XCPU]) {
        let lab = Lab::new();
        let mut running =
            lab.start(["study", "run", "endless.toml", "--target", "place", "--size=4MiB", "--report=r.html"]);
        wait_for_samples(&lab, &mut running, 1, 2);
        running.signal(signal);
        let outcome = running.wait();
        assert_eq!(outcome.status, Some(130), "{signal:?}: {}", outcome.stderr);
        assert!(outcome.stderr.contains("halfpower study resume 1"), "{signal:?}: {}", outcome.stderr);
        assert_eq!(names(&lab.place()), [""; 0], "{signal:?}");
        assert_eq!(lab.runs(), [(1, "interrupted".to_owned())]);
        assert!(lab.path("r.html").exists(), "what was measured until then is shown");
    }
}

#[test]
fn a_signal_while_a_file_is_filled_leaves_nothing() {
    let lab = Lab::new();
    for (arguments, place) in [
        (["io", "place", "--size=256MiB", "--requests=1"], lab.place()),
        (["io", "place/named", "--size=256MiB", "--requests=1"], lab.place()),
    ] {
        let mut running = lab.start(arguments);
        wait_for("the file", || running.has_ended() || !names(&place).is_empty());
        running.signal(Signal::INT);
        let outcome = running.wait();
        assert_eq!(outcome.status, Some(130), "{}", outcome.stderr);
        assert!(outcome.stderr.contains("nterrupted"), "{}", outcome.stderr);
        assert_eq!(names(&place), [""; 0], "{arguments:?}");
    }
}

#[test]
fn what_is_offered_after_an_end_works() {
    // A single workload cannot be resumed, only begun anew.
    let lab = Lab::new();
    let mut running = lab.start(["io", "place", "--size=1MiB", "--duration=60s"]);
    wait_for("the file", || running.has_ended() || !names(&lab.place()).is_empty());
    running.signal(Signal::KILL);
    running.wait();
    let next = lab.run(["io", "place", "--size=1MiB", "--requests=1"]);
    assert!(next.stderr.contains("; `halfpower io place --size=1MiB --duration=60s` runs it again"), "{}", next.stderr);
    assert!(!next.stderr.contains("study resume"), "{}", next.stderr);
    // A store that was named is named again; what kept nothing cannot go on.
    for (kept, offer) in [("--store=own.db", "study resume 1 --store "), ("--no-store", "Nothing was kept")] {
        let lab = Lab::new();
        let study = ["study", "run", "endless.toml", "--target", "place", "--size=1MiB", "--no-report", kept];
        let mut running = lab.start(study);
        wait_for("the file", || running.has_ended() || !names(&lab.place()).is_empty());
        std::thread::sleep(Duration::from_millis(300));
        running.signal(Signal::INT);
        let said = running.wait().stderr;
        assert!(said.contains(offer), "{said}");
        assert_eq!(said.contains("study resume"), kept != "--no-store", "{said}");
    }
}

#[test]
fn a_sample_whose_program_was_stopped_meanwhile_says_so() {
    let lab = Lab::new();
    let mut running = lab.start(["io", "null:", "--duration=5s", "--warmup=0s"]);
    let pid = running.pid();
    let threads = || std::fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count);
    wait_for("the worker", || running.has_ended() || threads() > 1);
    std::thread::sleep(Duration::from_secs(1));
    running.signal(Signal::STOP);
    std::thread::sleep(Duration::from_millis(1500));
    running.signal(Signal::CONT);
    assert_eq!(running.wait().status, Some(0));
    let record: serde_json::Value = serde_json::from_str(&lab.samples(1)[0].2).unwrap();
    let warnings = record["warnings"].as_array().unwrap();
    assert!(warnings.iter().any(|warning| warning["code"] == "paused"), "{warnings:?}");
    // One that was left alone does not.
    let alone = lab.json(["io", "null:", "--duration=1s", "--json"]);
    assert!(!alone["warnings"].to_string().contains("paused"), "{}", alone["warnings"]);
}

#[test]
fn a_second_signal_reports_what_it_leaves() {
    let lab = Lab::new();
    let mut running = lab.start(["study", "run", "endless.toml", "--target", "place", "--size=1MiB", "--no-report"]);
    wait_for_samples(&lab, &mut running, 1, 1);
    // It waits for the store at its next sample, with its test file in place.
    let other = rusqlite::Connection::open(lab.store()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    std::thread::sleep(Duration::from_millis(500));
    running.signal(Signal::INT);
    std::thread::sleep(BETWEEN_KEYS);
    running.signal(Signal::INT);
    let outcome = running.wait();
    assert_eq!(outcome.status, Some(130), "{}", outcome.stderr);
    let left = names(&lab.place()).remove(0);
    let remedy = format!("Stopped at once; place/{left} is left: remove it with `rm place/{left}`.");
    assert!(outcome.stderr.contains(&remedy), "{}", outcome.stderr);
    std::fs::remove_file(lab.place().join(&left)).unwrap();
    drop(other);
    let next = lab.run(["io", "place", "--size=1MiB", "--requests=1"]);
    assert_eq!((next.status, next.stderr.contains(&left)), (Some(0), false), "{}", next.stderr);
}

#[test]
fn a_signal_that_is_sent_twice_at_once_counts_once() {
    // As `timeout` sends it: to the program, and to the group that the program is in.
    for signal in heard([Signal::TERM, Signal::INT, Signal::HUP]) {
        for wait in [Duration::ZERO, Duration::from_millis(1), Duration::from_millis(20)] {
            let lab = Lab::new();
            let mut running = lab.start(["io", "place", "--size=64MiB", "--duration=60s"]);
            wait_for("the file", || running.has_ended() || !names(&lab.place()).is_empty());
            running.signal(signal);
            std::thread::sleep(wait);
            running.signal(signal);
            let outcome = running.wait();
            assert_eq!(outcome.status, Some(130), "{signal:?}: {}", outcome.stderr);
            assert_eq!(names(&lab.place()), [""; 0], "{signal:?} after {wait:?}: {}", outcome.stderr);
        }
    }
}

#[test]
fn timeout_ends_a_run_cleanly() {
    if !Path::new("/usr/bin/timeout").exists() {
        eprintln!("skipped: there is no /usr/bin/timeout");
        return;
    }
    let lab = Lab::new();
    let mut command = std::process::Command::new("/usr/bin/timeout");
    command.args(["1", PROGRAM, "io", "place", "--size=64MiB", "--duration=60s"]);
    command.current_dir(lab.path("")).env("XDG_DATA_HOME", lab.path("home"));
    let outcome = outcome(command);
    assert_eq!(outcome.status, Some(124), "{}", outcome.stderr);
    assert_eq!(names(&lab.place()), [""; 0], "{}", outcome.stderr);
}

#[test]
fn nohup_outlives_its_terminal() {
    let lab = Lab::new();
    let mut command = std::process::Command::new("nohup");
    command.args([PROGRAM, "io", "null:", "--duration=1s"]).current_dir(lab.path(""));
    command
        .env("XDG_DATA_HOME", lab.path("home"))
        .stderr(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null());
    let Ok(child) = command.stdin(std::process::Stdio::null()).spawn() else {
        eprintln!("skipped: there is no nohup");
        return;
    };
    let mut running = Running::of(child);
    let pid = running.pid();
    wait_for("the handlers", || handles_interrupts(pid));
    running.signal(Signal::HUP);
    let outcome = running.wait();
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
}

#[test]
fn a_test_file_that_is_out_of_sight_is_not_forgotten() {
    let lab = Lab::new();
    let left = killed(&lab);
    // Its directory has another name, as if it were not mounted; an empty one is in its place, as a mount point is.
    std::fs::rename(lab.place(), lab.path("elsewhere")).unwrap();
    let said = |outcome: crate::support::Outcome| {
        assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
        outcome.stderr
    };
    let cleaned = said(lab.run(["runs", "clean"]));
    assert!(cleaned.contains(&left) && cleaned.contains("mount or rename it back"), "{cleaned}");
    std::fs::create_dir(lab.place()).unwrap();
    assert!(said(lab.run(["runs", "clean"])).contains(&left));
    said(lab.run(["io", "place", "--size=1MiB", "--requests=1"]));
    // Under the new name it is known again.
    let next = said(lab.run(["io", "elsewhere", "--size=1MiB", "--requests=1"]));
    assert!(next.contains(&format!("left its test file {}", lab.path("elsewhere").join(&left).display())), "{next}");
    assert!(said(lab.run(["runs", "clean"])).contains("Removed"));
    assert_eq!(names(&lab.path("elsewhere")), [""; 0]);
    assert!(said(lab.run(["runs", "clean"])).contains("No test file was left"));
}

#[test]
fn a_test_file_on_a_file_system_that_is_not_mounted_is_not_forgotten() {
    let lab = Lab::new();
    let image = lab.path("image");
    std::fs::File::create(&image).unwrap().set_len(64 << 20).unwrap();
    let is_done = |program: &str, arguments: &[&std::ffi::OsStr]| {
        std::process::Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success())
    };
    let (place, mount) = (lab.place(), || is_done("mount", &["-oloop".as_ref(), image.as_ref(), lab.place().as_ref()]));
    if !is_done("mkfs.ext4", &["-q".as_ref(), image.as_ref()]) || !mount() {
        eprintln!("skipped: no file system can be made and mounted here");
        return;
    }
    let test_file = || names(&place).into_iter().find(|name| name.ends_with(".test"));
    let mut running = lab.start(STUDY);
    wait_for_samples(&lab, &mut running, 1, 1);
    running.signal(Signal::KILL);
    running.wait();
    let left = test_file().unwrap();
    let unmount = || wait_for("the end of the mount", || is_done("umount", &[place.as_ref()]));
    unmount();
    let cleaned = lab.run(["runs", "clean"]);
    let (is_mounted, is_there) = (mount(), test_file().is_some());
    let again = lab.run(["runs", "clean"]);
    let after = test_file();
    unmount();
    assert!(cleaned.stderr.contains(&left) && cleaned.stderr.contains("mount or rename it back"), "{}", cleaned.stderr);
    assert!(is_mounted && is_there && again.stderr.contains("Removed") && after.is_none(), "{}", again.stderr);
}

#[test]
fn a_file_that_has_the_left_ones_number_stays() {
    use std::os::unix::fs::MetadataExt;
    let lab = Lab::new();
    let path = lab.place().join(killed(&lab));
    let number = std::fs::metadata(&path).unwrap().ino();
    std::fs::remove_file(&path).unwrap();
    let takes_it = || {
        std::fs::write(&path, "my thesis").unwrap();
        std::fs::metadata(&path).unwrap().ino() == number || std::fs::remove_file(&path).is_err()
    };
    if !(0..1000).any(|_| takes_it()) {
        eprintln!("skipped: this file system does not use numbers again at once");
        return;
    }
    // Whatever it says of the times: they do not count.
    assert_eq!(lab.run(["runs", "clean"]).status, Some(0));
    assert_eq!(lab.run(["study", "resume", "1", "--report", "r.html"]).status, Some(0));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "my thesis");
}

#[test]
fn two_runs_in_one_directory_leave_each_other_alone() {
    let lab = Lab::new();
    let mut first = lab.start(STUDY);
    wait_for_samples(&lab, &mut first, 1, 1);
    let second = lab.run(["study", "run", "tiny.toml", "--target", "place", "--size=1MiB", "--no-report"]);
    assert_eq!(second.status, Some(0), "{}", second.stderr);
    assert!(!second.stderr.contains(".test"), "a file in use is nobody's leftover: {}", second.stderr);
    if !first.has_ended() {
        let resumed = lab.run(["study", "resume", "1", "--report", "r.html"]);
        let (busy, done) = ("still being measured by another process", "run 1 is complete");
        assert_eq!(resumed.status, Some(1), "{}", resumed.stderr);
        assert!(resumed.stderr.contains(busy) || resumed.stderr.contains(done), "{}", resumed.stderr);
        assert_eq!(lab.run(["runs", "clean"]).status, Some(0));
    }
    assert_eq!(first.wait().status, Some(0));
    assert_eq!((lab.samples(1).len(), names(&lab.place()).len()), (SAMPLES, 0));
}

#[test]
fn a_run_whose_place_is_gone_is_not_resumed_elsewhere() {
    let lab = Lab::new();
    killed(&lab);
    std::fs::rename(lab.place(), lab.path("moved")).unwrap();
    lab.refuses(["study", "resume", "1"], 2, "place, where run 1 was begun, is not there any more");
    std::fs::rename(lab.path("moved"), lab.place()).unwrap();
    let resumed = lab.run(["study", "resume", "1", "--report", "r.html"]);
    assert_eq!(resumed.status, Some(0), "{}", resumed.stderr);
}
