//! The forms of diskspd 2, with made-up figures, and some made to be wrong.

use super::*;
use crate::interchange::import::import_bytes;
use halfpower_model::BytesPerSecond;

const XML: &str = include_str!("../seeds/diskspd/results.xml");
const TEXT: &str = include_str!("../seeds/diskspd/results.txt");

fn imported(text: &str) -> crate::interchange::import::Imported {
    import_bytes("d", text.as_bytes(), None).unwrap()
}

#[test]
fn xml_is_summed_over_threads() {
    let sample = imported(XML).samples.remove(0);
    assert_eq!(sample.workload.to_string(), "random mix=75, 4 KiB, QD8 × 2 workers, direct");
    assert_eq!((sample.total.requests, sample.total.bytes_per_s), (20_000, BytesPerSecond(8_192_000.0)));
    assert_eq!((sample.read.unwrap().requests, sample.write.unwrap().requests), (15_000, 5_000));
    let latency = sample.total.latency_ns;
    assert_eq!(
        (latency.mean, latency.min, latency.p99, latency.max),
        (Some(1.5e6), Some(100_000), Some(4_000_000), Some(9_000_000))
    );
    assert_eq!((sample.cpu.upper_s, sample.environment.cpus), (Some(20.0), 4));
    assert_eq!((sample.environment.target.path.as_str(), sample.workload.span), ("D:\\a.dat", Bytes(1 << 30)));
    assert_eq!((sample.environment.host.as_str(), sample.elapsed_s), ("alpha", 10.0));
    assert!(sample.origin.as_ref().unwrap().unknown.has("cpu.lower"));
}

#[test]
fn text_has_its_totals_and_percentiles() {
    let imported = imported(TEXT);
    assert_eq!(imported.format, Format::Diskspd);
    let sample = &imported.samples[0];
    assert_eq!(sample.workload.to_string(), "sequential read, 64 KiB, QD2, direct and through");
    assert_eq!((sample.total.requests, sample.total.requests_per_s, sample.total.bytes), (10_000, 1000.0, 655_360_000));
    let latency = sample.total.latency_ns;
    assert_eq!((latency.mean, latency.p50, latency.p99_9), (Some(2e6), Some(1_900_000), Some(7_000_000)));
    assert!(sample.write.is_none() && sample.read.is_some());
}

#[test]
fn mistakes_are_told_with_their_line() {
    for (text, message) in [
        (XML.replace("10.00<", "ten<"), "d:11: `TestTimeSeconds` is not a number"),
        (XML.replace("<IOCount>10000", "<IOCount>-1"), "d:19: `IOCount` is not a count"),
        (XML.replace("</Results>", ""), "the file ends within an element; is it cut short?"),
        (
            TEXT.replace("total:         655360000 |        10000", "total:         655360000 | x"),
            "d:28: the total of I/Os",
        ),
        (TEXT.replace("actual test time", "time"), "d:17: the time span has no"),
    ] {
        let error = import_bytes("d", text.as_bytes(), Some(Format::Diskspd)).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}
