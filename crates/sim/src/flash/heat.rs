//! Thermal throttling: a drive that moves more bytes than its surroundings cool slows down until it is cool.
//!
//! Its temperature follows the bytes it moves with one time constant, as a body with one heat capacity and one thermal resistance
//! does. The temperature is expressed as the write throughput that would sustain it. Above the limit the drive passes a lower rate
//! until the temperature has fallen to a lower mark.

use super::array::Fluid;
use super::drive::Heat;
use crate::command::Direction;

/// The state of a drive that heats up.
#[derive(Clone, Debug)]
pub struct Cooling {
    heat: Heat,
    temperature: f64,
    seen_ns: u64,
    is_hot: bool,
    gate: Fluid,
}

impl Cooling {
    /// A cool drive.
    pub fn new(heat: Heat) -> Cooling {
        Cooling { heat, temperature: 0.0, seen_ns: 0, is_hot: false, gate: Fluid::default() }
    }

    /// Returns when a command that arrives now may go on.
    pub fn pass(&mut self, now_ns: u64, direction: Direction, bytes: u64) -> u64 {
        let Heat { sustained, reads_per_write, time_constant, throttled, until } = self.heat;
        let bytes = match direction {
            Direction::Read => bytes as f64 / reads_per_write,
            Direction::Write => bytes as f64,
            Direction::Trim | Direction::Flush => 0.0,
        };
        let from_ns = now_ns.max(self.gate.free_ns());
        let constant_ns = time_constant.0 as f64;
        let cooled = decay((from_ns - self.seen_ns) as f64 / constant_ns);
        self.seen_ns = from_ns;
        self.temperature = self.temperature * cooled + bytes / constant_ns * 1e9;
        let limit = if self.is_hot { until * sustained.0 } else { sustained.0 };
        self.is_hot = self.temperature > limit;
        if self.is_hot { self.gate.write(now_ns, (bytes / throttled.0 * 1e9 + 0.5) as u64) } else { from_ns }
    }

    /// How long it held commands back.
    pub fn busy_ns(&self, now_ns: u64) -> u64 {
        self.gate.busy_ns(now_ns)
    }
}

/// e to the power of minus `x`, by multiplications alone, so that every host gets the same bits. The relative error is x²/2²¹.
pub(super) fn decay(x: f64) -> f64 {
    const SQUARINGS: i32 = 20;
    let mut power = 1.0 / (1.0 + x / f64::from(1 << SQUARINGS));
    for _ in 0..SQUARINGS {
        power *= power;
    }
    power
}
