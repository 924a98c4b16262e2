//! What the user allows to be lost: nothing, every target, or those that were named, one by one.

use crate::text::UsageError;
use halfpower_engine::Access;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Which targets may lose what they hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Overwrite {
    /// None.
    #[default]
    Nothing,
    /// Every one.
    Everything,
    /// Those of these names.
    Named(Vec<PathBuf>),
}

impl Overwrite {
    /// What was said, checked against the targets there are.
    ///
    /// # Errors
    /// When a name is none of the targets'.
    pub(crate) fn of(self, targets: &[PathBuf]) -> Result<Overwrite, UsageError> {
        let Overwrite::Named(names) = &self else { return Ok(self) };
        match names.iter().find(|name| !targets.iter().any(|target| is_same_name(name, target))) {
            None => Ok(self),
            Some(name) => {
                if let Some(target) = targets.iter().find(|target| is_same_file(name, target)) {
                    return Err(UsageError(format!(
                        "--overwrite names {}, which is the same file as the target {target}; name the target as you did: \
                         --overwrite={target}",
                        name.display(),
                        target = target.display()
                    )));
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

    /// What may be done to a target.
    pub(crate) fn access(&self, target: &Path) -> Access {
        match self {
            Overwrite::Nothing => Access::Read,
            Overwrite::Everything => Access::Overwrite,
            Overwrite::Named(names) if names.iter().any(|name| is_same_name(name, target)) => Access::Overwrite,
            Overwrite::Named(_) => Access::Read,
        }
    }
}

/// Whether two names are one, seen from here: `disk.img`, `./disk.img` and its absolute name.
fn is_same_name(one: &Path, other: &Path) -> bool {
    one == other || std::path::absolute(one).is_ok_and(|one| std::path::absolute(other).is_ok_and(|other| one == other))
}

/// Whether two names lead to one file or device, through links or as its several names.
fn is_same_file(one: &Path, other: &Path) -> bool {
    let facts = |path: &Path| std::fs::metadata(path).ok();
    facts(one).zip(facts(other)).is_some_and(|(one, other)| (one.dev(), one.ino()) == (other.dev(), other.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_named_may_be_lost() {
        let targets = ["a", "/b", "c"].map(PathBuf::from);
        let said = Overwrite::Named(vec![PathBuf::from("./a"), PathBuf::from("/b")]).of(&targets).unwrap();
        let access = targets.each_ref().map(|target| said.access(target));
        assert_eq!(access, [Access::Overwrite, Access::Overwrite, Access::Read]);
        let error = Overwrite::Named(vec![PathBuf::from("d")]).of(&targets).unwrap_err().to_string();
        assert!(error.contains("names d, but the targets are a, /b, c"), "{error}");
        assert_eq!(Overwrite::Nothing.access(&targets[0]), Access::Read);
        assert_eq!(Overwrite::Everything.access(&targets[0]), Access::Overwrite);
    }
}
