//! Writes files that the user names: reports and exports. A file is written as a whole or not at all. Only a report may
//! replace a file: an earlier report of the same run, or with `--force` of any run.
//!
//! The text goes to a new file in the same directory (`O_EXCL`, so an existing one is neither followed nor truncated),
//! which is then renamed. Rejected are symbolic links, directories, devices, and files that Halfpower did not write.
//! [`Output::check`] finds all of that before a measurement.

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use rustix::fs::{CWD, OFlags, RenameFlags, renameat_with};
use rustix::io::Errno;
use std::borrow::Cow;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Mark near the start of every report.
pub(crate) const MARK: &str = "<meta name=\"generator\" content=\"halfpower ";
/// Mark of the run that a report is of.
const OF: &str = "<meta name=\"halfpower-run\" content=\"";
/// Bytes of a file that are searched for the mark.
const MARK_WITHIN: u64 = 16 << 10;
/// Number of names tried for the temporary file.
const ATTEMPTS: u32 = 100;
/// Longest wait for the creation of an empty file at the end of the program.
const CREATION: Duration = Duration::from_millis(200);

/// A file to write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output<'p> {
    path: &'p Path,
    kind: Kind<'p>,
}

#[derive(Clone, Copy, Debug)]
enum Kind<'p> {
    /// Must not exist.
    New,
    /// May replace a report of the same run, or with `force` of any.
    Report { of: &'p str, force: bool },
}

/// Whether a report may replace that of another run.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct Force {
    /// Replace the report of another run, if the file is one
    #[arg(long, help_heading = "Results")]
    force: bool,
}

impl<'p> Output<'p> {
    /// A report of the run or the runs with the identity `of`, which may replace an earlier one of them. Before a run has an
    /// identity it is empty.
    pub(crate) fn report(path: &'p Path, of: &'p str, Force { force }: Force) -> Self {
        Output { path, kind: Kind::Report { of, force } }
    }

    /// A file that must not exist.
    pub(crate) fn new_file(path: &'p Path) -> Self {
        Output { path, kind: Kind::New }
    }

    /// Checks whether it can be written, with an empty temporary file beside it.
    ///
    /// # Errors
    /// If the name belongs to another file, or no file can be created in the directory.
    pub(crate) fn check(self) -> Result<()> {
        self.look()?;
        let (temporary, _) = create_beside(self.path)?;
        let removed = fs::remove_file(&temporary).with_context(|| format!("cannot remove {}", temporary.display()));
        unfinished().take();
        removed
    }

    /// Writes the content.
    ///
    /// # Errors
    /// As [`check`](Self::check), and if there is no space.
    pub(crate) fn write(self, content: &(impl AsRef<[u8]> + ?Sized)) -> Result<()> {
        self.look()?;
        let mut content = Cow::Borrowed(content.as_ref());
        if let Kind::Report { of, .. } = self.kind {
            let page = String::from_utf8_lossy(&content);
            content = Cow::Owned(page.replacen(MARK, &format!("{OF}{of}\">\n{MARK}"), 1).into_bytes());
        }
        let (temporary, mut file) = create_beside(self.path)?;
        let cannot = || format!("cannot write {}", self.path.display());
        let written = file.write_all(&content).and_then(|()| file.sync_all()).with_context(cannot);
        let placed = written.and_then(|()| self.place(&temporary));
        if placed.is_err() {
            // The first error is more useful than one of the clean-up.
            let _ = fs::remove_file(&temporary);
        }
        unfinished().take();
        placed
    }

    /// Renames the temporary file. A file that was created meanwhile stays, if the file system supports that.
    fn place(self, temporary: &Path) -> Result<()> {
        let is_there = self.look()?;
        let flags = if is_there { RenameFlags::empty() } else { RenameFlags::NOREPLACE };
        let placed = match renameat_with(CWD, temporary, CWD, self.path, flags) {
            // The file system does not support the flag.
            Err(Errno::INVAL | Errno::NOSYS) => fs::rename(temporary, self.path),
            Err(Errno::EXIST) => return Err(self.taken()),
            placed => placed.map_err(Into::into),
        };
        placed.with_context(|| format!("cannot write {}", self.path.display()))
    }

    /// Whether a file exists that may be replaced; rejects any other.
    fn look(self) -> Result<bool> {
        let shown = self.path.display();
        let metadata = match fs::symlink_metadata(self.path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error).with_context(|| format!("cannot look at {shown}")),
        };
        if metadata.is_symlink() {
            bail!("{shown} is a symbolic link, which nothing is written over; give the file's own name");
        }
        if !metadata.is_file() {
            bail!("{shown} is not a regular file; give another name");
        }
        let Kind::Report { of, force } = self.kind else { return Err(self.taken()) };
        let start = start_of(self.path).with_context(|| format!("cannot read {shown}"))?;
        if !start.contains(MARK) {
            return Err(self.taken());
        }
        if !force && (of.is_empty() || !start.contains(&format!("{OF}{of}\""))) {
            bail!("{shown} is the report of another run; give another name, or replace it with --force");
        }
        Ok(true)
    }

    fn taken(self) -> anyhow::Error {
        let shown = self.path.display();
        let reason = match self.kind {
            Kind::Report { .. } => " and is no report of Halfpower",
            Kind::New => ", and nothing is written over",
        };
        anyhow!("{shown} exists{reason}; give another name")
    }
}

/// What a file begins with.
fn start_of(path: &Path) -> std::io::Result<String> {
    let flags = (OFlags::NONBLOCK | OFlags::NOFOLLOW).bits() as i32;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let mut start = Vec::new();
    file.take(MARK_WITHIN).read_to_end(&mut start)?;
    Ok(String::from_utf8_lossy(&start).into_owned())
}

/// The temporary file, until it is renamed or removed.
static UNFINISHED: Mutex<Option<PathBuf>> = Mutex::new(None);

fn unfinished() -> MutexGuard<'static, Option<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes the temporary file at the end of the program, and prevents further ones. Waits up to [`CREATION`] for a file
/// that is being created, because a dead file system never returns.
pub(crate) fn remove_unfinished() {
    let begun = Instant::now();
    while begun.elapsed() < CREATION {
        match UNFINISHED.try_lock() {
            Ok(mut unfinished) => {
                if let Some(path) = unfinished.take() {
                    // It may have been renamed just now.
                    let _ = fs::remove_file(path);
                }
                return std::mem::forget(unfinished);
            }
            Err(_) => std::thread::sleep(Duration::from_millis(1)),
        }
    }
}

/// A new file in the same directory, with an unused name.
fn create_beside(path: &Path) -> Result<(PathBuf, File)> {
    let name = path.file_name().with_context(|| format!("{} names no file", path.display()))?;
    for attempt in 0..ATTEMPTS {
        let mut hidden = std::ffi::OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{}-{attempt}", std::process::id()));
        let temporary = path.with_file_name(hidden);
        let mut unfinished = unfinished();
        match OpenOptions::new().write(true).create_new(true).open(&temporary) {
            Ok(file) => {
                *unfinished = Some(temporary.clone());
                return Ok((temporary, file));
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => {
                let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
                let (name, directory) = (name.display(), directory.unwrap_or(Path::new(".")).display());
                let remedy = "name a file in a directory that can be written";
                return Err(error).with_context(|| format!("cannot make {name} in {directory}; {remedy}"));
            }
        }
    }
    bail!("every temporary name beside {} is taken; remove the files that start with a dot", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn report(text: &str) -> String {
        format!("<!doctype html>\n{MARK}0\">\n{text}")
    }

    #[test]
    fn a_report_replaces_a_report_and_leaves_nothing_beside_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("report.html");
        let victim = directory.path().join("victim");
        fs::write(&victim, "data").unwrap();
        // An existing temporary name is not followed.
        symlink(&victim, directory.path().join(format!(".report.html.{}-0", std::process::id()))).unwrap();
        let write = |of, force, text| Output::report(&path, of, Force { force }).write(&report(text));
        let is_now = |text| fs::read_to_string(&path).unwrap().ends_with(text);
        write("a", false, "one").unwrap();
        write("a", false, "two").unwrap();
        assert!(is_now("two"));
        for other in ["b", ""] {
            let error = write(other, false, "three").unwrap_err().to_string();
            assert!(error.contains("of another run") && error.contains("--force"), "{error}");
        }
        assert!(is_now("two"));
        write("b", true, "three").unwrap();
        assert!(is_now("three"));
        assert_eq!(fs::read_to_string(&victim).unwrap(), "data");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 3);
        let error =
            Output::report(&directory.path().join("none/report.html"), "", Force::default()).check().unwrap_err();
        assert!(error.to_string().contains("none"), "{error}");
    }

    #[test]
    fn what_is_no_report_stays_as_it_is() {
        let directory = tempfile::tempdir().unwrap();
        let precious = directory.path().join("precious.html");
        fs::write(&precious, "my thesis").unwrap();
        let link = directory.path().join("report.html");
        symlink(&precious, &link).unwrap();
        let dangling = directory.path().join("dangling.html");
        symlink(directory.path().join("nowhere"), &dangling).unwrap();
        for path in [&precious, &link, &dangling, &directory.path().to_path_buf()] {
            assert!(
                Output::report(path, "x", Force { force: true }).write(&report("x")).is_err(),
                "{}",
                path.display()
            );
        }
        assert_eq!(fs::read_to_string(&precious).unwrap(), "my thesis");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert!(!directory.path().join("nowhere").exists());
    }

    #[test]
    fn a_new_file_takes_no_other_s_place() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("run.csv");
        Output::new_file(&path).check().unwrap();
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0, "a check leaves nothing");
        Output::new_file(&path).write("a,b").unwrap();
        for there in ["a,b", "", &report("x")] {
            fs::write(&path, there).unwrap();
            assert!(Output::new_file(&path).check().unwrap_err().to_string().contains("exists"));
            assert!(Output::new_file(&path).write("c").is_err());
            assert_eq!(fs::read_to_string(&path).unwrap(), there);
        }
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_comes_between_look_and_name_stays() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("run.csv");
        let (temporary, _) = create_beside(&path).unwrap();
        let output = Output::new_file(&path);
        assert!(!output.look().unwrap());
        fs::write(&path, "theirs").unwrap();
        assert!(output.place(&temporary).unwrap_err().to_string().contains("exists"));
        assert_eq!(fs::read_to_string(&path).unwrap(), "theirs");
    }
}
