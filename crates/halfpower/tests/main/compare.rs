//! Comparing two runs: what changed, and the status that says so.

use crate::support::Lab;

/// What iozone prints of two writers through the file cache and of two past it, in KiB a second.
fn iozone(buffered: f64, direct: f64, parent: f64) -> String {
    let test = |option: &str, children: f64, parent: f64| {
        format!(
            "Iozone: Performance Test of File I/O\nVersion $Revision: 3.283 $\n\nRun began: Wed Jan 23 14:56:41 2008\n\n\
             Record Size 1024 KB\n{}File size set to 1536000 KB\nInclude close in write timing\n\
             Include fsync in write timing\n\
             Command line used: ./iozone -r 1m -s 1500m -c -e {option}-t 2 -F /scratch/X1 /scratch/X2 -i 0\n\
             Output is in Kbytes/sec\nThroughput test with 2 processes\n\
             Each process writes a 1536000 Kbyte file in 1024 Kbyte records\n\n\
             Children see throughput for 2 initial writers = {children:.2} KB/sec\n\
             Parent sees throughput for 2 initial writers = {parent:.2} KB/sec\n\n\niozone test complete.\n",
            if option.is_empty() { "" } else { "O_DIRECT feature enabled\n" }
        )
    };
    test("", buffered, buffered) + &test("-I ", direct, parent)
}

#[test]
fn the_collapse_of_buffered_writers_is_named_with_where_it_is_not() {
    let lab = Lab::new();
    lab.write("good.txt", iozone(87352.61, 85696.29, 85689.20).as_bytes());
    lab.write("bad.txt", iozone(9461.15, 79399.89, 48569.16).as_bytes());
    assert_eq!(lab.run(["import", "good.txt", "bad.txt"]).status, Some(0));
    let worse = lab.run(["compare", "1", "2"]);
    assert_eq!(worse.status, Some(3), "{}{}", worse.stdout, worse.stderr);
    let said: String = worse.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for needle in [
        "Regression: sequential write",
        "throughput 9.23 times lower",
        "the cause of the largest fall is likely above the device",
        "1.76 times lower",
    ] {
        assert!(said.contains(needle), "{needle}: {said}");
    }
    let better = lab.run(["compare", "2", "1", "--json"]);
    assert_eq!(better.status, Some(4), "one sample of direct writing decides nothing: {}", better.stdout);
    let document: serde_json::Value = serde_json::from_str(&better.stdout).unwrap();
    assert_eq!((&document["outcome"], document["cells"].as_array().unwrap().len()), (&"undecided".into(), 2));
    let lenient = lab.run(["compare", "2", "1", "--threshold=20%"]);
    assert_eq!(lenient.status, Some(4), "a threshold makes no interval: {}", lenient.stdout);
}

#[test]
fn a_file_imported_twice_is_one_measurement() {
    let lab = Lab::new();
    lab.write("good.txt", iozone(87352.61, 85696.29, 85689.20).as_bytes());
    lab.write("bad.txt", iozone(9461.15, 79399.89, 48569.16).as_bytes());
    lab.write("copy.txt", iozone(87352.61, 85696.29, 85689.20).as_bytes());
    let codes = |document: &serde_json::Value| -> Vec<String> {
        let warnings = document["warnings"].as_array().unwrap().iter();
        warnings.map(|warning| warning["code"].as_str().unwrap().to_owned()).collect()
    };
    for (name, is_again) in [("good.txt", false), ("bad.txt", false), ("copy.txt", true)] {
        let imported = lab.json(["import", "--json", name]);
        assert_eq!(codes(&imported).contains(&"imported_before".to_owned()), is_again, "{name}: {imported}");
    }
    assert!(lab.run(["import", "good.txt"]).stderr.contains("run 1 holds the same samples already"));
    // One sample, whatever it is called: no interval comes of it.
    let twice = lab.run(["compare", "1,3", "2", "--json", "--report", "twice.html"]);
    let twice_document: serde_json::Value = serde_json::from_str(&twice.stdout).unwrap();
    let once: serde_json::Value = serde_json::from_str(&lab.run(["compare", "1", "2", "--json"]).stdout).unwrap();
    assert_eq!((codes(&once), codes(&twice_document)), (vec![], vec!["same_samples".to_owned()]));
    assert_eq!(twice_document["cells"], once["cells"]);
    let page = std::fs::read_to_string(lab.path("twice.html")).unwrap();
    assert!(page.contains("Run 3 holds the samples of run 1 again"), "{page}");
    let itself = lab.run(["compare", "1", "3"]).stdout;
    assert!(
        itself.contains("Warning: run 3 holds the samples of run 1: they are compared with themselves"),
        "{itself}"
    );
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let lab = Lab::new();
    lab.data_file("file", 64);
    for _ in 0..2 {
        assert_eq!(lab.run(["io", "file", "--buffering=buffered", "--requests=10"]).status, Some(0));
    }
    lab.refuses(["compare", "1", "1"], 2, "run 1 is on both sides");
    lab.refuses(["compare", "1", "x"], 2, "is no run; write its number");
    lab.refuses(["compare", "1", "2", "--threshold=5"], 2, "write one like 5%");
    lab.refuses(["compare", "1", "9"], 1, "9");
    assert_eq!(lab.run(["inspect", "file"]).status, Some(0));
    lab.refuses(["compare", "1", "3"], 2, "run 3 has no samples to compare");
    let same = lab.run(["compare", "1", "2"]);
    // Ten requests each may take any time, but one sample a side is never enough to call them equivalent.
    assert!(same.status.is_some() && !same.stdout.starts_with("Equivalent"), "{}", same.stdout);
    assert!(same.stdout.contains("Measured on the same, as far as the samples tell."), "{}", same.stdout);
}

/// Two workloads of a simulated disk, on which they scatter the same each time.
const SIMULATED: &str = r#"
name = "simulated"
[trial]
repetitions = { min = 5, max = 5 }
[[sweep]]
name = "depths"
operation = "read"
pattern = "random"
request_size = "8KiB"
buffering = "direct"
depth = [1, 8]
requests = 300
"#;

#[test]
fn what_the_same_differs_by_is_measured_and_can_be_compared_by() {
    let lab = Lab::new();
    lab.write("simulated.toml", SIMULATED.as_bytes());
    let study = ["study", "run", "simulated.toml", "--target=sim:win2k-pentium3:atlas-1", "--report=aa.html"];
    let twice = lab.run(study.into_iter().chain(["--aa"]));
    assert_eq!(twice.status, Some(0), "{}", twice.stderr);
    assert!(twice.stdout.contains("Noise of this machine: two halves of the run differed"), "{}", twice.stdout);
    assert_eq!(lab.samples(1).len(), 2 * 5 * 2, "each workload twice as often");
    assert!(std::fs::read_to_string(lab.path("aa.html")).unwrap().contains(">Noise<"));
    let found = lab.json(["runs", "show", "1", "--json"]);
    let margin = found["noise"]["figures"][0]["largest_margin"].as_f64().unwrap();
    assert!(margin >= 0.02, "never less than usual: {margin}");
    for _ in 0..2 {
        assert_eq!(lab.run(study).status, Some(0));
    }
    lab.refuses(["compare", "2", "3", "--margin-from=2"], 2, "did not measure the same twice");
    lab.refuses(["compare", "2", "3", "--margin-from=1", "--threshold=5%"], 2, "cannot be used with");
    let compared = lab.run(["compare", "2", "3", "--margin-from=1", "--json", "--report=change.html"]);
    assert!(matches!(compared.status, Some(0 | 3 | 4)), "{}", compared.stderr);
    let document: serde_json::Value = serde_json::from_str(&compared.stdout).unwrap();
    let margins =
        document["cells"].as_array().unwrap().iter().map(|cell| cell["changes"][0]["margin"].as_f64().unwrap());
    assert_eq!(margins.fold(0.0, f64::max), margin, "the workloads are those that were measured");
    assert!(document["found_margins"]["largest"].as_f64().unwrap() >= margin, "{document}");
    let page = std::fs::read_to_string(lab.path("change.html")).unwrap();
    assert!(page.contains("Run 3 against run 2") && page.contains("<rect class=\"margin\""));
    assert!(page.contains("comparison: changes up to"), "{page}");
}
