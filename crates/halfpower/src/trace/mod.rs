//! Traces of requests: their file, other programs' formats, what they hold, and their recording.
//!
//! Any format is turned into entries in one pass, in constant memory. What is replayed or shown is always our own file; one of
//! another format is read into a temporary file first.

mod columns;
mod file;
mod iolog;
mod kernel;
mod order;
pub(crate) mod record;
mod reuse;
pub(crate) mod show;
pub(crate) mod statistics;
pub(crate) mod synthetic;
#[cfg(test)]
mod tests;

pub(crate) use file::TraceFile;

use crate::input::{Input, Times};
use anyhow::{Context as _, Result, anyhow, bail};
use clap::ValueEnum;
use columns::Columns;
use file::{MAX_OFFSET, TraceWriter};
use halfpower_model::RequestKind;
use halfpower_model::sample::Warning;
use halfpower_model::trace::Entry;
use iolog::Iolog;
use kernel::{Issue, Records, is_binary};
use order::{Event, Ordering};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// Bytes by which a format is recognised.
const BEGIN: u64 = 1 << 20;
/// Longest line.
const LINE: usize = 4096;

/// Formats of traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TraceFormat {
    /// Halfpower's own
    Halfpower,
    /// fio's log of requests (write_iolog), version 2 or 3
    Iolog,
    /// What blkparse prints
    Blkparse,
    /// blktrace's own files; those of other CPUs beside it are read too
    Blktrace,
    /// What bcc's biosnoop prints
    Biosnoop,
    /// CSV of Microsoft Research, Cambridge (SNIA)
    Msr,
    /// CSV of the Storage Performance Council
    Spc,
    /// CSV of Alibaba's block traces
    Alibaba,
    /// CSV of Tencent's block traces
    Tencent,
    /// DiskSim's ASCII form
    Disksim,
    /// Traces of Florida International University (SNIA)
    Fiu,
}

impl TraceFormat {
    /// Its word.
    pub(crate) fn word(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    /// The columns of a format that has them.
    fn columns(self, first: &str) -> Option<Columns> {
        match self {
            TraceFormat::Msr => Some(columns::MSR),
            TraceFormat::Spc => Some(columns::SPC),
            TraceFormat::Alibaba => Some(columns::ALIBABA),
            TraceFormat::Tencent => Some(columns::TENCENT),
            TraceFormat::Disksim => Some(columns::DISKSIM),
            TraceFormat::Fiu => Some(columns::FIU),
            TraceFormat::Biosnoop => columns::biosnoop(first),
            _ => None,
        }
    }

    /// The format of a file by its first bytes.
    fn of(begin: &[u8]) -> Option<TraceFormat> {
        if begin.starts_with(b"halfpower.trace/") {
            return Some(TraceFormat::Halfpower);
        }
        if is_binary(begin) {
            return Some(TraceFormat::Blktrace);
        }
        let text = String::from_utf8_lossy(begin);
        let first = text.lines().next()?;
        if Iolog::of(first).is_some() {
            return Some(TraceFormat::Iolog);
        }
        // Some have a heading.
        let lines = || text.lines().take(20).filter(|line| !line.trim().is_empty());
        if lines().any(|line| matches!(kernel::parsed(line, Issue::Queued), Ok(Some(_)))) {
            return Some(TraceFormat::Blkparse);
        }
        let is_of = |format: &TraceFormat| {
            format.columns(first).is_some_and(|columns| lines().any(|line| columns.read(line.as_bytes()).is_some()))
        };
        TraceFormat::value_variants().iter().copied().find(is_of)
    }
}

/// A trace ready to be read.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) file: TraceFile,
    pub(crate) format: TraceFormat,
    /// What was assumed or left out.
    pub(crate) notes: Vec<Warning>,
}

/// What of a file is read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wanted<'a> {
    pub(crate) format: Option<TraceFormat>,
    /// One device of several.
    pub(crate) device: Option<&'a str>,
}

/// Opens a trace; one of another format by way of a temporary file without a name.
///
/// # Errors
/// If it cannot be read, or no format is recognised; with the line and the remedy.
pub(crate) fn open(path: &Path, wanted: Wanted<'_>) -> Result<Opened> {
    let cannot = || format!("cannot read {}", path.display());
    let (format, begin) = recognise(path, wanted).with_context(cannot)?;
    if format == TraceFormat::Halfpower {
        let file = TraceFile::new(File::open(path)?).with_context(cannot)?;
        let cut = file.is_cut().then(|| {
            let message = "the trace was cut short: it ends within a request";
            Warning::new("cut_short", message, "record or copy it again")
        });
        return Ok(Opened { file, format, notes: cut.into_iter().collect() });
    }
    let into = without_name().context("cannot make a temporary file; set TMPDIR to a folder with space")?;
    convert(path, format, &begin, wanted.device, into).with_context(cannot)
}

/// Reads a trace of another format into a file of ours.
///
/// # Errors
/// As [`open`].
pub(crate) fn import(path: &Path, wanted: Wanted<'_>, into: File) -> Result<Opened> {
    let cannot = || format!("cannot read {}", path.display());
    let (format, begin) = recognise(path, wanted).with_context(cannot)?;
    if format == TraceFormat::Halfpower {
        bail!("{} is already a trace of Halfpower", path.display());
    }
    convert(path, format, &begin, wanted.device, into).with_context(cannot)
}

fn recognise(path: &Path, wanted: Wanted<'_>) -> Result<(TraceFormat, Vec<u8>)> {
    let mut begin = Vec::new();
    Input::open(path, Times::Several)?.take(BEGIN).read_to_end(&mut begin)?;
    let format = wanted.format.or_else(|| TraceFormat::of(&begin)).ok_or_else(|| {
        anyhow!("its format is not recognised; name it with --format, or see `halfpower trace --help` for those that are read")
    })?;
    Ok((format, begin))
}

/// A file without a name, which is gone when it is closed.
fn without_name() -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let flags = rustix::fs::OFlags::TMPFILE.bits() as i32;
    File::options().read(true).write(true).mode(0o600).custom_flags(flags).open(std::env::temp_dir())
}

/// Sends the requests of a source to a file, and keeps what is to be said of it.
struct Sink<'a> {
    ordering: Ordering,
    writer: TraceWriter,
    failed: Option<io::Error>,
    wanted: Option<&'a str>,
    /// The device of the first request.
    device: Option<Vec<u8>>,
    skipped: u64,
}

impl Sink<'_> {
    fn take(&mut self, device: &[u8], event: Event) -> Result<()> {
        match (self.wanted, &self.device) {
            (Some(wanted), _) if wanted.as_bytes() != device => {
                self.skipped += 1;
                return Ok(());
            }
            (None, Some(first)) if first != device => {
                let [first, other] = [first, device].map(|name| String::from_utf8_lossy(name).into_owned());
                bail!("it has requests of several devices, {first} and {other}; say which with --device {first}");
            }
            (None, None) => self.device = Some(device.to_vec()),
            _ => {}
        }
        if let Event::Issued { request, .. } = event
            && request.offset.saturating_add(request.length.into()) > MAX_OFFSET
        {
            bail!("it has a request at byte {}, which no device has; is it of another format?", request.offset);
        }
        if let Event::Issued { request, .. } = event
            && request.length == 0
            && request.kind != RequestKind::Flush
        {
            bail!("it has a request of 0 bytes; leave it out");
        }
        let (writer, failed) = (&mut self.writer, &mut self.failed);
        let mut give = |entry: Entry| {
            if failed.is_none() {
                *failed = writer.add(&entry).err();
            }
        };
        self.ordering.take(event, &mut give);
        self.failed.take().map_or(Ok(()), |error| Err(error).context("cannot write the trace"))
    }

    fn finish(mut self, format: TraceFormat) -> Result<Opened> {
        let mut failed = None;
        self.ordering.finish(&mut |entry| {
            if failed.is_none() {
                failed = self.writer.add(&entry).err();
            }
        });
        failed.map_or(Ok(()), Err).context("cannot write the trace")?;
        let file = self.writer.finish()?;
        if file.count() == 0 {
            bail!("it holds no request{}", if self.skipped > 0 { " of that device" } else { "" });
        }
        let mut notes = Vec::new();
        if self.ordering.moved > 0 {
            let message = format!(
                "{} requests were more than 4096 places out of order; their time was changed",
                self.ordering.moved
            );
            notes.push(Warning::new("trace_order", message, "sort the trace by time"));
        }
        Ok(Opened { file, format, notes })
    }
}

fn convert(path: &Path, format: TraceFormat, begin: &[u8], device: Option<&str>, into: File) -> Result<Opened> {
    let mut sink = Sink {
        ordering: Ordering::default(),
        writer: TraceWriter::new(into)?,
        failed: None,
        wanted: device,
        device: None,
        skipped: 0,
    };
    if format == TraceFormat::Blktrace {
        read_blktrace(path, &mut sink)?;
    } else {
        let mut source = BufReader::with_capacity(1 << 20, Input::open(path, Times::Once)?);
        read_lines(&mut source, format, &String::from_utf8_lossy(begin), &mut sink)?;
    }
    sink.finish(format)
}

/// Reads a format with a request a line. Lines of another form may stand at the start, and of blkparse at the end.
fn read_lines(source: &mut impl BufRead, format: TraceFormat, begin: &str, sink: &mut Sink<'_>) -> Result<()> {
    let first = begin.lines().next().unwrap_or_default();
    let (columns, issue) = (format.columns(first), Issue::of(begin));
    let mut iolog = Iolog::of(first);
    if format == TraceFormat::Blkparse {
        sink.ordering.await_completions();
    }
    let (mut line, mut number, mut unread, mut is_begun) = (Vec::new(), 0_u64, None, false);
    while read_line(source, &mut line, number)? {
        number += 1;
        let text = String::from_utf8_lossy(&line);
        let read = match (columns, &mut iolog, format) {
            (Some(columns), ..) => columns.read(&line).map(Some).ok_or(()),
            (_, Some(log), TraceFormat::Iolog) => {
                if number == 1 {
                    Ok(None)
                } else {
                    log.read(&text).map(|read| read.map(|(file, event)| (file.as_bytes(), event)))
                }
            }
            (.., TraceFormat::Blkparse) => {
                kernel::parsed(&text, issue).map(|read| read.map(|(device, event)| (device.as_bytes(), event)))
            }
            _ => bail!("it is not of that format"),
        };
        match read {
            _ if line.trim_ascii().is_empty() => {}
            Err(()) => {
                // A summary may follow the requests, and a heading stand before them; neither is amid them.
                unread.get_or_insert((number, text.into_owned()));
            }
            Ok(None) => {}
            Ok(Some((device, event))) => {
                if let Some((number, text)) = unread.take().filter(|_| is_begun) {
                    let shown: String = text.chars().take(60).collect();
                    bail!("line {number} is no request: `{shown}`");
                }
                is_begun = true;
                sink.take(device, event).with_context(|| format!("line {number}"))?;
            }
        }
    }
    match unread.filter(|_| is_begun && format != TraceFormat::Blkparse) {
        Some((number, text)) => {
            let shown: String = text.chars().take(60).collect();
            bail!("line {number}, behind the requests, is none: `{shown}`; is the file cut short?")
        }
        None => Ok(()),
    }
}

/// Reads a line without its end; false at the end of the file.
fn read_line(source: &mut impl BufRead, line: &mut Vec<u8>, number: u64) -> Result<bool> {
    line.clear();
    source.by_ref().take(LINE as u64).read_until(b'\n', line)?;
    if line.len() == LINE {
        bail!("line {} has more than {LINE} bytes", number + 1);
    }
    let is_there = !line.is_empty();
    if line.last() == Some(&b'\n') {
        line.pop();
    }
    Ok(is_there)
}

/// Reads the files of all CPUs in the order of their times.
fn read_blktrace(path: &Path, sink: &mut Sink<'_>) -> Result<()> {
    sink.ordering.await_completions();
    let open = |path: &PathBuf| -> Result<_> {
        let source = Input::open(path, Times::Once).with_context(|| format!("cannot read {}", path.display()))?;
        Ok(Records::new(BufReader::with_capacity(1 << 18, source)).peekable())
    };
    let mut sources = beside(path).iter().map(open).collect::<Result<Vec<_>>>()?;
    loop {
        let mut next: Option<(u64, usize)> = None;
        for (index, source) in sources.iter_mut().enumerate() {
            match source.peek() {
                Some(Ok((_, event))) if next.is_none_or(|(at_ns, _)| event.at_ns() < at_ns) => {
                    next = Some((event.at_ns(), index));
                }
                Some(Err(_)) => {
                    next = Some((0, index));
                    break;
                }
                _ => {}
            }
        }
        let Some((_, index)) = next else { return Ok(()) };
        let Some(event) = sources[index].next() else { return Ok(()) };
        let (device, event) = event?;
        // As blkparse names it.
        sink.take(format!("{},{}", device >> 20, device & 0xf_ffff).as_bytes(), event)?;
    }
}

/// The files of all CPUs: `sda.blktrace.0`, `sda.blktrace.1` and so on; else the file alone.
fn beside(path: &Path) -> Vec<PathBuf> {
    let name = path.to_string_lossy().into_owned();
    match name.rsplit_once(".blktrace.") {
        Some((base, number)) if number.parse::<u32>().is_ok() => {
            let paths = (0..4096).map(|cpu| PathBuf::from(format!("{base}.blktrace.{cpu}")));
            paths.filter(|path| path.is_file()).collect()
        }
        _ => vec![path.to_owned()],
    }
}
