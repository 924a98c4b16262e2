//! Texts of strangers are text everywhere: fifty of them as note, file name and job of an imported result, in tables, reports and
//! a browser.

use crate::browser::Browser;
use crate::support::Lab;
use serde_json::json;

/// What could steer a terminal, a page, a template, a shell, a table or a path.
const CORPUS: [&str; 50] = [
    "<script>hit=1</script>",
    "</title><script>hit=2</script>",
    "</script><script>hit=3</script>",
    "</style><img src=x onerror=hit=4>",
    "\"><img src=x onerror=hit=5>",
    "' onfocus=hit=6 autofocus x='",
    "<svg onload=hit=7>",
    "<svg><style><img src=x onerror=hit=8></style></svg>",
    "<iframe srcdoc='<script>parent.hit=9</script>'>",
    "<a href=javascript:hit=10>click</a>",
    "<base href=//example.org/>",
    "<meta http-equiv=refresh content=0;url=//example.org>",
    "<link rel=stylesheet href=//example.org/x.css>",
    "<form action=//example.org><button>x",
    "<!-- ",
    "--><b>out</b>",
    "]]><script>hit=17</script>",
    "<math><mtext></form><form><mglyph><style></math><img src onerror=hit=18>",
    "<details open ontoggle=hit=19>",
    "&lt;script&gt;hit=20&lt;/script&gt;",
    "&#60;script&#62;hit=21&#60;/script&#62;",
    "{{ 7 * 7 }}",
    "{% for x in y %}",
    "{# a comment #}",
    "${7*7} `hit`",
    "$(touch hit) `touch hit`; touch hit | touch hit",
    "'); DROP TABLE runs; --",
    "%s%n%x %(name)s {0} {}",
    "=cmd|' /C calc'!A0",
    "@SUM(1+1)*cmd",
    "..\\..\\windows",
    "~root",
    "*?[a-z]",
    "-rf --no-preserve-root",
    "a\tb\tc",
    "one\ntwo\nthree",
    "carriage\rreturn",
    "\u{1b}[2J\u{1b}[31mred",
    "\u{1b}]0;title\u{7}",
    "\u{1b}]8;;file:hit\u{7}link\u{1b}]8;;\u{7}",
    "\u{1b}P$q\"p\u{1b}\\",
    "\u{9b}31m\u{9d}0;x\u{9c}",
    "bell\u{7}back\u{8}\u{8}del\u{7f}",
    "\u{202e}gnp.exe",
    "\u{2066}left\u{2069}\u{200f}right",
    "lines\u{2028}and\u{2029}paragraphs",
    "ze\u{200b}ro\u{feff}width",
    "Z\u{300}\u{301}\u{302}\u{303}\u{304}\u{305}\u{306}\u{307}algo",
    "日本語 العربية 👩‍👩‍👧‍👦",
    "a very long name, a very long name, a very long name, a very long name, a very long name, a very long name, a very long name",
];

/// Markup of theirs that would be on a page.
const ALIEN: &str = "document.querySelectorAll('img, iframe, base, link, math, form:not([action]), [onerror], [onload], [ontoggle], \
     [onfocus], [srcdoc], [http-equiv], a[href^=javascript]').length + (typeof hit === 'undefined' ? 0 : 1000)";

/// Whether a terminal would do something with it.
fn steers(text: &str) -> bool {
    let reverses = |c: char| matches!(c, '\u{200f}' | '\u{202e}' | '\u{2066}' | '\u{2069}' | '\u{2028}' | '\u{2029}');
    text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t') || reverses(c))
}

/// A store with runs whose note and file, and an import whose jobs, have the names of the corpus.
fn lab() -> Lab {
    let lab = Lab::new();
    for text in CORPUS {
        let file = lab.path(text.replace('/', "∕"));
        std::fs::write(&file, [7; 8192]).unwrap();
        let note = format!("--note={text}");
        let file = file.to_str().unwrap();
        lab.ok(["io", file, "--requests=2", "--request-size=4KiB", "--buffering=buffered", &note]);
    }
    let job = |text: &str| {
        json!({"jobname": text, "job options": {"description": text, "filename": text, "ioengine": "libaio"},
            "read": {"io_bytes": 40_960, "bw": 40, "iops": 10.0, "runtime": 1000, "total_ios": 10}})
    };
    let jobs: Vec<_> = CORPUS.iter().map(|text| job(text)).collect();
    let result = json!({"fio version": CORPUS[0], "time": CORPUS[1], "global options": {"directory": CORPUS[2]}, "jobs": jobs,
        "disk_util": [{"name": CORPUS[37]}]});
    lab.write("fio.json", result.to_string());
    lab.ok("import fio.json");
    lab
}

#[test]
fn fifty_texts_of_strangers_are_text_in_tables_reports_and_a_browser() {
    let lab = lab();
    let runs = lab.runs().len();
    assert_eq!(runs, CORPUS.len() + 1);
    let mut pages = Vec::new();
    for words in (1..=runs).map(|run| format!("runs show {run}")).chain(["runs".to_owned(), format!("history {runs}")])
    {
        let shown = lab.ok(words.as_str());
        assert!(!steers(&shown.stdout) && !steers(&shown.stderr), "{words}: {:?}", shown.stdout);
    }
    for run in 1..=runs {
        let page = format!("{run}.html");
        lab.ok(format!("report {run} --output={page}").as_str());
        let text = lab.read(&page);
        assert!(!steers(&text) && text.matches("<script").count() == 1 && !text.contains("<img"), "{page}: {text}");
        pages.push(lab.path(&page));
    }
    lab.run("compare 1 2 --report=both.html");
    pages.push(lab.path("both.html"));
    // No shell and no template had one of them.
    assert!(!lab.path("hit").exists() && !lab.place().join("hit").exists());
    let Some(mut browser) = Browser::start() else { return };
    for page in &pages {
        browser.visit(&format!("file://{}", page.display()), [1200, 900], false);
        assert_eq!(browser.evaluate(ALIEN), json!(0), "{}", page.display());
    }
    #[cfg(feature = "serve")]
    {
        let server = crate::serve::Server::start(&lab, "serve");
        for page in
            ["", "?page=1", "?q=%3Cscript%3Ehit%3D1", "compare?before=1&after=2", "run/1", "live/1", "history/51"]
        {
            browser.visit(&format!("{}{page}", server.url), [1200, 900], false);
            let answer = (browser.evaluate(ALIEN), browser.evaluate("document.querySelectorAll('nav.site').length"));
            assert_eq!(answer, (json!(0), json!(1)), "{page}: {}", browser.evaluate("document.body.innerText"));
        }
    }
}
