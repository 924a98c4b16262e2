//! A run of another store taken over, with all that belongs to it.

use super::Store;
use super::error::{During, StoreError};
use super::run_id::RunId;
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

const ACTION: &str = "take a run over";

/// What belongs to a run: the table, and the column with the run's number. `id` is given anew.
const TABLES: [(&str, &str); 3] = [("runs", "id"), ("samples", "run_id"), ("readings", "run_id")];

impl Store {
    /// Takes over a run of another store of the same form; gives its number here. When this returns it is on the medium.
    ///
    /// # Errors
    /// When it cannot be read or written; nothing is left of it then.
    pub(crate) fn copy_run_from(&mut self, other: &Store, run: RunId) -> Result<RunId, StoreError> {
        let transaction = self.connection.transaction().during(ACTION)?;
        let mut id = run;
        for (table, key) in TABLES {
            for (columns, values) in rows(&other.connection, table, key, run).during(ACTION)? {
                let kept = columns.iter().zip(values).filter(|(column, _)| *column != "id");
                let of_run = |(column, value)| if column == key { id.0.into() } else { value };
                let (names, values): (Vec<&str>, Vec<Value>) =
                    kept.map(|(column, value)| (column.as_str(), of_run((column.as_str(), value)))).unzip();
                let marks = vec!["?"; names.len()].join(", ");
                let sql = format!("INSERT INTO {table} ({}) VALUES ({marks})", names.join(", "));
                transaction.execute(&sql, params_from_iter(values)).during(ACTION)?;
                if table == TABLES[0].0 {
                    id = RunId(transaction.last_insert_rowid());
                }
            }
        }
        transaction.commit().during(ACTION)?;
        if id == run && self.run(id).is_err() { Err(StoreError::NoRun(run)) } else { Ok(id) }
    }
}

/// The rows of a run, each with the names of its columns.
fn rows(
    connection: &Connection,
    table: &str,
    key: &str,
    run: RunId,
) -> rusqlite::Result<Vec<(Vec<String>, Vec<Value>)>> {
    let mut statement = connection.prepare(&format!("SELECT * FROM {table} WHERE {key} = ? ORDER BY rowid"))?;
    let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let row = statement.query_map((run.0,), |row| (0..names.len()).map(|column| row.get(column)).collect())?;
    row.map(|values| Ok((names.clone(), values?))).collect()
}
