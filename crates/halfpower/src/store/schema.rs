//! The tables and their version, SQLite's `user_version`; `application_id` distinguishes a store from other databases.
//! A store of any other version is rejected. A change of the tables raises the version.

use rusqlite::Connection;

/// `HPWR`.
pub(super) const APPLICATION_ID: i64 = 0x4850_5752;

/// The version of the tables below and of the records in them.
pub(super) const VERSION: u32 = 5;

/// Columns with JSON: plan, program, environment, record, file, directory. Times are RFC 3339. The index lets the list
/// of runs skip the pages with plans and environments.
const TABLES: &str = "
    CREATE TABLE runs (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        kind TEXT NOT NULL,
        name TEXT NOT NULL,
        question TEXT,
        study_text TEXT,
        plan TEXT,
        command TEXT NOT NULL,
        target TEXT NOT NULL,
        seed INTEGER NOT NULL,
        note TEXT,
        program TEXT NOT NULL,
        environment TEXT NOT NULL,
        started_at TEXT NOT NULL,
        finished_at TEXT,
        status TEXT NOT NULL
    ) STRICT;
    CREATE INDEX runs_list ON runs (id, kind, name, target, note, started_at, finished_at, status);
    CREATE TABLE samples (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        run_id INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
        cell INTEGER NOT NULL,
        block INTEGER NOT NULL,
        started_at TEXT NOT NULL,
        record TEXT NOT NULL,
        UNIQUE (run_id, cell, block)
    ) STRICT;
    CREATE TABLE readings (
        run_id INTEGER PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
        record TEXT NOT NULL
    ) STRICT;
    CREATE TABLE test_files (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        run_id INTEGER REFERENCES runs (id) ON DELETE SET NULL,
        path BLOB NOT NULL,
        bytes INTEGER NOT NULL,
        noted_at TEXT NOT NULL,
        removed_at TEXT,
        file TEXT,
        directory TEXT
    ) STRICT;";

/// The version of a store.
pub(super) fn version(connection: &Connection) -> rusqlite::Result<u32> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Creates the tables of a new store.
pub(super) fn make_tables(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(TABLES)?;
    connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    connection.pragma_update(None, "user_version", VERSION)
}
