//! What neighbouring cells of a run show about a sample's workload.

/// What other samples say of this one's workload.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Neighbours {
    /// The rate of the same with more requests outstanding over this rate, the most of all; none where nobody tried.
    pub(crate) deeper: Option<f64>,
    /// Whether its targets were seen to hold one another back: the share of the sum of each alone.
    pub(crate) together: Option<f64>,
    /// The same at other places; none where nobody tried, or places do not matter to the target.
    pub(crate) places: Option<Places>,
    /// How its time grows with its size; none where there is one size.
    pub(crate) growth: Option<Growth>,
}

/// Rates of the same requests at other places over this rate, the most of all; none where nobody tried.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Places {
    /// Where the medium has less to do: one after another, or of reads over a part that a buffer may hold.
    pub(crate) nearer: Option<f64>,
    /// Of those one after another, at random.
    pub(crate) at_random: Option<f64>,
    /// Of streams that begin elsewhere each time, the fastest over the slowest.
    pub(crate) everywhere: Option<f64>,
    /// Of writes, reads over a part that a buffer may hold: they take the same way.
    pub(crate) reads_nearer: Option<f64>,
}

/// The time that one more request to the device adds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Growth {
    /// Whatever its size, in nanoseconds.
    pub(crate) fixed_ns: f64,
    /// For each byte.
    pub(crate) ns_per_byte: f64,
}
