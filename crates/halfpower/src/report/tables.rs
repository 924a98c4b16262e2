//! The tables of the report.

use super::table::{Table, figure, or_dash};
use crate::emit::fio::in_short;
use crate::plan::Skipped;
use crate::simulator::paper_figures::PaperFigure;
use crate::simulator::published;
use crate::text::{joined, once, percent};
use halfpower_analysis::comparison::{FigureNoise, Noise};
use halfpower_analysis::models::{Concurrency, Law, Models};
use halfpower_analysis::{Advice, Attribution, CellSummary, CostBound, CostFit, CostPoint, Observed, busiest_first};
use halfpower_model::environment::ClockFacts;
use halfpower_model::names::names;
use halfpower_model::sample::Program;
use halfpower_model::units::significant;
use halfpower_model::{
    Bytes, BytesPerSecond, Durability, Environment, Estimate, Quantity, TargetFacts, TargetKind, Workload,
};

/// Every cell with its figures.
pub(super) fn of_cells<'a>(cells: impl Iterator<Item = (&'a CellSummary, &'a str)>) -> Table {
    let row = |(cell, name): (&CellSummary, &str)| {
        let (used, latency) = (cell.bytes_per_s.repetitions, cell.latency);
        // As a share the interval of the request rate is the throughput's.
        let rate = figure(Some(Estimate { low: None, high: None, ..cell.requests_per_s }));
        [
            name.to_owned(),
            if cell.failed > 0 { format!("{used} ({} failed)", cell.failed) } else { used.to_string() },
            figure(Some(cell.bytes_per_s)) + &within_run(cell, Quantity::BytesPerSecond),
            named_above(rate) + &within_run(cell, Quantity::RequestsPerSecond),
            named_above(figure(cell.cpu_us_per_request)),
            latency_text(latency.p50),
            latency_text(latency.p99),
            latency_text(latency.p99_9),
            latency_text(latency.max),
        ]
    };
    Table::new(["workload", "n", "throughput", "IOPS", "CPU", "p50", "p99", "p99.9", "max"], cells.map(row))
}

/// The precision of a single repetition within its run: ` (± 2.1 % within the run)`; empty if unknown.
pub(super) fn within_run(cell: &CellSummary, quantity: Quantity) -> String {
    let within = cell.within_run.filter(|within| within.mean.quantity == quantity);
    within.map(|within| format!(" ({} within the run)", within.half_width())).unwrap_or_default()
}

/// What to do for each use.
pub(super) fn of_advice(advice: &[Advice]) -> Table {
    let row = |advice: &Advice| {
        let most = advice.at_most();
        let gain = advice.gain.as_ref().map(|(gain, of)| format!("{most}{} × {of}", significant(*gain)));
        [
            advice.of.to_owned(),
            advice.setting(),
            format!("{most}{}", advice.rate),
            latency_text(advice.p99),
            or_dash(gain),
            in_short(&advice.workload),
            or_dash((!advice.settings.is_empty()).then(|| advice.settings.join(", "))),
        ]
    };
    Table::new(["for", "use", "rate", "p99", "gain", "fio", "try"], advice.iter().map(row))
}

/// Phases of requests in the block layer, for the cells that traced them.
pub(super) fn of_block_layer<'a>(cells: impl Iterator<Item = (&'a CellSummary, &'a str)>) -> Table {
    let row = |(cell, name): (&CellSummary, &str)| {
        let block = cell.block.as_ref()?;
        let amplification = match (block.read_amplification, block.write_amplification) {
            (Some(read), Some(write)) => format!("{read} of reads, {write} of writes"),
            (read, write) => figure(read.or(write)),
        };
        let shares = [block.queued, block.at_device, block.split, block.merged, block.requeued].map(figure);
        let figures = [name.to_owned(), block.followed.to_string()].into_iter().chain(shares);
        Some(figures.chain([amplification, figure(block.busy)]).collect())
    };
    let head = "workload,followed,queued,at the device,split,merged,requeued,amplification,outstanding";
    Table::of(head, cells.filter_map(row))
}

/// The bottleneck of a cell with its reason.
pub(super) fn bottleneck(cell: &CellSummary) -> String {
    or_dash(cell.pace.as_ref().map(Attribution::brief))
}

/// How busy each part of a simulated machine was in a cell.
pub(super) fn busy(cell: &CellSummary) -> Vec<String> {
    busiest_first(cell.parts.iter().map(|part| (part.name.as_str(), part.kind, part.busy.value)))
}

/// How busy the parts of a simulated machine were in each cell.
pub(super) fn of_parts<'a>(cells: impl Iterator<Item = (&'a CellSummary, &'a str)>) -> Table {
    let row = |(cell, name): (&CellSummary, &str)| {
        let mut busy = busy(cell).into_iter();
        Some([name.to_owned(), bottleneck(cell), busy.next()?, joined(busy.map(Some))])
    };
    Table::new(["workload", "bottleneck", "busiest", "the others"], cells.filter_map(row))
}

/// The values that a paper prints for a figure's workloads, beside the measured ones.
pub(super) fn of_paper(of: &PaperFigure, cells: &[CellSummary]) -> Table {
    let is_its_machine = of.printed.iter().all(|printed| printed.is_its_machine);
    let is_each = once(of.cells.iter().map(|cell| cell.volume.as_str())).len() > 1;
    let rows = of.printed.iter().filter_map(|printed| {
        let of_cell = |cell: &u32| cells.iter().find(|summary| summary.cell == *cell).map(|summary| &summary.workload);
        let workloads: Vec<&Workload> = printed.cells.iter().map(of_cell).collect::<Option<_>>()?;
        let volumes = of.cells.iter().filter(|cell| printed.cells.contains(&cell.cell));
        let (own, here) = (&printed.figure, printed.here?);
        let place = once(volumes.map(|cell| cell.volume.as_str())).join(", ");
        let instead = (!is_its_machine).then(|| own.targets.join(", "));
        // A rounding error of a difference of equals is zero.
        let here = if here.abs() < own.published.abs() * 1e-6 { 0.0 } else { here };
        let unit = own.measure.unit();
        Some([
            joined([instead, (is_its_machine || is_each).then_some(place)]),
            joined(own.measure.words().into_iter().chain([requests(&workloads)]).map(Some)),
            format!("{} {unit}", own.published),
            format!("{} {unit}", significant(here)),
            match is_its_machine {
                true => format!("{} {}", published::off(own.tolerance.error(here, own.published)), own.tolerance.unit),
                false => or_dash(printed.times().map(|times| format!("{} ×", significant(times)))),
            },
            own.place.clone(),
        ])
    });
    let beside = if is_its_machine { "off by" } else { "here / paper" };
    Table::new(["volume", "requests", "the paper", "here", beside, "printed in"], rows)
}

/// The requests of one or several workloads in brief: `sequential read, 2 KiB to 64 KiB, QD1, direct`.
fn requests(workloads: &[&Workload]) -> String {
    let distinct = |of: &dyn Fn(&Workload) -> String| match &once(workloads.iter().map(|workload| of(workload)))[..] {
        [first, _, .., last] => format!("{first} to {last}"),
        few => few.join(" and "),
    };
    let any = |of: &dyn Fn(&Workload) -> bool| workloads.iter().any(|workload| of(workload));
    joined([
        Some(distinct(&Workload::work)),
        Some(distinct(&|workload| workload.request_size.to_string())),
        Some(distinct(&|workload| format!("QD{}", workload.depth))),
        Some(distinct(&|workload| workload.buffering.to_string())),
        any(&|workload| workload.offset.0 > 0)
            .then(|| format!("from {}", distinct(&|workload| workload.offset.to_string()))),
        any(&|workload| workload.durability != Durability::None).then(|| "flushed".to_owned()),
        any(&|workload| workload.rate.is_some()).then(|| "read ahead".to_owned()),
    ])
}

/// Fixed and marginal CPU cost of every series.
pub(super) fn of_costs(costs: &[CostFit]) -> Table {
    let row = |cost: &CostFit| {
        let bound = match cost.bound {
            CostBound::Lower => "lower",
            CostBound::Upper => "upper",
        };
        let share = |point: &CostPoint| point.residual_us.abs() / point.us_per_request;
        let residual = cost.points.iter().map(share).fold(0.0, f64::max);
        let at = |rate: fn(&CostPoint) -> Option<BytesPerSecond>| {
            let words = |point: &CostPoint| Some(format!("{} ({})", rate(point)?, point.request_size));
            or_dash(cost.points.last().and_then(words))
        };
        vec![
            cost.subject.clone(),
            bound.to_owned(),
            cost.fixed.to_string(),
            cost.marginal.to_string(),
            percent(cost.r_squared),
            percent(residual),
            at(|point| Some(point.one_cpu)),
            at(|point| point.all_cpus),
        ]
    };
    let head = "series,bound,fixed,marginal,R²,largest residual,saturates one CPU,saturates all CPUs";
    Table::of(head, costs.iter().map(row))
}

/// Every model and its error.
pub(super) fn of_models(models: &Models) -> Table {
    let off = |relative_error: f64| percent(relative_error.max(1e-4));
    let named = |what: &str, estimate: Option<Estimate>| or_dash(estimate.map(|estimate| format!("{what} {estimate}")));
    let by_size = models.service_times.iter().flat_map(|model| {
        model.pieces.iter().map(move |piece| {
            let what = format!("fixed time and rate, {} to {}", piece.from, piece.to);
            let (fixed, rate) = (figure(Some(piece.fixed)), figure(piece.rate));
            let knee = named("half of the rate at", piece.half_size);
            [model.subject.clone(), what, fixed, rate, knee, off(model.relative_error)]
        })
    });
    let by_load = models.concurrency.iter().map(|model| {
        // A limit that was exceeded is wrong.
        let holds = |estimate: Option<Estimate>| estimate.filter(|_| model.exceeded_by.is_none());
        let full = if model.law == Law::UniversalScalability { "falls from" } else { "full at" };
        let (alone, limit, knee) = (figure(Some(model.alone)), figure(holds(model.limit)), holds(model.knee));
        [model.subject.clone(), law(model), alone, limit, named(full, knee), off(model.relative_error)]
    });
    let by_targets = models.scaling.iter().map(|model| {
        let what = "targets with a shared limit".to_owned();
        let each = named("each alone", Some(model.each));
        [model.subject.clone(), what, or_dash(None::<String>), figure(model.limit), each, off(model.relative_error)]
    });
    let rows = by_size.chain(by_load).chain(by_targets);
    Table::new(["series", "model", "at QD1", "limit", "knee", "mean error"], rows)
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

/// Every sample, in the order they were taken.
pub(super) fn of_samples(samples: &[Observed<'_>]) -> Table {
    let workloads: Vec<_> = samples.iter().map(|observed| &observed.sample.workload).collect();
    let row = |(observed, name): (&Observed<'_>, String)| {
        let (sample, total) = (observed.sample, &observed.sample.total);
        let if_known = |field: &str, text: String| or_dash(Some(text).filter(|_| sample.is_known(field)));
        [
            observed.id.to_string(),
            (observed.block + 1).to_string(),
            name,
            if_known("elapsed_s", sample.elapsed().to_string()),
            if_known("total.bytes_per_s", total.bytes_per_s.to_string()),
            if_known("total.requests_per_s", named_above(Quantity::RequestsPerSecond.format(total.requests_per_s))),
            latency_text(total.latency_ns.p50),
            latency_text(total.latency_ns.p99),
            remarks(observed),
        ]
    };
    let head = ["sample", "block", "workload", "length", "throughput", "IOPS", "p50", "p99", "remarks"];
    Table::new(head, samples.iter().zip(names(&workloads, &[])).map(row))
}

/// Why a sample failed, and the codes of its warnings.
fn remarks(observed: &Observed<'_>) -> String {
    let sample = observed.sample;
    let failure = sample.failure.iter().map(|failure| format!("failed: {}", failure.code));
    let bound = sample.generator_bound.then(|| "limited by the program".to_owned());
    let warnings = sample.warnings.iter().map(|warning| warning.code.replace('_', " "));
    joined(failure.chain(bound).chain(warnings).map(Some))
}

/// The skipped workloads with the reasons.
pub(super) fn of_skipped(skipped: &[Skipped]) -> Table {
    Table::new(["workload", "reason"], skipped.iter().map(|of| [of.label.clone(), of.reason.clone()]))
}

/// The machine and the target. Unknown facts are left out.
pub(crate) fn of_environment(environment: &Environment, program: &Program) -> Table {
    let target = &environment.target;
    let text = |value: &Option<String>| value.clone();
    let bytes = |value: Option<Bytes>| value.map(|bytes| bytes.to_string());
    let medium = |rotational| {
        if rotational { "rotational, says the kernel" } else { "not rotational, says the kernel" }.to_owned()
    };
    // An imported run has few facts.
    let known = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let unavailable = environment.personalities.iter().filter_map(|facts| Some((facts, facts.unavailable.as_ref()?)));
    let unavailable = unavailable.map(|(facts, reason)| format!("{}: {reason}", facts.personality));
    let unavailable = unavailable.collect::<Vec<_>>().join("; ");
    let others: Vec<String> = environment.more_targets.iter().map(other_target).collect();
    // An instrument of the machine itself has no target.
    let named = target.kind != TargetKind::Null;
    let server = target.server.as_ref();
    let facts: [(&str, Option<String>); 31] = [
        ("target", known(&target.path).filter(|_| named)),
        ("other targets", known(&others.join("; "))),
        ("size", bytes(target.size().filter(|_| named))),
        ("allocated", bytes(target.allocated_bytes)),
        ("server", server.map(|server| format!("{}, {}", server.address, server.protocol))),
        ("agreed with it", server.map(|server| server.agreed.join(", "))),
        ("round trip", server.and_then(|server| server.round_trip).map(|time| time.to_string())),
        ("file system", text(&target.filesystem)),
        ("mount options", text(&target.mount_options)),
        ("device", text(&target.device)),
        ("model", text(&target.model)),
        ("firmware", text(&target.firmware)),
        ("transport", text(&target.transport)),
        ("medium", target.rotational.map(medium)),
        ("write cache", text(&target.write_cache)),
        ("scheduler", text(&target.scheduler)),
        ("read-ahead", bytes(target.read_ahead_bytes)),
        ("requests in its queue", target.requests_max.map(|requests| requests.to_string())),
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
        ("not available here", known(&unavailable)),
        ("program", Some(program_text(program))),
    ];
    let known = facts.into_iter().filter_map(|(name, value)| value.map(|value| vec![name.to_owned(), value]));
    Table { head: Vec::new(), rows: known.collect() }
}

fn clock_text(clock: &ClockFacts) -> Option<String> {
    let (step, cost) = (significant(clock.resolution_ns), significant(clock.cost_ns));
    (!clock.source.is_empty()).then(|| format!("{}, steps of {step} ns, {cost} ns per reading", clock.source))
}

/// One of several targets in brief.
fn other_target(target: &TargetFacts) -> String {
    let below = [&target.filesystem, &target.device, &target.transport].into_iter().cloned();
    match joined(below.chain([target.size().map(|size| size.to_string())])) {
        none if none.is_empty() => target.path.clone(),
        parts => format!("{} ({parts})", target.path),
    }
}

fn program_text(program: &Program) -> String {
    let commit = program.commit.as_ref().map(|commit| format!(", commit {commit}")).unwrap_or_default();
    let features = joined(program.features.iter().map(Some));
    let features = if features.is_empty() { features } else { format!(", with {features}") };
    format!("halfpower {}{commit}{features}", program.version)
}

/// A figure without the part of its unit that is in the head of its column.
fn named_above(figure: String) -> String {
    figure.replace(" IOPS", "").replace(" per I/O", "")
}

pub(super) fn latency_text(latency_ns: Option<u64>) -> String {
    or_dash(latency_ns.map(|ns| Quantity::Nanoseconds.format(ns as f64)))
}

/// The noise of the machine for the page, one row per figure.
pub(super) fn of_noise(noise: &Noise) -> Table {
    let row = |found: &FigureNoise| {
        vec![
            found.figure.name().to_owned(),
            found.workloads.to_string(),
            percent(found.median_difference),
            percent(found.largest_difference),
            found.called_changed.to_string(),
            found.largest_of.clone(),
        ]
    };
    let head = "figure,workloads,median difference,largest difference,called changed,largest difference in";
    Table::of(head, noise.figures.iter().map(row))
}

/// The noise for the terminal.
pub(super) fn brief_noise(noise: &Noise) -> Table {
    let row = |found: &FigureNoise| {
        let (half, most) = (percent(found.median_difference), percent(found.largest_difference));
        let difference = format!("{half} (median of {}), {most} at most", found.workloads);
        [found.figure.name().to_owned(), difference]
    };
    Table::new(["Same workload twice", "differs by"], noise.figures.iter().map(row))
}
