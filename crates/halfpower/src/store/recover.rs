//! Reads a damaged store: all readable rows go into a store in memory. Tables are read up to the damage, then page by
//! page. A row is recognised by its columns, so even the list of tables may be damaged.

use super::claims::Claims;
use super::companion_files::beside;
use super::damage::{Damage, damaged};
use super::error::StoreError;
use super::handle::Store;
use super::raw_pages::Pages;
use super::run_id::RunId;
use rusqlite::types::Value;
use rusqlite::{Connection, Row, params_from_iter};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek};
use std::path::Path;
use std::rc::Rc;

/// The tables: name, columns, and the place and beginning of a text by which a row is recognised.
pub(super) const TABLES: [(&str, &[&str], usize, &str); 4] = [
    ("runs", &RUN_COLUMNS, 1, ""),
    ("samples", &["id", "run_id", "cell", "block", "started_at", "record"], 5, r#"{"schema":"halfpower.sample"#),
    ("readings", &["run_id", "record"], 1, r#"{"schema":"halfpower.reading"#),
    ("test_files", &["id", "run_id", "path", "bytes", "noted_at", "removed_at", "file", "directory"], 7, "{"),
];
pub(super) const RUN_COLUMNS: [&str; 15] = [
    "id",
    "kind",
    "name",
    "question",
    "study_text",
    "plan",
    "command",
    "target",
    "seed",
    "note",
    "program",
    "environment",
    "started_at",
    "finished_at",
    "status",
];

/// The index of samples by run, cell and block, which has copies of all three.
const INDEX: &str = "SELECT id, run_id, cell, block FROM samples INDEXED BY sqlite_autoindex_samples_1";

/// Run, cell and block of a sample in the index.
pub(super) type Slot = (RunId, i64, i64);

impl Store {
    /// A store in memory with the readable rows of this one.
    ///
    /// # Errors
    /// If its file cannot be read, or it has none.
    pub(super) fn recovered(&self) -> Result<Store, StoreError> {
        match (&self.path, &self.file) {
            (Some(path), Some(file)) => recover(path, file, Some(self)),
            _ => Err(damaged("the store in memory", "it has no file")),
        }
    }

    /// The rows of a statement up to the first unreadable one, and whether all were readable.
    pub(super) fn rows_until_damage<T>(
        &self,
        sql: &str,
        mut of: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> (Vec<T>, bool) {
        let mut found = Vec::new();
        let mut read = || -> rusqlite::Result<()> {
            let mut statement = self.connection.prepare(sql)?;
            let mut rows = statement.query(())?;
            while let Some(row) = rows.next()? {
                found.push(of(row)?);
            }
            Ok(())
        };
        let is_whole = read().is_ok();
        (found, is_whole)
    }

    /// Passes the rows of a table to `take`, up to the first unreadable one. An unreadable value is null.
    fn each_row(&self, table: &str, columns: &[&str], mut take: impl FnMut(Vec<Value>)) {
        let sql = format!("SELECT {} FROM {table} NOT INDEXED", columns.join(", "));
        self.rows_until_damage(&sql, |row| {
            take((0..columns.len()).map(|column| row.get(column).unwrap_or(Value::Null)).collect());
            Ok(())
        });
    }

    /// The rows of a small table.
    pub(super) fn table(&self, table: &str, columns: &[&str]) -> Vec<Vec<Value>> {
        let mut rows = Vec::new();
        self.each_row(table, columns, |row| rows.push(row));
        rows
    }

    /// The samples in the index up to the first unreadable entry, and whether all were readable.
    pub(super) fn index(&self) -> (BTreeMap<i64, Slot>, bool) {
        let slot = |row: &Row<'_>| Ok((row.get(0)?, (RunId(row.get(1)?), row.get(2)?, row.get(3)?)));
        let (slots, is_whole) = self.rows_until_damage(INDEX, slot);
        (slots.into_iter().collect(), is_whole)
    }
}

/// The readable rows of a file, which may be open as a store.
///
/// # Errors
/// If the file cannot be read.
pub(super) fn recover(path: &Path, file: &File, damaged: Option<&Store>) -> Result<Store, StoreError> {
    rebuild(path, file, damaged).map_err(|error| StoreError::Open { path: path.to_owned(), source: error.into() })
}

fn rebuild(path: &Path, mut file: &File, damaged: Option<&Store>) -> anyhow::Result<Store> {
    let (mut pages, log) = (Vec::new(), std::fs::read(beside(path, "-wal")).unwrap_or_default());
    file.rewind()?;
    file.read_to_end(&mut pages)?;
    let connection = Connection::open_in_memory()?;
    for (table, columns, ..) in TABLES {
        // Without constraints: a row without its run, or with missing values, is kept.
        let plain = columns.join(", ").replacen("id", "id INTEGER PRIMARY KEY", 1);
        connection.execute_batch(&format!("CREATE TABLE {table} ({plain})"))?;
        if let Some(store) = damaged {
            // A row that the table rejects is dropped.
            store.each_row(table, columns, |row| drop(insert(&connection, table, columns, row)));
        }
    }
    connection.execute_batch("CREATE INDEX runs_list ON runs (id)")?;
    for (number, mut values) in Pages::of(&pages, &log).rows() {
        let of = |(_, columns, place, start): &&(&str, &[&str], usize, &str)| {
            values.len() == columns.len() && matches!(&values[*place], Value::Text(text) if text.starts_with(*start))
        };
        if let Some((table, columns, ..)) = TABLES.iter().find(of) {
            values[0] = Value::Integer(number);
            insert(&connection, table, columns, values)?;
        }
    }
    let (index, is_whole) = damaged.map(Store::index).unwrap_or_default();
    for (run, ..) in index.values() {
        connection.execute("INSERT OR IGNORE INTO runs (id) VALUES (?)", (run.0,))?;
    }
    if !is_whole {
        let sql = "INSERT OR IGNORE INTO runs (id) SELECT run_id FROM samples WHERE typeof(run_id) = 'integer'";
        connection.execute(sql, ())?;
    }
    let damage = damaged.map_or_else(Rc::<Damage>::default, |store| Rc::clone(&store.damage));
    Ok(Store { connection, claims: Claims::beside(Some(path)), damage, path: None, file: None })
}

/// Adds a row, unless its number exists.
pub(super) fn insert(
    connection: &Connection,
    table: &str,
    columns: &[&str],
    values: Vec<Value>,
) -> rusqlite::Result<usize> {
    let marks = vec!["?"; columns.len()].join(", ");
    let sql = format!("INSERT OR IGNORE INTO {table} ({}) VALUES ({marks})", columns.join(", "));
    connection.prepare_cached(&sql)?.execute(params_from_iter(values))
}
