//! Why a machine cannot be made.

use crate::disk::geometry::GeometryError;
use crate::disk::seek::SeekError;

/// Why a machine cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum MachineError {
    /// The file is not one.
    #[error("machine {name}: {message}")]
    File {
        /// The machine's.
        name: String,
        /// With line and column.
        message: String,
    },
    /// A setting that cannot be.
    #[error("machine {machine} with {setting}: {message}")]
    Setting {
        /// The machine's name.
        machine: String,
        /// As said.
        setting: String,
        /// What is wrong, and what there is.
        message: String,
    },
    /// There is no such machine.
    #[error("no machine that ships is called {name}; there are {}", crate::shipped::machines().collect::<Vec<_>>().join(", "))]
    Machine {
        /// As asked for.
        name: String,
    },
    /// There is no such volume.
    #[error("machine {machine} has no volume {volume:?}; it has {}", known.join(", "))]
    NoVolume {
        /// The machine's name.
        machine: String,
        /// As asked for.
        volume: String,
        /// What there is.
        known: Vec<String>,
    },
    /// A volume names what is not there.
    #[error("machine {machine}, volume {volume}: there is no {kind} {name:?}")]
    NoPart {
        /// The machine's name.
        machine: String,
        /// The volume's.
        volume: String,
        /// `drive`, `bus`.
        kind: &'static str,
        /// As named.
        name: String,
    },
    /// A figure that cannot be.
    #[error("machine {machine}, {part}: {message}")]
    Figure {
        /// The machine's name.
        machine: String,
        /// Which part.
        part: String,
        /// What is wrong.
        message: String,
    },
    /// Blocks that lie nowhere.
    #[error("machine {machine}, drive {drive}")]
    Geometry {
        /// The machine's name.
        machine: String,
        /// The drive's.
        drive: String,
        /// Why.
        #[source]
        source: GeometryError,
    },
    /// A seek curve that is none.
    #[error("machine {machine}, drive {drive}")]
    Seek {
        /// The machine's name.
        machine: String,
        /// The drive's.
        drive: String,
        /// Why.
        #[source]
        source: SeekError,
    },
}
