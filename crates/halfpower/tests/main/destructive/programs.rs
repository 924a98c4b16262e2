//! Files that other programs use, and files that the user did not name.

use super::{Destruction, attempts, keeper};
use crate::support::{Loop, PROGRAM, Running, hash, is_root, outcome, tool, wait_for};
use rustix::fs::FlockOperation;
use std::any::Any;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Whoever breaks the lease has the kernel end this process, unless it ignores that.
const LEASE: &str = "fcntl.fcntl(f, fcntl.F_SETLEASE, fcntl.F_WRLCK)";
const IGNORE: &str = "signal.signal(signal.SIGIO, signal.SIG_IGN)";
const READ_LEASE: &str = "f.close(); f = open(sys.argv[1], 'rb'); fcntl.fcntl(f, fcntl.F_SETLEASE, fcntl.F_RDLCK)";

/// Does something to a file, `f`, and keeps at it.
fn python(does: &str, file: &Path) -> Option<Running> {
    let begin = "import fcntl, signal, sys, time\nf = open(sys.argv[1], 'r+b')";
    let script = format!("{begin}\n{does}\nprint('ready', flush=True); time.sleep(600)");
    keeper("python3", (["-c", &script], [file]))
}

/// A flag of a file, taken from it when dropped.
struct Flagged(PathBuf);

impl Flagged {
    fn new(flag: &str, file: &Path) -> Option<Flagged> {
        (is_root() && tool("chattr", (flag, [file]))).then(|| Flagged(file.to_owned()))
    }
}

impl Drop for Flagged {
    fn drop(&mut self) {
        tool("chattr", ("-ia", [&self.0]));
    }
}

fn locked(file: &Path, how: FlockOperation) -> File {
    let holder = File::open(file).unwrap();
    rustix::fs::flock(&holder, how).unwrap();
    holder
}

/// Opens a file by a name that is gone then.
fn open_by_another_name(file: &Path) -> File {
    let link = file.with_extension("link");
    std::fs::hard_link(file, &link).unwrap();
    let writer = File::options().write(true).open(&link).unwrap();
    std::fs::remove_file(&link).unwrap();
    writer
}

/// Makes it a program that runs.
fn running(file: &Path) -> Option<Running> {
    let is_there = tool("cp", [Path::new("/bin/sleep"), file]) && tool("chmod", ("+x", [file]));
    is_there.then(|| Running::of(Command::new(file).arg("600")))
}

/// Uses a file until what it gives is dropped; none where that cannot be.
type Use = fn(&Path) -> Option<Box<dyn Any>>;

fn kept<T: 'static>(user: Option<T>) -> Option<Box<dyn Any>> {
    user.map(|user| Box::new(user) as Box<dyn Any>)
}

#[test]
fn a_file_that_somebody_has_open_is_in_use() {
    let uses: [(&str, Use); 10] = [
        ("has it open", |file| kept(File::open(file).ok())),
        ("has it open", |file| kept(Some(locked(file, FlockOperation::LockShared)))),
        ("has it open", |file| kept(Some(locked(file, FlockOperation::LockExclusive)))),
        ("has it open", |file| kept(Some(open_by_another_name(file)))),
        ("holds a lease on it", |file| kept(python(&format!("{IGNORE}; {LEASE}"), file))),
        ("holds a lease on it", |file| kept(python(&format!("{IGNORE}; {READ_LEASE}"), file))),
        ("is not written", |file| kept(python("import mmap; m = mmap.mmap(f.fileno(), 0); f.close()", file))),
        ("is a running program", |file| kept(running(file))),
        ("is immutable (chattr +i)", |file| kept(Flagged::new("+i", file))),
        ("is append-only (chattr +a)", |file| kept(Flagged::new("+a", file))),
    ];
    // Each looks for a while whether the user goes; so they are tried side by side.
    let tried = |(reason, user): (&str, Use)| {
        let lab = Destruction::new();
        let file = lab.data_file("file", 256);
        let before = hash(&file);
        let Some(user) = user(&file) else { return 0 };
        // Reading the file would break a write lease and wait up to 45 s.
        let is_leased = reason.contains("lease");
        let guarded: Vec<&Path> = if is_leased { Vec::new() } else { vec![&file] };
        lab.saves(reason, &[&file], &guarded);
        drop(user);
        assert!(!is_leased || hash(&file) == before, "{reason}");
        lab.tried.get()
    };
    let tried: usize = std::thread::scope(|scope| {
        let users = uses.map(|one| scope.spawn(move || tried(one)));
        users.into_iter().map(|user| user.join().unwrap()).sum()
    });
    assert!(tried >= 42, "only {tried} commands were tried");
}

#[test]
fn the_holder_of_a_lease_is_not_disturbed() {
    let lab = Destruction::new();
    let file = lab.data_file("file", 64);
    let Some(mut keeper) = python(LEASE, &file) else { return };
    lab.saves("(python3) holds a lease on it", &[&file], &[]);
    lab.ends("io file --requests=4 --no-store", 1, "holds a lease");
    assert!(!keeper.has_ended(), "the program that held the lease has ended");
}

#[test]
fn without_the_kernel_s_word_nothing_is_overwritten() {
    let lab = Destruction::new();
    let file = lab.data_file("file", 64);
    if !is_root() {
        return;
    }
    let before = std::fs::read(&file).unwrap();
    for (hide, reason) in [
        ("umount -l /sys", "/sys is not mounted"),
        ("umount -l /proc", "/proc is not mounted"),
        ("mount -t tmpfs none /sys/class", "/sys/class/block does not show any device"),
        ("mount -t tmpfs none /sys/devices", "/sys/class/block does not show "),
    ] {
        for attempt in attempts(&file) {
            let hide = format!("{hide}; exec \"$0\" \"$@\"");
            let command = lab.program("unshare", (["--mount", "sh", "-c", &hide, PROGRAM], &attempt));
            outcome(command).ended(1, reason);
            assert!(std::fs::read(&file).unwrap() == before, "{hide}: {attempt:?} changed it");
        }
    }
}

#[test]
fn only_what_the_user_names_is_overwritten() {
    let lab = Destruction::new();
    let file = lab.data_file("file", 64);
    let other = lab.data_file("other", 64);
    let link = lab.path("link");
    std::os::unix::fs::symlink("file", &link).unwrap();
    let study = lab.read("both.toml").replace("[trial]", "[target]\npath = \"file\"\n[trial]");
    lab.write("names.toml", study);
    lab.write("includes.toml", "name = \"includes\"\ninclude = [\"names.toml\"]\n");
    let before = [&file, &other].map(|path| std::fs::read(path).unwrap());
    let unchanged = || assert!([&file, &other].map(|path| std::fs::read(path).unwrap()) == before);
    for (words, needle) in [
        ("study run names.toml --overwrite --no-report", "give --overwrite=file"),
        ("plan names.toml --overwrite", "give --overwrite=file"),
        ("plan names.toml --overwrite --emit=shell", "give --overwrite=file"),
        ("plan names.toml --overwrite --emit=fio", "give --overwrite=file"),
        ("study run names.toml --overwrite=other --no-report", "--overwrite names other"),
        ("io link --op=write --overwrite=file", "is the same file as the target link"),
        ("io file --op=write --overwrite=link", "is the same file as the target file"),
        ("io file --op=write --overwrite=other", "--overwrite names other"),
    ] {
        lab.refuses(words, 2, needle);
        unchanged();
    }
    // Named, it is.
    lab.ok("study run names.toml --overwrite=file --no-report");
    assert!(std::fs::read(&file).unwrap() != before[0] && std::fs::read(&other).unwrap() == before[1]);
}

#[test]
fn two_runs_never_write_one_target() {
    let lab = Destruction::new();
    let file = lab.data_file("file", 1024);
    let before = std::fs::read(&file).unwrap();
    let writer = lab.start("io file --op=write --duration=50s --overwrite --no-store");
    wait_for("the first run to write", || std::fs::read(&file).is_ok_and(|bytes| bytes != before));
    for attempt in attempts(&file) {
        lab.ends(&attempt, 1, "(halfpower) has it open");
    }
    // Data that are read during a write may change.
    let warnings = lab.json("io file --requests=4 --no-store")["warnings"].to_string();
    assert!(warnings.contains("holds an exclusive lock"), "{warnings}");
    drop(writer);
    // A run that reads is not written into either.
    let mut reader = lab.start("io file --duration=50s --no-store");
    let pid = reader.pid();
    let holds = || {
        std::fs::read_dir(format!("/proc/{pid}/fd"))
            .unwrap()
            .flatten()
            .any(|descriptor| std::fs::read_link(descriptor.path()).is_ok_and(|leads| leads == file))
    };
    wait_for("the run to read", holds);
    lab.ends("io file --op=write --overwrite --requests=4 --no-store", 1, "");
}

#[test]
fn a_device_that_is_written_while_it_is_read_says_so() {
    let lab = Destruction::new();
    let image = lab.data_file("image", 1024);
    let Some(device) = Loop::on(&image) else { return };
    let before = std::fs::read(&image).unwrap();
    let io = format!("io {} --no-store", device.name());
    let writes = || std::fs::read(&image).unwrap() != before;
    let writer = lab.start_until((&io, "--op=write --duration=50s --overwrite"), "the first run to write", writes);
    lab.ends((&io, "--op=write --requests=4 --overwrite"), 1, "(halfpower) has loop");
    let warnings = || lab.json((&io, "--requests=4"))["warnings"].to_string();
    assert!(warnings().contains("holds an exclusive lock"));
    drop(writer);
    assert!(!warnings().contains("holds an exclusive lock"));
}
