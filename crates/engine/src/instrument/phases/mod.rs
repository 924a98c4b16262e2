//! Phases of requests in the block layer: queued until issued, issued until completed; and splits, merges and requeues.
//!
//! The studies used a bus analyser. Here tracepoints are observed for short times, until some hundred requests are seen, with
//! pauses nine times as long, to keep the overhead low on a fast device. It needs root. Opening and closing the tracepoints
//! takes tens of milliseconds, before and after the measured part.

mod follow;
mod requests;
mod ring;
mod tracepoint;

use crate::system::cpus_in;
use follow::{Follower, Point};
use halfpower_model::sample::Phases;
use ring::Ring;
use std::io;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tracepoint::Tracepoint;

pub use requests::{BlockEvent, BlockPoint, RequestRecorder};

/// Interval between reads of a ring, and the maximum length of an observation.
const LOOK: Duration = Duration::from_millis(1);
const LONGEST: Duration = Duration::from_secs(1);
/// Bytes of a ring.
const RING_BYTES: usize = 128 << 10;
/// A ring this full ends an observation; the rest is for events until they are disabled.
const FULL: f64 = 0.5;
/// The pause after an observation that a full ring ended, in observations.
const PAUSE: u32 = 9;

/// Why phases cannot be observed here; none if they can.
pub(crate) fn refusal() -> Option<String> {
    // No device has these numbers, but the kernel accepts the filter.
    open(&[(0, 0)], &Point::OF_PHASES, RING_BYTES).err()
}

/// The tracepoints, and a ring per CPU, filtered by device.
fn open(
    devices: &[(u32, u32)],
    points: &'static [(Point, &'static str)],
    ring_bytes: usize,
) -> Result<(Vec<Tracepoint>, Vec<Ring>), String> {
    let tracepoints = tracepoint::all(points)?;
    let numbers =
        devices.iter().map(|(major, minor)| format!("dev == {}", u64::from(*major) << 20 | u64::from(*minor)));
    let filter = numbers.collect::<Vec<_>>().join(" || ");
    let open = |cpu| Ring::open(cpu, &tracepoints, &filter, ring_bytes);
    let rings = online()?.into_iter().map(open).collect::<io::Result<Vec<_>>>();
    let rings = rings.map_err(|error| match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => "needs root, or CAP_PERFMON".to_owned(),
        Some(libc::EMFILE | libc::ENFILE) => "needs a higher limit on open files; raise ulimit -n".to_owned(),
        _ => format!("the kernel denied its tracepoints ({error})"),
    })?;
    Ok((tracepoints, rings))
}

/// The observing thread.
#[derive(Debug)]
pub(crate) struct Watching {
    /// Dropped, it ends the thread.
    running: Sender<()>,
    thread: JoinHandle<Phases>,
}

impl Watching {
    /// Begins to observe devices `(major, minor)`, partitions by their disks; or returns why it cannot.
    pub(crate) fn start(devices: &[(u32, u32)]) -> Result<Watching, String> {
        if devices.is_empty() {
            return Err(without_devices(Path::new("/sys/dev/block")));
        }
        let (tracepoints, rings) = open(devices, &Point::OF_PHASES, RING_BYTES)?;
        let (running, end) = channel();
        let thread =
            std::thread::Builder::new().name("phases".to_owned()).spawn(move || watch(&rings, &tracepoints, &end));
        Ok(Watching { running, thread: thread.map_err(|error| error.to_string())? })
    }

    /// Ends it and returns the result.
    pub(crate) fn finish(self) -> Option<Phases> {
        drop(self.running);
        self.thread.join().ok()
    }
}

/// Why there is nothing to observe: no device, or an unknown one.
fn without_devices(known: &Path) -> String {
    if known.is_dir() {
        return "the target is on no block device".to_owned();
    }
    format!("the target's block device is unknown: {} is hidden here", known.display())
}

/// Observes until the sender of `end` is dropped.
fn watch(rings: &[Ring], tracepoints: &[Tracepoint], end: &Receiver<()>) -> Phases {
    let (mut follower, began, mut looked) = (Follower::default(), Instant::now(), Duration::ZERO);
    let ends_within = |wait| end.recv_timeout(wait) != Err(RecvTimeoutError::Timeout);
    let mut is_over = ends_within(Duration::ZERO);
    while !is_over {
        let from = Instant::now();
        rings.iter().for_each(|ring| ring.enable(true));
        let is_full = || rings.iter().any(|ring| ring.fill() > FULL);
        while !is_over && from.elapsed() < LONGEST && !is_full() {
            is_over = ends_within(LOOK);
        }
        let pause = if is_full() { from.elapsed() * PAUSE } else { Duration::ZERO };
        rings.iter().for_each(|ring| ring.enable(false));
        looked += from.elapsed();
        let mut events = Vec::new();
        for ring in rings {
            ring.take(tracepoints, &mut events);
        }
        follower.look(&mut events);
        is_over = is_over || ends_within(pause);
    }
    follower.figures(looked.as_secs_f64() / began.elapsed().as_secs_f64().max(1e-9))
}

/// The numbers of the online CPUs.
fn online() -> Result<Vec<u32>, String> {
    let path = "/sys/devices/system/cpu/online";
    let text = std::fs::read_to_string(path).map_err(|error| format!("cannot read {path} ({error})"))?;
    cpus_in(text.trim()).ok_or_else(|| format!("{path} holds `{}`", text.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_device_and_a_hidden_one_differ() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(without_devices(root.path()), "the target is on no block device");
        let hidden = without_devices(&root.path().join("block"));
        assert!(hidden.contains("is unknown") && hidden.ends_with("block is hidden here"), "{hidden}");
    }
}
