//! The keys of a workload, each written once in `table.rs`.
//!
//! From an entry follow the spec, the key of a study, the option, the label of a cell and the emitted command. It also has the
//! simulator's reason for rejecting the key, and is a row of the table in docs/FORMAT.md.

mod table;

pub use table::{KEYS, LARGEST, LONGEST, MAX_DEPTH, MAX_RATE, MAX_REQUEST, MAX_WORKERS, MIN_INTERVAL, WorkloadSpec};

use crate::units::{Bytes, Nanoseconds};
use crate::workload::Workload;

/// A key of a workload.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Its name in studies and records; as an option with dashes.
    pub name: &'static str,
    /// Its description and constraints.
    pub about: About,
    access: Access,
}

/// Description and constraints of a key.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// Its heading in `--help`.
    pub group: Group,
    /// The form of its values.
    pub kind: Kind,
    /// Placeholder of a word in `--help`; see [`Key::value_name`].
    pub value_name: &'static str,
    /// The default if it depends on the target or on other keys; else it is that of [`Workload`].
    pub depends: Option<&'static str>,
    /// One line for `-h`.
    pub help: &'static str,
    /// Further text of `--help`; may be empty.
    pub details: &'static str,
    /// Aliases of the option.
    pub aliases: &'static [&'static str],
    /// fio's word for it; empty for none.
    pub fio: &'static str,
    /// A key that contradicts it.
    pub contradicts: Option<&'static str>,
    /// What a simulated machine lacks, and the remedy; none for a key that is simulated or rejected by its value.
    pub unsimulated: Option<&'static str>,
    /// Where it can be given.
    pub given: Given,
}

/// The headings of `--help`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Kinds, sizes and data of requests.
    Requests,
    /// Offsets and targets.
    Place,
    /// Concurrency.
    Load,
    /// I/O method and page cache.
    Method,
    /// When the sample ends.
    End,
}

/// The form of a key's values; numbers with their bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Bytes.
    Size(u64, u64),
    /// A whole number.
    Count(u64, u64),
    /// A whole number, or `auto`.
    AutoCount(u64, u64),
    /// A span of time.
    Time(Nanoseconds, Nanoseconds),
    /// On or off.
    Switch,
    /// A list of CPUs; a list in a study is one value.
    Cpus,
    /// A word, perhaps with a number; the examples show every form.
    Word(&'static [&'static str]),
}

/// Where a key can be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Given {
    /// In studies and on the command line.
    Both,
    /// In studies; on the command line it follows from the targets or machines.
    Study,
    /// On the command line; in a study it belongs to the trial.
    CommandLine,
}

/// Access to a key's field.
#[derive(Clone, Copy, Debug)]
struct Access {
    read: fn(&str) -> Result<WorkloadSpec, String>,
    is_said: fn(&WorkloadSpec) -> bool,
    number: fn(&WorkloadSpec) -> Option<u64>,
    fill: fn(&WorkloadSpec, &mut Workload),
    clear: fn(&mut Workload),
    take: fn(&mut Workload, &Workload),
    is_same: fn(&Workload, &Workload) -> bool,
    exact: fn(&Workload) -> Option<String>,
    shown: fn(&Workload) -> String,
}

/// A text that marks keys like `‹depth›`, with the name that the reader writes for each.
pub fn worded(text: &str, name: impl Fn(&str) -> String) -> String {
    let mut pieces = text.split('‹');
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |text, piece| match piece.split_once('›') {
        Some((key, rest)) if Key::named(key).is_some() => text + &name(key) + rest,
        // Part of a target's name.
        _ => text + "‹" + piece,
    })
}

impl Key {
    /// The key of that name.
    pub fn named(name: &str) -> Option<&'static Key> {
        KEYS.iter().find(|key| key.name == name)
    }

    /// The spec that gives this key a value.
    ///
    /// # Errors
    /// The fault of the text, and the valid values.
    pub fn read(&self, text: &str) -> Result<WorkloadSpec, String> {
        let text = match (self.about.kind, text) {
            (Kind::Switch, "true") => "on",
            (Kind::Switch, "false") => "off",
            _ => text,
        };
        let spec = match self.about.kind {
            Kind::Count(..) | Kind::AutoCount(..) => {
                (self.access.read)(text).map_err(|_| format!("write {}", self.about.kind.range()))
            }
            _ if self.name == "personality" => table::personality(text),
            _ => (self.access.read)(text),
        }?;
        self.check(&spec)?;
        Ok(spec)
    }

    /// Whether a spec sets it.
    pub fn is_said(&self, spec: &WorkloadSpec) -> bool {
        (self.access.is_said)(spec)
    }

    /// Checks that a spec's number is within its bounds.
    ///
    /// # Errors
    /// The number and the valid range.
    pub fn check(&self, spec: &WorkloadSpec) -> Result<(), String> {
        let Some(number) = (self.access.number)(spec) else { return Ok(()) };
        match self.about.kind.bounds() {
            Some((low, high)) if !(low..=high).contains(&number) => Err(format!(
                "{} is {}; it must be {}",
                self.name,
                self.about.kind.shown(number),
                self.about.kind.range()
            )),
            _ => Ok(()),
        }
    }

    /// The key that excludes it, where a spec gives both a value.
    pub fn contradicted_by(&self, spec: &WorkloadSpec) -> Option<&'static str> {
        let other = self.about.contradicts.filter(|_| self.is_said(spec))?;
        Key::named(other).is_some_and(|other| other.is_said(spec)).then_some(other)
    }

    /// Sets it in a workload from a spec.
    pub(crate) fn fill(&self, spec: &WorkloadSpec, workload: &mut Workload) {
        (self.access.fill)(spec, workload);
    }

    /// Sets it to the default of its type, for unknown fields.
    pub(crate) fn clear(&self, workload: &mut Workload) {
        (self.access.clear)(workload);
    }

    /// Copies the value from the second workload to the first.
    pub fn take(&self, one: &mut Workload, other: &Workload) {
        (self.access.take)(one, other);
    }

    /// Whether two workloads have the same value.
    pub fn is_same(&self, one: &Workload, other: &Workload) -> bool {
        (self.access.is_same)(one, other)
    }

    /// Whether a workload has the default.
    pub fn is_default(&self, workload: &Workload) -> bool {
        self.is_same(workload, &Workload::default())
    }

    /// The value in a form that reads back as the same; none if there is none.
    pub fn exact(&self, workload: &Workload) -> Option<String> {
        if self.name == "personality" {
            return Some(workload.named_personality().to_string());
        }
        (self.access.exact)(workload)
    }

    /// The value for people.
    pub fn shown(&self, workload: &Workload) -> String {
        (self.access.shown)(workload)
    }

    /// Its field in records.
    pub fn field(&self) -> &'static str {
        match self.name {
            "warmup" => "warmup_s",
            "interval" => "interval_s",
            "duration" | "requests" | "bytes" => "limits",
            name => name,
        }
    }

    /// The default, for people.
    pub fn default(&self) -> String {
        self.about.depends.map_or_else(|| self.shown(&Workload::default()), str::to_owned)
    }

    /// The placeholder of its value in `--help`.
    pub fn value_name(&self) -> String {
        match self.about.kind {
            Kind::Size(..) => "SIZE".to_owned(),
            Kind::Count(..) | Kind::AutoCount(..) => "N".to_owned(),
            Kind::Time(..) => "TIME".to_owned(),
            _ if self.about.value_name.is_empty() => self.name.to_uppercase(),
            _ => self.about.value_name.to_owned(),
        }
    }

    /// The option on the command line, without dashes in front.
    pub fn option(&self) -> String {
        self.name.replace('_', "-")
    }
}

impl Group {
    /// The heading.
    pub const fn heading(self) -> &'static str {
        match self {
            Group::Requests => "Requests",
            Group::Place => "Offsets and targets",
            Group::Load => "Concurrency",
            Group::Method => "I/O method and page cache",
            Group::End => "Length (the first limit reached ends it)",
        }
    }
}

impl Kind {
    fn bounds(self) -> Option<(u64, u64)> {
        match self {
            Kind::Size(low, high) | Kind::Count(low, high) | Kind::AutoCount(low, high) => Some((low, high)),
            Kind::Time(low, high) => Some((low.0, high.0)),
            Kind::Switch | Kind::Cpus | Kind::Word(_) => None,
        }
    }

    /// A number of this kind with its unit.
    fn shown(self, number: u64) -> String {
        match self {
            Kind::Size(..) => Bytes(number).to_string(),
            Kind::Time(..) => Nanoseconds(number).to_string(),
            _ => number.to_string(),
        }
    }

    /// The valid values, for messages and tables.
    pub fn range(self) -> String {
        match self {
            Kind::Size(low, LARGEST) => format!("a size of {} or more, like 64KiB", Bytes(low)),
            Kind::Size(low, high) => format!("a size from {} to {}, like 64KiB", Bytes(low), Bytes(high)),
            Kind::Count(low, LARGEST) => format!("a whole number of {low} or more"),
            Kind::Count(low, high) => format!("a whole number from {low} to {high}"),
            Kind::AutoCount(low, high) => format!("auto, or a whole number from {low} to {high}"),
            Kind::Time(low, _) => format!("a time from {low} to 7 days, like 250ms"),
            Kind::Switch => "on or off".to_owned(),
            Kind::Cpus => "a list of CPU numbers, like 0,2 or 0-3".to_owned(),
            Kind::Word(examples) => examples.join(", "),
        }
    }
}
