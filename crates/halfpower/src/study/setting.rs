//! The keys that say something of a workload: one table for reading, checking and listing them.
//!
//! A setting is a [`WorkloadSpec`] in which one key is said. So a list of values is a list of specs, and a point of a
//! sweep is the specs of its axes laid over one another.

use super::diagnostic::Problem;
use super::value;
use halfpower_model::spec::{MAX_DEPTH, MAX_REQUEST, MAX_WORKERS};
use halfpower_model::{
    Buffering, Bytes, CachePolicy, Durability, Nanoseconds, Pattern, Personality, RwFlags, WorkloadSpec,
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

/// Every key of a sweep, in the order in which listed cells vary: the first varies slowest.
pub(super) const KEYS: &[Key] = &[
    Key {
        name: "operation",
        form: Form::Word(|| vec!["read", "write", "mix=70"], |word| Some(said!(operation: word.parse().ok()?))),
    },
    Key {
        name: "pattern",
        form: Form::Word(|| Pattern::EXAMPLES.to_vec(), |word| Some(said!(pattern: word.parse().ok()?))),
    },
    Key {
        name: "buffering",
        form: Form::Word(
            || Buffering::ALL.iter().map(|buffering| buffering.word()).collect(),
            |word| Some(said!(buffering: word.parse().ok()?)),
        ),
    },
    Key {
        name: "cache",
        form: Form::Word(
            || CachePolicy::ALL.iter().map(|policy| policy.word()).collect(),
            |word| Some(said!(cache: word.parse().ok()?)),
        ),
    },
    Key {
        name: "durability",
        form: Form::Word(|| Durability::EXAMPLES.to_vec(), |word| Some(said!(durability: word.parse().ok()?))),
    },
    Key {
        name: "personality",
        form: Form::Word(
            || std::iter::once("auto").chain(Personality::ALL.iter().map(|personality| personality.word())).collect(),
            |word| match word {
                "auto" => Some(WorkloadSpec::default()),
                name => Some(said!(personality: name.parse().ok()?)),
            },
        ),
    },
    Key {
        name: "rw_flags",
        form: Form::Word(|| RwFlags::EXAMPLES.to_vec(), |word| Some(said!(rw_flags: word.parse().ok()?))),
    },
    Key { name: "workers", form: Form::Count(MAX_WORKERS as u64, |number| said!(workers: number as u32)) },
    Key { name: "depth", form: Form::Count(MAX_DEPTH as u64, |number| said!(depth: number as u32)) },
    Key { name: "submit_batch", form: Form::Count(MAX_DEPTH as u64, |number| said!(submit_batch: number as u32)) },
    Key { name: "request_size", form: Form::Size(MAX_REQUEST.0, |bytes| said!(request_size: Bytes(bytes))) },
    Key { name: "size", form: Form::Size(value::LARGEST, |bytes| said!(span: Bytes(bytes))) },
    Key { name: "duration", form: Form::Duration(Nanoseconds(1_000_000), |span| said!(duration: span)) },
    Key { name: "requests", form: Form::Count(value::LARGEST, |number| said!(requests: number)) },
    Key { name: "bytes", form: Form::Size(value::LARGEST, |bytes| said!(bytes: Bytes(bytes))) },
    Key { name: "warmup", form: Form::Duration(Nanoseconds(0), |span| said!(warmup: span)) },
    Key { name: "interval", form: Form::Duration(Nanoseconds(10_000_000), |span| said!(interval: span)) },
    Key { name: "cpus", form: Form::Processors },
];

impl Key {
    /// What one value says.
    pub(super) fn read(&self, value: &DeValue<'_>) -> Result<WorkloadSpec, Problem> {
        match &self.form {
            Form::Size(high, say) => value::size(value, *high).map(say),
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
