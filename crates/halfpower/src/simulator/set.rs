//! `--set`: other values for keys of a simulated machine's file.

use super::name::SimulatedName;
use crate::text::{UsageError, refuse};
use clap::Args;
use halfpower_model::Settings;
use std::path::PathBuf;

/// Changes to a simulated machine's file.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct SetArgument {
    /// Override a key of a simulated machine: disks=4 (of the volume), pci.rate=533MB/s (of a part); repeatable
    ///
    /// The same as the target's name with a comma: sim:MACHINE:VOLUME,disks=4.
    /// Keys of parts that are not on the volume's I/O path are rejected.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<Settings>,
}

impl SetArgument {
    /// The targets; simulated ones get these settings.
    ///
    /// # Errors
    /// If none of them is simulated.
    pub(crate) fn on(&self, targets: &[PathBuf]) -> Result<Vec<PathBuf>, UsageError> {
        // All settings are passed on, because the machine rejects one that is set twice.
        let settings = Settings(self.set.iter().flat_map(|settings| settings.0.clone()).collect());
        if settings.is_empty() {
            return Ok(targets.to_vec());
        }
        let is_machine = |target: &PathBuf| SimulatedName::of(target).is_some();
        if !targets.iter().any(is_machine) {
            refuse!("--set {settings} is of a simulated machine; name sim:MACHINE:VOLUME, or leave it out");
        }
        let set = |target: &PathBuf| match is_machine(target) {
            true => PathBuf::from(format!("{},{settings}", target.display())),
            false => target.clone(),
        };
        Ok(targets.iter().map(set).collect())
    }
}
