//! Nothing that holds data is touched unless its owner says so for that very target.

use crate::support::{BOTH, Lab, contents, hash, names};
use std::os::unix::fs::symlink;

#[test]
fn a_file_is_only_read() {
    let lab = Lab::new();
    lab.write("both.toml", BOTH.as_bytes());
    let path = lab.data_file("data", 1024);
    let before = hash(&path);
    let study = lab.run(["study", "run", "both.toml", "--target", "data", "--no-report"]);
    assert_eq!(study.status, Some(0), "{}", study.stderr);
    assert!(study.stderr.contains("It writes nothing") && study.stderr.contains("--overwrite"), "{}", study.stderr);
    assert_eq!(lab.run(["io", "data", "--requests=50"]).status, Some(0));
    for arguments in [["--op=write", "--requests=9"], ["--op=mix=50", "--requests=9"], ["--rw=randwrite", "--size=8k"]]
    {
        lab.refuses([&["io", "data"], &arguments[..]].concat(), 2, "--overwrite");
    }
    assert_eq!(hash(&path), before);
}

#[test]
fn only_the_very_target_is_overwritten() {
    let lab = Lab::new();
    lab.write("both.toml", BOTH.as_bytes());
    let path = lab.data_file("data", 1024);
    lab.data_file("other", 64);
    let write = ["io", "data", "--op=write", "--requests=50"];
    lab.refuses([&write[..], &["--overwrite=other"]].concat(), 2, "--overwrite names other");
    lab.refuses(["study", "run", "both.toml", "--target=data", "--overwrite=place"], 2, "--overwrite names place");
    let before = hash(&path);
    let others = [lab.path("other"), lab.path("both.toml")].map(|path| hash(&path));
    for same in ["data".to_owned(), "./data".to_owned(), path.display().to_string()] {
        let outcome = lab.run([&write[..], &[&format!("--overwrite={same}")]].concat());
        assert_eq!(outcome.status, Some(0), "{same}: {}", outcome.stderr);
    }
    assert_ne!(hash(&path), before, "it was written");
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 1024 * 1024);
    assert_eq!([lab.path("other"), lab.path("both.toml")].map(|path| hash(&path)), others);
}

#[test]
fn a_file_that_is_made_stays_and_grows_only_when_it_may() {
    let lab = Lab::new();
    assert_eq!(lab.run(["io", "place/new", "--size=1MiB", "--op=write", "--requests=9"]).status, Some(0));
    let path = lab.place().join("new");
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 1 << 20);
    lab.refuses(["io", "place/new", "--size=2MiB", "--requests=9"], 2, "does not hold 2 MiB");
    lab.refuses(["io", "place/new", "--size=2MiB", "--op=write"], 2, "does not hold 2 MiB");
    let grown = lab.run(["io", "place/new", "--size=2MiB", "--op=write", "--requests=9", "--overwrite"]);
    assert_eq!(grown.status, Some(0), "{}", grown.stderr);
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 2 << 20);
}

#[test]
fn a_directory_keeps_what_it_holds() {
    let lab = Lab::new();
    lab.write("both.toml", BOTH.as_bytes());
    for name in ["place/a", "place/halfpower-0123456789abcdef.test", "place/.hidden"] {
        lab.data_file(name, 64);
    }
    symlink(lab.path("place/a"), lab.path("place/link")).unwrap();
    symlink("/nowhere", lab.path("place/dangling")).unwrap();
    let before = contents(&lab.place());
    let study = ["study", "run", "both.toml", "--target", "place", "--size=1MiB", "--no-report"];
    let outcome = lab.run(study);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("0123456789abcdef.test looks like a test file"), "{}", outcome.stderr);
    assert_eq!(lab.run([&study[..], &["--overwrite"]].concat()).status, Some(0));
    assert_eq!(lab.run(["io", "place", "--size=1MiB", "--op=write", "--requests=9"]).status, Some(0));
    assert_eq!(lab.run(["runs", "clean"]).status, Some(0));
    assert_eq!(contents(&lab.place()), before);
}

#[test]
fn a_link_to_a_directory_is_that_directory() {
    let lab = Lab::new();
    symlink(lab.place(), lab.path("link")).unwrap();
    assert_eq!(lab.run(["io", "link", "--size=1MiB", "--requests=9"]).status, Some(0));
    assert_eq!(names(&lab.place()), [""; 0]);
    assert!(lab.path("link").is_symlink());
    // A file that is made is never made through a link.
    symlink(lab.path("elsewhere"), lab.path("dangling")).unwrap();
    let made = lab.run(["io", "dangling", "--size=1MiB", "--op=write", "--requests=9"]);
    assert_eq!(made.status, Some(1), "{}", made.stderr);
    assert!(!lab.path("elsewhere").exists());
}

#[test]
fn a_report_replaces_nothing_but_a_report() {
    let lab = Lab::new();
    lab.write("thesis.html", b"my thesis");
    symlink(lab.path("thesis.html"), lab.path("link.html")).unwrap();
    let study = ["study", "run", "tiny.toml", "--target", "place", "--size=1MiB"];
    for (report, needle) in [
        ("link.html", "symbolic link"),
        ("thesis.html", "is no report of Halfpower"),
        ("none/r.html", "cannot make r.html in none"),
        ("place", "not a regular file"),
        ("/proc/r.html", "cannot make r.html in /proc"),
    ] {
        lab.refuses([&study[..], &["--report", report]].concat(), 1, needle);
    }
    assert_eq!(std::fs::read_to_string(lab.path("thesis.html")).unwrap(), "my thesis");
    assert!(lab.path("link.html").is_symlink());
    let replaced = ["--report=r.html"; 2].map(|report| lab.run([&study[..], &[report]].concat()).status);
    assert_eq!(replaced, [Some(0); 2]);
    assert_eq!(names(&lab.place()), [""; 0]);
}
