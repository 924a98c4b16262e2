//! What other programs use, and what the user did not name.

use super::{Keeper, Situation, attempts, count};
use crate::device::Loop;
use crate::support::{BOTH, Lab, is_root, tool, wait_for};
use rustix::fs::FlockOperation;
use std::fs::File;
use std::process::Command;

#[test]
fn a_file_that_somebody_has_open_is_in_use() {
    let lab = Lab::of_destruction();
    let file = lab.data_file("file", 256);
    let refuses = |name: &str, reason: &str| {
        let guarded = [file.as_path()];
        Situation { lab: &lab, name, reason }.refuses(&guarded, &guarded)
    };
    let mut tried = 0;
    {
        let _reader = File::open(&file).unwrap();
        tried += refuses("a reader", "has it open");
    }
    for lock in [FlockOperation::LockShared, FlockOperation::LockExclusive] {
        let holder = File::open(&file).unwrap();
        rustix::fs::flock(&holder, lock).unwrap();
        tried += refuses("flock", "has it open");
    }
    let lease = "import fcntl, sys, time\n\
        f = open(sys.argv[1], 'r+b')\n\
        import signal; signal.signal(signal.SIGIO, signal.SIG_IGN)\n\
        fcntl.fcntl(f, fcntl.F_SETLEASE, fcntl.F_WRLCK); print('ready', flush=True); time.sleep(600)";
    if let Some(_keeper) = Keeper::of("python3", &["-c".as_ref(), lease.as_ref(), file.as_os_str()]) {
        tried += refuses("a lease", "holds a lease on it");
    }
    let mapping = "import mmap, sys, time\n\
        f = open(sys.argv[1], 'r+b'); m = mmap.mmap(f.fileno(), 0); f.close(); print('ready', flush=True); time.sleep(600)";
    if let Some(_keeper) = Keeper::of("python3", &["-c".as_ref(), mapping.as_ref(), file.as_os_str()]) {
        tried += refuses("a mapping", "is not written");
    }
    {
        // The name that it was opened by is gone.
        let link = lab.path("link");
        std::fs::hard_link(&file, &link).unwrap();
        let _writer = File::options().write(true).open(&link).unwrap();
        std::fs::remove_file(&link).unwrap();
        tried += refuses("a hard link", "has it open");
    }
    let program = lab.path("program");
    std::fs::copy("/bin/sleep", &program).unwrap();
    let mut running = Command::new(&program).arg("600").spawn().unwrap();
    let situation = Situation { lab: &lab, name: "a running program", reason: "is a running program" };
    tried += situation.refuses(&[&program], &[&program]);
    running.kill().unwrap();
    running.wait().unwrap();
    for (flag, reason) in [("+i", "is immutable (chattr +i)"), ("+a", "is append-only (chattr +a)")] {
        if is_root() && tool("chattr", &[flag.as_ref(), file.as_os_str()]) {
            tried += refuses(flag, reason);
            tool("chattr", &["-ia".as_ref(), file.as_os_str()]);
        }
    }
    count(tried, 42);
}

#[test]
fn who_holds_a_lease_is_not_disturbed() {
    let lab = Lab::of_destruction();
    let file = lab.data_file("file", 64);
    // Whoever breaks the lease has the kernel end this process.
    let lease = "import fcntl, sys, time\n\
        f = open(sys.argv[1], 'r+b')\n\
        fcntl.fcntl(f, fcntl.F_SETLEASE, fcntl.F_WRLCK); print('ready', flush=True); time.sleep(600)";
    let Some(mut keeper) = Keeper::of("python3", &["-c".as_ref(), lease.as_ref(), file.as_os_str()]) else { return };
    let situation = Situation { lab: &lab, name: "a lease", reason: "(python3) holds a lease on it" };
    situation.refuses(&[&file], &[]);
    let read = lab.run(["io", "file", "--requests=4", "--no-store"]);
    assert!(read.status == Some(1) && read.stderr.contains("holds a lease"), "{}", read.stderr);
    assert!(keeper.0.try_wait().unwrap().is_none(), "the program that held the lease has ended");
}

#[test]
fn without_the_kernel_s_word_nothing_is_overwritten() {
    let lab = Lab::of_destruction();
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
            let program = crate::support::PROGRAM;
            let hide = format!("{hide}; exec \"$0\" \"$@\"");
            let mut command = Command::new("unshare");
            command.args(["--mount", "sh", "-c", &hide, program]).args(&attempt).current_dir(lab.path(""));
            let outcome = crate::support::outcome(command);
            assert_eq!(outcome.status, Some(1), "{hide}: {attempt:?}: {}", outcome.stderr);
            assert!(outcome.stderr.contains(reason), "{hide}: {}", outcome.stderr);
            assert!(std::fs::read(&file).unwrap() == before, "{hide}: {attempt:?} changed it");
        }
    }
}

#[test]
fn only_what_the_user_names_is_overwritten() {
    let lab = Lab::of_destruction();
    let file = lab.data_file("file", 64);
    let other = lab.data_file("other", 64);
    let link = lab.path("link");
    std::os::unix::fs::symlink("file", &link).unwrap();
    let study = BOTH.replace("[trial]", "[target]\npath = \"file\"\n[trial]");
    lab.write("names.toml", study.as_bytes());
    lab.write("includes.toml", b"name = \"includes\"\ninclude = [\"names.toml\"]\n");
    let before = [&file, &other].map(|path| std::fs::read(path).unwrap());
    let unchanged = || assert!([&file, &other].map(|path| std::fs::read(path).unwrap()) == before);
    for study in ["names.toml"] {
        for arguments in [
            &["study", "run", study, "--overwrite", "--no-report"][..],
            &["plan", study, "--overwrite"],
            &["plan", study, "--overwrite", "--emit=shell"],
            &["plan", study, "--overwrite", "--emit=fio"],
        ] {
            lab.refuses(arguments, 2, "give --overwrite=file");
            unchanged();
        }
        lab.refuses(["study", "run", study, "--overwrite=other", "--no-report"], 2, "--overwrite names other");
    }
    lab.refuses(["io", "link", "--op=write", "--overwrite=file"], 2, "is the same file as the target link");
    lab.refuses(["io", "file", "--op=write", "--overwrite=link"], 2, "is the same file as the target file");
    lab.refuses(["io", "file", "--op=write", "--overwrite=other"], 2, "--overwrite names other");
    unchanged();
    // Named, it is.
    let run = lab.run(["study", "run", "names.toml", "--overwrite=file", "--no-report"]);
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    assert!(std::fs::read(&file).unwrap() != before[0] && std::fs::read(&other).unwrap() == before[1]);
}

#[test]
fn two_runs_never_write_one_target() {
    let lab = Lab::of_destruction();
    let file = lab.data_file("file", 1024);
    let before = std::fs::read(&file).unwrap();
    let writer = lab.start(["io", "file", "--op=write", "--duration=50s", "--overwrite", "--no-store"]);
    wait_for("the first run to write", || std::fs::read(&file).is_ok_and(|bytes| bytes != before));
    for attempt in attempts(&file) {
        let outcome = lab.run(&attempt);
        assert_eq!(outcome.status, Some(1), "{attempt:?}: {}", outcome.stderr);
        assert!(outcome.stderr.contains("(halfpower) has it open"), "{attempt:?}: {}", outcome.stderr);
    }
    // What is read meanwhile is likely to change, and is not verified.
    let read = lab.json(["io", "file", "--requests=4", "--no-store", "--json"]);
    let warnings = read["warnings"].as_array().unwrap();
    let message = |warning: &serde_json::Value| warning["message"].as_str().unwrap_or_default().to_owned();
    assert!(warnings.iter().any(|warning| message(warning).contains("holds an exclusive lock")), "{warnings:?}");
    drop(writer);
    // A run that reads is not written into either.
    let mut reader = lab.start(["io", "file", "--duration=50s", "--no-store"]);
    let pid = reader.pid();
    let holds = || {
        std::fs::read_dir(format!("/proc/{pid}/fd"))
            .unwrap()
            .flatten()
            .any(|descriptor| std::fs::read_link(descriptor.path()).is_ok_and(|leads| leads == file))
    };
    wait_for("the run to read", holds);
    let outcome = lab.run(["io", "file", "--op=write", "--overwrite", "--requests=4", "--no-store"]);
    assert_eq!(outcome.status, Some(1), "{}", outcome.stderr);
}

#[test]
fn a_device_that_is_written_while_it_is_read_says_so() {
    let lab = Lab::of_destruction();
    let image = lab.data_file("image", 1024);
    let Some(device) = Loop::on(&image) else { return };
    let before = std::fs::read(&image).unwrap();
    let writer = lab.start(["io", device.name(), "--op=write", "--duration=50s", "--overwrite", "--no-store"]);
    wait_for("the first run to write", || std::fs::read(&image).unwrap() != before);
    let outcome = lab.run(["io", device.name(), "--op=write", "--requests=4", "--overwrite", "--no-store"]);
    assert!(outcome.stderr.contains("(halfpower) has loop"), "{}", outcome.stderr);
    let read = lab.json(["io", device.name(), "--requests=4", "--no-store", "--json"]);
    assert!(read["warnings"].to_string().contains("holds an exclusive lock"), "{}", read["warnings"]);
    drop(writer);
    let read = lab.json(["io", device.name(), "--requests=4", "--no-store", "--json"]);
    assert!(!read["warnings"].to_string().contains("holds an exclusive lock"), "{}", read["warnings"]);
}
