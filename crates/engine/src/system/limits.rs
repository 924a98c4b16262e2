//! What control groups let this process move to and from a device: `blkio.throttle` of version 1, which counts for its
//! own group alone, and `io.max` of version 2, which counts for all groups below it. Source: Linux,
//! Documentation/admin-guide/cgroup-v1/blkio-controller.rst and cgroup-v2.rst.

use super::filesystem::{Mount, mounts_in};
use super::{Root, text};
use halfpower_model::BytesPerSecond;
use halfpower_model::reading::inspect::Limit;
use std::path::{Component, Path, PathBuf};

/// The groups whose limits count for this process.
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
    /// Those of this process; none where nothing tells.
    pub(super) fn read(root: &Root) -> Groups {
        let mounts = mounts_in(root);
        let lines = text(root.path("/proc/self/cgroup")).unwrap_or_default();
        // `7:blkio:/batch`, and `0::/user.slice` of version 2.
        let of_line = |line: &str| {
            let (_, rest) = line.split_once(':')?;
            let (controllers, path) = rest.split_once(':')?;
            let version = match controllers {
                "" => Version::Two,
                names if names.split(',').any(|name| name == "blkio") => Version::One,
                _ => return None,
            };
            Some(groups(root, &mounts, version, Path::new(path)))
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

/// The group itself, and in version 2 every group above it.
fn groups(root: &Root, mounts: &[Mount], version: Version, path: &Path) -> Vec<Group> {
    let is_it = |mount: &&Mount| match version {
        Version::One => mount.kind == "cgroup" && mount.options.split(',').any(|option| option == "blkio"),
        Version::Two => mount.kind == "cgroup2",
    };
    let Some(mount) = mounts.iter().rfind(is_it) else { return Vec::new() };
    // In a container the tree that is mounted begins at its own group.
    let Ok(below) = path.strip_prefix(&mount.root) else { return Vec::new() };
    if below.components().any(|part| !matches!(part, Component::Normal(_))) {
        return Vec::new();
    }
    let reach = if version == Version::One { 1 } else { usize::MAX };
    let word = if version == Version::One { "blkio" } else { "v2" };
    let group = |below: &Path| Group {
        name: format!("{word}:{}", Path::new("/").join(below).display()),
        directory: root.path(&mount.point).join(below),
        version,
    };
    below.ancestors().take(reach).map(group).collect()
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

/// What follows a device's number.
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
    fn a_group_outside_of_what_is_mounted_is_not_looked_for() {
        for groups in ["0::/../outside", "0::/a/../../b"] {
            assert!(Groups::read(&tree(groups).root()).0.is_empty(), "{groups}");
        }
    }
}
