//! IOR's JSON (`-O summaryFormat=json`): a sample for each access of each repetition.
//!
//! MiB are 2^20 bytes. Figures are over the whole time, including open and close, like IOR's bandwidth. Direct I/O is
//! an option of the back end and is not printed: buffering is unknown unless the command line has `-B` or `odirect`.
//! The `latency` of a result is left out, because its meaning changed between versions.

use super::error::Fault;
use super::json::{count, documents, figure};
use super::record::{Figures, fill_only, lasted, origin, size};
use super::text::c_time;
use super::{Collected, Format, Source};
use halfpower_model::{
    Buffering, Bytes, Closing, Durability, Environment, Operation, Pattern, Sample, WorkerKind, WorkloadSpec,
};
use serde_json::Value;

/// Whether it is a file of IOR.
pub(super) fn is_one(source: Source<'_>) -> bool {
    source.text.contains("\"tests\"") && source.text.contains("\"bwMiB\"")
}

/// Every result.
///
/// # Errors
/// If a document is invalid, or a result lacks a required figure.
pub(super) fn read(source: Source<'_>) -> Result<Collected, Fault> {
    let mut collected = Collected::default();
    for document in documents(source.text)? {
        let tests = document.value.get("tests").and_then(Value::as_array);
        let tests = tests.ok_or_else(|| Fault::at(document.line, "the document is not IOR's: it has no `tests`"))?;
        for (number, test) in tests.iter().enumerate() {
            let place = format!("test {}", number + 1);
            let at = |what: String| Fault::at(document.line, format!("{place}: {what}"));
            for result in results(test) {
                let sample = sample_of(source, document.line, &document.value, test, result, &mut collected);
                match sample.map_err(at)? {
                    Some(sample) => collected.take(sample)?,
                    None => collected.note(
                        "access_left_out",
                        format!("{place}: an access that is neither read nor write is left out"),
                        "nothing to do: it moves no data",
                    ),
                }
            }
        }
    }
    Ok(collected)
}

/// The results, a list for each repetition.
fn results(test: &Value) -> impl Iterator<Item = &Value> {
    let rounds = test.get("Results").and_then(Value::as_array).into_iter().flatten();
    rounds.flat_map(|round| round.as_array().map_or_else(|| std::slice::from_ref(round), Vec::as_slice))
}

fn sample_of(
    source: Source<'_>,
    line: u64,
    document: &Value,
    test: &Value,
    result: &Value,
    collected: &mut Collected,
) -> Result<Option<Sample>, String> {
    let operation = match result.get("access").and_then(Value::as_str) {
        Some("read") => Operation::Read,
        Some("write") => Operation::Write,
        _ => return Ok(None),
    };
    let required = |key: &str| result.get(key).and_then(figure).ok_or_else(|| format!("`{key}` is not a number"));
    let bytes_per_s = required("bwMiB")? * 1048576.0;
    let option = |section: &str, key: &str| test.get(section)?.get(key).and_then(count);
    let request = result.get("xferKiB").and_then(figure).and_then(|kib| size((kib * 1024.0) as u64));
    let tasks = option("Options", "tasks").and_then(|tasks| u32::try_from(tasks).ok());
    let block = option("Parameters", "blockSize");
    let segments = option("Parameters", "segmentCount").or_else(|| option("Options", "segments"));
    let span = block.zip(segments).and_then(|(block, segments)| block.checked_mul(segments)).map(Bytes);
    let all = span.zip(tasks).and_then(|(span, tasks)| span.0.checked_mul(u64::from(tasks)));
    let random = option("Parameters", "randomOffset");
    let command = document.get("Command line").and_then(Value::as_str).unwrap_or_default();
    let direct = command.split([' ', '"', '=']).any(|word| word == "-B" || word.ends_with("odirect"));
    let spec = WorkloadSpec {
        operation: Some(operation),
        pattern: random.map(|random| if random > 0 { Pattern::Random } else { Pattern::Sequential }),
        request_size: request,
        depth: Some(1),
        workers: tasks,
        processes: Some(WorkerKind::Process),
        buffering: direct.then_some(Buffering::Direct),
        size: if option("Parameters", "filePerProc") == Some(1) { span } else { all.map(Bytes) },
        bytes: all.map(Bytes),
        durability: operation.writes().then(|| durability(&option)).flatten(),
        time_close: Some(Closing::Timed),
        ..WorkloadSpec::default()
    };
    let name = test.get("Parameters").and_then(|parameters| parameters.get("testFileName")).and_then(Value::as_str);
    let record = test.get("TestID").map(|id| format!("test {id}"));
    let version = document.get("Version").and_then(Value::as_str);
    let from = origin(Format::Ior, source, Some(line), record.as_deref(), version);
    let mut sample = Sample::imported(spec.imported(None), Environment::unknown(name.unwrap_or_default(), None), from);
    let seconds = result.get("totalTime").and_then(figure).filter(|seconds| *seconds > 0.0);
    let requests_per_s = request.map(|request| bytes_per_s / request.0 as f64);
    // A stonewall ends a test before all bytes were moved.
    let whole = all.filter(|_| option("Parameters", "deadlineForStonewall") == Some(0));
    let requests = whole.zip(request).map(|(bytes, request)| bytes / request.0);
    let figures =
        Figures { requests, bytes: whole, requests_per_s, bytes_per_s: Some(bytes_per_s), ..Figures::default() };
    fill_only(&mut sample, figures);
    seconds.into_iter().for_each(|seconds| lasted(&mut sample, seconds));
    if let Some(start) = test.get("StartTime").and_then(Value::as_str).and_then(c_time) {
        collected.began_in_utc(&mut sample, start);
    }
    Ok(Some(sample))
}

fn durability(option: &impl Fn(&str, &str) -> Option<u64>) -> Option<Durability> {
    match (option("Parameters", "fsync")?, option("Parameters", "fsyncperwrite").unwrap_or_default()) {
        (0, 0) => Some(Durability::None),
        (_, 0) => Some(Durability::FlushAtEnd),
        (0, _) => Some(Durability::Fsync { every: 1 }),
        _ => None,
    }
}
