//! The keys of a cloud provider's volume, and of what it and its instance are held to.

use super::error::{Wrong, named_in};
use super::volume::VolumeKeys;
use crate::bounds::{Count, Long, MOST_BYTES, Number, Rate, Share, Size};
use crate::cloud::{Burst, CloudVolume, Limit, Limits};
use crate::table::table;
use halfpower_model::Bytes;
use std::collections::BTreeMap;

/// IOPS.
type Requests = Number<1, 1_000_000_000>;

table! { pub(super) CloudKeys {
    /// capacity
    size: Size<512, MOST_BYTES>,
    /// maximum size that counts as one request; larger ones count as several
    unit: Size<512, { 1 << 30 }>,
    /// its limits
    limits: LimitKeys,
    /// the `[instance.NAME]` it is attached to: the same limits, a separate part with its own busy time; for a volume of one disk
    instance: Option<String>,
    /// number of requests served at once
    parallel: Count<1, 4096>,
    /// mean latency of a read, from acceptance to answer
    read_latency: Long,
    /// the same for a write
    write_latency: Long,
    /// maximum deviation from it; at most either
    spread: Long = default,
} }

table! { pub(super) LimitKeys {
    /// IOPS
    requests: Requests,
    /// bytes per second
    rate: Rate,
    /// IOPS while there are credits; at least `requests`; needs `request-credits`
    burst_requests: Option<Requests>,
    /// maximum balance of requests
    request_credits: Option<Number<0, 1_000_000_000_000_000>>,
    /// bytes per second while there are credits; needs `byte-credits`
    burst_rate: Option<Rate>,
    /// maximum balance of bytes
    byte_credits: Option<Size<0, MOST_BYTES>>,
    /// balance at the start of a sample, as a share; default 1
    full: Option<Share>,
} }

impl LimitKeys {
    /// The limits; `place` is where their keys are.
    ///
    /// # Errors
    /// Where bursts are slower, or without credits, or these without bursts.
    fn limits(&self, place: &[&str]) -> Result<Limits, Wrong> {
        let wrong = |key: &str, message: &str| Wrong::at(&[place, &[key]].concat(), message);
        let limit = |per_s, bursts, credits, [burst_key, credits_key]: [&str; 2]| match (bursts, credits) {
            (None, None) => Ok(Limit { per_s, burst: None }),
            (Some(burst), Some(_)) if burst < per_s => {
                Err(wrong(burst_key, "it has to be at least the limit without bursts"))
            }
            (Some(burst), Some(credits)) => Ok(Limit {
                per_s,
                burst: Some(Burst { per_s: burst, credits, at_first: credits * self.full.unwrap_or(1.0) }),
            }),
            (Some(_), None) => Err(wrong(burst_key, &format!("it needs {credits_key} too"))),
            (None, Some(_)) => Err(wrong(credits_key, &format!("it needs {burst_key} too"))),
        };
        let (burst_rate, byte_credits) =
            (self.burst_rate.map(|rate| rate.0), self.byte_credits.map(|credits| credits.0 as f64));
        let of_requests = ["burst-requests", "request-credits"];
        Ok(Limits {
            requests: limit(self.requests, self.burst_requests, self.request_credits, of_requests)?,
            bytes: limit(self.rate.0, burst_rate, byte_credits, ["burst-rate", "byte-credits"])?,
        })
    }
}

impl CloudKeys {
    /// What a volume of the machine has of it.
    ///
    /// # Errors
    /// When a figure of it cannot be, or there is no such instance.
    pub(super) fn volume(
        &self,
        instances: &BTreeMap<String, LimitKeys>,
        name: &str,
        volume: &VolumeKeys,
    ) -> Result<CloudVolume, Wrong> {
        let place = ["cloud", &volume.drive];
        let key = |key| [&place[..], &[key]].concat();
        if self.spread > self.read_latency.min(self.write_latency) {
            return Err(Wrong::at(&key("spread"), "it has to be at most read-latency and write-latency"));
        }
        if volume.from_buffers {
            return Err(Wrong::at(&["volume", name, "from-buffers"], "it applies to disks only"));
        }
        let mut limits = vec![self.limits.limits(&key("limits"))?];
        if let Some(instance) = &self.instance {
            let keys = named_in(instances, &key("instance"), "instance", instance)?;
            if volume.disks > 1 {
                let one = "volumes that share an instance are not simulated; write disks = 1";
                return Err(Wrong::at(&["volume", name, "disks"], one));
            }
            limits.push(keys.limits(&["instance", instance])?);
        }
        Ok(CloudVolume {
            size: Bytes(self.size.0 / 512 * 512),
            unit: self.unit,
            limits,
            instance: self.instance.clone(),
            parallel: self.parallel,
            read_ns: self.read_latency.0,
            write_ns: self.write_latency.0,
            spread_ns: self.spread.0,
        })
    }
}
