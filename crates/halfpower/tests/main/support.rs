//! A laboratory of its own for each test: a directory on a real disk with a place to measure and a store.

use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The program under test.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_halfpower");
/// How long anything may take before a test gives up on it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A study of two cells that is over at once.
pub(crate) const TINY: &str = r#"
name = "tiny"
[trial]
repetitions = { min = 2, max = 2 }
[[sweep]]
name = "reads"
operation = "read"
request_size = ["4KiB", "64KiB"]
requests = 20
"#;

/// Reads and writes, where writing is allowed.
pub(crate) const BOTH: &str = r#"
name = "both"
[trial]
repetitions = { min = 2, max = 2 }
[[sweep]]
name = "both"
operation = ["read", "write"]
request_size = "4KiB"
requests = 20
"#;

/// A study of some two seconds, long enough to be interrupted.
pub(crate) const LONGER: &str = r#"
name = "longer"
[trial]
warmup = "0s"
repetitions = { min = 5, max = 5 }
[[sweep]]
name = "requests"
operation = ["read", "write"]
request_size = ["4KiB", "16KiB", "64KiB"]
duration = "50ms"
bytes = "1GiB"
"#;

/// The directory of one test.
pub(crate) struct Lab {
    directory: TempDir,
}

/// What the program said and how it ended.
pub(crate) struct Outcome {
    pub(crate) status: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Lab {
    pub(crate) fn new() -> Lab {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        // Other users come in as well: some tests are theirs.
        std::fs::set_permissions(directory.path(), PermissionsExt::from_mode(0o755)).unwrap();
        let lab = Lab { directory };
        std::fs::create_dir(lab.place()).unwrap();
        lab.write("tiny.toml", TINY.as_bytes());
        lab.write("longer.toml", LONGER.as_bytes());
        lab.write("endless.toml", LONGER.replace("min = 5, max = 5", "min = 100, max = 100").as_bytes());
        lab
    }

    /// A name in the laboratory; the program runs there.
    pub(crate) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The directory that is measured.
    pub(crate) fn place(&self) -> PathBuf {
        self.path("place")
    }

    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        std::fs::write(self.path(name), bytes).unwrap();
        self.path(name)
    }

    /// A file with nothing to compress in it, all of it on the disk.
    pub(crate) fn data_file(&self, name: &str, kib: usize) -> PathBuf {
        let mut state = 1_u64;
        let mut draw = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state.to_le_bytes()[7]
        };
        let path = self.write(name, &(0..kib * 1024).map(|_| draw()).collect::<Vec<u8>>());
        std::fs::File::open(&path).unwrap().sync_all().unwrap();
        path
    }

    /// The program with the laboratory's own store.
    pub(crate) fn command<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(PROGRAM);
        command.args(arguments).current_dir(self.directory.path()).env("XDG_DATA_HOME", self.path("home"));
        command.stdin(Stdio::null());
        command
    }

    pub(crate) fn run<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Outcome {
        outcome(self.command(arguments))
    }

    /// Runs it and gives the JSON document on standard output; there must be exactly one.
    pub(crate) fn json<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Value {
        let outcome = self.run(arguments);
        assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
        serde_json::from_str(&outcome.stdout).unwrap_or_else(|error| panic!("{error}: {}", outcome.stdout))
    }

    /// The same, whatever the status.
    pub(crate) fn json_of_status<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Value {
        let outcome = self.run(arguments);
        serde_json::from_str(&outcome.stdout).unwrap_or_else(|error| panic!("{error}: {}", outcome.stderr))
    }

    /// Runs the program in the background.
    pub(crate) fn start<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Running {
        let mut command = self.command(arguments);
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        Running::of(command.spawn().unwrap())
    }

    /// Where the store is.
    pub(crate) fn store(&self) -> PathBuf {
        self.path("home/halfpower/results.db")
    }

    /// Reads the store behind the program's back; nothing while it is not there.
    pub(crate) fn query<T>(&self, sql: &str, of: fn(&rusqlite::Row<'_>) -> rusqlite::Result<T>) -> Vec<T> {
        let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
        let Ok(connection) = rusqlite::Connection::open_with_flags(self.store(), flags) else { return Vec::new() };
        let Ok(mut statement) = connection.prepare(sql) else { return Vec::new() };
        let Ok(rows) = statement.query_map((), of) else { return Vec::new() };
        rows.map_while(Result::ok).collect()
    }

    /// The stored samples of a run, in the order they were taken: cell, block, record.
    pub(crate) fn samples(&self, run: i64) -> Vec<(i64, i64, String)> {
        let sql = format!("SELECT cell, block, record FROM samples WHERE run_id = {run} ORDER BY id");
        self.query(&sql, |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
    }

    /// Each run's number and status, as the program tells them.
    pub(crate) fn runs(&self) -> Vec<(i64, String)> {
        let runs = self.json(["runs", "--json"]);
        let of = |run: &Value| (run["run"].as_i64().unwrap(), run["status"].as_str().unwrap().to_owned());
        runs.as_array().unwrap().iter().map(of).collect()
    }

    /// Asserts that the program refuses: one sentence with `needle` and its remedy, this status, and nothing changed.
    pub(crate) fn refuses<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
        status: i32,
        needle: &str,
    ) -> Outcome {
        let arguments: Vec<S> = arguments.into_iter().collect();
        let shown: Vec<_> = arguments.iter().map(|argument| argument.as_ref().to_owned()).collect();
        let before = contents(self.directory.path());
        let outcome = self.run(arguments);
        assert_refusal(&outcome, status, needle, &format!("{shown:?}"));
        assert_eq!(contents(self.directory.path()), before, "{shown:?} changed something");
        if self.store().exists() {
            assert!(self.runs().iter().all(|(_, status)| status != "running"), "{shown:?} left a run behind");
        }
        outcome
    }

    /// Whether files here take direct I/O and io_uring works.
    pub(crate) fn has_direct_ring(&self) -> bool {
        let environment = &self.json(["doctor", "place", "--json"])["environment"];
        let ring = environment["personalities"].as_array().unwrap().iter().find(|p| p["personality"] == "io_uring");
        environment["target"]["direct_alignment_bytes"].is_u64()
            && ring.is_some_and(|ring| ring["unavailable"].is_null())
    }
}

/// One error line, this status, nothing on standard output but the document that says the same with `--json`.
pub(crate) fn assert_refusal(outcome: &Outcome, status: i32, needle: &str, what: &str) {
    let said = &outcome.stderr;
    assert_eq!(outcome.status, Some(status), "{what}: {said}");
    let errors: Vec<&str> = said.lines().filter(|line| line.starts_with("error:")).collect();
    assert!(errors.len() == 1 && errors[0].contains(needle), "{what}: wanted one error with {needle:?}: {said}");
    assert!(!said.contains("panicked") && is_no_result(&outcome.stdout), "{what}: {said}{}", outcome.stdout);
}

fn is_no_result(stdout: &str) -> bool {
    let document: Option<Value> = serde_json::from_str(stdout).ok();
    stdout.is_empty() || document.is_some_and(|document| document["schema"] == "halfpower.error/1")
}

/// Runs a command to its end.
pub(crate) fn outcome(command: Command) -> Outcome {
    let output = assert_cmd::Command::from_std(command).timeout(PATIENCE).output().unwrap();
    Outcome {
        status: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// The program in the background; killed when the test ends.
pub(crate) struct Running {
    child: Option<std::process::Child>,
}

impl Running {
    /// A program that was started.
    pub(crate) fn of(child: std::process::Child) -> Running {
        Running { child: Some(child) }
    }

    fn child(&mut self) -> &mut std::process::Child {
        self.child.as_mut().expect("it is waited for once")
    }

    pub(crate) fn pid(&mut self) -> u32 {
        self.child().id()
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.child().try_wait().unwrap().is_some()
    }

    pub(crate) fn signal(&mut self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(self.child());
        // It may have ended a moment ago.
        let _ = rustix::process::kill_process(pid, signal);
    }

    /// Waits for its end.
    pub(crate) fn wait(mut self) -> Outcome {
        wait_for("the program's end", || self.has_ended());
        let output = self.child.take().unwrap().wait_with_output().unwrap();
        let [stdout, stderr] = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        Outcome { status: output.status.code(), stdout, stderr }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Waits until something holds.
pub(crate) fn wait_for(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < PATIENCE, "waited too long for {what}");
        std::thread::sleep(Duration::from_millis(3));
    }
}

/// Names of what is in a directory.
pub(crate) fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = entries.map(|name| name.to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// The hash of a file.
pub(crate) fn hash(path: &Path) -> u64 {
    let mut hasher = DefaultHasher::new();
    std::fs::read(path).unwrap().hash(&mut hasher);
    hasher.finish()
}

/// Every file below a directory with its hash; the store left out.
pub(crate) fn contents(directory: &Path) -> BTreeMap<PathBuf, Option<u64>> {
    let mut all = BTreeMap::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let kind = entry.file_type().unwrap();
        if kind.is_dir() && entry.file_name() != "home" {
            all.extend(contents(&entry.path()));
        }
        if entry.file_name() != "home" {
            all.insert(entry.path(), kind.is_file().then(|| hash(&entry.path())));
        }
    }
    all
}

/// Says that a test could not be done.
pub(crate) fn skip(reason: &str) {
    eprintln!("skipped: {reason}");
}

/// Whether the machine is so busy that the soaker cannot be calibrated, which it says.
pub(crate) fn is_too_busy(outcome: &Outcome) -> bool {
    let is_told = outcome.status == Some(1) && outcome.stderr.contains("too little time left to calibrate the soaker");
    if is_told {
        skip("the machine is too busy to calibrate the soaker");
    }
    is_told
}

/// Whether we are root; says so when not.
pub(crate) fn is_root() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        skip("this takes root");
    }
    root
}

/// Runs a tool of the system; whether it did its work.
pub(crate) fn tool(name: &str, arguments: &[&OsStr]) -> bool {
    let status = Command::new(name).args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

/// Mounted until dropped.
pub(crate) struct Mounted(pub(crate) PathBuf);

impl Mounted {
    /// A small tmpfs; none where nothing can be mounted, which is said.
    pub(crate) fn tmpfs(path: PathBuf, options: &str) -> Option<Mounted> {
        Mounted::at(path, &["-t", "tmpfs", "-o", options, "tmpfs"])
    }

    /// A new file system of so many MiB on a loop device, made by `make`; none where that cannot be, which is
    /// said.
    pub(crate) fn image(path: PathBuf, mib: u64, make: &[&str]) -> Option<Mounted> {
        let image = path.with_extension("image");
        std::fs::File::create(&image).unwrap().set_len(mib << 20).unwrap();
        let arguments = [&make[1..], &[image.to_str().unwrap()]].concat();
        if !tool(make[0], &arguments.iter().map(OsStr::new).collect::<Vec<_>>()) {
            skip(&format!("there is no {} that makes {mib} MiB", make[0]));
            return None;
        }
        Mounted::at(path, &["-o", "loop", image.to_str().unwrap()])
    }

    fn at(path: PathBuf, arguments: &[&str]) -> Option<Mounted> {
        if !is_root() {
            return None;
        }
        std::fs::create_dir_all(&path).unwrap();
        let arguments = [arguments, &[path.to_str().unwrap()]].concat();
        if !tool("mount", &arguments.iter().map(OsStr::new).collect::<Vec<_>>()) {
            skip(&format!("this cannot be mounted here: {arguments:?}"));
            return None;
        }
        Some(Mounted(path))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // The last file may be closed a moment after a test has failed; the loop device goes with the mount.
        if !tool("umount", &[self.0.as_os_str()]) {
            tool("umount", &["--lazy".as_ref(), self.0.as_os_str()]);
        }
    }
}
