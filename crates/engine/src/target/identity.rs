//! Refuses targets that share storage: two names of one file or device, a partition and its disk, a loop device and the
//! file it lies on. Told by identity, never by name; what requests to the one find, requests to the other have changed.

use super::TargetError;
use super::filesystem::{sysfs_device, whole_disk};
use super::guard;
use crate::system::device::backing_file;
use rustix::fs::{major, minor};
use std::fs::{self, Metadata};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Refuses paths of which two lead to the same storage; those that lead nowhere yet are passed over.
///
/// # Errors
/// [`TargetError::Same`] naming the two.
pub fn refuse_same<P: AsRef<Path>>(paths: &[P]) -> Result<(), TargetError> {
    let known = paths.iter().filter_map(|path| Some((path.as_ref(), fs::metadata(path).ok()?)));
    refuse(&known.collect::<Vec<_>>())
}

/// The same for what was examined already.
pub(super) fn refuse(targets: &[(&Path, Metadata)]) -> Result<(), TargetError> {
    for (index, (path, facts)) in targets.iter().enumerate() {
        let same = |(_, other): &&(&Path, Metadata)| relation(facts, other).is_some();
        if let Some((other, other_facts)) = targets[..index].iter().find(same) {
            return Err(TargetError::Same {
                path: path.display().to_string(),
                other: other.display().to_string(),
                relation: relation(facts, other_facts).unwrap_or_default(),
            });
        }
    }
    Ok(())
}

/// How two are the same storage; none where they are not.
fn relation(one: &Metadata, other: &Metadata) -> Option<&'static str> {
    if let (Some(device), Some(on)) = (device(one), device(other)) {
        if device == on {
            return Some("are one device");
        }
        let within = whole_disk(&device) == on || whole_disk(&on) == device;
        return within.then_some("are a disk and a part of it");
    }
    if (one.dev(), one.ino()) == (other.dev(), other.ino()) && one.file_type() == other.file_type() {
        return Some(if one.is_dir() { "are one directory" } else { "are one file" });
    }
    let on_it = |device: Option<PathBuf>, file: &Metadata| {
        device.and_then(|device| backing_file(&device)).is_some_and(|backing| guard::is_same(&backing, file))
    };
    let on = on_it(device(one), other) || on_it(device(other), one);
    on.then_some("are a loop device and the file it lies on")
}

/// The directory in sysfs of a block device; none for anything else.
fn device(facts: &Metadata) -> Option<PathBuf> {
    let is_device = facts.file_type().is_block_device();
    let number = is_device.then(|| facts.rdev())?;
    // One that sysfs does not know is told by a path that nothing has.
    Some(sysfs_device((major(number), minor(number))).unwrap_or_else(|| PathBuf::from(format!("device {number}"))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_file_has_many_names() {
        let directory = tempfile::tempdir().unwrap();
        let [file, hard, soft, other] = ["file", "hard", "soft", "other"].map(|name| directory.path().join(name));
        std::fs::write(&file, "a").unwrap();
        std::fs::write(&other, "a").unwrap();
        std::fs::hard_link(&file, &hard).unwrap();
        std::os::unix::fs::symlink(&file, &soft).unwrap();
        for name in [&file, &hard, &soft] {
            let message = refuse_same(&[&file, &other, name]).unwrap_err().to_string();
            assert!(message.contains("are one file") && message.contains(&name.display().to_string()), "{message}");
        }
        assert!(refuse_same(&[file, other, directory.path().join("none"), directory.path().join("none")]).is_ok());
        let again = directory.path().join(".");
        assert!(refuse_same(&[directory.path(), &again]).unwrap_err().to_string().contains("one directory"));
    }
}
