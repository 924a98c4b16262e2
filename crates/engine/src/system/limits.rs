//! Limits of control groups on this process. On a device: `blkio.throttle` of version 1, which applies to its own group alone,
//! and `io.max` of version 2, which applies to all groups below it. On CPU time: `cpu.cfs_quota_us` and `cpu.max`, which both
//! apply to all groups below. Source: Linux, Documentation/admin-guide/cgroup-v1/blkio-controller.rst, cgroup-v2.rst and
//! Documentation/scheduler/sched-bwc.rst.

use super::filesystem::{Mount, mounts_in};
use super::{Root, text};
use halfpower_model::BytesPerSecond;
use halfpower_model::reading::inspect::Limit;
use std::path::{Component, Path, PathBuf};

/// The groups whose limits apply to this process.
#[derive(Clone, Debug, Default)]
pub(super) struct Groups(Vec<Group>);

#[derive(Clone, Debug)]
struct Group {
    name: String,
    directory: PathBuf,
    version: Version,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

impl Groups {
    /// The groups with limits on devices; empty if unknown.
    pub(super) fn read(root: &Root) -> Groups {
        Groups::of(root, "blkio", 1)
    }

    /// The groups of a controller, the innermost first: up to `reach` of them in version 1, all in version 2.
    fn of(root: &Root, controller: &str, reach: usize) -> Groups {
        let mounts = mounts_in(root);
        let lines = text(root.path("/proc/self/cgroup")).unwrap_or_default();
        let has_it = |names: &str| names.split(',').any(|name| name == controller);
        // `7:blkio:/batch`, and `0::/user.slice` of version 2.
        let of_line = |line: &str| {
            let (_, rest) = line.split_once(':')?;
            let (controllers, path) = rest.split_once(':')?;
            let (version, kind, word, reach) = match controllers {
                "" => (Version::Two, "cgroup2", "v2", usize::MAX),
                names if has_it(names) => (Version::One, "cgroup", controller, reach),
                _ => return None,
            };
            let is_it = |mount: &&Mount| mount.kind == kind && (version == Version::Two || has_it(&mount.options));
            let mount = mounts.iter().rfind(is_it)?;
            // In a container, the mounted tree begins at its own group.
            let below = Path::new(path).strip_prefix(&mount.root).ok()?;
            let group = |below: &Path| Group {
                name: format!("{word}:{}", Path::new("/").join(below).display()),
                directory: root.path(&mount.point).join(below),
                version,
            };
            let is_inside = below.components().all(|part| matches!(part, Component::Normal(_)));
            is_inside.then(|| below.ancestors().take(reach).map(group).collect::<Vec<_>>())
        };
        Groups(lines.lines().filter_map(of_line).flatten().collect())
    }

    /// The limits on the device `major:minor`.
    pub(super) fn limits_of(&self, number: &str) -> Vec<Limit> {
        let limits = self.0.iter().map(|group| match group.version {
            Version::One => throttle(group, number),
            Version::Two => io_max(group, number),
        });
        limits.filter(|limit| *limit != Limit { group: limit.group.clone(), ..Limit::default() }).collect()
    }
}

/// The directory of the group that limits the CPU time of this process, if one does.
pub(crate) fn cpu_limit(root: &Root) -> Option<PathBuf> {
    let reads = |group: &Group, name: &str, unlimited: &str| {
        text(group.directory.join(name)).is_some_and(|limit| !limit.starts_with(unlimited))
    };
    let is_limited = |group: &Group| reads(group, "cpu.cfs_quota_us", "-") || reads(group, "cpu.max", "max");
    Groups::of(root, "cpu", usize::MAX).0.into_iter().find(is_limited).map(|group| group.directory)
}

/// `8:16 2097152`
fn throttle(group: &Group, number: &str) -> Limit {
    let keys = ["read_bps", "write_bps", "read_iops", "write_iops"];
    limit(group, keys, |key| {
        let lines = text(group.directory.join(format!("blkio.throttle.{key}_device")))?;
        of_device(&lines, number)?.trim().parse().ok()
    })
}

/// `8:16 rbps=2097152 wbps=max riops=max wiops=120`
fn io_max(group: &Group, number: &str) -> Limit {
    let lines = text(group.directory.join("io.max")).unwrap_or_default();
    let words: Vec<&str> = of_device(&lines, number).unwrap_or_default().split_whitespace().collect();
    limit(group, ["rbps", "wbps", "riops", "wiops"], |key| {
        words.iter().find_map(|word| word.split_once('=').filter(|(name, _)| *name == key)?.1.parse().ok())
    })
}

/// The text after a device's number.
fn of_device<'a>(lines: &'a str, number: &str) -> Option<&'a str> {
    lines.lines().find_map(|line| line.split_once(' ').filter(|(device, _)| *device == number)).map(|(_, rest)| rest)
}

fn limit(group: &Group, keys: [&str; 4], of: impl Fn(&str) -> Option<u64>) -> Limit {
    let [read_bytes, write_bytes, read_requests_per_s, write_requests_per_s] = keys.map(of);
    let rate = |rate: Option<u64>| rate.map(|rate| BytesPerSecond(rate as f64));
    Limit {
        group: group.name.clone(),
        read_bytes_per_s: rate(read_bytes),
        write_bytes_per_s: rate(write_bytes),
        read_requests_per_s,
        write_requests_per_s,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::tree::Tree;

    fn tree(groups: &str) -> Tree {
        let tree = Tree::new();
        tree.mounts(
            "35 31 0:36 / /sys/fs/cgroup/blkio rw,relatime - cgroup cgroup rw,blkio\n\
             41 31 0:39 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw",
        );
        tree.write(Path::new("proc/self/cgroup"), format!("{groups}\n"));
        tree
    }

    #[test]
    fn a_throttle_counts_for_its_own_group() {
        let tree = tree("9:name=systemd:/\n7:blkio:/batch/night\n0::/");
        tree.files("sys/fs/cgroup/blkio/batch", &[("blkio.throttle.write_bps_device", "254:0 1")]);
        let own = "sys/fs/cgroup/blkio/batch/night";
        tree.files(own, &[("blkio.throttle.read_bps_device", "8:0 7\n254:0 24000000")]);
        tree.files(own, &[("blkio.throttle.write_iops_device", "254:0 100")]);
        let groups = Groups::read(&tree.root());
        let wanted = Limit {
            group: "blkio:/batch/night".to_owned(),
            read_bytes_per_s: Some(BytesPerSecond(24e6)),
            write_requests_per_s: Some(100),
            ..Limit::default()
        };
        assert_eq!(groups.limits_of("254:0"), [wanted]);
        assert_eq!(groups.limits_of("254:1"), []);
    }

    #[test]
    fn every_group_above_counts_in_version_2() {
        let tree = tree("0::/user.slice/job");
        tree.files("sys/fs/cgroup/unified/user.slice", &[("io.max", "8:0 rbps=max wbps=5000000 riops=max wiops=max")]);
        tree.files(
            "sys/fs/cgroup/unified/user.slice/job",
            &[("io.max", "8:0 rbps=1000000 wbps=max riops=9 wiops=max")],
        );
        let limits = Groups::read(&tree.root()).limits_of("8:0");
        let shown: Vec<_> = limits.iter().map(|limit| (limit.group.as_str(), limit.read_requests_per_s)).collect();
        assert_eq!(shown, [("v2:/user.slice/job", Some(9)), ("v2:/user.slice", None)]);
        assert_eq!(limits[0].read_bytes_per_s, Some(BytesPerSecond(1e6)));
        assert_eq!(limits[1].write_bytes_per_s, Some(BytesPerSecond(5e6)));
    }

    #[test]
    fn cpu_time_is_limited_by_a_group_or_one_above_it() {
        let unified = "sys/fs/cgroup/unified/user.slice";
        let tree = tree("0::/user.slice/job");
        let limit = || cpu_limit(&tree.root()).map(|found| found.strip_prefix(&tree.root().0).unwrap().to_owned());
        tree.files(&format!("{unified}/job"), &[("cpu.max", "max 100000")]);
        assert_eq!(limit(), None);
        tree.files(unified, &[("cpu.max", "50000 100000")]);
        assert_eq!(limit(), Some(PathBuf::from(unified)));
        tree.mounts("36 31 0:37 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct");
        tree.files("proc/self", &[("cgroup", "4:cpu,cpuacct:/batch/night")]);
        tree.files("sys/fs/cgroup/cpu,cpuacct/batch/night", &[("cpu.cfs_quota_us", "-1")]);
        assert_eq!(limit(), None);
        tree.files("sys/fs/cgroup/cpu,cpuacct/batch", &[("cpu.cfs_quota_us", "20000")]);
        assert_eq!(limit(), Some(PathBuf::from("sys/fs/cgroup/cpu,cpuacct/batch")));
    }

    #[test]
    fn a_group_outside_of_what_is_mounted_is_not_looked_for() {
        for groups in ["0::/../outside", "0::/a/../../b"] {
            assert!(Groups::read(&tree(groups).root()).0.is_empty(), "{groups}");
        }
    }
}
