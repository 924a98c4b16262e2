//! Existing data are written only if the user names that target. Targets in use are in `destructive`.

use crate::support::{Lab, contents, hash, names};
use std::os::unix::fs::symlink;

#[test]
fn a_file_is_only_read_unless_it_is_the_one_that_is_named() {
    let lab = Lab::new();
    let path = lab.data_file("data", 1024);
    lab.data_file("other", 64);
    let before = hash(&path);
    let others = || [lab.path("other"), lab.path("both.toml")].map(|path| hash(&path));
    let others_before = others();
    let study = lab.ends("study run both.toml --target data --no-report", 0, "It writes nothing");
    assert!(study.stderr.contains("--overwrite"), "{}", study.stderr);
    lab.ok("io data --requests=50");
    let rows = [
        ("io data --op=write --requests=9", "--overwrite"),
        ("io data --op=mix=50 --requests=9", "--overwrite"),
        ("io data --rw=randwrite --size=8k", "--overwrite"),
        ("io data --op=write --overwrite=other", "--overwrite names other"),
        ("study run both.toml --target=data --overwrite=place", "--overwrite names place"),
    ];
    lab.refuses_each(rows.map(|(words, needle)| (words, 2, needle)));
    assert_eq!(hash(&path), before);
    for same in ["data", "./data", path.to_str().unwrap()] {
        lab.ok(format!("io data --op=write --requests=50 --overwrite={same}"));
    }
    assert_ne!(hash(&path), before, "it was written");
    assert_eq!((std::fs::metadata(&path).unwrap().len(), others()), (1024 * 1024, others_before));
}

#[test]
fn a_file_that_is_made_stays_and_grows_only_when_it_may() {
    let lab = Lab::new();
    let length = || std::fs::metadata(lab.place().join("new")).unwrap().len();
    lab.ok("io place/new --size=1MiB --op=write --requests=9");
    assert_eq!(length(), 1 << 20);
    lab.refuses("io place/new --size=2MiB --requests=9", 2, "does not hold 2 MiB");
    lab.refuses("io place/new --size=2MiB --op=write", 2, "does not hold 2 MiB");
    lab.ok("io place/new --size=2MiB --op=write --requests=9 --overwrite");
    assert_eq!(length(), 2 << 20);
}

#[test]
fn a_directory_keeps_what_it_holds() {
    let lab = Lab::new();
    for name in ["place/a", "place/halfpower-0123456789abcdef.test", "place/.hidden"] {
        lab.data_file(name, 64);
    }
    symlink(lab.path("place/a"), lab.path("place/link")).unwrap();
    symlink("/nowhere", lab.path("place/dangling")).unwrap();
    let before = contents(&lab.place());
    let study = "study run both.toml --target place --size=1MiB --no-report";
    lab.ends(study, 0, "0123456789abcdef.test looks like a test file");
    lab.ok((study, "--overwrite"));
    lab.ok("io place --size=1MiB --op=write --requests=9");
    lab.ok("runs clean");
    assert_eq!(contents(&lab.place()), before);
    lab.ends("run place --dry-run --quick --size=64MiB", 0, "It makes a test file of 64 MiB");
    assert_eq!(contents(&lab.place()), before);
}

#[test]
fn a_link_to_a_directory_is_that_directory() {
    let lab = Lab::new();
    symlink(lab.place(), lab.path("link")).unwrap();
    lab.ok("io link --size=1MiB --requests=9");
    assert_eq!(names(&lab.place()), [""; 0]);
    assert!(lab.path("link").is_symlink());
    // A file that is made is never made through a link.
    symlink(lab.path("elsewhere"), lab.path("dangling")).unwrap();
    lab.ends("io dangling --size=1MiB --op=write --requests=9", 1, "");
    assert!(!lab.path("elsewhere").exists());
}
