//! From text to study: walks the TOML document and notes every mistake.
//!
//! A file overrides the file that it includes, key by key; its sweeps follow the included ones. Name, figure and
//! question are not inherited.

use super::diagnostic::{Diagnostics, Kind, Problem, StudyErrors};
use super::model::{Exhibit, Repetitions, Study, Sweep, Trial};
use super::setting;
use super::source::Shelf;
use super::sweep::{self, Axis, MOST_CELLS};
use super::table::{Found, Keys, keys_of, sort_out};
use super::value::{self, LARGEST};
use halfpower_model::{Bytes, GivenPeak, KEYS, Nanoseconds, Offer, Price, Settings, WorkloadSpec};
use std::collections::HashMap;
use std::ops::Range;
use toml::de::{DeTable, DeValue};

/// Longest text that is parsed: for a text with nothing but mistakes the parser needs 100 times its size in memory, and
/// included files are in memory at once.
const MOST_TEXT: usize = 256 << 10;
const STUDY: &[&str] = &["name", "include", "figure", "shows", "question", "target", "trial", "workload", "sweep"];
const TARGET: &[&str] = &["path", "size", "pap", "price", "capacity"];
/// Levels with an advertised throughput; a limit is set, not advertised.
const LEVELS: &[&str] = &["memory", "bus", "link", "device"];
const TRIAL: &[&str] = &[
    "warmup",
    "duration",
    "probe",
    "limited_duration",
    "repetitions",
    "as_needed",
    "time_limit",
    "write_budget",
    "order",
    "seed",
];
const PROBE: [&str; 2] = ["reads", "writes"];
const REPETITIONS: &[&str] = &["min", "max", "precision"];
const MOST_REPETITIONS: u64 = 10_000;
/// Longest chain of includes.
const MOST_INCLUDED: usize = 8;

/// A file with the files it includes.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    /// The study so far; without sweeps it is incomplete.
    pub study: Study,
    /// Values for every workload, by key.
    common: Vec<Option<Axis>>,
    /// The keys of the trial that belong to every workload.
    timing: WorkloadSpec,
}

/// Required contents of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Needs {
    /// Sweeps, its own or included ones: a complete study.
    Sweeps,
    /// Only a name, for an included file.
    Name,
}

/// Reads a file and the files it includes. `outer` lists the files that include it, the outermost first.
pub(super) fn draft(
    file: &str,
    text: &str,
    needs: Needs,
    shelf: &Shelf<'_>,
    outer: &[&str],
) -> Result<Draft, StudyErrors> {
    let mut diagnostics = Diagnostics::new(text);
    if text.len() > MOST_TEXT {
        let help = format!("a study file has at most {}; is this one?", Bytes(MOST_TEXT as u64));
        diagnostics.note(Kind::Syntax, 0..0, Problem::new(format!("this file has {}", Bytes(text.len() as u64)), help));
        return Err(diagnostics.into_errors(file));
    }
    let (document, errors) = DeTable::parse_recoverable(text);
    for error in errors {
        let problem = Problem::new(error.message(), "this is not TOML; https://toml.io shows how it is written");
        diagnostics.note(Kind::Syntax, error.span().unwrap_or(0..0), problem);
    }
    let keys = sort_out(document.get_ref(), "a study", STUDY, &mut diagnostics);
    let below = match keys.get("include") {
        Some(found) => included(found, file, shelf, &[outer, &[file]].concat(), &mut diagnostics)?,
        None => None,
    };
    let below = below.unwrap_or_default();
    let draft = laid_over(below, &keys, needs, text, shelf, &mut diagnostics);
    if diagnostics.is_empty() { Ok(draft) } else { Err(diagnostics.into_errors(file)) }
}

/// The included file; none, with a noted mistake, if it cannot be included.
fn included(
    found: &Found<'_, '_>,
    file: &str,
    shelf: &Shelf<'_>,
    outer: &[&str],
    diagnostics: &mut Diagnostics<'_>,
) -> Result<Option<Draft>, StudyErrors> {
    let Some(word) = diagnostics.keep(found.span.clone(), value::text(found.value)) else { return Ok(None) };
    let (message, help) = match shelf.beside(file, &word) {
        Ok(_) if outer.len() > MOST_INCLUDED => (
            format!("{word} would be the {}th file that includes another", outer.len() + 1),
            format!("include it elsewhere: they nest {MOST_INCLUDED} deep at most"),
        ),
        Ok((name, _)) if outer.contains(&name.as_str()) => {
            (format!("{word} includes this file"), "leave one of the two out".to_owned())
        }
        Ok((name, text)) => {
            let mut draft = draft(&name, &text, Needs::Name, shelf, outer)?;
            draft.study.text = format!("# {name}\n{}\n", draft.study.text);
            return Ok(Some(draft));
        }
        Err(reason) => (reason, "name a file beside this one, or a built-in study".to_owned()),
    };
    diagnostics.wrong(found.span.clone(), message, help);
    Ok(None)
}

/// The contents of a document over those of the included file.
fn laid_over(
    below: Draft,
    keys: &Keys<'_, '_>,
    needs: Needs,
    text: &str,
    shelf: &Shelf<'_>,
    diagnostics: &mut Diagnostics<'_>,
) -> Draft {
    let [name, question, label] = ["name", "question", "figure"].map(|name| keys.read(name, diagnostics, value::text));
    if keys.get("name").is_none() {
        diagnostics.missing(0..0, "this study has no `name`", "begin with name = \"one word for it\"");
    }
    let shows = keys.read("shows", diagnostics, |v| value::word(v, &["throughput", "cpu", "latency", "parts"]));
    if let Some(found) = keys.get("shows").filter(|_| label.is_none()) {
        let help = "add figure = \"Figure 1\", or leave it out";
        diagnostics.wrong(found.key.clone(), "`shows` needs a `figure`, and there is no such key", help);
    }
    let exhibit = label.map(|label| Exhibit { label, question: question.clone(), shows: shows.unwrap_or_default() });
    let target = keys.table("target", TARGET, diagnostics);
    let test_file = target.read("size", diagnostics, |v| value::size(v, 1, LARGEST));
    let path = target.read("path", diagnostics, value::text).or_else(|| below.study.path.clone());
    let fits = |set: &Settings| (shelf.fits)(path.as_deref().unwrap_or_default(), set).map_err(no_such);
    let there = fits(&Settings::default());
    let is_there = there.is_ok();
    if let Some(found) = target.get("path") {
        diagnostics.keep(found.span.clone(), there);
    }
    let fits = |set: &Settings| if is_there { fits(set) } else { Ok(()) };
    let peaks = target.table("pap", LEVELS, diagnostics);
    let peaks: Vec<GivenPeak> = LEVELS.iter().filter_map(|level| peak(level, &peaks, diagnostics)).collect();
    let offer = offer(&target, diagnostics);
    let trial_keys = keys.table("trial", TRIAL, diagnostics);
    let (trial, timing) = trial(&trial_keys, &below, diagnostics);
    let settings: Vec<&'static str> = setting::names().collect();
    let common = keys.table("workload", &settings, diagnostics);
    let common = over(sweep::axes(&common, &fits, diagnostics), &below.common);
    let mut sweeps = below.study.sweeps;
    let included = sweeps.iter().map(|sweep| sweep.cells.len()).sum();
    sweeps.extend(own_sweeps(keys, &common, &timing, &fits, included, diagnostics));
    if needs == Needs::Sweeps && sweeps.is_empty() && keys.get("sweep").is_none() {
        diagnostics.missing(0..0, "this study has no sweep", "add [[sweep]] and the keys it varies");
    }
    sweeps.iter_mut().for_each(|sweep| sweep.exhibit.clone_from(&exhibit));
    let study = Study {
        name: name.unwrap_or_default(),
        question,
        path,
        test_file: test_file.map(Bytes).or(below.study.test_file),
        peaks: [below.study.peaks, peaks].concat(),
        offer: offer.or(below.study.offer),
        trial,
        sweeps,
        text: below.study.text + text,
    };
    Draft { study, common, timing }
}

/// The mistake of a target or setting that does not exist.
fn no_such(reason: String) -> Problem {
    Problem::new(reason, "`halfpower sim show MACHINE` prints a machine: its volumes, its parts and their keys")
}

impl Default for Draft {
    /// For a file without an include.
    fn default() -> Self {
        let study = Study { trial: Trial { seed: 1, ..Trial::default() }, ..Study::default() };
        Draft { study, common: vec![None; setting::keys().count()], timing: WorkloadSpec::default() }
    }
}

/// The axes of a table over those of another one.
fn over(own: Vec<Option<Axis>>, below: &[Option<Axis>]) -> Vec<Option<Axis>> {
    own.into_iter().zip(below).map(|(own, below)| own.or_else(|| below.clone())).collect()
}

/// The peak of a level: `device = "3500MB/s"`.
fn peak(level: &str, peaks: &Keys<'_, '_>, diagnostics: &mut Diagnostics<'_>) -> Option<GivenPeak> {
    peaks.read(level, diagnostics, |value| {
        let text = value.as_str().ok_or_else(|| value::is_not(value, "a rate, such as \"3500MB/s\""))?;
        let given = format!("{level}={text}").parse::<GivenPeak>();
        given.map_err(|error| Problem::new(error.to_string(), "write a rate, such as \"3500MB/s\""))
    })
}

/// Price and capacity of the targets.
fn offer(target: &Keys<'_, '_>, diagnostics: &mut Diagnostics<'_>) -> Option<Offer> {
    let price = target.read("price", diagnostics, |value| {
        let text = value.as_str().or_else(|| value.as_integer().map(|number| number.as_str()));
        let text = text.or_else(|| value.as_float().map(|number| number.as_str()));
        let text = text.ok_or_else(|| value::is_not(value, "a price, such as \"199USD\""))?;
        let form = "write a price, such as \"199USD\"";
        text.parse::<Price>().map_err(|error| Problem::new(error.to_string(), form))
    });
    let capacity = target.read("capacity", diagnostics, |v| value::size(v, 1, LARGEST));
    if let Some(found) = target.get("capacity").filter(|_| target.get("price").is_none()) {
        let message = "`capacity` says what a price buys, and there is none";
        diagnostics.wrong(found.key.clone(), message, "add `price`, or leave it out");
    }
    price.map(|price| Offer { price, capacity: capacity.map(Bytes) })
}

/// How cells are measured, and the keys of the trial that belong to every workload.
fn trial(keys: &Keys<'_, '_>, below: &Draft, diagnostics: &mut Diagnostics<'_>) -> (Trial, WorkloadSpec) {
    let mut timing = below.timing.clone();
    for key in setting::keys().filter(|key| ["warmup", "duration"].contains(&key.name)) {
        if let Some(spec) = keys.read(key.name, diagnostics, |v| setting::read(key, v)) {
            timing = spec.or(&timing);
        }
    }
    let below = &below.study.trial;
    let mut time = |name: &str, least: u64| keys.read(name, diagnostics, |v| value::duration(v, Nanoseconds(least)));
    let (limited_duration, time_limit) = (time("limited_duration", 1_000_000), time("time_limit", 1_000_000_000));
    let write_budget = keys.read("write_budget", diagnostics, |v| value::size(v, 1, LARGEST)).map(Bytes);
    let order = keys.read("order", diagnostics, |v| value::word(v, &["blocks", "listed"]));
    let seed = keys.read("seed", diagnostics, |v| value::count(v, 0, LARGEST));
    let trial = Trial {
        probe: keys.get("probe").map_or(below.probe, |found| probe(found, diagnostics)),
        limited_duration: limited_duration.or(below.limited_duration),
        repetitions: keys.get("repetitions").map_or(below.repetitions, |found| repetitions(found, diagnostics)),
        as_needed: keys.read("as_needed", diagnostics, value::truth).unwrap_or(below.as_needed),
        time_limit: time_limit.or(below.time_limit),
        write_budget: write_budget.or(below.write_budget),
        order: order.unwrap_or(below.order),
        seed: seed.unwrap_or(below.seed),
    };
    (trial, timing)
}

/// `{ reads, writes }`, how long the first repetitions of those that reach a limit are.
fn probe(found: &Found<'_, '_>, diagnostics: &mut Diagnostics<'_>) -> Option<[Nanoseconds; 2]> {
    let keys = keys_of(found, "a table", &PROBE, diagnostics)?;
    let duration = |value: &DeValue<'_>| value::duration(value, Nanoseconds(1_000_000_000));
    let [reads, writes] = PROBE.map(|name| keys.read(name, diagnostics, duration));
    Some([reads?, writes?])
}

/// A number of repetitions, or `{ min, max, precision }`.
fn repetitions(found: &Found<'_, '_>, diagnostics: &mut Diagnostics<'_>) -> Repetitions {
    let number = |value: &DeValue<'_>| value::count(value, 1, MOST_REPETITIONS).map(|number| number as u32);
    let default = Repetitions::default();
    if found.value.is_integer() {
        let times = diagnostics.keep(found.span.clone(), number(found.value));
        return times.map_or(default, |times| Repetitions { min: times, max: times, precision: None });
    }
    let Some(keys) = keys_of(found, "a number, or a table", REPETITIONS, diagnostics) else { return default };
    let [min, max] = ["min", "max"].map(|name| keys.read(name, diagnostics, number));
    let precision = keys.read("precision", diagnostics, value::fraction);
    let least = min.unwrap_or(default.min.min(max.unwrap_or(default.min)));
    if max.is_some_and(|max| max < least) {
        let span = keys.get("max").map_or(found.span.clone(), |max| max.span.clone());
        diagnostics.wrong(span, "`max` is below `min`", "raise `max`, lower `min`, or write one number for both");
    }
    Repetitions { min: least, max: max.unwrap_or(least), precision }
}

impl Default for Repetitions {
    /// Five repetitions.
    fn default() -> Self {
        Repetitions { min: 5, max: 5, precision: None }
    }
}

/// Every `[[sweep]]` over the values for every workload; `included` is the number of included cells.
fn own_sweeps(
    keys: &Keys<'_, '_>,
    common: &[Option<Axis>],
    timing: &WorkloadSpec,
    fits: &dyn Fn(&Settings) -> Result<(), Problem>,
    included: usize,
    diagnostics: &mut Diagnostics<'_>,
) -> Vec<Sweep> {
    let Some(found) = keys.get("sweep") else { return Vec::new() };
    let list = found.value.as_array().map(Vec::from_iter);
    let Some(list) = list.filter(|list| !list.is_empty()) else {
        diagnostics.wrong(found.key.clone(), "this is no list of sweeps", "write [[sweep]] above each");
        return Vec::new();
    };
    let mut known = vec!["name"];
    known.extend(setting::names());
    let mut cells_left = MOST_CELLS.saturating_sub(included);
    let mut sweeps = Vec::new();
    for (number, item) in list.into_iter().enumerate() {
        let item = Found { key: item.span(), span: item.span(), value: item.get_ref() };
        let Some(keys) = keys_of(&item, "a sweep", &known, diagnostics) else { continue };
        let name = keys.read("name", diagnostics, value::text);
        let axes: Vec<Axis> = over(sweep::axes(&keys, fits, diagnostics), common).into_iter().flatten().collect();
        let place = keys.get("name").map_or(item.span, |name| name.span.clone());
        let said = axes.iter().filter_map(|axis| axis.first()).fold(WorkloadSpec::default(), |all, one| all.or(one));
        for (one, other) in KEYS.iter().filter_map(|key| Some((key.name, key.contradicted_by(&said)?))) {
            diagnostics.wrong(place.clone(), format!("`{one}` and `{other}` exclude each other"), "leave one out");
        }
        match sweep::count(&axes).filter(|cells| *cells <= cells_left) {
            Some(cells) => {
                cells_left -= cells;
                let name = name.unwrap_or_else(|| format!("sweep {}", number + 1));
                sweeps.push((place, Sweep { name, exhibit: None, cells: sweep::cross(&axes, timing) }));
            }
            None => {
                let message = format!("with this sweep the study has more than {MOST_CELLS} cells");
                diagnostics.wrong(place, message, "give some keys fewer values");
            }
        }
    }
    refuse_repeated_cells(&sweeps, diagnostics);
    sweeps.into_iter().map(|(_, sweep)| sweep).collect()
}

/// Rejects a cell in two sweeps: it would be measured twice, and its results could not be distinguished.
fn refuse_repeated_cells(sweeps: &[(Range<usize>, Sweep)], diagnostics: &mut Diagnostics<'_>) {
    let mut first_sweep: HashMap<&WorkloadSpec, usize> = HashMap::new();
    for (number, (place, sweep)) in sweeps.iter().enumerate() {
        let firsts = sweep.cells.iter().map(|cell| *first_sweep.entry(cell).or_insert(number));
        let repeated: Vec<usize> = firsts.filter(|first| *first != number).collect();
        if let Some(first) = repeated.first() {
            let line = diagnostics.line_of(sweeps[*first].0.start);
            let message = format!("{} of this sweep's cells are in the sweep at line {line} as well", repeated.len());
            diagnostics.wrong(place.clone(), message, "leave them out of one of the two");
        }
    }
}
