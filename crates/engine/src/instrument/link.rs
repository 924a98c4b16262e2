//! The limit of drive cache, link and bus: re-reads a small region of each target, alone and several together.
//!
//! After the first read the region is in the drive's cache, which leaves cache, link and bus. The Windows 2000 study found the
//! limits of its SCSI, IDE and PCI buses this way (section 3.5, memspeed). Every sample is an ordinary workload with direct
//! I/O. Each repetition measures every setting once, in random order. The program draws the conclusions.

use halfpower_model::histogram::Histogram;
use halfpower_model::random::{Random, derive_seed};
use halfpower_model::sample::Warning;
use halfpower_model::{
    Buffering, Bytes, BytesPerSecond, Cancel, Environment, Limits, MeasureError, Nanoseconds, Operation, Pattern,
    ResolveError, Sample, Testbed, Workload, WorkloadSpec,
};

/// Warm-up of each measurement: fills the caches, and uses up the burst of a rate limiter.
const WARMUP: Nanoseconds = Nanoseconds(500_000_000);
/// Duration of the small reads that recognise a medium, and their minimum size.
const LOOK: Nanoseconds = Nanoseconds(400_000_000);
const LOOK_BYTES: u64 = 4096;

/// Region, requests and repetitions.
#[derive(Clone, Copy, Debug)]
pub struct LinkOptions {
    /// Size of the region of each target.
    pub region: Bytes,
    /// Request size.
    pub request_size: Bytes,
    /// Queue depth at each target.
    pub depth: u32,
    /// Length of each measurement.
    pub duration: Nanoseconds,
    /// Repetitions of each setting.
    pub repetitions: u32,
    /// Seed for the order.
    pub seed: u64,
}

/// Targets that are read together.
pub struct LinkSetup {
    /// Their places in the list of all targets.
    pub targets: Vec<u32>,
    testbed: Box<dyn Testbed>,
    workload: Workload,
}

/// The result of the samples.
#[derive(Clone, Debug)]
pub struct LinkSamples {
    /// Bytes per second of each setting in every complete repetition.
    pub rates: Vec<(Vec<u32>, Vec<f64>)>,
    /// Latencies of each setting with one target, in order.
    pub looks: Vec<LinkLatencies>,
    /// Warnings, one per code.
    pub warnings: Vec<Warning>,
}

impl LinkSamples {
    fn add(&mut self, setting: usize, sample: &Sample) {
        self.rates[setting].1.push(sample.total.bytes_per_s.0);
        let alone = self.rates[..setting].iter().filter(|(targets, _)| targets.len() == 1).count();
        if self.rates[setting].0.len() == 1 {
            self.looks[alone].reread.merge(&sample.latency_histogram.total());
        }
        for warning in &sample.warnings {
            if self.warnings.iter().all(|other| other.code != warning.code) {
                self.warnings.push(warning.clone());
            }
        }
    }

    /// Leaves out a cancelled repetition.
    fn cut(mut self, repetitions: u32) -> LinkSamples {
        self.rates.iter_mut().for_each(|(_, rates)| rates.truncate(repetitions as usize));
        self
    }
}

/// Latencies of one target.
#[derive(Clone, Debug, Default)]
pub struct LinkLatencies {
    /// Small random reads in the region at QD1.
    pub near: Histogram,
    /// The same behind the region; none if there is no room.
    pub far: Option<Histogram>,
    /// The re-reads, of all repetitions.
    pub reread: Histogram,
}

impl LinkSetup {
    /// Some of the targets, on a testbed that has them in the same order.
    ///
    /// # Errors
    /// If one is smaller than the region, or does not support direct I/O.
    pub fn new(targets: Vec<u32>, testbed: Box<dyn Testbed>, options: &LinkOptions) -> Result<LinkSetup, ResolveError> {
        let spec = WorkloadSpec {
            operation: Some(Operation::Read),
            pattern: Some(Pattern::Sequential),
            request_size: Some(options.request_size),
            depth: Some(options.depth),
            buffering: Some(Buffering::Direct),
            size: Some(options.region),
            duration: Some(options.duration),
            warmup: Some(WARMUP),
            seed: Some(options.seed),
            ..WorkloadSpec::default()
        };
        let workload = spec.resolve(testbed.describe())?;
        Ok(LinkSetup { targets, testbed, workload })
    }

    /// The environment.
    pub fn environment(&self) -> &Environment {
        self.testbed.describe()
    }

    /// Small random reads between two offsets; none if they do not fit.
    fn small_reads(&mut self, from: Bytes, to: Bytes, cancel: &Cancel) -> Result<Option<Histogram>, MeasureError> {
        let least = self.environment().direct_alignment().map_or(1, |alignment| alignment.0);
        let size = Bytes(LOOK_BYTES.next_multiple_of(least));
        let workload = Workload {
            pattern: Pattern::Random,
            request_size: size,
            offset: from,
            span: to,
            depth: 1,
            limits: Limits { duration: Some(LOOK), ..self.workload.limits },
            warmup: Nanoseconds(LOOK.0 / 4),
            ..self.workload.clone()
        };
        if workload.places() < 2 {
            return Ok(None);
        }
        Ok(Some(super::measure(&mut *self.testbed, &workload, cancel)?.latency_histogram.total()))
    }
}

/// Measures every setting, and the latencies of each target. If cancelled, it returns the complete repetitions.
///
/// `progress` gets the number of measurements done, their total, and the throughput of the last.
///
/// # Errors
/// If a request fails, or it was cancelled before the first repetition ended.
pub fn measure(
    settings: &mut [LinkSetup],
    options: &LinkOptions,
    progress: &mut dyn FnMut(u64, u64, BytesPerSecond),
    cancel: &Cancel,
) -> Result<LinkSamples, MeasureError> {
    let mut looks = Vec::new();
    for setting in settings.iter_mut().filter(|setting| setting.targets.len() == 1) {
        let size = setting.environment().target.size_bytes;
        let near = setting.small_reads(Bytes(0), options.region, cancel)?.unwrap_or_default();
        let far = setting.small_reads(options.region, size, cancel)?;
        looks.push(LinkLatencies { near, far, reread: Histogram::default() });
    }
    let rates = settings.iter().map(|setting| (setting.targets.clone(), Vec::new())).collect();
    let mut samples = LinkSamples { rates, looks, warnings: Vec::new() };
    let total = u64::from(options.repetitions) * settings.len() as u64;
    let mut done = 0;
    for repetition in 0..options.repetitions {
        let mut order: Vec<usize> = (0..settings.len()).collect();
        Random::new(derive_seed(options.seed, u64::from(repetition))).shuffle(&mut order);
        for index in order {
            let LinkSetup { testbed, workload, .. } = &mut settings[index];
            let sample = match super::measure(&mut **testbed, workload, cancel) {
                Err(MeasureError::Cancelled) if repetition > 0 => return Ok(samples.cut(repetition)),
                sample => sample?,
            };
            samples.add(index, &sample);
            done += 1;
            progress(done, total, sample.total.bytes_per_s);
        }
    }
    Ok(samples)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::environment;
    use halfpower_model::{Observer, TargetFacts, TargetKind};

    /// Devices of 24 MB/s behind a bus of 60 MB/s. A read takes 8 ms from the medium, 0.1 ms from the cache. Cancels itself
    /// after `left` samples.
    struct Bus {
        environment: Environment,
        left: u32,
    }

    impl Testbed for Bus {
        fn describe(&self) -> &Environment {
            &self.environment
        }

        fn measure(
            &mut self,
            workload: &Workload,
            _: &mut dyn Observer,
            cancel: &Cancel,
        ) -> Result<Sample, MeasureError> {
            if self.left == 0 {
                cancel.cancel();
                return Err(MeasureError::Cancelled);
            }
            self.left -= 1;
            assert!(workload.buffering.is_direct() && workload.operation == Operation::Read);
            let mut sample = Sample::empty(workload.clone(), self.environment.clone());
            sample.total.bytes_per_s = BytesPerSecond((24e6 * f64::from(workload.targets)).min(60e6));
            let mut latencies = Histogram::default();
            (0..100).for_each(|_| latencies.record(if workload.offset.0 > 0 { 8_000_000 } else { 100_000 }));
            sample.latency_histogram.read = Some(latencies);
            Ok(sample)
        }
    }

    const OPTIONS: LinkOptions = LinkOptions {
        region: Bytes::MIB,
        request_size: Bytes(65536),
        depth: 2,
        duration: Nanoseconds(1_000_000_000),
        repetitions: 3,
        seed: 1,
    };

    fn setting(targets: Vec<u32>, left: u32) -> LinkSetup {
        let facts = || TargetFacts {
            direct_alignment_bytes: Some(Bytes(512)),
            ..TargetFacts::bare("disk", TargetKind::BlockDevice, Bytes(64 << 20))
        };
        let environment = environment(facts(), targets.iter().skip(1).map(|_| facts()).collect());
        LinkSetup::new(targets, Box::new(Bus { environment, left }), &OPTIONS).unwrap()
    }

    #[test]
    fn every_setting_is_measured_in_each_repetition() {
        let mut settings =
            [setting(vec![0], 99), setting(vec![1], 99), setting(vec![2], 99), setting(vec![0, 1, 2], 99)];
        let mut reported = Vec::new();
        let samples =
            measure(&mut settings, &OPTIONS, &mut |done, total, _| reported.push((done, total)), &Cancel::default());
        let samples = samples.unwrap();
        assert_eq!(samples.rates[1], (vec![1], vec![24e6; 3]));
        assert_eq!(samples.rates[3], (vec![0, 1, 2], vec![60e6; 3]));
        assert_eq!((reported.len(), reported.last()), (12, Some(&(12, 12))));
        assert_eq!(samples.looks.len(), 3);
        let look = &samples.looks[0];
        assert_eq!(look.far.as_ref().and_then(|far| far.quantile(0.5)).map(|ns| ns / 1_000_000), Some(8));
        assert_eq!((look.near.count(), look.reread.count()), (100, 300));
    }

    #[test]
    fn cancelled_it_keeps_the_repetitions_that_are_whole() {
        // Near and far reads of each, then a repetition, then the end.
        let mut settings = [setting(vec![0], 3), setting(vec![1], 99)];
        let samples = measure(&mut settings, &OPTIONS, &mut |_, _, _| {}, &Cancel::default()).unwrap();
        assert_eq!(samples.rates, [(vec![0], vec![24e6]), (vec![1], vec![24e6])]);
        let early = measure(&mut [setting(vec![0], 2)], &OPTIONS, &mut |_, _, _| {}, &Cancel::default());
        assert!(matches!(early, Err(MeasureError::Cancelled)));
    }
}
