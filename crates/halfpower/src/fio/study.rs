//! A study of fio's jobs: a sweep for each job, one after another.

use super::job::Work;
use crate::study::study_text;
use crate::text::grouped;
use halfpower_model::CachePolicy::{Cold, ColdEachPass};
use halfpower_model::{Bytes, SubmitBatch, WorkloadSpec};

/// Length of a trial where no job has one.
const SECONDS: f64 = 5.0;

/// The study of jobs, on any target. Jobs that ran together in fio follow one another.
pub(crate) fn study_of(name: &str, works: &[Work]) -> String {
    let jobs = grouped(works.iter(), |work| (work.stage, work.name.clone()));
    let sweeps: Vec<(String, WorkloadSpec)> = jobs
        .iter()
        .map(|((_, name), works)| {
            // Simulated machines take no advice, have no pages, and drop a cache once. Clones share no cursor,
            // and single requests are the default.
            let cache = works[0].spec.cache.map(|cache| if cache == ColdEachPass { Cold } else { cache });
            let submit_batch = works[0].spec.submit_batch.filter(|batch| *batch != SubmitBatch::Requests(1));
            let spec = WorkloadSpec {
                advise: None,
                huge_pages: None,
                sharing: None,
                submit_batch,
                cache,
                ..works[0].spec.clone()
            };
            (name.clone(), WorkloadSpec { workers: Some(works.len() as u32), ..spec })
        })
        .collect();
    let seconds = works.iter().filter_map(|work| work.spec.duration).map(|duration| duration.seconds());
    let seconds = seconds.fold(0.0, f64::max);
    let size: Option<Bytes> = works.iter().filter_map(|work| work.file_size).max();
    let head = format!(
        "# The jobs of {name}, one after another, on any target. Each trial takes the time below; bytes and numbers of\n\
         # requests of a job are left out, and all sweeps have the largest size.\n\n"
    );
    let question = "What does the storage give to these jobs?";
    study_text(&head, name, question, size, if seconds > 0.0 { seconds } else { SECONDS }, &sweeps)
}
