//! Names of simulated volumes, `sim:MACHINE:VOLUME`, their settings (`--set`), and the files of their machines.

use crate::input::{self, Times};
use crate::text::{UsageError, refuse};
use anyhow::Context as _;
use clap::Args;
use halfpower_model::Settings;
use halfpower_sim::shipped;
use std::fmt;
use std::path::{Path, PathBuf};

/// Prefix of the name of a simulated volume.
pub(crate) const SIMULATED: &str = "sim:";

/// A name of a simulated volume: `sim:MACHINE:VOLUME`, and optional settings, `,KEY=VALUE`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SimulatedName {
    /// A machine that ships, or the path of a machine file.
    pub(crate) machine: String,
    /// One of its volumes.
    pub(crate) volume: String,
    /// Changes to the machine file.
    pub(crate) settings: Settings,
}

impl SimulatedName {
    /// Of a target; none if it is not simulated.
    pub(crate) fn of(target: &Path) -> Option<Result<SimulatedName, UsageError>> {
        Some(SimulatedName::read(target.to_str()?.strip_prefix(SIMULATED)?))
    }

    fn read(name: &str) -> Result<SimulatedName, UsageError> {
        let (volume, settings) = match name.split_once(',') {
            Some((volume, settings)) => (volume, settings.parse().map_err(|error| UsageError(format!("{error}")))?),
            None => (name, Settings::default()),
        };
        let Some((machine, volume)) = volume.rsplit_once(':') else {
            let known = shipped::machines().collect::<Vec<_>>().join(", ");
            return Err(UsageError(format!(
                "{SIMULATED}{name} names no volume; use {SIMULATED}MACHINE:VOLUME; machines: {known}"
            )));
        };
        Ok(SimulatedName { machine: machine.to_owned(), volume: volume.to_owned(), settings })
    }

    /// The target without the settings.
    pub(crate) fn plain(&self) -> PathBuf {
        PathBuf::from(format!("{SIMULATED}{}:{}", self.machine, self.volume))
    }

    /// The machine file; none for a machine that ships.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.machine.contains('/').then_some(Path::new(&self.machine))
    }
}

impl fmt::Display for SimulatedName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let comma = if self.settings.is_empty() { "" } else { "," };
        write!(f, "{}{comma}{}", self.plain().display(), self.settings)
    }
}

/// The text of a machine file: one that ships, or at a path.
///
/// # Errors
/// If there is none.
pub(crate) fn machine_text(machine: &str) -> anyhow::Result<String> {
    if let Some(text) = shipped::machine_text(machine) {
        return Ok(text.to_owned());
    }
    if machine.contains('/') {
        return input::read_text(Path::new(machine), Times::Several)
            .with_context(|| format!("cannot read the machine {machine}"));
    }
    if Path::new(machine).is_file() {
        let message = format!("no simulated machine is called {machine}; did you mean the file ./{machine}?");
        return Err(UsageError(message).into());
    }
    let known = shipped::machines().collect::<Vec<_>>().join(", ");
    let message = format!("no simulated machine is called {machine}; use {known}, or a file such as ./own.toml");
    Err(UsageError(message).into())
}

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
