//! The runner on a testbed that answers by rule: no storage, no time.

use super::*;
use crate::fixtures;
use crate::plan::Overrides;
use crate::store::StoredSample;
use crate::study::Study;
use halfpower_model::sample::{Failure, Latency, Sample, Totals};
use halfpower_model::{BytesPerSecond, Environment, Workload};

/// The result of a measurement.
#[derive(Clone, Copy)]
enum Answer {
    /// A sample with this throughput.
    Rate(f64),
    /// A sample that a failed request ended.
    Fails,
    /// Nothing at all could be measured.
    Refuses,
    /// Somebody says stop in the middle of it.
    Stops,
}

/// A testbed whose answers depend on the workload and on how often it was measured before.
struct Scripted<F> {
    environment: Environment,
    rule: F,
    measured: Vec<Workload>,
}

impl<F: Fn(&Workload, usize) -> Answer> Scripted<F> {
    fn new(rule: F) -> Self {
        Scripted { environment: environment(), rule, measured: Vec::new() }
    }
}

impl<F: Fn(&Workload, usize) -> Answer> Testbed for Scripted<F> {
    fn describe(&self) -> &Environment {
        &self.environment
    }

    fn measure(&mut self, workload: &Workload, _: &mut dyn Observer, cancel: &Cancel) -> Result<Sample, MeasureError> {
        let before = self.measured.iter().filter(|other| other.request_size == workload.request_size).count();
        self.measured.push(workload.clone());
        let failure = |code: &str| Some(Failure { code: code.to_owned(), message: format!("failed with {code}") });
        match (self.rule)(workload, before) {
            Answer::Rate(rate) => Ok(sample(workload, rate, None)),
            Answer::Fails => Ok(sample(workload, 1e6, failure("EIO"))),
            Answer::Refuses => Err(MeasureError::Unsupported("not here".to_owned())),
            Answer::Stops => {
                cancel.cancel();
                Ok(sample(workload, 1e6, failure("interrupted")))
            }
        }
    }
}

fn environment() -> Environment {
    fixtures::host(fixtures::file(Bytes(1 << 30)), Vec::new())
}

/// A sample of ten requests.
fn sample(workload: &Workload, rate: f64, failure: Option<Failure>) -> Sample {
    let total = Totals {
        requests: 10,
        bytes: workload.limits.bytes.unwrap_or(Bytes(10 * workload.request_size.0)).0,
        requests_per_s: rate / workload.request_size.0 as f64,
        bytes_per_s: BytesPerSecond(rate),
        latency_ns: Latency { mean: Some(2e6 * f64::from(workload.depth)), ..Latency::default() },
        ..Totals::default()
    };
    Sample {
        started_at: "2026-01-02T03:04:05Z".parse().unwrap(),
        elapsed_s: 0.1,
        read: workload.operation.reads().then(|| total.clone()),
        write: workload.operation.writes().then(|| total.clone()),
        total,
        failure,
        ..Sample::empty(workload.clone(), environment())
    }
}

/// Five to ten repetitions until 5 %, of reads of 4, 8 and 16 KiB unless `sweep` says otherwise.
fn plan(trial: &str, sweep: &str) -> Plan {
    let text = format!(
        "name = \"scripted\"\n[trial]\nrepetitions = {{ min = 5, max = 10, precision = 0.05 }}\n{trial}\n\
         [[sweep]]\nname = \"s\"\n{sweep}\n"
    );
    Plan::make(&Study::parse("scripted.toml", &text).unwrap(), &Overrides::default(), &environment()).unwrap()
}

const READS: &str = "operation = \"read\"\nrequest_size = [\"4KiB\", \"8KiB\", \"16KiB\"]\nduration = \"10ms\"";

fn begin(store: &mut Store, plan: &Plan) -> RunId {
    store.begin_run(&fixtures::study_run(plan, &environment())).unwrap()
}

/// Remembers which cells were given up and why.
#[derive(Default)]
struct Listener {
    given_up: Vec<(String, String)>,
}

impl Audience for Listener {
    fn not_kept(&mut self, _: &Sample) {}

    fn moved(&mut self, _: &Course<'_>) {}

    fn measured(&mut self, _: &str, _: &Sample) {}

    fn gave_up(&mut self, name: &str, reason: &str) {
        self.given_up.push((name.to_owned(), reason.to_owned()));
    }
}

/// A run as the store has it in the end.
struct Finished {
    end: RunStatus,
    stored: Vec<StoredSample>,
    measured: Vec<Workload>,
    given_up: Vec<(String, String)>,
}

impl Finished {
    /// Samples of each cell.
    fn counts(&self, plan: &Plan) -> Vec<usize> {
        (0..plan.cells.len()).map(|cell| self.stored.iter().filter(|stored| stored.cell == cell).count()).collect()
    }

    /// The measured cells in order, with their blocks and seeds.
    fn course(&self) -> Vec<(usize, u32, u64)> {
        self.stored.iter().map(|stored| (stored.cell, stored.block, stored.sample.workload.seed)).collect()
    }
}

fn go_on(plan: &Plan, store: &mut Store, run: RunId, rule: impl Fn(&Workload, usize) -> Answer) -> Finished {
    let mut testbed = Scripted::new(rule);
    let finished = go_on_with(plan, store, run, &mut testbed);
    Finished { measured: testbed.measured, ..finished }
}

fn go_on_with(plan: &Plan, store: &mut Store, run: RunId, testbed: &mut dyn Testbed) -> Finished {
    let (mut listener, cancel) = (Listener::default(), Cancel::default());
    let runner = Runner::new(plan, run, store, testbed, &cancel).unwrap();
    let end = runner.carry_out(&mut listener).unwrap();
    Finished { end, stored: store.samples(run).unwrap(), measured: Vec::new(), given_up: listener.given_up }
}

fn carry_out(plan: &Plan, rule: impl Fn(&Workload, usize) -> Answer) -> Finished {
    let mut store = Store::in_memory().unwrap();
    let run = begin(&mut store, plan);
    go_on(plan, &mut store, run, rule)
}

fn kib(workload: &Workload) -> u64 {
    workload.request_size.0 / 1024
}

/// 100 MB/s, give or take a third from one repetition to the next.
fn varying(repetition: usize) -> Answer {
    Answer::Rate(if repetition.is_multiple_of(2) { 70e6 } else { 130e6 })
}

#[test]
fn a_precise_cell_stops_and_an_imprecise_one_goes_on_to_the_most() {
    let plan = plan("", READS);
    let finished = carry_out(&plan, |workload, before| match kib(workload) {
        8 => varying(before),
        // One of seven at 85: 2.447 * 5.67 / √7 = 5.2 of 97.9, 5.4 %. One of eight: 2.365 * 5.30 / √8 = 4.4 of 98.1, 4.5 %.
        16 => Answer::Rate(if before == 1 { 85e6 } else { 100e6 }),
        _ => Answer::Rate(100e6),
    });
    assert_eq!((finished.end, finished.counts(&plan)), (RunStatus::Complete, vec![5, 10, 8]));
}

/// Reads of 4 KiB to 1 MiB of a device with a fixed latency of 64 KiB's worth.
fn as_needed() -> (Plan, impl Fn(&Workload, usize) -> Answer) {
    let sizes = "request_size = { from = \"4KiB\", to = \"1MiB\", factor = 2 }";
    let sweep = format!("operation = \"read\"\nbuffering = \"direct\"\n{sizes}\nduration = \"10ms\"");
    let rule = |workload: &Workload, _| {
        let kib = kib(workload) as f64;
        Answer::Rate(1e9 * kib / (kib + 64.0))
    };
    (plan("as_needed = true", &sweep), rule)
}

#[test]
fn only_what_the_verdict_depends_on_is_measured_and_repeated() {
    let (plan, rule) = as_needed();
    let finished = carry_out(&plan, rule);
    // Half lies at 57 KiB, between 32 and 64; 512 KiB has more than nine tenths of the most. 256 KiB has 85 %, which may be
    // more as long as the scatter is unknown.
    assert_eq!((finished.end, finished.counts(&plan)), (RunStatus::Complete, vec![1, 0, 1, 5, 5, 0, 3, 5, 5]));
}

#[test]
fn a_stopped_one_goes_on_as_if_nothing_had_happened_and_is_repeated_in_its_order() {
    let (plan, rule) = as_needed();
    let whole = carry_out(&plan, &rule);
    for stop in [1, 4, 9] {
        let mut store = Store::in_memory().unwrap();
        let run = begin(&mut store, &plan);
        let count = std::cell::Cell::new(0);
        let stops = |workload: &Workload, before| {
            count.set(count.get() + 1);
            if count.get() == stop { Answer::Stops } else { rule(workload, before) }
        };
        assert_eq!(go_on(&plan, &mut store, run, stops).end, RunStatus::Interrupted);
        let finished = go_on(&plan, &mut store, run, &rule);
        assert_eq!((finished.end, finished.course().len()), (RunStatus::Complete, whole.course().len()));
        assert_eq!(finished.counts(&plan), whole.counts(&plan));
    }
    let repeats = whole.course().into_iter().map(|(cell, block, _)| (cell, block)).collect();
    let again = carry_out(&Plan { repeats, ..plan.clone() }, |_, _| Answer::Rate(1e6));
    assert_eq!(again.course(), whole.course(), "whatever the rates are now");
}

#[test]
fn nothing_beyond_the_least_is_begun_after_the_time_limit() {
    let plan = Plan { time_limit: Some(Nanoseconds(1_000_000)), ..plan("", READS) };
    let finished = carry_out(&plan, |_, before| {
        std::thread::sleep(std::time::Duration::from_millis(1));
        varying(before)
    });
    assert_eq!((finished.end, finished.counts(&plan)), (RunStatus::Complete, vec![5; 3]));
}

#[test]
fn nothing_beyond_the_least_is_written_over_the_budget() {
    let sweep = "operation = [\"read\", \"write\"]\nrequest_size = \"64KiB\"\nbytes = \"1MiB\"";
    // The least repetitions write 5 MiB, and 2 more are allowed.
    let plan = plan("write_budget = \"7MiB\"", sweep);
    let finished = carry_out(&plan, |_, before| varying(before / 2));
    let writes = |workload: &Workload| workload.operation.writes();
    let written = finished.measured.iter().filter(|workload| writes(workload)).count();
    assert_eq!((finished.measured.len() - written, written), (10, 7));
}

#[test]
fn a_cell_that_fails_is_given_up_and_the_others_go_on() {
    let plan = plan("", READS);
    let finished = carry_out(&plan, |workload, before| match (kib(workload), before) {
        (4, 1) => Answer::Fails,
        (16, _) => Answer::Refuses,
        _ => Answer::Rate(100e6),
    });
    assert_eq!(finished.end, RunStatus::Complete);
    // The failed sample is kept: it says why. So is a refusal.
    assert_eq!(finished.counts(&plan), vec![2, 5, 1]);
    let mut given_up = finished.given_up;
    given_up.sort();
    let names = plan.names(&[]);
    let expected = [(&names[2], "not here"), (&names[0], "failed with EIO")];
    assert_eq!(given_up, expected.map(|(name, reason)| (name.clone(), reason.to_owned())));
}

#[test]
fn a_failed_cell_stays_given_up_when_the_run_goes_on() {
    let plan = plan("", READS);
    let mut store = Store::in_memory().unwrap();
    let run = begin(&mut store, &plan);
    let first = go_on(&plan, &mut store, run, |workload, before| match (kib(workload), before) {
        (4, _) => Answer::Fails,
        (8, 2) => Answer::Stops,
        _ => Answer::Rate(100e6),
    });
    assert_eq!(first.end, RunStatus::Interrupted);
    let second = go_on(&plan, &mut store, run, |_, _| Answer::Rate(100e6));
    assert_eq!((second.end, second.counts(&plan)), (RunStatus::Complete, vec![1, 5, 5]));
    assert!(second.measured.iter().all(|workload| kib(workload) != 4));
}

#[test]
fn a_run_of_which_everything_failed_has_failed_and_one_that_is_stopped_measures_nothing() {
    let plan = plan("", READS);
    for answer in [Answer::Fails, Answer::Refuses] {
        let finished = carry_out(&plan, |_, _| answer);
        assert_eq!((finished.end, finished.measured.len()), (RunStatus::Failed, 3), "no cell is tried twice");
    }
    let mut store = Store::in_memory().unwrap();
    let run = begin(&mut store, &plan);
    let mut testbed = Scripted::new(|_, _| Answer::Rate(100e6));
    let cancel = Cancel::default();
    cancel.cancel();
    let runner = Runner::new(&plan, run, &mut store, &mut testbed, &cancel).unwrap();
    assert_eq!(runner.carry_out(&mut Listener::default()).unwrap(), RunStatus::Interrupted);
    assert!(testbed.measured.is_empty());
}

#[test]
fn a_resumed_run_is_the_run_that_was_not_interrupted() {
    let plan = plan("", READS);
    // By seed: the same repetition gives the same figure whenever it is measured.
    let rate = |workload: &Workload| Answer::Rate(80e6 + (workload.seed % 40_000_000) as f64);
    let whole = carry_out(&plan, |workload, _| rate(workload));
    assert!(whole.stored.len() > 15, "some cells need more than the least");
    for stop_at in 0..whole.stored.len() {
        let mut store = Store::in_memory().unwrap();
        let run = begin(&mut store, &plan);
        let place = std::cell::Cell::new(0);
        let first = go_on(&plan, &mut store, run, |workload, _| {
            place.set(place.get() + 1);
            if place.get() > stop_at { Answer::Stops } else { rate(workload) }
        });
        assert_eq!(first.end, RunStatus::Interrupted);
        assert_eq!(first.course(), whole.course()[..stop_at], "the repetition that was stopped is not kept");
        assert_eq!(first.measured.len(), stop_at + 1, "nothing is begun after the stop");
        store.finish_run(run, RunStatus::Interrupted).unwrap();
        store.resume_run(run).unwrap();
        let second = go_on(&plan, &mut store, run, |workload, _| rate(workload));
        assert_eq!((second.end, second.course()), (RunStatus::Complete, whole.course()), "stopped at {stop_at}");
    }
}

/// A testbed whose answers are a matter of the workload alone, so that there can be several of it.
struct Manifold<F> {
    environment: Environment,
    rule: F,
    /// Whether another one may be had.
    several: bool,
}

impl<F: Fn(&Workload) -> Answer + Clone + Send + 'static> Testbed for Manifold<F> {
    fn describe(&self) -> &Environment {
        &self.environment
    }

    fn measure(&mut self, workload: &Workload, _: &mut dyn Observer, cancel: &Cancel) -> Result<Sample, MeasureError> {
        let answer = (self.rule)(workload);
        Scripted::new(|_, _| answer).measure(workload, &mut (), cancel)
    }

    fn another(&self) -> Option<Box<dyn Testbed + Send>> {
        let (environment, rule) = (self.environment.clone(), self.rule.clone());
        self.several.then(|| Box::new(Manifold { environment, rule, several: true }) as Box<dyn Testbed + Send>)
    }
}

fn carry_out_manifold(
    plan: &Plan,
    several: bool,
    rule: impl Fn(&Workload) -> Answer + Clone + Send + 'static,
) -> Finished {
    let mut store = Store::in_memory().unwrap();
    let run = begin(&mut store, plan);
    go_on_with(plan, &mut store, run, &mut Manifold { environment: environment(), rule, several })
}

#[test]
fn what_is_measured_on_all_cpus_at_once_is_stored_as_if_it_were_not() {
    let plan = plan("", "request_size = { from = \"4KiB\", to = \"256KiB\", factor = 2 }\nduration = \"10ms\"");
    // The first of each block is the last to be done, and some need more than the least.
    let rule = |workload: &Workload| {
        std::thread::sleep(std::time::Duration::from_micros(workload.seed % 3 * 500));
        match (kib(workload), workload.seed % 5) {
            (16, 0 | 1) => Answer::Fails,
            (32, _) => Answer::Refuses,
            _ => Answer::Rate(80e6 + (workload.seed % 40_000_000) as f64),
        }
    };
    let [one, several] = [false, true].map(|several| carry_out_manifold(&plan, several, rule));
    assert_eq!(one.end, RunStatus::Complete);
    assert!(one.stored.len() > 25 && one.stored.iter().any(|stored| stored.sample.failure.is_some()));
    assert_eq!((one.end, one.stored, one.given_up), (several.end, several.stored, several.given_up));
}

#[test]
fn a_stop_while_several_are_measured_at_once_keeps_what_came_before_it() {
    let plan = plan("", READS);
    let whole = carry_out(&plan, |_, _| Answer::Rate(100e6));
    let stopped = plan.workload(plan.order_of_block(2)[1], 2).seed;
    let rule = move |workload: &Workload| if workload.seed == stopped { Answer::Stops } else { Answer::Rate(100e6) };
    let found = carry_out_manifold(&plan, true, rule);
    assert_eq!(found.end, RunStatus::Interrupted);
    // The one before it is kept or was not yet stored; none that comes after it is.
    assert!((6..=7).contains(&found.stored.len()), "{}", found.stored.len());
    assert_eq!(found.course(), whole.course()[..found.stored.len()]);
}

#[test]
fn what_waits_long_in_the_long_repetition_gets_longer_trials() {
    let sweep = "operation = \"read\"\nrequest_size = \"4KiB\"\npattern = \"random\"\ndepth = [1, 8, 32]\n\
                 buffering = \"direct\"\nduration = \"10ms\"";
    let plan = plan("probe = { reads = \"6s\", writes = \"1s\" }", sweep);
    let finished = carry_out(&plan, |_, _| Answer::Rate(4e6));
    let lasts = |depth: u32, is_first: bool| {
        let mut of = finished.measured.iter().filter(|workload| workload.depth == depth);
        if is_first { of.next() } else { of.next_back() }.and_then(|workload| workload.limits.duration).unwrap()
    };
    let milliseconds = |number: u64| Nanoseconds(number * 1_000_000);
    // Each request waits for 64 ms, 2 ms for each that is outstanding: ten times that.
    assert_eq!((lasts(32, true), lasts(32, false)), (milliseconds(6000), milliseconds(640)));
    assert_eq!((lasts(8, true), lasts(8, false)), (milliseconds(160), milliseconds(160)));
    assert_eq!(lasts(1, true), milliseconds(20));
}
