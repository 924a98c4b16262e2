//! Rejected commands: one error with the remedy, status 1 or 2, and nothing left behind.

use crate::support::{Lab, Mounted, PROGRAM, assert_refusal, is_root, names, outcome, skip, tool};
use std::os::unix::fs::PermissionsExt;

#[test]
fn a_file_without_data_is_not_read() {
    let lab = Lab::new();
    lab.image("sparse", &[], 8);
    lab.write("empty", "");
    lab.refuses("io sparse", 1, "sparse is sparse");
    lab.refuses("run sparse --no-report", 1, "name a copy without holes (`cp --sparse=never FILE COPY`)");
    lab.refuses("study run tiny.toml --target=sparse", 1, "sparse is sparse");
    lab.refuses("io empty", 2, "empty is empty");
    lab.refuses("run empty", 2, "write it first (`halfpower io empty");
    // The remedies work.
    outcome(lab.program("cp", "--sparse=never sparse sparse.stored")).ended(0, "");
    lab.ok("io empty --op write --size 1MiB --bytes 1MiB --overwrite");
    lab.ok("io sparse.stored --requests 9");
    lab.ok("io empty --requests 9");
}

#[test]
fn what_is_no_target_is_named() {
    let lab = Lab::new();
    let pipe = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, lab.path("pipe"), pipe, 0o600.into(), 0).unwrap();
    lab.refuses_each([
        ("run nowhere", 2, "nowhere does not exist"),
        ("io nowhere", 2, "create the file with --size"),
        ("io nowhere/file --size=1MiB", 1, "nowhere does not exist"),
        ("run tiny.toml/below", 1, "tiny.toml/below"),
        ("io /dev/zero", 1, "/dev/zero is a character device"),
        ("run /dev/null --overwrite", 1, "name a regular file or a block device"),
        ("io pipe", 1, "pipe is a pipe"),
        ("io /proc/meminfo", 1, "/proc/meminfo is not storage"),
        ("io /sys/devices/system/cpu/online --op=write --overwrite", 1, "is not storage"),
        ("run /proc", 1, "name a path on a disk"),
    ]);
}

#[test]
fn wrong_usage_has_status_2() {
    let lab = Lab::new();
    lab.data_file("data", 1024);
    for (words, needle) in [
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
        ("io data --cpus 3-1", "CPUs"),
        ("io data --cpus 99999", "CPUs"),
        ("io data --rw-flags no-wait --buffering direct --personality sync", "--personality vectored"),
        ("io data --personality sync --depth 8", "--workers 8"),
        ("io data --no-such-option", "--no-such-option"),
        ("io data --durability flush-at-end", "--op write"),
        ("io null: --cache cold", "no cache"),
        ("run data --quick --thorough", "--thorough"),
        ("run place --size 0", "size is 0 B"),
        ("run place --size 1", "do not hold"),
        ("run place --write-budget 0", "--write-budget"),
        ("study run nothing", "no built-in study"),
        ("study resume x", "x"),
        ("no-such-command", "no-such-command"),
    ] {
        let refused = lab.refuses(words, 2, needle);
        assert_eq!(
            refused.stderr.matches("do not hold").count(),
            usize::from(needle.contains("do not hold")),
            "{words}"
        );
    }
    lab.refuses("study resume 7", 1, "there is no run 7");
    lab.refuses("report 7", 1, "there is no run 7");
    // What only reads makes no store.
    for reads in ["runs", "report 7", "compare 1 2", "history 7", "export 7"] {
        lab.ends(format!("{reads} --store=none/x.db"), 1, "there is no store none/x.db; check --store");
    }
    assert!(!lab.path("none").exists());
}

#[test]
fn every_mistake_of_a_study_is_reported() {
    let lab = Lab::new();
    let trial = "[trial]\nduration = \"never\"\n[[sweep]]\nname = \"s\"\ndeph = 3\n";
    lab.write("bad.toml", format!("name = \"bad\"\ncolour = 1\n{trial}"));
    for command in ["study check", "study run", "plan"] {
        let outcome = lab.ends((command, "bad.toml"), 2, "");
        for (place, text) in [("bad.toml:2:1", "colour"), ("bad.toml:4:", "never"), ("bad.toml:7:1", "depth")] {
            assert!(outcome.stderr.contains(place) && outcome.stderr.contains(text), "{place}: {}", outcome.stderr);
        }
    }
    assert_eq!(names(&lab.place()), [""; 0]);
}

#[test]
fn unusual_but_valid_options_work() {
    let lab = Lab::new();
    lab.data_file("data", 1024);
    for words in [
        "io data --requests 9 --interval 1h",
        "io data --requests 9 --seed 18446744073709551615",
        "io data --requests 9 --depth 16384 --request-size 512 --buffering buffered --personality io_uring",
        "io data --requests 9 --request-size 513",
        "io data --requests=2000 --request-size=512 --workers=1000 --personality=sync --buffering=buffered",
        "io data --bytes 1 --duration 1h",
    ] {
        let outcome = lab.run(words);
        let forbidden = outcome.stderr.contains("io_uring personality does not work here");
        assert!(outcome.status == Some(0) || forbidden, "{words}: {}", outcome.stderr);
    }
    let measured = |bytes: &str| lab.run(("io data --no-store", bytes)).stdout;
    assert!(measured("--bytes=100KiB").contains("; 100 KiB in whole requests are 128 KiB\n"));
    assert!(!measured("--bytes=128KiB").contains("whole requests"));
    for words in ["io place --size=1MiB --requests=10", "doctor place", "runs", "plan survey --target=place"] {
        // With a small stack.
        lab.limited("-s 64", words).ended(0, "");
    }
}

#[test]
fn a_limit_of_the_host_is_reported() {
    let lab = Lab::new();
    lab.data_file("data", 1024);
    let io = |words: &str| format!("io {words} --requests 99 --no-store");
    for (limit, words, remedy) in [
        (
            40,
            "data --workers 64 --personality sync --request-size 4KiB",
            "use fewer --workers, or raise the limit of 40",
        ),
        // Processes have files of their own.
        (8, "data --workers 64 --processes --request-size 4KiB", "or raise the limit of 8"),
        (40, "place --files 99 --size 64KiB", "name fewer targets, or raise the limit of 40"),
        // The check of the file takes the last descriptor.
        (6, "data --buffering direct", "name fewer targets, or raise the limit of 6"),
    ] {
        let outcome = lab.limited(&format!("-n {limit}"), &io(words));
        assert_refusal(&outcome, 1, &format!("{remedy} on open files (ulimit -n)"), words);
    }
    assert_refusal(&lab.limited("-f 2048", &io("place --size 8MiB")), 1, "ulimit -f", "a limit of 1 MiB");
    assert_eq!(names(&lab.place()), [""; 0]);
    let nine = io("data --workers=9 --personality=sync --request-size=4KiB");
    if !is_root() {
        return;
    }
    let Some(limited) = lab.nobodys(lab.program("prlimit", ("--nproc=1", (PROGRAM, nine)))) else { return };
    assert_refusal(&outcome(limited), 1, "use fewer --workers, or raise ulimit -u", "one thread");
}

#[test]
fn a_store_that_cannot_be_used_is_named() {
    let lab = Lab::new();
    lab.data_file("data", 256);
    lab.write("text.db", "this is no database, and long enough to differ from an empty one");
    for (store, needle, to_read) in [
        ("place", "place is not a store of Halfpower", "place is not a store of Halfpower"),
        ("/proc/none/results.db", "--no-store", "there is no store"),
        ("text.db", "is not a store of Halfpower", "is not a store of Halfpower"),
        ("data/below.db", "data/below.db", "data/below.db"),
    ] {
        lab.refuses(format!("io data --requests=9 --store={store}"), 1, needle);
        lab.refuses(format!("runs --store={store}"), 1, to_read);
    }
    let mut homeless = lab.command("runs");
    homeless.env_remove("XDG_DATA_HOME").env_remove("HOME");
    assert_refusal(&outcome(homeless), 1, "--store", "no home");
}

#[test]
fn missing_permissions_are_reported() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    let secret = lab.data_file("secret", 256);
    std::fs::set_permissions(secret, PermissionsExt::from_mode(0o600)).unwrap();
    lab.data_file("open", 256);
    lab.directory("home");
    lab.give_away("home");
    for (words, needle) in [
        ("io secret", "no permission to read secret"),
        ("run place", "no permission to write place"),
        ("io place", "no permission to write place"),
        ("io place/new --size=1MiB", "no permission to write place"),
        ("io open --op=write --overwrite", "no permission to write open"),
        ("runs --store=place/results.db", "--store"),
    ] {
        let Some(command) = lab.as_nobody(words) else { return };
        assert_refusal(&outcome(command), 1, needle, words);
    }
    assert_eq!(names(&lab.place()), [""; 0]);
    outcome(lab.as_nobody("io open --requests=9").unwrap()).ended(0, "");
}

#[test]
fn too_little_space_is_reported_and_nothing_stays() {
    let lab = Lab::new();
    lab.data_file("data", 256);
    let Some(_mounted) = Mounted::tmpfs(lab.path("full"), "size=10m") else { return };
    lab.refuses("run full", 2, "10 MiB are free, 128 MiB are needed");
    lab.refuses("io full --size=20MiB", 2, "too little space in full");
    lab.ends("io full --size=2MiB --requests=9 --no-store", 0, "full is memory, not storage");
    assert_eq!(names(&lab.path("full")), [""; 0]);
    lab.image("full/sparse", &[], 64);
    let needle = "ENOSPC: no space left on the file system";
    lab.ends("io full/sparse --op=write --bytes=64MiB --overwrite", 1, needle);
    assert_eq!(lab.runs(), [(1, "failed".to_owned())], "what was measured until then is kept");
    // Now no byte is free.
    lab.refuses_each([
        ("io full --size=1MiB", 2, "0 B are free"),
        ("run full", 2, "free some space"),
        ("io full/new --size=64KiB", 2, "0 B are free"),
        ("io data --requests=9 --store=full/new.db", 1, "--no-store"),
    ]);
}

#[test]
fn a_read_only_file_system_is_reported() {
    let lab = Lab::new();
    let Some(mounted) = Mounted::tmpfs(lab.path("fixed"), "size=4m") else { return };
    lab.data_file("fixed/data", 256);
    if !tool("mount", ("-o remount,ro", [&mounted.0])) {
        return skip("nothing can be mounted anew here");
    }
    for words in ["run fixed", "io fixed", "io fixed/new --size=1MiB"] {
        lab.refuses(words, 1, "read-only file system, where no test file can be made");
    }
    lab.refuses("io fixed/data --op=write --overwrite", 1, "use reads only");
    lab.ok("io fixed/data --requests=9");
}
