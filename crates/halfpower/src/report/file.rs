//! Puts a report into its place: whole or not at all, and never over anything but an earlier report.
//!
//! The text goes to a new file in the same directory (`O_EXCL`, so nothing that waits there is followed or shortened),
//! which then takes the name. Refused: a name that is a symbolic link, a directory, a device, or a file that Halfpower
//! did not write.

use anyhow::{Context, Result, bail};
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

/// Every report has this near its start.
pub(super) const MARK: &str = "<meta name=\"generator\" content=\"halfpower ";
/// How far into a file the mark is looked for, in bytes.
const MARK_WITHIN: u64 = 1024;
/// Names that are tried for the temporary file.
const ATTEMPTS: u32 = 100;

/// Writes a report; an earlier report of that name is replaced.
///
/// # Errors
/// When the name belongs to something else, or the directory cannot be written.
pub(crate) fn write_atomically(path: &Path, content: &(impl AsRef<[u8]> + ?Sized)) -> Result<()> {
    check_replaceable(path)?;
    let (temporary, mut file) = create_beside(path)?;
    let written = file
        .write_all(content.as_ref())
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(&temporary, path))
        .with_context(|| format!("cannot write {}", path.display()));
    if written.is_err() {
        // The first error says more than a failure to tidy up would.
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// Refuses to replace what is no report.
fn check_replaceable(path: &Path) -> Result<()> {
    let shown = path.display();
    let metadata = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error).with_context(|| format!("cannot look at {shown}")),
    };
    if metadata.is_symlink() {
        bail!("{shown} is a symbolic link, which a report does not replace; give the file's own name");
    }
    if !metadata.is_file() {
        bail!("{shown} is not a regular file; give another name for the report");
    }
    let mut start = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MARK_WITHIN).read_to_end(&mut start))
        .with_context(|| format!("cannot read {shown}"))?;
    if !start.is_empty() && !String::from_utf8_lossy(&start).contains(MARK) {
        bail!("{shown} exists and is no report of Halfpower; give another name");
    }
    Ok(())
}

/// A new file in the same directory, under a name nobody has.
fn create_beside(path: &Path) -> Result<(PathBuf, File)> {
    let name = path.file_name().with_context(|| format!("{} names no file", path.display()))?;
    for attempt in 0..ATTEMPTS {
        let mut hidden = std::ffi::OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{}-{attempt}", std::process::id()));
        let temporary = path.with_file_name(hidden);
        match OpenOptions::new().write(true).create_new(true).open(&temporary) {
            Ok(file) => return Ok((temporary, file)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => {
                let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
                let directory = directory.unwrap_or(Path::new("."));
                return Err(error).with_context(|| format!("cannot make a file in {}", directory.display()));
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
        write_atomically(&path, &report("one")).unwrap();
        write_atomically(&path, &report("two")).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), report("two"));
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
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
            assert!(write_atomically(path, &report("x")).is_err(), "{}", path.display());
        }
        assert_eq!(fs::read_to_string(&precious).unwrap(), "my thesis");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert!(!directory.path().join("nowhere").exists());
    }

    #[test]
    fn a_waiting_temporary_name_is_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        let victim = directory.path().join("victim");
        fs::write(&victim, "data").unwrap();
        let path = directory.path().join("report.html");
        symlink(&victim, directory.path().join(format!(".report.html.{}-0", std::process::id()))).unwrap();
        write_atomically(&path, &report("x")).unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "data");
    }

    #[test]
    fn a_missing_directory_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let error = write_atomically(&directory.path().join("none/report.html"), "x").unwrap_err();
        assert!(error.to_string().contains("none"), "{error}");
    }
}
