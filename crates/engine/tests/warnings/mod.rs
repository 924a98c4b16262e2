//! Samples that could mislead say so, and those that do not mislead say nothing.

use super::{file, host, measure};
use halfpower_engine::Access;
use halfpower_model::{
    Buffering, Bytes, Cancel, FileState, Nanoseconds, Observer, Operation, Pattern, Progress, Rate, Sample, Testbed,
    WorkloadSpec,
};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The message of a warning; none where it is not there.
fn message_of<'a>(sample: &'a Sample, code: &str) -> Option<&'a str> {
    sample.warnings.iter().find(|warning| warning.code == code).map(|warning| warning.message.as_str())
}

fn spec(operation: &str) -> WorkloadSpec {
    WorkloadSpec {
        operation: Some(operation.parse().unwrap()),
        request_size: Some(Bytes(64 << 10)),
        buffering: Some(Buffering::Buffered),
        ..Default::default()
    }
}

#[test]
fn trims_that_come_around_say_so() {
    for (requests, pattern, repeats) in [
        (64, Pattern::Sequential, None),
        (64, Pattern::Shuffled, None),
        (256, Pattern::Sequential, Some("at least 75 %")),
        (256, Pattern::Shuffled, Some("at least 75 %")),
    ] {
        let (_directory, path) = file(4 << 20);
        let mut host = host(&path, Access::Overwrite);
        let trims = WorkloadSpec { requests: Some(requests), pattern: Some(pattern), ..spec("trim") };
        let sample = measure(&mut host, &trims);
        assert_eq!(sample.trim.as_ref().unwrap().requests, requests);
        let message = message_of(&sample, "trims_repeat");
        assert_eq!(message.is_some(), repeats.is_some(), "{requests} {pattern}: {message:?}");
        assert!(message.is_none_or(|message| message.starts_with(repeats.unwrap())), "{message:?}");
        assert_eq!((message_of(&sample, "sparse_target"), message_of(&sample, "nothing_to_flush")), (None, None));
        // The same target is filled again; for a host of its own the holes are somebody's.
        let again = measure(&mut host, &WorkloadSpec { requests: Some(64), ..trims.clone() });
        assert_eq!((message_of(&again, "trims_repeat"), message_of(&again, "sparse_target")), (None, None));
        if std::fs::metadata(&path).unwrap().blocks() * 512 >= 4 << 20 {
            eprintln!("skipped in part: this file system keeps punched blocks");
            continue;
        }
        drop(host);
        let elsewhere = measure(&mut super::host(&path, Access::Overwrite), &trims);
        assert!(message_of(&elsewhere, "sparse_target").is_some_and(|message| message.contains("did nothing")));
    }
}

#[test]
fn flushes_of_nothing_say_so() {
    let (_directory, path) = file(4 << 20);
    let mut host = host(&path, Access::Overwrite);
    let mut flushes = |operation| {
        let sample = measure(&mut host, &WorkloadSpec { requests: Some(40), ..spec(operation) });
        message_of(&sample, "nothing_to_flush").map(str::to_owned)
    };
    assert!(flushes("flush").unwrap().contains("the cost of an empty flush"));
    assert!(flushes("mix=write:50,flush:50").unwrap().starts_with("50 % of the flushes"));
    assert_eq!(flushes("mix=write:98,flush:2"), None);
    assert_eq!(flushes("write"), None);
}

/// Does something to the target at the first progress, and ends the run at a later one.
struct Meddler {
    path: PathBuf,
    meddle: Option<fn(&Path)>,
    cancel: Cancel,
}

impl Observer for Meddler {
    fn progress(&mut self, progress: &Progress) {
        match self.meddle.take() {
            Some(meddle) => meddle(&self.path),
            None if progress.requests > 0 => self.cancel.cancel(),
            None => {}
        }
    }
}

/// What is said of a target of 4 MiB of which half is written while somebody meddles with it.
fn changed(state: FileState, meddle: fn(&Path)) -> Option<String> {
    let (_directory, path) = file(4 << 20);
    let mut host = host(&path, Access::Overwrite);
    let writes = WorkloadSpec {
        size: Some(Bytes(2 << 20)),
        file_state: Some(state),
        duration: Some(Nanoseconds(60_000_000_000)),
        rate: Some(Rate::Requests(20)),
        ..spec("write")
    };
    let workload = writes.resolve(host.describe()).unwrap();
    let cancel = Cancel::default();
    let mut meddler = Meddler { path, meddle: Some(meddle), cancel: cancel.clone() };
    let sample = host.measure(&workload, &mut meddler, &cancel).unwrap();
    assert!(meddler.meddle.is_none() && sample.total.errors.is_empty(), "{:?}", sample.failure);
    message_of(&sample, "target_changed").map(str::to_owned)
}

#[test]
fn a_target_that_others_change_is_reported() {
    let cut = |path: &Path| std::fs::File::options().write(true).open(path).unwrap().set_len(0).unwrap();
    let remove = |path: &Path| std::fs::remove_file(path).unwrap();
    let read = |path: &Path| assert!(std::fs::read(path).is_ok());
    assert!(changed(FileState::Written, cut).unwrap().contains("truncated"));
    assert!(changed(FileState::Written, remove).unwrap().ends_with("it was removed or renamed"));
    for state in FileState::ALL {
        assert_eq!(changed(*state, read), None, "{state}");
    }
    let reads = WorkloadSpec { operation: Some(Operation::Read), requests: Some(64), ..spec("read") };
    let (_directory, path) = file(4 << 20);
    assert_eq!(message_of(&measure(&mut host(&path, Access::Read), &reads), "target_changed"), None);
}
