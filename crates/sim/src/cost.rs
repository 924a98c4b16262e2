//! CPU time of requests.

use crate::bounds::{Short, Time};
use crate::table::{Value, table};
use serde::{Deserialize, Deserializer};

/// CPU time of a request: a fixed cost and a marginal cost per KiB.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// Microseconds per request.
    pub fixed_us: f64,
    /// Microseconds per KiB.
    pub marginal_us_per_kib: f64,
}

impl Cost {
    pub(crate) fn times(self, factor: f64) -> Cost {
        Cost { fixed_us: self.fixed_us * factor, marginal_us_per_kib: self.marginal_us_per_kib * factor }
    }

    pub(crate) fn plus(self, other: Cost) -> Cost {
        Cost {
            fixed_us: self.fixed_us + other.fixed_us,
            marginal_us_per_kib: self.marginal_us_per_kib + other.marginal_us_per_kib,
        }
    }

    /// Nanoseconds for a request of this size.
    pub fn ns(self, bytes: u64) -> u64 {
        ((self.fixed_us + self.marginal_us_per_kib * bytes as f64 / 1024.0) * 1000.0 + 0.5) as u64
    }
}

table! {
    pub(crate) CostKeys {
        /// CPU time per request
        fixed: Short,
        /// CPU time per KiB
        marginal: Time<0, 100_000_000>,
    }
}

impl<'de> Deserialize<'de> for Cost {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Cost, D::Error> {
        let CostKeys { fixed, marginal } = CostKeys::deserialize(deserializer)?;
        Ok(Cost { fixed_us: fixed.0 as f64 / 1e3, marginal_us_per_kib: marginal.0 as f64 / 1e3 })
    }
}

impl Value for Cost {
    type Plain = Cost;

    fn plain(self) -> Cost {
        self
    }

    fn allowed() -> String {
        CostKeys::allowed()
    }
}
