//! Records the requests of a block device into a trace.

use super::file::{TraceFile, TraceWriter};
use super::order::{Event, Ordering};
use anyhow::{Context as _, Result, anyhow};
use halfpower_engine::{BlockEvent, BlockPoint, RequestRecorder};
use halfpower_model::trace::Entry;
use halfpower_model::{Cancel, RequestKind};
use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

/// Time between two readings of the kernel's rings.
const LOOK: Duration = Duration::from_millis(10);

/// A recording.
#[derive(Debug)]
pub(crate) struct Recorded {
    pub(crate) file: TraceFile,
    /// Events that found no room in the kernel's rings.
    pub(crate) lost: u64,
    /// Requests whose completion the kernel did not report, or which were outstanding at the end.
    pub(crate) unfinished: u64,
}

/// Records a device for so long, or until it is cancelled.
///
/// # Errors
/// If the kernel refuses, or the file cannot be written.
pub(crate) fn record(
    device: &Path,
    duration: Option<Duration>,
    cancel: &Cancel,
    into: File,
    mut progress: impl FnMut(Duration, u64),
) -> Result<Recorded> {
    let mut recorder =
        RequestRecorder::start(device).map_err(|reason| anyhow!("cannot record {}: {reason}", device.display()))?;
    let (mut ordering, mut writer) = (Ordering::default(), TraceWriter::new(into)?);
    ordering.await_completions();
    let (began, mut events, mut lost, mut requests) = (Instant::now(), Vec::new(), 0, 0);
    let mut is_over = false;
    let (mut failed, mut unfinished) = (None, 0);
    let mut give = |entry: Entry| {
        unfinished += u64::from(entry.latency.is_none() && entry.request.kind != RequestKind::Flush);
        if failed.is_none() {
            failed = writer.add(&entry).err();
        }
    };
    while !is_over {
        std::thread::sleep(LOOK);
        is_over = cancel.is_cancelled() || duration.is_some_and(|duration| began.elapsed() >= duration);
        events.clear();
        lost += recorder.read(&mut events);
        requests += events.iter().filter(|event| event.point == BlockPoint::Issued).count() as u64;
        events.iter().for_each(|event| ordering.take(event_of(event), &mut give));
        progress(began.elapsed(), requests);
    }
    events.clear();
    lost += recorder.finish(&mut events);
    events.iter().for_each(|event| ordering.take(event_of(event), &mut give));
    ordering.finish(&mut give);
    failed.map_or(Ok(()), Err).context("cannot write the trace")?;
    Ok(Recorded { file: writer.finish()?, lost, unfinished })
}

fn event_of(event: &BlockEvent) -> Event {
    let BlockEvent { at_ns, request, point } = *event;
    match point {
        BlockPoint::Issued => Event::Issued { at_ns, request, latency_ns: None },
        BlockPoint::Completed => Event::Completed { at_ns, request },
        BlockPoint::Refused => Event::Refused { at_ns, request },
    }
}
