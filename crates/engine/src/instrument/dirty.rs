//! Dirty pages and their thresholds: /proc/vmstat, of the whole machine, in pages.
//!
//! Reading it costs about 50 µs. For a sample with buffered writes, the watching thread reads it at the start, at the end and
//! at each progress report. From the middle of the two thresholds on, the kernel delays writers (balance_dirty_pages; Linux,
//! Documentation/admin-guide/sysctl/vm.rst, dirty_bytes). Limits of control groups are not read.

use halfpower_model::Bytes;
use halfpower_model::sample::Dirty;

/// The figures at one moment, in pages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Moment {
    /// Dirty, or in write-back.
    held: u64,
    background: u64,
    limit: u64,
}

impl Moment {
    /// Now; none if unknown.
    pub(crate) fn now() -> Option<Moment> {
        parse(&std::fs::read_to_string("/proc/vmstat").ok()?)
    }

    /// Whether the kernel delays writers.
    fn brakes(&self) -> bool {
        self.held > self.background.midpoint(self.limit)
    }
}

/// The first reading, and the following ones.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Looks {
    before: Moment,
    count: u32,
    braked: u32,
}

impl Looks {
    /// The first reading; none if unknown.
    pub(crate) fn begin() -> Option<Looks> {
        Some(Looks { before: Moment::now()?, count: 0, braked: 0 })
    }

    /// Another reading.
    pub(crate) fn look(&mut self) {
        if let Some(now) = Moment::now() {
            self.count += 1;
            self.braked += u32::from(now.brakes());
        }
    }

    /// The result, against the current thresholds; none if they are unknown.
    pub(crate) fn end(&self) -> Option<Dirty> {
        Some(self.until(&Moment::now()?))
    }

    fn until(&self, now: &Moment) -> Dirty {
        let page = rustix::param::page_size() as u64;
        let [before_bytes, after_bytes, background_bytes, limit_bytes] =
            [self.before.held, now.held, now.background, now.limit].map(|pages| Bytes(pages * page));
        let braked_share = (self.count > 0).then(|| f64::from(self.braked) / f64::from(self.count));
        Dirty { before_bytes, after_bytes, background_bytes, limit_bytes, braked_share }
    }
}

fn parse(vmstat: &str) -> Option<Moment> {
    let pages = |name: &str| {
        let of = |line: &str| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse::<u64>().ok();
        vmstat.lines().find_map(of)
    };
    Some(Moment {
        held: pages("nr_dirty")? + pages("nr_writeback")?,
        background: pages("nr_dirty_background_threshold")?,
        limit: pages("nr_dirty_threshold")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dirty_pages_and_their_thresholds_are_read() {
        let text = |held| {
            format!(
                "nr_free_pages 9\nnr_writeback_temp 7\nnr_dirty {held}\nnr_writeback 2\nnr_dirty_threshold 40\nnr_dirty_background_threshold 20\n"
            )
        };
        let (before, after) = (parse(&text(3)).unwrap(), parse(&text(30)).unwrap());
        assert_eq!(after, Moment { held: 32, background: 20, limit: 40 });
        let page = rustix::param::page_size() as u64;
        assert!(after.brakes() && !before.brakes());
        let dirty = Looks { before, count: 4, braked: 1 }.until(&after);
        assert_eq!(dirty.braked_share, Some(0.25));
        assert_eq!((dirty.before_bytes, dirty.after_bytes), (Bytes(5 * page), Bytes(32 * page)));
        assert_eq!(dirty.wait_from_bytes(), Bytes(30 * page));
        assert_eq!(parse("nr_dirty 3\nnr_writeback 2\n"), None, "without thresholds it is unknown");
    }
}
