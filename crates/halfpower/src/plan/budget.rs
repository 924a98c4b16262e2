//! The write budget: a limit in bytes for each trial that writes, so that the whole run stays within its limit.
//!
//! A fast disk writes gigabytes per second, so a run of minutes limited by time alone could wear flash noticeably.
//! Therefore every cell that writes gets a limit in bytes. With these limits the minimum repetitions of all cells and
//! the test file stay within the budget. Shares are proportional to the square root of the request size: by number of
//! requests large ones would take everything, by bytes they would end after a few requests. Such a trial has no
//! warm-up, because bytes written in it are not counted.

use super::model::{Plan, PlanError};
use halfpower_model::{Bytes, Nanoseconds, Workload};

/// Minimum number of times that all outstanding requests are issued: fewer measure the start and the end.
const LEAST_ROUNDS: u64 = 4;
/// Longest flush of a trial.
const FLUSH: Nanoseconds = Nanoseconds(200_000_000);

/// The needs of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Claim {
    /// Weight of its share.
    weight: u64,
    /// Unit of its share.
    unit: u64,
    /// Minimum.
    least: u64,
    /// Maximum, if it has a limit.
    most: Option<u64>,
}

/// Sets a limit in bytes for every cell that writes, and removes its warm-up.
pub(super) fn bound_writes(plan: &mut Plan) -> Result<(), PlanError> {
    let repetitions = plan.repetitions.min;
    let refills: u128 = plan.cells.iter().map(|cell| u128::from(plan.refill(&cell.workload).0)).sum();
    let fill =
        u128::from(plan.test_file_bytes.unwrap_or_default().0 + plan.probe_bytes()) + refills * u128::from(repetitions);
    let budget = plan.write_budget;
    let mut workloads: Vec<&mut Workload> =
        plan.cells.iter_mut().map(|cell| &mut cell.workload).filter(|workload| workload.operation.writes()).collect();
    let claims: Vec<Claim> = workloads.iter().map(|workload| Claim::of(workload)).collect();
    let least: u128 = claims.iter().map(|claim| u128::from(claim.least)).sum();
    let needed = least * u128::from(repetitions) + fill;
    if needed > u128::from(budget.0) {
        let needed = Bytes(u64::try_from(needed).unwrap_or(u64::MAX));
        return Err(PlanError::Budget(format!(
            "the write budget of {budget} is too small: the study {} writes at least {needed}, the test file included; \
             raise it with --write-budget, or leave writes out with --no-writes",
            plan.study
        )));
    }
    // The minimum fits into the budget, so the fill does.
    let a_block = (budget.0 - fill as u64) / u64::from(repetitions);
    for (workload, share) in workloads.iter_mut().zip(shares(a_block, &claims)) {
        workload.limits.bytes = Some(Bytes(share / workload.copies()));
        workload.warmup = Nanoseconds(0);
    }
    Ok(())
}

impl Plan {
    /// Shortens buffered writes on a disk with this throughput: a slow disk would take too long to flush the page cache
    /// after each trial. Returns the largest of the lowered limits; none if no limit was lowered.
    pub(crate) fn fit_to(&mut self, bytes_per_s: f64) -> Option<Bytes> {
        let mut largest = None;
        let buffered = |workload: &&mut Workload| workload.operation.writes() && !workload.buffering.is_direct();
        for workload in self.cells.iter_mut().map(|cell| &mut cell.workload).filter(buffered) {
            let unit = Claim::of(workload).unit / workload.copies();
            let most = ((bytes_per_s * FLUSH.seconds()) as u64 / unit).max(LEAST_ROUNDS) * unit;
            if workload.limits.bytes.is_some_and(|limit| limit.0 > most) {
                workload.limits.bytes = Some(Bytes(most));
                largest = largest.max(Some(Bytes(most)));
            }
        }
        largest
    }
}

impl Claim {
    fn of(workload: &Workload) -> Claim {
        // Bytes that reach a medium: a mirror writes each to all its targets.
        let copies = workload.copies();
        let unit = workload.request_size.0 * u64::from(workload.depth) * u64::from(workload.workers) * copies;
        let most = workload.limits.bytes.map(|bytes| bytes.0.saturating_mul(copies));
        let least = (unit * LEAST_ROUNDS).min(most.unwrap_or(u64::MAX));
        Claim { weight: workload.request_size.0.isqrt(), unit, least, most }
    }

    /// Its share of `left` among claims with the sum of `weights`.
    fn share(&self, left: u64, weights: u128) -> u64 {
        (u128::from(left) * u128::from(self.weight) / weights.max(1)) as u64
    }
}

/// Divides `pool`, which covers the minimum of all claims. Claims with too small a share get their minimum first; then
/// those with too large a share get their maximum; the others share the rest.
fn shares(pool: u64, claims: &[Claim]) -> Vec<u64> {
    let mut settled: Vec<Option<u64>> = vec![None; claims.len()];
    settle(pool, claims, &mut settled, |claim, share| (share < claim.least).then_some(claim.least));
    let (left, weights) = settle(pool, claims, &mut settled, |claim, share| claim.most.filter(|most| *most <= share));
    let open = |claim: &Claim| {
        let share = claim.share(left, weights);
        share - share % claim.unit
    };
    settled.iter().zip(claims).map(|(settled, claim)| settled.unwrap_or_else(|| open(claim))).collect()
}

/// Settles the claims for which `decide` returns a value, given their share of the rest, until there are none. Returns
/// the rest, and the sum of the open weights.
fn settle(
    pool: u64,
    claims: &[Claim],
    settled: &mut [Option<u64>],
    decide: impl Fn(&Claim, u64) -> Option<u64>,
) -> (u64, u128) {
    loop {
        let left = pool - settled.iter().flatten().sum::<u64>();
        let open = settled.iter().zip(claims).filter(|(settled, _)| settled.is_none());
        let weights = open.map(|(_, claim)| u128::from(claim.weight)).sum();
        let mut changed = false;
        for (place, claim) in settled.iter_mut().zip(claims).filter(|(settled, _)| settled.is_none()) {
            *place = decide(claim, claim.share(left, weights));
            changed |= place.is_some();
        }
        if !changed {
            return (left, weights);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn claim(request_size: u64, most: Option<u64>) -> Claim {
        Claim {
            weight: request_size.isqrt(),
            unit: request_size,
            least: (request_size * LEAST_ROUNDS).min(most.unwrap_or(u64::MAX)),
            most,
        }
    }

    #[test]
    fn shares_go_by_the_square_root_of_the_size() {
        let claims = [claim(4096, None), claim(16_384, None), claim(65_536, None)];
        // 64 : 128 : 256 of 7 000 000, each rounded down to whole requests.
        assert_eq!(shares(7_000_000, &claims), [999_424, 1_998_848, 3_997_696]);
    }

    #[test]
    fn what_one_does_not_want_the_others_get() {
        let claims = [claim(4096, Some(10_000)), claim(4096, None), claim(1 << 20, None)];
        // 64 : 1024 of 5 MiB less 10 000, each rounded down to whole requests.
        assert_eq!(shares(5 << 20, &claims), [10_000, 307_200, 4 << 20]);
    }

    proptest! {
        #[test]
        fn shares_cover_the_least_and_keep_to_the_pool(
            sizes in prop::collection::vec((0_u32..21, 1_u64..64, prop::option::of(1_u64..1 << 28)), 1..60),
            spare in 0_u64..1 << 36,
        ) {
            let claims: Vec<Claim> = sizes.iter().map(|(shift, depth, most)| {
                let unit = (512_u64 << shift) * depth;
                let least = (unit * LEAST_ROUNDS).min(most.unwrap_or(u64::MAX));
                Claim { weight: (512_u64 << shift).isqrt(), unit, least, most: *most }
            }).collect();
            let pool = claims.iter().map(|claim| claim.least).sum::<u64>() + spare;
            let shares = shares(pool, &claims);
            prop_assert!(shares.iter().sum::<u64>() <= pool);
            for (share, claim) in shares.iter().zip(&claims) {
                prop_assert!(*share >= claim.least && claim.most.is_none_or(|most| *share <= most));
                prop_assert!(share.is_multiple_of(claim.unit) || Some(*share) == claim.most);
            }
        }
    }
}
