//! From text to figures. An entry with several workloads has a figure for each of them, or one for all.

use super::{Basis, Figure, Measure, Tolerance, is_named};
use crate::study::cross;
use halfpower_model::{KEYS, WorkloadSpec};
use halfpower_sim::file::Fitted;
use serde::Deserialize;
use std::collections::{BTreeMap, HashSet};
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
    /// The name of a rule.
    tolerance: Option<String>,
    /// The least and the greatest figure that the paper prints.
    range: Option<(f64, f64)>,
    /// The figures of `range` as printed.
    text: Option<String>,
    /// A figure or a group; of a list, an entry with the same suffixes.
    follows: Option<String>,
    left_out: Option<String>,
    missed: Option<Missed>,
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

/// Why figures of an entry are missed: all of them, or each by what its id has behind that of the entry.
#[derive(Deserialize)]
#[serde(untagged)]
enum Missed {
    All(String),
    Each(BTreeMap<String, String>),
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
/// The first mistake in the text, or a name in `[fitted]` that no figure has.
pub(super) fn figures(text: &str, fitted: &[(&str, Fitted)]) -> Result<Vec<Figure>, String> {
    let file: File = toml::from_str(text).map_err(|error| error.to_string())?;
    let mut figures = Vec::new();
    for entry in file.figure {
        let id = entry.id.clone();
        figures.extend(of(entry, &file.workload).map_err(|error| format!("{id}: {error}"))?);
    }
    let mut seen = HashSet::new();
    if let Some(twice) = figures.iter().find(|figure| !seen.insert(&figure.id)) {
        return Err(format!("two figures are called {}", twice.id));
    }
    follow(&mut figures)?;
    let names = || fitted.iter().flat_map(|(machine, fitted)| fitted.figures.iter().map(move |name| (machine, name)));
    if let Some((machine, name)) = names().find(|(_, name)| !figures.iter().any(|figure| is_named(&figure.id, name))) {
        return Err(format!("[fitted] of {machine} names {name}, and no figure is called so"));
    }
    for figure in &mut figures {
        figure.basis = match figure.follows {
            Some(_) => Basis::Follows,
            None if names().any(|(_, name)| is_named(&figure.id, name)) => Basis::Fitted,
            None => Basis::Predicted,
        };
    }
    Ok(figures)
}

/// Replaces each followed name, of a figure or a group, by the independent figure behind it.
fn follow(figures: &mut [Figure]) -> Result<(), String> {
    let known: Vec<(String, Option<String>)> =
        figures.iter().map(|figure| (figure.id.clone(), figure.follows.clone())).collect();
    for figure in figures {
        let mut behind = figure.follows.clone();
        for _ in 0..known.len() {
            let Some(name) = &behind else { break };
            let exact = known.iter().find(|(id, _)| id == name);
            // Figures of a list follow those of another list, or all the same one.
            let one = || name.rsplit_once('.').and_then(|(one, _)| known.iter().find(|(id, _)| id == one));
            let found = exact.or_else(one).or_else(|| known.iter().find(|(id, _)| is_named(id, name)));
            let (id, next) = found.ok_or_else(|| format!("{} follows {name}, which is no figure", figure.id))?;
            figure.follows = Some(id.clone());
            behind.clone_from(next);
        }
        if behind.is_some() {
            return Err(format!("{} follows itself", figure.id));
        }
    }
    Ok(())
}

/// The figures of one entry.
fn of(entry: Entry, common: &Table) -> Result<Vec<Figure>, String> {
    let own = |key: &str| !OF_MEASURE.contains(&key) && !KEYS.iter().any(|known| known.name == key);
    if let Some(unknown) = entry.rest.keys().find(|key| own(key)) {
        return Err(format!("unknown key `{unknown}`"));
    }
    let axes = axes(&entry.rest, common)?;
    let cells = cross(&axes, &WorkloadSpec::default());
    let (published, targets) = (entry.published.into_list(), entry.target.into_list());
    let figure = |suffix: &str, published, cells| {
        let (rule, text) = (entry.tolerance.as_deref(), entry.text.as_deref());
        Ok(Figure {
            id: format!("{}{suffix}", entry.id),
            source: entry.source.clone(),
            place: entry.place.clone(),
            targets: targets.clone(),
            measure: entry.measure.clone(),
            published,
            basis: Basis::Predicted,
            follows: entry.follows.as_ref().map(|name| format!("{name}{suffix}")),
            tolerance: Tolerance::of(rule, entry.range, text, published)?,
            cells,
            left_out: entry.left_out.clone(),
            missed: match &entry.missed {
                Some(Missed::All(reason)) => Some(reason.clone()),
                Some(Missed::Each(reasons)) => reasons.get(suffix.trim_start_matches('.')).cloned(),
                None => None,
            },
        })
    };
    let mut figures: Vec<Figure> = match published[..] {
        [one] => vec![figure("", one, cells)?],
        _ if published.len() == cells.len() => {
            let each = published.into_iter().zip(cells);
            each.map(|(value, cell)| figure(&suffix(&cell, &axes), value, vec![cell])).collect::<Result<_, String>>()?
        }
        _ => {
            return Err(format!(
                "{} figures for {} workloads; give one for each, or one for all",
                published.len(),
                cells.len()
            ));
        }
    };
    if let Some(Missed::Each(reasons)) = &entry.missed
        && figures.iter().filter(|figure| figure.missed.is_some()).count() < reasons.len()
    {
        return Err("`missed` names a figure that the entry does not have".to_owned());
    }
    repeats(&mut figures);
    Ok(figures)
}

/// Makes values that repeat over depths or sizes, within 5 %, follow the first of them.
fn repeats(figures: &mut [Figure]) {
    let alike = |figure: &Figure| {
        let spec = |cell: &WorkloadSpec| WorkloadSpec { depth: None, request_size: None, ..cell.clone() };
        figure.cells.iter().map(spec).collect::<Vec<_>>()
    };
    for number in 1..figures.len() {
        let (before, figure) = figures.split_at_mut(number);
        let is_same = |first: &&Figure| {
            let same = (first.published / figure[0].published - 1.0).abs() <= 0.05;
            same && first.follows.is_none() && alike(first) == alike(&figure[0])
        };
        if let Some(id) = before.iter().find(is_same).map(|first| first.id.clone()) {
            figure[0].follows.get_or_insert(id);
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
