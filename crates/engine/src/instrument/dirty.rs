//! Memory that programs have written and that is not stored yet, and how much of it the kernel puts up with: /proc/vmstat,
//! of the whole machine, in pages. Reading it costs some 50 µs, at the start and the end of a sample that writes through
//! the file cache. From the middle of the two thresholds on the kernel makes those who write wait (balance_dirty_pages;
//! Linux, Documentation/admin-guide/sysctl/vm.rst, dirty_bytes); what one control group may make dirty is not looked at.

use halfpower_model::Bytes;
use halfpower_model::sample::Dirty;

/// The figures at some moment, in pages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Moment {
    /// Dirty, or on the way to the storage.
    held: u64,
    background: u64,
    limit: u64,
}

impl Moment {
    /// Now; none where the kernel does not say.
    pub(crate) fn now() -> Option<Moment> {
        parse(&std::fs::read_to_string("/proc/vmstat").ok()?)
    }

    /// What was held at an earlier one and is held now, against the thresholds of now.
    pub(crate) fn since(&self, before: &Moment) -> Dirty {
        let page = rustix::param::page_size() as u64;
        let [before_bytes, after_bytes, background_bytes, limit_bytes] =
            [before.held, self.held, self.background, self.limit].map(|pages| Bytes(pages * page));
        Dirty { before_bytes, after_bytes, background_bytes, limit_bytes }
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
    fn what_is_not_stored_yet_is_read() {
        let text = |held| {
            format!(
                "nr_free_pages 9\nnr_writeback_temp 7\nnr_dirty {held}\nnr_writeback 2\nnr_dirty_threshold 40\nnr_dirty_background_threshold 20\n"
            )
        };
        let (before, after) = (parse(&text(3)).unwrap(), parse(&text(30)).unwrap());
        assert_eq!(after, Moment { held: 32, background: 20, limit: 40 });
        let page = rustix::param::page_size() as u64;
        let dirty = after.since(&before);
        assert_eq!((dirty.before_bytes, dirty.after_bytes), (Bytes(5 * page), Bytes(32 * page)));
        assert_eq!(dirty.wait_from_bytes(), Bytes(30 * page));
        assert_eq!(parse("nr_dirty 3\nnr_writeback 2\n"), None, "without thresholds nothing is told");
    }
}
