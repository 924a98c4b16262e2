//! The page of a comparison, and the noise of a run with `--aa`.

use super::stored::{fixed, run};
use super::{lines, markup, page};
use crate::report::{Analysed, comparison_html, comparison_text};
use crate::store::RunKind;
use halfpower_analysis::comparison::{Comparison, Figure, Margins, compare};
use halfpower_analysis::statistics::Margin;
use halfpower_model::{Bytes, Environment, Sample};

fn samples(analysed: &Analysed) -> Vec<Sample> {
    analysed.samples.iter().map(|stored| stored.sample.clone()).collect()
}

fn compared(before: &[Sample], after: &[Sample]) -> Comparison {
    compared_by(before, after, Margins::Usual)
}

fn compared_by(before: &[Sample], after: &[Sample], margins: Margins<'_>) -> Comparison {
    compare(&before.iter().collect::<Vec<_>>(), &after.iter().collect::<Vec<_>>(), margins)
}

/// The first sample, once with each change.
fn varied<T>(changes: impl IntoIterator<Item = T>, change: impl Fn(&mut Sample, T)) -> Vec<Sample> {
    let sample = samples(&run(&fixed())).swap_remove(0);
    let of = |by: T| {
        let mut sample = sample.clone();
        change(&mut sample, by);
        sample
    };
    changes.into_iter().map(of).collect()
}

fn html(comparison: &Comparison) -> String {
    comparison_html(comparison, "run 1", "runs 2, 3", "halfpower compare 1 2,3").unwrap()
}

#[test]
fn a_comparison_says_what_differs_before_it_shows_what_changed() {
    let before = samples(&run(&fixed()));
    let mut after = before.clone();
    let slow = before[0].workload.request_size;
    for sample in &mut after {
        sample.environment.kernel = "7.0 <script>alert(1)</script>".to_owned();
        if sample.workload.request_size == slow {
            sample.total.bytes_per_s.0 /= 3.0;
        }
    }
    let page = html(&compared(&before, &after));
    markup::check_nesting(&page);
    markup::check_ids(&page);
    assert!(page.contains("Runs 2, 3 against run 1") && !page.contains("<script"));
    let order =
        ["Regression:", "Differences of the environment", "kernel", "Throughput", "class=\"forest worse\"", "<table"];
    let places: Vec<usize> = order.iter().filter_map(|part| page.find(part)).collect();
    assert!(places.len() == order.len() && places[..5].is_sorted(), "{places:?}");
    for load in ["http:", "https:", " src=", "href=", "@import"] {
        assert!(!page.contains(load), "{load}");
    }
    let same = html(&compared(&before, &before));
    assert!(same.contains("None, as far as the samples record it.") && !same.contains("class=\"forest worse\""));
}

#[test]
fn many_facts_of_one_side_share_a_row() {
    let before = samples(&run(&fixed()));
    let same = comparison_text(&compared(&before, &before), false, 200);
    assert!(same.contains("The environment is the same") && !same.contains("on one side only"));
    let mut after = before.clone();
    for sample in &mut after {
        sample.environment = Environment::unknown("elsewhere", Some(Bytes(1 << 20))).into();
    }
    let text = comparison_text(&compared(&before, &after), false, 200);
    assert!(text.contains("facts recorded on one side only") && !text.contains("unknown"), "{text}");
    assert!(text.contains("elsewhere"), "facts of both sides keep their rows: {text}");
    // One fact alone keeps its row, too.
    let mut after = before.clone();
    after.iter_mut().for_each(|sample| sample.environment.cpu_model = None);
    let text = comparison_text(&compared(&before, &after), false, 200);
    assert!(text.contains("cpu_model") && text.contains("unknown"), "{text}");
}

#[test]
fn an_interval_without_bounds_is_not_reported_as_one_sample() {
    let of = |rates: &[f64]| varied(rates.to_vec(), |sample, rate| sample.total.bytes_per_s.0 = rate);
    let several = comparison_text(&compared(&of(&[1e7, 9e7]), &of(&[2e7, 9e7])), false, 200);
    assert!(several.contains("undecided (they scatter too much for an interval)"), "{several}");
    let single = comparison_text(&compared(&of(&[1e7, 9e7]), &of(&[2e7])), false, 200);
    assert!(single.contains("undecided (one sample)"), "{single}");
    let margins = Margins::Said(Margin::new(0.95).unwrap());
    let wide = comparison_text(&compared_by(&of(&[9e7]), &of(&[4e7]), margins), false, 200);
    assert!(wide.contains("worse (one sample, but more than 1.95 times)"), "{wide}");
}

#[test]
fn a_row_says_where_only_the_number_of_workloads_leaves_it_undecided() {
    let many = |factor: f64| {
        let shares = [0.98, 0.99, 1.0, 1.01, 1.02];
        varied((0..61).flat_map(|place| shares.map(|share| (place, share))), |sample, (place, share)| {
            sample.workload.offset = Bytes(place << 20);
            sample.total.bytes_per_s.0 = 1e9 * share * if place == 0 { factor } else { 1.0 };
        })
    };
    let expected = "; one of 61 looked at)";
    let comparison = compared(&many(1.0), &many(1.045));
    let text = comparison_text(&comparison, false, 400);
    assert_eq!(text.matches(expected).count(), 1, "{text}");
    assert!(html(&comparison).contains(expected));
}

#[test]
fn a_plot_has_no_more_rows_than_can_be_read_and_all_that_changed() {
    let many = |factor: f64| {
        let cells = (1..=200_u64).flat_map(|place| (0..3).map(move |repetition| (place, repetition)));
        varied(cells, |sample, (place, repetition)| {
            sample.workload.offset = Bytes(place << 20);
            let change = if place == 150 { factor } else { 1.0 };
            sample.total.bytes_per_s.0 = 1e9 * change * (1.0 + 1e-4 * f64::from(repetition) * (place % 7) as f64);
        })
    };
    let comparison = compared(&many(1.0), &many(0.5));
    let page = html(&comparison);
    let throughput = page.split("<section").find(|section| section.contains(">Throughput<")).unwrap();
    assert_eq!(throughput.matches("<rect class=\"margin\"").count(), 60);
    assert!(throughput.contains("140 more are in the table"));
    assert_eq!(throughput.matches("<svg class=\"forest worse\"").count(), 1);
    let rows = throughput.split("<tbody>").nth(1).unwrap().matches("<tr>").count();
    assert_eq!(rows, comparison.cells.iter().filter(|cell| cell.change(Figure::Throughput).is_some()).count());
}

#[test]
fn a_missing_margin_is_reported() {
    let mut analysed = run(&fixed());
    analysed.run.kind = RunKind::Aa;
    let before = samples(&analysed);
    for (place, stored) in analysed.samples.iter_mut().enumerate() {
        stored.sample.total.bytes_per_s.0 *= if place % 3 == 0 { 0.3 } else { 1.0 };
    }
    let analysed = analysed.again();
    assert!(lines(&analysed, 200).contains("too noisy for a margin"), "{}", lines(&analysed, 200));
    let margins = Margins::Found(&analysed.noise().unwrap().comparison.cells);
    let comparison = compared_by(&before, &before, margins);
    let text = comparison_text(&comparison, false, 1000);
    let page = html(&comparison);
    markup::check_nesting(&page);
    for expected in [&text, &page] {
        assert!(
            expected.contains("have no margin") && expected.contains("identical runs differ too much to decide"),
            "{expected}"
        );
    }
    assert!(page.contains("<td>undecided</td>"));
}

#[test]
fn a_run_held_against_itself_says_first_what_the_same_differed_by() {
    let mut analysed = run(&fixed());
    assert!(!page(&analysed).contains(">Noise<") && !lines(&analysed, 100).contains("Noise"), "not requested");
    analysed.run.kind = RunKind::Aa;
    let analysed = analysed.again();
    let page = page(&analysed);
    markup::check_nesting(&page);
    assert!(page.contains(">Noise<") && page.contains("--margin-from"));
    let summary = lines(&analysed, 100);
    let noise =
        summary.find("Noise of this machine: two halves of the run differed in throughput by less than").unwrap();
    assert!(noise < summary.find("Peak").unwrap(), "{summary}");
    assert!(analysed.json()["noise"]["figures"][0]["median_difference"].as_f64().unwrap() > 0.0);
}

#[test]
fn of_many_samples_the_first_are_in_the_page_and_where_the_others_are() {
    let mut analysed = run(&fixed());
    let rows = |page: &str| {
        page.split("aria-label=\"Samples\"").nth(1).unwrap().split("</table>").next().unwrap().matches("<tr>").count()
            - 1
    };
    let few = page(&analysed);
    assert!(few.contains("Every sample") && rows(&few) == analysed.samples.len());
    let some = analysed.samples.clone();
    while analysed.samples.len() <= 2000 {
        analysed.samples.extend(some.iter().cloned());
    }
    let many = page(&analysed);
    assert_eq!(rows(&many), 2000);
    assert!(many.contains(&format!("{} more are in the store", analysed.samples.len() - 2000)));
}
