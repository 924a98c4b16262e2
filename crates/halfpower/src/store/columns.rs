//! Reading the columns of a run, with stand-ins for those that are damaged.

use super::damage::{Cause, Damage};
use super::run::RunId;
use rusqlite::types::FromSql;
use rusqlite::{Connection, Row};
use serde::de::DeserializeOwned;
use std::cell::RefCell;
use std::str::FromStr;

/// Where the columns of a run come from.
pub(super) trait Source {
    /// A column's value.
    fn value<T: FromSql>(&self, column: &str) -> rusqlite::Result<T>;
}

impl Source for Row<'_> {
    fn value<T: FromSql>(&self, column: &str) -> rusqlite::Result<T> {
        self.get(column)
    }
}

/// Each column by itself: where a page is damaged, those before it can still be read.
pub(super) struct OneByOne<'c> {
    pub connection: &'c Connection,
    pub run: RunId,
}

impl Source for OneByOne<'_> {
    fn value<T: FromSql>(&self, column: &str) -> rusqlite::Result<T> {
        self.connection.query_row(&format!("SELECT {column} FROM runs WHERE id = ?"), (self.run.0,), |row| row.get(0))
    }
}

/// The columns of a run. What cannot be read is reported, and has its type's default.
pub(super) struct Columns<'a, S> {
    pub run: RunId,
    pub source: &'a S,
    pub damage: &'a Damage,
    /// The columns that could not be read.
    pub damaged: RefCell<Vec<&'static str>>,
}

impl<'a, S: Source> Columns<'a, S> {
    pub(super) fn of(run: RunId, source: &'a S, damage: &'a Damage) -> Self {
        Columns { run, source, damage, damaged: RefCell::default() }
    }

    fn or_none<T>(&self, column: &'static str, value: Result<T, Cause>) -> Option<T> {
        value
            .inspect_err(|cause| {
                self.damage.note(format!("`{column}` of run {} is damaged ({cause})", self.run));
                self.damaged.borrow_mut().push(column);
            })
            .ok()
    }

    pub(super) fn get<T: FromSql>(&self, column: &'static str) -> Option<T> {
        self.or_none(column, self.source.value(column).map_err(Cause::from))
    }

    pub(super) fn json<T: DeserializeOwned>(&self, column: &'static str) -> Option<T> {
        let text = self.get::<Option<String>>(column)??;
        self.or_none(column, serde_json::from_str(&text).map_err(Cause::from))
    }

    pub(super) fn parsed<T: FromStr>(&self, column: &'static str) -> Option<T>
    where
        T::Err: Into<Cause>,
    {
        let text = self.get::<Option<String>>(column)??;
        self.or_none(column, text.parse().map_err(T::Err::into))
    }
}
