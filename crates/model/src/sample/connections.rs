//! What the connections to servers did while a sample was measured.

use serde::{Deserialize, Serialize};

/// All connections of a sample together, over its measured part.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Connections {
    /// Their number.
    pub connections: u32,
    /// Time in which the data of an answer had begun to arrive and were not complete; the sum over the connections.
    pub arriving_s: f64,
    /// Its share in answers whose rest came 36 to 210 ms late, as long as TCP delays an acknowledgement; 0 in older records.
    #[serde(default)]
    pub held_up_s: f64,
    /// How often the program had received all that had arrived, and the rest of an answer was missing; 0 in older records.
    #[serde(default)]
    pub emptied: u64,
    /// What the kernel counted (TCP_INFO); none of local sockets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp: Option<Tcp>,
    /// What a trial after the measured part showed; none where no answer was held up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acknowledgements: Option<Acknowledgements>,
}

/// Median latency of reads at QD1, with delayed and with immediate acknowledgements by this host.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Acknowledgements {
    /// Delayed by the kernel, as usual.
    pub delayed_s: f64,
    /// Immediate (TCP_QUICKACK).
    pub at_once_s: f64,
}

/// Counts of the kernel for TCP connections. Source: linux/tcp.h, `struct tcp_info`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tcp {
    /// Time with data that were sent and not acknowledged; the sum over the connections, as of the next two.
    pub sending_s: f64,
    /// Part of it in which the server's window was full: the server reads too slowly.
    pub window_limited_s: f64,
    /// Part of it in which this host's send buffer was full.
    pub buffer_limited_s: f64,
    /// Segments sent again.
    pub retransmitted: u64,
    /// Least round trip of any connection since it began.
    pub round_trip_least_s: f64,
}

impl Connections {
    /// From an earlier state of the same connections on.
    pub fn since(&self, earlier: &Connections) -> Connections {
        let tcp = self.tcp.as_ref().zip(earlier.tcp.as_ref()).map(|(now, then)| Tcp {
            sending_s: now.sending_s - then.sending_s,
            window_limited_s: now.window_limited_s - then.window_limited_s,
            buffer_limited_s: now.buffer_limited_s - then.buffer_limited_s,
            retransmitted: now.retransmitted.saturating_sub(then.retransmitted),
            round_trip_least_s: now.round_trip_least_s,
        });
        let emptied = self.emptied.saturating_sub(earlier.emptied);
        Connections {
            connections: self.connections,
            arriving_s: self.arriving_s - earlier.arriving_s,
            held_up_s: self.held_up_s - earlier.held_up_s,
            emptied,
            tcp,
            acknowledgements: self.acknowledgements,
        }
    }

    /// With other connections.
    #[must_use]
    pub fn and(&self, other: &Connections) -> Connections {
        let tcp = self.tcp.as_ref().zip(other.tcp.as_ref()).map(|(one, other)| Tcp {
            sending_s: one.sending_s + other.sending_s,
            window_limited_s: one.window_limited_s + other.window_limited_s,
            buffer_limited_s: one.buffer_limited_s + other.buffer_limited_s,
            retransmitted: one.retransmitted + other.retransmitted,
            round_trip_least_s: one.round_trip_least_s.min(other.round_trip_least_s),
        });
        Connections {
            connections: self.connections + other.connections,
            arriving_s: self.arriving_s + other.arriving_s,
            held_up_s: self.held_up_s + other.held_up_s,
            emptied: self.emptied + other.emptied,
            tcp,
            acknowledgements: self.acknowledgements.or(other.acknowledgements),
        }
    }

    /// A time over all connections as a share of `elapsed_s` of each.
    pub fn share(&self, time_s: f64, elapsed_s: f64) -> f64 {
        (time_s / (elapsed_s * f64::from(self.connections.max(1)))).clamp(0.0, 1.0)
    }
}
