//! A run's samples in other forms. What a form cannot hold is left out and said, never bent.

mod csv;
mod sqlio;
#[cfg(test)]
mod tests;

use crate::store::StoredSample;
use clap::ValueEnum;

/// What can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A trace of SQLIO: comma-separated, 14 columns
    Sqlio,
    /// A table for spreadsheets and statistics: a row a sample, a column a figure
    Csv,
    /// The sample records, a line each: nothing is lost
    Jsonl,
}

/// What was written, and what could not be.
#[derive(Debug)]
pub(crate) struct Exported {
    pub(crate) text: String,
    /// Samples that the form cannot hold, each with the reason.
    pub(crate) left_out: Vec<String>,
}

/// Writes samples in a form.
///
/// # Errors
/// When a record cannot be written as JSON.
pub(crate) fn export(samples: &[StoredSample], format: Format) -> anyhow::Result<Exported> {
    Ok(match format {
        Format::Sqlio => sqlio::write(samples),
        Format::Csv => Exported { text: csv::write(samples), left_out: Vec::new() },
        Format::Jsonl => {
            let lines: Result<Vec<String>, _> =
                samples.iter().map(|stored| serde_json::to_string(&stored.sample)).collect();
            Exported { text: lines?.into_iter().map(|line| line + "\n").collect(), left_out: Vec::new() }
        }
    })
}
