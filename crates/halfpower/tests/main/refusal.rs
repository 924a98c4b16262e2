//! What cannot be measured: one clear sentence with the remedy, status 1 or 2, and nothing left behind.

use crate::support::{Lab, Mounted, PROGRAM, assert_refusal, is_root, names, outcome, skip};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;

/// Nobody in particular.
const NOBODY: u32 = 65_534;

#[test]
fn a_file_without_data_is_not_read() {
    let lab = Lab::new();
    let sparse = std::fs::File::create(lab.path("sparse")).unwrap();
    sparse.set_len(8 << 20).unwrap();
    lab.write("empty", b"");
    lab.refuses(["io", "sparse"], 1, "sparse is sparse");
    lab.refuses(["run", "sparse", "--no-report"], 1, "name a copy without holes (`cp --sparse=never FILE COPY`)");
    lab.refuses(["study", "run", "tiny.toml", "--target=sparse"], 1, "sparse is sparse");
    lab.refuses(["io", "empty"], 2, "empty is empty");
    lab.refuses(["run", "empty"], 2, "write it first (`halfpower io empty");
    // The remedies do what they say.
    let mut copy = std::process::Command::new("cp");
    copy.args(["--sparse=never", "sparse", "sparse.stored"]).current_dir(lab.path("."));
    assert!(copy.status().unwrap().success());
    for remedy in [
        "io empty --op write --size 1MiB --bytes 1MiB --overwrite",
        "io sparse.stored --requests 9",
        "io empty --requests 9",
    ] {
        let outcome = lab.run(remedy.split(' '));
        assert_eq!(outcome.status, Some(0), "{remedy}: {}", outcome.stderr);
    }
}

#[test]
fn what_is_not_there_or_no_target_is_named() {
    let lab = Lab::new();
    lab.refuses(["run", "nowhere"], 2, "nowhere does not exist");
    lab.refuses(["io", "nowhere"], 2, "create the file with --size");
    lab.refuses(["io", "nowhere/file", "--size=1MiB"], 1, "nowhere does not exist");
    lab.refuses(["run", "tiny.toml/below"], 1, "tiny.toml/below");
    lab.refuses(["io", "/dev/zero"], 1, "/dev/zero is a character device");
    lab.refuses(["run", "/dev/null", "--overwrite"], 1, "name a regular file or a block device");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        lab.path("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .unwrap();
    lab.refuses(["io", "pipe"], 1, "pipe is a pipe");
}

#[test]
fn wrong_usage_has_status_2() {
    let lab = Lab::new();
    lab.data_file("data", 1024);
    for (arguments, needle) in [
        ("io data --depth 0", "depth is 0"),
        ("io data --depth 99999999999", "--depth"),
        ("io data --workers 2000", "from 1 to 1024"),
        ("io data --size 0", "size is 0 B"),
        ("io data --size 2MiB", "does not hold 2 MiB"),
        ("io data --size 1k", "1 KiB of data do not hold a request of 64 KiB"),
        ("io data --duration 0", "duration is 0"),
        ("io data --duration soon", "soon"),
        ("io data --interval 1ms", "from 10 ms"),
        ("io data --request-size 0", "request_size is 0 B"),
        ("io data --request-size 2GiB", "to 1 GiB"),
        ("io data --request-size 1GiB", "do not hold a request of 1 GiB;"),
        ("io data --requests 0", "requests is 0"),
        ("io data --warmup 99999999h", "too large"),
        ("io data --depth -1", "invalid value '-1' for '--depth <N>': write a whole number from 1 to 16384"),
        ("io data --size -4k", "`-4k` is below zero"),
        ("io data --submit-batch 4", "--submit-batch is 4, and at a depth of 1 it can be 1 only"),
        ("io data --depth 8 --wait-batch 9", "from 1 to 8"),
        ("io data --cpu-count 65536", "cpu_count is 65536; it must be"),
        ("io data --cpus 1023", "--cpus names CPU 1023"),
        ("io data --rw-flags no-wait --buffering direct --personality sync", "--personality vectored"),
        ("io data --cpus 3-1", "CPUs"),
        ("io data --personality sync --depth 8", "--workers 8"),
        ("io data --no-such-option", "--no-such-option"),
        ("io data --durability flush-at-end", "--op write"),
        ("io null: --cache cold", "no cache"),
        ("run data --quick --thorough", "--thorough"),
        ("run place --size 0", "size is 0 B"),
        ("run place --write-budget 0", "--write-budget"),
        ("study run nothing", "no built-in study"),
        ("study resume x", "x"),
        ("no-such-command", "no-such-command"),
    ] {
        lab.refuses(arguments.split(' '), 2, needle);
    }
    let many = lab.run(["run", "place", "--size", "1"]);
    assert_eq!((many.status, many.stderr.matches("do not hold").count()), (Some(2), 1), "{}", many.stderr);
    lab.refuses(["io", "data", "--cpus=99999"], 2, "CPUs");
    lab.refuses(["study", "resume", "7"], 1, "there is no run 7");
    lab.refuses(["report", "7"], 1, "there is no run 7");
}

#[test]
fn what_the_kernel_makes_up_is_no_target() {
    let lab = Lab::new();
    lab.refuses(["io", "/proc/meminfo"], 1, "/proc/meminfo is not storage");
    lab.refuses(["io", "/sys/devices/system/cpu/online", "--op=write", "--overwrite"], 1, "is not storage");
    lab.refuses(["run", "/proc"], 1, "name a path on a disk");
}

#[test]
fn a_limit_on_open_files_is_told() {
    let lab = Lab::new();
    lab.data_file("data", 1024);
    for (limit, arguments, remedy) in [
        (
            40,
            "data --workers 64 --personality sync --request-size 4KiB",
            "use fewer --workers, or raise the limit of 40",
        ),
        // Processes have files of their own.
        (8, "data --workers 64 --processes --request-size 4KiB", "or raise the limit of 8"),
        (40, "place --files 99 --size 64KiB", "name fewer targets, or raise the limit of 40"),
        // The last that there is was taken to look at the file.
        (6, "data --buffering direct", "name fewer targets, or raise the limit of 6"),
    ] {
        let mut command = std::process::Command::new("sh");
        let script = format!("ulimit -n {limit}; exec '{PROGRAM}' io {arguments} --requests 99 --no-store");
        command.args(["-c", &script]).current_dir(lab.path("."));
        assert_refusal(&outcome(command), 1, &format!("{remedy} on open files (ulimit -n)"), arguments);
        assert_eq!(names(&lab.place()), [""; 0]);
    }
}

#[test]
fn bytes_that_come_to_no_whole_request_are_told() {
    let lab = Lab::new();
    lab.data_file("data", 1024);
    let measured = |bytes: &str| lab.run(["io", "data", "--no-store", bytes]).stdout;
    assert!(measured("--bytes=100KiB").contains("; 100 KiB in whole requests are 128 KiB\n"));
    assert!(!measured("--bytes=128KiB").contains("whole requests"));
}

#[test]
fn odd_but_possible_wishes_are_met() {
    let lab = Lab::new();
    lab.data_file("data", 1024);
    for arguments in [
        "io data --requests 9 --interval 1h",
        "io data --requests 9 --seed 18446744073709551615",
        "io data --requests 9 --depth 16384 --request-size 512 --buffering buffered --personality io_uring",
        "io data --requests 9 --request-size 513",
        "io data --bytes 1 --duration 1h",
    ] {
        let outcome = lab.run(arguments.split(' '));
        let forbidden = outcome.stderr.contains("io_uring personality does not work here");
        assert!(outcome.status == Some(0) || forbidden, "{arguments}: {}", outcome.stderr);
    }
}

#[test]
fn every_mistake_of_a_study_is_told() {
    let lab = Lab::new();
    lab.write(
        "bad.toml",
        b"name = \"bad\"\ncolour = 1\n[trial]\nduration = \"never\"\n[[sweep]]\nname = \"s\"\ndeph = 3\n",
    );
    for arguments in [&["study", "check", "bad.toml"][..], &["study", "run", "bad.toml"], &["plan", "bad.toml"]] {
        let outcome = lab.run(arguments);
        assert_eq!(outcome.status, Some(2), "{}", outcome.stderr);
        for (place, text) in [("bad.toml:2:1", "colour"), ("bad.toml:4:", "never"), ("bad.toml:7:1", "depth")] {
            assert!(outcome.stderr.contains(place) && outcome.stderr.contains(text), "{place}: {}", outcome.stderr);
        }
    }
    assert_eq!(names(&lab.place()), [""; 0]);
}

#[test]
fn a_store_that_cannot_be_used_is_named() {
    let lab = Lab::new();
    lab.data_file("data", 256);
    lab.write("text.db", b"this is no database, and long enough to be told from one that is empty");
    for (store, needle) in [
        ("place", "place is not a store of Halfpower"),
        ("/proc/none/results.db", "--no-store"),
        ("text.db", "is not a store of Halfpower"),
        ("data/below.db", "data/below.db"),
    ] {
        lab.refuses(["io", "data", "--requests=9", "--store", store], 1, needle);
        lab.refuses(["runs", "--store", store], 1, needle);
    }
    let mut homeless = lab.command(["runs"]);
    homeless.env_remove("XDG_DATA_HOME").env_remove("HOME");
    assert_refusal(&outcome(homeless), 1, "--store", "no home");
}

#[test]
fn who_may_not_is_told_so() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    let secret = lab.data_file("secret", 256);
    std::fs::set_permissions(secret, PermissionsExt::from_mode(0o600)).unwrap();
    lab.data_file("open", 256);
    std::fs::create_dir(lab.path("home")).unwrap();
    std::os::unix::fs::chown(lab.path("home"), Some(NOBODY), Some(NOBODY)).unwrap();
    let try_it = |arguments: &[&str]| {
        let mut command = lab.command(arguments);
        command.uid(NOBODY).gid(NOBODY);
        command
    };
    if try_it(&["--version"]).status().is_err() {
        return skip(&format!("other users cannot run {PROGRAM}"));
    }
    for (arguments, needle) in [
        (&["io", "secret"][..], "no permission to read secret"),
        (&["run", "place"], "no permission to write place"),
        (&["io", "place"], "no permission to write place"),
        (&["io", "place/new", "--size=1MiB"], "no permission to write place"),
        (&["io", "open", "--op=write", "--overwrite"], "no permission to write open"),
        (&["runs", "--store=place/results.db"], "--store"),
    ] {
        assert_refusal(&outcome(try_it(arguments)), 1, needle, &format!("{arguments:?}"));
    }
    assert_eq!(names(&lab.place()), [""; 0]);
    let read = outcome(try_it(&["io", "open", "--requests=9"]));
    assert_eq!(read.status, Some(0), "{}", read.stderr);
}

#[test]
fn a_tmpfs_of_ten_mebibytes_is_too_small_for_a_survey() {
    let lab = Lab::new();
    let Some(_mounted) = Mounted::tmpfs(lab.path("small"), "size=10m") else { return };
    lab.refuses(["run", "small"], 2, "10 MiB are free, 128 MiB are needed");
    lab.refuses(["io", "small", "--size=20MiB"], 2, "too little space in small");
    let fits = lab.run(["io", "small", "--size=2MiB", "--requests=9"]);
    assert_eq!(fits.status, Some(0), "{}", fits.stderr);
    assert!(fits.stderr.contains("small is memory, not storage"), "{}", fits.stderr);
    assert_eq!(names(&lab.path("small")), [""; 0]);
}

#[test]
fn a_full_file_system_is_told_and_left_as_it_was() {
    let lab = Lab::new();
    let Some(_mounted) = Mounted::tmpfs(lab.path("full"), "size=4m") else { return };
    lab.data_file("data", 256);
    std::fs::File::create(lab.path("full/sparse")).unwrap().set_len(64 << 20).unwrap();
    let kept = lab.run(["io", "full/sparse", "--op=write", "--bytes=64MiB", "--overwrite"]);
    assert_eq!(kept.status, Some(1), "{}", kept.stderr);
    assert!(kept.stderr.contains("ENOSPC: no space left on the file system"), "{}", kept.stderr);
    assert_eq!(lab.runs(), [(1, "failed".to_owned())], "what was measured until then is kept");
    // Now there is no room at all.
    lab.refuses(["io", "full", "--size=1MiB"], 2, "0 B are free");
    lab.refuses(["run", "full"], 2, "free some space");
    lab.refuses(["io", "full/new", "--size=64KiB"], 2, "0 B are free");
    lab.refuses(["io", "data", "--requests=9", "--store=full/new.db"], 1, "--no-store");
}

#[test]
fn a_read_only_file_system_is_told() {
    let lab = Lab::new();
    let Some(_mounted) = Mounted::tmpfs(lab.path("fixed"), "size=4m") else { return };
    lab.data_file("fixed/data", 256);
    let path = lab.path("fixed");
    assert!(crate::support::tool("mount", &["-o".as_ref(), "remount,ro".as_ref(), path.as_os_str()]));
    for arguments in [&["run", "fixed"][..], &["io", "fixed"], &["io", "fixed/new", "--size=1MiB"]] {
        lab.refuses(arguments, 1, "read-only file system, where no test file can be made");
    }
    lab.refuses(["io", "fixed/data", "--op=write", "--overwrite"], 1, "use reads only");
    let read = lab.run(["io", "fixed/data", "--requests=9"]);
    assert_eq!(read.status, Some(0), "{}", read.stderr);
}

#[test]
fn a_file_larger_than_allowed_is_told() {
    let lab = Lab::new();
    let mut command = std::process::Command::new("sh");
    let script = format!("ulimit -f 2048; exec '{PROGRAM}' io place --size 8MiB --requests 9 --no-store");
    command.args(["-c", &script]).current_dir(lab.path("."));
    assert_refusal(&outcome(command), 1, "ulimit -f", "a limit of 1 MiB");
    assert_eq!(names(&lab.place()), [""; 0]);
}

#[test]
fn a_small_stack_is_enough() {
    let lab = Lab::new();
    for arguments in ["io place --size=1MiB --requests=10", "doctor place", "runs", "plan survey --target=place"] {
        let mut command = std::process::Command::new("sh");
        command.args(["-c", &format!("ulimit -s 64; exec '{PROGRAM}' {arguments}")]);
        command.current_dir(lab.path(".")).env("XDG_DATA_HOME", lab.path("home"));
        let outcome = outcome(command);
        assert_eq!(outcome.status, Some(0), "{arguments}: {}", outcome.stderr);
    }
}

#[test]
fn a_host_that_gives_no_more_threads_is_told() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    lab.data_file("data", 256);
    let mut command = std::process::Command::new("prlimit");
    command.args(["--nproc=1", PROGRAM, "io", "data", "--workers=9", "--personality=sync", "--request-size=4KiB"]);
    command.args(["--requests=99", "--no-store"]).current_dir(lab.path(".")).uid(NOBODY).gid(NOBODY);
    let outcome = outcome(command);
    if outcome.stderr.starts_with("prlimit:") {
        return skip(&format!("other users cannot run {PROGRAM}"));
    }
    assert_refusal(&outcome, 1, "use fewer --workers, or raise ulimit -u", "one thread");
}
