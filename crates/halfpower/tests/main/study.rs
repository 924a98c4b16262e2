//! A study from its file to its report: the summary, the price, the pyramid of peaks.

use crate::support::{Lab, find, names};
use serde_json::Value;

fn prices(document: &Value) -> Vec<String> {
    let findings = document["analysis"]["findings"].as_array().unwrap();
    let sentence = |finding: &Value| finding["sentence"].as_str().unwrap().to_owned();
    findings.iter().filter(|finding| finding["code"] == "price").map(sentence).collect()
}

#[test]
fn a_study_ends_with_a_summary_a_price_and_a_report() {
    let lab = Lab::new();
    let study = "study run sweep.toml --target place --size=8MiB";
    let outcome = lab.ends((study, "--report=out.html"), 0, "It makes a test file of 8 MiB");
    for part in ["Peak", "half-power size", "5 workloads, 3 repetitions each, 15 samples, none failed"] {
        assert!(outcome.stdout.contains(part), "{part}: {}", outcome.stdout);
    }
    assert!(outcome.stderr.contains("Report: out.html"), "{}", outcome.stderr);
    // Without a terminal there is neither bar nor colour.
    assert!(!outcome.stdout.contains('\x1b') && !outcome.stderr.contains(['\x1b', '\r']), "{}", outcome.stderr);
    assert_eq!(names(&lab.place()), [""; 0]);
    let report = lab.read("out.html");
    assert!(report.len() < 2_000_000 && report.contains("<svg") && report.contains("Where is the half-power point?"));
    for remote in ["src=\"http", "href=\"http", "src=\"//", "url(http", "@import", "<link", "<script src"] {
        assert!(!report.contains(remote), "the report fetches something: {remote}");
    }
    assert_eq!(lab.page(1), report, "made again, it is the same");
    assert_eq!(lab.run("runs show 1").stdout, outcome.stdout);

    let found = prices(&lab.json("runs show 1"));
    assert!(found[0].starts_with("At a total price of 209 EUR, reads cost "), "{found:?}");
    assert!(found[0].contains(" EUR per KAPS") && found[0].ends_with("124 MB per 1 EUR."), "{found:?}");
    let heading = |text: &str| text.lines().find(|line| line.starts_with("Price")).unwrap().to_owned();
    assert!(heading(&outcome.stdout).contains("of accesses and capacity"));
    let typed = prices(&lab.json((study, "--no-report --no-store --price=418 --capacity=4.18GB")));
    assert!(typed[0].starts_with("At a total price of 418 USD") && typed[0].ends_with("10 MB per 1 USD."), "{typed:?}");
    assert!(report.contains("At a total price of 209 EUR"));
    lab.ok("report 1 --output=out.html --price=100CHF");
    assert!(lab.read("out.html").contains("At a total price of 100 CHF"));
    // An unknown capacity is not mentioned.
    lab.write("unknown.toml", lab.read("sweep.toml").replace("capacity = \"26GB\"\n", ""));
    let unknown = heading(&lab.ok("study run unknown.toml --target place --size=1MiB --no-store --no-report").stdout);
    assert!(unknown.contains("of accesses") && !unknown.contains("capacity"), "{unknown}");
}

#[test]
fn a_survey_repeats_as_it_was() {
    let lab = Lab::new();
    lab.ok("run --quick --no-report sim:cloud-gp3:baseline");
    lab.ok("study repeat 1 --no-report");
    let [first, second] = [1, 2].map(|run| lab.samples(run));
    let figures = |samples: &[(i64, i64, String)]| -> Vec<(i64, i64, Value)> {
        let total = |record: &str| serde_json::from_str::<Value>(record).unwrap()["total"].take();
        samples.iter().map(|(cell, block, record)| (*cell, *block, total(record))).collect()
    };
    assert_eq!(figures(&first), figures(&second));
    assert!(first.len() < 3 * 48, "{} samples of 48 workloads", first.len());
    lab.refuses("study repeat 9", 1, "no run 9");
    lab.ok("io sim:cloud-gp3:baseline --requests=10");
    lab.refuses("study repeat 3", 2, "run 3 is a single workload");
}

#[test]
fn without_a_price_there_is_none_without_a_store_no_run_and_a_wrong_price_is_refused() {
    let lab = Lab::new();
    let study = "study run tiny.toml --target=place --size=1MiB --no-report";
    lab.ok((study, "--no-store"));
    lab.ok("run place --dry-run --quick --size=64MiB");
    assert!(names(&lab.place()).is_empty() && !lab.store().exists());
    let document = lab.json(study);
    assert_eq!(prices(&document), Vec::<String>::new());
    for key in ["service_times", "concurrency", "scaling"] {
        assert!(document["analysis"]["models"][key].is_array(), "{document}");
    }
    lab.refuses("report 1 --capacity=1TB", 2, "give --price as well");
    lab.refuses("report 1 --price=cheap", 2, "write one like 199USD");
    lab.refuses("report 1 --price=0", 2, "no figure can be worked out");
    lab.write("wrong.toml", lab.read("sweep.toml").replace("price = \"209EUR\"\n", ""));
    lab.ends("study check wrong.toml", 2, "`capacity` says what a price buys");
    lab.write("wrong.toml", lab.read("sweep.toml").replace("209EUR", "209 quid"));
    lab.ends("study check wrong.toml", 2, "is no price");
}

#[test]
fn a_run_holds_what_came_through_against_the_peak_that_was_given() {
    let lab = Lab::new();
    lab.data_file("data", 16 << 10);
    // No storage is that slow, and none that fast.
    for (peak, half) in [("device=1kB/s", "beyond_peak"), ("device=900GB/s", "missed")] {
        let run = lab.json(format!("study run reads.toml --target=data --no-report --pap {peak}"));
        let pyramids = run["analysis"]["pyramids"].as_array().unwrap();
        assert_eq!(pyramids.len(), 1, "nothing was written");
        let pyramid = &pyramids[0];
        assert_eq!((&pyramid["operation"], &pyramid["targets"]), (&"read".into(), &1.into()));
        let device = find(&pyramid["levels"], "level", "device");
        assert_eq!((&device["half"], &device["pap_source"]), (&half.into(), &"given".into()), "{device}");
        let rap = &device["rap"];
        assert!(rap["value"].as_f64().unwrap() > 1e3 && rap["repetitions"] == 3, "{rap}");
        assert_eq!(pyramid["bottleneck"], Value::Null, "{pyramid}");
        let levels = pyramid["levels"].as_array().unwrap().iter();
        let levels: Vec<&str> = levels.map(|level| level["level"].as_str().unwrap()).collect();
        assert_eq!(levels[..4], ["memory", "memory_copy", "file_cache", "file_system"]);
    }
    let shown = lab.run("runs show 1").stdout;
    assert!(shown.contains("beyond PAP") && shown.contains("more passed the device"), "{shown}");
    let page = lab.page(2);
    for part in ["What limits it</h2>", "900 GB&#x2f;s", "pyramid-reads-title"] {
        assert!(page.contains(part), "{part}");
    }
    // Several targets have one.
    if !lab.has_direct_ring() {
        return;
    }
    lab.data_file("one", 4 << 10);
    lab.data_file("two", 4 << 10);
    let run = lab.json("study run fewer.toml --target=one --target=two --pap=link=900TB/s --no-report");
    let pyramid = &run["analysis"]["pyramids"][0];
    assert_eq!(pyramid["targets"], 2);
    // The link is so fast that it is ruled out, however the two affect each other.
    let link = find(&pyramid["levels"], "level", "link");
    assert!(link["pap_bytes_per_s"].as_f64().unwrap() >= 900e12, "{link}");
    assert_eq!((&link["half"], &link["standing"]), (&"missed".into(), &"ruled_out".into()), "{link}");
    assert!(pyramid["sentence"].as_str().unwrap().ends_with('.') && pyramid["bottleneck"] != "link", "{pyramid}");
}
