//! Inspects targets: the path from each to the hardware, and the machine, from sysfs, procfs and the firmware.
//!
//! Nothing is opened, so users can inspect targets that they may not read. Nothing is measured: peaks are advertised ones.

use crate::system::{Root, device::storage_of, machine::machine};
use crate::target::{TargetError, facts_unopened};
use halfpower_model::TargetFacts;
use halfpower_model::reading::inspect::{Inspected, InspectedTarget};
use std::path::PathBuf;

/// Inspects files, directories and block devices; returns their facts too.
///
/// # Errors
/// If one does not exist or cannot be a target.
pub fn inspect(paths: &[PathBuf]) -> Result<(Inspected, Vec<TargetFacts>), TargetError> {
    let root = Root::host();
    let facts = paths.iter().map(|path| facts_unopened(path)).collect::<Result<Vec<_>, _>>()?;
    let target = |(path, facts): (&PathBuf, &TargetFacts)| {
        let absolute = std::path::absolute(path).map_err(|error| TargetError::from_io("examine", path, error))?;
        Ok(InspectedTarget {
            path: facts.path.clone(),
            storage: storage_of(&root, &absolute),
            levels: facts.levels.clone(),
        })
    };
    let targets = paths.iter().zip(&facts).map(target).collect::<Result<Vec<_>, TargetError>>()?;
    Ok((Inspected { machine: machine(&root), targets }, facts))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn this_directory_lies_on_something() {
        let (inspected, facts) = inspect(&[PathBuf::from(".")]).unwrap();
        let target = &inspected.targets[0];
        assert!(target.storage.filesystem.is_some() && !target.levels.is_empty());
        assert_eq!((target.path.as_str(), facts[0].path.as_str()), (".", "."));
        assert!(inspected.machine.processors.threads > Some(0) && !inspected.machine.kernel.is_empty());
    }

    #[test]
    fn what_cannot_be_a_target_says_so() {
        let message = |path: &str| inspect(&[Path::new(path).to_owned()]).unwrap_err().to_string();
        assert!(message("/nowhere/at/all").contains("does not exist"));
        assert!(message("/dev/zero").contains("character device"));
    }
}
