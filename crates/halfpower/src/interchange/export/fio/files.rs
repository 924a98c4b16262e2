//! A file per sample, in the folders that fio-plot and bench-fio use. Request sizes and repetitions have separate
//! folders, because these programs draw all files of a folder in one picture.

use super::{document, text};
use crate::interchange::export::exported::Exported;
use crate::store::StoredSample;
use halfpower_model::RequestKind;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The files with their paths, `4KiB-direct/repetition-1/randread-8-1.json`: kind, depth, workers; and the samples that
/// fio's format cannot hold. Cells that differ in anything else have separate folders, `4KiB-direct-2`.
pub(crate) fn files(samples: &[StoredSample]) -> (Vec<(PathBuf, String)>, Vec<String>) {
    let mut exported = Exported::default();
    let mut files = Vec::new();
    let mut cells: BTreeMap<(String, String), usize> = BTreeMap::new();
    for stored in samples {
        let document = match document(stored) {
            Ok(document) => document,
            Err(reason) => {
                exported.leave_out(stored, reason);
                continue;
            }
        };
        let workload = &stored.sample.workload;
        let kind = document["jobs"][0]["job options"]["rw"].as_str().unwrap_or_default();
        let mix = workload.operation.only().is_none();
        let share = if mix { format!("{}", workload.operation.percent(RequestKind::Read)) } else { String::new() };
        let name = format!("{kind}{share}-{}-{}.json", workload.depth, workload.workers);
        let size = workload.request_size.to_string().replace(' ', "");
        let buffering = if workload.is_known("buffering") { format!("-{}", workload.buffering) } else { String::new() };
        let folder = (1_usize..)
            .map(|number| format!("{size}{buffering}{}", if number > 1 { format!("-{number}") } else { String::new() }))
            .find(|folder| *cells.entry((folder.clone(), name.clone())).or_insert(stored.cell) == stored.cell);
        let repetition = format!("repetition-{}", stored.block + 1);
        files.push((PathBuf::from(folder.unwrap_or(size)).join(repetition).join(name), text(&document)));
    }
    (files, exported.left_out)
}
