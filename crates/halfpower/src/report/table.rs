//! A table and the text of its cells.

use halfpower_model::Estimate;
use minijinja::value::{Serde, Value};
use serde::Serialize;

/// A table; the first column names the row.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Table {
    /// Names of the columns; may be empty.
    pub(crate) head: Vec<String>,
    /// Rows, all equally wide.
    pub(crate) rows: Vec<Vec<String>>,
}

impl Table {
    /// A table whose rows are as wide as its head, which has the names of the columns, separated by commas.
    pub(super) fn of(head: &str, rows: impl Iterator<Item = Vec<String>>) -> Table {
        Table { head: head.split(',').map(str::to_owned).collect(), rows: rows.collect() }
    }

    /// A table whose rows are as wide as its head.
    pub(crate) fn new<const COLUMNS: usize>(
        head: [&str; COLUMNS],
        rows: impl IntoIterator<Item = [String; COLUMNS]>,
    ) -> Table {
        Table { head: head.map(str::to_owned).to_vec(), rows: rows.into_iter().map(Vec::from).collect() }
    }
}

impl From<Table> for Value {
    fn from(table: Table) -> Value {
        Serde(table).into()
    }
}

/// A figure, or a dash if it is missing.
pub(crate) fn or_dash(figure: Option<impl ToString>) -> String {
    figure.map_or_else(|| "–".to_owned(), |figure| figure.to_string())
}

/// An estimate, or a dash if it was not measured.
pub(super) fn figure(estimate: Option<Estimate>) -> String {
    or_dash(estimate.filter(|estimate| estimate.repetitions > 0))
}
