//! After a kill, an interrupt or a resume no finished sample is lost, and every test file is known.

use crate::interrupts::handles_interrupts;
use crate::support::{Lab, Mounted, PROGRAM, Running, Words, make, names, outcome, skip, tool, wait_for};
use rustix::process::Signal;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, SystemTime};

const STUDY: &str = "study run longer.toml --target place --size=4MiB --write-budget=4GiB --no-report";
const RESUME: &str = "study resume 1 --report r.html";
/// Samples of the whole study.
const SAMPLES: usize = 30;
/// Longer than the time within which a second signal is one with the first.
const BETWEEN_KEYS: Duration = Duration::from_millis(400);

/// Starts a command and waits until the first run has as many samples.
fn started(lab: &Lab, words: impl Words, samples: usize) -> Running {
    lab.start(words).until("samples", || lab.samples(1).len() >= samples)
}

/// Starts a command and waits until its test file is there.
fn filling(lab: &Lab, words: impl Words) -> Running {
    lab.start(words).until("the file", || !names(&lab.place()).is_empty())
}

/// Kills a run in the middle of its measurements; gives the test file it left.
fn killed(lab: &Lab) -> String {
    started(lab, STUDY, 3).end(Signal::KILL);
    let mut left = names(&lab.place());
    left.retain(|name| name.ends_with(".test"));
    assert_eq!(left.len(), 1, "the test file is left");
    left.remove(0)
}

#[test]
fn a_run_killed_again_and_again_ends_as_one_that_was_not() {
    let cells_and_blocks =
        |lab: &Lab| lab.samples(1).into_iter().map(|(cell, block, _)| (cell, block)).collect::<Vec<_>>();
    let whole = Lab::new();
    whole.ok(STUDY);
    let expected = cells_and_blocks(&whole);
    assert_eq!(expected.len(), SAMPLES);

    let lab = Lab::new();
    // Delays that differ from run to run.
    let mut seed = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos() as u64;
    eprintln!("delays drawn from {seed}");
    let mut running = started(&lab, STUDY, 1);
    for _ in 0..5 {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        std::thread::sleep(Duration::from_millis((seed >> 33) % 400));
        let seen = lab.samples(1);
        running.end(Signal::KILL);
        let kept = lab.samples(1);
        assert_eq!(kept[..seen.len()], seen[..], "a finished sample was lost");
        assert_eq!(expected[..kept.len()], cells_and_blocks(&lab), "they follow the plan without a gap");
        if kept.len() == SAMPLES {
            break;
        }
        assert_eq!(lab.runs(), [(1, "interrupted".to_owned())]);
        running = lab.start(RESUME);
    }
    let outcome = lab.run(RESUME);
    // The last of the background may have completed it or still be at it until it is dropped.
    assert!(matches!(outcome.status, Some(0 | 1)), "{}", outcome.stderr);
    wait_for("the end", || lab.samples(1).len() == SAMPLES && lab.runs() == [(1, "complete".to_owned())]);
    assert_eq!(cells_and_blocks(&lab), expected, "every repetition once, in the plan's order");
    lab.ok("runs clean");
    assert_eq!(names(&lab.place()), [""; 0]);
}

#[test]
fn the_test_file_of_a_killed_run_is_named_and_used_again() {
    let lab = Lab::new();
    let left = killed(&lab);
    let inode = || std::fs::metadata(lab.place().join(&left)).unwrap().ino();
    let before = inode();
    let next = lab.ends("io place --size=1MiB --requests=10", 0, "runs clean");
    assert_eq!(next.stderr.matches(&left).count(), 1, "{}", next.stderr);
    assert!(next.stderr.contains("study resume 1"), "{}", next.stderr);
    assert_eq!(names(&lab.place()), std::slice::from_ref(&left), "it is not removed unasked");

    // A run whose place is gone is not resumed elsewhere.
    std::fs::rename(lab.place(), lab.path("moved")).unwrap();
    lab.refuses("study resume 1", 2, "place, where run 1 was begun, is not there any more");
    std::fs::rename(lab.path("moved"), lab.place()).unwrap();
    let had = lab.samples(1).len();
    let mut again = started(&lab, RESUME, had + 1);
    if !again.has_ended() {
        assert_eq!((names(&lab.place()), inode()), (vec![left.clone()], before), "no second file is made");
    }
    again.wait().ended(0, "");
    assert_eq!((lab.samples(1).len(), names(&lab.place()).len()), (SAMPLES, 0));
    assert!(lab.path("r.html").exists());
    lab.ends("study resume 1", 1, "run 1 is complete");
}

#[test]
fn a_file_that_took_the_left_ones_name_or_number_stays() {
    for is_renamed in [true, false] {
        let lab = Lab::new();
        let path = lab.place().join(killed(&lab));
        let number = std::fs::metadata(&path).unwrap().ino();
        let takes_it = || {
            std::fs::write(&path, "my thesis").unwrap();
            is_renamed || std::fs::metadata(&path).unwrap().ino() == number || std::fs::remove_file(&path).is_err()
        };
        std::fs::rename(&path, lab.path("elsewhere")).unwrap();
        if !is_renamed {
            std::fs::remove_file(lab.path("elsewhere")).unwrap();
        }
        if !(0..1000).any(|_| takes_it()) {
            return skip("this file system does not use numbers again at once");
        }
        // Its times do not count.
        lab.ok("runs clean");
        lab.ok(RESUME);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "my thesis");
        assert_eq!(
            (lab.samples(1).len(), names(&lab.place()).len()),
            (SAMPLES, 1),
            "a new test file was made and removed"
        );
    }
}

#[test]
fn a_run_killed_while_its_file_is_filled_is_filled_anew() {
    let lab = Lab::new();
    let length = || {
        let files = names(&lab.place());
        files.first().map_or(0, |name| std::fs::metadata(lab.place().join(name)).map_or(0, |facts| facts.len()))
    };
    let running = lab.start("study run tiny.toml --target place --size=96MiB --no-report");
    running.until("some bytes", || length() > 0).end(Signal::KILL);
    let left = length();
    assert!((1..96 << 20).contains(&left) && lab.samples(1).is_empty(), "killed in the middle of filling: {left}");
    lab.ends("io place --size=1MiB --requests=10", 0, "study resume 1");
    let outcome = lab.ok(RESUME);
    assert!(!outcome.stderr.contains("given up"), "{}", outcome.stderr);
    assert_eq!((lab.samples(1).len(), names(&lab.place()).len()), (4, 0));
}

/// The signals that a started program receives: under `nohup` SIGHUP is ignored.
fn heard<const COUNT: usize>(signals: [Signal; COUNT]) -> Vec<Signal> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    let hears = u64::from_str_radix(ignored.trim(), 16).unwrap() & 1 == 0;
    if !hears {
        skip("SIGHUP is ignored here");
    }
    signals.into_iter().filter(|signal| hears || *signal != Signal::HUP).collect()
}

#[test]
fn a_signal_ends_a_run_cleanly() {
    for signal in heard([Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT, Signal::ALARM, Signal::XCPU]) {
        let lab = Lab::new();
        let study = "study run endless.toml --target place --size=4MiB --report=r.html";
        started(&lab, study, 2).end(signal).ended(130, "halfpower study resume 1");
        assert_eq!(names(&lab.place()), [""; 0], "{signal:?}");
        assert_eq!(lab.runs(), [(1, "interrupted".to_owned())]);
        assert!(lab.path("r.html").exists(), "what was measured until then is shown");
    }
}

#[test]
fn a_signal_while_a_file_is_filled_leaves_nothing() {
    let lab = Lab::new();
    for target in ["place", "place/named"] {
        filling(&lab, format!("io {target} --size=256MiB --requests=1")).end(Signal::INT).ended(130, "nterrupted");
        assert_eq!(names(&lab.place()), [""; 0], "{target}");
    }
}

#[test]
fn what_is_offered_after_an_end_works() {
    // A single workload cannot be resumed, only begun anew.
    let lab = Lab::new();
    filling(&lab, "io place --size=1MiB --duration=60s").end(Signal::KILL);
    let offer = "; `halfpower io place --size=1MiB --duration=60s` runs it again";
    let next = lab.ends("io place --size=1MiB --requests=1", 0, offer);
    assert!(!next.stderr.contains("study resume"), "{}", next.stderr);
    // The offer names the store; a run with --no-store cannot continue.
    for (kept, offer) in [("--store=own.db", "study resume 1 --store "), ("--no-store", "Nothing was kept")] {
        let lab = Lab::new();
        let study = "study run endless.toml --target place --size=1MiB --no-report";
        let running = filling(&lab, (study, kept));
        std::thread::sleep(Duration::from_millis(300));
        let stderr = running.end(Signal::INT).stderr;
        assert!(stderr.contains(offer), "{stderr}");
        assert_eq!(stderr.contains("study resume"), kept != "--no-store", "{stderr}");
    }
}

#[test]
fn a_sample_whose_program_was_stopped_meanwhile_says_so() {
    let lab = Lab::new();
    let mut running = lab.start("io null: --duration=3s --warmup=0s");
    let pid = running.pid();
    let threads = || std::fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count);
    wait_for("the worker", || running.has_ended() || threads() > 1);
    // Long enough that it measures, beside other tests too.
    std::thread::sleep(Duration::from_secs(1));
    running.signal(Signal::STOP);
    std::thread::sleep(Duration::from_millis(1500));
    running.end(Signal::CONT).ended(0, "");
    let warnings = lab.records()[0]["warnings"].to_string();
    assert!(warnings.contains("\"paused\""), "{warnings}");
    // One that was left alone does not.
    let alone = lab.json("io null: --duration=1s");
    assert!(!alone["warnings"].to_string().contains("paused"), "{}", alone["warnings"]);
}

#[test]
fn a_second_signal_reports_what_it_leaves() {
    let lab = Lab::new();
    let mut study = lab.command("study run endless.toml --target place --size=1MiB --no-report");
    let running = Running::with_stderr(study.stdout(Stdio::null()), lab.write("said", ""));
    let mut running = running.until("a sample", || !lab.samples(1).is_empty());
    // It waits for the store at its next sample, with its test file in place.
    let other = rusqlite::Connection::open(lab.store()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    std::thread::sleep(Duration::from_millis(500));
    running.signal(Signal::INT);
    let running = running.until("the answer", || lab.read("said").contains("Ctrl-C again stops at once."));
    std::thread::sleep(BETWEEN_KEYS);
    assert_eq!(running.end(Signal::INT).status, Some(130), "{}", lab.read("said"));
    let left = names(&lab.place()).remove(0);
    let remedy = format!("Stopped at once; place/{left} is left: remove it with `rm place/{left}`.");
    assert!(lab.read("said").contains(&remedy), "{}", lab.read("said"));
    std::fs::remove_file(lab.place().join(&left)).unwrap();
    drop(other);
    let next = lab.ok("io place --size=1MiB --requests=1");
    assert!(!next.stderr.contains(&left), "{}", next.stderr);
}

#[test]
fn a_signal_that_is_sent_twice_at_once_counts_once() {
    // As `timeout` sends it: to the program, and to the group that the program is in.
    for signal in heard([Signal::TERM, Signal::INT, Signal::HUP]) {
        for wait in [Duration::ZERO, Duration::from_millis(1), Duration::from_millis(20)] {
            let lab = Lab::new();
            let mut running = filling(&lab, "io place --size=64MiB --duration=60s");
            running.signal(signal);
            std::thread::sleep(wait);
            let outcome = running.end(signal).ended(130, "");
            assert_eq!(names(&lab.place()), [""; 0], "{signal:?} after {wait:?}: {}", outcome.stderr);
        }
    }
}

#[test]
fn timeout_and_nohup_do_what_they_are_for() {
    if !Path::new("/usr/bin/timeout").exists() || !Path::new("/usr/bin/nohup").exists() {
        return skip("there is no /usr/bin/timeout or nohup");
    }
    let lab = Lab::new();
    let timeout = format!("1 {PROGRAM} io place --size=64MiB --duration=60s");
    let ended = outcome(lab.program("/usr/bin/timeout", timeout)).ended(124, "");
    assert_eq!(names(&lab.place()), [""; 0], "{}", ended.stderr);
    let mut nohup = lab.program("/usr/bin/nohup", format!("{PROGRAM} io null: --duration=1s"));
    let mut running = Running::of(nohup.stdout(Stdio::null()));
    let pid = running.pid();
    wait_for("the handlers", || handles_interrupts(pid));
    running.end(Signal::HUP).ended(0, "");
}

#[test]
fn a_test_file_that_is_out_of_sight_is_not_forgotten() {
    let lab = Lab::new();
    let left = killed(&lab);
    // Its directory has another name, as if it were not mounted; an empty one is in its place, as a mount point is.
    std::fs::rename(lab.place(), lab.path("elsewhere")).unwrap();
    let cleaned = lab.ends("runs clean", 0, "mount or rename it back").stderr;
    assert!(cleaned.contains(&left), "{cleaned}");
    lab.directory("place");
    lab.ends("runs clean", 0, &left);
    lab.ok("io place --size=1MiB --requests=1");
    // Under the new name it is known again.
    let found = format!("left its test file {}", lab.path("elsewhere").join(&left).display());
    lab.ends("io elsewhere --size=1MiB --requests=1", 0, &found);
    lab.ends("runs clean", 0, "Removed");
    assert_eq!(names(&lab.path("elsewhere")), [""; 0]);
    lab.ends("runs clean", 0, "No test file was left");
}

#[test]
fn a_test_file_on_a_file_system_that_is_not_mounted_is_not_forgotten() {
    let lab = Lab::new();
    let image = lab.image("image", &[], 64);
    let mount = || Mounted::on(&image, lab.place(), "-o loop");
    if !make("mkfs.ext4 -q", &image) {
        return;
    }
    let Some(mounted) = mount() else { return };
    let left = killed(&lab);
    wait_for("the end of the mount", || tool("umount", [&mounted.0]));
    drop(mounted);
    let cleaned = lab.ends("runs clean", 0, "mount or rename it back").stderr;
    assert!(cleaned.contains(&left), "{cleaned}");
    let _mounted = mount().unwrap();
    assert!(lab.place().join(&left).exists());
    assert!(lab.ends("runs clean", 0, "Removed").stderr.contains(&left));
    assert!(!lab.place().join(&left).exists());
}

#[test]
fn two_runs_in_one_directory_leave_each_other_alone() {
    let lab = Lab::new();
    let mut first = started(&lab, STUDY, 1);
    let second = lab.ok("study run tiny.toml --target place --size=1MiB --no-report");
    assert!(!second.stderr.contains(".test"), "a file in use is nobody's leftover: {}", second.stderr);
    if !first.has_ended() {
        let (busy, done) = ("still being measured by another process", "run 1 is complete");
        let resumed = lab.ends(RESUME, 1, "");
        assert!(resumed.stderr.contains(busy) || resumed.stderr.contains(done), "{}", resumed.stderr);
        lab.ok("runs clean");
    }
    first.wait().ended(0, "");
    assert_eq!((lab.samples(1).len(), names(&lab.place()).len()), (SAMPLES, 0));
}
