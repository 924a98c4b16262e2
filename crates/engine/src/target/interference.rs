//! Detects other programs that truncate, extend, rename or replace a file during a run.
//!
//! The watching thread checks the length with each progress report, every 50 ms, never in a worker's loop. It takes the kernel's
//! cached length, so that a network file system does not send dirty pages for it. A file that was truncated and extended again
//! between two checks goes unnoticed. Devices are not checked: they cannot be truncated, and requests to a removed one fail.

use super::in_use;
use super::open::Target;
use super::set::Chosen;
use halfpower_model::sample::Warning;
use halfpower_model::{Bytes, Observer, Progress, TargetKind, Workload};
use rustix::fs::{AtFlags, StatxFlags, statx};
use std::path::Path;

/// Checks the targets at each progress report, and passes the report on.
pub(crate) struct InterferenceWatch<'a> {
    targets: &'a [Target],
    /// Whether the workload itself changes the length.
    grows: bool,
    /// The smallest length seen of each target.
    least: Vec<Bytes>,
    observer: &'a mut dyn Observer,
}

impl Observer for InterferenceWatch<'_> {
    fn progress(&mut self, progress: &Progress) {
        self.look();
        self.observer.progress(progress);
    }
}

impl<'a> InterferenceWatch<'a> {
    /// For the targets of a workload, before it runs.
    pub(crate) fn new(
        targets: &'a Chosen<'_>,
        workload: &Workload,
        observer: &'a mut dyn Observer,
    ) -> InterferenceWatch<'a> {
        let targets = targets.all();
        let least = targets.iter().map(|target| target.facts.size_bytes).collect();
        InterferenceWatch { targets, grows: workload.file_state.grows(), least, observer }
    }

    fn look(&mut self) {
        for (target, least) in self.targets.iter().zip(&mut self.least) {
            *least = length(target).map_or(*least, |length| length.min(*least));
        }
    }

    /// The changes of the targets so far, if there are any.
    pub(crate) fn warning(mut self) -> Option<Warning> {
        self.look();
        let changes = self.targets.iter().zip(&self.least).flat_map(|(target, least)| {
            let resized = (!self.grows).then(|| resized(target, *least)).flatten();
            [resized, renamed(target), written(target)].into_iter().flatten()
        });
        let changes = changes.collect::<Vec<_>>().join("; ");
        let remedy = "find that program, and measure again when nothing else uses the target";
        (!changes.is_empty()).then(|| Warning::new("target_changed", changes, remedy))
    }
}

/// Length of a file, as cached on this host; none for other targets.
fn length(target: &Target) -> Option<Bytes> {
    let file = target.file.as_ref().filter(|_| target.facts.kind == TargetKind::File)?;
    let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
    Some(Bytes(statx(file, "", flags, StatxFlags::SIZE).ok()?.stx_size))
}

fn resized(target: &Target, least: Bytes) -> Option<String> {
    let (path, size, now) = (&target.facts.path, target.facts.size_bytes, length(target)?);
    // Similar sizes would be rounded to the same text.
    let is_near = |other: Bytes| other != size && other.0.abs_diff(size.0) < size.0 / 100;
    let in_bytes = is_near(now) || is_near(least);
    let shown = |bytes: Bytes| if in_bytes { format!("{} B", bytes.0) } else { bytes.to_string() };
    let (was, is) = (shown(size), shown(now));
    if now < size {
        Some(format!("another program truncated {path} during the run: it holds {is} of its {was}"))
    } else if least < size {
        let least = shown(least);
        Some(format!("another program truncated {path} to {least} or less during the run, and it grew again to {is}"))
    } else {
        (now > size).then(|| format!("another program extended {path} from {was} to {is} during the run"))
    }
}

fn written(target: &Target) -> Option<String> {
    let path = &target.facts.path;
    target
        .is_written_by_others()
        .then(|| format!("another program holds an exclusive lock on {path} and may be writing it"))
}

fn renamed(target: &Target) -> Option<String> {
    let file = target.file.as_ref().filter(|_| target.facts.kind == TargetKind::File)?;
    let path = Path::new(&target.facts.path);
    if in_use::is_same(path, &file.metadata().ok()?) {
        return None;
    }
    let what = if path.exists() { "another file has taken its name" } else { "it was removed or renamed" };
    Some(format!("{} is no longer the file that was measured: {what}", target.facts.path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::{Access, Targets};
    use halfpower_model::{BytesPerSecond, FileState, Nanoseconds};
    use std::path::PathBuf;

    const SIZE: u64 = 1 << 20;

    fn target() -> (tempfile::TempDir, PathBuf, Targets) {
        let directory = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let path = directory.path().join("target");
        std::fs::write(&path, vec![7; SIZE as usize]).unwrap();
        let targets = Targets::one(Target::open(&path, Access::Overwrite).unwrap());
        (directory, path, targets)
    }

    /// The warning after changes before and after a progress report.
    fn warning_after(state: FileState, before: impl Fn(&Path), after: impl Fn(&Path)) -> Option<String> {
        let (_directory, path, mut targets) = target();
        let workload = Workload { file_state: state, ..Workload::default() };
        let mut nobody = ();
        let chosen = targets.of(&workload).unwrap();
        let mut watched = InterferenceWatch::new(&chosen, &workload, &mut nobody);
        before(&path);
        let (elapsed, rate) = (Nanoseconds(0), BytesPerSecond(0.0));
        watched.progress(&Progress { elapsed, requests: 0, bytes: Bytes(0), rate });
        after(&path);
        watched.warning().map(|warning| warning.message)
    }

    fn resize(size: u64) -> impl Fn(&Path) {
        move |path| std::fs::File::options().write(true).open(path).unwrap().set_len(size).unwrap()
    }

    fn leave(_: &Path) {}

    #[test]
    fn an_unchanged_file_has_no_warning() {
        for state in FileState::ALL {
            assert_eq!(warning_after(*state, leave, leave), None, "{state}");
        }
        let rewrite = |path: &Path| {
            let mut file = std::fs::File::options().write(true).open(path).unwrap();
            std::io::Write::write_all(&mut file, &[8; SIZE as usize]).unwrap();
        };
        assert_eq!(warning_after(FileState::Written, rewrite, rewrite), None);
        let another_name = |path: &Path| std::fs::hard_link(path, path.with_extension("link")).unwrap();
        assert_eq!(warning_after(FileState::Written, another_name, leave), None);
    }

    #[test]
    fn a_length_that_changes_is_reported_unless_the_workload_changes_it() {
        let [short, long] = [resize(SIZE / 4), resize(2 * SIZE)];
        let back = resize(SIZE);
        let message =
            |before: &dyn Fn(&Path), after: &dyn Fn(&Path)| warning_after(FileState::Written, before, after).unwrap();
        assert!(message(&short, &leave).contains("it holds 256 KiB of its 1 MiB"), "{}", message(&short, &leave));
        assert!(message(&short, &back).ends_with("to 256 KiB or less during the run, and it grew again to 1 MiB"));
        assert!(message(&leave, &short).contains("it holds 256 KiB of its 1 MiB"));
        assert!(message(&leave, &long).contains("from 1 MiB to 2 MiB"));
        let nearly = resize(SIZE - 1);
        assert!(
            message(&nearly, &leave).contains("it holds 1048575 B of its 1048576 B"),
            "{}",
            message(&nearly, &leave)
        );
        assert!(message(&nearly, &back).contains("to 1048575 B or less"), "{}", message(&nearly, &back));
        for state in [FileState::Append, FileState::LastFirst, FileState::Truncated] {
            assert_eq!(warning_after(state, &short, &back), None, "{state}");
            assert_eq!(warning_after(state, leave, &long), None, "{state}");
        }
        assert!(warning_after(FileState::Sparse, &short, &back).is_some());
    }

    #[test]
    fn a_name_that_leads_elsewhere_is_reported_whatever_the_length_does() {
        let remove = |path: &Path| std::fs::remove_file(path).unwrap();
        let move_away = |path: &Path| std::fs::rename(path, path.with_extension("other")).unwrap();
        let replace = |path: &Path| {
            move_away(path);
            std::fs::write(path, vec![7; SIZE as usize]).unwrap();
        };
        for state in [FileState::Written, FileState::Append] {
            for lost in [&remove as &dyn Fn(&Path), &move_away] {
                assert!(warning_after(state, lost, leave).unwrap().ends_with("it was removed or renamed"));
            }
            assert!(warning_after(state, leave, replace).unwrap().ends_with("another file has taken its name"));
        }
    }
}
