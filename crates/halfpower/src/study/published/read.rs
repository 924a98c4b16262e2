//! From text to figures. An entry that varies keys has a figure for each of its workloads, or one for all of them.

use super::{Basis, Figure, Measure, Tolerance};
use crate::study::diagnostic::{Diagnostics, Kind, Problem, StudyErrors};
use crate::study::setting;
use crate::study::sweep::{self, Axis};
use crate::study::table::{Found, Keys, keys_of, sort_out};
use crate::study::value;
use halfpower_model::WorkloadSpec;
use std::collections::HashSet;
use toml::de::{DeTable, DeValue};

const FILE: &[&str] = &["workload", "figure"];
const FIGURE: &[&str] = &[
    "id",
    "source",
    "where",
    "target",
    "measure",
    "part",
    "phase",
    "mhz",
    "price",
    "published",
    "approximate",
    "fitted",
    "tolerance",
    "left_out",
];
const MEASURES: &[&str] = &[
    "megabytes",
    "copied",
    "requests",
    "mean_requests",
    "loss_percent",
    "fixed_us",
    "marginal_us",
    "cpu_us",
    "cpu_ms_per_megabyte",
    "cpu_percent",
    "clocks_per_byte",
    "saturation_megabytes",
    "service_ms",
    "busy_percent",
    "phase_percent",
    "dollars_per_request",
    "requests_per_dollar",
    "megabytes_per_dollar",
];

/// See [`super::figures`].
pub(super) fn figures(file: &str, text: &str) -> Result<Vec<Figure>, StudyErrors> {
    let mut diagnostics = Diagnostics::new(text);
    let (document, errors) = DeTable::parse_recoverable(text);
    for error in errors {
        let problem = Problem::new(error.message(), "this is not TOML");
        diagnostics.note(Kind::Syntax, error.span().unwrap_or(0..0), problem);
    }
    let keys = sort_out(document.get_ref(), "a file of figures", FILE, &mut diagnostics);
    let settings: Vec<&'static str> = setting::names().collect();
    let common = keys.table("workload", &settings, &mut diagnostics);
    let common = sweep::axes(&common, &|_| Ok(()), &mut diagnostics);
    let known: Vec<&'static str> = FIGURE.iter().chain(&settings).copied().collect();
    let mut figures: Vec<Figure> = Vec::new();
    let list = keys.get("figure").and_then(|found| found.value.as_array());
    for item in list.into_iter().flatten() {
        let found = Found { key: item.span(), span: item.span(), value: item.get_ref() };
        let Some(keys) = keys_of(&found, "a figure", &known, &mut diagnostics) else { continue };
        match entry(&keys, &common, &mut diagnostics) {
            Some(entry) => figures.extend(entry),
            None => diagnostics.missing(
                item.span(),
                "this figure lacks something",
                "it needs id, source, where, target, measure and published",
            ),
        }
    }
    let mut seen = HashSet::new();
    if let Some(twice) = figures.iter().find(|figure| !seen.insert(&figure.id)) {
        let message = format!("two figures are called {}", twice.id);
        diagnostics.missing(0..0, message, "give each an id of its own");
    }
    if diagnostics.is_empty() { Ok(figures) } else { Err(diagnostics.into_errors(file)) }
}

/// The figures of one entry; none where it lacks a key.
fn entry(keys: &Keys<'_, '_>, common: &[Option<Axis>], diagnostics: &mut Diagnostics<'_>) -> Option<Vec<Figure>> {
    let mut text = |name: &str| keys.read(name, diagnostics, value::text);
    let (id, source, place) = (text("id")?, text("source")?, text("where")?);
    let (left_out, part, phase) = (text("left_out"), text("part"), text("phase"));
    let targets = list(keys.get("target")?, diagnostics, value::text);
    let published = list(keys.get("published")?, diagnostics, number);
    let mut one = |name: &str| keys.read(name, diagnostics, number);
    let (mhz, price) = (one("mhz"), one("price"));
    let word: String = keys.read("measure", diagnostics, |v| value::word(v, MEASURES))?;
    let measure = measure(&word, part, phase, mhz, price)?;
    let flag = |value: &DeValue<'_>| value.as_bool().ok_or_else(|| value::is_not(value, "true or false"));
    let mut flag = |name: &str| keys.read(name, diagnostics, flag);
    let (is_approximate, is_fitted) = (flag("approximate").unwrap_or(false), flag("fitted").unwrap_or(false));
    let said = keys.read("tolerance", diagnostics, tolerance);
    let own = sweep::axes(keys, &|_| Ok(()), diagnostics);
    let axes = own.into_iter().zip(common).filter_map(|(own, common)| own.or_else(|| common.clone()));
    let axes: Vec<Axis> = axes.collect();
    let cells = sweep::cross(&axes, &WorkloadSpec::default());
    let figure = |id: String, published, cells| Figure {
        id,
        source: source.clone(),
        place: place.clone(),
        targets: targets.clone(),
        measure: measure.clone(),
        published,
        is_approximate,
        basis: if is_fitted { Basis::Fitted } else { Basis::Predicted },
        tolerance: said.unwrap_or(Tolerance::Percent(if is_approximate { 10.0 } else { 5.0 })),
        cells,
        left_out: left_out.clone(),
    };
    match published[..] {
        [one] => Some(vec![figure(id, one, cells)]),
        _ if published.len() == cells.len() => {
            let each = published.iter().zip(cells);
            Some(
                each.map(|(published, cell)| figure(format!("{id}{}", suffix(&cell, &axes)), *published, vec![cell]))
                    .collect(),
            )
        }
        _ => {
            let message = format!("{} figures for {} workloads", published.len(), cells.len());
            let help = "give one for each, or one for all";
            diagnostics.wrong(keys.get("published")?.span.clone(), message, help);
            Some(Vec::new())
        }
    }
}

/// What tells a workload of an entry from its others.
fn suffix(cell: &WorkloadSpec, axes: &[Axis]) -> String {
    let varies = |is_said: fn(&WorkloadSpec) -> bool| axes.iter().any(|axis| axis.len() > 1 && is_said(&axis[0]));
    let mut suffix = String::new();
    let mut add = |text: Option<String>| suffix.extend(text.map(|text| format!(".{}", text.replace(' ', ""))));
    if varies(|spec| spec.operation.is_some()) {
        add(cell.operation.as_ref().map(ToString::to_string));
    }
    if varies(|spec| spec.depth.is_some()) {
        add(cell.depth.map(|depth| format!("depth-{depth}")));
    }
    if varies(|spec| spec.request_size.is_some()) {
        add(cell.request_size.map(|size| size.to_string()));
    }
    suffix
}

fn measure(
    word: &str,
    part: Option<String>,
    phase: Option<String>,
    mhz: Option<f64>,
    price: Option<f64>,
) -> Option<Measure> {
    Some(match word {
        "megabytes" => Measure::Megabytes,
        "copied" => Measure::Copied,
        "requests" => Measure::Requests,
        "mean_requests" => Measure::MeanRequests,
        "loss_percent" => Measure::LossPercent,
        "fixed_us" => Measure::FixedUs,
        "marginal_us" => Measure::MarginalUs,
        "cpu_us" => Measure::CpuUs,
        "cpu_ms_per_megabyte" => Measure::CpuMsPerMegabyte,
        "cpu_percent" => Measure::CpuPercent,
        "clocks_per_byte" => Measure::ClocksPerByte { mhz: mhz? },
        "saturation_megabytes" => Measure::SaturationMegabytes,
        "service_ms" => Measure::ServiceMs,
        "busy_percent" => Measure::BusyPercent { part: part? },
        "phase_percent" => Measure::PhasePercent { part: part?, phase: phase? },
        "dollars_per_request" => Measure::DollarsPerRequest { price: price? },
        "requests_per_dollar" => Measure::RequestsPerDollar { price: price? },
        "megabyte_accesses" => Measure::MegabyteAccesses,
        "megabyte_accesses_per_dollar" => Measure::MegabyteAccessesPerDollar { price: price? },
        "megabytes_per_dollar" => Measure::MegabytesPerDollar { price: price? },
        _ => return None,
    })
}

/// One value, or a list.
fn list<T>(
    found: &Found<'_, '_>,
    diagnostics: &mut Diagnostics<'_>,
    read: impl Fn(&DeValue<'_>) -> Result<T, Problem>,
) -> Vec<T> {
    match found.value {
        DeValue::Array(items) => {
            items.iter().filter_map(|item| diagnostics.keep(item.span(), read(item.get_ref()))).collect()
        }
        single => diagnostics.keep(found.span.clone(), read(single)).into_iter().collect(),
    }
}

fn number(value: &DeValue<'_>) -> Result<f64, Problem> {
    let text = value.as_float().map(|float| float.as_str()).or_else(|| value.as_integer().map(|whole| whole.as_str()));
    text.and_then(|text| text.parse().ok()).ok_or_else(|| value::is_not(value, "a number"))
}

/// `5 %` or `3 points`.
fn tolerance(value: &DeValue<'_>) -> Result<Tolerance, Problem> {
    let read = |text: &str| match text.split_once(' ')? {
        (most, "%") => Some(Tolerance::Percent(most.parse().ok()?)),
        (most, "points") => Some(Tolerance::Points(most.parse().ok()?)),
        _ => None,
    };
    value.as_str().and_then(read).ok_or_else(|| value::is_not(value, "a tolerance, such as \"5 %\" or \"3 points\""))
}
