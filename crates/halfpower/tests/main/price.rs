//! A price from a study and from the command line, to the finding that it makes.

use crate::support::Lab;
use serde_json::Value;

const STUDY: &str = r#"
name = "priced"
[target]
size = "1MiB"
price = "209EUR"
capacity = "26GB"
[trial]
duration = "5ms"
repetitions = 2
[[sweep]]
pattern = "random"
request_size = 8192
personality = "sync"
operation = ["read", "write"]
"#;

fn prices(document: &Value) -> Vec<String> {
    let findings = document["analysis"]["findings"].as_array().unwrap();
    let sentence = |finding: &Value| finding["sentence"].as_str().unwrap().to_owned();
    findings.iter().filter(|finding| finding["code"] == "price").map(sentence).collect()
}

#[test]
fn a_studys_price_is_kept_and_replaced() {
    let lab = Lab::new();
    lab.write("priced.toml", STUDY.as_bytes());
    let run = |more: &[&str]| {
        let all = [&["study", "run", "priced.toml", "--target=place", "--no-report", "--json"][..], more].concat();
        prices(&lab.json(all))
    };
    let found = run(&[]);
    assert!(found[0].starts_with("At a total price of 209 EUR, reads cost "), "{found:?}");
    assert!(found[0].contains(" EUR per KAPS") && found[0].ends_with("124 MB per 1 EUR."), "{found:?}");
    let found = run(&["--price=418", "--capacity=4.18GB"]);
    assert!(found[0].starts_with("At a total price of 418 USD") && found[0].ends_with("10 MB per 1 USD."), "{found:?}");
    // The plan keeps it, so that the report can be made again.
    let page = |arguments: &[&str]| {
        let outcome = lab.run([&["report", "--output=page.html"][..], arguments].concat());
        assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
        std::fs::read_to_string(lab.path("page.html")).unwrap()
    };
    assert!(page(&["1"]).contains("At a total price of 209 EUR"));
    assert!(page(&["1", "--price=100CHF"]).contains("At a total price of 100 CHF"));
}

#[test]
fn nothing_is_said_of_a_capacity_that_nobody_knows() {
    let lab = Lab::new();
    let heading = |study: &str| {
        lab.write("priced.toml", study.as_bytes());
        let text = lab.run(["study", "run", "priced.toml", "--target=place", "--no-report"]).stdout;
        text.lines().find(|line| line.starts_with("Price")).unwrap().to_owned()
    };
    assert!(heading(STUDY).contains("of accesses and capacity"));
    let unknown = heading(&STUDY.replace("capacity = \"26GB\"\n", ""));
    assert!(unknown.contains("of accesses") && !unknown.contains("capacity"), "{unknown}");
}

#[test]
fn without_a_price_there_is_none_and_a_wrong_one_is_refused() {
    let lab = Lab::new();
    let document = lab.json(["study", "run", "tiny.toml", "--target=place", "--no-report", "--json"]);
    assert_eq!(prices(&document), Vec::<String>::new());
    for key in ["service_times", "concurrency", "scaling"] {
        assert!(document["analysis"]["models"][key].is_array(), "{document}");
    }
    lab.refuses(["report", "1", "--capacity=1TB"], 2, "give --price as well");
    lab.refuses(["report", "1", "--price=cheap"], 2, "write one like 199USD");
    lab.refuses(["report", "1", "--price=0"], 2, "no figure can be worked out");
    lab.write("wrong.toml", STUDY.replace("price = \"209EUR\"\n", "").as_bytes());
    let wrong = lab.run(["study", "check", "wrong.toml"]);
    assert!(wrong.status == Some(2) && wrong.stderr.contains("`capacity` says what a price buys"), "{}", wrong.stderr);
    lab.write("wrong.toml", STUDY.replace("209EUR", "209 quid").as_bytes());
    let wrong = lab.run(["study", "check", "wrong.toml"]);
    assert!(wrong.status == Some(2) && wrong.stderr.contains("is no price"), "{}", wrong.stderr);
}
