//! What all findings have: reach and samples by their cells, and at how many other cells a claim holds.

use crate::cells::Cell;
use crate::wording::reach;
use halfpower_model::{Estimate, Finding, FindingCode, Reach};

/// A finding about some cells, of which the first is of the storage or of memory, with its brief and its sentence.
pub(super) fn found<'a>(
    code: FindingCode,
    subject: impl Into<String>,
    cells: impl IntoIterator<Item = &'a Cell<'a>>,
    [brief, sentence]: [String; 2],
    estimates: Vec<Estimate>,
) -> Finding {
    let cells: Vec<&Cell<'_>> = cells.into_iter().collect();
    let reach = cells.first().map_or(Reach::Storage, |cell| reach(cell.workload));
    let mut samples: Vec<i64> = cells.iter().flat_map(|cell| cell.samples()).collect();
    samples.sort_unstable();
    samples.dedup();
    Finding { code, subject: subject.into(), reach, brief, sentence, estimates, samples }
}

/// At how many other sizes and depths a claim holds, as a suffix.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_elsewhere_is_said() {
        for (shown, looked_at, words) in [
            (1, 1, ""),
            (1, 2, "; not at the other measured size or queue depth"),
            (2, 2, "; the same at both measured sizes or queue depths"),
            (1, 3, "; not at the other 2 measured sizes and queue depths"),
            (2, 3, "; the same at 2 of 3 measured sizes and queue depths"),
            (3, 3, "; the same at all 3 measured sizes and queue depths"),
        ] {
            assert_eq!(extent(shown, looked_at), words);
        }
    }
}
