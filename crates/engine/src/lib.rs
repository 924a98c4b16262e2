//! The real testbed: measures workloads on this host.
//!
//! The road: [`Target`] (what the requests go to, opened and guarded) → [`Host`] (prepares, runs the workers, watches)
//! → a worker's loop, compiled for each personality → the [`Sample`](halfpower_model::Sample). This is the only crate
//! with `unsafe`; every block says why it is sound.

mod buffers;
mod errno;
mod host;
mod instrument;
mod mapping;
pub mod mpi;
mod network;
mod personality;
mod record;
mod run;
mod shared_memory;
mod system;
mod target;
mod verification;
mod worker;

pub use errno::name as error_name;
pub use host::{Host, environment};
pub use instrument::clock::Clock;
pub use instrument::inspect::{InstrumentFacts, instruments};
pub use instrument::phases::{BlockEvent, BlockPoint, RequestRecorder};
pub use instrument::{drop_cache, files, idle, inspect, link, map, memory};
pub use network::credentials::{needs_password, remember_password};
pub use network::is_remote;
pub use network::s3::objects::ObjectTree;
pub use personality::personalities;
pub use personality::plugin::{PluginError, check_plugin};
pub use run::worker_process;
pub use system::cache;
pub use system::filesystem;
pub use target::directory::DirectoryFacts;
pub use target::test_file;
pub use target::test_tree::TestTree;
pub use target::{Access, Mark, NULL_TARGET, Target, TargetError, refuse_same};
