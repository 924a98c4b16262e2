//! The page of a comparison, and the noise of a run with `--aa`.

use super::stored::{fixed, run};
use super::{columns, lines, markup, page};
use crate::console::Medium;
use crate::report::{Analysed, comparison_html, comparison_text};
use crate::store::RunKind;
use halfpower_analysis::comparison::{Comparison, Figure, Method, compare};
use halfpower_model::{Bytes, Environment, Sample};

fn samples(analysed: &Analysed) -> Vec<Sample> {
    analysed.samples.iter().map(|stored| stored.sample.clone()).collect()
}

fn compared(before: &[Sample], after: &[Sample]) -> Comparison {
    // As runs of one sample of each workload.
    let runs = |side: &'_ [Sample]| -> Vec<Vec<usize>> {
        let is_of = |one: &Sample, other: &Sample| one.workload.offset == other.workload.offset;
        let number = |place: usize| side[..place].iter().filter(|other| is_of(&side[place], other)).count();
        let places = |run: usize| (0..side.len()).filter(|place| number(*place) == run).collect::<Vec<_>>();
        (0..).map(places).take_while(|run| !run.is_empty()).collect()
    };
    let of = |side: &[Sample], runs: Vec<Vec<usize>>| -> Vec<Vec<Sample>> {
        runs.iter().map(|run| run.iter().map(|place| side[*place].clone()).collect()).collect()
    };
    let (before, after) = (of(before, runs(before)), of(after, runs(after)));
    let [before, after] = [&before, &after].map(|runs| runs.iter().map(|run| run.iter().collect()).collect::<Vec<_>>());
    compare(&before, &after, Method::default())
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
fn a_comparison_shows_what_changed_before_it_says_what_differs() {
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
    assert!(page.contains("Runs 2, 3 against run 1") && !page.contains("<script>a"));
    let order = [
        "Regression (",
        "Workloads by figure",
        ">Throughput<",
        "class=\"forest worse\"",
        "Differences of the environment",
        "kernel",
    ];
    let body = page.split_once("<main>").unwrap().1;
    let places: Vec<usize> = order.iter().filter_map(|part| body.find(part)).collect();
    assert!(places.len() == order.len() && places.is_sorted(), "{places:?}");
    for load in ["http:", "https:", " src=", "href=", "@import"] {
        assert!(!page.contains(load), "{load}");
    }
    let same = html(&compared(&before, &before));
    assert!(same.contains("None, as far as the samples record it.") && !same.contains("class=\"forest worse\""));
}

#[test]
fn many_facts_of_one_side_share_a_row() {
    let before = samples(&run(&fixed()));
    let same = comparison_text(&compared(&before, &before), true, columns(200));
    assert!(same.contains("The environment is the same") && !same.contains("on one side only"));
    let mut after = before.clone();
    for sample in &mut after {
        sample.environment = Environment::unknown("elsewhere", Some(Bytes(1 << 20))).into();
    }
    let text = comparison_text(&compared(&before, &after), true, columns(200));
    assert!(text.contains("facts recorded on one side only") && !text.contains("unknown"), "{text}");
    assert!(text.contains("elsewhere"), "facts of both sides keep their rows: {text}");
    // One fact alone keeps its row, too.
    let mut after = before.clone();
    after.iter_mut().for_each(|sample| sample.environment.cpu_model = None);
    let text = comparison_text(&compared(&before, &after), true, columns(200));
    assert!(text.contains("cpu_model") && text.contains("unknown"), "{text}");
}

#[test]
fn one_sample_of_few_ticks_is_reported_as_one() {
    let of = |elapsed_s: f64| {
        varied([elapsed_s], |sample, elapsed_s| {
            sample.cpu.lower.user_s = elapsed_s;
            sample.cpu.lower.system_s = 0.0;
        })
    };
    let text = comparison_text(&compared(&of(0.01), &of(0.02)), true, columns(200));
    assert!(text.contains("undecided (one sample)"), "{text}");
}

#[test]
fn the_first_line_says_how_runs_vary() {
    let of = |rates: &[f64]| varied(rates.to_vec(), |sample, rate| sample.total.bytes_per_s.0 = rate);
    let several = compared(&of(&[1e9, 1.01e9, 1.02e9]), &of(&[1e9, 1.01e9, 1.02e9]));
    let text = comparison_text(&several, true, columns(200));
    assert!(text.starts_with("Undecided (runs vary by ") || text.starts_with("Equivalent (runs vary by "), "{text}");
    assert!(text.contains("\nBetween runs: throughput varies by "), "{text}");
    assert!(html(&several).contains("Between runs: throughput varies by "));
    let alone = comparison_text(&compared(&of(&[1e9]), &of(&[1e9])), true, columns(200));
    assert!(alone.starts_with("Undecided (runs are assumed to vary by "), "{alone}");
    assert!(alone.contains("\nFewer than two earlier runs of these workloads are stored: "), "{alone}");
}

#[test]
fn only_what_changed_is_listed_and_markdown_stays_text() {
    let of = |factor: f64| {
        let rates = [(1, 1e9, factor), (2, 1e9, 1.0), (3, 1e9, 1.0), (4, 1e9, 1.0)];
        let all = rates.into_iter().flat_map(|rate| [0.999, 1.0, 1.001].map(|share| (rate, share)));
        varied(all, |sample, ((place, rate, factor), share)| {
            sample.workload.offset = Bytes(place << 20);
            sample.total.bytes_per_s.0 = rate * factor * share;
            if factor < 1.0 {
                sample.environment.kernel = "6|<b>[x](y)`*".to_owned();
            }
        })
    };
    let comparison = compared(&of(1.0), &of(0.5));
    let [some, all] = [false, true].map(|all| comparison_text(&comparison, all, columns(200)));
    assert!(
        some.contains("shifted by 1 MiB") && !some.contains("shifted by 2 MiB") && all.contains("shifted by 2 MiB"),
        "{some}"
    );
    let markdown = comparison_text(&comparison, false, Medium::Markdown);
    assert!(markdown.starts_with("**Regression "), "{markdown}");
    assert!(markdown.contains(r"6\|\<b\>\[x\](y)\`\*"), "{markdown}");
    let columns = |line: &str| line.replace(r"\|", "").matches('|').count();
    let table: Vec<usize> =
        markdown.lines().skip_while(|line| !line.contains("throughput | before")).map(columns).collect();
    assert_eq!(table[..3], [5, 5, 5], "{markdown}");
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
    let text = comparison_text(&comparison, true, columns(400));
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
fn a_run_held_against_itself_says_first_what_the_same_differed_by() {
    let mut analysed = run(&fixed());
    assert!(!page(&analysed).contains(">Noise<") && !lines(&analysed, 100).contains("Noise"), "not requested");
    analysed.run.kind = RunKind::Aa;
    let analysed = analysed.again();
    let page = page(&analysed);
    markup::check_nesting(&page);
    assert!(page.contains(">Noise<"));
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
