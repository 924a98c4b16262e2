//! The state of a file before it is written, set up before the measurement and through its open descriptor.
//!
//! Every state but the plain one destroys the file's data, so only a file that may be overwritten is changed, and never a
//! device. The file system itself reserves blocks (fallocate(2)); they are never imitated by writing zeros.

use super::error::TargetError;
use super::facts::Access;
use super::open::Target;
use super::reopened::{flags_for, open_again};
use crate::target::test_file::fill;
use halfpower_model::random::derive_seed;
use halfpower_model::{Buffering, Bytes, Cancel, FileState, MeasureError, TargetKind, Workload};
use rustix::fs::{FallocateFlags, fallocate, ftruncate};
use std::fs::File;
use std::io;
use std::path::Path;

/// Part of a workload's seed for the bytes that fill a file.
const FILL_SEED: u64 = 1 << 44;

impl Target {
    /// Brings the file into the workload's state, at its size when it was opened.
    ///
    /// # Errors
    /// If it must not be written, is no file, or its file system cannot do that, with the remedy.
    pub(crate) fn bring_into_state(&mut self, workload: &Workload, cancel: &Cancel) -> Result<(), MeasureError> {
        let state = workload.file_state;
        let leaves_holes = workload.leaves_holes() && self.facts.kind == TargetKind::File;
        // A user's file is used as it is; a file changed by an earlier workload is filled again.
        if state == FileState::Written && !self.is_reshaped {
            self.is_reshaped = leaves_holes;
            return Ok(());
        }
        let path = &self.facts.path;
        let Some(file) = self.file.as_ref().filter(|_| self.facts.kind == TargetKind::File) else {
            return Err(MeasureError::Unsupported(format!(
                "{path} is not a file and cannot be {state}; leave --file-state out, or name a file"
            )));
        };
        if self.access == Access::Read {
            return Err(MeasureError::Unsupported(format!(
                "{path} was opened for reading only; add --overwrite if its data may be lost"
            )));
        }
        let failed = |source: io::Error| failed(path, state, source);
        self.is_reshaped = true;
        if !state.holds_data() {
            reshape(file, state, self.facts.size_bytes).map_err(|error| self.cannot(state, error))?;
        } else if !self.is_filled() {
            let direct = open_again(file, flags_for(true, Buffering::Direct));
            let file = direct.or_else(|_| open_again(file, flags_for(true, Buffering::Buffered))).map_err(failed)?;
            let seed = derive_seed(workload.seed, FILL_SEED);
            fill(Path::new(path), &file, self.facts.size_bytes, seed, cancel, |_| {}).map_err(|error| match error {
                TargetError::Interrupted { .. } => MeasureError::Cancelled,
                error => failed(io::Error::other(error)),
            })?;
        }
        self.is_reshaped = leaves_holes;
        Ok(())
    }

    /// The error if the file system rejects a state.
    fn cannot(&self, state: FileState, error: rustix::io::Errno) -> MeasureError {
        let path = &self.facts.path;
        let filesystem = self.facts.filesystem.as_deref().unwrap_or("its file system");
        if state == FileState::Preallocated && error == rustix::io::Errno::OPNOTSUPP {
            return MeasureError::Unsupported(format!(
                "{filesystem}, which {path} is on, cannot reserve blocks (fallocate); \
                 use --file-state sparse or written, or name a file on ext4, xfs or btrfs"
            ));
        }
        failed(path, state, error.into())
    }
}

fn failed(path: &str, state: FileState, source: io::Error) -> MeasureError {
    MeasureError::System { action: "prepare", subject: format!("{path} to be {state}"), source }
}

/// Truncates a file and brings it into a state without data.
fn reshape(file: &File, state: FileState, size: Bytes) -> rustix::io::Result<()> {
    ftruncate(file, 0)?;
    match state {
        FileState::Preallocated => fallocate(file, FallocateFlags::empty(), 0, size.0),
        FileState::Sparse => ftruncate(file, size.0),
        FileState::Append | FileState::LastFirst | FileState::Written | FileState::Truncated => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use halfpower_model::Operation;
    use std::os::unix::fs::MetadataExt;

    const SIZE: u64 = 1 << 20;

    /// A file of data on the disk the build is on, and it as a target.
    fn target(access: Access) -> (tempfile::TempPath, Target) {
        let file = tempfile::NamedTempFile::new_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        std::fs::write(file.path(), vec![7; SIZE as usize]).unwrap();
        file.as_file().sync_all().unwrap();
        // A target to be overwritten must not be open elsewhere.
        let file = file.into_temp_path();
        let target = Target::open(&file, access).unwrap();
        (file, target)
    }

    fn bring(target: &mut Target, state: FileState) -> Result<(), MeasureError> {
        let workload = Workload { operation: Operation::Write, file_state: state, ..Workload::default() };
        target.bring_into_state(&workload, &Cancel::default())
    }

    /// Length, bytes of blocks, share of holes.
    fn found(target: &Target) -> (u64, u64, f64) {
        let metadata = target.file().unwrap().metadata().unwrap();
        (metadata.len(), metadata.blocks() * 512, target.hole_share(Bytes(SIZE)))
    }

    #[test]
    fn each_state_has_its_length_and_blocks() {
        let (_file, mut target) = target(Access::Overwrite);
        for state in FileState::ALL.iter().rev() {
            bring(&mut target, *state).unwrap_or_else(|error| panic!("{state}: {error}"));
            let (length, blocks, _) = found(&target);
            match state {
                FileState::Written | FileState::Truncated => {
                    assert!(length == SIZE && blocks >= SIZE && target.is_filled(), "{state}: {length} {blocks}");
                }
                FileState::Preallocated => {
                    let unwritten = target.hole_share(Bytes(SIZE));
                    assert!(length == SIZE && blocks >= SIZE, "{state}: {length} {blocks}");
                    assert!(unwritten == 1.0 || target.facts.filesystem.as_deref() != Some("ext4"), "{unwritten}");
                }
                FileState::Append | FileState::LastFirst => assert_eq!((length, blocks), (0, 0), "{state}"),
                FileState::Sparse => assert_eq!((length, blocks), (SIZE, 0), "{state}"),
            }
        }
    }

    #[test]
    fn a_file_that_was_trimmed_gets_its_data_back() {
        let (_file, mut target) = target(Access::Overwrite);
        let trims = Workload { operation: Operation::Trim, ..Workload::default() };
        for _ in 0..2 {
            target.bring_into_state(&trims, &Cancel::default()).unwrap();
            assert!(target.is_filled());
            fallocate(target.file().unwrap(), FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, 0, SIZE / 2)
                .unwrap();
        }
        bring(&mut target, FileState::Written).unwrap();
        assert!(target.is_filled());
    }

    #[test]
    fn existing_data_is_kept() {
        let (file, mut target) = target(Access::Overwrite);
        for state in [FileState::Written, FileState::Truncated] {
            bring(&mut target, state).unwrap();
            assert!(std::fs::read(&file).unwrap().iter().all(|byte| *byte == 7), "{state}");
        }
    }

    #[test]
    fn cancelled_filling_ends_and_is_completed_later() {
        let (file, mut target) = target(Access::Overwrite);
        bring(&mut target, FileState::Append).unwrap();
        let cancel = Cancel::default();
        cancel.cancel();
        let workload = Workload::default();
        assert!(matches!(target.bring_into_state(&workload, &cancel), Err(MeasureError::Cancelled)));
        target.bring_into_state(&workload, &Cancel::default()).unwrap();
        assert_eq!((std::fs::metadata(&file).unwrap().len(), target.is_filled()), (SIZE, true));
    }

    #[test]
    fn a_file_opened_for_reading_keeps_its_length() {
        let (file, mut target) = target(Access::Read);
        for state in FileState::ALL.iter().filter(|state| **state != FileState::Written) {
            assert!(bring(&mut target, *state).unwrap_err().to_string().contains("--overwrite"), "{state}");
        }
        assert_eq!(std::fs::read(&file).unwrap(), vec![7; SIZE as usize]);
    }

    #[test]
    fn only_files_have_a_state() {
        let mut null = Target::open(Path::new(super::super::NULL_TARGET), Access::Overwrite).unwrap();
        assert!(bring(&mut null, FileState::Sparse).unwrap_err().to_string().contains("is not a file"));
    }
}
