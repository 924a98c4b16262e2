//! What other programs use, and what the user did not name.

use super::{Destruction, Keeper, attempts};
use crate::support::{Loop, PROGRAM, is_root, outcome, tool, wait_for};
use rustix::fs::FlockOperation;
use std::fs::File;
use std::path::Path;
use std::process::Command;

const LEASE: &str = "import fcntl; fcntl.fcntl(f, fcntl.F_SETLEASE, fcntl.F_WRLCK)";

/// Does something to a file, `f`, and keeps at it.
fn python(does: &str, file: &Path) -> Option<Keeper> {
    let begin = "import sys, time\nf = open(sys.argv[1], 'r+b')";
    let script = format!("{begin}\n{does}\nprint('ready', flush=True); time.sleep(600)");
    Keeper::of("python3", (["-c", &script], [file]))
}

#[test]
fn a_file_that_somebody_has_open_is_in_use() {
    let lab = Destruction::new();
    let file = lab.data_file("file", 256);
    let saves = |reason: &str| lab.saves(reason, &[&file], &[&file]);
    let reader = File::open(&file).unwrap();
    saves("has it open");
    drop(reader);
    for lock in [FlockOperation::LockShared, FlockOperation::LockExclusive] {
        let holder = File::open(&file).unwrap();
        rustix::fs::flock(&holder, lock).unwrap();
        saves("has it open");
    }
    let ignore = "import signal; signal.signal(signal.SIGIO, signal.SIG_IGN)\n";
    if let Some(_keeper) = python(&format!("{ignore}{LEASE}"), &file) {
        saves("holds a lease on it");
    }
    if let Some(_keeper) = python("import mmap; m = mmap.mmap(f.fileno(), 0); f.close()", &file) {
        saves("is not written");
    }
    // The name that it was opened by is gone.
    let link = lab.path("link");
    std::fs::hard_link(&file, &link).unwrap();
    let writer = File::options().write(true).open(&link).unwrap();
    std::fs::remove_file(&link).unwrap();
    saves("has it open");
    drop(writer);
    let program = lab.path("program");
    std::fs::copy("/bin/sleep", &program).unwrap();
    let mut running = Command::new(&program).arg("600").spawn().unwrap();
    lab.saves("is a running program", &[&program], &[&program]);
    running.kill().unwrap();
    running.wait().unwrap();
    for (flag, reason) in [("+i", "is immutable (chattr +i)"), ("+a", "is append-only (chattr +a)")] {
        if is_root() && tool("chattr", (flag, [&file])) {
            saves(reason);
            tool("chattr", ("-ia", [&file]));
        }
    }
    lab.count(42);
}

#[test]
fn who_holds_a_lease_is_not_disturbed() {
    let lab = Destruction::new();
    let file = lab.data_file("file", 64);
    // Whoever breaks the lease has the kernel end this process.
    let Some(mut keeper) = python(LEASE, &file) else { return };
    lab.saves("(python3) holds a lease on it", &[&file], &[]);
    lab.ends("io file --requests=4 --no-store", 1, "holds a lease");
    assert!(keeper.0.try_wait().unwrap().is_none(), "the program that held the lease has ended");
}

#[test]
fn without_the_kernel_s_word_nothing_is_overwritten() {
    let lab = Destruction::new();
    let file = lab.data_file("file", 64);
    if !is_root() {
        return;
    }
    let before = std::fs::read(&file).unwrap();
    for (hide, reason) in [
        ("umount -l /sys", "/sys is not mounted"),
        ("umount -l /proc", "/proc is not mounted"),
        ("mount -t tmpfs none /sys/class", "/sys/class/block does not show any device"),
        ("mount -t tmpfs none /sys/devices", "/sys/class/block does not show "),
    ] {
        for attempt in attempts(&file) {
            let hide = format!("{hide}; exec \"$0\" \"$@\"");
            let command = lab.program("unshare", (["--mount", "sh", "-c", &hide, PROGRAM], &attempt));
            let outcome = outcome(command);
            assert_eq!(outcome.status, Some(1), "{hide}: {attempt:?}: {}", outcome.stderr);
            assert!(outcome.stderr.contains(reason), "{hide}: {}", outcome.stderr);
            assert!(std::fs::read(&file).unwrap() == before, "{hide}: {attempt:?} changed it");
        }
    }
}

#[test]
fn only_what_the_user_names_is_overwritten() {
    let lab = Destruction::new();
    let file = lab.data_file("file", 64);
    let other = lab.data_file("other", 64);
    let link = lab.path("link");
    std::os::unix::fs::symlink("file", &link).unwrap();
    let study = lab.read("both.toml").replace("[trial]", "[target]\npath = \"file\"\n[trial]");
    lab.write("names.toml", study);
    lab.write("includes.toml", "name = \"includes\"\ninclude = [\"names.toml\"]\n");
    let before = [&file, &other].map(|path| std::fs::read(path).unwrap());
    let unchanged = || assert!([&file, &other].map(|path| std::fs::read(path).unwrap()) == before);
    for (words, needle) in [
        ("study run names.toml --overwrite --no-report", "give --overwrite=file"),
        ("plan names.toml --overwrite", "give --overwrite=file"),
        ("plan names.toml --overwrite --emit=shell", "give --overwrite=file"),
        ("plan names.toml --overwrite --emit=fio", "give --overwrite=file"),
        ("study run names.toml --overwrite=other --no-report", "--overwrite names other"),
        ("io link --op=write --overwrite=file", "is the same file as the target link"),
        ("io file --op=write --overwrite=link", "is the same file as the target file"),
        ("io file --op=write --overwrite=other", "--overwrite names other"),
    ] {
        lab.refuses(words, 2, needle);
        unchanged();
    }
    // Named, it is.
    lab.ok("study run names.toml --overwrite=file --no-report");
    assert!(std::fs::read(&file).unwrap() != before[0] && std::fs::read(&other).unwrap() == before[1]);
}

#[test]
fn two_runs_never_write_one_target() {
    let lab = Destruction::new();
    let file = lab.data_file("file", 1024);
    let before = std::fs::read(&file).unwrap();
    let writer = lab.start("io file --op=write --duration=50s --overwrite --no-store");
    wait_for("the first run to write", || std::fs::read(&file).is_ok_and(|bytes| bytes != before));
    for attempt in attempts(&file) {
        lab.ends(&attempt, 1, "(halfpower) has it open");
    }
    // What is read meanwhile is likely to change, and is not verified.
    let warnings = lab.json("io file --requests=4 --no-store")["warnings"].to_string();
    assert!(warnings.contains("holds an exclusive lock"), "{warnings}");
    drop(writer);
    // A run that reads is not written into either.
    let mut reader = lab.start("io file --duration=50s --no-store");
    let pid = reader.pid();
    let holds = || {
        std::fs::read_dir(format!("/proc/{pid}/fd"))
            .unwrap()
            .flatten()
            .any(|descriptor| std::fs::read_link(descriptor.path()).is_ok_and(|leads| leads == file))
    };
    wait_for("the run to read", holds);
    lab.ends("io file --op=write --overwrite --requests=4 --no-store", 1, "");
}

#[test]
fn a_device_that_is_written_while_it_is_read_says_so() {
    let lab = Destruction::new();
    let image = lab.data_file("image", 1024);
    let Some(device) = Loop::on(&image) else { return };
    let before = std::fs::read(&image).unwrap();
    let io = format!("io {} --no-store", device.name());
    let writer = lab.start((&io, "--op=write --duration=50s --overwrite"));
    wait_for("the first run to write", || std::fs::read(&image).unwrap() != before);
    lab.ends((&io, "--op=write --requests=4 --overwrite"), 1, "(halfpower) has loop");
    let warnings = || lab.json((&io, "--requests=4"))["warnings"].to_string();
    assert!(warnings().contains("holds an exclusive lock"));
    drop(writer);
    assert!(!warnings().contains("holds an exclusive lock"));
}
