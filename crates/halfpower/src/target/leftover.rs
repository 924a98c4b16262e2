//! Test files of killed runs: found at the next start, offered for removal, never removed without asking.

use super::test_file::remove_left;
use crate::console::Console;
use crate::store::{RunStatus, Standing, Store, TestFile};
use crate::text::causes;
use halfpower_engine::test_file::TestKind;
use std::path::{Path, PathBuf};

/// Reports leftover test files, and offers to remove them if there is a terminal. Looks in target directories too, for files
/// that were moved, and for those of runs with another store.
///
/// # Errors
/// If the store cannot be read, or a file cannot be removed.
pub(crate) fn offer_removal(store: &mut Store, targets: &[PathBuf], console: &Console) -> anyhow::Result<()> {
    let known = store.test_file_paths()?;
    for (file, standing) in store.look_for_test_files()? {
        match standing {
            Standing::Left => offer(store, &file, console)?,
            Standing::Unproven => console.warning(&unproven(&file)),
            Standing::OutOfSight => {}
        }
    }
    let is_known = |path: &PathBuf| known.iter().any(|known| same_file(known, path));
    let directories = targets.iter().filter(|target| target.is_dir());
    for path in directories.flat_map(|directory| unknown_test_files(directory)).filter(|path| !is_known(path)) {
        match store.moved_test_file(&path)? {
            Some(file) => offer(store, &file, console)?,
            None => console.warning(&format!(
                "{} looks like a {}, but this store has no run for it; if no program uses it, remove it",
                path.display(),
                TestFile::kind_of(&path).map_or("test file", noun)
            )),
        }
    }
    Ok(())
}

fn offer(store: &mut Store, file: &TestFile, console: &Console) -> anyhow::Result<()> {
    console.warning(&describe(file, store));
    if !console.can_ask() {
        let clean = store.command("runs clean").unwrap_or_default();
        console.message(&format!("Remove it with `{clean}`."));
    } else if console.ask("Remove it now?") {
        remove_left(store, file)?;
    }
    Ok(())
}

/// What `runs clean` did.
#[derive(Debug, Default)]
pub(crate) struct Cleaned {
    /// The files that were removed.
    pub(crate) removed: Vec<TestFile>,
    /// The others, each with the reason and the remedy.
    pub(crate) kept: Vec<(PathBuf, String)>,
}

/// Removes every leftover that is certainly a test file.
///
/// # Errors
/// If the store cannot be read, or a file cannot be removed.
pub(crate) fn remove_leftovers(store: &mut Store) -> anyhow::Result<Cleaned> {
    let mut cleaned = Cleaned::default();
    for (file, standing) in store.look_for_test_files()? {
        match standing {
            Standing::Left => match remove_left(store, &file) {
                Ok(()) => cleaned.removed.push(file),
                // The others are removed all the same.
                Err(error) => {
                    let reason = format!("{} was not removed: {}", file.path.display(), causes(error.as_ref()));
                    cleaned.kept.push((file.path, reason));
                }
            },
            Standing::Unproven => cleaned.kept.push((file.path.clone(), unproven(&file))),
            Standing::OutOfSight => {
                let reason = format!(
                    "{}, the {} of a killed run, was not found: its directory is missing or has been replaced; mount or \
                     rename it back, and try again",
                    file.path.display(),
                    noun(file.kind())
                );
                cleaned.kept.push((file.path, reason));
            }
        }
    }
    Ok(cleaned)
}

fn unproven(file: &TestFile) -> String {
    let path = file.path.display();
    let what = noun(file.kind());
    format!("{path} may be the {what} of a killed run, but that cannot be verified; check it, and remove it yourself")
}

fn describe(left: &TestFile, store: &Store) -> String {
    let run = left.run.and_then(|id| store.run(id).ok());
    let again = run.filter(|run| run.status != RunStatus::Complete).and_then(|run| match run.plan {
        Some(_) => Some(format!("; `{}` continues the run", store.command(&format!("study resume {}", run.id))?)),
        // A single workload starts again.
        None => Some(format!("; `{}` runs it again", run.command)),
    });
    let (what, path) = (noun(left.kind()), left.path.display());
    format!("a killed run left its {what} {path} ({}){}", left.bytes, again.unwrap_or_default())
}

fn noun(kind: TestKind) -> &'static str {
    match kind {
        TestKind::File => "test file",
        TestKind::Tree => "directory of small files",
    }
}

/// Whether two paths are the same file.
fn same_file(one: &Path, other: &Path) -> bool {
    one.canonicalize().ok().is_some_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}

/// Files with the name of a test file. A name proves nothing, so they are only reported.
fn unknown_test_files(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    entries.flatten().map(|entry| entry.path()).filter(|path| TestFile::kind_of(path).is_some()).collect()
}
