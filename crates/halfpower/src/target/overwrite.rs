//! Which targets the user allows to be overwritten: none, all, or those named one by one.

use crate::text::{UsageError, refuse};
use halfpower_engine::Access;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Which targets may be overwritten.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Overwrite {
    /// None.
    #[default]
    Nothing,
    /// Every one.
    Everything,
    /// Those with these names.
    Named(Vec<PathBuf>),
}

impl Overwrite {
    /// Checked against the targets.
    ///
    /// # Errors
    /// If a name is not a target's.
    pub(crate) fn of(self, targets: &[PathBuf]) -> Result<Overwrite, UsageError> {
        let Overwrite::Named(names) = &self else { return Ok(self) };
        match names.iter().find(|name| !targets.iter().any(|target| is_same_name(name, target))) {
            None => Ok(self),
            Some(name) => {
                if let Some(target) = targets.iter().find(|target| is_same_file(name, target)) {
                    refuse!(
                        "--overwrite names {}, which is the same file as the target {target}; name the target as you did: \
                         --overwrite={target}",
                        name.display(),
                        target = target.display()
                    );
                }
                let targets: Vec<String> = targets.iter().map(|target| target.display().to_string()).collect();
                let (noun, list) = (if targets.len() == 1 { "target is" } else { "targets are" }, targets.join(", "));
                Err(UsageError(format!(
                    "--overwrite names {}, but the {noun} {list}; name the same one",
                    name.display()
                )))
            }
        }
    }

    /// The access to a target.
    pub(crate) fn access(&self, target: &Path) -> Access {
        match self {
            Overwrite::Nothing => Access::Read,
            Overwrite::Everything => Access::Overwrite,
            Overwrite::Named(names) if names.iter().any(|name| is_same_name(name, target)) => Access::Overwrite,
            Overwrite::Named(_) => Access::Read,
        }
    }
}

/// Whether two names are the same absolute path: `disk.img`, `./disk.img`.
pub(crate) fn is_same_name(one: &Path, other: &Path) -> bool {
    one == other || std::path::absolute(one).is_ok_and(|one| std::path::absolute(other).is_ok_and(|other| one == other))
}

/// Whether two names are one file or device, by symbolic or hard links.
fn is_same_file(one: &Path, other: &Path) -> bool {
    let facts = |path: &Path| std::fs::metadata(path).ok();
    facts(one).zip(facts(other)).is_some_and(|(one, other)| (one.dev(), one.ino()) == (other.dev(), other.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_named_targets_may_be_overwritten() {
        let targets = ["a", "/b", "c"].map(PathBuf::from);
        let named = Overwrite::Named(vec![PathBuf::from("./a"), PathBuf::from("/b")]).of(&targets).unwrap();
        let access = targets.each_ref().map(|target| named.access(target));
        assert_eq!(access, [Access::Overwrite, Access::Overwrite, Access::Read]);
        let error = Overwrite::Named(vec![PathBuf::from("d")]).of(&targets).unwrap_err().to_string();
        assert!(error.contains("names d, but the targets are a, /b, c"), "{error}");
        assert_eq!(Overwrite::Nothing.access(&targets[0]), Access::Read);
        assert_eq!(Overwrite::Everything.access(&targets[0]), Access::Overwrite);
    }
}
