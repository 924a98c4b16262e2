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
