//! Why memory cannot be measured.

use std::io;

/// Why memory cannot be measured.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// The options do not fit this host.
    #[error("{0}")]
    Usage(String),
    /// The figures would be wrong, or the memory does not suffice.
    #[error("{0}")]
    Failed(String),
    /// Any other error of the system.
    #[error("cannot {action}")]
    System {
        /// The action.
        action: &'static str,
        /// The system's error.
        #[source]
        source: io::Error,
    },
}

impl MemoryError {
    pub(super) fn no_memory(source: io::Error) -> MemoryError {
        MemoryError::System { action: "allocate memory", source }
    }

    pub(super) fn pin(source: io::Error) -> MemoryError {
        MemoryError::System { action: "pin a thread to a CPU; use fewer --threads", source }
    }

    pub(super) fn file(source: rustix::io::Errno) -> MemoryError {
        MemoryError::System { action: "use a file in memory", source: source.into() }
    }
}
