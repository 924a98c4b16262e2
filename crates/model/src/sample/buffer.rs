//! Whether writes that end with a flush may have ended in a buffer of the device: one that outlasts a loss of power is as
//! good as the medium, so that a flush need not empty it, and a trial that writes little has the speed of the buffer.

use super::{Sample, Warning};
use crate::units::Bytes;
use crate::workload::Durability;

/// How many times what the buffer holds has to be written that it matters no more: a tenth of it is left there.
const ENOUGH: u64 = 10;
/// What has to be written where nobody tells what the buffer holds: controllers have some, drives less.
const ENOUGH_FOR_ANY: Bytes = Bytes::GIB;

/// A warning of a sample that wrote little against a buffer that needs no flush; of an unknown one where `buffer` is none.
/// Only of samples whose figure has all from the first write to the flush behind the last.
pub fn left_in_buffer(sample: &Sample, buffer: Option<Bytes>) -> Option<Warning> {
    let workload = &sample.workload;
    let is_whole = workload.durability == Durability::FlushAtEnd && workload.warmup.0 == 0 && sample.is_complete();
    let written = Bytes(sample.write.as_ref().filter(|write| is_whole && write.bytes > 0)?.bytes);
    let enough = buffer.map_or(ENOUGH_FOR_ANY, |buffer| Bytes(buffer.0.saturating_mul(ENOUGH)));
    let message = match buffer {
        Some(buffer) => format!(
            "{written} were written, and up to {} of it was left in a buffer that needs no flush",
            buffer.min(written)
        ),
        None => format!(
            "{written} were written to a device that says it needs no flush: what of it a protected buffer still had is not known"
        ),
    };
    let remedy = format!("write {enough} or more a trial (bytes)");
    (written < enough).then(|| Warning::new("left_in_buffer", message, remedy))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::Environment;
    use crate::sample::Totals;
    use crate::units::Nanoseconds;
    use crate::workload::Workload;

    #[test]
    fn little_against_a_buffer_is_told() {
        let told = |mib: u64, buffer: Option<u64>, change: fn(&mut Workload)| {
            let mut workload = Workload { durability: Durability::FlushAtEnd, ..Workload::default() };
            change(&mut workload);
            let write = Totals { bytes: mib << 20, ..Totals::default() };
            let sample = Sample { write: Some(write), ..Sample::empty(workload, Environment::unknown("a", None)) };
            left_in_buffer(&sample, buffer.map(|mib| Bytes(mib << 20)))
                .map(|warning| warning.message + "; " + &warning.remedy)
        };
        let any: fn(&mut Workload) = |_| {};
        assert_eq!(
            told(32, Some(16), any).unwrap(),
            "32 MiB were written, and up to 16 MiB of it was left in a buffer that needs no flush; write 160 MiB or more a trial (bytes)"
        );
        assert!(told(4, Some(16), any).unwrap().contains("up to 4 MiB of it"));
        assert!(told(32, None, any).unwrap().ends_with("1 GiB or more a trial (bytes)"));
        assert_eq!([told(160, Some(16), any), told(1024, None, any), told(32, Some(0), any)], [None, None, None]);
        // The buffer was full before the measured part, or nothing says that the figure is of the storage.
        assert_eq!(told(32, Some(16), |workload| workload.warmup = Nanoseconds(1)), None);
        assert_eq!(told(32, Some(16), |workload| workload.durability = Durability::None), None);
    }
}
