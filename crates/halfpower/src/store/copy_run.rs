//! Copying a run from another store.

use super::damage::damaged;
use super::error::{During, StoreError};
use super::handle::Store;
use super::recover::{TABLES, insert};
use super::run_id::RunId;

const ACTION: &str = "take a run over";

impl Store {
    /// Copies a run of another store with the same schema; returns its new number. On return it is on the medium.
    ///
    /// # Errors
    /// If it cannot be read or written; then nothing of it is stored.
    pub(crate) fn copy_run_from(&mut self, other: &Store, run: RunId) -> Result<RunId, StoreError> {
        let transaction = self.connection.transaction().during(ACTION)?;
        let mut id = run;
        for (table, columns, ..) in &TABLES[..3] {
            let key = if *table == "runs" { "id" } else { "run_id" };
            // `id` is assigned anew.
            let kept: Vec<&str> = columns.iter().copied().filter(|column| *column != "id").collect();
            let sql = format!("SELECT {} FROM {table} WHERE {key} = ? ORDER BY rowid", kept.join(", "));
            let mut statement = other.connection.prepare(&sql).during(ACTION)?;
            let mut rows = statement.query((run.0,)).during(ACTION)?;
            while let Some(row) = rows.next().during(ACTION)? {
                let value = |column: &&str| if *column == "run_id" { Ok(id.0.into()) } else { row.get(*column) };
                let values = kept.iter().map(value).collect::<rusqlite::Result<_>>().during(ACTION)?;
                if insert(&transaction, table, &kept, values).during(ACTION)? == 0 {
                    return Err(damaged(format!("a row of {table}"), "its values are not accepted"));
                }
                if *table == "runs" {
                    id = RunId(transaction.last_insert_rowid());
                }
            }
        }
        transaction.commit().during(ACTION)?;
        if id == run && self.run(id).is_err() { Err(StoreError::NoRun(run)) } else { Ok(id) }
    }
}
