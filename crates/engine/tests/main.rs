//! The engine on real files: every personality does the same work, limits are exact, ends are clean.

mod conformance;
mod layouts;
mod parallel;
mod personalities;
mod phases;
mod requests;
mod servers;
mod verify;
mod warnings;

use halfpower_engine::{Access, Host, NULL_TARGET, Target};
use halfpower_model::key::Key;
use halfpower_model::{Cancel, Observer, Personality, Progress, Sample, Testbed, WorkloadSpec};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// A directory on the disk the build is on, with a file of `size` bytes that are not zero.
fn file(size: usize) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = directory.path().join("target");
    let mut file = File::create(&path).unwrap();
    file.write_all(&vec![7; size]).unwrap();
    file.sync_all().unwrap();
    (directory, path)
}

fn host(path: &Path, access: Access) -> Host {
    Host::new(Target::open(path, access).unwrap())
}

/// The host of a file; none, with a message, if a personality does not work on it.
fn host_for(personality: Personality, path: &Path, access: Access) -> Option<Host> {
    let host = host(path, access);
    let works = host.describe().supports(personality);
    if !works {
        eprintln!("skipped: {personality} does not work on this machine");
    }
    works.then_some(host)
}

/// The options of keys with values: `operation=write depth=8`.
fn spec(text: &str) -> WorkloadSpec {
    let read = |word: &str| {
        let (key, value) = word.split_once('=').unwrap();
        Key::named(key).unwrap().read(value).unwrap()
    };
    text.split_whitespace().map(read).fold(WorkloadSpec::default(), |all, one| all.or(&one))
}

fn measure(host: &mut Host, spec: &WorkloadSpec) -> Sample {
    let workload = spec.resolve(host.describe()).unwrap();
    host.measure(&workload, &mut (), &Cancel::default()).unwrap()
}

/// Worker processes are this program, started with the name of this test.
#[test]
fn worker_process() {
    halfpower_engine::worker_process();
}

#[test]
fn null_completes_everything_and_reports_the_program_as_the_bottleneck() {
    let mut host = host(Path::new(NULL_TARGET), Access::Read);
    let sample = measure(&mut host, &spec("depth=32 requests=100000"));
    assert_eq!(sample.total.requests, 100_000);
    assert!(sample.generator_bound);
    assert!(sample.warnings.iter().any(|warning| warning.code == "generator_bound"));
    assert!(sample.instrument.loop_ns_per_request.is_some_and(|cost_ns| cost_ns > 0.0));
}

/// Unmounts when dropped.
struct Mount(tempfile::TempDir);

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = rustix::mount::unmount(self.0.path(), rustix::mount::UnmountFlags::DETACH);
    }
}

/// A tmpfs of 1 MiB with a sparse file of 8 MiB on it; none, with a message, if it cannot be mounted.
fn small_filesystem() -> Option<(Mount, PathBuf)> {
    let directory = tempfile::tempdir().unwrap();
    let flags = rustix::mount::MountFlags::empty();
    if let Err(error) = rustix::mount::mount("tmpfs", directory.path(), "tmpfs", flags, Some(c"size=1m")) {
        eprintln!("skipped: cannot mount a tmpfs ({error})");
        return None;
    }
    let path = directory.path().join("target");
    File::create(&path).unwrap().set_len(8 << 20).unwrap();
    Some((Mount(directory), path))
}

/// Cancels at the first progress report.
struct CancelSoon(Cancel);

impl Observer for CancelSoon {
    fn progress(&mut self, _: &Progress) {
        self.0.cancel();
    }
}

#[test]
fn a_cold_read_comes_from_the_device() {
    let (_directory, path) = file(16 << 20);
    let mut host = host(&path, Access::Read);
    let cold = measure(&mut host, &spec("buffering=buffered cache=cold bytes=16MiB"));
    if cold.cached_share_before == Some(1.0) {
        eprintln!("skipped: the file system keeps files in memory");
        return;
    }
    assert!(cold.cached_share_before.is_some_and(|share| share < 0.01), "{:?}", cold.cached_share_before);
    if let Some(block) = &cold.block {
        assert!(block.bytes >= 16 << 20, "{block:?}");
    }
    let once = measure(&mut host, &spec("buffering=buffered cache=cold duration=60s"));
    assert_eq!(once.total.bytes, 16 << 20, "it ends where it began, as nobody said how much");
    let codes = |sample: &Sample| sample.warnings.iter().map(|warning| warning.code.clone()).collect::<Vec<_>>();
    assert!(!codes(&once).iter().any(|code| code == "cache_hits" || code == "memory_speed"), "{:?}", once.warnings);
    let twice = measure(&mut host, &spec("buffering=buffered cache=cold bytes=64MiB"));
    assert_eq!(twice.total.bytes, 64 << 20);
    let hits = twice.warnings.iter().find(|warning| warning.code == "cache_hits");
    assert!(hits.is_some_and(|warning| warning.remedy.contains("bytes to 16MiB")), "{:?}", twice.warnings);
    let warm = measure(&mut host, &spec("buffering=buffered cache=warm bytes=16MiB"));
    assert!(warm.cached_share_before.is_some_and(|share| share > 0.99), "{:?}", warm.cached_share_before);
}
