//! A reader against damaged files: `HALFPOWER_FUZZ_FORM` is study, machine, store, trace, job (of fio), server, or a word of `import --format`.
//!
//! The program is included whole, since it is no library. Half of the inputs are damaged as libFuzzer does it, byte by byte;
//! half as a whole: lines, figures, brackets. The first byte of an input for a store says what it is: the seed of damage to
//! the file of a store, or, the second byte saying which, the text of one of its columns. With `HALFPOWER_FUZZ_SEEDS` a
//! folder gets the inputs to begin with. Of what a server sends the first byte chooses the protocol. Of fio's logs the first byte chooses the name.
#![no_main]
#![allow(dead_code, reason = "the program is included whole, and not all of it is called here")]

use clap::ValueEnum;
use halfpower_engine::test_file::FileId;
use halfpower_engine::{Access, Host, Target};
use halfpower_model::random::Random;
use halfpower_model::{Bytes, Cancel, Environment, KEYS, Sample, Settings, Testbed, Workload};
use halfpower_sim::Simulated;
use halfpower_sim::file::MachineFile;
use interchange::import::{Format, ImportError, import_bytes};
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use rusqlite::Connection;
use std::io::Write;
use std::net::{Shutdown, TcpListener};
use std::os::fd::{FromRawFd, OwnedFd};
use std::path::PathBuf;
use std::sync::{LazyLock, Mutex};
use store::{NewRun, RunKind, RunStatus, Store};
use study::{Shelf, Study};

#[path = "../../crates/halfpower/src/cli/mod.rs"]
mod cli;
#[path = "../../crates/halfpower/src/command/mod.rs"]
mod command;
#[path = "../../crates/halfpower/src/console.rs"]
mod console;
#[path = "../../crates/halfpower/src/interchange/import/damage.rs"]
mod damage;
#[path = "../../crates/halfpower/src/emit/mod.rs"]
mod emit;
#[path = "../../crates/halfpower/src/fio/mod.rs"]
mod fio;
#[path = "../../crates/halfpower/src/input.rs"]
mod input;
#[path = "../../crates/halfpower/src/instrument/mod.rs"]
mod instrument;
#[path = "../../crates/halfpower/src/interchange/mod.rs"]
mod interchange;
#[path = "../../crates/halfpower/src/output.rs"]
mod output;
#[path = "../../crates/halfpower/src/plan/mod.rs"]
mod plan;
#[path = "../../crates/halfpower/src/reading/mod.rs"]
mod reading;
#[path = "../../crates/halfpower/src/report/mod.rs"]
mod report;
#[path = "../../crates/halfpower/src/runner/mod.rs"]
mod runner;
#[path = "../../crates/halfpower/src/sanitize.rs"]
mod sanitize;
#[path = "../../crates/halfpower/src/simulator/mod.rs"]
mod simulator;
#[path = "../../crates/halfpower/src/interchange/import/soundness.rs"]
mod soundness;
#[path = "../../crates/halfpower/src/store/mod.rs"]
mod store;
#[path = "../../crates/halfpower/src/study/mod.rs"]
mod study;
#[path = "../../crates/halfpower/src/target/mod.rs"]
mod target;
#[path = "../../crates/halfpower/src/target_name.rs"]
mod target_name;
#[path = "../../crates/halfpower/src/text.rs"]
mod text;
#[path = "../../crates/halfpower/src/trace/mod.rs"]
mod trace;

/// Longest message about a file.
const MAX_MESSAGE_BYTES: usize = 64 << 10;

/// What of a store an input may be the text of.
const COLUMNS: [&str; 9] = [
    "UPDATE samples SET record = ?",
    "UPDATE runs SET plan = ?",
    "UPDATE runs SET environment = ?",
    "UPDATE runs SET program = ?",
    "UPDATE runs SET started_at = ?",
    "UPDATE runs SET status = ?",
    "UPDATE runs SET target = ?",
    "UPDATE test_files SET path = CAST(? AS BLOB)",
    "INSERT OR REPLACE INTO readings (run_id, record) VALUES (1, ?)",
];

/// The names of fio's logs, which say what they hold.
const LOGS: [&str; 4] = ["a_bw.1.log", "a_iops.1.log", "a_lat.1.log", "a_clat_hist.1.log"];

static FORM: LazyLock<String> =
    LazyLock::new(|| std::env::var("HALFPOWER_FUZZ_FORM").expect("HALFPOWER_FUZZ_FORM names a form"));

/// Where stores are written.
static FOLDER: LazyLock<PathBuf> =
    LazyLock::new(|| std::env::var_os("HALFPOWER_FUZZ_FOLDER").expect("HALFPOWER_FUZZ_FOLDER is a folder").into());

/// A store with a run, a sample and a test file, as a file.
static STORE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let path = FOLDER.join("template.db");
    let mut store = Store::open(&path).expect("a store");
    let environment = Environment::unknown("/data", None);
    let run = store
        .begin_run(&NewRun {
            kind: RunKind::Io,
            name: "a run",
            question: Some("?"),
            study_text: None,
            plan: None,
            command: "halfpower io data",
            target: "/data",
            seed: 1,
            note: None,
            environment: &environment,
        })
        .expect("a run");
    store.add_sample(run, 0, 0, &Sample::empty(Workload::default(), environment)).expect("a sample");
    let (test_file, directory) = (FOLDER.join("t"), FileId::at(&FOLDER).expect("the folder"));
    store.note_test_file(run, &test_file, Bytes(1), None, &directory).expect("a test file");
    store.finish_run(run, RunStatus::Complete).expect("its end");
    drop(store);
    let connection = Connection::open(&path).expect("the store's file");
    connection.query_row("PRAGMA journal_mode = delete", (), |_| Ok(())).expect("one file");
    drop(connection);
    std::fs::read(&path).expect("the store's file")
});

fuzz_target!(|input: &[u8]| {
    if let Some(folder) = std::env::var_os("HALFPOWER_FUZZ_SEEDS") {
        seeds(&PathBuf::from(folder));
    }
    match FORM.as_str() {
        "study" => study(&String::from_utf8_lossy(input)),
        "machine" => machine(&String::from_utf8_lossy(input)),
        "store" => store(input),
        "trace" => trace(input),
        "job" => job(input),
        "server" => served(input),
        form => import(Format::from_str(form, false).expect("a form of `import --format`"), input),
    }
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let mut random = Random::new(u64::from(seed));
    if random.below(2) == 0 {
        return fuzzer_mutate(data, size, max_size);
    }
    let new = damage::damaged(&data[..size], &mut random);
    let length = new.len().min(max_size);
    data[..length].copy_from_slice(&new[..length]);
    length
});

/// Another program's results.
fn import(form: Format, input: &[u8]) {
    let (name, input) = match (form, input) {
        (Format::FioLog, [first, rest @ ..]) => (LOGS[usize::from(*first) % LOGS.len()], rest),
        _ => ("file", input),
    };
    if let Err(complaint) = soundness::check_import(name, input, form) {
        panic!("{complaint}");
    }
}

/// A trace, in any form; one of ours as well.
fn trace(input: &[u8]) {
    let path = FOLDER.join("trace");
    std::fs::write(&path, input).expect("a file");
    match trace::open(&path, trace::Wanted::default()) {
        Ok(opened) => drop(opened.file.contents()),
        Err(error) => clear(&text::causes(error.as_ref())),
    }
}

/// A job file of fio.
fn job(input: &[u8]) {
    let path = FOLDER.join("job.fio");
    std::fs::write(&path, input).expect("a file");
    match fio::job_file::read_command_line(&[path.to_string_lossy().into_owned()]) {
        Ok(request) => match fio::job::works(&request.jobs) {
            Ok(works) => assert!(works.len() <= 100_000, "{} workers", works.len()),
            Err(errors) => clear(&errors.to_string()),
        },
        Err(error) => clear(&text::causes(error.as_ref())),
    }
}

/// A server that sends the same to every connection, whatever it is asked, and closes it.
fn served(input: &[u8]) {
    let [protocol, sent @ ..] = input else { return };
    *SENT.lock().expect("nobody panics with it") = sent.to_vec();
    let port = *SERVER;
    let name = match protocol % 3 {
        0 => format!("nbd://127.0.0.1:{port}/x"),
        1 => format!("smb://127.0.0.1:{port}/share/file"),
        _ => {
            format!("s3://bucket/{}?endpoint=http://127.0.0.1:{port}", if sent.len() % 2 == 0 { "key" } else { "row/" })
        }
    };
    let target = match Target::open(name.as_ref(), Access::Read) {
        Ok(target) => target,
        Err(error) => return clear(&error.to_string()),
    };
    let mut host = match Host::on(vec![target]) {
        Ok(host) => host,
        Err(error) => return clear(&error.to_string()),
    };
    let key = |name: &str, value: &str| {
        KEYS.iter().find(|key| key.name == name).expect("a key").read(value).expect("a value")
    };
    let spec =
        key("requests", "4").or(&key("request_size", "512")).or(&key("depth", "2")).or(&key("pattern", "random"));
    let workload = match spec.resolve(host.describe()) {
        Ok(workload) => workload,
        Err(error) => return clear(&error.to_string()),
    };
    if let Err(error) = host.measure(&workload, &mut (), &Cancel::default()) {
        clear(&error.to_string());
    }
}

/// What the server sends now.
static SENT: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// The port of the server.
static SERVER: LazyLock<u16> = LazyLock::new(|| {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("its address").port();
    std::thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            let sent = SENT.lock().expect("nobody panics with it").clone();
            // One that comes while another is open is served at the same time.
            std::thread::spawn(move || {
                let _ = (&connection).write_all(&sent);
                let _ = connection.shutdown(Shutdown::Write);
                let _ = std::io::copy(&mut &connection, &mut std::io::sink());
            });
        }
    });
    port
});

/// A study that may include itself, and a folder of it.
fn study(text: &str) {
    let open = |file: &str| match file.len() {
        256.. => Err("its name is too long".to_owned()),
        _ if file.ends_with("nowhere") => Err("it is not there".to_owned()),
        _ => Ok(text.to_owned()),
    };
    let fits = |path: &str, _: &Settings| if path.is_empty() { Ok(()) } else { Err(format!("no {path}")) };
    let shelf = Shelf { open: &open, fits: &fits };
    match Study::parse_with("folder/a.toml", text, shelf) {
        Ok(study) => assert!(study.cells() <= 10_000, "{} cells", study.cells()),
        Err(errors) => clear(&errors.to_string()),
    }
    if let Err(errors) = Study::of_folder("folder", &["folder/a.toml".to_owned()], shelf) {
        clear(&errors.to_string());
    }
}

/// A machine with its volumes, and the first of them as a testbed.
fn machine(text: &str) {
    let file = match MachineFile::parse("own.toml", text) {
        Ok(file) => file,
        Err(error) => return clear(&text::causes(&error)),
    };
    if let Err(error) = file.check_volumes() {
        clear(&text::causes(&error));
    }
    let Some((volume, _)) = file.volumes().next() else { return };
    if let Err(error) = Simulated::of_file("own.toml", text, volume, &Settings::default()) {
        clear(&text::causes(&error));
    }
}

/// What is said of a file is printed: it is short.
fn clear(message: &str) {
    assert!(message.len() <= MAX_MESSAGE_BYTES && !message.is_empty(), "a message of {} bytes", message.len());
}

/// A damaged store, or one with a column that is: everything that reads one.
fn store(input: &[u8]) {
    read_store(input);
    // A program opens one store and never closes its file; here there are thousands.
    for entry in std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten() {
        let is_in_folder = std::fs::read_link(entry.path()).is_ok_and(|file| file.starts_with(&*FOLDER));
        if let Some(number) = entry.file_name().to_str().and_then(|name| name.parse().ok()).filter(|_| is_in_folder) {
            // SAFETY: nobody uses it any more.
            drop(unsafe { OwnedFd::from_raw_fd(number) });
        }
    }
}

fn read_store(input: &[u8]) {
    let [kind, which, rest @ ..] = input else { return };
    let path = FOLDER.join("store.db");
    for end in ["", "-wal", "-shm", "-journal", ".damaged-1", ".damaged-1-wal", ".damaged-1-shm"] {
        let _ = std::fs::remove_file(FOLDER.join(format!("store.db{end}")));
    }
    if kind % 2 == 0 {
        let seed = rest.iter().fold(u64::from(*which), |seed, byte| seed.wrapping_mul(257) ^ u64::from(*byte));
        let damaged = damage::damaged(&STORE, &mut Random::new(seed));
        std::fs::write(&path, damaged).expect("room for a store");
    } else {
        std::fs::write(&path, &*STORE).expect("room for a store");
        let connection = Connection::open(&path).expect("the store's file");
        let text = String::from_utf8_lossy(rest);
        // Some of the columns must not be some of the texts.
        let _ = connection.execute(COLUMNS[usize::from(*which) % COLUMNS.len()], [text]);
    }
    let Ok(mut store) = Store::open(&path) else {
        let _ = Store::salvage(&path);
        return;
    };
    let _ = (store.test_files_left(), store.test_file_paths(), store.runs());
    let run = store::RunId(1);
    let _ = (store.run(run), store.samples(run), store.reading(run));
    if let Ok(analysed) = report::Analysed::load(&store, run) {
        let _ = analysed.json();
        let _ = report::summary(&analysed, console::Medium::Terminal { width: 100, colour: false });
    }
    let _ = store.repair();
}

/// The inputs to begin with that are not files of the project.
fn seeds(folder: &std::path::Path) {
    let sample = serde_json::to_string(&Sample::empty(Workload::default(), Environment::unknown("/data", None)));
    let environment = serde_json::to_string(&Environment::unknown("/data", None));
    let texts =
        [(0, sample), (2, environment), (4, Ok("2026-01-01T00:00:00Z".to_owned())), (5, Ok("running".to_owned()))];
    for (column, text) in texts {
        let text = text.expect("records are JSON");
        std::fs::write(folder.join(format!("column-{column}")), [&[1, column], text.as_bytes()].concat())
            .expect("room");
    }
    std::fs::write(folder.join("file"), [0, 0, 0]).expect("room");
}
