//! How busy the parts of a simulated machine were. A real machine does not show this.

use crate::words::words;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A part of a simulated machine during a sample.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// Its name in the machine file; with a number for several disks of a kind.
    pub name: String,
    /// Its kind.
    pub kind: PartKind,
    /// Busy share of the measured time over all its servers, 0 to 1; for a wait, the share with a request waiting.
    pub busy: f64,
    /// Shares of the busy time by phase; empty if not recorded.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub phases: BTreeMap<String, f64>,
    /// Names of a controller's buses; empty for other kinds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub buses: Vec<String>,
    /// Meaning of a long wait; none for other kinds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<Wait>,
}

/// The meaning of a wait: `large writes waited 60 % of the time between their units`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Wait {
    /// The reason.
    #[serde(rename = "for")]
    pub reason: WaitFor,
    /// It is the bottleneck from this share of the time on.
    pub from: f64,
    /// The requests that wait.
    pub who: String,
    /// The event they wait for, or when they wait.
    pub until: String,
}

impl Part {
    /// The phase in which a controller waits for other parts to move its bytes.
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

    /// The phase of an arm in which the requested sectors pass under it.
    pub const PASSING: &str = "passing";
    /// The phase of an arm that seeks and waits for rotation.
    pub const REACHING: &str = "reaching";
    /// Share of the time with its own work.
    pub fn at_work(&self) -> f64 {
        self.busy * (1.0 - self.phases.get(Part::HELD).copied().unwrap_or(0.0))
    }
}

words! {
    /// Kinds of parts.
    pub enum PartKind {
        /// The host's CPUs, all of them.
        Cpu = "cpu",
        /// A bus, a link or a wire.
        Bus = "bus",
        /// A part between buses with its own CPU.
        Controller = "controller",
        /// A disk or another device that stores the data.
        Device = "device",
        /// A cause of waiting without work, such as a share's window.
        Wait = "wait",
    }

    /// Reasons for a wait.
    pub enum WaitFor {
        /// A network share, by the rules of its protocol.
        Share = "share",
        /// The end of a file that the system extends by one write at a time.
        Growth = "growth",
        /// A controller or drive that limits the commands per disk.
        Commands = "commands",
    }
}
