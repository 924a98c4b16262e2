//! What may limit a sample, and what the attribution found of it.

use crate::wording::sentence;
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

/// What was found of a suspect.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Standing {
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
    pub(super) fn is_below(self) -> bool {
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
            Owner::Generator => "the load generator",
            Owner::Rate => "the requested rate",
            Owner::Memory => "memory",
            Owner::DirtyPages => "dirty-page throttling by the kernel",
            Owner::ThrottledBandwidth => "a control group's bandwidth limit",
            Owner::ThrottledRequests => "a control group's IOPS limit",
            Owner::Processor => "the CPU",
            Owner::ReadBeforeWrite => "read-modify-write of partially written blocks",
            Owner::Flushes => "flushes",
            Owner::SharedLimit => "a resource that the targets share",
            Owner::Bus => "the bus",
            Owner::Controller => "the controller",
            Owner::Share => "the network share",
            Owner::Link => "the link",
            Owner::Depth => "queue depth",
            Owner::FileSystem => "the file system",
            Owner::Device => "the device",
        }
    }
}

impl Attribution {
    /// Whether anybody was named or ruled out: where no figure tells anything, there is no claim.
    pub(crate) fn says_something(&self) -> bool {
        self.owner.is_some() || !self.ruled_out.is_empty() || !self.open.is_empty()
    }

    /// Who it is: `the CPU (likely)`, `unknown`.
    pub fn named(&self) -> String {
        match (self.owner, self.sureness) {
            (Some(owner), Some(Sureness::Likely)) => format!("{} (likely)", owner.name()),
            (Some(owner), _) => owner.name().to_owned(),
            (None, _) => "unknown".to_owned(),
        }
    }

    /// The same with the reason: `the CPU: the workers ran …`.
    pub fn brief(&self) -> String {
        format!("{}: {}", self.named(), self.reason)
    }

    /// All of it in sentences: `Bottleneck (likely): the device. It had … Ruled out: …`.
    pub(crate) fn sentence(&self) -> String {
        let likely = if self.sureness == Some(Sureness::Likely) { " (likely)" } else { "" };
        let name = self.owner.map_or("unknown", Owner::name);
        format!("Bottleneck{likely}: {name}. {}{}", sentence(&self.reason), self.further())
    }

    /// Who it is not, and who could not be looked at, as further sentences; empty where there is nothing to say.
    pub fn further(&self) -> String {
        let list = |what: &str, reasons: &[String]| match reasons {
            [] => String::new(),
            _ => format!(" {what}: {}.", reasons.join("; ")),
        };
        list("Ruled out", &self.ruled_out) + &list("Not determined", &self.open)
    }
}
