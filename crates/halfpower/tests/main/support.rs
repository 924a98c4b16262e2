//! The laboratory of a test: a directory on a real disk with a place to measure and a store.

use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The program under test.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_halfpower");
/// Time limit of every wait.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// The user id of nobody.
const NOBODY: u32 = 65_534;

/// A command line: a text of words without blanks, a list of words, or two of these.
pub(crate) trait Words {
    fn words(&self) -> Vec<OsString>;
}

impl Words for str {
    fn words(&self) -> Vec<OsString> {
        self.split_whitespace().map(OsString::from).collect()
    }
}

impl Words for String {
    fn words(&self) -> Vec<OsString> {
        self.as_str().words()
    }
}

impl<S: AsRef<OsStr>> Words for [S] {
    fn words(&self) -> Vec<OsString> {
        self.iter().map(|word| word.as_ref().to_owned()).collect()
    }
}

impl<S: AsRef<OsStr>> Words for Vec<S> {
    fn words(&self) -> Vec<OsString> {
        self.as_slice().words()
    }
}

impl<S: AsRef<OsStr>, const COUNT: usize> Words for [S; COUNT] {
    fn words(&self) -> Vec<OsString> {
        self.as_slice().words()
    }
}

impl<W: Words + ?Sized> Words for &W {
    fn words(&self) -> Vec<OsString> {
        (**self).words()
    }
}

impl<A: Words, B: Words> Words for (A, B) {
    fn words(&self) -> Vec<OsString> {
        [self.0.words(), self.1.words()].concat()
    }
}

/// The directory of one test.
pub(crate) struct Lab {
    directory: TempDir,
}

/// Output and status of the program.
pub(crate) struct Outcome {
    pub(crate) status: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Lab {
    /// With the studies and results of `files`.
    pub(crate) fn new() -> Lab {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        // Some tests run as another user.
        std::fs::set_permissions(directory.path(), PermissionsExt::from_mode(0o755)).unwrap();
        let lab = Lab { directory };
        std::fs::create_dir(lab.place()).unwrap();
        let files = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/crates/halfpower/tests/main/files"));
        for name in names(files).iter().filter(|name| name.contains('.')) {
            std::fs::copy(files.join(name), lab.path(name)).unwrap();
        }
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

    pub(crate) fn write(&self, name: impl AsRef<Path>, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    pub(crate) fn read(&self, name: impl AsRef<Path>) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) fn directory(&self, name: impl AsRef<Path>) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir(&path).unwrap();
        path
    }

    /// A sparse file of this size in MiB, with some bytes at its start.
    pub(crate) fn image(&self, name: impl AsRef<Path>, begin: &[u8], mib: u64) -> PathBuf {
        let path = self.write(name, begin);
        std::fs::File::options().write(true).open(&path).unwrap().set_len(mib << 20).unwrap();
        path
    }

    /// A file of incompressible data, flushed to the disk.
    pub(crate) fn data_file(&self, name: &str, kib: usize) -> PathBuf {
        let mut state = 1_u64;
        let mut draw = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state.to_le_bytes()[7]
        };
        let path = self.write(name, (0..kib * 1024).map(|_| draw()).collect::<Vec<u8>>());
        std::fs::File::open(&path).unwrap().sync_all().unwrap();
        path
    }

    /// The program with the laboratory's own store.
    pub(crate) fn command(&self, words: impl Words) -> Command {
        self.program(PROGRAM, words)
    }

    /// Another program, which may run ours.
    pub(crate) fn program(&self, program: &str, words: impl Words) -> Command {
        let mut command = Command::new(program);
        command.args(words.words()).current_dir(self.directory.path()).env("XDG_DATA_HOME", self.path("home"));
        command.env("HALFPOWER", PROGRAM).stdin(Stdio::null());
        command
    }

    /// The program within a limit of `ulimit`.
    pub(crate) fn limited(&self, limit: &str, words: &str) -> Outcome {
        outcome(self.program("sh", ["-c", &format!("ulimit {limit}; exec '{PROGRAM}' {words}")]))
    }

    /// The program as nobody, if we are root. None if others cannot run it; prints the reason.
    pub(crate) fn as_nobody(&self, words: impl Words) -> Option<Command> {
        self.nobodys(self.command(words))
    }

    pub(crate) fn nobodys(&self, mut command: Command) -> Option<Command> {
        if rustix::process::geteuid().is_root() {
            command.uid(NOBODY).gid(NOBODY);
            if self.command("--version").uid(NOBODY).output().is_err() {
                skip(&format!("other users cannot run {PROGRAM}"));
                return None;
            }
        }
        Some(command)
    }

    /// Gives a file or directory to nobody, if we are root.
    pub(crate) fn give_away(&self, name: &str) {
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(self.path(name), Some(NOBODY), Some(NOBODY)).unwrap();
        }
    }

    pub(crate) fn run(&self, words: impl Words) -> Outcome {
        outcome(self.command(words))
    }

    /// Runs it and asserts its status and a part of standard error.
    pub(crate) fn ends(&self, words: impl Words, status: i32, needle: &str) -> Outcome {
        let outcome = self.run(&words);
        let holds = outcome.status == Some(status) && outcome.stderr.contains(needle);
        assert!(holds, "{:?}: {:?} {}", words.words(), outcome.status, outcome.stderr);
        outcome
    }

    /// Runs it and asserts success.
    pub(crate) fn ok(&self, words: impl Words) -> Outcome {
        self.ends(words, 0, "")
    }

    /// Runs it with `--json` and gives the JSON document on standard output; there must be exactly one.
    pub(crate) fn json(&self, words: impl Words) -> Value {
        self.ok((words, "--json")).document()
    }

    /// The same, whatever the status.
    pub(crate) fn json_of_status(&self, words: impl Words) -> Value {
        self.run((words, "--json")).document()
    }

    /// The report of a run.
    pub(crate) fn page(&self, run: impl std::fmt::Display) -> String {
        self.ok(format!("report {run} --output=page.html"));
        self.read("page.html")
    }

    /// Runs the program in the background until something holds; once more if it ends before, as udev may have its device open.
    pub(crate) fn start_until(&self, words: impl Words, what: &str, mut holds: impl FnMut() -> bool) -> Running {
        let mut running = self.start(&words).until(what, &mut holds);
        if running.has_ended() {
            eprintln!("started again: {}", running.wait().stderr);
            running = self.start(&words).until(what, &mut holds);
        }
        assert!(!running.has_ended(), "it ended before {what}: {}", running.wait().stderr);
        running
    }

    /// Runs the program in the background.
    pub(crate) fn start(&self, words: impl Words) -> Running {
        Running::of(self.command(words).stdout(Stdio::null()))
    }

    /// Where the store is.
    pub(crate) fn store(&self) -> PathBuf {
        self.path("home/halfpower/results.db")
    }

    /// Reads the store directly; nothing if it does not exist yet.
    pub(crate) fn query<T>(&self, sql: &str, of: fn(&rusqlite::Row<'_>) -> rusqlite::Result<T>) -> Vec<T> {
        let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
        let Ok(connection) = rusqlite::Connection::open_with_flags(self.store(), flags) else { return Vec::new() };
        let Ok(mut statement) = connection.prepare(sql) else { return Vec::new() };
        let Ok(rows) = statement.query_map((), of) else { return Vec::new() };
        rows.map_while(Result::ok).collect()
    }

    /// The stored samples of a run in order of measurement: cell, block, record.
    pub(crate) fn samples(&self, run: i64) -> Vec<(i64, i64, String)> {
        let sql = format!("SELECT cell, block, record FROM samples WHERE run_id = {run} ORDER BY id");
        self.query(&sql, |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
    }

    /// The stored records of all runs in order of measurement.
    pub(crate) fn records(&self) -> Vec<Value> {
        let records = self.query("SELECT record FROM samples ORDER BY run_id, id", |row| row.get::<_, String>(0));
        records.iter().map(|record| serde_json::from_str(record).unwrap()).collect()
    }

    /// Changes the store directly.
    pub(crate) fn change_store(&self, sql: &str) {
        rusqlite::Connection::open(self.store()).unwrap().execute_batch(sql).unwrap();
    }

    /// Each run's number and status, as the program lists them.
    pub(crate) fn runs(&self) -> Vec<(i64, String)> {
        let of = |run: &Value| (run["run"].as_i64().unwrap(), run["status"].as_str().unwrap().to_owned());
        self.json("runs").as_array().unwrap().iter().map(of).collect()
    }

    /// Asserts that the program rejects a command: one error with `needle`, this status, and nothing changed.
    pub(crate) fn refuses(&self, words: impl Words, status: i32, needle: &str) -> Outcome {
        let shown = format!("{:?}", words.words());
        let before = contents(self.directory.path());
        let outcome = self.run(words);
        assert_refusal(&outcome, status, needle, &shown);
        assert_eq!(contents(self.directory.path()), before, "{shown} changed something");
        if self.store().exists() {
            assert!(self.runs().iter().all(|(_, status)| status != "running"), "{shown} left a run behind");
        }
        outcome
    }

    /// Asserts that it rejects each of these command lines, with this status and needle.
    pub(crate) fn refuses_each<W: Words, N: AsRef<str>>(&self, rows: impl IntoIterator<Item = (W, i32, N)>) {
        rows.into_iter().for_each(|(words, status, needle)| drop(self.refuses(words, status, needle.as_ref())));
    }

    /// Whether files here take direct I/O and io_uring works; prints the reason if not.
    pub(crate) fn has_direct_ring(&self) -> bool {
        static HAS: OnceLock<bool> = OnceLock::new();
        let has = *HAS.get_or_init(|| {
            let environment = &self.json("doctor place")["environment"];
            let ring = find(&environment["personalities"], "personality", "io_uring");
            environment["target"]["direct_alignment_bytes"].is_u64() && ring["unavailable"].is_null()
        });
        if !has {
            skip("files here take no direct I/O, or io_uring does not work");
        }
        has
    }
}

impl Outcome {
    fn of(output: std::process::Output) -> Outcome {
        let [stdout, stderr] = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        Outcome { status: output.status.code(), stdout, stderr }
    }

    /// Asserts its status and a part of standard error.
    #[track_caller]
    pub(crate) fn ended(self, status: i32, needle: &str) -> Outcome {
        let holds = self.status == Some(status) && self.stderr.contains(needle);
        assert!(holds, "{:?}, not {status} {needle:?}: {}{}", self.status, self.stdout, self.stderr);
        self
    }

    pub(crate) fn document(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {}{}", self.stdout, self.stderr))
    }

    /// Standard output on one line.
    pub(crate) fn words(&self) -> String {
        self.stdout.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

/// The member of a list with this text under the key.
pub(crate) fn find<'v>(list: &'v Value, key: &str, text: &str) -> &'v Value {
    let found = list.as_array().and_then(|members| members.iter().find(|member| member[key] == text));
    found.unwrap_or(&Value::Null)
}

/// The codes of the warnings of a document.
pub(crate) fn codes(document: &Value) -> Vec<String> {
    let warnings = document["warnings"].as_array().cloned().unwrap_or_default();
    warnings.iter().map(|warning| warning["code"].as_str().unwrap().to_owned()).collect()
}

/// Asserts one error line, this status, and nothing on standard output but the error document of `--json`.
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
    Outcome::of(assert_cmd::Command::from_std(command).timeout(PATIENCE).output().unwrap())
}

/// The program in the background; killed when the test ends.
pub(crate) struct Running {
    child: Option<std::process::Child>,
}

impl Running {
    pub(crate) fn of(command: &mut Command) -> Running {
        Running { child: Some(command.stderr(Stdio::piped()).spawn().unwrap()) }
    }

    /// One whose standard error goes to a file.
    pub(crate) fn with_stderr(command: &mut Command, file: PathBuf) -> Running {
        Running { child: Some(command.stderr(std::fs::File::create(file).unwrap()).spawn().unwrap()) }
    }

    pub(crate) fn child(&mut self) -> &mut std::process::Child {
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
        // It may have ended.
        let _ = rustix::process::kill_process(pid, signal);
    }

    /// Waits until something holds, or it has ended.
    pub(crate) fn until(mut self, what: &str, mut holds: impl FnMut() -> bool) -> Running {
        wait_for(what, || self.has_ended() || holds());
        self
    }

    /// Signals it and waits for its end.
    pub(crate) fn end(mut self, signal: rustix::process::Signal) -> Outcome {
        self.signal(signal);
        self.wait()
    }

    /// Waits for its end.
    pub(crate) fn wait(mut self) -> Outcome {
        wait_for("the program's end", || self.has_ended());
        Outcome::of(self.child.take().unwrap().wait_with_output().unwrap())
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

/// Names of the entries of a directory.
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

/// Every file below a directory with its hash, without the store.
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

/// Reports that a test was skipped.
pub(crate) fn skip(reason: &str) {
    eprintln!("skipped: {reason}");
}

/// Whether the machine is too busy to calibrate the soaker; prints the reason.
pub(crate) fn is_too_busy(outcome: &Outcome) -> bool {
    let is_busy = outcome.status == Some(1) && outcome.stderr.contains("too little time left to calibrate the soaker");
    if is_busy {
        skip("the machine is too busy to calibrate the soaker");
    }
    is_busy
}

/// Whether we are root; prints the reason if not.
pub(crate) fn is_root() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        skip("this takes root");
    }
    root
}

/// Runs a tool of the system; whether it succeeded.
pub(crate) fn tool(name: &str, words: impl Words) -> bool {
    let status = Command::new(name).args(words.words()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

/// Makes a file system on a device or image by a command; whether it succeeded.
pub(crate) fn make(command: &str, on: &Path) -> bool {
    let (program, options) = command.split_once(' ').unwrap();
    let made = is_root() && tool(program, (options, [on]));
    if !made {
        skip(&format!("no file system is made by {command}"));
    }
    made
}

/// A loop device on a file, detached in the end.
pub(crate) struct Loop {
    pub(crate) device: PathBuf,
}

impl Loop {
    /// None if there is no free loop device; prints the reason.
    pub(crate) fn on(file: &Path) -> Option<Loop> {
        Loop::with("--partscan", file)
    }

    pub(crate) fn with(option: &str, file: &Path) -> Option<Loop> {
        if !is_root() {
            return None;
        }
        // Two searches for a free device open each other's device, and an open device is not written.
        static ONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
        let _one = ONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let attached = Command::new("losetup").args(["--find", "--show", option]).arg(file).output();
        let Some(output) = attached.ok().filter(|output| output.status.success()) else {
            skip("no loop device is to be had");
            return None;
        };
        Some(Loop { device: PathBuf::from(String::from_utf8(output.stdout).unwrap().trim()) })
    }

    pub(crate) fn name(&self) -> &str {
        self.device.to_str().unwrap()
    }

    /// Its first partition, which is added by hand if the kernel reads no tables.
    pub(crate) fn partition(&self) -> PathBuf {
        tool("partx", ["--add".as_ref(), self.device.as_os_str()]);
        PathBuf::from(format!("{}p1", self.name()))
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        tool("partx", ["--delete".as_ref(), self.device.as_os_str()]);
        tool("losetup", ["--detach".as_ref(), self.device.as_os_str()]);
    }
}

/// Mounted until dropped.
pub(crate) struct Mounted(pub(crate) PathBuf);

impl Mounted {
    /// A small tmpfs; none where nothing can be mounted; prints the reason.
    pub(crate) fn tmpfs(point: PathBuf, options: &str) -> Option<Mounted> {
        Mounted::on(Path::new("tmpfs"), point, &format!("-t tmpfs -o {options}"))
    }

    /// A new file system of this size in MiB on a loop device, made by a command.
    pub(crate) fn image(point: PathBuf, mib: u64, command: &str) -> Option<Mounted> {
        let image = point.with_extension("image");
        std::fs::File::create(&image).unwrap().set_len(mib << 20).unwrap();
        make(command, &image).then(|| Mounted::on(&image, point, "-o loop")).flatten()
    }

    /// A device or an image.
    pub(crate) fn on(what: &Path, point: PathBuf, options: &str) -> Option<Mounted> {
        if !is_root() {
            return None;
        }
        std::fs::create_dir_all(&point).unwrap();
        if !tool("mount", (options, [what, &point])) {
            skip(&format!("{} cannot be mounted here", what.display()));
            return None;
        }
        Some(Mounted(point))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // A failed test may close its last file a little later; the loop device goes with the mount.
        if !tool("umount", [&self.0]) {
            tool("umount", ("--lazy", [&self.0]));
        }
    }
}
