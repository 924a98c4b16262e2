//! The progress of a run on standard error: on a terminal in place, with the current rate, the last trial, the best so far
//! and what is still uncertain; with `--plain` a line per trial.

use super::full_screen::{FullScreen, View};
use crate::console::Console;
use crate::runner::{Audience, Course};
use crate::text::{grouped, joined, sparkline};
use halfpower_model::{Bytes, Nanoseconds, Operation, Progress, Quantity, Sample};

/// The length of a sparkline.
const RATES_SHOWN: usize = 16;
/// Rates of a trial that are kept, for a wide terminal.
const RATES_KEPT: usize = 400;

/// The largest requests whose rate is in IOPS.
const SMALL: Bytes = Bytes(16 << 10);

/// What a run has shown so far.
pub(crate) struct Live {
    console: Console,
    /// The workload of `rates`.
    name: String,
    /// Rates of its trial, the last ones.
    rates: Vec<f64>,
    /// The last trial in words.
    last: String,
    /// The highest rate of each kind of direct requests.
    best: Vec<(Operation, Quantity, f64)>,
    trials: usize,
    whole: Option<Whole>,
}

/// The run on the whole terminal.
struct Whole {
    screen: FullScreen,
    trials: Vec<String>,
    /// Warnings, which are printed when the terminal is uncovered.
    later: Vec<String>,
}

impl Whole {
    fn cover() -> Whole {
        Whole { screen: FullScreen::cover(), trials: Vec::new(), later: Vec::new() }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.uncover();
    }
}

impl Live {
    pub(crate) fn on(console: Console) -> Live {
        console.start_bar(1);
        let whole = console.is_whole().then(Whole::cover);
        Live {
            console,
            name: String::new(),
            rates: Vec::new(),
            last: String::new(),
            best: Vec::new(),
            trials: 0,
            whole,
        }
    }

    /// Shows what the terminal showed before, and the warnings.
    fn uncover(&mut self) {
        if let Some(Whole { screen, later, .. }) = self.whole.take() {
            drop(screen);
            later.iter().for_each(|warning| self.console.warning(warning));
        }
    }

    /// Keeps the rate if it is the highest of its kind.
    fn judge(&mut self, sample: &Sample) {
        let workload = &sample.workload;
        if !workload.buffering.is_direct() {
            return;
        }
        let (quantity, rate) = sample.rate();
        let is_of = |best: &&mut (Operation, Quantity, f64)| (best.0, best.1) == (workload.operation, quantity);
        match self.best.iter_mut().find(is_of) {
            Some((.., most)) => *most = most.max(rate),
            None => self.best.push((workload.operation, quantity, rate)),
        }
    }

    fn best(&self) -> String {
        let rates =
            |of: Vec<&(Operation, Quantity, f64)>| joined(of.iter().map(|(_, what, rate)| Some(what.format(*rate))));
        let told = |(operation, of)| format!("{operation} {}", rates(of));
        grouped(&self.best, |best| best.0).into_iter().map(told).collect::<Vec<_>>().join(" · ")
    }
}

impl Audience for Live {
    fn moved(&mut self, course: &Course<'_>) {
        if self.name != course.name {
            course.name.clone_into(&mut self.name);
            self.rates.clear();
        }
        let mut now = self.name.clone();
        if let Some(progress) = &course.progress {
            self.rates.push(progress.rate.0);
            let beyond = self.rates.len().saturating_sub(RATES_KEPT);
            self.rates.drain(..beyond);
            now += &format!(": {}", in_words(progress));
        }
        let left = Nanoseconds(course.left.0.next_multiple_of(1_000_000_000));
        let whole = course.elapsed.0 + course.left.0;
        let best = self.best();
        if let Some(Whole { screen, trials, .. }) = &mut self.whole {
            let (share, left) = (course.elapsed.0 as f64 / whole.max(1) as f64, format!("{} left", clock(left)));
            let facts = [("best", best.as_str()), ("open", course.open)];
            return screen.show(&View { share, left, now: &now, rates: &self.rates, facts, trials });
        }
        if !self.rates.is_empty() {
            now += &format!(" {}", sparkline(&self.rates[self.rates.len().saturating_sub(RATES_SHOWN)..]));
        }
        let open = course.open.to_owned();
        let lines = [("now", now), ("last", self.last.clone()), ("best", best), ("open", open)];
        let lines = lines.map(|(name, text)| if text.is_empty() { text } else { format!("{name:<5} {text}") });
        self.console.move_bar_of_run(course.elapsed.0, whole, &format!("{} left", clock(left)), &lines);
    }

    fn measured(&mut self, name: &str, sample: &Sample) {
        self.trials += 1;
        self.judge(sample);
        let (quantity, rate) = sample.rate();
        let p99 = sample.total.latency_ns.p99.map(|p99| format!("p99 {}", Nanoseconds(p99)));
        self.last = format!("{name}: {}", joined([Some(quantity.format(rate)), p99]));
        let line = format!("{:>4}  {}", self.trials, self.last);
        self.console.plain_line(&line);
        self.whole.iter_mut().for_each(|whole| whole.trials.push(line.clone()));
    }

    fn not_kept(&mut self, sample: &Sample) {
        self.console.end_bar();
        self.uncover();
        self.console.warning("the last sample could not be kept; its record is printed, for `halfpower import`");
        // Fails if standard error is closed as well.
        let _ = self.console.print_json_line(sample);
    }

    fn gave_up(&mut self, name: &str, reason: &str) {
        let warning = format!("{name} was given up: {reason}");
        if let Some(whole) = &mut self.whole {
            return whole.later.push(warning);
        }
        self.console.warning(&warning);
    }
}

/// `2:05` for two minutes and five seconds.
fn clock(time: Nanoseconds) -> String {
    let seconds = time.0 / 1_000_000_000;
    format!("{}:{:02}", seconds / 60, seconds % 60)
}

/// The current rate: IOPS of small requests, bytes per second of others.
fn in_words(progress: &Progress) -> String {
    let size = progress.bytes.0 as f64 / progress.requests.max(1) as f64;
    let is_small = size > 0.0 && size <= SMALL.0 as f64;
    if is_small { Quantity::RequestsPerSecond.format(progress.rate.0 / size) } else { progress.rate.to_string() }
}
