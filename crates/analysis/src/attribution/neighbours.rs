//! What neighbouring cells of a run show about a sample's workload.

/// Figures of neighbouring cells.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Neighbours {
    /// Highest rate at a deeper queue over this rate.
    pub(crate) deeper: Option<f64>,
    /// Share of the sum of each target alone, if the targets limit one another.
    pub(crate) together: Option<f64>,
    /// The same at other offsets; none if not measured, or if offsets do not matter to this target.
    pub(crate) places: Option<Places>,
    /// How time grows with request size; none with one size.
    pub(crate) growth: Option<Growth>,
}

/// Highest rates at other offsets over this rate; none if not measured.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Places {
    /// Offsets that cost the medium less: sequential, or reads within a buffer-sized region.
    pub(crate) nearer: Option<f64>,
    /// Of sequential requests: random ones.
    pub(crate) at_random: Option<f64>,
    /// Of streams with different starts: the fastest over the slowest.
    pub(crate) everywhere: Option<f64>,
    /// Of writes: reads within a buffer-sized region, on the same path.
    pub(crate) reads_nearer: Option<f64>,
}

/// Time that one more request at the device adds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Growth {
    /// Fixed part.
    pub(crate) fixed_ns: f64,
    /// Per byte.
    pub(crate) ns_per_byte: f64,
}
