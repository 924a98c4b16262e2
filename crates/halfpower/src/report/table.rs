//! The tables of the report: figures with their units, one place for each.

use super::chart::{Chart, Value};
use crate::paper_figures::PaperFigure;
use crate::study::published;
use halfpower_analysis::models::{Concurrency, Law, Models};
use halfpower_analysis::{Attribution, CellSummary, CostBound, CostFit, CostPoint, Observed, busiest_first};
use halfpower_model::environment::ClockFacts;
use halfpower_model::key::names;
use halfpower_model::sample::Program;
use halfpower_model::units::significant;
use halfpower_model::{
    Bytes, BytesPerSecond, Durability, Environment, Estimate, Quantity, TargetFacts, TargetKind, Workload,
};
use serde::Serialize;

/// What stands where there is no figure; a note below the table says why.
const NO_FIGURE: &str = "–";

/// A table; the first column names the row.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Table {
    /// Names of the columns; empty where the rows speak for themselves.
    pub(crate) head: Vec<String>,
    /// Rows, all equally wide.
    pub(crate) rows: Vec<Vec<String>>,
}

impl Table {
    /// Of rows as wide as the head.
    pub(crate) fn new<const COLUMNS: usize>(
        head: [&str; COLUMNS],
        rows: impl Iterator<Item = [String; COLUMNS]>,
    ) -> Table {
        Table { head: head.map(str::to_owned).to_vec(), rows: rows.map(Vec::from).collect() }
    }
}

/// What a chart shows, as `text` writes it: a row for each `x`, a column for each line.
pub(crate) fn of_chart(chart: &Chart, text: impl Fn(Value) -> String) -> Table {
    let mut places: Vec<f64> = chart.lines.iter().flat_map(|line| &line.points).map(|point| point.x).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    let head = std::iter::once(chart.x.column().to_owned()).chain(chart.lines.iter().map(|line| line.label.clone()));
    let row = |x: &f64| {
        let figures = chart.lines.iter().map(|line| {
            let point = line.points.iter().find(|point| point.x == *x);
            point.map_or_else(|| NO_FIGURE.to_owned(), |point| text(point.y))
        });
        std::iter::once(chart.x.text(*x)).chain(figures).collect()
    };
    Table { head: head.collect(), rows: places.iter().map(row).collect() }
}

/// Every cell with its figures.
pub(super) fn of_cells<'a>(cells: impl Iterator<Item = (&'a CellSummary, &'a str)>) -> Table {
    let head = ["workload", "n", "throughput", "IOPS", "CPU", "p50", "p99", "p99.9", "max"];
    Table::new(
        head,
        cells.map(|(cell, name)| {
            let used = cell.bytes_per_s.repetitions;
            let latency = cell.latency;
            [
                name.to_owned(),
                if cell.failed > 0 { format!("{used} ({} failed)", cell.failed) } else { used.to_string() },
                figure(Some(cell.bytes_per_s)) + &within_run(cell, Quantity::BytesPerSecond),
                requests_per_s(cell) + &within_run(cell, Quantity::RequestsPerSecond),
                named_above(figure(cell.cpu_us_per_request)),
                latency_text(latency.p50),
                latency_text(latency.p99),
                latency_text(latency.p99_9),
                latency_text(latency.max),
            ]
        }),
    )
}

/// How exactly a lone repetition tells a figure of its own run: ` (± 2.1 % within the run)`; empty where that is not known.
pub(super) fn within_run(cell: &CellSummary, quantity: Quantity) -> String {
    let within = cell.within_run.filter(|within| within.mean.quantity == quantity);
    within.map(|within| format!(" ({} within the run)", within.half_width())).unwrap_or_default()
}

/// The lives of requests in the block layer, of the cells that followed theirs; none where no cell did.
pub(super) fn of_block_layer<'a>(cells: impl Iterator<Item = (&'a CellSummary, &'a str)>) -> Option<Table> {
    let head = [
        "workload",
        "followed",
        "queued",
        "at the device",
        "split",
        "merged",
        "requeued",
        "amplification",
        "outstanding",
    ];
    let rows = cells.filter_map(|(cell, name)| {
        let block = cell.block.as_ref()?;
        let amplification = match (block.read_amplification, block.write_amplification) {
            (Some(read), Some(write)) => format!("{read} of reads, {write} of writes"),
            (read, write) => figure(read.or(write)),
        };
        let followed = block.followed.to_string();
        let shares = [block.queued, block.at_device, block.split, block.merged, block.requeued].map(figure);
        let [queued, at_device, split, merged, requeued] = shares;
        Some([name.to_owned(), followed, queued, at_device, split, merged, requeued, amplification, figure(block.busy)])
    });
    let table = Table::new(head, rows);
    (!table.rows.is_empty()).then_some(table)
}

/// How busy the parts of a simulated machine were with work of their own, cell by cell; none where no cell tells.
pub(super) fn of_parts<'a>(cells: impl Iterator<Item = (&'a CellSummary, &'a str)>) -> Option<Table> {
    let rows = cells.filter_map(|(cell, name)| {
        let parts = cell.parts.iter().map(|part| (part.name.as_str(), part.kind, part.busy.value));
        let mut told = busiest_first(parts).into_iter();
        let pace = cell.pace.as_ref().map_or_else(|| NO_FIGURE.to_owned(), Attribution::brief);
        Some([name.to_owned(), pace, told.next()?, told.collect::<Vec<_>>().join(", ")])
    });
    let table = Table::new(["workload", "bottleneck", "busiest", "the others"], rows);
    (!table.rows.is_empty()).then_some(table)
}

/// What a paper prints of a figure's workloads, beside what was measured; none where it prints nothing.
pub(super) fn of_paper(figure: &PaperFigure, cells: &[CellSummary]) -> Option<Table> {
    let rows = figure.printed.iter().filter_map(|printed| {
        let of_cell = |cell: &u32| cells.iter().find(|summary| summary.cell == *cell).map(|summary| &summary.workload);
        let workloads: Vec<&Workload> = printed.cells.iter().map(of_cell).collect::<Option<_>>()?;
        let mut volumes: Vec<&str> = Vec::new();
        for cell in figure.cells.iter().filter(|cell| printed.cells.contains(&cell.cell)) {
            if !volumes.contains(&cell.volume.as_str()) {
                volumes.push(&cell.volume);
            }
        }
        let (own, here) = (&printed.figure, printed.here?);
        // What is left of a difference of equals by rounding is nothing.
        let here = if here.abs() < own.published.abs() * 1e-6 { 0.0 } else { here };
        let what = own.measure.words().into_iter().chain([requests(&workloads)]).collect::<Vec<_>>().join(", ");
        let unit = own.measure.unit();
        Some([
            volumes.join(", "),
            what,
            format!("{} {unit}", own.published),
            format!("{} {unit}", significant(here)),
            format!("{} {}", published::off(own.tolerance.error(here, own.published)), own.tolerance.unit()),
            own.place.clone(),
        ])
    });
    let table = Table::new(["volume", "requests", "the paper", "here", "off by", "printed in"], rows);
    (!table.rows.is_empty()).then_some(table)
}

/// The requests of one workload, or of several, in few words: `sequential read, 2 KiB to 64 KiB, QD1, direct`.
fn requests(workloads: &[&Workload]) -> String {
    let distinct = |of: &dyn Fn(&Workload) -> String| {
        let mut words: Vec<String> = Vec::new();
        for word in workloads.iter().map(|workload| of(workload)) {
            if !words.contains(&word) {
                words.push(word);
            }
        }
        match words.as_slice() {
            [first, _, .., last] => format!("{first} to {last}"),
            few => few.join(" and "),
        }
    };
    let mut words = vec![
        distinct(&|workload| workload.work()),
        distinct(&|workload| workload.request_size.to_string()),
        distinct(&|workload| format!("QD{}", workload.depth)),
        distinct(&|workload| workload.buffering.to_string()),
    ];
    if workloads.iter().any(|workload| workload.offset.0 > 0) {
        words.push(format!("from {}", distinct(&|workload| workload.offset.to_string())));
    }
    if workloads.iter().any(|workload| workload.durability != Durability::None) {
        words.push("flushed".to_owned());
    }
    if workloads.iter().any(|workload| workload.rate.is_some()) {
        words.push("read ahead".to_owned());
    }
    words.join(", ")
}

/// Fixed and marginal CPU cost of every series.
pub(super) fn of_costs(costs: &[CostFit]) -> Table {
    let head = [
        "series",
        "bound",
        "fixed",
        "marginal",
        "variance explained",
        "largest residual",
        "saturates one CPU",
        "saturates all CPUs",
    ];
    Table::new(
        head,
        costs.iter().map(|cost| {
            let bound = match cost.bound {
                CostBound::Lower => "lower",
                CostBound::Upper => "upper",
            };
            let share = |point: &CostPoint| point.residual_us.abs() / point.us_per_request;
            let residual = cost.points.iter().map(share).fold(0.0, f64::max);
            let percent = |share: f64| format!("{} %", significant(share * 100.0));
            let at = |rate: fn(&CostPoint) -> Option<BytesPerSecond>| {
                let words = |point: &CostPoint| Some(format!("{} ({})", rate(point)?, point.request_size));
                cost.points.last().and_then(words).unwrap_or_else(|| NO_FIGURE.to_owned())
            };
            [
                cost.subject.clone(),
                bound.to_owned(),
                cost.fixed.to_string(),
                cost.marginal.to_string(),
                percent(cost.r_squared),
                percent(residual),
                at(|point| Some(point.one_processor)),
                at(|point| point.all_processors),
            ]
        }),
    )
}

/// Every model and how far it is off; none without models.
pub(super) fn of_models(models: &Models) -> Option<Table> {
    let by_size = models.service_times.iter().flat_map(|model| {
        model.pieces.iter().map(|piece| {
            let what = format!("fixed time and rate, {} to {}", piece.from, piece.to);
            let knee = named("half of the rate at", piece.half_size);
            [
                model.subject.clone(),
                what,
                figure(Some(piece.fixed)),
                figure(piece.rate),
                knee,
                off(model.relative_error),
            ]
        })
    });
    let by_load = models.concurrency.iter().map(|model| {
        // A limit that was exceeded is none.
        let holds = |estimate: Option<Estimate>| estimate.filter(|_| model.exceeded_by.is_none());
        let full = if model.law == Law::UniversalScalability { "falls from" } else { "full at" };
        let knee = named(full, holds(model.knee));
        let (alone, limit) = (figure(Some(model.alone)), figure(holds(model.limit)));
        [model.subject.clone(), law(model), alone, limit, knee, off(model.relative_error)]
    });
    let by_targets = models.scaling.iter().map(|model| {
        let what = "targets with a shared limit".to_owned();
        let each = named("each alone", Some(model.each));
        [model.subject.clone(), what, NO_FIGURE.to_owned(), figure(model.limit), each, off(model.relative_error)]
    });
    let head = ["series", "model", "at QD1", "limit", "knee", "mean error"];
    let table = Table::new(head, by_size.chain(by_load).chain(by_targets));
    (!table.rows.is_empty()).then_some(table)
}

fn law(model: &Concurrency) -> String {
    match (model.law, model.contention, model.coherency) {
        (Law::UniversalScalability, Some(contention), Some(coherency)) => {
            format!("universal scalability law, α {}, β {}", significant(contention), significant(coherency))
        }
        (Law::Balanced, ..) => "closed network of equal stations".to_owned(),
        _ => "queue with a bound".to_owned(),
    }
}

fn named(what: &str, estimate: Option<Estimate>) -> String {
    estimate.map_or_else(|| NO_FIGURE.to_owned(), |estimate| format!("{what} {estimate}"))
}

fn off(relative_error: f64) -> String {
    format!("{} %", significant(100.0 * relative_error.max(1e-4)))
}

/// Every sample, in the order they were taken.
pub(super) fn of_samples(samples: &[Observed<'_>]) -> Table {
    let head = ["sample", "block", "workload", "length", "throughput", "IOPS", "p50", "p99", "remarks"];
    let workloads: Vec<_> = samples.iter().map(|observed| &observed.sample.workload).collect();
    Table::new(
        head,
        samples.iter().zip(names(&workloads, &[])).map(|(observed, name)| {
            let sample = observed.sample;
            let total = &sample.total;
            let told = |field: &str, text: String| if sample.tells(field) { text } else { NO_FIGURE.to_owned() };
            [
                observed.id.to_string(),
                (observed.block + 1).to_string(),
                name,
                told("elapsed_s", sample.elapsed().to_string()),
                told("total.bytes_per_s", total.bytes_per_s.to_string()),
                told("total.requests_per_s", named_above(Quantity::RequestsPerSecond.format(total.requests_per_s))),
                latency_text(total.latency_ns.p50),
                latency_text(total.latency_ns.p99),
                remarks(observed),
            ]
        }),
    )
}

/// Why a sample failed, and the codes of its warnings.
fn remarks(observed: &Observed<'_>) -> String {
    let sample = observed.sample;
    let failure = sample.failure.iter().map(|failure| format!("failed: {}", failure.code));
    let bound = sample.generator_bound.then(|| "limited by the program".to_owned());
    let warnings = sample.warnings.iter().map(|warning| warning.code.replace('_', " "));
    failure.chain(bound).chain(warnings).collect::<Vec<_>>().join(", ")
}

/// What the workloads could not be run for.
pub(super) fn of_skipped(skipped: &[(String, String)]) -> Table {
    Table::new(["workload", "reason"], skipped.iter().map(|(label, reason)| [label.clone(), reason.clone()]))
}

/// The machine and the target. What the system does not tell is left out.
pub(crate) fn of_environment(environment: &Environment, program: &Program) -> Table {
    let target = &environment.target;
    let text = |value: &Option<String>| value.clone();
    let bytes = |value: Option<Bytes>| value.map(|bytes| bytes.to_string());
    let medium = target
        .rotational
        .map(|rotational| if rotational { "rotational (kernel)" } else { "not rotational (kernel)" }.to_owned());
    // Of an imported run hardly anything is known.
    let known = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let unavailable = environment
        .personalities
        .iter()
        .filter_map(|facts| facts.unavailable.as_ref().map(|reason| format!("{}: {reason}", facts.personality)));
    let unavailable = unavailable.collect::<Vec<_>>().join("; ");
    let others: Vec<String> = environment.more_targets.iter().map(other_target).collect();
    // An instrument of the machine itself has no target.
    let named = target.kind != TargetKind::Null;
    let facts: [(&str, Option<String>); 27] = [
        ("target", (named && !target.path.is_empty()).then(|| target.path.clone())),
        ("other targets", (!others.is_empty()).then(|| others.join("; "))),
        ("size", bytes(target.size().filter(|_| named))),
        ("allocated", bytes(target.allocated_bytes)),
        ("file system", text(&target.filesystem)),
        ("mount options", text(&target.mount_options)),
        ("device", text(&target.device)),
        ("model", text(&target.model)),
        ("firmware", text(&target.firmware)),
        ("transport", text(&target.transport)),
        ("medium", medium),
        ("write cache", text(&target.write_cache)),
        ("scheduler", text(&target.scheduler)),
        ("read-ahead", bytes(target.read_ahead_bytes)),
        ("logical block", bytes(target.logical_block_bytes)),
        ("alignment for direct I/O", bytes(target.direct_alignment_bytes)),
        ("advertised peak", target.pap_bytes_per_s.map(|rate| rate.to_string())),
        ("host", known(&environment.host)),
        ("machine's file", environment.machine_file_crc32c.as_ref().map(|digest| format!("CRC-32C {digest}"))),
        ("kernel", known(&environment.kernel)),
        ("CPU model", text(&environment.cpu_model)),
        ("clock governor", text(&environment.governor)),
        ("CPUs", (environment.cpus > 0).then(|| environment.cpus.to_string())),
        ("memory", bytes(Some(environment.memory_bytes).filter(|memory| memory.0 > 0))),
        ("clock", clock_text(&environment.clock)),
        ("not available here", (!unavailable.is_empty()).then_some(unavailable)),
        ("program", Some(program_text(program))),
    ];
    let known = facts.into_iter().filter_map(|(name, value)| value.map(|value| vec![name.to_owned(), value]));
    Table { head: Vec::new(), rows: known.collect() }
}

fn clock_text(clock: &ClockFacts) -> Option<String> {
    let (step, cost) = (significant(clock.resolution_ns), significant(clock.cost_ns));
    (!clock.source.is_empty()).then(|| format!("{}, steps of {step} ns, {cost} ns a reading", clock.source))
}

/// One of several targets in short.
fn other_target(target: &TargetFacts) -> String {
    let below = [&target.filesystem, &target.device, &target.transport].into_iter().flatten().cloned();
    let parts: Vec<String> = below.chain(target.size().map(|size| size.to_string())).collect();
    if parts.is_empty() { target.path.clone() } else { format!("{} ({})", target.path, parts.join(", ")) }
}

fn program_text(program: &Program) -> String {
    let commit = program.commit.as_ref().map(|commit| format!(", commit {commit}")).unwrap_or_default();
    let features =
        if program.features.is_empty() { String::new() } else { format!(", with {}", program.features.join(", ")) };
    format!("halfpower {}{commit}{features}", program.version)
}

/// An estimate, or that nobody measured it.
pub(super) fn figure(estimate: Option<Estimate>) -> String {
    let measured = estimate.filter(|estimate| estimate.repetitions > 0);
    measured.map_or_else(|| NO_FIGURE.to_owned(), |estimate| estimate.to_string())
}

/// The request rate without its interval: as a share that is the throughput's.
fn requests_per_s(cell: &CellSummary) -> String {
    figure(Some(Estimate { low: None, high: None, ..cell.requests_per_s })).replace(" IOPS", "")
}

/// A figure without the part of its unit that the head of its column says.
fn named_above(figure: String) -> String {
    figure.replace(" IOPS", "").replace(" per I/O", "")
}

fn latency_text(latency_ns: Option<u64>) -> String {
    latency_ns.map_or_else(|| NO_FIGURE.to_owned(), |ns| Quantity::Nanoseconds.format(ns as f64))
}
