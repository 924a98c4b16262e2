//! Files that the user names: the program reads any of them within bounds, or rejects it at once with the reason.

use crate::support::{Lab, Running, assert_refusal};
use rustix::fs::{CWD, FileType, mknodat};
use rustix::process::Signal;
use std::io::Write as _;
use std::process::Stdio;
use std::time::Duration;

#[test]
fn what_is_no_regular_file_is_not_read_and_nobody_waits_for_it() {
    let lab = Lab::new();
    mknodat(CWD, lab.path("pipe"), FileType::Fifo, 0o600.into(), 0).unwrap();
    std::os::unix::fs::symlink("pipe", lab.path("link")).unwrap();
    std::os::unix::net::UnixListener::bind(lab.path("socket")).unwrap();
    lab.image("long", &[], 64 << 10);
    for (file, why) in [
        ("./pipe", "it is a pipe"),
        ("./link", "it is a pipe"),
        ("/dev/zero", "it is a device"),
        ("./socket", "No such device or address"),
        ("./long", "it has more than "),
    ] {
        for (command, status) in [("study check", 2), ("study show", 1), ("plan", 1), ("import", 1), ("sim show", 1)] {
            assert_refusal(&lab.run((command, [file])), status, why, &format!("{command} {file}"));
        }
        assert_refusal(&lab.run(format!("io sim:{file}:x")), 1, why, &format!("a machine {file}"));
        lab.write("including.toml", format!("include = \"{file}\"\n{}", lab.read("tiny.toml")));
        lab.ends("study check including.toml", 2, why);
    }
    // A regular file by its look, which holds up who reads it.
    lab.ends("study check /proc/kmsg", 2, "cannot read the study /proc/kmsg");
}

#[test]
fn standard_input_is_read_to_its_end_or_until_a_signal() {
    let lab = Lab::new();
    for (command, file) in [("import /dev/stdin", "trace.csv"), ("study check /dev/fd/0", "tiny.toml")] {
        let text = lab.read(file);
        for is_ended in [false, true] {
            let (reader, mut writer) = std::io::pipe().unwrap();
            let running = Running::of(lab.command(command).stdin(reader).stdout(Stdio::null()));
            // In parts, with a pause in which there is nothing to read.
            let (first, rest) = text.split_at(100);
            writer.write_all(first.as_bytes()).unwrap();
            std::thread::sleep(Duration::from_millis(300));
            if is_ended {
                running.end(Signal::TERM).ended(130, "");
            } else {
                writer.write_all(rest.as_bytes()).unwrap();
                drop(writer);
                running.wait().ended(0, "");
            }
        }
    }
    let zero = std::fs::File::open("/dev/zero").unwrap();
    let refused = Running::of(lab.command("study check /dev/stdin").stdin(zero).stdout(Stdio::null())).wait();
    assert_refusal(&refused, 2, "it has more than 16 MiB", "a stream without end");
}
