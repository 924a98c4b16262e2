//! What sets the pace of a sample: which part is full, or waits, or is limited, and what is ruled out.
//!
//! Every suspect is looked at, in an order in which one explains those behind it: a limit that is reached explains idle
//! processors, a full processor explains an idle device. A suspect is *named* on its own figures, never because it is the
//! last one left, but for the file system and the device: those only where the kernel's counters say what the device did
//! meanwhile, and then it says "likely". Where a figure is missing the suspect is left open, and where none is named it
//! cannot be told. Little's law is behind the depth: with one request outstanding the rate is one over its latency.
//!
//! What it refuses: samples of other programs, whose figures were taken in other ways. Sources of each rule: [`program`] and
//! [`path`]. A simulated machine tells how busy its parts were ([`parts`]); without that it is judged like a host.

mod facts;
mod gate;
mod parts;
mod path;
mod program;
#[cfg(test)]
mod tests;
mod way;

use facts::Facts;
pub(crate) use facts::polls;
use halfpower_model::Sample;
use serde::Serialize;

/// What may set the pace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Owner {
    /// The program that makes the requests.
    Generator,
    /// The rate that was asked for.
    Rate,
    /// Memory, and the processor that copies from and to it.
    Memory,
    /// The kernel, which makes those wait who write faster than it can store.
    DirtyPages,
    /// A control group's bytes per second.
    ThrottledBandwidth,
    /// A control group's requests per second.
    ThrottledRequests,
    /// The processors that the workers run on.
    Processor,
    /// Blocks that are read because a part of them is written.
    ReadBeforeWrite,
    /// The flushes between the writes, or the one at the end.
    Flushes,
    /// Something that several targets share.
    SharedLimit,
    /// What controllers are attached by.
    Bus,
    /// Something between buses that works on requests itself.
    Controller,
    /// What a simulated share makes its writes wait for.
    Share,
    /// What the device is attached by.
    Link,
    /// Too few requests outstanding: the time of each one sets the pace.
    Depth,
    /// The file system, or whatever else is above the device.
    FileSystem,
    /// The device, and what lies behind it.
    Device,
}

/// How sure that is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Sureness {
    /// What was measured leaves room for something else.
    Likely,
    /// A figure of its own says so.
    Sure,
}

/// What sets the pace, and why.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Attribution {
    /// Who it is; none where it cannot be told.
    pub owner: Option<Owner>,
    /// How sure; none where nobody is named.
    pub sureness: Option<Sureness>,
    /// What it is called on this machine, where it has a name there: `pci`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// The figures that say so, or why it cannot be told.
    pub reason: String,
    /// Who it is not, each with the figure that says so.
    pub ruled_out: Vec<String>,
    /// Who could not be looked at, each with the reason.
    pub open: Vec<String>,
}

/// What other samples say of this one's workload.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Beside {
    /// The rate of the same with more requests outstanding over this rate, the most of all; none where nobody tried.
    pub(crate) deeper: Option<f64>,
    /// Whether its targets were seen to hold one another back: the share of the sum of each alone.
    pub(crate) together: Option<f64>,
    /// The same at other places; none where nobody tried, or places do not matter to the target.
    pub(crate) places: Option<Places>,
    /// How its time grows with its size; none where there is one size.
    pub(crate) growth: Option<Growth>,
}

/// Rates of the same requests at other places over this rate, the most of all; none where nobody tried.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Places {
    /// Where the medium has less to do: one after another, or of reads over a part that a buffer may hold.
    pub(crate) nearer: Option<f64>,
    /// Of those one after another, at random.
    pub(crate) at_random: Option<f64>,
    /// Of streams that begin elsewhere each time, the fastest over the slowest.
    pub(crate) everywhere: Option<f64>,
    /// Of writes, reads over a part that a buffer may hold: they take the same way.
    pub(crate) reads_nearer: Option<f64>,
}

/// The time that one more request to the device adds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Growth {
    /// Whatever its size, in nanoseconds.
    pub(crate) fixed_ns: f64,
    /// For each byte.
    pub(crate) ns_per_byte: f64,
}

/// What was found of a suspect.
#[derive(Clone, Debug, PartialEq)]
enum Standing {
    /// It does not apply.
    Absent,
    RuledOut(String),
    Open(String),
    Named(Owner, Sureness, String),
    /// With what it is called on this machine.
    NamedAt(Owner, Sureness, String, String),
}

impl Owner {
    /// Whether requests of other programs take from it what these could have.
    fn is_below(self) -> bool {
        matches!(
            self,
            Owner::Bus
                | Owner::Controller
                | Owner::Share
                | Owner::Link
                | Owner::Depth
                | Owner::FileSystem
                | Owner::Device
                | Owner::Flushes
        )
    }

    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Owner::Generator => "the program that makes the requests",
            Owner::Rate => "the rate that was asked for",
            Owner::Memory => "memory",
            Owner::DirtyPages => "the kernel's limit of dirty memory",
            Owner::ThrottledBandwidth => "a control group's limit of bytes a second",
            Owner::ThrottledRequests => "a control group's limit of requests a second",
            Owner::Processor => "the processor",
            Owner::ReadBeforeWrite => "reads of the blocks that are written in part",
            Owner::Flushes => "the flushes",
            Owner::SharedLimit => "something that the targets share",
            Owner::Bus => "the bus",
            Owner::Controller => "the controller",
            Owner::Share => "the share",
            Owner::Link => "the link",
            Owner::Depth => "the depth: too few requests outstanding",
            Owner::FileSystem => "the file system",
            Owner::Device => "the device, or what lies behind it",
        }
    }
}

impl Attribution {
    /// Whether anybody was named or ruled out: where no figure tells anything, there is no claim.
    pub(crate) fn says_something(&self) -> bool {
        self.owner.is_some() || !self.ruled_out.is_empty() || !self.open.is_empty()
    }

    /// Who it is: `the processor (likely)`, `cannot be told`.
    pub fn named(&self) -> String {
        match (self.owner, self.sureness) {
            (Some(owner), Some(Sureness::Likely)) => format!("{} (likely)", owner.name()),
            (Some(owner), _) => owner.name().to_owned(),
            (None, _) => "cannot be told".to_owned(),
        }
    }

    /// The same with the reason: `the processor: the workers ran …`.
    pub fn brief(&self) -> String {
        format!("{}: {}", self.named(), self.reason)
    }

    /// Who it is not, and who could not be looked at, as further sentences; empty where there is nothing to say.
    pub fn further(&self) -> String {
        let list = |what: &str, reasons: &[String]| match reasons {
            [] => String::new(),
            _ => format!(" {what}: {}.", reasons.join("; ")),
        };
        list("Ruled out", &self.ruled_out) + &list("Left open", &self.open)
    }
}

/// What sets the pace of a sample, by its own figures alone: of an interrupted one, of what was measured until then. None where it
/// failed, moved nothing, or is another program's.
pub fn attribute(sample: &Sample) -> Option<Attribution> {
    attribute_beside(sample, Beside::default())
}

/// The same, with what other samples say.
pub(crate) fn attribute_beside(sample: &Sample, beside: Beside) -> Option<Attribution> {
    let is_measured = sample.failure.as_ref().is_none_or(|failure| failure.code == "interrupted");
    let is_usable = is_measured && sample.origin.is_none() && sample.total.requests > 0;
    if !is_usable || sample.elapsed_s <= 0.0 {
        return None;
    }
    let facts = Facts::of(sample, beside);
    let mut found =
        Attribution { owner: None, sureness: None, at: None, reason: String::new(), ruled_out: vec![], open: vec![] };
    for suspect in SUSPECTS {
        match suspect(&facts) {
            Standing::Absent => {}
            Standing::RuledOut(why) => found.ruled_out.push(why),
            Standing::NamedAt(owner, sureness, at, reason) if found.owner.is_none() => {
                (found.owner, found.sureness, found.at, found.reason) = (Some(owner), Some(sureness), Some(at), reason);
            }
            // What stands behind the first one named is explained by it.
            Standing::Open(why) if found.owner.is_none() => found.open.push(why),
            Standing::Named(owner, sureness, reason) if found.owner.is_none() => {
                (found.owner, found.sureness, found.reason) = (Some(owner), Some(sureness), reason);
            }
            Standing::Open(_) | Standing::Named(..) | Standing::NamedAt(..) => {}
        }
    }
    if found.owner.is_none() {
        let why = "no figure of it shows who holds it back".to_owned();
        found.reason = if found.open.is_empty() { why } else { std::mem::take(&mut found.open).join("; ") };
    }
    if found.owner.is_none_or(Owner::is_below) {
        found.reason += &facts.for_others();
    }
    Some(found)
}

/// In the order in which one explains those behind it.
const SUSPECTS: [fn(&Facts<'_>) -> Standing; 15] = [
    program::rate,
    parts::parts,
    program::generator,
    program::memory,
    program::crowded_processor,
    program::dirty_pages,
    path::limits,
    program::processor,
    program::read_before_write,
    program::flushes,
    path::levels,
    path::depth,
    way::way,
    path::file_system,
    path::device,
];
