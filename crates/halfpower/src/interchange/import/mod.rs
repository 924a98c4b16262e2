//! Results of other programs as samples: one file per format, one sample per record, nothing invented.
//!
//! Files are not trusted: their depth and the memory for their contents are limited, so an import stays under 200 MiB
//! for any file. Our own records are read in parts and may have any length; other formats are read as a whole, up to a
//! limit. Numbers must be finite, and an impossible figure ends the import with its line. Fields that a format does not
//! report are null in the sample (`docs/FORMAT.md`, "Import"); derived or assumed ones have a warning.

mod absurd;
#[cfg(test)]
mod damage;
mod diskspd;
mod elbencho;
mod error;
pub(crate) mod fio;
pub(crate) mod hdr;
mod ior;
mod iostat;
mod iozone;
mod json;
mod jsonl;
pub(crate) mod logs;
mod pieces;
mod plain;
mod record;
#[cfg(test)]
mod soundness;
pub(crate) mod sqlio;
mod tables;
#[cfg(test)]
mod tests;
mod text;

pub(crate) use error::ImportError;

use crate::input::{Input, Times};
use clap::ValueEnum;
use error::Fault;
use halfpower_model::sample::{Interval, Warning};
use halfpower_model::{Sample, TargetFacts, Unknown};
use pieces::Pieces;
use std::io::Read as _;
use std::path::Path;

/// Maximum size of a file that is read as a whole; our own records may have any length.
const MAX_FILE_BYTES: u64 = 32 << 20;
/// Bytes read to recognise the format.
const BEGIN_BYTES: u64 = 1 << 20;
/// Maximum number of records of a file.
const MAX_SAMPLES: usize = 12_000;
/// Maximum number of intervals of all its samples.
const MAX_INTERVALS: usize = 100_000;
/// Maximum memory of samples that are held at once, in bytes.
const MAX_MEMORY: usize = 40 << 20;
/// Minimum memory of a sample besides its struct: origin, small texts, the allocator's overhead.
const BESIDE: usize = 600;
/// Memory of the name of an unknown field.
const FIELD: usize = 100;
/// Samples before one whose parts it may share: those of a file may alternate.
const SHARED_WITH: usize = 4;
/// Maximum number of notes on a file.
const MAX_NOTES: usize = 1_000;

/// Formats that can be imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A trace of SQLIO: comma-separated, 14 columns
    Sqlio,
    /// What iozone prints: throughput of several processes (-t), tables of sizes
    Iozone,
    /// fio's JSON or JSON+, of versions 2 and 3, of a client too; its ordinary and terse output
    Fio,
    /// A log of fio: bandwidth, requests, latencies or histograms; its name says which
    FioLog,
    /// diskspd's XML or text
    Diskspd,
    /// elbencho's CSV or JSON
    Elbencho,
    /// IOR's JSON or ordinary output
    Ior,
    /// Our own sample records
    Halfpower,
    /// An interval log of HdrHistogram, of any program: latencies alone
    Hdr,
    /// What dd prints at its end
    Dd,
    /// What ioping prints, or its JSON (-J)
    Ioping,
    /// What `sysbench fileio run` prints
    Sysbench,
    /// vdbench's flatfile.html: the averages of its runs
    Vdbench,
    /// bonnie++'s CSV, its last line: block writes, block reads and seeks
    Bonnie,
    /// What `iostat -x -t -o JSON` prints: each disk over time, as a run's course from outside
    Iostat,
}

/// The contents of an imported file.
#[derive(Debug)]
pub(crate) struct Imported {
    /// What it was.
    pub(crate) format: Format,
    /// A sample for each record, in order.
    pub(crate) samples: Vec<Sample>,
    /// Assumptions, and parts left out.
    pub(crate) warnings: Vec<Warning>,
}

/// A file as text.
#[derive(Clone, Copy, Debug)]
struct Source<'a> {
    /// Its name.
    name: &'a str,
    text: &'a str,
}

/// Results collected while a file is read.
#[derive(Debug, Default)]
struct Collected {
    samples: Vec<Sample>,
    intervals: usize,
    /// Memory of the samples, in bytes.
    memory: usize,
    /// Doubts about the samples' figures; each sample gets them.
    doubts: Vec<Warning>,
    /// Notes on the file alone.
    notes: Vec<Warning>,
}

/// What marks an output of a program in a form that is not read, and how to get one that is.
const OTHERS: [(&str, &str); 8] = [
    ("Vdbench summary report", "vdbench's summary.html; import flatfile.html of the same folder"),
    ("Starting RD=", "vdbench's log; import flatfile.html of its output folder"),
    ("Completed operations", "elbencho's live output; run it with --csvfile FILE or --jsonfile FILE"),
    ("RESULT TYPE", "elbencho's console table; run it with --jsonfile FILE or --csvfile FILE"),
    ("access,bw(MiB/s)", "IOR's CSV; run it with -O summaryFormat=JSON"),
    ("%util", "iostat's table; use `iostat -x -t -o JSON 1 60`"),
    ("--Sequential Output--", "bonnie++'s table without its CSV, the last line; `bonnie++ -q` prints that line alone"),
    (
        "Threads fairness:",
        "sysbench's output of another test or version; only that of `sysbench fileio run` of 1.0 is read",
    ),
];

/// A format: its word, the program that writes it, and the functions that recognise and read it.
type Form = (&'static str, Option<&'static str>, fn(Source<'_>) -> bool, fn(Source<'_>) -> Result<Collected, Fault>);

/// In the order of [`Format`].
const FORMS: [(Format, Form); 15] = [
    (Format::Sqlio, ("sqlio", None, sqlio::is_one, sqlio::read)),
    (Format::Iozone, ("iozone", Some("iozone"), iozone::is_one, iozone::read)),
    (Format::Fio, ("fio", None, fio::is_one, fio::read)),
    (Format::FioLog, ("fio-log", Some("fio"), fio::is_log, fio::read_log)),
    (Format::Diskspd, ("diskspd", Some("diskspd"), diskspd::is_one, diskspd::read)),
    (Format::Elbencho, ("elbencho", Some("elbencho"), elbencho::is_one, elbencho::read)),
    (Format::Ior, ("ior", Some("IOR"), ior::is_one, ior::read)),
    (Format::Halfpower, ("halfpower", None, jsonl::is_one, jsonl::read)),
    (Format::Hdr, ("hdr", None, hdr::is_one, hdr::read)),
    (Format::Dd, ("dd", Some("dd"), plain::is_dd, plain::read_dd)),
    (Format::Ioping, ("ioping", Some("ioping"), plain::is_ioping, plain::read_ioping)),
    (Format::Sysbench, ("sysbench", Some("sysbench"), plain::is_sysbench, plain::read_sysbench)),
    (Format::Vdbench, ("vdbench", Some("vdbench"), tables::is_vdbench, tables::read_vdbench)),
    (Format::Bonnie, ("bonnie", Some("bonnie++"), tables::is_bonnie, tables::read_bonnie)),
    (Format::Iostat, ("iostat", Some("iostat"), iostat::is_one, iostat::read)),
];

impl Format {
    /// Its word in records and on the command line.
    pub(crate) fn word(self) -> &'static str {
        FORMS[self as usize].1.0
    }

    /// The program that writes it.
    pub(crate) fn tool(self) -> Option<&'static str> {
        FORMS[self as usize].1.1
    }

    /// The same, or its word where records name several programs.
    pub(crate) fn program(self) -> &'static str {
        self.tool().unwrap_or(self.word())
    }

    /// Whether it is what a program prints for people, of which a file may have several.
    fn is_printed(self) -> bool {
        use Format::{Bonnie, Dd, Diskspd, Fio, Ioping, Ior, Iozone, Sysbench};
        [Bonnie, Dd, Diskspd, Fio, Ior, Ioping, Iozone, Sysbench].contains(&self)
    }

    /// The format, by the contents or else by the name; none if it is unknown.
    fn recognise(source: Source<'_>) -> Option<Format> {
        let found = FORMS.iter().find(|(_, (_, _, is_one, _))| is_one(source)).map(|(format, _)| *format);
        let is_named = || source.name.ends_with(".hlog") || source.name.ends_with(".hdr");
        found.or_else(|| is_named().then_some(Format::Hdr))
    }
}

/// Reads a file of another program and passes its samples to `keep`, in order, as they are read. Returns its format and
/// the warnings.
///
/// # Errors
/// If the file cannot be read, its format is unknown, or a line is invalid; errors of `keep`.
pub(crate) fn import(
    path: &Path,
    format: Option<Format>,
    keep: &mut dyn FnMut(Sample) -> anyhow::Result<()>,
) -> anyhow::Result<(Format, Vec<Warning>)> {
    let name = path.to_string_lossy();
    let unreadable = |source| ImportError::Unreadable { file: name.to_string(), source };
    let mut input = Input::open(path, Times::Once).map_err(unreadable)?;
    let mut begin = Vec::new();
    input.by_ref().take(BEGIN_BYTES).read_to_end(&mut begin).map_err(unreadable)?;
    if !is_cut(&name, &begin, format) {
        let bytes = input.read_up_to(MAX_FILE_BYTES, begin).map_err(unreadable)?;
        let Imported { format, samples, warnings } = import_bytes(&name, &bytes, format)?;
        samples.into_iter().try_for_each(keep)?;
        return Ok((format, warnings));
    }
    let format = Format::Halfpower;
    let (mut is_empty, mut warnings) = (true, Vec::<Warning>::new());
    let mut pieces = Pieces::new(begin.chain(input));
    while let Some(piece) = pieces.next().map_err(unreadable)? {
        let imported = match import_bytes(&name, &piece.bytes, Some(format)) {
            Err(ImportError::Empty { .. }) => continue,
            Err(ImportError::Broken { file, format, fault }) => {
                return Err(ImportError::Broken { file, format, fault: fault.behind(piece.lines_before) }.into());
            }
            imported => imported?,
        };
        imported.samples.into_iter().try_for_each(&mut *keep)?;
        is_empty = false;
        let is_new = |warning: &Warning| warnings.iter().all(|known| known.code != warning.code);
        let new: Vec<Warning> = imported.warnings.into_iter().filter(is_new).collect();
        warnings.extend(new);
    }
    if is_empty {
        return Err(ImportError::Empty { file: name.into_owned(), format: format.word(), why: None }.into());
    }
    Ok((format, warnings))
}

/// Whether a file is read in parts, by its first bytes: our own records can be.
fn is_cut(name: &str, begin: &[u8], format: Option<Format>) -> bool {
    let is_wide = begin.starts_with(&[0xff, 0xfe]) || begin.starts_with(&[0xfe, 0xff]);
    let recognised = || Format::recognise(Source { name, text: &text::decoded(begin) });
    !is_wide && format.or_else(recognised) == Some(Format::Halfpower)
}

/// Imports the contents of a file.
pub(crate) fn import_bytes(name: &str, bytes: &[u8], format: Option<Format>) -> Result<Imported, ImportError> {
    let text = text::decoded(bytes);
    let source = Source { name, text: &text };
    let format = match format.or_else(|| Format::recognise(source)) {
        Some(format) => format,
        None if text.trim().is_empty() => return Err(ImportError::Blank { file: name.to_owned() }),
        None => {
            let known = OTHERS.iter().find(|(mark, _)| text.contains(mark)).map(|(_, what)| *what);
            let what = known.map(|what| format!(" (it looks like {what})")).unwrap_or_default();
            return Err(ImportError::Unknown { file: name.to_owned(), what });
        }
    };
    // A log of a script may have the outputs of several.
    let is_other = |(other, (.., is_one, _)): &&(Format, Form)| {
        other.is_printed() && other.program() != format.program() && is_one(source)
    };
    let other = FORMS.iter().find(is_other).filter(|_| format.is_printed());
    let broken = |fault| ImportError::Broken { file: name.to_owned(), format: format.word(), fault };
    let mut collected = (FORMS[format as usize].1.3)(source).map_err(broken)?;
    if let Some((other, _)) = other {
        let message = format!("it also has results of {}, which are left out", other.word());
        collected.note("several_programs", message, "split the file: one for each program");
    }
    // The last field of a row may be cut, with no other sign of it.
    let has_rows = matches!(format, Format::Sqlio | Format::FioLog);
    if has_rows && !text.ends_with(['\n', '\r']) {
        let message = "the last line has no end: the file may be cut short within its last field";
        collected.note("no_line_end", message, "compare it with the file it was copied from");
    }
    if collected.samples.is_empty() {
        let why = collected.notes.first().map(|note| format!("{}: {}", note.message, note.remedy));
        return Err(ImportError::Empty { file: name.to_owned(), format: format.word(), why });
    }
    Ok(collected.finish(format))
}

impl Collected {
    /// Adds a sample, if its figures are possible.
    fn take(&mut self, mut sample: Sample) -> Result<(), Fault> {
        let line = sample.origin.as_ref().and_then(|origin| origin.line);
        // There may be many intervals, and none is longer than the sample.
        let intervals = std::mem::take(&mut sample.intervals);
        let record = serde_json::to_value(&sample).unwrap_or_default();
        sample.intervals = intervals;
        absurd::absurd(&record).map_or(Ok(()), |absurd| Err(Fault::new(line, absurd)))?;
        self.take_checked(sample)
    }

    /// Adds a sample; its parts that equal those of one of the last before are shared.
    fn take_checked(&mut self, mut sample: Sample) -> Result<(), Fault> {
        if self.samples.len() == MAX_SAMPLES {
            return Err(Fault::whole(format!("it has more than {MAX_SAMPLES} records; split it")));
        }
        self.intervals += sample.intervals.len();
        if self.intervals > MAX_INTERVALS {
            return Err(Fault::whole(format!("it has more than {MAX_INTERVALS} intervals; split it")));
        }
        sample.latency_histogram.pack();
        let before = &self.samples[self.samples.len().saturating_sub(SHARED_WITH)..];
        before.iter().for_each(|before| sample.share(before));
        self.memory += memory_of(&sample, before);
        if self.memory > MAX_MEMORY {
            let most = MAX_MEMORY >> 20;
            return Err(Fault::whole(format!("its samples take more than {most} MiB of memory; split it")));
        }
        self.samples.push(sample);
        Ok(())
    }

    /// Adds a doubt about every sample, once.
    fn doubt(&mut self, code: &str, message: impl AsRef<str>, remedy: &str) {
        let message = error::shortened(message.as_ref());
        if self.doubts.iter().all(|doubt| doubt.code != code) {
            self.doubts.push(Warning::new(code, message, remedy));
        }
    }

    /// Sets when a sample began, by a clock without a known zone.
    fn began_in_utc(&mut self, sample: &mut Sample, at: jiff::Timestamp) {
        record::began(sample, at);
        let message = "the times of day name no zone: they are taken as UTC";
        self.doubt("time_zone_unknown", message, "nothing to do, unless the time of day matters");
    }

    /// Adds a note on the file, once.
    fn note(&mut self, code: &str, message: impl AsRef<str>, remedy: &str) {
        let message = error::shortened(message.as_ref());
        if self.notes.len() < MAX_NOTES && self.notes.iter().all(|note| note.message != message) {
            self.notes.push(Warning::new(code, message, remedy));
        }
    }

    fn finish(mut self, format: Format) -> Imported {
        let mut warnings = self.doubts.clone();
        for sample in &mut self.samples {
            // Warnings of an earlier import name lines of another file.
            let are_earlier = format == Format::Halfpower && sample.origin.is_some();
            for own in sample.warnings.iter().filter(|_| !are_earlier) {
                if warnings.iter().all(|known| known.code != own.code) {
                    warnings.push(own.clone());
                }
            }
            sample.warnings.extend(self.doubts.iter().cloned());
        }
        warnings.append(&mut self.notes);
        Imported { format, samples: self.samples, warnings }
    }
}

/// The memory of a sample in bytes, without the parts shared with those before. Its texts are no longer than the file.
fn memory_of(sample: &Sample, before: &[Sample]) -> usize {
    let own_environment = before.iter().all(|before| !sample.environment.is(&before.environment));
    let unknown = |of: fn(&Sample) -> Option<&Unknown>| {
        let own = of(sample).filter(|own| !before.iter().filter_map(of).any(|other| own.is(other)));
        own.map_or(0, |own| own.fields().count() * FIELD)
    };
    let unknown = unknown(|one| Some(&one.workload.unknown)) + unknown(|one| Some(&one.origin.as_ref()?.unknown));
    let environment = if own_environment {
        size_of_val(&*sample.environment) + sample.environment.more_targets.len() * (size_of::<TargetFacts>() + BESIDE)
    } else {
        0
    };
    let lists = sample.intervals.len() * size_of::<Interval>() + size_of_val(&sample.workers[..]);
    size_of::<Sample>() + BESIDE + environment + unknown + lists + sample.latency_histogram.memory()
}
