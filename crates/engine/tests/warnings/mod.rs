//! Misleading samples have warnings, and others have none.

use super::{file, host, measure, spec};
use halfpower_engine::Access;
use halfpower_model::{Cancel, Observer, Progress, Sample, Testbed, WorkloadSpec};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// The message of a warning; none where it is not there.
fn message_of<'a>(sample: &'a Sample, code: &str) -> Option<&'a str> {
    sample.warnings.iter().find(|warning| warning.code == code).map(|warning| warning.message.as_str())
}

fn of(operation: &str, how_many: &str) -> WorkloadSpec {
    spec(&format!("operation={operation} request_size=64KiB buffering=buffered {how_many}"))
}

#[test]
fn repeated_trims_and_empty_flushes_are_reported() {
    for (operation, requests, code, said) in [
        ("trim", 64, "trims_repeat", None),
        ("trim", 256, "trims_repeat", Some("at least 75 %")),
        ("flush", 40, "nothing_to_flush", Some("nothing was written between")),
        ("mix=write:98,flush:2", 40, "nothing_to_flush", None),
    ] {
        let (_directory, path) = file(4 << 20);
        let mut host = host(&path, Access::Overwrite);
        let sample = measure(&mut host, &of(operation, &format!("requests={requests}")));
        let message = message_of(&sample, code);
        assert_eq!(message.is_some(), said.is_some(), "{requests} {operation}: {message:?}");
        assert!(message.is_none_or(|message| message.starts_with(said.unwrap())), "{message:?}");
        assert_eq!(message_of(&sample, "sparse_target"), None);
        // The same host fills its target again; for another host the holes are a user's.
        let again = measure(&mut host, &of("trim", "requests=64"));
        assert_eq!((message_of(&again, "trims_repeat"), message_of(&again, "sparse_target")), (None, None));
        if std::fs::metadata(&path).unwrap().blocks() * 512 >= 4 << 20 {
            eprintln!("skipped in part: this file system keeps punched blocks");
            continue;
        }
        drop(host);
        let elsewhere = measure(&mut super::host(&path, Access::Overwrite), &of("trim", "requests=64"));
        assert!(message_of(&elsewhere, "sparse_target").is_some_and(|message| message.contains("did nothing")));
    }
}

/// Cuts the target short at the first progress.
struct Cuts(PathBuf);

impl Observer for Cuts {
    fn progress(&mut self, _: &Progress) {
        std::fs::File::options().write(true).open(&self.0).unwrap().set_len(0).unwrap();
    }
}

#[test]
fn a_target_that_others_change_is_reported() {
    let (_directory, path) = file(4 << 20);
    let mut host = host(&path, Access::Overwrite);
    let workload = of("write", "size=2MiB duration=500ms rate=20").resolve(host.describe()).unwrap();
    let sample = host.measure(&workload, &mut Cuts(path), &Cancel::default()).unwrap();
    assert!(message_of(&sample, "target_changed").unwrap().contains("truncated"), "{:?}", sample.warnings);
}
