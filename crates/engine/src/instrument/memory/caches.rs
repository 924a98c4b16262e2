//! The data caches of a processor, from sysfs (Linux, Documentation/ABI/stable/sysfs-devices-system-cpu).

use crate::system::machine::processors_in;
use halfpower_model::Bytes;
use halfpower_model::reading::Cache;
use std::path::Path;

/// Data and unified caches of a processor, the innermost first; empty where the kernel does not tell.
pub(super) fn caches(processor: u32) -> Vec<Cache> {
    read(&Path::new("/sys/devices/system/cpu").join(format!("cpu{processor}")).join("cache"))
}

fn read(directory: &Path) -> Vec<Cache> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut caches: Vec<Cache> = entries.filter_map(|entry| cache(&entry.path())).collect();
    caches.sort_by_key(|cache| cache.level);
    caches
}

fn cache(directory: &Path) -> Option<Cache> {
    let text = |name: &str| Some(std::fs::read_to_string(directory.join(name)).ok()?.trim().to_owned());
    (text("type")? != "Instruction").then_some(())?;
    let size: Bytes = text("size")?.parse().ok()?;
    Some(Cache {
        level: text("level")?.parse().ok()?,
        size_bytes: size,
        shared_by: processors_in(&text("shared_cpu_list")?)?.len() as u32,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_caches_are_read_and_instruction_caches_are_not() {
        let directory = tempfile::tempdir().unwrap();
        for (index, files) in [
            ("index3", [("level", "3"), ("type", "Unified"), ("size", "32768K"), ("shared_cpu_list", "0-3,8-11")]),
            ("index0", [("level", "1"), ("type", "Data"), ("size", "32K"), ("shared_cpu_list", "0,8")]),
            ("index1", [("level", "1"), ("type", "Instruction"), ("size", "64K"), ("shared_cpu_list", "0")]),
            ("index9", [("level", "1"), ("type", "Data"), ("size", "many"), ("shared_cpu_list", "0")]),
        ] {
            std::fs::create_dir(directory.path().join(index)).unwrap();
            for (name, text) in files {
                std::fs::write(directory.path().join(index).join(name), format!("{text}\n")).unwrap();
            }
        }
        let first = Cache { level: 1, size_bytes: Bytes(32 << 10), shared_by: 2 };
        let last = Cache { level: 3, size_bytes: Bytes(32 << 20), shared_by: 8 };
        assert_eq!(read(directory.path()), [first, last]);
        assert_eq!(read(&directory.path().join("none")), []);
    }
}
