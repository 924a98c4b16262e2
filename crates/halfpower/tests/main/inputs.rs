//! Files that the user names: whatever they are, the program reads them within bounds or says at once why not.

use crate::support::{Lab, Running, TINY, assert_refusal};
use rustix::fs::{CWD, FileType, mknodat};
use rustix::process::Signal;
use std::process::Stdio;

const TRACE: &str = "\
MB/s,IO/s,Op,BlockSize,OutstandingIOs,Buffering,NumThreads,Time,FileSize,Clock(s),User(ms),Kernel(ms),Time Stamp,Comment
0.52,66.97,read,8,1,H,1,120,24000,120.01,16,234,Fri Mar 10 23:27:08 2000,DMA random Hardware buffered
";

/// A laboratory with a file of every kind that is none to read, and what is said of each.
fn special() -> (Lab, Vec<(String, &'static str)>) {
    let lab = Lab::new();
    mknodat(CWD, lab.path("pipe"), FileType::Fifo, 0o600.into(), 0).unwrap();
    std::os::unix::fs::symlink("pipe", lab.path("link")).unwrap();
    std::os::unix::net::UnixListener::bind(lab.path("socket")).unwrap();
    std::fs::File::create(lab.path("long")).unwrap().set_len(64 << 30).unwrap();
    let kinds = [
        ("./pipe", "it is a pipe"),
        ("./link", "it is a pipe"),
        ("/dev/zero", "it is a device"),
        ("./socket", "No such device or address"),
        ("./long", "it has more than "),
    ];
    (lab, kinds.map(|(file, why)| (file.to_owned(), why)).to_vec())
}

#[test]
fn what_is_no_regular_file_is_not_read_and_nobody_waits_for_it() {
    let (lab, kinds) = special();
    for (file, why) in kinds {
        for command in [&["study", "check"][..], &["study", "show"], &["plan"], &["import"], &["sim", "show"]] {
            let outcome = lab.run([command, &[&file]].concat());
            let status = if command[1..] == ["check"] { 2 } else { 1 };
            assert_refusal(&outcome, status, why, &format!("{command:?} {file}"));
        }
        let simulated = lab.run(["io".to_owned(), format!("sim:{file}:x")]);
        assert_refusal(&simulated, 1, why, &format!("a machine {file}"));
        lab.write("including.toml", format!("include = \"{file}\"\n{TINY}").as_bytes());
        let included = lab.run(["study", "check", "including.toml"]);
        assert!(included.status == Some(2) && included.stderr.contains(why), "include {file}: {}", included.stderr);
    }
}

#[test]
fn what_the_kernel_makes_up_is_not_waited_for() {
    let lab = Lab::new();
    // A regular file by its look, which holds up who reads it.
    let outcome = lab.run(["study", "check", "/proc/kmsg"]);
    assert_eq!(outcome.status, Some(2), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("cannot read the study /proc/kmsg"), "{}", outcome.stderr);
}

#[test]
fn figures_that_no_storage_has_are_refused_with_their_line() {
    let lab = Lab::new();
    for (figure, instead, why) in [
        ("0.52,", "1e18,", "column 1, MB/s, is `1e18`, which is not a valid value"),
        ("66.97,", "1e15,", "no storage does 1e15 IOPS"),
        ("120.01,", "1e12,", "no run time is 1e12 s"),
    ] {
        lab.write("trace.csv", TRACE.replacen(figure, instead, 1).as_bytes());
        let outcome = lab.run(["import", "trace.csv"]);
        assert_refusal(&outcome, 1, "trace.csv:2: ", instead);
        assert!(outcome.stderr.contains(why), "{instead}: {}", outcome.stderr);
    }
    assert_eq!(lab.run(["io", "null:", "--requests=10", "--warmup=0s"]).status, Some(0));
    let record = lab.run(["export", "1"]).stdout;
    let at = record.find("\"elapsed_s\":").unwrap() + "\"elapsed_s\":".len();
    let end = at + record[at..].find(',').unwrap();
    lab.write("records.jsonl", format!("{record}{}1e12{}", &record[..at], &record[end..]).as_bytes());
    let outcome = lab.run(["import", "records.jsonl"]);
    assert_refusal(&outcome, 1, "records.jsonl:2: `elapsed_s` is 1e12; the maximum is 1e9", "records of our own");
}

#[test]
fn standard_input_is_read_to_its_end() {
    let lab = Lab::new();
    for (command, text) in [(&["import", "/dev/stdin"][..], TRACE), (&["study", "check", "/dev/fd/0"], TINY)] {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let mut piped = lab.command(command);
        piped.stdin(Stdio::from(reader)).stdout(Stdio::null()).stderr(Stdio::piped());
        let running = Running::of(piped.spawn().unwrap());
        drop(piped);
        // In parts, with a pause in which there is nothing to read.
        let (first, rest) = text.split_at(100);
        std::io::Write::write_all(&mut writer, first.as_bytes()).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(300));
        std::io::Write::write_all(&mut writer, rest.as_bytes()).unwrap();
        drop(writer);
        let outcome = running.wait();
        assert_eq!(outcome.status, Some(0), "{command:?}: {}", outcome.stderr);
    }
    let mut endless = lab.command(["study", "check", "/dev/stdin"]);
    endless.stdin(std::fs::File::open("/dev/zero").unwrap()).stdout(Stdio::null()).stderr(Stdio::piped());
    let refused = Running::of(endless.spawn().unwrap()).wait();
    assert_refusal(&refused, 2, "it has more than 16 MiB", "a stream without end");
}

#[test]
fn a_signal_ends_the_wait_for_standard_input() {
    let lab = Lab::new();
    for command in [&["study", "check", "/dev/stdin"][..], &["import", "/dev/stdin"]] {
        let (reader, _writer) = std::io::pipe().unwrap();
        let mut piped = lab.command(command);
        piped.stdin(Stdio::from(reader)).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut waiting = Running::of(piped.spawn().unwrap());
        std::thread::sleep(std::time::Duration::from_millis(300));
        waiting.signal(Signal::TERM);
        assert_eq!(waiting.wait().status, Some(130), "{command:?}");
    }
}
