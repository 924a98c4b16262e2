//! The pyramid from the command line: peaks that were given, the memory that was measured, and the level that a control
//! group holds back.

use crate::support::{Lab, skip};
use serde_json::Value;

const READS: &str = r#"
name = "reads"
[trial]
repetitions = { min = 3, max = 3 }
[[sweep]]
name = "sizes"
operation = "read"
request_size = ["4KiB", "256KiB"]
buffering = "buffered"
cache = "cold"
requests = 40
"#;

/// The level of a pyramid.
fn level<'a>(pyramid: &'a Value, name: &str) -> &'a Value {
    let levels = pyramid["levels"].as_array().unwrap();
    levels.iter().find(|level| level["level"] == name).unwrap_or_else(|| panic!("no {name} in {pyramid}"))
}

#[test]
fn a_run_holds_what_came_through_against_the_peak_that_was_given() {
    let lab = Lab::new();
    lab.data_file("data", 16 << 10);
    lab.write("reads.toml", READS.as_bytes());
    // No storage is that slow, and none that fast.
    for (peak, half) in [("device=1kB/s", "beyond_peak"), ("device=900GB/s", "missed")] {
        let run = lab.json(["study", "run", "reads.toml", "--target=data", "--pap", peak, "--no-report", "--json"]);
        let pyramids = run["analysis"]["pyramids"].as_array().unwrap();
        assert_eq!(pyramids.len(), 1, "nothing was written");
        let pyramid = &pyramids[0];
        assert_eq!((&pyramid["operation"], &pyramid["targets"]), (&"read".into(), &1.into()));
        let device = level(pyramid, "device");
        assert_eq!((&device["half"], &device["pap_source"]), (&half.into(), &"given".into()), "{device}");
        let rap = &device["rap"];
        assert!(rap["value"].as_f64().unwrap() > 1e3 && rap["repetitions"] == 3, "{rap}");
        assert_eq!(pyramid["bottleneck"], Value::Null, "{pyramid}");
        let names: Vec<&str> =
            pyramid["levels"].as_array().unwrap().iter().map(|l| l["level"].as_str().unwrap()).collect();
        assert_eq!(names[..4], ["memory", "memory_copy", "file_cache", "file_system"]);
    }
    let shown = lab.run(["runs", "show", "1"]).stdout;
    assert!(shown.contains("beyond PAP") && shown.contains("more passed the device"), "{shown}");
    assert_eq!(lab.run(["report", "2", "--output=page.html"]).status, Some(0));
    let page = std::fs::read_to_string(lab.path("page.html")).unwrap();
    assert!(
        page.contains("<h2>Pyramid</h2>") && page.contains("900 GB&#x2f;s") && page.contains("pyramid-reads-title")
    );
}

#[test]
fn several_targets_have_one_pyramid() {
    let lab = Lab::new();
    if !lab.has_direct_ring() {
        return skip("this takes direct I/O");
    }
    for name in ["one", "two"] {
        lab.data_file(name, 4 << 10);
    }
    let study =
        ["study", "run", "targets", "--target=one", "--target=two", "--pap=link=900TB/s", "--no-report", "--json"];
    let run = lab.json(study);
    let pyramid = &run["analysis"]["pyramids"][0];
    assert_eq!(pyramid["targets"], 2);
    // It has so much to spare that it is ruled out whatever the two do to one another.
    let link = level(pyramid, "link");
    assert!(link["pap_bytes_per_s"].as_f64().unwrap() >= 900e12, "{link}");
    assert_eq!((&link["half"], &link["standing"]), (&"missed".into(), &"ruled_out".into()), "{link}");
    assert!(pyramid["sentence"].as_str().unwrap().ends_with('.') && pyramid["bottleneck"] != "link", "{pyramid}");
}
