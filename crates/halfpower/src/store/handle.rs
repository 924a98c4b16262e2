//! The open store.

use super::claims::Claims;
use super::damage::Damage;
use super::error::{During, StoreError};
use rusqlite::{Connection, Params};
use std::fs::File;
use std::mem::ManuallyDrop;
use std::path::PathBuf;
use std::rc::Rc;

/// An open store.
#[derive(Debug)]
pub(crate) struct Store {
    pub(super) connection: Connection,
    pub(super) claims: Claims,
    pub(super) damage: Rc<Damage>,
    /// Its canonical path; none for a store in memory.
    pub(super) path: Option<PathBuf>,
    /// The file itself, never closed: closing it would release SQLite's locks of this process (fcntl(2)).
    pub(super) file: Option<ManuallyDrop<File>>,
}

impl Store {
    /// Executes a statement; returns the number of rows it changed.
    pub(super) fn execute(&self, action: &'static str, sql: &str, values: impl Params) -> Result<usize, StoreError> {
        self.connection.execute(sql, values).during(action)
    }
}
