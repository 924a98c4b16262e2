//! A row of the table that `halfpower export` writes as CSV or Parquet, back as a sample: what the table has no column for
//! stays unknown. Columns are found by their names; those that are not known are passed over, so that tables of later
//! versions are read.

use super::error::{Place, What};
use super::record::{Told, began, fill, lasted, origin, used};
use super::text::number;
use super::{Format, Source};
use halfpower_model::sample::{DepthMean, Failure, Latency, Parallel};
use halfpower_model::{BytesPerSecond, Environment, RequestKind, Sample, WorkloadSpec};
use std::borrow::Cow;
use std::str::FromStr;

/// Most columns a table may have.
pub(super) const MAX_COLUMNS: usize = 1000;

/// The fields of a row, none where nothing is known, in the order of the names.
pub(super) struct Row<'a> {
    pub(super) format: Format,
    pub(super) place: Place,
    pub(super) names: &'a [Cow<'a, str>],
    pub(super) fields: &'a [Option<Cow<'a, str>>],
}

impl Row<'_> {
    fn text(&self, name: &str) -> Option<&str> {
        let index = self.names.iter().position(|known| known == name)?;
        self.fields.get(index)?.as_deref().filter(|text| !text.is_empty())
    }

    fn wrong(&self, name: &str) -> What {
        let shown: String = self.text(name).unwrap_or_default().chars().take(40).collect();
        self.place.wrong(format!("the column `{name}` is `{shown}`, which it cannot be"))
    }

    /// A word or a count; none where the field is empty.
    fn said<T: FromStr>(&self, name: &str) -> Result<Option<T>, What> {
        self.text(name).map(|text| text.parse().map_err(|_| self.wrong(name))).transpose()
    }

    /// A number of bytes as such.
    fn bytes(&self, name: &str) -> Result<Option<halfpower_model::Bytes>, What> {
        Ok(self.said::<u64>(name)?.map(halfpower_model::Bytes))
    }

    fn figure(&self, name: &str) -> Result<Option<f64>, What> {
        self.text(name).map(|text| number(text).ok_or_else(|| self.wrong(name))).transpose()
    }

    fn workload(&self) -> Result<WorkloadSpec, What> {
        Ok(WorkloadSpec {
            operation: self.said("operation")?,
            pattern: self.said("pattern")?,
            request_size: self.bytes("request_size_bytes")?,
            sizes: self.said("sizes")?,
            depth: self.said("depth")?,
            workers: self.said("workers")?,
            buffering: self.said("buffering")?,
            personality: self.said("personality")?,
            durability: self.said("durability")?,
            cache: self.said("cache")?,
            file_state: self.said("file_state")?,
            span: self.bytes("span_bytes")?,
            seed: self.said("seed")?,
            set: self.said("set")?,
            ..WorkloadSpec::default()
        })
    }

    /// The sample it is of.
    ///
    /// # Errors
    /// At a column that is not what it has to be.
    pub(super) fn sample(&self, source: Source<'_>) -> Result<Sample, What> {
        let mut environment = Environment::unknown(self.text("target").unwrap_or_default(), None);
        self.text("host").unwrap_or_default().clone_into(&mut environment.host);
        self.text("kernel").unwrap_or_default().clone_into(&mut environment.kernel);
        let from = origin(self.format, source, self.place.line(), self.text("sample"));
        let mut sample = Sample::imported(self.workload()?.told(None), environment, from);
        let total = Told {
            requests: self.said("requests")?,
            bytes: self.said("bytes")?,
            latency: self.latency()?,
            ..self.rates("")?.unwrap_or_default()
        };
        fill(&mut sample, None, total);
        for (prefix, kind) in [("read_", RequestKind::Read), ("write_", RequestKind::Write)] {
            if let Some(told) = self.rates(prefix)? {
                fill(&mut sample, Some(kind), told);
            }
        }
        if let Some(at) = self.said("started_at")? {
            began(&mut sample, at);
        }
        if let Some(elapsed_s) = self.figure("elapsed_s")? {
            lasted(&mut sample, elapsed_s);
        }
        if let (Some(user_s), Some(system_s)) = (self.figure("cpu_user_s")?, self.figure("cpu_system_s")?) {
            used(&mut sample, user_s, system_s);
        }
        sample.cpu.upper_s = self.figure("cpu_upper_s")?;
        if let (Some(counted), Some(little)) = (self.figure("depth_mean")?, self.figure("depth_mean_little")?) {
            sample.depth_mean = DepthMean { little, counted };
            sample.tell("depth_mean");
        }
        if let Some(parent) = self.figure("parent_bytes_per_s")? {
            sample.parallel = Some(Parallel { parent_bytes_per_s: BytesPerSecond(parent), ..Parallel::default() });
            sample.tell("parallel.parent_bytes_per_s");
        }
        if let Some(bound) = self.said("generator_bound")? {
            sample.generator_bound = bound;
            sample.tell("generator_bound");
        }
        sample.failure = self
            .text("failure")
            .map(|code| Failure { code: code.to_owned(), message: "the table has no more words for it".to_owned() });
        sample.note = self.text("note").map(str::to_owned);
        Ok(sample)
    }

    /// Rates of a kind; none where it has none.
    fn rates(&self, prefix: &str) -> Result<Option<Told>, What> {
        let requests_per_s = self.figure(&format!("{prefix}requests_per_s"))?;
        let bytes_per_s = self.figure(&format!("{prefix}bytes_per_s"))?;
        let some = requests_per_s.is_some() || bytes_per_s.is_some();
        Ok(some.then(|| Told { requests_per_s, bytes_per_s, ..Told::default() }))
    }

    fn latency(&self) -> Result<Latency, What> {
        let figure = |name: &str| self.figure(&format!("latency_{name}_ns"));
        let count = |name: &str| self.said(&format!("latency_{name}_ns"));
        Ok(Latency {
            min: count("min")?,
            mean: figure("mean")?,
            stddev: figure("stddev")?,
            p50: count("p50")?,
            p90: count("p90")?,
            p95: count("p95")?,
            p99: count("p99")?,
            p99_9: count("p99_9")?,
            p99_99: count("p99_99")?,
            max: count("max")?,
        })
    }
}
