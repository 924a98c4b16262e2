//! `halfpower memory`: what it measures, keeps, shows and refuses.

use crate::support::Lab;
use serde_json::Value;

#[test]
fn memory_is_measured_remembered_and_drawn() {
    let lab = Lab::new();
    let outcome = lab.run(["memory", "--quick", "--threads=1", "--sizes=16KiB,8MiB", "--json", "--note=<i>quiet</i>"]);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let reading: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(reading["instrument"], "memory");
    let figures = &reading["figures"];
    let bandwidth = figures["bandwidth"].as_array().unwrap();
    let of = |kernel: &str, size: u64| {
        let found = bandwidth.iter().find(|cell| cell["kernel"] == kernel && cell["size_bytes"] == size);
        found.unwrap_or_else(|| panic!("{kernel} of {size}"))["bytes_per_s"]["median"].as_f64().unwrap()
    };
    for kernel in ["read", "write", "copy", "memcpy"] {
        assert!(of(kernel, 16 << 10) > 1e7 && of(kernel, 8 << 20) > 1e7, "{kernel}");
    }
    assert_eq!(figures["studies"].as_array().map(Vec::len), Some(8));
    assert_eq!(figures["latency"].as_array().map(Vec::len), Some(2));
    assert_eq!(lab.json(["runs", "show", "1", "--json"]), reading);
    let shown = lab.run(["runs", "show", "1"]).stdout;
    assert!(shown.starts_with("1 thread, 8 MiB each: read ") && shown.contains("double read"), "{shown}");
    let written = lab.run(["report", "1", "--output=memory.html"]);
    assert_eq!(written.status, Some(0), "{}", written.stderr);
    let page = std::fs::read_to_string(lab.path("memory.html")).unwrap();
    assert!(page.contains("Bandwidth on 1 thread") && page.contains("&lt;i&gt;quiet"), "{page}");
    // A later page takes its place; a file that is none stays.
    assert_eq!(lab.run(["report", "1", "--output=memory.html"]).status, Some(0));
    lab.write("mine.html", b"mine");
    lab.refuses(["report", "1", "--output=mine.html"], 1, "is no report of Halfpower");
}

#[test]
fn memory_says_what_it_cannot_measure() {
    let lab = Lab::new();
    lab.refuses(["memory", "--sizes=10KiB"], 2, "no multiple of 4 KiB");
    lab.refuses(["memory", "--threads=100000"], 2, "100000 threads on ");
    lab.refuses(["memory", "--sizes=1024TiB", "--threads=1"], 1, "name smaller ones");
    lab.refuses(["memory", "--sizes=large"], 2, "large");
}
