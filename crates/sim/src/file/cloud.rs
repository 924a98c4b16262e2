//! The keys of a cloud provider's volume, and of what it and its instance are held to.

use super::volume::VolumeKeys;
use super::{MachineError, MachineFile, Said};
use crate::cloud::limit::{Burst, Limit};
use crate::cloud::{CloudVolume, Limits};
use halfpower_model::{Bytes, BytesPerSecond, Nanoseconds};
use serde::Deserialize;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct CloudKeys {
    /// Bytes of it.
    pub(super) size: Said<Bytes>,
    /// The most bytes that count as one request.
    pub(super) unit: Said<Bytes>,
    /// What it is held to.
    pub(super) limits: LimitKeys,
    /// The instance that it is attached to, which has limits too; none: they are no lower than the volume's, or its bus has them.
    pub(super) instance: Option<String>,
    /// How many requests are served at once.
    pub(super) parallel: u32,
    /// From the provider's taking a read to its answer, on average.
    pub(super) read_latency: Said<Nanoseconds>,
    /// The same of a write.
    pub(super) write_latency: Said<Nanoseconds>,
    /// By how much that is shorter or longer at the most.
    #[serde(default)]
    pub(super) spread: Said<Nanoseconds>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct LimitKeys {
    /// Requests a second, of a unit at the most.
    pub(super) requests: f64,
    /// Bytes a second.
    pub(super) rate: Said<BytesPerSecond>,
    /// Requests a second while there are credits; none: as `requests`.
    pub(super) burst_requests: Option<f64>,
    /// The most requests that can be saved up; goes with `burst-requests`.
    pub(super) request_credits: Option<f64>,
    /// Bytes a second while there are credits; none: as `rate`.
    pub(super) burst_rate: Option<Said<BytesPerSecond>>,
    /// The most bytes that can be saved up; goes with `burst-rate`.
    pub(super) byte_credits: Option<Said<Bytes>>,
    /// Which part of its credits it has at first, 0 to 1.
    #[serde(default = "all")]
    pub(super) full: f64,
}

fn all() -> f64 {
    1.0
}

impl LimitKeys {
    /// None where a figure cannot be.
    fn limits(&self) -> Option<Limits> {
        let bytes_per_s = |rate: Said<BytesPerSecond>| rate.0.0;
        let credits = self.byte_credits.map(|credits| credits.0.0 as f64);
        Some(Limits {
            requests: self.limit(self.requests, self.burst_requests, self.request_credits)?,
            bytes: self.limit(bytes_per_s(self.rate), self.burst_rate.map(bytes_per_s), credits)?,
        })
    }

    fn limit(&self, per_s: f64, burst_per_s: Option<f64>, credits: Option<f64>) -> Option<Limit> {
        let burst = match (burst_per_s, credits) {
            (None, None) => None,
            (Some(burst), Some(credits)) if burst >= per_s && burst < 1e15 && (0.0..1e18).contains(&credits) => {
                Some(Burst { per_s: burst, credits, at_first: credits * self.full })
            }
            _ => return None,
        };
        ((1e-3..1e15).contains(&per_s) && (0.0..=1.0).contains(&self.full)).then_some(Limit { per_s, burst })
    }
}

impl CloudKeys {
    /// What a volume of the machine has of it.
    ///
    /// # Errors
    /// When a figure of it cannot be, or there is no such instance.
    pub(super) fn volume(
        &self,
        file: &MachineFile,
        machine: &str,
        name: &str,
        volume: &VolumeKeys,
    ) -> Result<CloudVolume, MachineError> {
        let figure = |part: String, message: &str| MachineError::Figure {
            machine: machine.to_owned(),
            part,
            message: message.to_owned(),
        };
        let part = || format!("cloud {}", volume.drive);
        if self.size.0.0 < 512 || self.unit.0.0 < 512 || !(1..=65_536).contains(&self.parallel) {
            return Err(figure(
                part(),
                "its size and unit are of a block of 512 bytes at least, parallel is from 1 to 65536",
            ));
        }
        if self.spread.0.0 > self.read_latency.0.0.min(self.write_latency.0.0) {
            return Err(figure(part(), "its spread is no more than its latencies: nothing is answered before it came"));
        }
        if volume.from_buffers {
            return Err(figure(format!("volume {name}"), "from-buffers is of drives that have one"));
        }
        let wrong =
            "its requests and rate are above nought; bursts are no slower, and have credits; full is from 0 to 1";
        let mut limits = vec![self.limits.limits().ok_or_else(|| figure(part(), wrong))?];
        if let Some(instance) = &self.instance {
            let keys = file.instance.get(instance);
            let keys = keys.ok_or_else(|| file.missing(machine, name, "instance", instance))?;
            if volume.disks > 1 {
                let one = "several volumes would share its limits, which is not simulated: give one disk";
                return Err(figure(format!("instance {instance}"), one));
            }
            limits.push(keys.limits().ok_or_else(|| figure(format!("instance {instance}"), wrong))?);
        }
        Ok(CloudVolume {
            size: Bytes(self.size.0.0 / 512 * 512),
            unit: self.unit.0,
            limits,
            parallel: self.parallel,
            read_ns: self.read_latency.0.0,
            write_ns: self.write_latency.0.0,
            spread_ns: self.spread.0.0,
        })
    }
}
