//! Reading the columns of a run's row, with the run and the column named where one is damaged.

use super::error::StoreError;
use super::run::RunId;
use rusqlite::Row;
use serde::de::DeserializeOwned;
use std::str::FromStr;

/// The columns of a run; whatever cannot be read says which run and column it was.
pub(super) struct Columns<'r, 's> {
    pub run: RunId,
    pub row: &'r Row<'s>,
}

impl Columns<'_, '_> {
    fn damaged(&self, column: &str, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> StoreError {
        StoreError::Damaged { what: format!("`{column}` of run {}", self.run), run: self.run, source: source.into() }
    }

    pub(super) fn get<T: rusqlite::types::FromSql>(&self, column: &str) -> Result<T, StoreError> {
        self.row.get(column).map_err(|error| self.damaged(column, error))
    }

    pub(super) fn json<T: DeserializeOwned>(&self, column: &str, text: &str) -> Result<T, StoreError> {
        serde_json::from_str(text).map_err(|error| self.damaged(column, error))
    }

    pub(super) fn parsed<T: FromStr>(&self, column: &str) -> Result<T, StoreError>
    where
        T::Err: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        self.get::<String>(column)?.parse().map_err(|error: T::Err| self.damaged(column, error))
    }

    pub(super) fn parsed_if_there<T: FromStr>(&self, column: &str) -> Result<Option<T>, StoreError>
    where
        T::Err: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let text = self.get::<Option<String>>(column)?;
        text.map(|text| text.parse().map_err(|error: T::Err| self.damaged(column, error))).transpose()
    }
}
