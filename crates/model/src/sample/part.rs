//! How busy the parts of a simulated machine were: nobody can look into a real one like that.

use crate::words::words;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A part of a simulated machine during a sample.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// As the machine's file calls it; of several disks of a kind with their number.
    pub name: String,
    /// What it is.
    pub kind: PartKind,
    /// Share of the measured time that it was busy, of all its servers: 0 to 1. Of a wait, that something waited so.
    pub busy: f64,
    /// What it did while it was busy, as shares of that; empty where that is not told apart.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub phases: BTreeMap<String, f64>,
    /// Of a controller, the buses that its bytes are on, by name; empty for others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub buses: Vec<String>,
    /// Of a wait, what it means where it is long; none for others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<Wait>,
}

/// What a testbed says of a wait: `large writes waited 60 % of the time between their units`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Wait {
    /// What the requests wait for.
    #[serde(rename = "for")]
    pub reason: WaitFor,
    /// From this share of the time on it is the bottleneck.
    pub from: f64,
    /// The requests that wait.
    pub who: String,
    /// For what, or when.
    pub until: String,
}

impl Part {
    /// The phase in which a controller is held while other parts move the bytes of what it is at.
    pub const HELD: &str = "held_for_others";
    /// A part that was never busy.
    pub fn idle(name: &str, kind: PartKind) -> Part {
        Part { name: name.to_owned(), kind, busy: 0.0, phases: BTreeMap::new(), buses: Vec::new(), wait: None }
    }

    /// A wait in which nothing waited.
    pub fn wait(name: &str, reason: WaitFor, from: f64, who: &str, until: &str) -> Part {
        let wait = Wait { reason, from, who: who.to_owned(), until: until.to_owned() };
        Part { wait: Some(wait), ..Part::idle(name, PartKind::Wait) }
    }

    /// The phase of an arm in which the medium passes what was asked for under it.
    pub const PASSING: &str = "passing";
    /// The phase of an arm on its way there.
    pub const REACHING: &str = "reaching";
    /// The phase of an arm on its way to what its write cache holds, while nobody waits for it: the cache has room for more.
    pub const UNAWAITED: &str = "unawaited";
    /// The phase of an arm on its way to what it would have been at sooner, had the host asked before it was free.
    pub const LATE: &str = "late";

    /// Share of the time of its own work.
    pub fn at_work(&self) -> f64 {
        self.busy * (1.0 - self.phases.get(Part::HELD).copied().unwrap_or(0.0))
    }
}

words! {
    /// What a part is.
    pub enum PartKind {
        /// The host's CPUs, all of them.
        Cpu = "cpu",
        /// A bus, a link or a wire.
        Bus = "bus",
        /// Something between buses with a CPU of its own.
        Controller = "controller",
        /// A disk, or whatever else keeps the data.
        Device = "device",
        /// What requests wait for while nothing works on them: a share's window, or a wait of its.
        Wait = "wait",
    }

    /// What requests wait for.
    pub enum WaitFor {
        /// A network share, by the rules of its protocol.
        Share = "share",
        /// The end of a file, where the system extends it by one write at a time.
        Growth = "growth",
        /// A controller or drive that admits so many commands to a disk.
        Commands = "commands",
    }
}
