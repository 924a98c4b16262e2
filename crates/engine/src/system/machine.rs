//! The machine around the targets: CPUs, caches, memory, kernel, hypervisor.

use super::{Root, caches, dmi, entries, is_numbered, name_of, number, text};
use halfpower_model::reading::inspect::{Cpus, Machine, Memory, MemoryModule};
use halfpower_model::{Bytes, BytesPerSecond};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

const CPUS: &str = "/sys/devices/system/cpu";
/// Exists on every kernel, with tables or without.
const FIRMWARE: &str = "/sys/firmware";
const TABLES: &str = "/sys/firmware/dmi/tables/DMI";

/// The parts of the machine.
pub(crate) fn machine(root: &Root) -> Machine {
    let cpus = running(root);
    let vulnerabilities = entries(&root.path(format!("{CPUS}/vulnerabilities")));
    let identity = |name: &str| text(root.path(format!("/sys/class/dmi/id/{name}")));
    let product: Vec<String> = [identity("sys_vendor"), identity("product_name")].into_iter().flatten().collect();
    Machine {
        virtualisation: virtualisation(root, product.first().map(String::as_str)),
        product: (!product.is_empty()).then(|| product.join(" ")),
        kernel: text(root.path("/proc/sys/kernel/osrelease")).unwrap_or_default(),
        cpus: facts(root, &cpus),
        caches: caches::all(cpus.iter().map(PathBuf::as_path)),
        // A kernel without NUMA has no such directory, and one node.
        numa_nodes: known(&cpus, numbered(root, "/sys/devices/system/node", "node").len().max(1)),
        memory: memory(root),
        mitigations: vulnerabilities
            .iter()
            .filter_map(|file| Some((name_of(file), text(file)?)))
            .collect::<BTreeMap<_, _>>(),
    }
}

/// Directories such as cpu0, cpu1.
fn numbered(root: &Root, directory: &str, prefix: &str) -> Vec<PathBuf> {
    entries(&root.path(directory)).into_iter().filter(|path| is_numbered(path, prefix)).collect()
}

/// The online CPUs: an offline CPU has no topology.
fn running(root: &Root) -> Vec<PathBuf> {
    let all = numbered(root, CPUS, "cpu");
    all.into_iter().filter(|cpu| cpu.join("topology").is_dir()).collect()
}

/// The CPU's name.
pub(crate) fn cpu_model(root: &Root) -> Option<String> {
    of_cpuinfo(root, "model name")
}

/// The governors of the CPUs' clocks, each once.
pub(crate) fn governors(root: &Root) -> BTreeSet<String> {
    running(root).iter().filter_map(|cpu| text(cpu.join("cpufreq/scaling_governor"))).collect()
}

/// The first value of a key in /proc/cpuinfo.
pub(crate) fn of_cpuinfo(root: &Root, key: &str) -> Option<String> {
    let cpuinfo = text(root.path("/proc/cpuinfo"))?;
    let found = cpuinfo.lines().filter_map(|line| line.split_once(':')).find(|(name, _)| name.trim() == key);
    found.map(|(_, value)| value.trim().to_owned())
}

/// A count; none where sysfs shows no CPU, as in a container that hides it.
fn known(cpus: &[PathBuf], count: usize) -> Option<u32> {
    (!cpus.is_empty()).then_some(count as u32)
}

fn facts(root: &Root, cpus: &[PathBuf]) -> Cpus {
    let socket = |cpu: &PathBuf| text(cpu.join("topology/physical_package_id"));
    // Kernels before 4.3 count the cores of each socket from 0.
    let core = |cpu: &PathBuf| (socket(cpu), text(cpu.join("topology/core_id")), text(cpu.join("topology/die_id")));
    Cpus {
        model: cpu_model(root),
        sockets: known(cpus, cpus.iter().map(socket).collect::<BTreeSet<_>>().len()),
        cores: known(cpus, cpus.iter().map(core).collect::<BTreeSet<_>>().len()),
        threads: known(cpus, cpus.len()),
        clock_mhz: of_cpuinfo(root, "cpu MHz").and_then(|clock| clock.parse().ok()),
        clock_max_mhz: cpus
            .first()
            .and_then(|cpu| number::<f64>(cpu.join("cpufreq/cpuinfo_max_freq")))
            .map(|kilohertz| kilohertz / 1e3),
        governors: governors(root).into_iter().collect(),
    }
}

/// The hypervisor: recognised by the CPU flag that every hypervisor sets, named by the clock source or the vendor.
fn virtualisation(root: &Root, vendor: Option<&str>) -> Option<String> {
    if let Some(kind) = text(root.path("/sys/hypervisor/type")) {
        return Some(kind);
    }
    let flags = of_cpuinfo(root, "flags").unwrap_or_default();
    if !flags.split_whitespace().any(|flag| flag == "hypervisor") {
        return None;
    }
    let clocks = text(root.path("/sys/devices/system/clocksource/clocksource0/available_clocksource"));
    let clocks = clocks.unwrap_or_default();
    let by_clock = [("kvm-clock", "kvm"), ("hyperv", "hyper-v"), ("xen", "xen")];
    let named = by_clock.iter().find(|(clock, _)| clocks.contains(clock)).map(|(_, name)| *name);
    Some(named.or(vendor).unwrap_or("an unnamed hypervisor").to_owned())
}

/// The memory, with its modules if the firmware's tables are readable.
pub(crate) fn memory(root: &Root) -> Memory {
    let tables = fs::read(root.path(TABLES));
    let modules = tables.as_deref().map(dmi::modules).unwrap_or_default();
    let channels = dmi::channels(&modules);
    let (pap_bytes_per_s, source) = match tables {
        Ok(_) => match memory_peak(&modules, channels) {
            Ok((peak, source)) => (Some(peak), source),
            Err(reason) => (None, reason.to_owned()),
        },
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            (None, "the firmware's tables are not available: needs root".to_owned())
        }
        Err(error) if error.kind() == ErrorKind::NotFound && root.path(FIRMWARE).is_dir() => {
            (None, "this machine's firmware has no tables of its memory".to_owned())
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            (None, format!("the firmware's tables are not available: {FIRMWARE} is hidden here"))
        }
        Err(error) => (None, format!("the firmware's tables are not available: {error}")),
    };
    Memory { size_bytes: meminfo(root, "MemTotal:").unwrap_or_default(), modules, channels, pap_bytes_per_s, source }
}

/// The peak of all channels: transfers per second of the slowest module × bytes of a transfer × channels.
fn memory_peak(modules: &[MemoryModule], channels: Option<u32>) -> Result<(BytesPerSecond, String), &'static str> {
    if modules.is_empty() {
        return Err("the firmware's tables list no memory module");
    }
    let speeds: Option<Vec<u32>> = modules.iter().map(|module| module.megatransfers_per_s).collect();
    let widths: Option<Vec<u32>> = modules.iter().map(|module| module.width_bytes).collect();
    let slowest = speeds.and_then(|speeds| speeds.into_iter().min());
    let narrowest = widths.and_then(|widths| widths.into_iter().min());
    let Some((speed, width)) = slowest.zip(narrowest) else {
        return Err("the firmware's tables do not give the modules' speed");
    };
    let Some(channels) = channels else {
        return Err("the memory channels cannot be derived from the names of the slots");
    };
    let kind = modules[0].kind.as_deref().unwrap_or("memory at");
    let rate = f64::from(speed) * 1e6 * f64::from(width) * f64::from(channels);
    let plural = if channels == 1 { "channel" } else { "channels" };
    Ok((BytesPerSecond(rate), format!("{kind}-{speed} × {width} bytes × {channels} {plural}").replace(" at-", " at ")))
}

/// Memory available to programs now.
pub(crate) fn available_memory() -> Option<Bytes> {
    meminfo(&Root::host(), "MemAvailable:")
}

fn meminfo(root: &Root, key: &str) -> Option<Bytes> {
    let meminfo = text(root.path("/proc/meminfo"))?;
    let kib = meminfo.lines().find_map(|line| line.strip_prefix(key))?.split_whitespace().next()?.parse::<u64>();
    Some(Bytes(kib.ok()?.saturating_mul(1024)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::tree::Tree;
    use std::path::Path;

    #[test]
    fn cpus_and_caches_are_counted_once() {
        let tree = Tree::new();
        // Two sockets of two cores of two threads.
        for cpu in 0..8 {
            let directory = format!("sys/devices/system/cpu/cpu{cpu}");
            let (socket, core) = (cpu / 4, cpu % 4 / 2);
            let place = [("physical_package_id", socket.to_string()), ("core_id", core.to_string())];
            place.iter().for_each(|(name, text)| tree.files(&format!("{directory}/topology"), &[(name, text)]));
            let cache = |index: u32, level: &str, kind: &str, size: &str, shared: String| {
                let files = [("level", level), ("type", kind), ("size", size), ("shared_cpu_list", &shared)];
                tree.files(&format!("{directory}/cache/index{index}"), &files);
            };
            cache(0, "1", "Data", "48K", format!("{}-{}", cpu / 2 * 2, cpu / 2 * 2 + 1));
            cache(3, "3", "Unified", "32768K", format!("{}-{}", socket * 4, socket * 4 + 3));
            tree.files(
                &format!("{directory}/cpufreq"),
                &[("scaling_governor", "powersave"), ("cpuinfo_max_freq", "3400000")],
            );
        }
        tree.files("sys/devices/system/cpu/cpufreq", &[("boost", "1")]);
        tree.files("sys/devices/system/cpu/cpu9", &[("online", "0")]);
        tree.files("sys/devices/system/cpu/vulnerabilities", &[("meltdown", "Not affected")]);
        for node in 0..2 {
            tree.files(&format!("sys/devices/system/node/node{node}"), &[("cpulist", "0-3")]);
        }
        tree.files(
            "proc",
            &[("cpuinfo", "processor\t: 0\nmodel name\t: ACME 9000\ncpu MHz\t\t: 2100.5\nflags\t\t: fpu sse")],
        );
        let found = machine(&tree.root());
        let cpus = &found.cpus;
        assert_eq!((cpus.sockets, cpus.cores, cpus.threads), (Some(2), Some(4), Some(8)));
        assert_eq!((cpus.model.as_deref(), cpus.clock_mhz), (Some("ACME 9000"), Some(2100.5)));
        assert_eq!((cpus.clock_max_mhz, cpus.governors.join(" ").as_str()), (Some(3400.0), "powersave"));
        let caches: Vec<_> =
            found.caches.iter().map(|cache| (cache.level, cache.size_bytes, cache.instances)).collect();
        assert_eq!(caches, [(1, Bytes(48 << 10), 4), (3, Bytes(32 << 20), 2)]);
        assert_eq!((found.numa_nodes, found.virtualisation), (Some(2), None));
        assert_eq!(found.mitigations["meltdown"], "Not affected");
    }

    #[test]
    fn hidden_facts_are_unknown() {
        let found = machine(&Tree::new().root());
        let cpus = &found.cpus;
        assert_eq!((cpus.sockets, cpus.cores, cpus.threads, found.numa_nodes), (None, None, None, None));
        assert!(found.memory.source.contains("/sys/firmware is hidden here"), "{}", found.memory.source);
    }

    #[test]
    fn a_hypervisor_is_named_by_its_clock_or_vendor() {
        let tree = Tree::new();
        tree.files("proc", &[("cpuinfo", "flags : fpu hypervisor sse")]);
        assert_eq!(machine(&tree.root()).virtualisation.as_deref(), Some("an unnamed hypervisor"));
        tree.files("sys/class/dmi/id", &[("sys_vendor", "ACME Cloud"), ("product_serial", "secret")]);
        assert_eq!(machine(&tree.root()).virtualisation.as_deref(), Some("ACME Cloud"));
        let clocks = "sys/devices/system/clocksource/clocksource0";
        tree.files(clocks, &[("available_clocksource", "kvm-clock tsc")]);
        assert_eq!(machine(&tree.root()).virtualisation.as_deref(), Some("kvm"));
        assert!(!format!("{:?}", machine(&tree.root())).contains("secret"));
    }

    #[test]
    fn memory_has_the_peak_of_its_channels() {
        let tree = Tree::new();
        tree.files("proc", &[("meminfo", "MemTotal:       1024 kB\nMemFree: 1 kB")]);
        tree.files("sys/firmware", &[("name", "none")]);
        let none = memory(&tree.root());
        assert_eq!((none.size_bytes, none.pap_bytes_per_s), (Bytes(1 << 20), None));
        assert!(none.source.contains("firmware has no tables"), "{}", none.source);
        let device = dmi::tests::device;
        let tables = [device(16384, 3200, "DIMM_A1", "BANK 0"), device(16384, 3200, "DIMM_B1", "BANK 1")].concat();
        tree.write(Path::new(TABLES.trim_start_matches('/')), tables);
        let found = memory(&tree.root());
        assert_eq!((found.pap_bytes_per_s, found.channels), (Some(BytesPerSecond(51.2e9)), Some(2)));
        assert_eq!(found.source, "DDR4-3200 × 8 bytes × 2 channels");
        let tables = [device(16384, 3200, "one", "here"), device(16384, 3200, "two", "here")].concat();
        tree.write(Path::new(TABLES.trim_start_matches('/')), tables);
        assert!(memory(&tree.root()).source.contains("names of the slots"));
    }
}
