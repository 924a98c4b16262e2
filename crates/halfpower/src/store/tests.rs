use super::claims::Claims;
use super::error::StoreError;
use super::*;
use crate::fixtures;
use crate::plan::{Overrides, Plan};
use crate::reading::{Figures, Reading};
use crate::study::Study;
use halfpower_model::reading::{Bandwidth, Kernel, MemorySpeed, Rounds, Vectors};
use halfpower_model::sample::{DepthMean, Histograms, Latency, Program, Totals};
use halfpower_model::{Bytes, BytesPerSecond, Environment, Histogram, Sample, WorkloadSpec};
use rusqlite::Connection;
use std::path::{Path, PathBuf};

fn environment() -> Environment {
    fixtures::host(fixtures::file(Bytes(1 << 30)), Vec::new())
}

fn sample() -> Sample {
    let mut histogram = Histogram::default();
    (1..=1000).for_each(|number| histogram.record(number * 100));
    let total = Totals {
        requests: 1000,
        bytes: 65_536_000,
        requests_per_s: 4000.0,
        bytes_per_s: BytesPerSecond(262_144_000.1),
        latency_ns: Latency::of(&histogram),
        short_transfers: 0,
        errors: [("EIO".to_owned(), 1)].into(),
    };
    Sample {
        started_at: "2026-01-02T03:04:05.678Z".parse().unwrap(),
        elapsed_s: 0.25,
        read: Some(total.clone()),
        total,
        latency_histogram: Histograms { read: Some(histogram), ..Histograms::default() },
        depth_mean: DepthMean { little: 0.99, counted: 1.0 },
        note: Some("größe".to_owned()),
        ..Sample::empty(WorkloadSpec::default().resolve(&environment()).unwrap(), environment())
    }
}

pub(super) fn begin(store: &mut Store) -> RunId {
    try_to_begin(store).unwrap()
}

fn new_run(environment: &Environment) -> NewRun<'_> {
    NewRun {
        kind: RunKind::Io,
        name: "sequential read",
        question: None,
        study_text: None,
        plan: None,
        command: "halfpower io /data/file",
        target: "/data/file",
        seed: u64::MAX,
        note: Some("a note"),
        environment,
    }
}

fn try_to_begin(store: &mut Store) -> Result<RunId, StoreError> {
    store.begin_run(&new_run(&environment()))
}

pub(super) fn place() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("deep/results.db");
    (directory, path)
}

/// The message of an error and of its causes.
fn message(error: StoreError) -> String {
    format!("{:#}", anyhow::Error::from(error))
}

#[test]
fn what_was_stored_is_there_after_opening_again() {
    use std::os::unix::fs::PermissionsExt;
    let (_directory, path) = place();
    let mut store = Store::open(&path).unwrap();
    let mode = std::fs::metadata(path.parent().unwrap()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    let study = Study::builtin("survey-quick").unwrap();
    let plan = Plan::make(&study, &Overrides::default(), &environment()).unwrap();
    let environment = environment();
    let id = store
        .begin_run(&NewRun {
            kind: RunKind::Survey,
            name: &study.name,
            question: study.question.as_deref(),
            study_text: Some(&study.text),
            plan: Some(&plan),
            ..new_run(&environment)
        })
        .unwrap();
    let first = store.add_sample(id, 3, 0, &sample()).unwrap();
    store.add_sample(id, 1, 0, &sample()).unwrap();
    assert_eq!(store.run(id).unwrap().status, RunStatus::Running);
    store.finish_run(id, RunStatus::Complete).unwrap();
    drop(store);

    let store = Store::open(&path).unwrap();
    let run = store.run(id).unwrap();
    assert_eq!((run.plan.as_ref(), run.study_text.as_deref()), (Some(&plan), Some(study.text.as_str())));
    assert_eq!(
        (run.status, run.seed, run.environment, run.program),
        (RunStatus::Complete, u64::MAX, environment, Program::this())
    );
    assert!(run.finished_at.is_some_and(|finished| finished >= run.started_at));
    let samples = store.samples(id).unwrap();
    assert_eq!(samples[0], StoredSample { id: first, cell: 3, block: 0, sample: sample() });
    assert_eq!((samples[1].cell, samples.len()), (1, 2));
    let runs = store.runs().unwrap();
    assert_eq!((runs[0].id, runs[0].samples, runs[0].kind), (id, 2, RunKind::Survey));
}

#[test]
fn a_run_whose_process_died_is_interrupted_and_can_be_resumed() {
    let (_directory, path) = place();
    let mut store = Store::open(&path).unwrap();
    let id = begin(&mut store);
    store.add_sample(id, 0, 0, &sample()).unwrap();
    let mut other = Store::open(&path).unwrap();
    assert_eq!(other.run(id).unwrap().status, RunStatus::Running);
    assert!(matches!(other.resume_run(id), Err(StoreError::InUse(_))));
    assert!(matches!(other.remove_run(id), Err(StoreError::InUse(_))));
    // The end of a process closes its files and does nothing else.
    drop(store);
    assert_eq!(other.runs().unwrap()[0].status, RunStatus::Interrupted);
    assert_eq!(other.samples(id).unwrap().len(), 1);
    assert_eq!(other.resume_run(id).unwrap().status, RunStatus::Running);
    other.add_sample(id, 0, 1, &sample()).unwrap();
    other.finish_run(id, RunStatus::Complete).unwrap();
    assert!(matches!(other.resume_run(id), Err(StoreError::Complete(_))));
    let files: Vec<_> =
        std::fs::read_dir(path.parent().unwrap()).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert!(files.iter().all(|file| !file.to_string_lossy().ends_with(".lock")), "{files:?}");
}

#[test]
fn a_sample_is_never_replaced_and_needs_its_run() {
    let mut store = Store::in_memory().unwrap();
    let id = begin(&mut store);
    store.add_sample(id, 0, 0, &sample()).unwrap();
    assert!(matches!(store.add_sample(id, 0, 0, &sample()), Err(StoreError::SampleExists { .. })));
    assert!(matches!(store.add_sample(RunId(99), 0, 0, &sample()), Err(StoreError::NoRun(RunId(99)))));
    store.remove_run(id).unwrap();
    assert!(matches!(store.run(id), Err(StoreError::NoRun(_))));
    assert!(matches!(store.remove_run(id), Err(StoreError::NoRun(_))));
    assert!(matches!(store.finish_run(id, RunStatus::Failed), Err(StoreError::NoRun(_))));
    let again = begin(&mut store);
    assert!(again > id, "numbers are not used twice");
    assert!(store.samples(again).unwrap().is_empty());
}

#[test]
fn an_import_is_kept_whole_or_not_at_all() {
    let (_directory, path) = place();
    let (mut store, environment) = (Store::open(&path).unwrap(), environment());
    let new = NewRun { kind: RunKind::Import, ..new_run(&environment) };
    let import = |store: &mut Store, blocks: [u32; 2]| {
        let staged = store.stage()?;
        staged.add(0, 0, 0, &sample())?;
        blocks.into_iter().try_for_each(|block| staged.add(1, 0, block, &sample()))?;
        assert_eq!(Store::open(&path).unwrap().runs().unwrap(), [], "nobody sees a part of it");
        staged.keep(&[new, new])
    };
    // The second file of the two has a place twice.
    import(&mut store, [0, 0]).unwrap_err();
    assert_eq!(store.runs().unwrap(), []);
    let run = import(&mut store, [0, 1]).unwrap()[1];
    let runs = Store::open(&path).unwrap().runs().unwrap();
    assert_eq!((runs[1].id, runs[1].samples, runs[1].status), (run, 2, RunStatus::Complete));
    assert!(runs.len() == 2 && runs[1].finished_at.is_some());
}

#[test]
fn runs_that_were_measured_at_once_keep_their_samples_apart() {
    let (_directory, path) = place();
    let mut store = Store::open(&path).unwrap();
    let runs = [begin(&mut store), begin(&mut store)];
    // Several parts of a batch, and more than one of them.
    for block in 0..200 {
        for (cell, run) in runs.iter().enumerate() {
            store.add_sample(*run, cell, block, &sample()).unwrap();
        }
    }
    for (cell, run) in runs.into_iter().enumerate() {
        let samples = store.samples(run).unwrap();
        assert!(samples.iter().all(|stored| stored.cell == cell && stored.sample == sample()));
        assert!(samples.iter().map(|stored| stored.block).eq(0..200));
        let of_first = &samples[0].sample.environment;
        assert!(samples.iter().all(|stored| stored.sample.environment.is(of_first)), "kept once, whoever parsed it");
    }
}

#[test]
fn several_connections_open_and_write_at_once() {
    let (_directory, path) = place();
    let workers: Vec<_> = (0..4)
        .map(|_| {
            let path = path.clone();
            std::thread::spawn(move || {
                let mut store = Store::open(&path).unwrap();
                let id = begin(&mut store);
                for block in 0..10 {
                    store.add_sample(id, 0, block, &sample()).unwrap();
                }
                store.finish_run(id, RunStatus::Complete).unwrap();
            })
        })
        .collect();
    workers.into_iter().for_each(|worker| worker.join().unwrap());
    let runs = Store::open(&path).unwrap().runs().unwrap();
    assert_eq!(runs.iter().map(|run| run.samples).collect::<Vec<_>>(), [10; 4]);
}

/// A store with three runs of four samples each, written to the file alone.
fn store_to_damage() -> (tempfile::TempDir, PathBuf, Vec<StoredSample>) {
    let (directory, path) = place();
    let mut store = Store::open(&path).unwrap();
    for _ in 0..3 {
        let run = begin(&mut store);
        for block in 0..4 {
            store.add_sample(run, 1, block, &sample()).unwrap();
        }
        store.finish_run(run, RunStatus::Complete).unwrap();
    }
    let samples = (1..=3).flat_map(|run| store.samples(RunId(run)).unwrap()).collect();
    (directory, path, samples)
}

/// Opens a store and collects its damage.
fn open_collecting(path: &Path) -> (Store, std::rc::Rc<std::cell::RefCell<Vec<String>>>) {
    let mut store = Store::open(path).unwrap();
    let reported = std::rc::Rc::<std::cell::RefCell<Vec<String>>>::default();
    let to = std::rc::Rc::clone(&reported);
    store.report_damage(move |damage| to.borrow_mut().push(damage.to_owned()));
    (store, reported)
}

#[test]
fn a_damaged_record_costs_that_record() {
    for (sql, needle, samples) in [
        ("UPDATE samples SET record = substr(record, 1, 99) WHERE id = 6", "sample 6 of run 2 is damaged", 11),
        ("UPDATE samples SET record = CAST(x'ff' || record AS TEXT) WHERE id = 6", "sample 6 of run 2 is damaged", 11),
        ("UPDATE samples SET block = -1 WHERE id = 6", "sample 6 of run 2 is damaged", 11),
        ("UPDATE runs SET environment = 'x' WHERE id = 2", "`environment` of run 2 is damaged", 12),
        ("UPDATE runs SET plan = '{' WHERE id = 2", "`plan` of run 2 is damaged", 12),
        ("UPDATE runs SET started_at = 'then' WHERE id = 2", "`started_at` of run 2 is damaged", 12),
        ("UPDATE runs SET kind = 'x', status = 'y', name = CAST(x'ff' AS TEXT) WHERE id = 2", "`status` of run 2", 12),
    ] {
        let (_directory, path, before) = store_to_damage();
        Store::open(&path).unwrap().connection.execute(sql, ()).unwrap();
        let (store, reported) = open_collecting(&path);
        assert_eq!(store.runs().unwrap().len(), 3, "{sql}");
        let found: Vec<_> = (1..=3).flat_map(|run| store.samples(RunId(run)).unwrap()).collect();
        let expected: Vec<_> = before.iter().filter(|sample| samples == 12 || sample.id != 6).cloned().collect();
        assert_eq!(found, expected, "{sql}");
        let run = store.run(RunId(2)).unwrap();
        assert_eq!((&run.environment, run.id), (&environment(), RunId(2)), "a stand-in from the first sample");
        let said = reported.borrow().join("\n");
        assert!(said.contains(needle) && said.contains("runs repair"), "{said}");
        assert_eq!(said.matches(needle).count(), 1, "once: {said}");
        drop(store);

        let mut store = Store::open(&path).unwrap();
        // Damaged samples count as measured.
        let resumed = store.resume_run(RunId(2)).map(|run| run.id);
        assert_eq!(matches!(resumed, Err(StoreError::Complete(_))), !sql.contains("status"), "{resumed:?}");
        if !sql.contains("block") {
            assert!(store.slots(RunId(2)).unwrap().contains(&(1, 1)), "{sql}");
        }
    }
}

#[test]
fn samples_that_another_process_adds_meanwhile_are_no_damage() {
    let (_directory, path, _) = store_to_damage();
    let (store, reported) = open_collecting(&path);
    let run = begin(&mut Store::open(&path).unwrap());
    let adding = std::thread::spawn(move || {
        let mut other = Store::open(&path).unwrap();
        for block in 0..300 {
            other.add_sample(run, 0, block, &sample()).unwrap();
        }
    });
    let mut found = 0;
    while !adding.is_finished() {
        let now = store.samples(run).unwrap().len();
        assert!(now >= found);
        found = now;
    }
    adding.join().unwrap();
    assert_eq!(store.samples(run).unwrap().len(), 300);
    assert_eq!(*reported.borrow(), [""; 0]);
}

#[test]
fn a_repair_keeps_everything_that_can_be_read() {
    let (_directory, path, before) = store_to_damage();
    let sound = Store::open(&path).unwrap().repair().unwrap();
    assert_eq!((sound.kept, sound.damaged, sound.runs, sound.samples), (None, Vec::new(), 3, 12));
    let mut busy = Store::open(&path).unwrap();
    busy.connection.execute("UPDATE runs SET environment = 'x' WHERE id = 2", ()).unwrap();
    busy.connection.execute("UPDATE samples SET record = '{' WHERE id = 6", ()).unwrap();
    busy.connection.execute("UPDATE samples SET cell = -7 WHERE id = 7", ()).unwrap();
    let run = begin(&mut busy);
    assert!(matches!(Store::open(&path).unwrap().repair(), Err(StoreError::InUse(_))));
    busy.remove_run(run).unwrap();
    drop(busy);

    let damaged = std::fs::read(&path).unwrap();
    let repaired = Store::open(&path).unwrap().repair().unwrap();
    assert_eq!((repaired.runs, repaired.samples, repaired.lost), (3, 11, 1));
    let kept = repaired.kept.unwrap();
    assert!(kept.to_str().unwrap().ends_with("results.db.damaged-1"));
    assert_eq!(std::fs::read(kept).unwrap().len(), damaged.len(), "the damaged one stays");
    let (mut store, reported) = open_collecting(&path);
    let found: Vec<_> = (1..=3).flat_map(|run| store.samples(RunId(run)).unwrap()).collect();
    assert_eq!(found.iter().map(|sample| sample.id).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12]);
    assert!(found.iter().all(|sample| sample.sample == before[0].sample));
    assert_eq!(store.run(RunId(2)).unwrap().environment, environment());
    assert_eq!(*reported.borrow(), [""; 0]);
    assert!(begin(&mut store) > RunId(4), "numbers are not used twice");
}

#[test]
fn a_damaged_page_costs_what_is_on_it() {
    let (directory, path, before) = store_to_damage();
    // The log goes into the file as the last one closes it.
    drop(Store::open(&path).unwrap());
    let image = std::fs::read(&path).unwrap();
    let mut least = before.len();
    for page in 1..=image.len() / 4096 {
        let path = directory.path().join(format!("page-{page}"));
        let mut damaged = image.clone();
        damaged[(page - 1) * 4096..page * 4096].fill(0xa5);
        std::fs::write(&path, damaged).unwrap();
        if page == 1 {
            // Not even the header is left.
            assert!(Store::open(&path).is_err());
            // A run that is being measured, whatever its status says.
            let mut measured = Claims::beside(Some(&path));
            assert!(measured.take(&RunId(2).claim()).unwrap());
            assert!(matches!(Store::salvage(&path), Err(StoreError::InUse(RunId(2)))));
            drop(measured);
            let repaired = Store::salvage(&path).unwrap().unwrap();
            assert_eq!((repaired.runs, repaired.samples, repaired.lost), (3, before.len(), 0));
            continue;
        }
        let (store, _) = open_collecting(&path);
        assert_eq!(store.runs().unwrap().len(), 3, "page {page}");
        let found: Vec<_> = (1..=3).flat_map(|run| store.samples(RunId(run)).unwrap()).collect();
        assert!(found.iter().all(|sample| before.contains(sample)), "page {page}");
        let repaired = store.repair().unwrap();
        assert!(repaired.samples >= found.len() && repaired.kept.is_some(), "page {page}: {repaired:?}");
        least = least.min(repaired.samples);
        let (store, reported) = open_collecting(&path);
        let after: Vec<_> = (1..=3).flat_map(|run| store.samples(RunId(run)).unwrap()).collect();
        assert!(after.len() == repaired.samples && after.iter().all(|sample| before.contains(sample)), "page {page}");
        assert_eq!(*reported.borrow(), [""; 0], "page {page}");
    }
    assert_eq!(least, before.len() - 3, "a page has three of these records");
}

#[test]
fn files_that_are_no_stores_are_refused_and_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    let refused = |path: &Path| message(Store::open(path).unwrap_err());
    let everything = || {
        let names = std::fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().path());
        let content = |path: PathBuf| (std::fs::read(&path).unwrap_or_default(), path);
        let mut all: Vec<_> = names.map(content).collect();
        all.sort();
        all
    };
    let text =
        "a text that is longer than the header of a database, which has 100 bytes, is no database; nor is this one";
    for (content, needle) in [(text, "not even an SQLite file"), ("short", "not even"), ("", "an empty file")] {
        std::fs::write(&path, content).unwrap();
        assert!(refused(&path).contains(needle), "{}", refused(&path));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), content);
        std::fs::remove_file(&path).unwrap();
    }

    // A log that nobody has taken over yet: whoever opens it with SQLite does.
    let other = Connection::open(&path).unwrap();
    other.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(())).unwrap();
    other.execute_batch("CREATE TABLE bookmarks (url)").unwrap();
    let before = everything();
    assert_eq!(before.len(), 3, "with a log and its index");
    assert!(refused(&path).contains("another program's"), "{}", refused(&path));
    assert_eq!(everything(), before);
    drop(other);
    std::fs::remove_file(&path).unwrap();
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 1).unwrap();
    let before = everything();
    assert!(refused(&path).contains("another program's"), "without a table: {}", refused(&path));
    assert_eq!(everything(), before);
    std::fs::remove_file(&path).unwrap();

    drop(Store::open(&path).unwrap());
    for version in [schema::VERSION - 1, schema::VERSION + 1] {
        Connection::open(&path).unwrap().pragma_update(None, "user_version", version).unwrap();
        let other = refused(&path);
        assert!(other.contains(&format!("has version {version}")) && other.contains("--format jsonl"), "{other}");
    }
    assert!(refused(directory.path()).contains("no regular file"), "{}", refused(directory.path()));
    let link = directory.path().join("link");
    std::os::unix::fs::symlink("nowhere", &link).unwrap();
    assert!(refused(&link).contains("leads nowhere") && !directory.path().join("nowhere").exists());
}

#[test]
fn what_lies_beside_a_store_is_refused_and_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("results.db");
    let refuses = |suffix: &str, content: &str| {
        let beside = companion_files::beside(&path, suffix);
        std::fs::write(&beside, content).unwrap();
        let is_there = path.exists();
        let message = message(Store::open(&path).and_then(|mut store| try_to_begin(&mut store)).unwrap_err());
        assert!(message.contains(beside.to_str().unwrap()) && message.contains("move or rename it"), "{message}");
        assert_eq!(std::fs::read_to_string(&beside).unwrap(), content);
        assert_eq!(path.exists(), is_there, "{suffix}");
        std::fs::remove_file(&beside).unwrap();
    };
    for suffix in ["-wal", "-journal", "-shm", ".run-1.lock", ".file-7.lock"] {
        refuses(suffix, "my notes");
        refuses(suffix, "");
    }
    let mut store = Store::open(&path).unwrap();
    let run = begin(&mut store);
    drop(store);
    for suffix in ["-wal", "-journal", "-shm", &format!(".run-{}.lock", run.0 + 1)] {
        refuses(suffix, "my notes");
        refuses(suffix, "?");
    }
    // Its own files are accepted.
    let mut store = Store::open(&path).unwrap();
    begin(&mut store);
    assert!(companion_files::beside(&path, "-wal").exists() && companion_files::beside(&path, "-shm").exists());
    assert_eq!(Store::open(&path).unwrap().runs().unwrap().len(), 2);
}

fn memory_reading(host: &str, gigabytes: f64) -> Reading {
    let speed = MemorySpeed {
        vectors: Vectors::Sse2,
        caches: Vec::new(),
        huge_page_share: None,
        cpus: vec![0],
        studies: Vec::new(),
        bandwidth: vec![Bandwidth {
            kernel: Kernel::Read,
            threads: 1,
            size_bytes: Bytes::GIB,
            bytes_per_s: Rounds::new(vec![gigabytes * 1e9]),
        }],
        latency: Vec::new(),
    };
    let environment = Environment { host: host.to_owned(), ..environment() };
    Reading::new(Figures::Memory(speed), environment, jiff::Timestamp::UNIX_EPOCH)
}

#[test]
fn a_run_has_the_memory_that_was_measured_last_before_it_on_its_machine() {
    let mut store = Store::in_memory().unwrap();
    let read = |store: &mut Store, host: &str, gigabytes: f64| {
        store.add_reading("halfpower memory", "null:", &memory_reading(host, gigabytes)).unwrap();
    };
    let beside = |store: &Store, run: RunId| {
        let speed = store.memory_beside(&store.run(run).unwrap()).unwrap();
        speed.map(|speed| speed.bandwidth[0].bytes_per_s.median / 1e9)
    };
    let first = begin(&mut store);
    assert_eq!(beside(&store, first), None);
    read(&mut store, "elsewhere", 1.0);
    assert_eq!(beside(&store, first), None, "another machine's");
    read(&mut store, "test", 2.0);
    read(&mut store, "test", 3.0);
    assert_eq!(beside(&store, first), Some(2.0), "none was before it: the first after");
    let second = begin(&mut store);
    read(&mut store, "test", 4.0);
    assert_eq!(beside(&store, second), Some(3.0), "a later one does not change its report");
}
