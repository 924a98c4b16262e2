//! The tables, as migrations from one version of the store to the next.
//!
//! The version is SQLite's `user_version`; `application_id` tells a store from other people's databases. A migration
//! that was released is never changed: the next one is added below it.

use rusqlite::{Connection, TransactionBehavior};

/// `HPWR`.
pub(super) const APPLICATION_ID: i64 = 0x4850_5752;

/// Migration `n` (from 0) makes version `n + 1`.
pub(super) const MIGRATIONS: &[&str] = &[
    // 1: runs, samples, test files. Columns that hold JSON: plan, program, environment, record. Times are RFC 3339.
    "CREATE TABLE runs (
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
    CREATE TABLE samples (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        run_id INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
        cell INTEGER NOT NULL,
        block INTEGER NOT NULL,
        started_at TEXT NOT NULL,
        record TEXT NOT NULL,
        UNIQUE (run_id, cell, block)
    ) STRICT;
    CREATE TABLE test_files (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        run_id INTEGER REFERENCES runs (id) ON DELETE SET NULL,
        path BLOB NOT NULL,
        bytes INTEGER NOT NULL,
        noted_at TEXT NOT NULL,
        device INTEGER,
        inode INTEGER,
        made_at TEXT,
        removed_at TEXT
    ) STRICT;",
    // 2: readings of instruments, one a run.
    "CREATE TABLE readings (
        run_id INTEGER PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
        record TEXT NOT NULL
    ) STRICT;",
    // 3: which file a test file is, and the directory it is in, as JSON.
    "ALTER TABLE test_files ADD COLUMN file TEXT;
    ALTER TABLE test_files ADD COLUMN directory TEXT;
    ALTER TABLE test_files DROP COLUMN device;
    ALTER TABLE test_files DROP COLUMN inode;
    ALTER TABLE test_files DROP COLUMN made_at;",
    // 4: the list of runs, without the pages that plans and environments fill.
    "CREATE INDEX runs_list ON runs (id, kind, name, target, note, started_at, finished_at, status);",
];

/// The version a connection's store has; 0 when it is new.
pub(super) fn version(connection: &Connection) -> rusqlite::Result<u32> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Carries out the migrations that the store lacks, each whole or not at all. Several processes may try at once.
pub(super) fn migrate(connection: &mut Connection, migrations: &[&str]) -> rusqlite::Result<()> {
    let done_before = version(connection)?;
    for (done, migration) in (0_u32..).zip(migrations).skip(done_before as usize) {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        if version(&transaction)? == done {
            transaction.execute_batch(migration)?;
            transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
            transaction.pragma_update(None, "user_version", done + 1)?;
        }
        transaction.commit()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEPS: &[&str] = &["CREATE TABLE a (x)", "ALTER TABLE a ADD COLUMN y", "UPDATE a SET y = x * 2"];

    #[test]
    fn each_step_is_taken_once_and_keeps_what_is_there() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, &STEPS[..1]).unwrap();
        connection.execute("INSERT INTO a VALUES (21)", ()).unwrap();
        migrate(&mut connection, STEPS).unwrap();
        migrate(&mut connection, STEPS).unwrap();
        assert_eq!(version(&connection), Ok(3));
        assert_eq!(connection.query_row("SELECT y FROM a", (), |row| row.get(0)), Ok(42));
    }

    #[test]
    fn a_step_that_fails_leaves_nothing_behind() {
        let mut connection = Connection::open_in_memory().unwrap();
        let broken = ["CREATE TABLE a (x)", "CREATE TABLE b (x); CREATE TABLE a (x)"];
        migrate(&mut connection, &broken).unwrap_err();
        assert_eq!(version(&connection), Ok(1));
        connection.execute("CREATE TABLE b (x)", ()).unwrap();
    }
}
