//! Suspects that may limit a sample, and the result of the attribution.

use crate::wording::sentence;
use serde::Serialize;

/// A possible bottleneck.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Owner {
    /// The load generator.
    Generator,
    /// The requested rate.
    Rate,
    /// The pauses of the workers.
    Pauses,
    /// Memory, and the CPU that copies.
    Memory,
    /// The kernel, which throttles writers that dirty memory too fast.
    DirtyPages,
    /// A control group's bandwidth limit.
    ThrottledBandwidth,
    /// A control group's IOPS limit.
    ThrottledRequests,
    /// The CPUs of the workers.
    Cpu,
    /// Reads of blocks that are partially written.
    ReadBeforeWrite,
    /// Flushes between writes or at the end.
    Flushes,
    /// A resource that several targets share.
    SharedLimit,
    /// A bus between host and controllers.
    Bus,
    /// A controller.
    Controller,
    /// Waits of a simulated network share.
    Share,
    /// The link of the device, or to the server.
    Link,
    /// A server that waits for acknowledgements, which are delayed.
    DelayedAcknowledgement,
    /// A server's credits.
    Credits,
    /// Too few outstanding requests.
    Depth,
    /// The file system, or anything else above the device.
    FileSystem,
    /// The device and all behind it.
    Device,
    /// A server and all behind it.
    Server,
}

/// How certain it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Sureness {
    /// The figures leave room for another cause.
    Likely,
    /// Its own figures show it.
    Sure,
}

/// The bottleneck and the reason.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Attribution {
    /// None if unknown.
    #[serde(rename = "name")]
    pub owner: Option<Owner>,
    /// None if unknown.
    pub sureness: Option<Sureness>,
    /// Its name on this machine, such as `pci`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// The figures that show it, or why it is unknown.
    pub reason: String,
    /// Suspects ruled out, each with its figure.
    pub ruled_out: Vec<String>,
    /// Suspects that could not be examined, each with the reason.
    pub open: Vec<String>,
}

/// The result for one suspect that applies.
pub(super) enum Standing {
    RuledOut(String),
    Open(String),
    /// With its name on this machine, if it has one, and the reason.
    Named(Owner, Sureness, Option<String>, String),
}

pub(super) fn ruled_out(why: String) -> Option<Standing> {
    Some(Standing::RuledOut(why))
}

pub(super) fn open(why: impl Into<String>) -> Option<Standing> {
    Some(Standing::Open(why.into()))
}

/// Its own figures show it.
pub(super) fn sure(owner: Owner, reason: impl Into<String>) -> Option<Standing> {
    Some(Standing::Named(owner, Sureness::Sure, None, reason.into()))
}

/// The figures leave room for another cause.
pub(super) fn likely(owner: Owner, reason: impl Into<String>) -> Option<Standing> {
    Some(Standing::Named(owner, Sureness::Likely, None, reason.into()))
}

/// Sure or likely.
pub(super) fn named(owner: Owner, sureness: Sureness, reason: String) -> Option<Standing> {
    Some(Standing::Named(owner, sureness, None, reason))
}

/// With its name on this machine.
pub(super) fn named_at(owner: Owner, sureness: Sureness, at: impl Into<String>, reason: String) -> Option<Standing> {
    Some(Standing::Named(owner, sureness, Some(at.into()), reason))
}

impl Owner {
    /// Whether requests of other programs compete for it.
    pub(super) fn is_below(self) -> bool {
        use Owner::{
            Bus, Controller, Credits, DelayedAcknowledgement, Depth, Device, FileSystem, Flushes, Link, Server, Share,
        };
        [Bus, Controller, Share, Link, DelayedAcknowledgement, Credits, Depth, FileSystem, Device, Server, Flushes]
            .contains(&self)
    }

    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Owner::Generator => "the load generator",
            Owner::Rate => "the requested rate",
            Owner::Pauses => "the requested pauses",
            Owner::Memory => "memory",
            Owner::DirtyPages => "dirty-page throttling by the kernel",
            Owner::ThrottledBandwidth => "a control group's bandwidth limit",
            Owner::ThrottledRequests => "a control group's IOPS limit",
            Owner::Cpu => "the CPU",
            Owner::ReadBeforeWrite => "read-modify-write of partially written blocks",
            Owner::Flushes => "flushes",
            Owner::SharedLimit => "a resource that the targets share",
            Owner::Bus => "the bus",
            Owner::Controller => "the controller",
            Owner::Share => "the network share",
            Owner::Link => "the link",
            Owner::DelayedAcknowledgement => "delayed acknowledgements of TCP",
            Owner::Credits => "the server's credits",
            Owner::Depth => "queue depth",
            Owner::FileSystem => "the file system",
            Owner::Device => "the device",
            Owner::Server => "the server or what is behind it",
        }
    }
}

impl Attribution {
    /// Whether any suspect was named, ruled out or left open.
    pub(crate) fn says_something(&self) -> bool {
        self.owner.is_some() || !self.ruled_out.is_empty() || !self.open.is_empty()
    }

    /// `the CPU (likely)`, `unknown`.
    pub fn named(&self) -> String {
        let likely = if self.sureness == Some(Sureness::Likely) { " (likely)" } else { "" };
        format!("{}{likely}", self.owner.map_or("unknown", Owner::name))
    }

    /// With the reason: `the CPU: the workers ran …`.
    pub fn brief(&self) -> String {
        format!("{}: {}", self.named(), self.reason)
    }

    /// In sentences: `Bottleneck (likely): the device. It had … Ruled out: …`.
    pub(crate) fn sentence(&self) -> String {
        let likely = if self.sureness == Some(Sureness::Likely) { " (likely)" } else { "" };
        let name = self.owner.map_or("unknown", Owner::name);
        format!("Bottleneck{likely}: {name}. {}{}", sentence(&self.reason), self.further())
    }

    /// Suspects ruled out or left open, as further sentences.
    pub fn further(&self) -> String {
        let list = |what: &str, reasons: &[String]| match reasons {
            [] => String::new(),
            _ => format!(" {what}: {}.", reasons.join("; ")),
        };
        list("Ruled out", &self.ruled_out) + &list("Not determined", &self.open)
    }
}
