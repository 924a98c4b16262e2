//! The keys of a cloud provider's volume, and of what it and its instance are held to.

use super::bounds::{Count, Long, MOST_BYTES, Number, Rate, Share, Size, Within};
use super::error::Wrong;
use super::volume::VolumeKeys;
use super::{MachineFile, named_in};
use crate::cloud::limit::{Burst, Limit};
use crate::cloud::{CloudVolume, Limits};
use halfpower_model::Bytes;
use serde::Deserialize;

/// Requests a second.
type Requests = Number<1, 1_000_000_000>;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct CloudKeys {
    /// Bytes of it.
    pub(super) size: Size<512, MOST_BYTES>,
    /// The most bytes that count as one request.
    pub(super) unit: Size<512, { 1 << 30 }>,
    /// What it is held to.
    pub(super) limits: LimitKeys,
    /// The instance that it is attached to, which has limits too; none: they are no lower than the volume's, or its bus has them.
    pub(super) instance: Option<String>,
    /// How many requests are served at once.
    pub(super) parallel: Count<1, 4096>,
    /// From the provider's taking a read to its answer, on average.
    pub(super) read_latency: Long,
    /// The same of a write.
    pub(super) write_latency: Long,
    /// By how much that is shorter or longer at the most.
    #[serde(default)]
    pub(super) spread: Long,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct LimitKeys {
    /// Requests a second, of a unit at the most.
    pub(super) requests: Requests,
    /// Bytes a second.
    pub(super) rate: Rate,
    /// Requests a second while there are credits; none: as `requests`.
    pub(super) burst_requests: Option<Requests>,
    /// The most requests that can be saved up; goes with `burst-requests`.
    pub(super) request_credits: Option<Number<0, 1_000_000_000_000_000>>,
    /// Bytes a second while there are credits; none: as `rate`.
    pub(super) burst_rate: Option<Rate>,
    /// The most bytes that can be saved up; goes with `burst-rate`.
    pub(super) byte_credits: Option<Size<0, MOST_BYTES>>,
    /// Which part of its credits it has at first, 0 to 1.
    #[serde(default = "all")]
    pub(super) full: Share,
}

fn all() -> Share {
    Within(1.0)
}

impl LimitKeys {
    /// The limits; `place` is where their keys are.
    ///
    /// # Errors
    /// Where bursts are slower, or without credits, or these without bursts.
    fn limits(&self, place: &[&str]) -> Result<Limits, Wrong> {
        let credits = self.byte_credits.map(|credits| credits.0.0 as f64);
        let (requests, bursts) = (self.requests.0, self.burst_requests.map(|requests| requests.0));
        let request_credits = self.request_credits.map(|credits| credits.0);
        let (rate, burst_rate) = (self.rate.0.0, self.burst_rate.map(|rate| rate.0.0));
        let wrong = |key: &str, message: &str| Wrong::at(&[place, &[key]].concat(), message);
        let limit = |per_s, bursts, credits, [burst_key, credits_key]: [&str; 2]| match (bursts, credits) {
            (None, None) => Ok(Limit { per_s, burst: None }),
            (Some(burst), Some(_)) if burst < per_s => {
                Err(wrong(burst_key, "it has to be no less than what there is without bursts"))
            }
            (Some(burst), Some(credits)) => {
                Ok(Limit { per_s, burst: Some(Burst { per_s: burst, credits, at_first: credits * self.full.0 }) })
            }
            (Some(_), None) => Err(wrong(burst_key, &format!("bursts need {credits_key}"))),
            (None, Some(_)) => Err(wrong(credits_key, &format!("credits are for bursts; say {burst_key}"))),
        };
        Ok(Limits {
            requests: limit(requests, bursts, request_credits, ["burst-requests", "request-credits"])?,
            bytes: limit(rate, burst_rate, credits, ["burst-rate", "byte-credits"])?,
        })
    }
}

impl CloudKeys {
    /// What a volume of the machine has of it.
    ///
    /// # Errors
    /// When a figure of it cannot be, or there is no such instance.
    pub(super) fn volume(&self, file: &MachineFile, name: &str, volume: &VolumeKeys) -> Result<CloudVolume, Wrong> {
        let place = ["cloud", &volume.drive];
        let key = |key| [&place[..], &[key]].concat();
        if self.spread.0.0 > self.read_latency.0.0.min(self.write_latency.0.0) {
            return Err(Wrong::at(
                &key("spread"),
                "it has to be no more than the latencies: nothing is answered before it came",
            ));
        }
        if volume.from_buffers {
            return Err(Wrong::at(&["volume", name, "from-buffers"], "it is of drives that have buffers"));
        }
        let mut limits = vec![self.limits.limits(&key("limits"))?];
        if let Some(instance) = &self.instance {
            let keys = named_in(&file.instance, &key("instance"), "instance", instance)?;
            if volume.disks.0 > 1 {
                let one = "several volumes would share its instance's limits, which is not simulated: give one disk";
                return Err(Wrong::at(&["volume", name, "disks"], one));
            }
            limits.push(keys.limits(&["instance", instance])?);
        }
        Ok(CloudVolume {
            size: Bytes(self.size.0.0 / 512 * 512),
            unit: self.unit.0,
            limits,
            instance: self.instance.clone(),
            parallel: self.parallel.0,
            read_ns: self.read_latency.0.0,
            write_ns: self.write_latency.0.0,
            spread_ns: self.spread.0.0,
        })
    }
}
