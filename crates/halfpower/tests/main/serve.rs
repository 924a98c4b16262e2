//! `halfpower serve` over HTTP, and in a browser.

use crate::browser::Browser;
use crate::support::Lab;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

pub(crate) struct Server {
    child: Child,
    /// `http://127.0.0.1:1234/token/`.
    pub(crate) url: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    pub(crate) fn start(lab: &Lab, words: &str) -> Server {
        let mut child = lab.command(words).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        Server { child, url: url.trim().to_owned() }
    }

    fn host(&self) -> &str {
        self.url.strip_prefix("http://").unwrap().split('/').next().unwrap()
    }

    /// Status, and the answer with its head.
    fn ask(&self, request: &str, headers: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(self.host()).unwrap();
        stream.write_all(format!("{request} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n").as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        (answer.split(' ').nth(1).unwrap().parse().unwrap(), answer)
    }

    fn get(&self, page: &str) -> (u16, String) {
        let path = self.url.splitn(4, '/').nth(3).unwrap();
        self.ask(&format!("GET /{path}{page}"), &format!("Host: {}\r\n", self.host()))
    }

    fn page(&self, page: &str) -> String {
        let (status, text) = self.get(page);
        assert_eq!(status, 200, "{page}: {text}");
        text
    }
}

/// A store with two surveys, a workload with a note, and an instrument.
fn stored() -> Lab {
    let lab = Lab::new();
    for seed in [1, 2] {
        lab.ok(format!("run sim:cloud-gp3:burst --quick --no-report --seed={seed}").as_str());
    }
    lab.ok("io sim:nvme-gen4:filled --pattern=random --depth=8 --requests=5000 --note=<b>bold</b>");
    lab.ok("memory --quick --sizes=16KiB");
    lab
}

#[test]
fn pages_of_stored_runs_are_served_and_nothing_is_written() {
    let lab = stored();
    let server = Server::start(&lab, "serve");
    let before = lab.runs();
    let list = server.page("");
    assert!(list.contains("4 of 4 runs") && list.contains("&lt;b&gt;bold&lt;&#x2f;b&gt;"), "{list}");
    assert!(server.page("?q=NVME+bold").contains("1 of 4 runs") && server.page("?q=no+such").contains("0 of 4 runs"));
    assert!(server.page("?page=18446744073709551615").contains("4 of 4 runs"));
    for run in 1..=4 {
        assert!(server.page(&format!("run/{run}")).contains("<nav class=\"site\">"));
    }
    assert!(server.page("compare?before=1&after=2").contains("Run 2 against run 1"));
    assert!(server.page("history/2").contains("No change of level in "));
    let events = server.page("live/1/events");
    assert!(events.contains("data: {\"status\":\"complete\",\"samples\":"), "{events}");
    for (page, status, needle) in [
        ("run/9", 404, "there is no run 9"),
        ("live/9/events", 404, "there is no run 9"),
        ("run/x", 400, ""),
        ("compare?before=1&after=1", 400, "run 1 is on both sides"),
        ("compare?before=1,1&after=2", 400, "named twice"),
        ("nothing", 404, ""),
        ("what-if/answer?volume=/etc/passwd", 400, "there is no machine"),
        ("what-if/answer?volume=hdd-18tb:disk&depth=0", 400, "depth"),
        ("what-if/answer?volume=hdd-18tb:disk&set=ahci.rte=1", 400, "unknown field"),
    ] {
        let (is, text) = server.get(page);
        assert!(is == status && text.contains(needle), "{page}: {text}");
    }
    assert_eq!(server.get(&format!("?q={}", "x".repeat(5000))).0, 414);
    assert_eq!(lab.runs(), before);
}

#[test]
fn requests_of_other_sites_and_users_are_refused() {
    let lab = Lab::new();
    let server = Server::start(&lab, "serve");
    let (host, path) = (server.host().to_owned(), server.url.splitn(4, '/').nth(3).unwrap().to_owned());
    assert_eq!(path.len(), 33, "a token of 128 bits");
    for (request, headers, status) in [
        (
            format!("GET /{path}"),
            format!("Host: {host}\r\nOrigin: http://{host}\r\nSec-Fetch-Site: same-origin\r\n"),
            200,
        ),
        ("GET /".to_owned(), format!("Host: {host}\r\n"), 404),
        (format!("GET /{path}"), "Host: example.org\r\n".to_owned(), 403),
        (format!("GET /{path}"), String::new(), 403),
        (format!("GET /{path}"), format!("Host: {host}\r\nOrigin: http://example.org\r\n"), 403),
        (format!("GET /{path}"), format!("Host: {host}\r\nSec-Fetch-Site: cross-site\r\n"), 403),
        (format!("POST /{path}"), format!("Host: {host}\r\nContent-Length: 0\r\n"), 405),
    ] {
        let (is, answer) = server.ask(&request, &headers);
        let is_strict = answer.to_lowercase().contains("content-security-policy: default-src 'none'");
        assert!(is == status && is_strict, "{request} {headers}: {answer}");
    }
}

#[test]
fn a_user_searches_compares_and_asks_what_if_in_a_browser() {
    let Some(mut browser) = Browser::start() else { return };
    let lab = stored();
    let server = Server::start(&lab, "serve");
    let url = server.url.clone();
    for page in ["", "what-if", "history/2", "run/1", "compare?before=1&after=2", "live/1"] {
        for width in [400, 1200] {
            browser.visit(&format!("{url}{page}"), [width, 900], false);
            if page == "live/1" {
                until(&mut browser, "document.querySelector('#latest tr') !== null");
            }
            let mut problems = browser.problems(&url);
            // A list and a run that goes on have no verdict.
            problems
                .retain(|one| one != "\"the verdict is not on the first screen\"" || !["", "live/1"].contains(&page));
            assert!(problems.is_empty(), "{page} at {width}: {}", problems.join("\n"));
        }
    }
    browser.visit(&url, [1200, 900], false);
    browser.evaluate("document.querySelector('[name=q]').value = 'survey'; document.forms[0].requestSubmit(); 0");
    until(&mut browser, "document.body?.innerText.includes('2 of 4 runs')");
    browser.evaluate(
        "document.querySelector('[name=before][value=\"1\"]').checked = true; \
         document.querySelector('[name=after][value=\"2\"]').checked = true; document.forms[1].requestSubmit(); 0",
    );
    // Its load event must not be taken for that of the next page.
    let is_loaded = "performance.timing.loadEventEnd > 0";
    until(&mut browser, &format!("document.title.startsWith('Run 2 against run 1') && {is_loaded}"));
    browser.visit(&format!("{url}what-if"), [1200, 900], false);
    browser.evaluate(
        "document.querySelector('[name=volume]').value = 'hdd-18tb:disk'; \
         document.forms[0].dispatchEvent(new Event('input')); 0",
    );
    until(&mut browser, "document.getElementById('busy')?.innerText.includes('exos-x18')");
    let first = browser.evaluate("document.getElementById('throughput').textContent");
    browser.evaluate(
        "document.querySelector('[name=depth]').value = 0; \
         document.forms[0].dispatchEvent(new Event('input')); 0",
    );
    until(&mut browser, &format!("document.getElementById('throughput')?.textContent !== {first}"));
    browser.evaluate(
        "document.querySelector('[name=set]').value = '<b>=1'; \
         document.forms[0].dispatchEvent(new Event('input')); 0",
    );
    until(&mut browser, "document.getElementById('throughput')?.textContent.includes('<b>')");
}

/// Waits until a condition holds on the page.
fn until(browser: &mut Browser, condition: &str) {
    let begun = Instant::now();
    while browser.try_to_evaluate(condition) != Some(Value::Bool(true)) {
        let shown = begun.elapsed() > Duration::from_secs(20);
        assert!(!shown, "{condition}: {}", browser.evaluate("document.body.innerText"));
        std::thread::sleep(Duration::from_millis(50));
    }
}
