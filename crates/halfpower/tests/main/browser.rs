//! Pages in a real browser: Chromium by its own protocol, over pipes.

use crate::support::{Lab, skip};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Finds mistakes of the page that is open, as a list.
const CHECKS: &str = include_str!("browser.js");

pub(crate) struct Browser {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    number: u64,
    session: Option<String>,
    events: Vec<Value>,
    _profile: tempfile::TempDir,
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Browser {
    /// None without Chromium; prints the reason.
    pub(crate) fn start() -> Option<Browser> {
        let has = |name: &&str| Command::new("which").arg(name).output().is_ok_and(|found| found.status.success());
        let Some(name) = ["chromium", "chromium-browser", "google-chrome"].into_iter().find(has) else {
            skip("there is no Chromium");
            return None;
        };
        let profile = tempfile::tempdir().unwrap();
        // It reads commands from descriptor 3 and answers on 4.
        let script = format!(
            "exec {name} --headless=new --no-sandbox --disable-gpu --no-first-run --disable-background-networking \
             --remote-debugging-pipe --user-data-dir={} about:blank 3<&0 4>&1 </dev/null >/dev/null 2>&1",
            profile.path().display()
        );
        let piped = |command: &mut Command| command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = piped(Command::new("sh").args(["-c", &script])).unwrap();
        let (to, from) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let mut browser = Browser { child, to, from, number: 0, session: None, events: Vec::new(), _profile: profile };
        let target = browser.ask("Target.createTarget", &json!({"url": "about:blank"}))["targetId"].clone();
        let attached = browser.ask("Target.attachToTarget", &json!({"targetId": target, "flatten": true}));
        browser.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Network", "Runtime"] {
            browser.ask(&format!("{domain}.enable"), &json!({}));
        }
        Some(browser)
    }

    fn next(&mut self) -> Value {
        let mut text = Vec::new();
        self.from.read_until(0, &mut text).unwrap();
        serde_json::from_slice(text.strip_suffix(&[0]).expect("the browser still runs")).unwrap()
    }

    fn ask(&mut self, method: &str, parameters: &Value) -> Value {
        self.try_to_ask(method, parameters).unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    fn try_to_ask(&mut self, method: &str, parameters: &Value) -> Result<Value, Value> {
        self.number += 1;
        let mut asked = json!({"id": self.number, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            asked["sessionId"] = json!(session);
        }
        self.to.write_all(format!("{asked}\0").as_bytes()).unwrap();
        loop {
            let answer = self.next();
            if answer["id"] == json!(self.number) {
                let error = &answer["error"];
                return if error.is_null() { Ok(answer["result"].clone()) } else { Err(error.clone()) };
            }
            self.events.push(answer);
        }
    }

    /// Opens a file, of this width and height, dark or light.
    fn open(&mut self, file: &Path, size: [u32; 2], dark: bool) {
        self.visit(&format!("file://{}", file.display()), size, dark);
    }

    pub(crate) fn visit(&mut self, url: &str, [width, height]: [u32; 2], dark: bool) {
        let metrics = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.ask("Emulation.setDeviceMetricsOverride", &metrics);
        let scheme = json!({"name": "prefers-color-scheme", "value": if dark { "dark" } else { "light" }});
        self.ask("Emulation.setEmulatedMedia", &json!({"features": [scheme]}));
        self.events.clear();
        self.ask("Page.navigate", &json!({"url": url}));
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let event = self.next();
            self.events.push(event);
        }
    }

    pub(crate) fn evaluate(&mut self, script: &str) -> Value {
        self.try_to_evaluate(script).expect("the page stays")
    }

    /// None if the page is left meanwhile.
    pub(crate) fn try_to_evaluate(&mut self, script: &str) -> Option<Value> {
        let asked = json!({"expression": script, "returnByValue": true, "awaitPromise": true});
        match self.try_to_ask("Runtime.evaluate", &asked) {
            Ok(answer) => {
                assert!(answer["exceptionDetails"].is_null(), "{answer}");
                Some(answer["result"]["value"].clone())
            }
            Err(error) if error["message"].as_str().is_some_and(|message| message.contains("navigated")) => None,
            Err(error) => panic!("{script}: {error}"),
        }
    }

    /// Mistakes of the page: requests that leave it, exceptions, and those that the checks find.
    pub(crate) fn problems(&mut self, own: &str) -> Vec<String> {
        let found = self.evaluate(CHECKS);
        let mut problems: Vec<String> = found.as_array().unwrap().iter().map(ToString::to_string).collect();
        for event in &self.events {
            let url = event["params"]["request"]["url"].as_str().unwrap_or_default();
            let is_away = event["method"] == "Network.requestWillBeSent" && !url.starts_with(own);
            if is_away || event["method"] == "Runtime.exceptionThrown" {
                problems.push(event.to_string());
            }
        }
        problems
    }

    fn press(&mut self, key: &str) {
        for kind in ["keyDown", "keyUp"] {
            let text = if key.len() == 1 { key } else { "" };
            self.ask("Input.dispatchKeyEvent", &json!({"type": kind, "key": key, "code": key, "text": text}));
        }
    }

    /// Pages on paper.
    fn sheets(&mut self) -> usize {
        let printed =
            self.ask("Page.printToPDF", &json!({"paperWidth": 8.27, "paperHeight": 11.69, "preferCSSPageSize": true}));
        let decoded = self.evaluate(&format!("atob({}).match(/\\/Type \\/Page\\b(?!s)/g).length", printed["data"]));
        decoded.as_u64().unwrap() as usize
    }
}

/// The maximum number of pages on paper.
const SHEETS_MAX: usize = 6;

/// A page of each kind.
fn pages(lab: &Lab) -> [&'static str; 6] {
    lab.ok("run sim:cloud-gp3:burst --quick --overwrite --seed=1 --report=survey.html");
    lab.ok("run sim:cloud-gp3:baseline --quick --overwrite --seed=2 --report=other.html");
    lab.run("compare 1 2 --report comparison.html");
    lab.ok("study run simulated.toml --target=sim:win2k-pentium3:atlas-1 --report=study.html");
    lab.ok("memory --quick --sizes=16KiB,1MiB");
    lab.ok("report 4 --output=memory.html");
    lab.ok("io sim:nvme-gen4:filled --pattern=random --depth=8 --duration=2s");
    lab.ok("report 5 --output=io.html");
    ["survey.html", "other.html", "comparison.html", "study.html", "memory.html", "io.html"]
}

#[test]
fn pages_hold_together_in_a_browser() {
    let Some(mut browser) = Browser::start() else { return };
    let lab = Lab::new();
    let mut problems = Vec::new();
    for page in pages(&lab) {
        let file = lab.path(page);
        for (width, height) in [(400, 800), (1200, 900), (2560, 1440)] {
            for dark in [false, true] {
                browser.open(&file, [width, height], dark);
                let found = browser.problems("file:");
                problems.extend(found.iter().map(|found| format!("{page} at {width}, dark {dark}: {found}")));
            }
        }
        let printed = browser.sheets();
        if printed > SHEETS_MAX {
            problems.push(format!("{page}: {printed} pages on paper"));
        }
        // The keyboard reaches everything that it can use.
        browser.open(&file, [1200, 900], false);
        let usable = browser.evaluate("usable = [...document.querySelectorAll('a, button, summary, input, [tabindex]')].filter((one) => one.checkVisibility()).length");
        browser.evaluate("reached = new Set(); addEventListener('focusin', (event) => reached.add(event.target)); 0");
        for _ in 0..usable.as_u64().unwrap() {
            browser.press("Tab");
        }
        let reached = browser.evaluate("reached.size");
        if reached != usable {
            problems.push(format!("{page}: the keyboard reaches {reached} of {usable}"));
        }
        // The text without its script.
        let text = "document.body.innerText.replace(/\\s+/g, ' ').length";
        let with = browser.evaluate(text).as_f64().unwrap();
        browser.ask("Emulation.setScriptExecutionDisabled", &json!({"value": true}));
        browser.open(&file, [1200, 900], false);
        let without = browser.evaluate(text).as_f64().unwrap();
        browser.ask("Emulation.setScriptExecutionDisabled", &json!({"value": false}));
        if without < 0.9 * with {
            problems.push(format!("{page}: {without} of {with} characters without its script"));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn a_chart_tells_its_figures_and_a_table_sorts() {
    let Some(mut browser) = Browser::start() else { return };
    let lab = Lab::new();
    lab.ok("run sim:cloud-gp3:burst --quick --overwrite --seed=1 --report=survey.html");
    browser.open(&lab.path("survey.html"), [1200, 900], false);
    browser.evaluate("document.querySelector('svg.chart').focus()");
    browser.press("ArrowRight");
    let told = browser.evaluate("document.querySelector('.told').textContent");
    assert!(told.as_str().unwrap().starts_with("queue depth 1reads "), "{told}");
    // A line that is turned off says nothing.
    browser.evaluate("document.querySelector('.legend button').click()");
    browser.press("ArrowRight");
    let told = browser.evaluate("document.querySelector('.told').textContent");
    assert!(!told.as_str().unwrap().contains("reads ") || told.as_str().unwrap().contains("70 % reads"), "{told}");
    assert_eq!(browser.evaluate("[...document.querySelectorAll('svg.chart [data-line=\"0\"]')].filter((one) => !one.checkVisibility()).length > 0"), json!(true));
    // The workloads by their throughput, in units that differ.
    let sorted = "(() => {
        document.querySelector('#workloads details').open = true;
        const table = document.querySelector('#workloads table');
        const column = [...table.tHead.rows[0].cells].findIndex((cell) => cell.textContent.startsWith('throughput'));
        table.tHead.rows[0].cells[column].querySelector('button').click();
        return [...table.tBodies[0].rows].map((row) => row.cells[column].textContent);
    })()";
    let rates = browser.evaluate(sorted);
    let in_bytes = |text: &str| {
        let mut words = text.split_whitespace();
        let value: f64 = words.next().unwrap().parse().unwrap();
        value
            * match words.next().unwrap() {
                "kB/s" => 1e3,
                "MB/s" => 1e6,
                "GB/s" => 1e9,
                other => panic!("{other}"),
            }
    };
    let rates: Vec<f64> = rates.as_array().unwrap().iter().map(|rate| in_bytes(rate.as_str().unwrap())).collect();
    assert!(rates.len() > 10 && rates.is_sorted(), "{rates:?}");
    // A part of the time, closer.
    let zoomed = "(() => {
        const svg = document.querySelector('svg.chart[data-zoom]');
        svg.closest('details')?.setAttribute('open', '');
        svg.scrollIntoView();
        const frame = svg.getBoundingClientRect();
        const at = (share) => ({ clientX: frame.left + share * frame.width, clientY: frame.top + 50, pointerId: 1 });
        svg.setPointerCapture = () => {};
        svg.dispatchEvent(new PointerEvent('pointerdown', at(0.3)));
        svg.dispatchEvent(new PointerEvent('pointerup', at(0.5)));
        return svg.classList.contains('zoomed');
    })()";
    assert_eq!(browser.evaluate(zoomed), json!(true));
    // What the other test looks for is found where it is.
    browser.evaluate("document.querySelector('.verdict').insertAdjacentHTML('beforebegin', \
        '<p style=\"position:absolute;margin-top:20px;color:#bbb\">pale, and on another text</p><hr style=\"width:3000px\">')");
    let found = browser.problems("file:").join("\n");
    for problem in ["lies on", "has a contrast of 1.", "the page is 3"] {
        assert!(found.contains(problem), "{problem}: {found}");
    }
}
