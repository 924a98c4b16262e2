//! The keys that say something of a workload: one table for reading, checking and listing them.
//!
//! A setting is a [`WorkloadSpec`] in which one key is said. So a list of values is a list of specs, and a point of a
//! sweep is the specs of its axes laid over one another.

use super::diagnostic::Problem;
use super::value;
use halfpower_model::spec::{MAX_DEPTH, MAX_REQUEST, MAX_WORKERS};
use halfpower_model::{
    Among, Arrivals, BlockPhases, Buffering, Bytes, CachePolicy, Closing, CpuAccounting, Durability, FileState,
    NamedPersonality, Nanoseconds, Pattern, Personality, RingOption, RwFlags, Sharing, Verify, WorkerKind,
    WorkloadSpec,
};
use toml::de::DeValue;

/// A key and how its values are read.
pub(super) struct Key {
    pub name: &'static str,
    pub form: Form,
}

/// What the values of a key look like.
pub(super) enum Form {
    /// Bytes, from 1 to the most.
    Size(u64, fn(u64) -> WorkloadSpec),
    /// Bytes, from 0.
    Place(fn(u64) -> WorkloadSpec),
    /// A whole number, from 1 to the most.
    Count(u64, fn(u64) -> WorkloadSpec),
    /// A span of time, from the least.
    Duration(Nanoseconds, fn(Nanoseconds) -> WorkloadSpec),
    /// One of some words.
    Word(fn() -> Vec<&'static str>, fn(&str) -> Option<WorkloadSpec>),
    /// A list that is one value: processors.
    Processors,
}

/// Makes a spec that says one thing.
macro_rules! said {
    ($field:ident: $value:expr) => {
        WorkloadSpec { $field: Some($value), ..WorkloadSpec::default() }
    };
}

/// A key whose values are words of a closed list.
macro_rules! listed {
    ($name:literal, $field:ident: $type:ty) => {
        Key {
            name: $name,
            form: Form::Word(
                || <$type>::ALL.iter().map(|choice| choice.word()).collect(),
                |word| Some(said!($field: word.parse().ok()?)),
            ),
        }
    };
}

/// A key whose values are words of which some take a number; the examples show every form.
macro_rules! shown {
    ($name:literal, $field:ident: $examples:expr) => {
        Key { name: $name, form: Form::Word(|| $examples.to_vec(), |word| Some(said!($field: word.parse().ok()?))) }
    };
}

/// Every key of a sweep, in the order in which listed cells vary: the first varies slowest.
pub(super) const KEYS: &[Key] = &[
    shown!("operation", operation: ["read", "write", "trim", "flush", "mix=70", "mix=read:60,write:30,trim:10"]),
    shown!("pattern", pattern: Pattern::EXAMPLES),
    listed!("sharing", sharing: Sharing),
    shown!("among", among: Among::EXAMPLES),
    shown!("layout", layout: ["each", "stripe=64KiB", "mirror", "mirror=shortest_queue", "mirror=nearest"]),
    listed!("buffering", buffering: Buffering),
    listed!("cache", cache: CachePolicy),
    listed!("file_state", file_state: FileState),
    shown!("durability", durability: Durability::EXAMPLES),
    listed!("closing", closing: Closing),
    shown!("data", data: ["incompressible", "compressible=60", "duplicate=30", "zeros", "pattern=c0ffee"]),
    listed!("verify", verify: Verify),
    Key {
        name: "personality",
        form: Form::Word(
            || {
                let words = Personality::ALL.iter().filter(|personality| **personality != Personality::Plugin);
                let words = words.map(|personality| personality.word());
                std::iter::once("auto").chain(words).chain(std::iter::once("plugin:./own.so")).collect()
            },
            |word| match word {
                "auto" => Some(WorkloadSpec::default()),
                name => {
                    let NamedPersonality { personality, plugin } = name.parse().ok()?;
                    Some(WorkloadSpec { plugin, ..said!(personality: personality) })
                }
            },
        ),
    },
    Key {
        name: "ring",
        form: Form::Word(
            || {
                let options = RingOption::ALL.iter().map(|option| option.word());
                std::iter::once("default").chain(options).chain(["no-registered_files"]).collect()
            },
            |word| Some(said!(ring: word.parse().ok()?)),
        ),
    },
    shown!("rw_flags", rw_flags: RwFlags::EXAMPLES),
    listed!("worker_kind", worker_kind: WorkerKind),
    Key { name: "workers", form: Form::Count(MAX_WORKERS as u64, |number| said!(workers: number as u32)) },
    Key { name: "depth", form: Form::Count(MAX_DEPTH as u64, |number| said!(depth: number as u32)) },
    Key { name: "submit_batch", form: Form::Count(MAX_DEPTH as u64, |number| said!(submit_batch: number as u32)) },
    Key { name: "wait_batch", form: Form::Count(MAX_DEPTH as u64, |number| said!(wait_batch: number as u32)) },
    listed!("arrivals", arrivals: Arrivals),
    shown!("rate", rate: ["50000/s", "100MB/s"]),
    Key { name: "request_size", form: Form::Size(MAX_REQUEST.0, |bytes| said!(request_size: Bytes(bytes))) },
    shown!("sizes", sizes: ["4KiB:70/64KiB:30", "read=4KiB:9/1MiB:1,write=64KiB"]),
    Key { name: "align", form: Form::Size(MAX_REQUEST.0, |bytes| said!(align: Bytes(bytes))) },
    Key { name: "offset", form: Form::Place(|bytes| said!(offset: Bytes(bytes))) },
    Key { name: "size", form: Form::Size(value::LARGEST, |bytes| said!(span: Bytes(bytes))) },
    Key { name: "duration", form: Form::Duration(Nanoseconds(1_000_000), |span| said!(duration: span)) },
    Key { name: "requests", form: Form::Count(value::LARGEST, |number| said!(requests: number)) },
    Key { name: "bytes", form: Form::Size(value::LARGEST, |bytes| said!(bytes: Bytes(bytes))) },
    Key { name: "warmup", form: Form::Duration(Nanoseconds(0), |span| said!(warmup: span)) },
    Key { name: "interval", form: Form::Duration(Nanoseconds(10_000_000), |span| said!(interval: span)) },
    listed!("block_phases", block_phases: BlockPhases),
    Key { name: "cpus", form: Form::Processors },
    Key { name: "processors", form: Form::Count(4096, |number| said!(processors: number as u32)) },
    listed!("cpu_accounting", cpu_accounting: CpuAccounting),
    shown!("set", set: ["disks=4", "pci.rate=533MB/s,disks=4"]),
];

impl Key {
    /// What one value says.
    pub(super) fn read(&self, value: &DeValue<'_>) -> Result<WorkloadSpec, Problem> {
        match &self.form {
            Form::Size(high, say) => value::size(value, *high).map(say),
            Form::Place(say) => value::bytes(value, 0, value::LARGEST).map(say),
            Form::Count(high, say) => value::count(value, 1, *high).map(say),
            Form::Duration(low, say) => value::duration(value, *low).map(say),
            Form::Word(choices, say) => value::word(value, &choices(), say),
            Form::Processors => processors(value),
        }
    }

    /// How a number of this key is read and what it says; none for keys whose values cannot be multiplied.
    pub(super) fn numeric(&self) -> Option<Numeric> {
        match self.form {
            Form::Size(most, say) => Some(Numeric { read: value::size, most, say }),
            Form::Count(most, say) => Some(Numeric { read: |value, most| value::count(value, 1, most), most, say }),
            _ => None,
        }
    }
}

/// A key with numbers.
pub(super) struct Numeric {
    /// Takes the value and the most it may be.
    pub read: fn(&DeValue<'_>, u64) -> Result<u64, Problem>,
    pub most: u64,
    pub say: fn(u64) -> WorkloadSpec,
}

fn processors(value: &DeValue<'_>) -> Result<WorkloadSpec, Problem> {
    const EXPECTED: &str = "a list of processor numbers, such as [0, 1]";
    // More numbers than workers would pin nothing.
    const MOST: usize = MAX_WORKERS as usize;
    let list = value.as_array().ok_or_else(|| value::is_not(value, EXPECTED))?;
    if list.len() > MOST {
        return Err(Problem::new("too many processors", format!("list at most {MOST}")));
    }
    let cpus = list.iter().map(|item| value::count(item.get_ref(), 0, 4095).map(|cpu| cpu as u32));
    Ok(said!(cpus: cpus.collect::<Result<_, _>>()?))
}
