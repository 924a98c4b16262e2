//! `halfpower map`: throughput from the first byte to the last.

pub(super) mod page;

use super::command::{self, in_own_words};
use crate::command::context::{Context, Ending};
use crate::command::note::Keeping;
use crate::command::number::{any, count};
use crate::command::session::{self, Session};
use crate::reading::map::DeviceMap;
use crate::reading::{Figures, Reading};
use crate::store::{RunId, RunStatus, Store};
use crate::text::{UsageError, refuse};
use clap::Args;
use halfpower_engine::Host;
use halfpower_engine::map::{self as engine, Places, Probe};
use halfpower_model::sample::Warning;
use halfpower_model::{Bytes, Cancel, Environment, MeasureError, ResolveError, TargetFacts, Testbed, Workload};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Finding the bands takes time quadratic in the number of places.
const PLACES_MAX: u32 = 4096;
/// Interval between writes to the store.
const KEEP_EVERY: Duration = Duration::from_secs(1);

/// Measure throughput across a device or large file, from first byte to last
///
/// One direct read at each of many evenly spaced places, in random order. Change-point detection finds bands of equal
/// throughput. On a hard disk the first band is the outer tracks and the last the inner ones; other devices should be flat.
/// Results are stored as they come, so that an interrupted run can continue with --resume. Nothing is written.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// A block device or a large file
    #[arg(value_name = "TARGET", required_unless_present = "resume")]
    target: Option<PathBuf>,
    /// Number of places
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = count::<u32>)]
    places: u32,
    /// Size of each read [default: about 10 ms worth, measured in the middle of the target]
    #[arg(long, value_name = "SIZE", visible_alias = "bs")]
    read_size: Option<Bytes>,
    /// Seed for the order of the places
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = any::<u64>)]
    seed: u64,
    /// Continue an interrupted run with its own settings
    #[arg(long, value_name = "RUN", conflicts_with_all = ["target", "places", "read_size", "seed", "no_store", "note"])]
    resume: Option<RunId>,
    #[command(flatten)]
    keeping: Keeping,
}

pub(crate) fn run(context: &Context, arguments: &Arguments) -> anyhow::Result<Ending> {
    let instead = "`halfpower sim show MACHINE` shows the zones of its disks";
    command::refuse_elsewhere(arguments.target.as_slice(), "map", instead)?;
    let mut store = session::open_store(context, !arguments.keeping.no_store)?;
    let heeded = context.interrupts.heeded();
    let (run, mut reading, mut host) = match (arguments.resume, &arguments.target) {
        (Some(run), _) => resume(&mut store, run)?,
        (None, Some(target)) => match begin(context, arguments, target, &mut store)? {
            Some(begun) => begun,
            None => return Ok(interrupted(context, None)),
        },
        (None, None) => refuse!("no target; name a block device or a large file"),
    };
    if let Some(limit) = command::read_limit(Path::new(&host.describe().target.path))? {
        limited(&mut reading, limit);
    }
    let result = carry_on(context, &mut store, run, &mut reading, &mut host);
    context.console.end_bar();
    let status = match &result {
        Ok(true) => RunStatus::Complete,
        Ok(false) => RunStatus::Interrupted,
        Err(_) => RunStatus::Failed,
    };
    let finished = store.keep_reading(run, &reading).and_then(|()| store.finish_run(run, status));
    drop(heeded);
    let is_whole = result?;
    Session { context, store, run }.or_where(command::show(context, &reading))?;
    finished?;
    if is_whole {
        return Ok(Ending::Done);
    }
    Ok(interrupted(context, (!arguments.keeping.no_store).then_some(run)))
}

fn interrupted(context: &Context, run: Option<RunId>) -> Ending {
    let go_on = run.map(|run| format!(" `halfpower map --resume {run}` continues."));
    context.console.message(&format!("Interrupted.{}", go_on.unwrap_or_default()));
    Ending::Interrupted
}

fn open(target: &Path) -> anyhow::Result<Host> {
    Ok(Host::new(command::open_direct(target)?))
}

/// Warns that reads are throttled, so that the map means nothing.
fn limited(reading: &mut Reading, limit: String) {
    let warning = Warning::new(
        "limited",
        format!("reads are throttled ({limit}): each read is immediate or delayed, so the figures mean nothing"),
        "run it in another control group",
    );
    if !reading.warnings.contains(&warning) {
        reading.warnings.push(warning);
    }
    if let Figures::Map(map) = &mut reading.figures {
        map.limited = Some(limit);
    }
}

/// Warns that reads are larger than requested.
fn raised(given: Bytes, read: Bytes) -> Option<Warning> {
    (given != read).then(|| {
        Warning::new(
            "read_size",
            format!("each read is {read}, not {given}: reads are multiples of the alignment"),
            format!("use --read-size {read} or a multiple"),
        )
    })
}

/// A new run without probes; none if it was cancelled.
fn begin(
    context: &Context,
    arguments: &Arguments,
    path: &PathBuf,
    store: &mut Store,
) -> anyhow::Result<Option<(RunId, Reading, Host)>> {
    if !(1..=PLACES_MAX).contains(&arguments.places) {
        refuse!("--places is {}; use 1 to {PLACES_MAX}", arguments.places);
    }
    let started_at = jiff::Timestamp::now();
    let mut host = open(path)?;
    let workload = reading_of(host.describe())?;
    let read = match arguments.read_size {
        Some(given) => given,
        None => match engine::suitable_read(&mut host, &workload, arguments.places, &context.interrupts.heeded()) {
            Err(MeasureError::Cancelled) => return Ok(None),
            found => found?,
        },
    };
    let places = places(&host, read, arguments.places)?;
    let map = DeviceMap {
        path: host.describe().target.path.clone(),
        size_bytes: host.describe().target.size_bytes,
        read_bytes: places.read_size(),
        places: arguments.places,
        seed: arguments.seed,
        probes: Vec::new(),
        bands: Vec::new(),
        loss: None,
        limited: None,
    };
    let read = map.read_bytes;
    let mut reading = Reading::new(Figures::Map(map), host.describe().clone(), started_at);
    reading.note = arguments.keeping.note.text();
    reading.warnings.extend(arguments.read_size.and_then(|given| raised(given, read)));
    let target = session::stored_targets(std::slice::from_ref(path))?.join(", ");
    let run = store.begin_reading(&context.command(), &target, arguments.seed, &reading)?;
    Ok(Some((run, reading, host)))
}

fn places(testbed: &dyn Testbed, read: Bytes, count: u32) -> Result<Places, UsageError> {
    Places::new(testbed.describe(), read, count).map_err(|error| UsageError(error.to_string()))
}

/// An interrupted run with its probes.
fn resume(store: &mut Store, run: RunId) -> anyhow::Result<(RunId, Reading, Host)> {
    let Some(reading) = store.reading(run)?.filter(|reading| matches!(reading.figures, Figures::Map(_))) else {
        refuse!("run {run} is not a run of `halfpower map`");
    };
    let target = PathBuf::from(store.run(run)?.target);
    let host = open(&target)?;
    let (size, now) = (reading.environment.target.size_bytes, host.describe().target.size_bytes);
    if size != now {
        refuse!("{} has {now}, but had {size} when run {run} began; start a new run", target.display());
    }
    store.resume_run(run)?;
    Ok((run, reading, host))
}

/// Reads the remaining places and stores the probes as they come; whether all were read.
fn carry_on(
    context: &Context,
    store: &mut Store,
    run: RunId,
    reading: &mut Reading,
    testbed: &mut dyn Testbed,
) -> anyhow::Result<bool> {
    let Figures::Map(mut map) = reading.figures.clone() else { unreachable!("this reading is a map") };
    let (started, before_s, count) = (Instant::now(), reading.elapsed_s, u64::from(map.places));
    let elapsed_s = || before_s + started.elapsed().as_secs_f64();
    let mut kept = started;
    context.console.start_bar(count);
    let measured = measure(testbed, &mut map, &context.interrupts.heeded(), &mut |so_far, last| {
        context.console.move_bar(so_far.probes.len() as u64, count, "", &last.bytes_per_s.to_string());
        if kept.elapsed() >= KEEP_EVERY {
            kept = Instant::now();
            let figures = Figures::Map(so_far.clone());
            store.keep_reading(run, &Reading { figures, elapsed_s: elapsed_s(), ..reading.clone() })?;
        }
        Ok(())
    });
    reading.figures = Figures::Map(map);
    reading.elapsed_s = elapsed_s();
    measured
}

/// Reads the remaining places and finds the bands; false if it was cancelled before all were read. `report` gets each probe.
fn measure(
    testbed: &mut dyn Testbed,
    map: &mut DeviceMap,
    cancel: &Cancel,
    report: &mut dyn FnMut(&DeviceMap, &Probe) -> anyhow::Result<()>,
) -> anyhow::Result<bool> {
    let workload = reading_of(testbed.describe())?;
    let places = places(testbed, map.read_bytes, map.places)?;
    let result = places.left(map.seed, &map.probes).into_iter().try_for_each(|place| {
        let probe = engine::probe(testbed, &workload, &places, place, cancel)?;
        let index = map.probes.partition_point(|before| before.place < place);
        map.probes.insert(index, probe);
        report(map, &probe)
    });
    map.bands = crate::reading::map::bands(&map.probes, map.size_bytes);
    map.loss = crate::reading::map::loss(&map.bands);
    match result {
        Err(error) if matches!(error.downcast_ref(), Some(MeasureError::Cancelled)) => Ok(false),
        result => result.map(|()| true),
    }
}

/// The workload that the reads are made from.
fn reading_of(environment: &Environment) -> Result<Workload, UsageError> {
    engine::reading(environment).map_err(|error| match error {
        ResolveError::Contradiction(_) => {
            let TargetFacts { path, size_bytes, .. } = &environment.target;
            UsageError(format!("{path} has {size_bytes}, less than one read; name a larger target"))
        }
        other => in_own_words(other, "--read-size", "target"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use halfpower_model::sample::Failure;
    use halfpower_model::{Nanoseconds, Observer, Sample, TargetKind};

    /// A disk of 64 GiB whose bands end at these GiB and have these MB/s; its arm moves in 8 ms, unless it is there.
    struct Banded {
        environment: Environment,
        bands: &'static [(u64, f64)],
        arm: u64,
        reads: u32,
        /// Cancels itself after this number of reads.
        until: u32,
    }

    const BANDS: &[(u64, f64)] = &[(20, 200e6), (31, 180e6), (47, 150e6), (64, 110e6)];

    impl Banded {
        fn new(bands: &'static [(u64, f64)]) -> Banded {
            let facts = TargetFacts {
                direct_alignment_bytes: Some(Bytes(4096)),
                ..TargetFacts::bare("disk", TargetKind::Simulated, Bytes(64 << 30))
            };
            let environment = halfpower_engine::environment(facts, Vec::new());
            Banded { environment, bands, arm: 0, reads: 0, until: u32::MAX }
        }
    }

    impl Testbed for Banded {
        fn describe(&self) -> &Environment {
            &self.environment
        }

        fn measure(
            &mut self,
            workload: &Workload,
            _: &mut dyn Observer,
            cancel: &Cancel,
        ) -> Result<Sample, MeasureError> {
            self.reads += 1;
            assert!(workload.buffering.is_direct() && workload.limits.requests == Some(1));
            let (from, length) = (workload.offset.0, workload.request_size.0);
            let rate = self.bands.iter().find(|(end, _)| from < end << 30).unwrap().1;
            let seek_s = if self.arm == from { 0.0 } else { 0.008 };
            self.arm = from + length;
            let took = Nanoseconds::from_seconds(seek_s + length as f64 / rate);
            let mut sample = Sample::empty(workload.clone(), self.environment.clone());
            sample.total.latency_ns.max = Some(took.0);
            if self.reads >= self.until {
                cancel.cancel();
                let message = "interrupted".to_owned();
                sample.failure = Some(Failure { code: message.clone(), message });
            }
            Ok(sample)
        }
    }

    fn map(testbed: &mut Banded, places: u32) -> DeviceMap {
        let workload = engine::reading(testbed.describe()).unwrap();
        let read_bytes = engine::suitable_read(testbed, &workload, places, &Cancel::default()).unwrap();
        let path = "disk".to_owned();
        let (size_bytes, probes, bands) = (testbed.environment.target.size_bytes, Vec::new(), Vec::new());
        DeviceMap { path, size_bytes, read_bytes, places, seed: 7, probes, bands, loss: None, limited: None }
    }

    #[test]
    fn the_bands_of_a_disk_are_found_within_one_place() {
        let mut testbed = Banded::new(BANDS);
        let mut map = map(&mut testbed, 256);
        assert_eq!(map.read_bytes, Bytes(2 << 20), "2 MiB at 150 MB/s are 14 ms");
        assert!(measure(&mut testbed, &mut map, &Cancel::default(), &mut |_, _| Ok(())).unwrap());
        let apart = (64_u64 << 30) / 256;
        let edges: Vec<u64> = map.bands.iter().map(|band| band.to_bytes.0).collect();
        assert_eq!(edges.len(), BANDS.len(), "{edges:?}");
        for (edge, (end, rate)) in edges.iter().zip(BANDS) {
            assert!(edge.abs_diff(end << 30) <= apart, "{edge} is not {end} GiB");
            let found = map.bands.iter().find(|band| band.to_bytes.0 == *edge).unwrap().bytes_per_s.value;
            assert!((found / rate - 1.0).abs() < 0.001, "{found} is not {rate}: the arm's time is in it");
        }
        assert!((map.loss.unwrap().value - (1.0 - 110.0 / 200.0)).abs() < 0.001, "{:?}", map.loss);
    }

    #[test]
    fn what_is_flat_is_one_band() {
        let mut testbed = Banded::new(&[(64, 500e6)]);
        let mut map = map(&mut testbed, 64);
        assert!(measure(&mut testbed, &mut map, &Cancel::default(), &mut |_, _| Ok(())).unwrap());
        assert_eq!((map.bands.len(), map.bands[0].to_bytes, map.loss), (1, map.size_bytes, None));
    }

    #[test]
    fn an_interrupted_one_goes_on_with_what_is_left() {
        let mut whole = Banded::new(BANDS);
        let mut expected = map(&mut whole, 64);
        let mut part = expected.clone();
        assert!(measure(&mut whole, &mut expected, &Cancel::default(), &mut |_, _| Ok(())).unwrap());
        let mut testbed = Banded { until: 41, ..Banded::new(BANDS) };
        let mut probes = 0;
        let is_whole = measure(&mut testbed, &mut part, &Cancel::default(), &mut |_, _| {
            probes += 1;
            Ok(())
        });
        // Two reads a place; the 41st was in vain.
        assert!(!is_whole.unwrap() && !part.is_complete());
        assert_eq!((part.probes.len(), probes), (20, 20));
        let mut again = Banded::new(BANDS);
        assert!(measure(&mut again, &mut part, &Cancel::default(), &mut |_, _| Ok(())).unwrap());
        assert_eq!(again.reads, 2 * 44);
        assert_eq!(part, expected);
    }
}
