//! What would make figures something else than those of a storage device.

use crate::store::{StoredSample, TestFile};
use halfpower_model::reading::inspect::Limit;
use halfpower_model::sample::Warning;
use halfpower_model::{LevelName, Quantity, TargetFacts, TargetKind};
use std::path::Path;

/// The targets of these samples that are memory, or may be.
pub(crate) fn on_memory<'a>(samples: impl IntoIterator<Item = &'a StoredSample>) -> Vec<Warning> {
    let mut notes: Vec<Warning> = Vec::new();
    for target in samples.into_iter().flat_map(|stored| stored.sample.environment.all_targets()) {
        let path = Path::new(&target.path);
        let directory = path.parent().filter(|_| TestFile::kind_of(path).is_some());
        let note = memory(directory.unwrap_or(path), target).filter(|note| !notes.contains(note));
        notes.extend(note);
    }
    notes
}

fn memory(path: &Path, facts: &TargetFacts) -> Option<Warning> {
    let filesystem = facts.filesystem.as_deref().unwrap_or_default();
    let is_memory = halfpower_engine::filesystem::is_memory(filesystem) || facts.transport.as_deref() == Some("ram");
    let path = path.display();
    if is_memory {
        return Some(Warning::new("memory", format!("{path} is memory, not storage"), "name a path on a disk"));
    }
    (facts.transport.as_deref() == Some("loop")).then(|| {
        let message = format!("{path} is on a loop device, whose file may be in the memory of this host");
        Warning::new("loop", message, "attach it with losetup --direct-io=on, or name a path on a disk")
    })
}

pub(super) fn on(facts: &TargetFacts) -> Vec<Warning> {
    let filesystem = facts.filesystem.as_deref().unwrap_or_default();
    let mut notes: Vec<Warning> = memory(Path::new(&facts.path), facts).into_iter().collect();
    if filesystem == "overlay" {
        notes.push(Warning::new(
            "overlay",
            format!("{} is on an overlay file system, so the figures are those of its layers", facts.path),
            "name a volume that is mounted into the container",
        ));
    }
    if facts.transport.as_deref() == Some("network") {
        notes.push(Warning::new(
            "network",
            format!("{} is on a network, so the figures include it and the server's caches", facts.path),
            "measure on the server too, to separate them",
        ));
    }
    let mut throttled = |what: &str, most: String, by: &str| {
        notes.push(Warning::new(
            "limited",
            format!("{what} of {} are throttled to {most}: {by}", facts.path),
            "run it in another control group to measure the device",
        ));
    };
    for level in &facts.levels {
        if let (LevelName::ReadLimit | LevelName::WriteLimit, Some(peak)) = (level.name, level.pap_bytes_per_s) {
            let what = if level.name == LevelName::ReadLimit { "reads" } else { "writes" };
            throttled(what, peak.to_string(), &level.source);
        }
    }
    let of_reads: fn(&Limit) -> Option<u64> = |limit| limit.read_requests_per_s;
    for (what, of) in [("reads", of_reads), ("writes", |limit| limit.write_requests_per_s)] {
        let limits = facts.limits.iter().filter_map(|held| Some((of(&held.limit)?, held)));
        if let Some((most, held)) = limits.min_by_key(|(most, _)| *most) {
            let most = Quantity::RequestsPerSecond.format(most as f64);
            throttled(what, most, &format!("control group {}", held.limit.group));
        }
    }
    if facts.direct_alignment_bytes.is_none() && facts.kind != TargetKind::Null {
        let journals_data = facts.mount_options.as_ref().is_some_and(|options| options.contains("data=journal"));
        notes.push(Warning::new(
            "no_direct",
            format!("{} does not support direct I/O, so every figure includes the page cache", facts.path),
            if journals_data { "mount it with data=ordered" } else { "name a path on ext4, xfs or btrfs" },
        ));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use halfpower_model::Bytes;
    use halfpower_model::environment::DeviceLimit;

    #[test]
    fn a_control_group_s_limit_of_iops_is_a_note() {
        let notes = |limits: Vec<Limit>| -> Vec<String> {
            let held = |limit: Limit| DeviceLimit { device: "vda".to_owned(), limit };
            let limits = limits.into_iter().map(held).collect();
            let facts = TargetFacts { limits, ..crate::fixtures::file(Bytes(1 << 30)) };
            on(&facts).into_iter().map(|note| note.message).collect()
        };
        let limit = |group: &str, reads, writes| Limit {
            group: group.to_owned(),
            read_requests_per_s: reads,
            write_requests_per_s: writes,
            ..Limit::default()
        };
        let (one, other) = (limit("blkio:/a", Some(500), None), limit("v2:/", Some(900), Some(70)));
        assert_eq!(
            notes(vec![one, other]),
            [
                "reads of /data/test are throttled to 500 IOPS: control group blkio:/a",
                "writes of /data/test are throttled to 70 IOPS: control group v2:/"
            ]
        );
        assert_eq!(notes(vec![limit("blkio:/a", None, None)]), [""; 0]);
    }
}
