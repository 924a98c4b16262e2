//! A run's samples in other formats. A sample that a format cannot hold is left out with the reason.
//!
//! Text has no character that controls a terminal. JSON has escapes, so nothing is lost; other formats have a
//! replacement character.

mod csv;
mod exported;
mod fio;
mod hdr;
mod openmetrics;
#[cfg(feature = "parquet")]
mod parquet;
mod sqlio;
mod table;
#[cfg(test)]
mod tests;

use crate::sanitize::{sanitize_json, sanitize_lines};
use crate::store::StoredSample;
use clap::ValueEnum;
use std::borrow::Cow;

pub(crate) use exported::Exported;
pub(crate) use fio::{Printed as FioOutput, Reported as FioGroup, files as fio_files, of_jobs as fio_jobs};

/// What can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A trace of SQLIO: comma-separated, 14 columns
    Sqlio,
    /// A table for spreadsheets and statistics: a row a sample, a column a figure
    Csv,
    /// The sample records, a line each: nothing is lost
    Jsonl,
    /// fio's JSON with histograms; into a folder, a file a sample, laid out for fio-plot
    Fio,
    /// A log of HdrHistogram: the latencies of each sample
    Hdr,
    /// OpenMetrics text, as Prometheus and its kin read it
    Openmetrics,
    /// The table as Parquet
    #[cfg(feature = "parquet")]
    Parquet,
}

impl Format {
    fn is_text(self) -> bool {
        #[cfg(feature = "parquet")]
        return self != Format::Parquet;
        #[cfg(not(feature = "parquet"))]
        true
    }

    fn is_json(self) -> bool {
        matches!(self, Format::Jsonl | Format::Fio)
    }
}

/// Writes samples in a form.
///
/// # Errors
/// If a record cannot be written.
pub(crate) fn export(samples: &[StoredSample], format: Format) -> anyhow::Result<Exported> {
    let mut exported = match format {
        Format::Sqlio => sqlio::write(samples),
        Format::Csv => csv::write(samples),
        Format::Jsonl => Exported { content: records(samples)?.into_bytes(), ..Exported::default() },
        Format::Fio => fio::write(samples),
        Format::Hdr => hdr::write(samples),
        Format::Openmetrics => openmetrics::write(samples),
        #[cfg(feature = "parquet")]
        Format::Parquet => Exported { content: parquet::write(samples)?, ..Exported::default() },
    };
    let text = std::str::from_utf8(&exported.content).ok().filter(|_| format.is_text());
    if let Some(text) = text {
        let sanitized = if format.is_json() { sanitize_json(text) } else { sanitize_lines(text) };
        if let Cow::Owned(sanitized) = sanitized {
            exported.content = sanitized.into_bytes();
        }
    }
    Ok(exported)
}

fn records(samples: &[StoredSample]) -> serde_json::Result<String> {
    samples.iter().map(|stored| Ok(serde_json::to_string(&stored.sample)? + "\n")).collect()
}
