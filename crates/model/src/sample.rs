//! The sample record: what one measured run of one workload gave, and what can be wrong with its figures.

mod block;
mod buffer;
mod connections;
mod cut_off;
mod heat;
mod imported;
mod memory;
mod part;
mod rank;
mod rate;
mod record;
mod together;
mod totals;

pub use block::{Block, Direction, Dirty, Phases};
pub use buffer::{IN_WRITE_CACHE, LEFT_IN_BUFFER, in_write_cache, left_in_buffer};
pub use connections::{Acknowledgements, Connections, Tcp};
pub use cut_off::{CutOff, stalled_at_end};
pub use heat::Heat;
pub use memory::{MEMORY_SPEED, came_around, memory_speed, once_over};
pub use part::{Part, PartKind, Wait, WaitFor};
pub use rank::Rank;
pub use rate::rate_not_reached;
pub use record::{
    ContextSwitches, Counters, Cpu, CpuTime, DepthMean, Failure, Histograms, Instrument, Interval, IntervalPart,
    KernelThread, MEASURE_LONGER, OpenLoop, Parallel, Program, SCHEMA, Sample, Soaker, SystemAccount, Verified,
    Warning, WorkerTotals,
};
pub use totals::{Latency, Totals};
