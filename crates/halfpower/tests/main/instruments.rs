//! The instruments: what each reads, keeps and refuses.

use crate::support::{Lab, skip};

#[test]
fn what_was_scrubbed_is_cold_and_is_remembered() {
    let lab = Lab::new();
    lab.data_file("file", 8192);
    let read = |lab: &Lab| std::fs::read(lab.path("file")).unwrap().len();
    assert_eq!(read(&lab), 8 << 20);
    let outcome = lab.run(["scrub", "file", "--json", "--note=before the test"]);
    let reading: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(reading["schema"], "halfpower.reading/1");
    assert_eq!((&reading["instrument"], &reading["note"]), (&"scrub".into(), &"before the test".into()));
    let target = &reading["figures"]["targets"][0];
    let after = target["steps"][0]["cached_after"].as_f64().unwrap();
    if after == 1.0 {
        return skip("the file system here keeps files in memory");
    }
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert_eq!((&target["steps"][0]["way"], &target["cached_before"]), (&"advice".into(), &1.0.into()));
    assert!(after < 0.01, "{after}");
    let list = lab.run(["runs"]).stdout;
    assert!(list.contains("scrub on ") && list.contains("(before the test)"), "{list}");
    let shown = lab.json(["runs", "show", "1", "--json"]);
    assert_eq!(shown, reading);
    lab.refuses(["report", "1"], 2, "is a reading of `scrub`");
}

#[test]
fn scrubbing_says_what_stands_in_its_way() {
    let lab = Lab::new();
    lab.data_file("file", 16);
    lab.refuses(["scrub", "null:"], 1, "holds nothing");
    lab.refuses(["scrub", "file", "none"], 1, "does not exist");
    lab.refuses(["scrub", "place"], 1, "is a directory");
}
