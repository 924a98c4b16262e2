//! From text to figures. An entry with several workloads has a figure for each of them, or one for all.

use super::{Basis, Figure, Measure, Tolerance};
use crate::study::cross;
use halfpower_model::{KEYS, WorkloadSpec};
use serde::Deserialize;
use std::collections::HashSet;
use toml::{Table, Value};

/// The keys of an entry that belong to its [`Measure`].
const OF_MEASURE: [&str; 5] = ["measure", "part", "phase", "mhz", "price"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// Keys of every workload that does not override them.
    #[serde(default)]
    workload: Table,
    figure: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    id: String,
    source: String,
    #[serde(rename = "where")]
    place: String,
    target: OneOrMany<String>,
    published: OneOrMany<f64>,
    #[serde(default)]
    approximate: bool,
    #[serde(default)]
    fitted: bool,
    tolerance: Option<String>,
    left_out: Option<String>,
    #[serde(flatten)]
    measure: Measure,
    /// The other keys: those of the measure and of the workload.
    #[serde(flatten)]
    rest: Table,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany<T> {
    One(T),
    Many(Vec<T>),
}

impl<T> OneOrMany<T> {
    fn into_list(self) -> Vec<T> {
        match self {
            OneOrMany::One(one) => vec![one],
            OneOrMany::Many(many) => many,
        }
    }
}

/// See [`super::figures`].
///
/// # Errors
/// The first mistake in the text.
pub(super) fn figures(text: &str) -> Result<Vec<Figure>, String> {
    let file: File = toml::from_str(text).map_err(|error| error.to_string())?;
    let mut figures = Vec::new();
    for entry in file.figure {
        let id = entry.id.clone();
        figures.extend(of(entry, &file.workload).map_err(|error| format!("{id}: {error}"))?);
    }
    let mut seen = HashSet::new();
    match figures.iter().find(|figure| !seen.insert(&figure.id)) {
        Some(twice) => Err(format!("two figures are called {}", twice.id)),
        None => Ok(figures),
    }
}

/// The figures of one entry.
fn of(entry: Entry, common: &Table) -> Result<Vec<Figure>, String> {
    let Entry { id, source, place, target, published, approximate, fitted, tolerance, left_out, measure, rest } = entry;
    if let Some(unknown) =
        rest.keys().find(|key| !OF_MEASURE.contains(&&***key) && !KEYS.iter().any(|k| k.name == **key))
    {
        return Err(format!("unknown key `{unknown}`"));
    }
    let axes = axes(&rest, common)?;
    let cells = cross(&axes, &WorkloadSpec::default());
    let tolerance = match tolerance {
        Some(text) => parse(&text).ok_or_else(|| format!("`{text}` is not a tolerance, such as 5 % or 3 points"))?,
        None => Tolerance::Percent(if approximate { 10.0 } else { 5.0 }),
    };
    let targets = target.into_list();
    let figure = |id: String, published, cells| Figure {
        id,
        source: source.clone(),
        place: place.clone(),
        targets: targets.clone(),
        measure: measure.clone(),
        published,
        basis: if fitted { Basis::Fitted } else { Basis::Predicted },
        tolerance,
        cells,
        left_out: left_out.clone(),
    };
    let published = published.into_list();
    match published[..] {
        [one] => Ok(vec![figure(id, one, cells)]),
        _ if published.len() == cells.len() => {
            let each = published.into_iter().zip(cells);
            Ok(each.map(|(value, cell)| figure(format!("{id}{}", suffix(&cell, &axes)), value, vec![cell])).collect())
        }
        _ => {
            Err(format!("{} figures for {} workloads; give one for each, or one for all", published.len(), cells.len()))
        }
    }
}

/// The values of each key that is set, in the order in which keys vary: the first varies slowest.
fn axes(own: &Table, common: &Table) -> Result<Vec<Vec<WorkloadSpec>>, String> {
    let mut axes = Vec::new();
    for key in KEYS {
        let Some(value) = own.get(key.name).or_else(|| common.get(key.name)) else { continue };
        let values = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
        let read = |value: &Value| match value {
            Value::String(text) => key.read(text),
            Value::Integer(number) => key.read(&number.to_string()),
            _ => Err("neither text nor a whole number".to_owned()),
        };
        let values: Result<Vec<_>, String> = values.iter().map(read).collect();
        axes.push(values.map_err(|error| format!("{}: {error}", key.name))?);
    }
    Ok(axes)
}

/// The suffix that distinguishes a workload from others of its entry.
fn suffix(cell: &WorkloadSpec, axes: &[Vec<WorkloadSpec>]) -> String {
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

/// `5 %` or `3 points`.
fn parse(text: &str) -> Option<Tolerance> {
    match text.split_once(' ')? {
        (most, "%") => Some(Tolerance::Percent(most.parse().ok()?)),
        (most, "points") => Some(Tolerance::Points(most.parse().ok()?)),
        _ => None,
    }
}
