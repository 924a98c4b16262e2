//! The progress of a run on the whole terminal (`--tui`), as lines that are written over those before.

use crate::console::{cover_screen, cut, size_of, uncover_screen};
use crate::report::wrap::wrap;
use crate::sanitize::sanitize;
use crate::text::{bar, columns};
use std::io::Write;

/// Lines of the chart of the present trial.
const CHART: usize = 6;
/// Columns of the name of a fact.
const NAME: usize = 6;
/// Columns of the chart and the bar at most.
const WIDEST: usize = 120;

/// The figures on the terminal.
#[derive(Debug)]
pub(super) struct View<'a> {
    /// Share of the run that is over.
    pub(super) share: f64,
    /// `0:31 left`.
    pub(super) left: String,
    /// The present workload with its rate.
    pub(super) now: &'a str,
    /// The rates of the present trial.
    pub(super) rates: &'a [f64],
    /// The best so far and the open workloads, with their names.
    pub(super) facts: [(&'a str, &'a str); 2],
    /// The trials, the last one last.
    pub(super) trials: &'a [String],
}

/// The whole terminal, until it is dropped.
pub(super) struct FullScreen;

impl FullScreen {
    pub(super) fn cover() -> FullScreen {
        cover_screen();
        FullScreen
    }

    /// Shows it over the last view.
    pub(super) fn show(&self, view: &View<'_>) {
        let (width, height) = size_of(std::io::stderr()).filter(|(_, rows)| *rows > 0).unwrap_or((80, 24));
        // The end of each line and of the terminal is cleared, in place of all of it: nothing flickers.
        let lines = lines(view, width, height).join("\x1b[K\r\n");
        // A terminal that has gone ends the program by its signal.
        let _ = write!(std::io::stderr(), "\x1b[H{lines}\x1b[K\x1b[J");
    }
}

impl Drop for FullScreen {
    fn drop(&mut self) {
        uncover_screen();
    }
}

/// The lines, none longer than the width, at most as many as the height.
fn lines(view: &View<'_>, width: usize, height: usize) -> Vec<String> {
    let wide = width.min(WIDEST);
    let left = wide.saturating_sub(view.left.chars().count() + 1);
    let mut lines = vec![format!("{:<left$} {}", bar(view.share, left), view.left), String::new(), view.now.to_owned()];
    lines.extend(columns(&view.rates[view.rates.len().saturating_sub(wide)..], CHART));
    lines.push(String::new());
    for (name, text) in view.facts {
        let mut folded = String::new();
        wrap(&mut folded, &format!("{name:<5} {text}"), NAME, width);
        lines.extend(folded.lines().map(str::to_owned));
    }
    lines.push(String::new());
    let room = height.saturating_sub(lines.len());
    lines.extend(view.trials[view.trials.len().saturating_sub(room)..].iter().cloned());
    lines.truncate(height);
    lines.iter().map(|line| cut(&sanitize(line), width)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_fills_a_terminal_of_80_by_24_and_no_name_steers_it() {
        let trial = |number| format!("{number:>4}  random read, 4 KiB, QD{number}: 27 298 IOPS, p99 831 µs");
        let trials: Vec<String> = (1..40).map(trial).collect();
        let view = View {
            share: 0.25,
            left: "0:31 left".to_owned(),
            now: "random read, 4 KiB, QD8 on \x1b[2J\u{202e}: 27 298 IOPS",
            rates: &[1e6, 2e6, 3e6, 4e6, 8e6, 7e6, 8e6],
            facts: [("best", "read 2.04 GB/s, 27 298 IOPS"), ("open", "2 random reads, 1 sequential write")],
            trials: &trials,
        };
        let lines = lines(&view, 80, 24);
        assert!(lines.len() == 24 && lines.iter().all(|line| line.chars().count() <= 80), "{lines:?}");
        insta::assert_snapshot!(lines.join("\n"));
        assert_eq!(super::lines(&view, 20, 3).len(), 3);
    }
}
