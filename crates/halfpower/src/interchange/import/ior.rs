//! IOR's JSON (`-O summaryFormat=json`) and ordinary output: a sample for each access of each repetition.
//!
//! MiB are 2^20 bytes. Bandwidth is over the whole time, including open and close; IOPS are IOR's own. Direct I/O is an option
//! of the back end and is not printed: the command line has `-B`, `odirect` or `O_DIRECT`, or a POSIX back end is buffered.
//! The `latency` of a result is left out, because its meaning changed between versions.

use super::error::Fault;
use super::json::{count, documents, figure};
use super::record::{Figures, fill_only, lasted, origin, size};
use super::tables::{KIB, MIB, Row};
use super::text::{c_time, lines};
use super::{Collected, Format, Source};
use halfpower_model::{
    Buffering, Bytes, Closing, Durability, Environment, Operation, Pattern, Sample, WorkerKind, WorkloadSpec,
};
use serde_json::Value;
use std::collections::BTreeMap;

/// Whether it is a file of IOR.
pub(super) fn is_one(source: Source<'_>) -> bool {
    is_printed(source) || source.text.contains("\"tests\"") && source.text.contains("\"bwMiB\"")
}

/// Every result.
///
/// # Errors
/// If a document is invalid, or a result lacks a required figure.
pub(super) fn read(source: Source<'_>) -> Result<Collected, Fault> {
    if is_printed(source) {
        return read_printed(source);
    }
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
    let bytes_per_s = required("bwMiB")? * MIB;
    let option = |section: &str, key: &str| test.get(section)?.get(key).and_then(count);
    let request = result.get("xferKiB").and_then(figure).and_then(|kib| size((kib * 1024.0) as u64));
    let tasks = option("Options", "tasks").and_then(|tasks| u32::try_from(tasks).ok());
    let block = option("Parameters", "blockSize");
    let segments = option("Parameters", "segmentCount").or_else(|| option("Options", "segments"));
    let span = block.zip(segments).and_then(|(block, segments)| block.checked_mul(segments)).map(Bytes);
    let all = span.zip(tasks).and_then(|(span, tasks)| span.0.checked_mul(u64::from(tasks)));
    let random = option("Parameters", "randomOffset");
    let api = test.get("Options").and_then(|options| options.get("api")).and_then(Value::as_str);
    let command = document.get("Command line").and_then(Value::as_str).unwrap_or_default();
    let spec = WorkloadSpec {
        operation: Some(operation),
        pattern: random.map(|random| if random > 0 { Pattern::Random } else { Pattern::Sequential }),
        request_size: request,
        depth: Some(1),
        workers: tasks,
        processes: Some(WorkerKind::Process),
        buffering: buffering(api.unwrap_or_default(), command),
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
    let own = result.get("iops").and_then(figure).filter(|rate| *rate > 0.0);
    let requests_per_s = own.or_else(|| Some(bytes_per_s / request?.0 as f64));
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

/// Whether it is what IOR prints.
fn is_printed(source: Source<'_>) -> bool {
    source.text.contains("MPI Coordinated Test of Parallel I/O") && source.text.contains("bw(MiB/s)")
}

/// Each access of each repetition.
///
/// # Errors
/// At a row without a bandwidth.
fn read_printed(source: Source<'_>) -> Result<Collected, Fault> {
    let mut collected = Collected::default();
    let (mut said, mut names) = (BTreeMap::new(), Vec::new());
    for line in lines(source.text) {
        let (line, text) = line?;
        // Of version 2: `clients = 4 (2 per node)`.
        if let Some((key, value)) = text.split_once(": ").or_else(|| text.split_once(" = ")) {
            said.insert(key.trim(), value.trim());
        }
        let fields: Vec<&str> = text.split_whitespace().collect();
        let operation = match fields.first() {
            Some(&"access") if fields.contains(&"bw(MiB/s)") => {
                names = fields;
                continue;
            }
            Some(&"read") => Operation::Read,
            Some(&"write") => Operation::Write,
            _ => continue,
        };
        // The summary at the end has other columns.
        if fields.len() == names.len() {
            let mut sample = printed_sample(source, &said, operation, &Row { line, names: &names, fields })?;
            if let Some(start) = said.get("StartTime").or_else(|| said.get("Began")).and_then(|text| c_time(text)) {
                collected.began_in_utc(&mut sample, start);
            }
            collected.take(sample)?;
        }
    }
    Ok(collected)
}

fn printed_sample(
    source: Source<'_>,
    said: &BTreeMap<&str, &str>,
    operation: Operation,
    row: &Row<'_>,
) -> Result<Sample, Fault> {
    let of = |key: &str| said.get(key).copied();
    let first = |text: &str| text.split_whitespace().next()?.parse::<u32>().ok();
    let kib = |name: &str| row.figure(name).and_then(|kib| size((kib * KIB) as u64));
    let tasks = of("tasks").or_else(|| of("clients")).and_then(first);
    let segments = of("segments").and_then(first).unwrap_or(1);
    let span = kib("block(KiB)").and_then(|block| block.0.checked_mul(u64::from(segments)));
    let all = span.zip(tasks).and_then(|(span, tasks)| span.checked_mul(u64::from(tasks)));
    let is_own = of("access").is_some_and(|access| access.contains("file-per-process"));
    let request = kib("xfer(KiB)");
    let command = of("Command line").or_else(|| of("Command line used")).unwrap_or_default();
    let has = |flag: &str| command.split_whitespace().any(|word| word == flag);
    let durability = match (has("-Y"), has("-e")) {
        (true, _) => Durability::Fsync { every: 1 },
        (_, true) => Durability::FlushAtEnd,
        _ => Durability::None,
    };
    let spec = WorkloadSpec {
        operation: Some(operation),
        pattern: of("ordering in a file").map(|order| match order.starts_with("random") {
            true => Pattern::Random,
            false => Pattern::Sequential,
        }),
        request_size: request,
        depth: Some(1),
        workers: tasks,
        processes: Some(WorkerKind::Process),
        buffering: buffering(of("api").unwrap_or_default(), command),
        size: if is_own { span } else { all }.map(Bytes),
        bytes: all.map(Bytes),
        durability: (operation.writes() && !command.is_empty()).then_some(durability),
        time_close: Some(Closing::Timed),
        ..WorkloadSpec::default()
    };
    let version = source.text.lines().find_map(|line| line.strip_prefix("IOR-")?.split(':').next());
    let record = row.text("iter").map(|iteration| format!("iteration {iteration}"));
    let from = origin(Format::Ior, source, Some(row.line), record.as_deref(), version);
    let file = of("test filename").unwrap_or_default();
    let mut sample = Sample::imported(spec.imported(None), Environment::unknown(file, None), from);
    let bytes_per_s = row.needed("bw(MiB/s)")? * MIB;
    let seconds = row.figure("total(s)").filter(|seconds| *seconds > 0.0);
    // A stonewall ends a test before all bytes were moved.
    let whole = all.filter(|_| !has("-D") && of("stonewallingTime").is_none());
    let requests_per_s = row.figure("IOPS").or_else(|| Some(bytes_per_s / request?.0 as f64));
    let requests = whole.zip(request).map(|(bytes, request)| bytes / request.0);
    fill_only(
        &mut sample,
        Figures { requests, bytes: whole, requests_per_s, bytes_per_s: Some(bytes_per_s), ..Figures::default() },
    );
    seconds.into_iter().for_each(|seconds| lasted(&mut sample, seconds));
    Ok(sample)
}

/// The buffering of IOR, by its back end and command line; none if a script may say another.
fn buffering(api: &str, command: &str) -> Option<Buffering> {
    let command = command.replace("O_DIRECT=0", "");
    let mut words = command.split([' ', '"', '=', ',']);
    let is_direct = |word: &str| ["odirect", "O_DIRECT"].iter().any(|name| word.ends_with(name));
    if words.clone().any(|word| word == "-B" || is_direct(word)) {
        return Some(Buffering::Direct);
    }
    (api == "POSIX" && !command.is_empty() && words.all(|word| word != "-f")).then_some(Buffering::Buffered)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn direct_is_an_option_by_several_names() {
        for option in ["-B", "--posix.odirect", "-O useO_DIRECT=1", "-O summaryFormat=json,useO_DIRECT=1"] {
            assert_eq!(buffering("POSIX", &format!("ior {option} -w")), Some(Buffering::Direct), "{option}");
        }
        assert_eq!(buffering("POSIX", "ior -O useO_DIRECT=0 -w"), Some(Buffering::Buffered));
    }
}
