//! The pyramid's levels between program and medium, from memory to device, each with its peak advertised performance (PAP).
//!
//! A level has channels: links, devices and limits that a target's bytes pass in parallel or in series. The peak of a level
//! follows from them, so several targets behind one bus count that bus once. Nothing is guessed: a channel of unknown peak has
//! none, nor has a level that depends on it.

use crate::units::{BytesPerSecond, UnitError};
use crate::words::words;
use serde::{Deserialize, Serialize};
use std::str::FromStr;

words! {
    /// Names of levels, in their order from memory to device.
    pub enum LevelName {
        /// The machine's memory.
        Memory = "memory",
        /// A control group's limit on reads.
        ReadLimit = "read_limit",
        /// A control group's limit on writes.
        WriteLimit = "write_limit",
        /// The bus of the controllers, or another shared path.
        Bus = "bus",
        /// The link of the device.
        Link = "link",
        /// The device.
        Device = "device",
    }
}

/// One level of the path to a target, or to several.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Level {
    /// Which.
    pub name: LevelName,
    /// Its peak advertised performance; none if unknown.
    pub pap_bytes_per_s: Option<BytesPerSecond>,
    /// The source of that figure, or why there is none.
    pub source: String,
    /// Its channels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub channels: Vec<Channel>,
}

/// A part of a level.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Channel {
    /// Its name on this machine, which identifies it.
    pub at: String,
    /// The channel of this level between it and the CPU; none if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub through: Option<String>,
    /// Its peak; none if unknown or unlimited.
    pub pap_bytes_per_s: Option<BytesPerSecond>,
    /// The source of that figure, or why there is none.
    pub source: String,
}

/// A peak given by the user: `device=3500MB/s`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GivenPeak {
    /// The level.
    pub level: LevelName,
    /// The peak of a whole bus, of each link or of each device.
    pub bytes_per_s: BytesPerSecond,
}

/// The source of a given peak.
const GIVEN: &str = "given";

impl FromStr for GivenPeak {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form = || format!("`{text}` is no peak of a level; write one like device=3500MB/s");
        let (level, rate) = text.split_once('=').ok_or_else(form)?;
        let level = match level.trim().parse() {
            Ok(level @ (LevelName::ReadLimit | LevelName::WriteLimit)) => {
                Err(format!("`{level}` is what a control group sets; give memory, bus, link or device"))
            }
            Ok(level) => Ok(level),
            Err(_) => Err(format!("`{}` is not one of memory, bus, link, device", level.trim())),
        }?;
        Ok(GivenPeak { level, bytes_per_s: rate.parse().map_err(|error: UnitError| error.to_string())? })
    }
}

impl Level {
    /// A level of these channels; of several with one name the first counts.
    pub fn of(name: LevelName, channels: impl IntoIterator<Item = Channel>) -> Level {
        let mut different: Vec<Channel> = Vec::new();
        for channel in channels {
            if different.iter().all(|other| other.at != channel.at) {
                different.push(channel);
            }
        }
        let (peak, behind) = peak_of(&different, None);
        Level { name, pap_bytes_per_s: peak.map(BytesPerSecond), source: sources(&behind), channels: different }
    }

    /// The channels that determine its peak, or make it unknown.
    pub fn held_by(&self) -> Vec<&Channel> {
        peak_of(&self.channels, None).1
    }

    /// Whether the user gave the peak.
    pub fn is_given(&self) -> bool {
        self.channels.iter().any(|channel| channel.source == GIVEN)
    }

    /// The same level with a given peak; without channels, with one of this name.
    pub(crate) fn given(&self, rate: BytesPerSecond, at: &str) -> Level {
        let mut roots: Vec<String> =
            self.channels.iter().filter(|c| c.through.is_none()).map(|c| c.at.clone()).collect();
        if roots.is_empty() {
            roots.push(at.to_owned());
        }
        // The peak of a bus includes all below it.
        let channel = |at| Channel { at, through: None, pap_bytes_per_s: Some(rate), source: GIVEN.to_owned() };
        Level::of(self.name, roots.into_iter().map(channel))
    }
}

/// The peak of all channels below `through` together, and the channels that determine it or make it unknown. A channel delivers at
/// most its own peak and the sum of those below it.
fn peak_of<'c>(channels: &'c [Channel], through: Option<&str>) -> (Option<f64>, Vec<&'c Channel>) {
    let mut sum = Some(0.0);
    let mut behind = Vec::new();
    for channel in channels.iter().filter(|channel| channel.through.as_deref() == through) {
        let (below, theirs) = peak_of(channels, Some(&channel.at));
        let own = channel.pap_bytes_per_s.map(|rate| rate.0);
        let below = below.filter(|_| !theirs.is_empty());
        let (peak, why) = match (own, below) {
            (Some(own), Some(below)) if below < own => (Some(below), theirs),
            (None, Some(below)) => (Some(below), theirs),
            (own, _) => (own, vec![channel]),
        };
        // An unknown channel makes the sum unknown.
        match (sum, peak) {
            (Some(so_far), Some(peak)) => sum = Some(so_far + peak),
            (Some(_), None) => {
                sum = None;
                behind.clear();
            }
            (None, Some(_)) => continue,
            (None, None) => {}
        }
        behind.extend(why);
    }
    (sum, behind)
}

/// Each source once, with its count.
fn sources(channels: &[&Channel]) -> String {
    let mut counted: Vec<(usize, &str)> = Vec::new();
    for channel in channels {
        match counted.iter_mut().find(|(_, source)| *source == channel.source) {
            Some((count, _)) => *count += 1,
            None => counted.push((1, &channel.source)),
        }
    }
    let one = |(count, source): &(usize, &str)| match count {
        1 => (*source).to_owned(),
        count => format!("{count} × ({source})"),
    };
    counted.iter().map(one).collect::<Vec<_>>().join(" + ")
}

/// The levels of several paths together; shared channels count once.
pub fn together<'l>(paths: impl IntoIterator<Item = &'l [Level]>) -> Vec<Level> {
    let paths: Vec<&[Level]> = paths.into_iter().collect();
    let mut names: Vec<LevelName> = paths.iter().flat_map(|levels| levels.iter().map(|level| level.name)).collect();
    names.sort_unstable();
    names.dedup();
    let level = |name: LevelName| {
        let found: Vec<&Level> = paths.iter().filter_map(|path| path.iter().find(|level| level.name == name)).collect();
        // A limit on only some of the targets does not limit all together.
        let is_limit = matches!(name, LevelName::ReadLimit | LevelName::WriteLimit);
        (!is_limit || found.len() == paths.len())
            .then(|| Level::of(name, found.into_iter().flat_map(|level| level.channels.iter().cloned())))
    };
    names.into_iter().filter_map(level).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::{TargetFacts, TargetKind};
    use crate::units::Bytes;

    fn channel(at: &str, through: Option<&str>, megabytes: Option<f64>) -> Channel {
        Channel {
            at: at.to_owned(),
            through: through.map(str::to_owned),
            pap_bytes_per_s: megabytes.map(|rate| BytesPerSecond(rate * 1e6)),
            source: megabytes.map_or("says nothing".to_owned(), |rate| format!("{rate} on the label")),
        }
    }

    fn peak(level: &Level) -> Option<f64> {
        level.pap_bytes_per_s.map(|rate| rate.0 / 1e6)
    }

    #[test]
    fn what_lies_side_by_side_adds_up_and_what_lies_behind_does_not() {
        let four = ["a", "b", "c", "d"].map(|disk| channel(disk, None, Some(24.0))).to_vec();
        // A switch of 60 with two ports of 40, and one port of 10 beside it; then one port alone, which is the limit.
        let tree = vec![
            channel("switch", None, Some(60.0)),
            channel("port 1", Some("switch"), Some(40.0)),
            channel("port 2", Some("switch"), Some(40.0)),
            channel("other", None, Some(10.0)),
        ];
        let one_port = tree[..2].to_vec();
        let open = vec![channel("a", None, Some(24.0)), channel("b", None, None)];
        // A known link above an unknown one still bounds it; an unknown one above a known one does not.
        let [below, above] = [(Some(60.0), None), (None, Some(60.0))]
            .map(|(up, down)| vec![channel("up", None, up), channel("down", Some("up"), down)]);
        for (channels, expected, source) in [
            (four, Some(96.0), "4 × (24 on the label)"),
            (tree, Some(70.0), "60 on the label + 10 on the label"),
            (one_port, Some(40.0), "40 on the label"),
            (open, None, "says nothing"),
            (below, Some(60.0), "60 on the label"),
            (above, Some(60.0), "60 on the label"),
            (vec![channel("loop", Some("loop"), Some(1.0))], Some(0.0), ""),
        ] {
            let level = Level::of(LevelName::Bus, channels);
            assert_eq!((peak(&level), level.source.as_str()), (expected, source));
        }
    }

    #[test]
    fn targets_behind_one_bus_share_it() {
        let path = |disk: &str| {
            vec![
                Level::of(LevelName::Bus, [channel("hba", None, Some(60.0))]),
                Level::of(LevelName::Device, [channel(disk, None, Some(24.0))]),
            ]
        };
        let [a, b, c] = ["a", "b", "c"].map(path);
        let all = together([a.as_slice(), &b, &c]);
        assert_eq!(all.iter().map(peak).collect::<Vec<_>>(), [Some(60.0), Some(72.0)]);
        let mut limited = path("d");
        limited.insert(0, Level::of(LevelName::ReadLimit, [channel("d", None, Some(5.0))]));
        assert_eq!(together([limited.as_slice()]).len(), 3);
        let names: Vec<LevelName> = together([a.as_slice(), &limited]).iter().map(|level| level.name).collect();
        assert_eq!(names, [LevelName::Bus, LevelName::Device], "a limit of one of them is none of both");
    }

    #[test]
    fn a_peak_that_is_given_counts() {
        let mut facts = TargetFacts::bare("/dev/md0", TargetKind::BlockDevice, Bytes(1));
        facts.levels = vec![
            Level::of(LevelName::Bus, [channel("up", None, None), channel("down", Some("up"), Some(40.0))]),
            Level::of(LevelName::Device, ["a", "b"].map(|disk| channel(disk, None, None))),
        ];
        let given: Vec<GivenPeak> =
            ["device=3500MB/s", "bus = 60MB/s", "memory=20GB/s"].map(|text| text.parse().unwrap()).to_vec();
        facts.give_peaks(&given);
        let shown: Vec<_> = facts.levels.iter().map(|level| (level.name, peak(level), level.source.as_str())).collect();
        assert_eq!(
            shown,
            [
                (LevelName::Memory, Some(20_000.0), "given"),
                (LevelName::Bus, Some(60.0), "given"),
                (LevelName::Device, Some(7000.0), "2 × (given)"),
            ]
        );
        assert_eq!(facts.pap_bytes_per_s, Some(BytesPerSecond(7e9)));
        // What is read back from a record is what was said.
        let mut again = TargetFacts { levels: Vec::new(), ..facts.clone() };
        again.give_peaks(&facts.given_peaks());
        assert_eq!(again.given_peaks(), facts.given_peaks());
        assert_eq!(facts.given_peaks()[2], given[0]);
    }

    #[test]
    fn what_is_no_peak_says_why() {
        let message = |text: &str| text.parse::<GivenPeak>().unwrap_err().to_string();
        for (text, why) in [
            ("3500MB/s", "device=3500MB/s"),
            ("cable=3500MB/s", "memory, bus, link, device"),
            ("read_limit=1MB/s", "control group"),
            ("device=fast", "no rate"),
            ("device=10", "MB/s"),
            ("device=0MB/s", "nothing"),
        ] {
            assert!(message(text).contains(why), "{}", message(text));
        }
    }
}
