//! Jobs as workloads.

use super::job::{Made, works};
use super::job_file::read_command_line;
use super::table::{How, OPTIONS};
use super::units::{bytes, time};
use halfpower_model::{HugePages, Sharing, SubmitBatch};
use std::collections::BTreeSet;
use std::fmt::Write as _;

fn told(line: &str) -> Vec<String> {
    let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
    let jobs = read_command_line(&words).unwrap().jobs;
    match works(&jobs) {
        Ok(works) => works
            .iter()
            .map(|work| {
                let files: Vec<_> = work.files.iter().map(|file| file.display().to_string()).collect();
                let spec = work.spec.imported(None);
                let bytes = spec.limits.bytes.map_or_else(String::new, |bytes| format!(", {bytes}"));
                format!("{}.{} {}: {spec}{bytes}", work.stage, work.group, files.join(" "))
            })
            .collect(),
        Err(error) => error.0,
    }
}

#[test]
fn a_job_is_a_workload_with_a_worker_for_each_clone() {
    assert_eq!(
        told(
            "--name=a --rw=randrw --rwmixread=70 --bs=8k --size=1g --ioengine=io_uring --iodepth=16 --direct=1 --numjobs=2"
        ),
        [
            "0.1 a.0.0: shuffled mix=70, 8 KiB, QD16, direct, 1 GiB",
            "0.2 a.1.0: shuffled mix=70, 8 KiB, QD16, direct, 1 GiB",
        ]
    );
    assert_eq!(
        told("--size=64m --name=w --rw=write --bs=64k --fsync=8 --name=r --stonewall --rw=read --filename=w.0.0"),
        [
            "0.1 w.0.0: sequential write, 64 KiB, QD1, buffered, fsync=8, 64 MiB",
            "1.2 w.0.0: sequential read, 4 KiB, QD1, buffered, 64 MiB"
        ]
    );
    assert_eq!(
        told(
            "--name=a --rw=randread --norandommap --bssplit=4k/75:64k/25 --size=10m --time_based --runtime=2m --filename=x:y"
        ),
        ["0.1 x y: random read, 4KiB:75/64KiB:25, QD1, buffered, stripe=4KiB"]
    );
    assert_eq!(
        told("--name=a --rw=read --size=1m --thinktime=2ms --thinktime_blocks=8"),
        ["0.1 a.0.0: sequential read, 4 KiB, QD1, buffered, pauses of 2 ms after 8 requests, 1 MiB"]
    );
    let flags = "--name=a --ioengine=pvsync2 --hipri --nowait=1 --direct=1 --size=1m";
    assert_eq!(told(flags), ["0.1 a.0.0: sequential read, 4 KiB, QD1, direct, hipri,nowait, 1 MiB"]);
    let zones = "--name=a --rw=read --bs=64k --size=1g --zonemode=strided --zonesize=1m --zoneskip=8m";
    assert_eq!(told(zones), ["0.1 a.0.0: runs=1MiB/8MiB read, 64 KiB, QD1, buffered, 1 GiB"]);
    assert_eq!(
        told("--name=a --rw=randtrimwrite --size=1m --filename=x"),
        ["0.1 x: shuffled trim_write, 4 KiB, QD1, buffered, 2 MiB"]
    );
    let other = told("--name=b --nowait=1 --size=1m");
    assert_eq!(other, ["command line: nowait=1: only pvsync2 has such requests; use ioengine=pvsync2"]);
}

#[test]
fn sizes_places_and_mixes_are_as_in_fio() {
    for (job, expected) in [
        // The file is larger than the bytes that are moved.
        ("--rw=read --size=4m --filesize=16m", "sequential read, 4 KiB, QD1, buffered, 4 MiB"),
        // The last of two counts.
        ("--rw=randrw --size=1m --rwmixread=70 --rwmixwrite=20", "shuffled mix=80, 4 KiB, QD1, buffered, 1 MiB"),
        // An empty part is the default, a missing one the part before it.
        ("--rw=write --size=1m --bs=8k,,16k", "sequential write, 4 KiB, QD1, buffered, 1 MiB"),
        ("--rw=write --size=1m --bs=,8k", "sequential write, 8 KiB, QD1, buffered, 1 MiB"),
        ("--rw=read --size=1m --bs=8k-16k", "sequential read, 8KiB:1/16KiB:1, QD1, buffered, 1 MiB"),
        (
            "--rw=read --size=1m --bsrange=4k-16k",
            "sequential read, 4KiB:1/8KiB:1/12KiB:1/16KiB:1, QD1, buffered, 1 MiB",
        ),
        ("--rw=read --size=1m --bsrange=4k-10k", "sequential read, 4KiB:2/8KiB:2/10KiB:1, QD1, buffered, 1 MiB"),
        ("--rw=read --size=1m --bsrange=4k-4k", "sequential read, 4 KiB, QD1, buffered, 1 MiB"),
        // The rest is shorter than a block.
        ("--rw=read --size=1000k --bs=64k", "sequential read, 64 KiB, QD1, buffered, 960 KiB"),
        (
            "--rw=read --size=1m --offset=25% --io_size=50%",
            "sequential read, 4 KiB, QD1, buffered, shifted by 256 KiB, 512 KiB",
        ),
        ("--rw=read:8k --size=64k", "strided=12KiB read, 4 KiB, QD1, buffered, 24 KiB"),
        ("--rw=read:12k --size=64k", "strided=16KiB read, 4 KiB, QD1, buffered, 64 KiB"),
        ("--rw=read:8k --size=64k --filesize=1m", "strided=12KiB read, 4 KiB, QD1, buffered, 64 KiB"),
        ("--rw=read --size=0x1000", "sequential read, 4 KiB, QD1, buffered, 4 KiB"),
        ("--rw=read --size=1m --direct=1 --buffered=1", "sequential read, 4 KiB, QD1, buffered, 1 MiB"),
        ("--rw=randread --size=1m --rate_iops=500,200", "shuffled read, 4 KiB, QD1, buffered, at most 500/s, 1 MiB"),
    ] {
        assert_eq!(told(&format!("--name=a --filename=x {job}")), [format!("0.1 x: {expected}")], "{job}");
    }
    // A job finds the file of one before it.
    let later = told("--name=a --rw=write --size=1m --filename=x --name=b --stonewall --rw=read --filename=x");
    assert_eq!(later[1], "1.2 x: sequential read, 4 KiB, QD1, buffered, 1 MiB");
    for (job, message) in [
        ("--direct=foo", "direct: `foo` is not one of its values: 0, 1, false, true"),
        ("--filesize=1m-4m", "filesize=1m-4m: a range is refused; give one size"),
        ("--startdelay=1-3", "startdelay=1-3: a range is refused; give one time"),
        ("--bssplit=4k/60:8k/60", "bssplit=4k/60:8k/60: its shares are more than 100 %"),
        ("--wait_for=b", "wait_for=b: there is no such job before it"),
        ("--iodepth=foo", "iodepth=foo: use 1 to 4294967295"),
    ] {
        assert_eq!(told(&format!("--name=a --filename=x --size=1m {job}")), [format!("command line: {message}")]);
    }
    let far = told("--name=a --rw=read --filesize=1m --offset=2m");
    assert_eq!(far, ["command line: offset=2m: it is beyond the end"]);
    let small = told("--name=a --rw=read --size=2k");
    assert_eq!(small, ["command line: size=2k: it is smaller than one block (bs)"]);
}

#[test]
fn a_worker_has_the_buffers_order_and_file_of_fio_s() {
    let of = |line: &str| {
        let words: Vec<String> =
            format!("--name=a --size=1m --filename=x {line}").split(' ').map(str::to_owned).collect();
        let work = works(&read_command_line(&words).unwrap().jobs).unwrap().remove(0);
        let spec = work.spec;
        assert_eq!(spec.submit_batch, Some(SubmitBatch::Requests(1)), "{line}");
        (work.made, spec.sharing, spec.huge_pages)
    };
    let (cursor, small) = (Some(Sharing::Cursor), Some(HugePages::Off));
    for (line, expected) in [
        ("--rw=read", (Made::Filled, cursor, small)),
        ("--rw=randrw", (Made::Filled, None, small)),
        ("--rw=write", (Made::Allocated, cursor, small)),
        ("--rw=write --overwrite=1", (Made::Filled, cursor, small)),
        ("--rw=randwrite --fallocate=none --mem=mmaphuge:/huge", (Made::Sparse, None, Some(HugePages::On))),
    ] {
        assert_eq!(of(line), expected, "{line}");
    }
    let wrong = told("--name=a --size=1m --fallocate=some");
    assert_eq!(wrong, ["command line: fallocate=some: use native, posix, keep, truncate or none"]);
}

#[test]
fn refused_options_are_named_with_what_to_do() {
    assert_eq!(
        told("--name=a --rw=randread:8 --size=1g --latency_target=5 --no_such=1"),
        [
            "command line: latency_target: it is refused: run it at several depths; the report has the depth for a latency",
            "command line: no_such: it is no option of fio's that Halfpower knows; leave it out if the job means the same without it",
            "command line: rw=randread:8: runs of random requests are refused; leave the number out",
        ]
    );
    assert_eq!(told("--name=a --rw=read"), ["command line: job a: a file that has to be made needs size or filesize"]);
    assert_eq!(told("--name=a --rw=read --size=4q"), ["command line: size=4q: it is no size, like 4k, 1g or 4096"]);
    assert_eq!(told("--name=a --size=1m --ioengine=rbd").len(), 1);
    let zones = |rw: &str, more: &str| told(&format!("--name=a --size=1g --zonesize=1m --rw={rw}{more}"));
    assert!(zones("randread", "")[0].ends_with("zones are for rw=read, write, trim and rw without a number"));
    assert!(zones("read", " --zonemode=zbd")[0].ends_with("zones of the device itself are not used; use strided"));
    assert!(zones("read", " --zonerange=2m")[0].ends_with("a zone is read once and whole; leave it out"));
    // Nothing overflows; what the target has no room for is refused there.
    let far = told("--name=a --rw=read --size=512p --nrfiles=1 --offset_increment=512p --numjobs=16");
    assert_eq!(far.len(), 16);
}

#[test]
fn sizes_and_times_are_fio_s() {
    for (text, expected) in [("4k", 4096), ("4kb", 4096), ("4KiB", 4000), ("1m", 1 << 20), ("512", 512), ("512b", 512)]
    {
        assert_eq!(bytes(text, 1024), Some(expected), "{text}");
    }
    assert_eq!((bytes("4k", 1000), bytes("4kib", 1000)), (Some(4000), Some(4096)));
    assert_eq!(bytes("99999999999t", 1024), None);
    assert_eq!(time("2m").map(|time| time.0), Some(120_000_000_000));
}

#[test]
fn what_is_refused_is_said_shortly() {
    let line: String = (0..33).map(|job| format!(" --name=j{job} --size=1m --rw=x{job}")).collect();
    let said = told(line.trim_start());
    assert_eq!((said.len(), said[30].as_str()), (31, "and 3 more"), "{said:?}");
    let long = told(&format!("--name=a --size=1m --rw={}", "x".repeat(100_000)));
    assert!(long.iter().all(|line| line.len() <= 400), "{}", long[0].len());
}

#[test]
fn the_table_in_the_docs_is_this_one() {
    let names: BTreeSet<&str> = OPTIONS.iter().map(|(name, ..)| *name).collect();
    assert_eq!(names.len(), OPTIONS.len(), "an option is there twice");
    let mut table = String::from("| Option | Here | |\n| --- | --- | --- |\n");
    for (name, other, how, words) in OPTIONS {
        let other = if other.is_empty() { String::new() } else { format!(", `{other}`") };
        let how = match how {
            How::Same => "same",
            How::Near => "near",
            How::Ignored => "ignored",
            How::Refused => "refused",
        };
        let _ = writeln!(table, "| `{name}`{other} | {how} | {words} |");
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/FIO.md");
    let docs = std::fs::read_to_string(path).unwrap();
    assert!(docs.contains(&table), "docs/FIO.md lacks this table:\n{table}");
}
