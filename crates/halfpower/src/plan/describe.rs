//! A plan in words: a paragraph before a run, and a table on request.

use super::model::{Plan, Skipped, TestFileEnd};
use crate::sanitize::sanitize;
use crate::study::{Order, Repetitions};
use crate::text::{counted, once};
use halfpower_model::names::names;
use halfpower_model::{Nanoseconds, Workload};
use std::fmt::Write;

impl Plan {
    /// One paragraph: workloads, target, repetitions, duration, bytes written, omissions.
    pub(crate) fn describe(&self) -> String {
        let mut text = format!(
            "{} of {}: {}, {} in {}, {}.",
            self.study,
            self.target,
            counted(self.cells.len(), "workload"),
            self.repetitions_in_words(),
            match self.order {
                Order::Blocks => "randomised blocks",
                Order::Listed => "the order of the study",
            },
            self.duration_in_words(),
        );
        text.push_str(&match (self.bytes_written_at_most().0, self.test_file_bytes) {
            (0, _) => " It writes nothing.".to_owned(),
            (_, None) if self.is_time_virtual() => " What it writes is simulated.".to_owned(),
            (_, None) => format!(" It writes at most {}.", self.bytes_written_at_most()),
            (_, Some(size)) => {
                let most = self.bytes_written_at_most();
                let several = self.targets.len() > 1 || self.files.is_some_and(|files| files > 1);
                let (what, end) = match (self.test_file_end, several) {
                    (TestFileEnd::Removed, false) => ("a test file of", "it, and removes it afterwards"),
                    (TestFileEnd::Kept, false) => ("the file of", "it, and leaves it there"),
                    (TestFileEnd::Removed, true) => ("test files that take", "them, and removes them afterwards"),
                    (TestFileEnd::Kept, true) => ("files that take", "them, and leaves those that were named"),
                };
                format!(" It makes {what} {size}, writes at most {most} with {end}.")
            }
        });
        if let Some(reason) = &self.lengthened {
            let _ = write!(text, " {reason}.");
        }
        if !self.skipped.is_empty() {
            let left_out = counted(self.skipped.iter().map(|skipped| skipped.cells).sum(), "workload");
            let _ = write!(
                text,
                " Left out: {left_out} ({}).",
                once(self.skipped.iter().map(|skipped| skipped.reason.as_str())).join("; ")
            );
        }
        text
    }

    /// All cells and omissions in columns.
    pub(crate) fn table(&self) -> String {
        let header = ["cell", "sweep", "workload", "cache", "personality", "trial", "bytes at most"];
        let mut rows = vec![header.map(str::to_owned)];
        // Plug-ins are shown with the personality, other keys in the last columns.
        let shown = ["cache", "personality", "plugin", "duration", "requests", "bytes", "warmup"];
        rows.extend(self.cells.iter().zip(self.names(&shown)).map(|(cell, name)| {
            let workload = &cell.workload;
            [
                cell.index.to_string(),
                cell.label.clone(),
                name,
                workload.cache.to_string(),
                workload.named_personality().to_string(),
                trial(workload),
                workload.limits.bytes.map_or_else(|| "-".to_owned(), |bytes| bytes.to_string()),
            ]
        }));
        let mut text = columns(&rows);
        for Skipped { label, reason, cells } in &self.skipped {
            let cells = counted(*cells, "workload");
            let _ = writeln!(text, "left out of {}: {cells}: {}", sanitize(label), sanitize(reason));
        }
        text
    }

    /// The name of each cell among all of them, without the keys in `shown`.
    pub(crate) fn names(&self, shown: &[&str]) -> Vec<String> {
        names(&self.cells.iter().map(|cell| &cell.workload).collect::<Vec<_>>(), shown)
    }

    fn repetitions_in_words(&self) -> String {
        match self.repetitions {
            Repetitions { max, .. } if self.as_needed => {
                format!("as many as the verdict needs, up to {max} repetitions each")
            }
            Repetitions { min, max, .. } if min == max => format!("{} each", counted(min as usize, "repetition")),
            Repetitions { min, max, .. } => format!("{min} to {max} repetitions each"),
        }
    }

    fn duration_in_words(&self) -> String {
        let (time, slower) = match self.is_time_virtual() {
            true => (" of virtual time", ""),
            false => ("", ", longer on a slow disk"),
        };
        match (self.expected_duration(), self.longest_duration()) {
            (Some(expected), Some(longest)) if expected == longest => format!("about {}{time}", spoken(expected)),
            (Some(expected), Some(longest)) => {
                format!("about {}{time}, up to {}{slower}", spoken(expected), spoken(longest))
            }
            _ => "for as long as it takes, since nothing limits the time of a trial".to_owned(),
        }
    }
}

/// The limits of a trial, for a column.
fn trial(workload: &Workload) -> String {
    let parts = [
        (workload.warmup.0 > 0).then(|| format!("{} +", workload.warmup)),
        workload.limits.duration.map(|duration| duration.to_string()),
        workload.limits.requests.map(|requests| counted(requests as usize, "request")),
        workload.reads_a_cold_cache_in_order().then(|| "once over".to_owned()),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// A duration in words: `40 s`, `2 min 25 s`, `3 h 5 min`.
pub(crate) fn spoken(duration: Nanoseconds) -> String {
    let seconds = duration.0.div_ceil(1_000_000_000);
    let (high, high_name, low, low_name) = match seconds {
        0..60 => return format!("{seconds} s"),
        60..3600 => (seconds / 60, "min", seconds % 60, "s"),
        _ => (seconds / 3600, "h", seconds % 3600 / 60, "min"),
    };
    if low == 0 { format!("{high} {high_name}") } else { format!("{high} {high_name} {low} {low_name}") }
}

/// Rows as text in aligned columns.
fn columns(rows: &[[String; 7]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; 7] = std::array::from_fn(width);
    let line = |row: &[String; 7]| {
        let cells: Vec<String> = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        sanitize(cells.join("  ").trim_end()).into_owned() + "\n"
    };
    rows.iter().map(line).collect()
}
