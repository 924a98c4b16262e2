//! Whole runs of every personality and of the example plug-ins: the same work leaves the same bytes, a cancelled run ends, and a
//! failed run names its cause. Single transfers are tested beside the personalities.

#[path = "../../../../examples/built.rs"]
pub(super) mod examples;

use super::servers::{self, Server};
use super::{CancelSoon, file, host, measure, spec};
use halfpower_engine::{Access, Host, NULL_TARGET};
use halfpower_model::{Cancel, MeasureError, NamedPersonality, Personality, Sample, Testbed, WorkerKind, WorkloadSpec};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Every personality that moves bytes of a file here.
fn personalities(host: &Host) -> Vec<NamedPersonality> {
    let mut personalities = Vec::new();
    for facts in &host.describe().personalities {
        match (&facts.unavailable, facts.personality) {
            (Some(reason), personality) => eprintln!("skipped: {personality}, {reason}"),
            (None, Personality::Null) => eprintln!("skipped: null, it moves no bytes"),
            (None, Personality::S3) => eprintln!("skipped: s3, it writes whole objects; the program's tests have it"),
            (None, Personality::Plugin) => personalities.extend(examples::positioned().map(|file| plugin(file, ""))),
            (None, personality) if ["sg", "nvme"].contains(&personality.word()) => {
                eprintln!("skipped: {personality}, it speaks to disks, not to files");
            }
            (None, personality) => personalities.push(NamedPersonality { personality, plugin: None }),
        }
    }
    personalities
}

/// A file as a personality reaches it: by its own name, or behind a server, which ends when dropped.
struct Reached {
    name: PathBuf,
    _server: Option<Server>,
}

impl Reached {
    /// None, with a message, where the server cannot be had.
    fn by(named: &NamedPersonality, path: &Path) -> Option<Reached> {
        let (name, server) = match named.personality {
            Personality::Nbd => {
                let server = servers::nbdkit(&["file", &path.display().to_string()])?;
                (server.name.clone().into(), Some(server))
            }
            Personality::Smb => {
                let server = servers::samba(path.parent().unwrap(), "")?;
                (format!("smb://{}/share/target", server.name).into(), Some(server))
            }
            _ => (path.to_owned(), None),
        };
        Some(Reached { name, _server: server })
    }

    fn host(&self, access: Access) -> Host {
        host(&self.name, access)
    }
}

pub(super) fn plugin(file: &Path, options: &str) -> NamedPersonality {
    format!("plugin:{},{options}", file.display()).parse().unwrap()
}

/// The options that all runs here have in common, with personality `named`.
pub(super) fn spec_of(named: &NamedPersonality) -> WorkloadSpec {
    let NamedPersonality { personality, plugin } = named.clone();
    let buffering = if personality.is_remote() { "direct" } else { "buffered" };
    let common = spec(&format!("pattern=random request_size=4KiB buffering={buffering}"));
    WorkloadSpec { personality: Some(personality), plugin, ..common }
}

/// For the tests of the plug-in in memory, which has one memory for the whole program.
pub(super) static RAM: Mutex<()> = Mutex::new(());

/// A run of the plug-in that fails on demand, on its own storage; none if it cannot be built.
fn ram(options: &str, spec: WorkloadSpec) -> Option<Result<Sample, MeasureError>> {
    let _turn = RAM.lock().unwrap_or_else(PoisonError::into_inner);
    let named = plugin(examples::ram()?, options);
    let spec = spec.or(&self::spec("size=1MiB")).or(&spec_of(&named));
    let mut host = host(Path::new(NULL_TARGET), Access::Overwrite);
    let workload = spec.resolve(host.describe()).unwrap();
    Some(host.measure(&workload, &mut (), &Cancel::default()))
}

#[test]
fn the_same_work_leaves_the_same_bytes() {
    let (_directory, path) = file(1 << 20);
    let mut first = None;
    let personalities = personalities(&host(&path, Access::Read));
    for named in personalities {
        std::fs::write(&path, vec![7; 1 << 20]).unwrap();
        let spec = spec("operation=mix=30 requests=300 seed=3").or(&spec_of(&named));
        let Some(reached) = Reached::by(&named, &path) else { continue };
        let sample = measure(&mut reached.host(Access::Overwrite), &spec);
        assert!(sample.is_complete(), "{named}: {:?}", sample.failure);
        assert_eq!(sample.total.requests, 300, "{named}");
        let bytes = std::fs::read(&path).unwrap();
        let changed = bytes.chunks(4096).filter(|block| block.iter().any(|byte| *byte != 7)).count();
        assert!((100..256).contains(&changed), "{named}: {changed} of 256 blocks are hit by some 210 random writes");
        assert!(*first.get_or_insert_with(|| bytes.clone()) == bytes, "{named} left other bytes than the first");
    }
}

#[test]
fn what_is_written_verifies_in_every_way_workers_can_be() {
    let (_directory, path) = file(1 << 20);
    let personalities = personalities(&host(&path, Access::Read));
    for named in personalities {
        let Some(reached) = Reached::by(&named, &path) else { continue };
        for worker_kind in [WorkerKind::Thread, WorkerKind::Process] {
            let depth = if named.personality.is_deep() { 8 } else { 1 };
            let load = format!("depth={depth} workers=3 processes={worker_kind} requests=2000");
            let spec = spec(&format!("operation=mix=40 verify=read_back {load}")).or(&spec_of(&named));
            let sample = measure(&mut reached.host(Access::Overwrite), &spec);
            assert!(sample.is_complete(), "{named}, {worker_kind}: {:?}", sample.failure);
            let verified = sample.verified.expect("it was verified");
            assert_eq!((verified.wrong, verified.first_wrong), (0, None), "{named}, {worker_kind}");
            assert!(verified.blocks > 200, "{named}, {worker_kind}: {} blocks", verified.blocks);
        }
    }
}

#[test]
fn cancelling_ends_every_personality() {
    let (_directory, path) = file(1 << 20);
    let personalities = personalities(&host(&path, Access::Read));
    for named in personalities {
        let Some(reached) = Reached::by(&named, &path) else { continue };
        let mut host = reached.host(Access::Read);
        let spec = spec("duration=600s workers=2").or(&spec_of(&named));
        let workload = spec.resolve(host.describe()).unwrap();
        let (cancel, begun) = (Cancel::default(), Instant::now());
        let sample = host.measure(&workload, &mut CancelSoon(cancel.clone()), &cancel).unwrap();
        assert!(begun.elapsed() < Duration::from_secs(60), "{named}");
        assert!(sample.total.requests > 0, "{named}");
        assert_eq!(sample.failure.map(|failure| failure.code), Some("interrupted".to_owned()), "{named}");
    }
}

#[test]
fn an_error_of_a_plug_in_ends_the_sample_with_its_cause() {
    for (name, workers) in [("EIO", 1_u32), ("ENODEV", 3)] {
        let spec = spec(&format!("operation=write requests=1000 workers={workers}"));
        let Some(sample) = ram(&format!("fail_after=100,errno={name}"), spec) else { return };
        let sample = sample.unwrap();
        assert_eq!(sample.failure.as_ref().map(|failure| failure.code.as_str()), Some(name));
        let failed = sample.total.errors.get(name).copied().unwrap_or(0);
        assert!((1..=u64::from(workers)).contains(&failed), "{:?}", sample.total.errors);
        // The first of them to fail ends the others, whose hundred may not be full.
        assert!((100..=100 * u64::from(workers)).contains(&sample.total.requests), "{}", sample.total.requests);
    }
}

#[test]
fn short_transfers_of_a_plug_in_are_continued_and_counted() {
    let Some(sample) = ram("short_every=5", spec("requests=1000 depth=4")) else { return };
    let sample = sample.unwrap();
    assert!(sample.is_complete(), "{:?}", sample.failure);
    assert_eq!((sample.total.requests, sample.total.bytes), (1000, 1000 * 4096));
    // Every fifth transfer is short: of the 1000 that begin a request, and of those that continue with one.
    assert!((245..=255).contains(&sample.total.short_transfers), "{}", sample.total.short_transfers);
    assert_eq!(*sample.instrument.obtained, ["ram 1.0 short_every=5"]);
}

#[test]
fn a_transfer_that_a_plug_in_loses_ends_the_run_with_its_name() {
    let Some(result) = ram("lose=50", spec("requests=1000 workers=2")) else { return };
    let message = match result {
        Ok(sample) => sample.failure.expect("it failed").message,
        Err(error) => error.to_string(),
    };
    assert!(message.contains("ram.so returned nothing, with 1 transfers outstanding"), "{message}");
}

#[test]
fn a_plug_in_says_why_it_cannot_be_opened() {
    let Some(result) = ram("lost=50", WorkloadSpec::default()) else { return };
    let error = result.unwrap_err();
    let cause = std::error::Error::source(&error).map_or_else(String::new, ToString::to_string);
    assert!(cause.contains("the option lost is not understood; there are delay_us=N"), "{error}: {cause}");
}

#[test]
fn a_target_cut_short_ends_the_sample_with_what_was_measured() {
    let (_directory, path) = file(4 << 20);
    let personalities = personalities(&host(&path, Access::Read));
    // A server answers with an error.
    for named in personalities.into_iter().filter(|named| !named.personality.is_remote()) {
        std::fs::write(&path, vec![7; 4 << 20]).unwrap();
        let mut host = host(&path, Access::Read);
        let spec = spec("pattern=sequential requests=2048").or(&spec_of(&named));
        let workload = spec.resolve(host.describe()).unwrap();
        // Half a block is left at the end: a short transfer first, then the end.
        std::fs::File::options().write(true).open(&path).unwrap().set_len((2 << 20) + 2048).unwrap();
        let sample = host.measure(&workload, &mut (), &Cancel::default()).unwrap();
        assert_eq!(sample.failure.as_ref().map(|failure| failure.code.as_str()), Some("end_of_target"), "{named}");
        assert_eq!(sample.total.errors.get("end_of_target"), Some(&1));
        assert!(sample.total.requests < 2048);
    }
}
