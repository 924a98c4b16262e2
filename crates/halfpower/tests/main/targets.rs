//! Several targets, and what files are like before they are written: each is guarded as if it were the only one.

use crate::support::{Lab, codes, hash, names};
use rustix::process::Signal;
use std::os::unix::fs::{MetadataExt, symlink};

#[test]
fn each_target_has_a_worker() {
    let lab = Lab::new();
    for name in ["a", "b"] {
        lab.data_file(name, 1024);
    }
    let sample = lab.json("io a b place --files=2 --size=1MiB --requests=400");
    let workload = &sample["workload"];
    assert_eq!((&workload["workers"], &workload["targets"]), (&4.into(), &4.into()));
    assert_eq!(sample["total"]["requests"], 400);
    let environment = &sample["environment"];
    assert_eq!(environment["target"]["path"], "a");
    let more = environment["more_targets"].as_array().unwrap().iter();
    let more: Vec<&str> = more.map(|target| target["path"].as_str().unwrap()).collect();
    assert_eq!((more.len(), more[0]), (3, "b"));
    assert!(more[1..].iter().all(|path| path.starts_with("place/halfpower-")) && more[1] != more[2], "{more:?}");
    assert_eq!(names(&lab.place()), [""; 0], "test files go");
    let text = lab.run("io a b --requests=40").stdout;
    assert!(text.contains("on a, b ("), "{text}");
}

#[test]
fn one_target_that_must_not_be_written_saves_the_others() {
    let lab = Lab::new();
    let paths = ["a", "b", "c"].map(|name| lab.data_file(name, 256));
    std::fs::hard_link(lab.path("a"), lab.path("hard")).unwrap();
    symlink(lab.path("a"), lab.path("soft")).unwrap();
    symlink(lab.path("elsewhere"), lab.path("dangling")).unwrap();
    for other in ["a", "./a", "hard", "soft", "place/../a"] {
        lab.refuses(format!("io a {other} --op=write --requests=9 --overwrite"), 2, "are one file");
    }
    lab.refuses_each([
        ("io place place/. --size=1MiB", 2, "are one directory"),
        ("io place/new place/./new --size=1MiB --op=write", 2, "are one file"),
        ("io null: a", 2, "name it alone"),
        ("io a --files=2", 2, "no target is a directory"),
        ("io place --files=0", 2, "write a whole number of 1 or more"),
        ("io place --files=5000", 2, "too many"),
        ("io a b --op=write", 2, "a exists and would be overwritten"),
        ("io a b --op=write --overwrite=a", 2, "b exists and would be overwritten"),
        ("io a b --op=write --overwrite=a --overwrite=c", 2, "--overwrite names c"),
        ("io a b --op=write --overwrite=a --overwrite", 2, "say one or the other"),
        // A shell's empty variable is no leave to write everything.
        ("io a b --op=write --overwrite=", 2, "--overwrite"),
        // Neither is the directory's test file a leave for its neighbours, nor a file that is made.
        ("io place a --size=64KiB --op=write", 2, "a exists"),
        ("io place/new a --size=64KiB --op=write", 2, "a exists"),
        // When one cannot be opened, nothing of the others stays.
        ("io place/new place dangling --size=1MiB --op=write --requests=9", 1, "dangling"),
        ("io place/new nowhere/file --size=1MiB --op=write", 1, "nowhere"),
    ]);
    let before = paths.each_ref().map(|path| hash(path));
    lab.ok("io a b --op=write --requests=50 --overwrite=a --overwrite=./b");
    let after = paths.each_ref().map(|path| hash(path));
    assert!(after[0] != before[0] && after[1] != before[1] && after[2] == before[2]);
}

#[test]
fn a_killed_run_leaves_files_that_are_found_again() {
    let lab = Lab::new();
    let running = lab.start("study run endless.toml --target=place --files=2 --size=1MiB --no-report");
    running.until("two samples", || lab.samples(1).len() >= 2).end(Signal::KILL);
    let left = names(&lab.place());
    assert_eq!(left.iter().filter(|name| name.ends_with(".test")).count(), 2, "{left:?}");
    let had = lab.samples(1).len();
    let resumed = lab.start("study resume 1 --report r.html");
    let resumed = resumed.until("a further sample", || lab.samples(1).len() > had);
    assert_eq!(names(&lab.place()), left, "the same files are used again");
    resumed.end(Signal::INT).ended(130, "");
    assert_eq!(names(&lab.place()), [""; 0]);
}

#[test]
fn only_files_that_are_written_have_a_state_or_a_layout() {
    let lab = Lab::new();
    lab.data_file("data", 1024);
    let rows = [
        ("data --file-state=append --overwrite", "--file-state is for writes"),
        ("data --op=mix=50 --file-state=append --overwrite", "--file-state is for writes"),
        ("null: --op=write --file-state=append --overwrite", "--file-state is for writes"),
        ("data --op=write --pattern=random --file-state=append --overwrite", "--pattern sequential"),
        ("data --op=write --workers=2 --file-state=append --overwrite", "one writer"),
        ("data --op=write --file-state=sparse", "--overwrite"),
        ("data --op=write --file-state=append", "--overwrite"),
        ("data --layout=stripe=64KiB", "several targets"),
        ("data --layout=raid5", "mirror=nearest"),
    ];
    lab.refuses_each(rows.map(|(words, needle)| (("io", words), 2, needle)));
    if lab.has_direct_ring() {
        let odd = "io place --files=2 --size=1MiB --layout=stripe=1000 --buffering=direct";
        lab.refuses(odd, 2, "--layout comes to 1000 B");
    }
}

#[test]
fn a_study_compares_states_and_gives_files_their_data_back() {
    let lab = Lab::new();
    let run = "study run states.toml --target=place --size=1MiB --no-report";
    // 1 MiB to make the file, five states that cost another each, six of 512 KiB, twice.
    let outcome = lab.ends(run, 0, "writes at most 17 MiB");
    assert!(!outcome.stderr.contains("given up"), "{}", outcome.stderr);
    assert_eq!(lab.samples(1).len(), 14);
    lab.ends((run, "--write-budget=6MiB"), 2, "");
}

#[test]
fn a_file_that_grows_begins_empty_and_ends_at_its_size() {
    let lab = Lab::new();
    // Of an old file half is written: an empty one has grown by that much, a reserved one is as it was.
    for (state, half) in [("append", 1_u64 << 19), ("preallocated", 1 << 20), ("sparse", 1 << 20)] {
        let io = format!("io new-{state} --op=write --request-size=64KiB --file-state={state}");
        let facts = || std::fs::metadata(lab.path(format!("new-{state}"))).unwrap();
        let made = lab.json((&io, "--size=1MiB --bytes=1MiB"));
        assert_eq!((&made["total"]["bytes"], &made["workload"]["file_state"]), (&(1 << 20).into(), &state.into()));
        assert!(!codes(&made).contains(&"sparse_target".to_owned()), "{made}");
        assert!(facts().len() == 1 << 20 && facts().blocks() * 512 >= 1 << 20, "{state}: {:?}", facts());
        lab.refuses((&io, "--bytes=512KiB"), 2, "--overwrite");
        lab.ok((&io, "--bytes=512KiB --overwrite"));
        assert_eq!((facts().len(), facts().blocks() * 512 >= 1 << 20), (half, state == "preallocated"), "{state}");
    }
}

#[test]
fn stripes_and_mirrors_lie_on_their_files() {
    let lab = Lab::new();
    for (layout, each, copies) in [("stripe=64KiB", 1 << 20, 1), ("mirror", 2 << 20, 2)] {
        let names = ["one", "two"].map(|name| format!("{}-{name}", &layout[..6]));
        let io = ("io", (&names, format!("--layout={layout}")));
        let write = "--op=write --bytes=2MiB --size=2MiB --request-size=96KiB --overwrite --verify=read-back";
        let sample = lab.json((&io, write));
        assert!(sample["workload"]["layout"].as_str().unwrap().starts_with(&layout[..6]), "{sample}");
        // 21 whole requests go into it; every side of a mirror is looked at.
        let verified = &sample["verified"];
        assert_eq!((&verified["wrong"], &verified["blocks"]), (&0.into(), &(21 * 24 * copies).into()), "{layout}");
        let [one, two] = names.each_ref().map(|name| std::fs::read(lab.path(name)).unwrap());
        assert_eq!((one.len(), two.len()), (each, each), "{layout}");
        let same = one.iter().zip(&two).filter(|(one, two)| one == two).count();
        // Both sides were made with other bytes; what was written over is the same in a mirror.
        assert_eq!(same > each * 9 / 10, layout == "mirror", "{layout}: {same} of {each}");
        assert_eq!(lab.json((&io, "--requests=20"))["total"]["requests"], 20);
    }
}

#[test]
fn parallel_writers_have_the_figures_of_iozone() {
    let lab = Lab::new();
    let io = "io place --files=3 --size=512KiB --op=write --file-state=append --buffering=buffered --processes";
    let sample = lab.json((io, "--durability=flush-at-end --time-close"));
    assert_eq!((&sample["total"]["bytes"], sample["workers"].as_array().unwrap().len()), (&(3 << 19).into(), 3));
    let parallel = &sample["parallel"];
    let rates = ["sum", "parent", "min", "mean", "max"].map(|name| parallel[format!("{name}_bytes_per_s")].as_f64());
    let [sum, parent, min, mean, max] = rates.map(Option::unwrap);
    assert!(sum >= parent * 0.999 && min <= mean && mean <= max, "{parallel}");
    assert_eq!(names(&lab.place()), [""; 0]);
}
