//! Shared bytes of files and devices, and their users. Pure: no file, no system call; `host` collects the kernel's facts.
//!
//! `Tree::user_of` is the rule that decides whether a device or file may be overwritten. docs/SAFETY.md explains it; the test below
//! has a row for each way in which one node can rest on another.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// A block device, or a file or directory, by the kernel's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Node {
    /// A block device: its number (`st_rdev`).
    Device(u64),
    /// A file or directory: its file system (`st_dev`) and inode.
    File(u64, u64),
}

/// How one node rests on another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// A loop device on a file or device: it passes requests on to the same bytes.
    Loop,
    /// A partition on its disk.
    Partition,
    /// Partitions of one disk whose sectors overlap.
    Overlap,
    /// A device of device-mapper, md, bcache and the like on one of its members.
    Member,
}

/// One edge: `upper` rests on `lower`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Edge {
    upper: Node,
    lower: Node,
    how: How,
}

/// The nodes, the edges between them, and their uses.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tree {
    names: BTreeMap<Node, String>,
    edges: Vec<Edge>,
    /// Uses of devices and files, with the remedy: "is mounted on /mnt; unmount it first".
    uses: Vec<(Node, String)>,
    /// A loop device that may lie on any file, in words and with the remedy.
    pub(super) loop_unknown: Option<String>,
    /// Paths of files below loop devices.
    pub(super) paths: BTreeMap<Node, PathBuf>,
    /// The mount point of an overlay with a layer that could not be found.
    pub(super) overlay_unknown: Option<String>,
}

/// Where a node is, relative to the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Target,
    Above,
    Below,
    /// On a node that the target rests on.
    Beside,
}

/// A walk through the tree.
struct Search {
    seen: BTreeSet<Node>,
    /// Whether unused devices that rest on the target count.
    idle: bool,
}

impl Place {
    fn text(self) -> &'static str {
        match self {
            Place::Target => "",
            Place::Above => ", which rests on it,",
            Place::Below => ", which it rests on,",
            Place::Beside => ", which shares storage with it,",
        }
    }

    /// The place of a node that rests on it.
    fn upper(self) -> Place {
        if matches!(self, Place::Target | Place::Above) { Place::Above } else { Place::Beside }
    }

    /// The place of a node that it rests on.
    fn lower(self) -> Place {
        if matches!(self, Place::Target | Place::Below) { Place::Below } else { Place::Beside }
    }
}

impl Tree {
    /// A device's name.
    pub(crate) fn name(&mut self, node: Node, name: impl Into<String>) {
        self.names.insert(node, name.into());
    }

    /// Whether the kernel lists a target; always true for a file.
    pub(crate) fn knows(&self, target: Node) -> bool {
        matches!(target, Node::File(..)) || self.names.contains_key(&target)
    }

    /// `upper` rests on `lower`.
    pub(crate) fn rests(&mut self, upper: Node, how: How, lower: Node) {
        self.edges.push(Edge { upper, lower, how });
    }

    /// Adds a use of a device or file, with the remedy.
    pub(crate) fn used(&mut self, node: Node, what: impl Into<String>) {
        self.uses.push((node, what.into()));
    }

    /// Another user of a target's bytes, in words and with the remedy; none if there is no other.
    pub(crate) fn user_of(&self, target: Node) -> Option<String> {
        // A mount is a better reason than an unused loop device.
        let user = |idle| self.user_of_bytes(target, Place::Target, &mut Search { seen: BTreeSet::new(), idle });
        user(false).or_else(|| user(true))
    }

    /// The use of the first used directory, such as a layer of an overlay, with the remedy.
    pub(crate) fn use_of_directory(&self, mut directories: impl Iterator<Item = Node>) -> Option<String> {
        directories.find_map(|directory| self.use_of(directory, Place::Target))
    }

    /// The user of `node`, all of whose bytes may be the target's.
    fn user_of_bytes(&self, node: Node, place: Place, search: &mut Search) -> Option<String> {
        if !search.seen.insert(node) {
            return None;
        }
        // Overlapping partitions rest on each other, and are visited once.
        let mut uppers = self.edges.iter().filter(|edge| edge.lower == node && edge.how != How::Overlap);
        let mut lowers = self.edges.iter().filter(|edge| edge.upper == node);
        self.use_of(node, place)
            .or_else(|| uppers.find_map(|edge| self.upper_user(edge, place.upper(), search)))
            .or_else(|| lowers.find_map(|edge| self.lower_user(edge, place.lower(), search)))
    }

    /// The user of a node below, as far as it reaches the target.
    fn lower_user(&self, edge: &Edge, place: Place, search: &mut Search) -> Option<String> {
        match edge.how {
            How::Loop => self.user_of_bytes(edge.lower, place, search),
            How::Overlap => self.user_of_bytes(edge.lower, Place::Beside, search),
            How::Partition | How::Member => self.user_of_whole(edge, place, search),
        }
    }

    /// The user of a node above, whose bytes may be the target's.
    fn upper_user(&self, edge: &Edge, place: Place, search: &mut Search) -> Option<String> {
        if search.seen.contains(&edge.upper) {
            return None;
        }
        let user = self.user_of_bytes(edge.upper, place, search);
        let (upper, lower) = (self.text(edge.upper), self.text(edge.lower));
        user.or_else(|| match edge.how {
            _ if !search.idle => None,
            How::Partition | How::Overlap => None,
            How::Loop => {
                Some(format!("{upper} is a loop device on {lower}; detach it first (losetup --detach /dev/{upper})"))
            }
            How::Member => Some(format!("{lower} is part of {upper}; stop that first")),
        })
    }

    /// The user of the disk of a partition, or of a member of a stacked device, if its use reaches the target: a use of the whole, or
    /// by a loop device. Other partitions, and other devices that share it, have other bytes.
    fn user_of_whole(&self, edge: &Edge, place: Place, search: &mut Search) -> Option<String> {
        let whole = edge.lower;
        if !search.seen.insert(whole) {
            return None;
        }
        let reaches = |above: &&Edge| {
            above.lower == whole && (above.how == How::Loop || (above.how == How::Member && edge.how == How::Partition))
        };
        let mut lowers = self.edges.iter().filter(|below| below.upper == whole && below.how != How::Overlap);
        self.use_of(whole, place)
            .or_else(|| {
                self.edges.iter().filter(reaches).find_map(|above| self.upper_user(above, Place::Beside, search))
            })
            .or_else(|| lowers.find_map(|below| self.lower_user(below, place.lower(), search)))
    }

    fn use_of(&self, node: Node, place: Place) -> Option<String> {
        let (_, what) = self.uses.iter().find(|(used, _)| *used == node)?;
        Some(format!("{}{} {what}", self.text(node), place.text()))
    }

    /// Its name in messages.
    pub(crate) fn text(&self, node: Node) -> &str {
        self.names.get(&node).map_or("the file", String::as_str)
    }

    /// The files and devices that requests to `node` may reach, each with the last step to it; first `node`, without one. A
    /// node with several ways to it has `Loop` if one of them ends with a loop device.
    pub(crate) fn reached(&self, node: Node) -> Vec<(Node, Option<How>)> {
        let mut found = vec![(node, None)];
        let mut next = 0;
        while let Some((upper, _)) = found.get(next).copied() {
            for edge in self.edges.iter().filter(|edge| edge.upper == upper && edge.how != How::Overlap) {
                match found.iter_mut().find(|(known, _)| *known == edge.lower) {
                    None => found.push((edge.lower, Some(edge.how))),
                    Some((_, how)) if edge.how == How::Loop => *how = how.map(|_| How::Loop),
                    Some(_) => {}
                }
            }
            next += 1;
        }
        found
    }

    /// The nodes that share bytes with `node`: all below it, all that rests on it, and the loop devices on those below it.
    pub(crate) fn sharing(&self, node: Node) -> Vec<Node> {
        let mut found = self.above(node);
        for (lower, _) in self.reached(node).into_iter().skip(1) {
            found.push(lower);
            let loops = self.edges.iter().filter(|edge| edge.lower == lower && edge.how == How::Loop);
            found.extend(loops.flat_map(|edge| self.above(edge.upper)));
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// A node and all nodes that rest on it, to any depth.
    fn above(&self, node: Node) -> Vec<Node> {
        let mut found = vec![node];
        let mut next = 0;
        while let Some(lower) = found.get(next).copied() {
            let uppers = self.edges.iter().filter(|edge| edge.lower == lower && edge.how != How::Overlap);
            let new: Vec<Node> = uppers.map(|edge| edge.upper).filter(|upper| !found.contains(upper)).collect();
            found.extend(new);
            next += 1;
        }
        found
    }

    /// How two targets share storage; none if they do not.
    pub(crate) fn relation(&self, one: Node, other: Node) -> Option<&'static str> {
        if one == other {
            return Some(if matches!(one, Node::Device(_)) { "are one device" } else { "are one file" });
        }
        let direct = self
            .edges
            .iter()
            .find(|edge| (edge.upper == one && edge.lower == other) || (edge.upper == other && edge.lower == one));
        match direct.map(|edge| (edge.how, edge.lower)) {
            Some((How::Partition, _)) => return Some("are a disk and a part of it"),
            Some((How::Loop, Node::File(..))) => return Some("are a loop device and the file it lies on"),
            _ => {}
        }
        let (one_reaches, other_reaches) = (self.cone(one), self.cone(other));
        let meet = |node: &Node| *node == one || *node == other || self.meets_at(*node, &one_reaches, &other_reaches);
        one_reaches.intersection(&other_reaches).any(meet).then_some("share storage")
    }

    /// Whether two targets share bytes at `node`, which both rest on; `one` and `other` are their cones. Partitions of a disk
    /// share none unless they overlap, and devices on one member share none.
    fn meets_at(&self, node: Node, one: &BTreeSet<Node>, other: &BTreeSet<Node>) -> bool {
        let ways = |cone: &BTreeSet<Node>| -> Vec<Edge> {
            let into = self.edges.iter().filter(|edge| edge.lower == node && cone.contains(&edge.upper));
            into.copied().collect()
        };
        let overlap = |one: Node, other: Node| {
            self.edges.iter().any(|edge| (edge.how, edge.upper, edge.lower) == (How::Overlap, one, other))
        };
        let (its, ours) = (ways(other), ways(one));
        ours.iter().any(|way| {
            its.iter().filter(|its| its.upper != way.upper).any(|its| match (way.how, its.how) {
                (How::Member, How::Member) => false,
                (How::Partition, How::Partition) => overlap(way.upper, its.upper),
                _ => true,
            })
        })
    }

    /// A node and all nodes that it rests on, to any depth.
    fn cone(&self, node: Node) -> BTreeSet<Node> {
        self.reached(node).into_iter().map(|(node, _)| node).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: Node = Node::File(8, 12);

    fn device(name: &str) -> Node {
        Node::Device(name.bytes().fold(0, |number, byte| number * 256 + u64::from(byte)))
    }

    /// A tree from words: `loop1 > loop0` (a loop device), `sda1 / sda` (a partition), `dm0 + sda` (a member), `sda1 % sda2`
    /// (overlapping partitions), `sda !` (in use). `file` is a file, another name is a device.
    fn tree(text: &str) -> Tree {
        let mut tree = Tree::default();
        for statement in text.split(", ").filter(|statement| !statement.is_empty()) {
            let words: Vec<&str> = statement.split(' ').collect();
            let node = |tree: &mut Tree, name: &str| match name {
                "file" => FILE,
                name => {
                    tree.name(device(name), name);
                    device(name)
                }
            };
            let upper = node(&mut tree, words[0]);
            let how = match words[1] {
                "!" => {
                    tree.used(upper, "is mounted");
                    continue;
                }
                ">" => How::Loop,
                "/" => How::Partition,
                "+" => How::Member,
                "%" => How::Overlap,
                other => panic!("{other}"),
            };
            let lower = node(&mut tree, words[2]);
            tree.rests(upper, how, lower);
            if how == How::Overlap {
                tree.rests(lower, how, upper);
            }
        }
        tree
    }

    /// The tree; the target; what the reason names, or nothing where the target may be written.
    const RULES: [(&str, &str, &str); 46] = [
        // The target itself.
        ("", "sda", ""),
        ("sda !", "sda", "sda is mounted"),
        ("file !", "file", "the file is mounted"),
        ("sdb !", "sda", ""),
        // Partitions.
        ("sda1 / sda", "sda", ""),
        ("sda1 / sda, sda1 !", "sda", "sda1, which rests on it, is mounted"),
        ("sda1 / sda, sda !", "sda1", "sda, which it rests on, is mounted"),
        ("sda1 / sda, sda2 / sda, sda2 !", "sda1", ""),
        ("sda1 / sda, sda2 / sda, sda1 % sda2, sda2 !", "sda1", "sda2, which shares storage with it, is mounted"),
        ("sda1 / sda, sda2 / sda, sda1 % sda2", "sda1", ""),
        // Members of device-mapper, md, bcache.
        ("dm0 + sda", "sda", "sda is part of dm0"),
        ("dm0 + sda", "dm0", ""),
        ("dm0 + sda1, sda1 / sda", "sda", "sda1 is part of dm0"),
        ("dm0 + sda, dm0 !", "sda", "dm0, which rests on it, is mounted"),
        ("dm0 + sda, dm1 + sda, dm1 !", "dm0", ""),
        ("dm0 + sda, sda !", "dm0", "sda, which it rests on, is mounted"),
        ("md0 + sda, md0 + sdb, dm0 + md0", "sdb", "md0 is part of dm0"),
        ("md0 + sda, md0 + sdb, sdb !", "md0", "sdb, which it rests on, is mounted"),
        ("dm0 + dm1, dm1 + sda, sda !", "dm0", "sda, which it rests on, is mounted"),
        // The disk below a partition is a member as a whole, as a path of multipath is.
        ("sda1 / sda, dm0 + sda", "sda1", "sda is part of dm0"),
        ("sda1 / sda, dm0 + sda1, sda2 / sda", "sda2", ""),
        // Loop devices on the target.
        ("loop0 > file", "file", "loop0 is a loop device on the file; detach it"),
        ("loop0 > file, loop0 !", "file", "loop0, which rests on it, is mounted"),
        ("loop0 > sda", "sda", "loop0 is a loop device on sda"),
        ("loop0 > sda1, sda1 / sda, loop0 !", "sda", "loop0, which rests on it, is mounted"),
        ("loop1 > loop0, loop0 > file, loop1 !", "file", "loop1, which rests on it, is mounted"),
        ("loop2 > loop1, loop1 > loop0, loop0 > file, loop2 !", "file", "loop2, which rests on it, is mounted"),
        ("loop0 > file, loop0p1 / loop0, loop0p1 !", "file", "loop0p1, which rests on it, is mounted"),
        ("loop0 > file, dm0 + loop0, dm0 !", "file", "dm0, which rests on it, is mounted"),
        // Loop devices that are the target.
        ("loop0 > file", "loop0", ""),
        ("loop1 > loop0, loop0 > file", "loop1", ""),
        ("loop1 > loop0, loop0 !", "loop1", "loop0, which it rests on, is mounted"),
        ("loop2 > loop1, loop1 > loop0, loop0 !", "loop2", "loop0, which it rests on, is mounted"),
        ("loop0 > file, file !", "loop0", "the file, which it rests on, is mounted"),
        ("loop0 > file, loop1 > file", "loop0", "loop1 is a loop device on the file"),
        ("loop0 > file, loop1 > file, loop1 !", "loop0", "loop1, which shares storage with it, is mounted"),
        ("loop0 > sda, sda1 / sda, sda1 !", "loop0", "sda1, which shares storage with it, is mounted"),
        ("loop0 > sda1, sda1 / sda, sda2 / sda, sda2 !", "loop0", ""),
        ("loop0 > sda1, sda1 / sda, sda !", "loop0", "sda, which it rests on, is mounted"),
        ("loop0 > sda, dm0 + sda", "loop0", "sda is part of dm0"),
        ("loop0 > dm0, dm0 + sda, dm1 + sda, dm1 !", "loop0", ""),
        // Loop devices on what the target is a part of.
        ("sda1 / sda, loop0 > sda, loop0 !", "sda1", "loop0, which shares storage with it, is mounted"),
        ("dm0 + sda, loop0 > sda", "dm0", "loop0 is a loop device on sda"),
        (
            "loop0p1 / loop0, loop0 > file, loop1 > file, loop1 !",
            "loop0p1",
            "loop1, which shares storage with it, is mounted",
        ),
        ("loop0p1 / loop0, loop0 > file, loop0p2 / loop0, loop0p2 !", "loop0p1", ""),
        // A circle, which the kernel does not allow, ends too.
        ("loop0 > loop1, loop1 > loop0", "loop0", "loop1 is a loop device on loop0"),
    ];

    #[test]
    fn a_target_is_written_only_where_nothing_that_shares_its_bytes_is_used() {
        for (text, target, wanted) in RULES {
            let target = if target == "file" { FILE } else { device(target) };
            let found = tree(text).user_of(target).unwrap_or_default();
            assert!(found.starts_with(wanted) && found.is_empty() == wanted.is_empty(), "{text}: {found:?}");
        }
    }

    #[test]
    fn targets_that_share_storage_are_found_at_any_depth() {
        for (text, one, other, wanted) in [
            ("", "sda", "sda", "are one device"),
            ("", "sda", "sdb", ""),
            ("", "file", "file", "are one file"),
            ("sda1 / sda", "sda", "sda1", "are a disk and a part of it"),
            ("sda1 / sda, sda2 / sda", "sda1", "sda2", ""),
            ("loop0 > file", "file", "loop0", "are a loop device and the file it lies on"),
            ("loop1 > loop0, loop0 > file", "loop1", "file", "share storage"),
            ("loop0 > file, loop1 > file", "loop0", "loop1", "share storage"),
            ("dm0 + sda, dm1 + sda", "dm0", "dm1", ""),
            ("dm0 + sda1, sda1 / sda", "dm0", "sda", "share storage"),
            ("dm0 + sda1, sda1 / sda, sda2 / sda", "dm0", "sda2", ""),
            ("sda1 / sda, sda2 / sda, sda1 % sda2", "sda1", "sda2", "share storage"),
            ("sda1 / sda, loop0 > sda", "sda1", "loop0", "share storage"),
            ("loop0p1 / loop0, loop0 > file, loop1p1 / loop1, loop1 > file", "loop0p1", "loop1p1", "share storage"),
            ("loop0p1 / loop0, loop0 > file, loop1 > file", "loop0p1", "loop1", "share storage"),
            ("loop0p1 / loop0, loop0 > file", "loop0p1", "file", "share storage"),
            ("loop0p1 / loop0, loop0p2 / loop0, loop0 > file", "loop0p1", "loop0p2", ""),
        ] {
            let [one, other] = [one, other].map(|name| if name == "file" { FILE } else { device(name) });
            for (one, other) in [(one, other), (other, one)] {
                assert_eq!(tree(text).relation(one, other).unwrap_or_default(), wanted, "{text}");
            }
        }
    }

    #[test]
    fn requests_reach_what_lies_below_to_any_depth() {
        for (text, target, wanted) in [
            ("sda1 / sda", "sda", &[][..]),
            ("sda1 / sda, sda2 / sda", "sda1", &[("sda", How::Partition)]),
            ("loop1 > loop0, loop0 > file", "loop1", &[("loop0", How::Loop), ("file", How::Loop)]),
            ("loop0p1 / loop0, loop0 > file", "loop0p1", &[("loop0", How::Partition), ("file", How::Loop)]),
            ("loop0p1 / loop0, loop0 > sdb", "loop0p1", &[("loop0", How::Partition), ("sdb", How::Loop)]),
            (
                "dm0 + loop0, loop0 > sda1, sda1 / sda",
                "dm0",
                &[("loop0", How::Member), ("sda1", How::Loop), ("sda", How::Partition)],
            ),
        ] {
            let node = |name: &str| if name == "file" { FILE } else { device(name) };
            let mut found = tree(text).reached(node(target));
            assert_eq!(found.remove(0), (node(target), None));
            let wanted: Vec<_> = wanted.iter().map(|(name, how)| (node(name), Some(*how))).collect();
            assert_eq!(found, wanted, "{text}");
        }
    }

    #[test]
    fn neighbours_share_no_bytes_with_a_target() {
        for (text, target, wanted) in [
            ("sda1 / sda, sda2 / sda", "sda1", &["sda", "sda1"][..]),
            ("sda1 / sda, sda2 / sda", "sda", &["sda", "sda1", "sda2"]),
            (
                "loop0p1 / loop0, loop0p2 / loop0, loop0 > sdb, loop1 > sdb",
                "loop0p1",
                &["loop0", "loop0p1", "loop1", "sdb"],
            ),
            ("loop0 > sda, sda1 / sda", "sda1", &["loop0", "sda", "sda1"]),
        ] {
            let found = tree(text).sharing(device(target));
            let missing = wanted.iter().find(|name| !found.contains(&device(name)));
            assert_eq!(missing, None, "{text}");
            assert!(!found.contains(&device("sda2")) || wanted.contains(&"sda2"), "{text}");
        }
    }
}
