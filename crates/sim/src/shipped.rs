//! The machines that ship with the program.

use crate::file::MachineError;
use crate::testbed::Simulated;
use halfpower_model::Settings;

/// Name and text of each.
const MACHINES: &[(&str, &str)] = &[
    ("cloud-gp3", include_str!("../../../machines/cloud-gp3.toml")),
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
mod hdd;

#[cfg(test)]
mod host;

#[cfg(test)]
mod drives;
#[cfg(test)]
mod flash;
#[cfg(test)]
mod paths;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::MachineFile;
    use halfpower_model::{
        Buffering, Bytes, Cancel, Limits, Nanoseconds, Operation, Pattern, Personality, Sample, Testbed, Workload,
    };

    #[test]
    fn every_volume_of_every_machine_can_be_made() {
        for name in machines() {
            let file = MachineFile::parse(name, machine_text(name).unwrap()).unwrap();
            for (volume, description) in file.volumes() {
                let testbed = testbed(name, volume).unwrap().unwrap();
                assert!(
                    testbed.describe().target.size_bytes.0 >= 1 << 28 && !description.is_empty(),
                    "{name} {volume}"
                );
            }
        }
    }

    pub(super) fn measure(volume: &str, change: impl Fn(Workload) -> Workload) -> Sample {
        let mut testbed = testbed("win2k-pentium3", volume).unwrap().unwrap();
        let workload = Workload {
            buffering: Buffering::Direct,
            personality: Personality::IoUring,
            span: Bytes(100 << 20),
            limits: Limits { duration: Some(Nanoseconds(30_000_000_000)), requests: None, bytes: None },
            ..Workload::default()
        };
        testbed.measure(&change(workload), &mut (), &Cancel::default()).unwrap()
    }

    pub(super) fn sequential(volume: &str, operation: Operation, kib: u64, depth: u32) -> f64 {
        let change = |workload| Workload { operation, request_size: Bytes(kib << 10), depth, ..workload };
        measure(volume, change).total.bytes_per_s.0 / 1_048_576.0
    }

    pub(super) fn random(volume: &str, operation: Operation, depth: u32) -> f64 {
        let change = |workload| Workload {
            operation,
            depth,
            pattern: Pattern::Random,
            request_size: Bytes(8192),
            span: Bytes(match volume {
                // As large as the traces' files.
                "fireball-sw-2" | "fireball-raid0-2" => 47_500 << 20,
                "fireball-raid1-2" => 23_500 << 20,
                _ if volume.starts_with("fireball") => 24_000 << 20,
                // As large as the largest on one disk.
                "maxtor" => 23_500 << 20,
                // A file that fills it.
                _ => 17_000 << 20,
            }),
            limits: Limits { duration: Some(Nanoseconds(120_000_000_000)), requests: None, bytes: None },
            ..workload
        };
        measure(volume, change).total.requests_per_s
    }

    /// What the study of 2000 measured, in its MB/s of 2^20, against what the machine gives: within so many percent.
    pub(super) fn check(what: &str, simulated: f64, published: f64, percent: f64) {
        let off = (simulated / published - 1.0) * 100.0;
        assert!(off.abs() <= percent, "{what}: {simulated:.2} against {published}, {off:+.1} %");
    }

    #[test]
    fn sequential_requests_are_as_the_study_has_them() {
        use Operation::{Read, Write};
        check("Atlas, 64 KiB reads", sequential("atlas-1", Read, 64, 2), 24.0, 5.0);
        check("Atlas, 64 KiB writes", sequential("atlas-1", Write, 64, 2), 22.5, 5.0);
        check("Atlas, 2 KiB reads, one deep", sequential("atlas-1", Read, 2, 1), 17.7, 5.0);
        check("Atlas, 2 KiB reads, two deep", sequential("atlas-1", Read, 2, 2), 23.0, 5.0);
        check("two Atlas", sequential("atlas-2", Read, 64, 3), 48.0, 5.0);
        check("three Atlas", sequential("atlas-3", Read, 64, 8), 73.0, 5.0);
        check("Atlas without its write cache", sequential("atlas-1-nocache", Write, 1024, 1), 10.0, 5.0);
        check("Fireball, 64 KiB reads", sequential("fireball-dma", Read, 64, 2), 19.0, 5.0);
    }

    #[test]
    fn an_atlas_s_and_a_maxtor_s_random_requests_are_as_the_study_has_them() {
        use Operation::{Read, Write};
        for depth in [1, 2] {
            check(&format!("reads QD{depth}"), random("atlas-1", Read, depth), 105.0, 5.0);
            check(&format!("writes QD{depth}"), random("atlas-1", Write, depth), 105.0, 5.0);
        }
        check("Maxtor, reads", random("maxtor", Read, 1), 107.0, 5.0);
        check("Maxtor, writes", random("maxtor", Write, 1), 58.0, 5.0);
    }

    #[test]
    fn a_fireball_s_random_requests_are_as_its_traces_have_them() {
        let published = [(1, 66.97), (2, 66.95), (4, 72.97), (8, 84.29), (16, 94.32), (32, 101.17)];
        for (depth, rate) in published {
            check(&format!("reads QD{depth}"), random("fireball-dma", Operation::Read, depth), rate, 4.0);
        }
        check("writes QD1", random("fireball-dma", Operation::Write, 1), 89.41, 4.0);
        check("writes QD32", random("fireball-dma", Operation::Write, 32), 92.12, 4.0);
    }
}
