//! The machines that ship with the program.

use crate::file::MachineError;
use crate::testbed::Simulated;
use halfpower_model::Settings;

/// Name and text of each.
const MACHINES: &[(&str, &str)] = &[
    ("cloud-gp3", include_str!("../../../machines/cloud-gp3.toml")),
    ("dl380-g4", include_str!("../../../machines/dl380-g4.toml")),
    ("hdd-18tb", include_str!("../../../machines/hdd-18tb.toml")),
    ("nt4-pentium-pro", include_str!("../../../machines/nt4-pentium-pro.toml")),
    ("nvme-gen4", include_str!("../../../machines/nvme-gen4.toml")),
    ("sata-ssd", include_str!("../../../machines/sata-ssd.toml")),
    ("win2k-pentium2", include_str!("../../../machines/win2k-pentium2.toml")),
    ("win2k-pentium3", include_str!("../../../machines/win2k-pentium3.toml")),
];

/// Their names.
pub fn machines() -> impl Iterator<Item = &'static str> {
    MACHINES.iter().map(|(name, _)| *name)
}

/// The text of one; none of a name that none has.
pub fn machine_text(name: &str) -> Option<&'static str> {
    MACHINES.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// A volume of a shipped machine as a testbed; none where no machine has the name.
///
/// # Errors
/// When the machine has no such volume.
pub fn testbed(machine: &str, volume: &str) -> Option<Result<Simulated, MachineError>> {
    let text = machine_text(machine)?;
    Some(Simulated::of_file(machine, text, volume, &Settings::default()))
}

#[cfg(test)]
mod cloud;
#[cfg(test)]
mod flash;
#[cfg(test)]
mod hdd;
#[cfg(test)]
mod record;
#[cfg(test)]
mod tests;
