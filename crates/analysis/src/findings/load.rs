//! Cells that differ in request size, depth and workers only.

use crate::cells::Cell;
use crate::comparable::{Axis, distinctions, groups};
use crate::series::rank;
use crate::wording::{caching, depth, requests};
use halfpower_model::Workload;

/// A group of such cells.
#[derive(Debug)]
pub(super) struct Loaded<'a> {
    pub(super) cells: Vec<&'a Cell<'a>>,
    /// Name of the group: `random read, direct`.
    pub(super) subject: String,
    /// Suffix that distinguishes it from groups of the same name.
    pub(super) distinction: String,
}

/// All groups of at least `cells_min` cells: reads first, then sequential, direct.
pub(super) fn by_load<'a>(cells: impl Iterator<Item = &'a Cell<'a>>, cells_min: usize) -> Vec<Loaded<'a>> {
    let mut groups = groups(cells, Axis::LOAD);
    groups.retain(|group| group.len() >= cells_min);
    groups.sort_by_key(|group| rank(group[0].workload));
    let named: Vec<_> = groups.iter().map(|group| (subject(group[0].workload), group[0].workload)).collect();
    let distinctions = distinctions(&named, Axis::LOAD);
    let subjects: Vec<String> =
        named.into_iter().zip(&distinctions).map(|((name, _), distinction)| name + distinction).collect();
    let parts = groups.into_iter().zip(subjects).zip(distinctions);
    parts.map(|((cells, subject), distinction)| Loaded { cells, subject, distinction }).collect()
}

impl Loaded<'_> {
    /// `random reads (4 KiB, QD8, direct)`: how a claim about one of its cells begins.
    pub(super) fn requests_of(&self, workload: &Workload) -> String {
        let how = format!("{}, {}{}", place(workload), caching(workload), self.distinction);
        format!("{} {} ({how})", workload.pattern, requests(workload.operation))
    }
}

/// `4 KiB, QD8`.
pub(super) fn place(workload: &Workload) -> String {
    format!("{}, {}", workload.request_size, depth(workload))
}

/// At how many other sizes and depths the claim holds, as a suffix.
pub(super) fn extent(shown: usize, looked_at: usize) -> String {
    match (shown, looked_at) {
        (_, 0 | 1) => String::new(),
        (1, 2) => "; not at the other measured size or queue depth".to_owned(),
        (1, all) => format!("; not at the other {} measured sizes and queue depths", all - 1),
        (_, 2) => "; the same at both measured sizes or queue depths".to_owned(),
        (shown, all) if shown == all => format!("; the same at all {all} measured sizes and queue depths"),
        (shown, all) => format!("; the same at {shown} of {all} measured sizes and queue depths"),
    }
}

fn subject(workload: &Workload) -> String {
    format!("{} {}, {}", workload.pattern, workload.operation, caching(workload))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_elsewhere_is_said() {
        assert_eq!(extent(1, 1), "");
        assert_eq!(extent(1, 2), "; not at the other measured size or queue depth");
        assert_eq!(extent(2, 2), "; the same at both measured sizes or queue depths");
        assert_eq!(extent(1, 3), "; not at the other 2 measured sizes and queue depths");
        assert_eq!(extent(2, 3), "; the same at 2 of 3 measured sizes and queue depths");
        assert_eq!(extent(3, 3), "; the same at all 3 measured sizes and queue depths");
    }
}
