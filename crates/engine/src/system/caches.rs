//! The caches of the CPUs (Linux, Documentation/ABI/stable/sysfs-devices-system-cpu): of one of them, and of the
//! machine. A cache without a reported size or sharers is left out.

use super::{Root, cpus_in, entries, number, text};
use halfpower_model::Bytes;
use halfpower_model::reading::{Cache as DataCache, inspect::Cache};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A cache of a CPU's directory.
struct Entry {
    level: u32,
    /// `Data`, `Instruction` or `Unified`.
    kind: String,
    size: Bytes,
    sharers: BTreeSet<u32>,
}

/// Data and unified caches of a CPU, the innermost first.
pub(crate) fn data_caches(root: &Root, cpu: u32) -> Vec<DataCache> {
    let entries = entries_of(&root.path(format!("/sys/devices/system/cpu/cpu{cpu}")));
    let mut data: Vec<Entry> = entries.into_iter().filter(|cache| cache.kind != "Instruction").collect();
    data.sort_by_key(|cache| cache.level);
    let cache =
        |cache: Entry| DataCache { level: cache.level, size_bytes: cache.size, shared_by: cache.sharers.len() as u32 };
    data.into_iter().map(cache).collect()
}

/// Each kind of cache of these CPUs once, with its number of instances, which are distinguished by their sharers.
pub(super) fn all<'p>(cpus: impl IntoIterator<Item = &'p Path>) -> Vec<Cache> {
    let mut found: BTreeMap<(u32, String, Bytes), BTreeSet<BTreeSet<u32>>> = BTreeMap::new();
    for cache in cpus.into_iter().flat_map(entries_of) {
        found.entry((cache.level, cache.kind, cache.size)).or_default().insert(cache.sharers);
    }
    let cache = |((level, kind, size_bytes), sharers): ((u32, String, Bytes), BTreeSet<_>)| Cache {
        level,
        kind,
        size_bytes,
        instances: sharers.len() as u32,
    };
    found.into_iter().map(cache).collect()
}

fn entries_of(cpu: &Path) -> Vec<Entry> {
    let one = |index: &Path| {
        Some(Entry {
            level: number(index.join("level"))?,
            kind: text(index.join("type"))?,
            size: number(index.join("size"))?,
            sharers: cpus_in(&text(index.join("shared_cpu_list"))?)?.into_iter().collect(),
        })
    };
    entries(&cpu.join("cache")).iter().filter_map(|index| one(index)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::tree::Tree;

    #[test]
    fn data_caches_are_a_cpu_s_own_and_all_are_the_machine_s() {
        let tree = Tree::new();
        let cache = |cpu: u32, index: u32, [level, kind, size, sharers]: [&str; 4]| {
            let files = [("level", level), ("type", kind), ("size", size), ("shared_cpu_list", sharers)];
            tree.files(&format!("sys/devices/system/cpu/cpu{cpu}/cache/index{index}"), &files);
        };
        for cpu in [0, 8] {
            cache(cpu, 3, ["3", "Unified", "32768K", "0-3,8-11"]);
            cache(cpu, 0, ["1", "Data", "32K", "0,8"]);
        }
        cache(0, 1, ["1", "Instruction", "64K", "0"]);
        cache(8, 1, ["1", "Instruction", "64K", "8"]);
        cache(0, 7, ["1", "Data", "32K", "not a list"]);
        cache(0, 9, ["1", "Data", "many", "0"]);
        let first = DataCache { level: 1, size_bytes: Bytes(32 << 10), shared_by: 2 };
        let last = DataCache { level: 3, size_bytes: Bytes(32 << 20), shared_by: 8 };
        assert_eq!(data_caches(&tree.root(), 0), [first, last]);
        assert_eq!(data_caches(&tree.root(), 1), []);
        let directories = [0, 8].map(|cpu| tree.root().path(format!("/sys/devices/system/cpu/cpu{cpu}")));
        let found = all(directories.iter().map(std::path::PathBuf::as_path));
        let shown: Vec<_> = found.iter().map(|cache| (cache.level, cache.kind.as_str(), cache.instances)).collect();
        assert_eq!(shown, [(1, "Data", 1), (1, "Instruction", 2), (3, "Unified", 1)]);
    }
}
