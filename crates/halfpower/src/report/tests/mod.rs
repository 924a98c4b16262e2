//! Golden files of summary and HTML, from a stored run with fixed figures, and checks of every report.
//!
//! `INSTA_UPDATE=always cargo test -p halfpower report` writes the golden files anew.

mod comparison;
pub(crate) mod markup;
mod stored;

use super::{Analysed, html, summary};
use crate::console::Medium;
use crate::store::RunStatus;
use crate::study::Study;
use halfpower_analysis::BlockLayer;
use halfpower_model::sample::Interval;
use halfpower_model::{
    BytesPerSecond, Channel, Estimate, Finding, FindingCode, Level, LevelName, Nanoseconds, Personality, Quantity,
    Reach, SubmitBatch,
};
use stored::{PATH, fixed, run};

fn page(analysed: &Analysed) -> String {
    html(analysed).unwrap()
}

fn lines(analysed: &Analysed, width: usize) -> String {
    summary(analysed, columns(width))
}

fn columns(width: usize) -> Medium {
    Medium::Terminal { width, colour: false }
}

#[test]
fn summary_page_and_charts_are_as_they_were() {
    let analysed = run(&fixed());
    insta::assert_snapshot!("summary_100", lines(&analysed, 100));
    insta::assert_snapshot!("summary_44", lines(&analysed, 44));
    let page = page(&analysed);
    insta::assert_snapshot!("page", markup::without(&page, &["style", "script", "svg"]));
    let charts: Vec<&str> = markup::elements(&page, "svg").filter(|svg| svg.contains("class=\"chart\"")).collect();
    assert_eq!(charts.len(), 11, "the pyramid of writes among them: of reads there is one figure only");
    let [pyramid, throughput] = ["pyramid-writes-title", "throughput-sequential-read-title"]
        .map(|id| charts.iter().find(|chart| chart.contains(id)).unwrap().replace('>', ">\n"));
    insta::assert_snapshot!("chart", throughput);
    insta::assert_snapshot!("pyramid", pyramid);
    // Text of records is escaped.
    for raw in ["<script>a", "<img", "<i>", "<b>", "<disabled>", "onerror=alert(2)>", PATH] {
        assert!(!page.contains(raw), "{raw}");
    }
}

#[test]
fn a_pyramid_names_its_bottleneck_in_words_in_the_table_and_in_the_chart() {
    let mut study = run(&fixed());
    let channel = |at: &str, rate: f64| Channel {
        at: at.to_owned(),
        through: None,
        pap_bytes_per_s: Some(BytesPerSecond(rate)),
        source: "<b>label</b>".to_owned(),
    };
    for stored in &mut study.samples {
        stored.sample.environment.target.levels = vec![
            Level::of(LevelName::Link, [channel("<i>cable</i>", 8e9)]),
            Level::of(LevelName::Device, [channel("nvme0n1", 1.3e9)]),
        ];
    }
    let analysed = study.again();
    let page = page(&analysed);
    markup::check_nesting(&page);
    markup::check_ids(&page);
    assert!(!page.contains("<b>label") && !page.contains("<i>cable"));
    let writes = page.split("<svg class=\"chart\"").find(|svg| svg.contains("pyramid-writes-title")).unwrap();
    let marked = writes.split("<text").find(|text| text.contains("◂ bottleneck")).unwrap();
    assert!(marked.contains(">device</tspan>"), "{marked}");
    let rows: Vec<&str> = page.split("<tr>").filter(|row| row.contains("<td>yes</td>")).collect();
    assert!(rows.len() == 1 && rows[0].contains(">device (nvme0n1)<") && rows[0].contains("<td>1.3 GB&#x2f;s</td>"));
    // Reads pass the 1.3 GB/s that the device is said to give.
    assert!(page.contains("the peak is wrong, or a cache answered") && page.contains("<td>beyond PAP</td>"));
    insta::assert_snapshot!("summary_pyramid_100", pyramid_of(&lines(&analysed, 100)));
    insta::assert_snapshot!("summary_pyramid_44", pyramid_of(&lines(&analysed, 44)));
}

/// The part of a summary that is about the pyramid.
fn pyramid_of(summary: &str) -> &str {
    let start = summary.find("\nPyramid").unwrap();
    &summary[start..summary.find("\nRecommendation").unwrap_or(summary.len())]
}

#[test]
fn a_survey_ends_with_an_answer_on_a_screen_and_its_tables_have_the_half_power_size() {
    let analysed = run(&Study::builtin("survey").unwrap());
    let answer = super::answer(&analysed, "halfpower runs show 1", columns(80));
    // The name of the target takes four lines more than others.
    assert!(answer.lines().count() <= 22 + 4 && answer.lines().all(|line| line.chars().count() <= 80), "{answer}");
    insta::assert_snapshot!("answer_80", answer);
    let summary = lines(&analysed, 100);
    let after = summary.split("half-power").nth(1).unwrap();
    let first = after.lines().nth(1).unwrap();
    // 80 µs and 3.6 GB/s: half of the peak of 3.3 GB/s is at 80 µs × 3.6 GB/s × 0.458 / 0.542 = 238 KiB.
    assert!(first.starts_with("  read, QD1, direct") && first.contains("256 KiB (2"), "{first}");
}

#[test]
fn nothing_is_advised_for_memory() {
    let mut analysed = run(&Study::builtin("survey").unwrap());
    for stored in &mut analysed.samples {
        stored.sample.environment.target.filesystem = Some("tmpfs".to_owned());
    }
    let analysed = analysed.again();
    let answer = super::answer(&analysed, "halfpower runs show 1", columns(80));
    assert!(answer.contains("is memory, not storage") && answer.contains("The bottleneck of reads"), "{answer}");
    assert!(!answer.contains("Use ") && !answer.contains("\nFor "), "{answer}");
    assert_eq!(analysed.json()["verdict"]["advice"], serde_json::json!([]));
}

#[test]
fn the_summary_keeps_to_its_width_and_is_plain_without_colour() {
    let analysed = run(&fixed());
    for width in [20, 44, 120] {
        let text = lines(&analysed, width);
        assert!(!text.contains('\x1b') && text.lines().all(|line| line.chars().count() <= width), "{width}: {text}");
    }
    let coloured = summary(&analysed, Medium::Terminal { width: 100, colour: true });
    assert!(coloured.contains("\x1b[1m"));
    let codes = ["\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[33m"];
    let bare = codes.iter().fold(coloured, |text, code| text.replace(code, ""));
    assert_eq!(bare, lines(&analysed, 100));
}

#[test]
fn lives_in_the_block_layer_have_a_table_and_a_line() {
    let mut analysed = run(&fixed());
    assert!(
        !page(&analysed).contains("Block layer") && !lines(&analysed, 100).contains("Block layer"),
        "not requested"
    );
    let ratio = |value| Some(Estimate { quantity: Quantity::Ratio, value, low: None, high: None, repetitions: 3 });
    for (cell, queued) in analysed.analysis.cells.iter_mut().zip([0.125, 0.75]) {
        cell.block = Some(BlockLayer {
            followed: 4321,
            queued: ratio(queued),
            at_device: ratio(1.0 - queued),
            split: ratio(1.5),
            merged: None,
            requeued: ratio(0.0625),
            read_amplification: ratio(1.25),
            write_amplification: None,
            busy: ratio(0.875),
        });
    }
    let page = page(&analysed);
    markup::check_nesting(&page);
    let table = page.split("<summary>Block layer</summary>").nth(1).unwrap().split("</table>").next().unwrap();
    for figure in ["4321", "12.5 %", "87.5 %", "1.5 times", "6.25 %", "1.25 times"] {
        assert!(table.contains(&format!("<td>{figure}</td>")), "{figure}: {table}");
    }
    assert_eq!(table.matches("<tr>").count(), 3, "those that were followed, and the head");
    let summary = lines(&analysed, 200);
    assert!(
        summary.contains("75 % queued, 25 % at the device; the device had requests outstanding 87.5 % of the time"),
        "{summary}"
    );
}

#[test]
fn what_else_was_seen_has_a_line_each_and_the_rest_a_count() {
    let mut analysed = run(&fixed());
    analysed.analysis.findings.retain(|finding| finding.code != FindingCode::Asymmetry);
    assert!(!lines(&analysed, 100).contains("Also seen"), "nothing else was");
    let seen = |code, subject: &str, reach| Finding {
        code,
        subject: subject.to_owned(),
        reach,
        brief: "as it is".to_owned(),
        sentence: "It is as it is.".to_owned(),
        estimates: vec![],
        samples: vec![1],
    };
    let findings = &mut analysed.analysis.findings;
    findings.push(seen(FindingCode::Dip, "in memory", Reach::Memory));
    findings.extend((1..=7).map(|number| seen(FindingCode::Dip, &format!("dip {number}"), Reach::Storage)));
    findings.push(seen(FindingCode::CacheHits, "reads", Reach::Memory));
    let undecided = seen(FindingCode::Misalignment, "shifted", Reach::Storage);
    findings.push(Finding { brief: "undecided: 98 %".to_owned(), ..undecided });
    let summary = lines(&analysed, 100);
    let also: Vec<&str> = summary.split("Also seen").nth(1).unwrap().lines().skip(1).take(7).map(str::trim).collect();
    assert!(also[0].starts_with("a cache answered") && also[0].ends_with("reads: as it is"), "{also:?}");
    assert!(also[5].starts_with("dip") && also[5].ends_with("dip 5: as it is"), "{also:?}");
    assert!(also[6].starts_with("and 2 more") && also[6].ends_with("in the report"), "{also:?}");
    assert!(!summary.contains("in memory") && !summary.contains("shifted"));
    assert!(summary.lines().all(|line| line.chars().count() <= 100));
    let page = page(&analysed);
    markup::check_nesting(&page);
    assert!(page.matches("It is as it is.").count() >= 10 && page.contains("Page cache and flushes"));
}

#[test]
fn a_run_of_single_repetitions_is_headed_by_no_intervals() {
    let several = run(&fixed());
    let heading = "means with 95 % confidence intervals over";
    assert!(lines(&several, 200).contains("95 % confidence intervals") && page(&several).contains(heading));
    let mut analysed = run(&fixed());
    // A later block, in which nothing failed.
    analysed.samples.retain(|stored| stored.block == 2);
    let place = analysed.samples.iter().position(|stored| stored.cell == 1).unwrap();
    let sample = &mut analysed.samples[place].sample;
    sample.workload.interval = Nanoseconds(10_000_000);
    let interval = |index: u32| Interval {
        at_s: f64::from(index) / 100.0,
        requests: 1,
        bytes: 1_000_000 + u64::from(index * 7919 % 101) * 1000,
        ..Interval::default()
    };
    sample.intervals = (1..=200).map(interval).collect();
    let analysed = analysed.again();
    let (summary, page) = (lines(&analysed, 200), page(&analysed));
    assert!(!summary.contains("95 %") && summary.contains("no confidence intervals"), "{summary}");
    assert!(!page.contains(heading) && page.contains("No workload has"));
    assert_eq!(page.matches("% within the run)").count(), 1, "of the one that has intervals enough");
    markup::check_nesting(&page);
}

#[test]
fn measured_cells_are_distinguished_from_planned_ones() {
    let study = "name = \"stopped\"\n[trial]\nrepetitions = 1\n[[sweep]]\nsubmit_batch = [1, 4]\ndepth = 4\nduration = \"1s\"\n";
    let mut analysed = run(&Study::parse("stopped.toml", study).unwrap());
    let name = |batch: SubmitBatch| format!("QD4, direct, submit_batch {batch}");
    let whole = lines(&analysed, 200);
    assert!(
        whole.contains(&name(SubmitBatch::Requests(1))) && whole.contains(&name(SubmitBatch::Requests(4))),
        "{whole}"
    );
    analysed.run.status = RunStatus::Interrupted;
    analysed.samples.truncate(1);
    let analysed = analysed.again();
    let own = name(analysed.analysis.cells[0].workload.submit_batch);
    for shown in [lines(&analysed, 200), page(&analysed)] {
        assert!(shown.contains(&own) && shown.contains("stopped after 1 of 2 samples"), "{shown}");
    }
}

#[test]
fn a_run_without_findings_shows_what_was_measured() {
    let mut analysed = run(&fixed());
    analysed.analysis.findings.clear();
    assert!(lines(&analysed, 100).contains("sequential read, 64 KiB, QD8, direct"));
    // An import may have bytes per second and no IOPS.
    analysed.analysis.cells.iter_mut().for_each(|cell| cell.requests_per_s.repetitions = 0);
    let unknown = lines(&analysed, 200);
    let row = unknown.lines().find(|line| line.contains("sequential read, 64 KiB, QD8, direct")).unwrap();
    assert!(row.contains("B/s ± 0.5 %   –  ") && row.ends_with("461 µs"), "{row}");
    analysed.analysis.cells.clear();
    analysed.samples.clear();
    let page = page(&analysed);
    markup::check_nesting(&page);
    assert!(page.contains("This run supports no claim"));
    assert!(lines(&analysed, 80).contains("0 workloads, 0 samples, none failed"));
}

#[test]
fn lines_are_split_by_personality_only_if_they_differ_in_it_alone() {
    let mut analysed = run(&fixed());
    let before = page(&analysed);
    assert!(!before.contains("<span>direct, 4 KiB, io_uring</span>") && before.contains("<span>half of the peak ("));
    analysed.analysis.findings.retain(|finding| finding.code != FindingCode::Peak);
    let cells = &mut analysed.analysis.cells;
    let doubled: Vec<_> = cells.iter().filter(|cell| cell.workload.depth == 1).cloned().collect();
    cells.extend(doubled.into_iter().map(|mut cell| {
        cell.workload.personality = Personality::Null;
        cell
    }));
    let after = page(&analysed);
    for label in ["<span>direct, 4 KiB, io_uring</span>", "<span>direct, QD1, null</span>"] {
        assert!(after.contains(label), "{label}");
    }
    assert!(!after.contains("<span>half of the peak ("), "no finding names the peak");
}

#[test]
fn lines_and_titles_of_a_survey_name_flushes_and_mixes() {
    let page = page(&run(&Study::builtin("survey-quick").unwrap()));
    for words in ["<span>direct, 4 KiB, fsync=1</span>", "IOPS of random requests, mix=70"] {
        assert!(page.contains(words), "{words}");
    }
}

#[test]
fn a_thorough_page_is_well_formed_loads_nothing_and_fits_into_two_megabytes() {
    let analysed = run(&Study::builtin("survey-thorough").unwrap());
    assert!(analysed.analysis.cells.len() >= 130 && analysed.samples.len() >= 1300);
    let page = page(&analysed);
    assert!(page.len() < 2_000_000, "{} bytes", page.len());
    assert!(!page.contains("in the table."), "no chart has more lines than can be distinguished");
    assert!(page.starts_with("<!doctype html>"));
    markup::check_nesting(&page);
    markup::check_ids(&page);
    let without_namespace = page.replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
    for load in ["http:", "https:", "@import", "url(http", "url(\"", "url('"] {
        assert!(!without_namespace.contains(load), "{load}");
    }
    assert_eq!(page.matches("<script").count(), 1);
    for tag in markup::tags(&page) {
        let name = tag.split_whitespace().next().unwrap_or_default();
        assert!(!["link", "iframe", "object", "image", "img", "use", "base"].contains(&name), "{tag}");
        assert!(
            !tag.starts_with("script ") && !tag.contains(" src=") && !tag.replace("href=\"#", "").contains("href="),
            "{tag}"
        );
    }
}
