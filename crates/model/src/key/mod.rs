//! The keys of a workload, each written once in `table.rs`.
//!
//! An entry gives the specification, the key of a study, the option, the label of a cell and the emitted command. It also
//! says what the simulator lacks, and is a row of the table in docs/FORMAT.md.

mod table;

pub use table::{KEYS, LARGEST, LONGEST, MAX_DEPTH, MAX_RATE, MAX_REQUEST, MAX_WORKERS, MIN_INTERVAL, WorkloadSpec};

use crate::units::{Bytes, Nanoseconds};
use crate::workload::Workload;

/// A key of a workload.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Its name: in studies and records as it is, as an option with dashes.
    pub name: &'static str,
    /// What people read of it, and what it goes with.
    pub about: About,
    access: Access,
}

/// What people read of a key, and what it goes with.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// The heading it stands under in `--help`.
    pub group: Group,
    /// What its values look like.
    pub kind: Kind,
    /// What a word is called in `--help`; see [`Key::value_name`].
    pub value_name: &'static str,
    /// The default where it depends on the target or on other keys; else it is that of [`Workload`].
    pub depends: Option<&'static str>,
    /// One line for `-h`.
    pub help: &'static str,
    /// What `--help` adds; empty for nothing.
    pub details: &'static str,
    /// Further names of the option.
    pub aliases: &'static [&'static str],
    /// fio's word for it; empty for none.
    pub fio: &'static str,
    /// A key that cannot be given with it.
    pub contradicts: Option<&'static str>,
    /// What a simulated machine lacks, and what to do; none for a key that is simulated, or refused by its value.
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
    /// How many there are at once.
    Load,
    /// I/O method and page cache.
    Method,
    /// When the sample ends.
    End,
}

/// What the values of a key look like, numbers with their bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Bytes.
    Size(u64, u64),
    /// A whole number.
    Count(u64, u64),
    /// A span of time.
    Time(Nanoseconds, Nanoseconds),
    /// On or off.
    Switch,
    /// A list of CPUs: as a list in a study it is one value.
    Cpus,
    /// A word, or one with a number; the examples show every form.
    Word(&'static [&'static str]),
}

/// Where a key can be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Given {
    /// In studies and on the command line.
    Both,
    /// In studies; the command line says it by naming targets or machines.
    Study,
    /// On the command line; in a study it belongs to the trial.
    CommandLine,
}

/// How a key reaches its field.
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
    /// What is wrong with the text, and what would do.
    pub fn read(&self, text: &str) -> Result<WorkloadSpec, String> {
        let text = match (self.about.kind, text) {
            (Kind::Switch, "true") => "on",
            (Kind::Switch, "false") => "off",
            _ => text,
        };
        let spec = match self.about.kind {
            Kind::Count(..) => (self.access.read)(text).map_err(|_| format!("write {}", self.about.kind.range())),
            _ if self.name == "personality" => table::personality(text),
            _ => (self.access.read)(text),
        }?;
        self.check(&spec)?;
        Ok(spec)
    }

    /// Whether a spec says something of it.
    pub fn is_said(&self, spec: &WorkloadSpec) -> bool {
        (self.access.is_said)(spec)
    }

    /// Whether the number that a spec gives it is within its bounds.
    ///
    /// # Errors
    /// What it must be.
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

    /// The key that excludes it, where a spec says something of both.
    pub(crate) fn contradicted_by(&self, spec: &WorkloadSpec) -> Option<&'static str> {
        let other = self.about.contradicts.filter(|_| self.is_said(spec))?;
        Key::named(other).is_some_and(|other| other.is_said(spec)).then_some(other)
    }

    /// Gives a workload what a spec says of it.
    pub(crate) fn fill(&self, spec: &WorkloadSpec, workload: &mut Workload) {
        (self.access.fill)(spec, workload);
    }

    /// Gives it the empty value of its type, which means nothing.
    pub(crate) fn clear(&self, workload: &mut Workload) {
        (self.access.clear)(workload);
    }

    /// Gives the first the value that the second has.
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

    /// The value in a form that reads back as the same; none where there is none.
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

    /// The field of a record that has it.
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

    /// What a value is called in `--help`.
    pub fn value_name(&self) -> String {
        match self.about.kind {
            Kind::Size(..) => "SIZE".to_owned(),
            Kind::Count(..) => "N".to_owned(),
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
            Kind::Size(low, high) | Kind::Count(low, high) => Some((low, high)),
            Kind::Time(low, high) => Some((low.0, high.0)),
            Kind::Switch | Kind::Cpus | Kind::Word(_) => None,
        }
    }

    /// A number of this kind.
    fn shown(self, number: u64) -> String {
        match self {
            Kind::Size(..) => Bytes(number).to_string(),
            Kind::Time(..) => Nanoseconds(number).to_string(),
            _ => number.to_string(),
        }
    }

    /// What a value may be, for messages and tables.
    pub fn range(self) -> String {
        match self {
            Kind::Size(low, LARGEST) => format!("a size of {} or more, like 64KiB", Bytes(low)),
            Kind::Size(low, high) => format!("a size from {} to {}, like 64KiB", Bytes(low), Bytes(high)),
            Kind::Count(low, LARGEST) => format!("a whole number of {low} or more"),
            Kind::Count(low, high) => format!("a whole number from {low} to {high}"),
            Kind::Time(low, _) => format!("a time from {low} to 7 days, like 250ms"),
            Kind::Switch => "on or off".to_owned(),
            Kind::Cpus => "a list of CPU numbers, like 0,2 or 0-3".to_owned(),
            Kind::Word(examples) => examples.join(", "),
        }
    }
}
