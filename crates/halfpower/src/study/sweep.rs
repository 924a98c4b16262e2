//! Sweeps: a list of values for each key, crossed into workloads.
//!
//! Cells are counted before they are created, so a long range needs no memory and no time.

use super::diagnostic::{Diagnostics, Problem};
use super::setting;
use super::table::{Found, Keys, keys_of};
use super::value;
use halfpower_model::{Key, Settings, WorkloadSpec};
use std::collections::HashSet;
use toml::de::DeValue;

/// Maximum number of cells: at 0.25 s and five repetitions, three and a half hours.
pub(super) const MOST_CELLS: usize = 10_000;
/// Maximum number of values of one key.
const MOST_VALUES: usize = 1_000;

/// The values of one key; one spec each.
pub(super) type Axis = Vec<WorkloadSpec>;

/// The axes of a table: one for each of [`setting::keys`], none if the table lacks it. `fits` checks settings against
/// the target.
pub(super) fn axes(
    keys: &Keys<'_, '_>,
    fits: &dyn Fn(&Settings) -> Result<(), Problem>,
    diagnostics: &mut Diagnostics<'_>,
) -> Vec<Option<Axis>> {
    setting::keys().map(|key| keys.get(key.name).map(|found| axis(key, found, fits, diagnostics))).collect()
}

/// The values of a key: one, a list, or a range.
fn axis(
    key: &Key,
    found: &Found<'_, '_>,
    fits: &dyn Fn(&Settings) -> Result<(), Problem>,
    diagnostics: &mut Diagnostics<'_>,
) -> Axis {
    let read = |value: &DeValue<'_>| {
        let spec = setting::read(key, value)?;
        spec.set.as_ref().map_or(Ok(()), fits).map(|()| spec)
    };
    match found.value {
        // A list of CPUs is one value.
        DeValue::Array(list) if key.name != "cpus" => {
            if list.is_empty() || list.len() > MOST_VALUES {
                diagnostics.wrong(
                    found.span.clone(),
                    format!("`{}` has {} values", key.name, list.len()),
                    format!("give from 1 to {MOST_VALUES} values"),
                );
                return Axis::new();
            }
            let mut seen = HashSet::new();
            let mut axis = Axis::new();
            for item in list {
                let Some(spec) = diagnostics.keep(item.span(), read(item.get_ref())) else { continue };
                if seen.insert(spec.clone()) {
                    axis.push(spec);
                } else {
                    diagnostics.wrong(item.span(), "this value is in the list twice", "leave it out");
                }
            }
            axis
        }
        DeValue::Table(_) => range(key, found, diagnostics),
        single => diagnostics.keep(found.span.clone(), read(single)).into_iter().collect(),
    }
}

/// `{ from, to, factor }`: from, from × factor, and so on, up to `to`.
fn range(key: &Key, found: &Found<'_, '_>, diagnostics: &mut Diagnostics<'_>) -> Axis {
    let is_number = setting::number(key, &DeValue::Boolean(false)).is_some();
    if !is_number {
        diagnostics.wrong(found.span.clone(), format!("`{}` has no ranges", key.name), "give one value or a list");
    }
    let keys = if is_number { keys_of(found, "a range", &["from", "to", "factor"], diagnostics) } else { None };
    let Some(keys) = keys else { return Axis::new() };
    let [from, to] =
        ["from", "to"].map(|name| keys.read(name, diagnostics, |end| setting::number(key, end).unwrap_or(Ok(0))));
    let factor = keys.read("factor", diagnostics, |factor| value::count(factor, 2, 1 << 20));
    if let Some(missing) = ["from", "to", "factor"].iter().find(|name| keys.get(name).is_none()) {
        let message = format!("this range has no `{missing}`");
        diagnostics.missing(found.span.clone(), message, "a range looks like { from = 1, to = 32, factor = 2 }");
    }
    let (Some(from), Some(to)) = (from, to) else { return Axis::new() };
    if from > to {
        diagnostics.wrong(found.span.clone(), "`from` is above `to`", "a range goes up: from the smaller value");
    }
    let Some(factor) = factor else { return Axis::new() };
    std::iter::successors(Some(from), |number| number.checked_mul(factor))
        .take_while(|number| *number <= to)
        .filter_map(|number| key.read(&number.to_string()).ok())
        .collect()
}

/// The number of workloads of the axes; none on overflow.
pub(super) fn count(axes: &[Axis]) -> Option<usize> {
    axes.iter().try_fold(1_usize, |product, axis| product.checked_mul(axis.len()))
}

/// All combinations; the last axis varies fastest.
pub(crate) fn cross(axes: &[Axis], defaults: &WorkloadSpec) -> Vec<WorkloadSpec> {
    axes.iter().rev().fold(vec![defaults.clone()], |below, axis| {
        axis.iter().flat_map(|value| below.iter().map(|spec| value.clone().or(spec))).collect()
    })
}
