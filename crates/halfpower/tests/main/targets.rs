//! Several targets, and what files are like before they are written: each is guarded as if it were the only one.

use crate::support::{LONGER, Lab, contents, hash, names, skip, wait_for};
use rustix::process::Signal;
use std::os::unix::fs::{MetadataExt, symlink};

#[test]
fn each_target_has_a_worker() {
    let lab = Lab::new();
    for name in ["a", "b"] {
        lab.data_file(name, 1024);
    }
    let sample = lab.json(["io", "a", "b", "place", "--files=2", "--size=1MiB", "--requests=400", "--json"]);
    assert_eq!(sample["workload"]["workers"], 4);
    assert_eq!(sample["workload"]["targets"], 4);
    assert_eq!(sample["total"]["requests"], 400);
    let environment = &sample["environment"];
    assert_eq!(environment["target"]["path"], "a");
    let more: Vec<&str> =
        environment["more_targets"].as_array().unwrap().iter().map(|target| target["path"].as_str().unwrap()).collect();
    assert_eq!((more.len(), more[0]), (3, "b"));
    assert!(more[1..].iter().all(|path| path.starts_with("place/halfpower-")), "{more:?}");
    assert_ne!(more[1], more[2]);
    assert_eq!(names(&lab.place()), [""; 0], "test files go");
    let text = lab.run(["io", "a", "b", "--requests=40"]).stdout;
    assert!(text.contains("on a, b ("), "{text}");
}

#[test]
fn storage_is_named_once() {
    let lab = Lab::new();
    lab.data_file("a", 1024);
    std::fs::hard_link(lab.path("a"), lab.path("hard")).unwrap();
    symlink(lab.path("a"), lab.path("soft")).unwrap();
    let write = ["--op=write", "--requests=9", "--overwrite"];
    for other in ["a", "./a", "hard", "soft", "place/../a"] {
        lab.refuses([&["io", "a", other][..], &write].concat(), 2, "are one file");
    }
    lab.refuses(["io", "place", "place/.", "--size=1MiB"], 2, "are one directory");
    lab.refuses(["io", "place/new", "place/./new", "--size=1MiB", "--op=write"], 2, "are one file");
    lab.refuses(["io", "null:", "a"], 2, "name it alone");
    lab.refuses(["io", "a", "--files=2"], 2, "no target is a directory");
    lab.refuses(["io", "place", "--files=0"], 2, "--files is 0");
    lab.refuses(["io", "place", "--files=5000"], 2, "too many");
}

#[test]
fn one_target_that_must_not_be_written_saves_the_others() {
    let lab = Lab::new();
    let paths = ["a", "b", "c"].map(|name| lab.data_file(name, 256));
    let io = ["io", "a", "b", "--op=write", "--requests=50"];
    lab.refuses(io, 2, "a exists and would be overwritten");
    lab.refuses([&io[..], &["--overwrite=a"]].concat(), 2, "b exists and would be overwritten");
    lab.refuses([&io[..], &["--overwrite=a", "--overwrite=c"]].concat(), 2, "--overwrite names c");
    lab.refuses([&io[..], &["--overwrite=a", "--overwrite"]].concat(), 2, "say one or the other");
    // A shell's empty variable is no leave to write everything.
    lab.refuses([&io[..], &["--overwrite="]].concat(), 2, "--overwrite");
    // Neither is the directory's test file a leave for its neighbours, nor a file that is made.
    lab.refuses(["io", "place", "a", "--size=64KiB", "--op=write"], 2, "a exists");
    lab.refuses(["io", "place/new", "a", "--size=64KiB", "--op=write"], 2, "a exists");
    let before = paths.each_ref().map(|path| hash(path));
    let both = lab.run([&io[..], &["--overwrite=a", "--overwrite=./b"]].concat());
    assert_eq!(both.status, Some(0), "{}", both.stderr);
    let after = paths.each_ref().map(|path| hash(path));
    assert!(after[0] != before[0] && after[1] != before[1] && after[2] == before[2]);
}

#[test]
fn when_one_cannot_be_opened_nothing_of_the_others_stays() {
    let lab = Lab::new();
    symlink(lab.path("elsewhere"), lab.path("dangling")).unwrap();
    lab.refuses(["io", "place/new", "place", "dangling", "--size=1MiB", "--op=write", "--requests=9"], 1, "dangling");
    assert_eq!(names(&lab.place()), [""; 0]);
    lab.refuses(["io", "place/new", "nowhere/file", "--size=1MiB", "--op=write"], 1, "nowhere");
}

#[test]
fn a_killed_run_leaves_files_that_are_found_again() {
    let lab = Lab::new();
    lab.write("endless.toml", LONGER.replace("min = 5, max = 5", "min = 100, max = 100").as_bytes());
    let study = ["study", "run", "endless.toml", "--target=place", "--files=2", "--size=1MiB", "--no-report"];
    let mut running = lab.start(study);
    wait_for("two samples", || lab.samples(1).len() >= 2);
    running.signal(Signal::KILL);
    running.wait();
    let left = names(&lab.place());
    assert_eq!(left.iter().filter(|name| name.ends_with(".test")).count(), 2, "{left:?}");
    let had = lab.samples(1).len();
    let mut resumed = lab.start(["study", "resume", "1", "--report", "r.html"]);
    wait_for("a further sample", || lab.samples(1).len() > had);
    assert_eq!(names(&lab.place()), left, "the same files are used again");
    resumed.signal(Signal::INT);
    assert_eq!(resumed.wait().status, Some(130));
    assert_eq!(names(&lab.place()), [""; 0]);
}

/// Length, bytes allocated.
fn blocks(lab: &Lab, name: &str) -> (u64, u64) {
    let facts = std::fs::metadata(lab.path(name)).unwrap();
    (facts.len(), facts.blocks() * 512)
}

#[test]
fn a_file_that_grows_begins_empty_and_ends_at_its_size() {
    let lab = Lab::new();
    for state in ["append", "preallocated", "sparse"] {
        let name = &format!("new-{state}");
        let made = ["io", name, "--size=1MiB", "--op=write", "--request-size=64KiB", "--bytes=1MiB", "--json"];
        let made = lab.json([&made[..], &["--file-state", state]].concat());
        assert_eq!(made["total"]["bytes"], 1 << 20, "{state}");
        assert_eq!(made["workload"]["file_state"], *state);
        assert!(made["warnings"].as_array().unwrap().iter().all(|warning| warning["code"] != "sparse_target"));
        let (length, allocated) = blocks(&lab, name);
        assert!(length == 1 << 20 && allocated >= 1 << 20, "{state}: {length} {allocated}");
    }
    // Half of it: an empty file has grown by that much, a reserved one is as it was.
    for (state, length) in [("append", 1_u64 << 19), ("preallocated", 1 << 20), ("sparse", 1 << 20)] {
        let name = &format!("new-{state}");
        let again = ["io", name, "--op=write", "--request-size=64KiB", "--bytes=512KiB", "--file-state", state];
        lab.refuses(again, 2, "--overwrite");
        assert_eq!(lab.run([&again[..], &["--overwrite"]].concat()).status, Some(0));
        let (found, allocated) = blocks(&lab, name);
        assert_eq!(found, length, "{state}");
        assert_eq!(allocated >= 1 << 20, state == "preallocated", "{state}: {allocated}");
    }
}

#[test]
fn only_files_have_a_state_and_only_writes_want_one() {
    let lab = Lab::new();
    lab.data_file("data", 1024);
    let state = ["--file-state=append", "--overwrite"];
    lab.refuses([&["io", "data"], &state[..]].concat(), 2, "--file-state is for writes");
    lab.refuses([&["io", "data", "--op=mix=50"], &state[..]].concat(), 2, "--file-state is for writes");
    lab.refuses([&["io", "data", "--op=write", "--pattern=random"], &state[..]].concat(), 2, "--pattern sequential");
    lab.refuses([&["io", "data", "--op=write", "--workers=2"], &state[..]].concat(), 2, "one writer");
    lab.refuses([&["io", "null:", "--op=write"], &state[..]].concat(), 2, "--file-state is for writes");
    let before = contents(&lab.path("."));
    lab.refuses(["io", "data", "--op=write", "--file-state=sparse"], 2, "--overwrite");
    assert_eq!(contents(&lab.path(".")), before);
}

#[test]
fn a_study_compares_states_and_gives_files_their_data_back() {
    let lab = Lab::new();
    lab.write(
        "states.toml",
        b"name = \"states\"\n[trial]\nrepetitions = 2\n[workload]\nrequest_size = \"64KiB\"\n\
          [[sweep]]\nname = \"writes\"\noperation = \"write\"\nbytes = \"512KiB\"\n\
          file_state = [\"written\", \"preallocated\", \"append\", \"last_first\", \"truncated\", \"sparse\"]\n\
          [[sweep]]\nname = \"reads\"\nrequests = 9\n",
    );
    let run = ["study", "run", "states.toml", "--target=place", "--size=1MiB", "--no-report"];
    let outcome = lab.run(run);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert!(!outcome.stderr.contains("given up"), "{}", outcome.stderr);
    assert_eq!(lab.samples(1).len(), 14);
    // 1 MiB to make the file, five states that cost another each, six of 512 KiB, twice.
    assert!(outcome.stderr.contains("writes at most 17 MiB"), "{}", outcome.stderr);
    let small = lab.run([&run[..], &["--write-budget=6MiB"]].concat());
    assert_eq!(small.status, Some(2), "{}", small.stderr);
}

#[test]
fn layouts_need_several_targets() {
    let lab = Lab::new();
    lab.data_file("data", 1024);
    lab.refuses(["io", "data", "--layout=stripe=64KiB"], 2, "several targets");
    lab.refuses(["io", "data", "--layout=raid5"], 2, "mirror=nearest");
    if !lab.has_direct_ring() {
        return skip("this takes direct I/O");
    }
    let odd = ["io", "place", "--files=2", "--size=1MiB", "--layout=stripe=1000", "--buffering=direct"];
    lab.refuses(odd, 2, "--layout comes to 1000 B");
}

#[test]
fn stripes_and_mirrors_lie_on_their_files() {
    let lab = Lab::new();
    let write = ["--op=write", "--bytes=2MiB", "--size=2MiB", "--request-size=96KiB", "--overwrite", "--json"];
    for (layout, each) in [("stripe=64KiB", 1 << 20), ("mirror", 2 << 20)] {
        let files = ["one", "two"].map(|name| format!("{}-{name}", &layout[..6]));
        let layout_said = format!("--layout={layout}");
        let arguments = [&["io", &files[0], &files[1], &layout_said, "--verify=read-back"], &write[..]].concat();
        let sample = lab.json(arguments);
        assert_eq!(sample["workload"]["layout"].as_str().unwrap().split('=').next(), layout.split('=').next());
        assert_eq!(sample["verified"]["wrong"], 0, "{}", sample["verified"]);
        // 21 whole requests go into it; every side of a mirror is looked at.
        let copies = if layout == "mirror" { 2 } else { 1 };
        assert_eq!(sample["verified"]["blocks"], 21 * 24 * copies, "{layout}");
        for file in &files {
            assert_eq!(std::fs::metadata(lab.path(file)).unwrap().len(), each, "{file}");
        }
        let [one, two] = files.each_ref().map(|file| std::fs::read(lab.path(file)).unwrap());
        let same = one.iter().zip(&two).filter(|(one, two)| one == two).count();
        // Both sides were made with other bytes; what was written over is the same in a mirror.
        assert_eq!(same > (each as usize) * 9 / 10, layout == "mirror", "{layout}: {same} of {each}");
        let read = ["io", &files[0], &files[1], &layout_said, "--requests=20", "--json"];
        assert_eq!(lab.json(read)["total"]["requests"], 20);
    }
}

#[test]
fn parallel_writers_tell_what_iozone_tells() {
    let lab = Lab::new();
    let sample = lab.json([
        "io",
        "place",
        "--files=3",
        "--size=512KiB",
        "--op=write",
        "--file-state=append",
        "--buffering=buffered",
        "--processes",
        "--durability=flush-at-end",
        "--time-close",
        "--json",
    ]);
    assert_eq!(sample["total"]["bytes"], 3 << 19);
    assert_eq!(sample["workers"].as_array().unwrap().len(), 3);
    let parallel = &sample["parallel"];
    let rate = |name: &str| parallel[name].as_f64().unwrap();
    assert!(rate("sum_bytes_per_s") >= rate("parent_bytes_per_s") * 0.999, "{parallel}");
    assert!(rate("min_bytes_per_s") <= rate("mean_bytes_per_s") && rate("mean_bytes_per_s") <= rate("max_bytes_per_s"));
    assert_eq!(names(&lab.place()), [""; 0]);
}
