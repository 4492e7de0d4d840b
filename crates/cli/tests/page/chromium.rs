//! Headless Chromium, driven over pipes by the DevTools protocol: one page, what it logs, what it asks for.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use base64::prelude::{BASE64_STANDARD, Engine};
use serde_json::{Value, json};
use tempfile::TempDir;

/// How a page is looked at.
#[derive(Debug, Clone, Copy)]
pub struct Screen {
    pub width: u32,
    pub height: u32,
    pub dark: bool,
}

pub const DESKTOP: Screen = Screen { width: 1280, height: 900, dark: false };
pub const PHONE: Screen = Screen { width: 390, height: 844, dark: true };

/// A browser with one page.
pub struct Chromium {
    browser: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    session: String,
    last: u64,
    /// Messages, exceptions and dialogs of the page.
    pub complaints: Vec<String>,
    /// Addresses that the page asked for.
    pub requests: Vec<String>,
    _profile: TempDir,
}

impl Chromium {
    /// Starts the browser. The tests need it.
    pub fn start(screen: Screen) -> Self {
        let profile = tempfile::tempdir().unwrap();
        // The protocol is spoken over descriptors 3 and 4, which a shell makes of ours.
        let script = "exec chromium --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run \
                      --disable-background-networking --disable-component-update --remote-debugging-pipe \
                      --user-data-dir=\"$0\" about:blank 3<&0 4>&1 </dev/null >/dev/null 2>&1";
        let found = Command::new("sh").args(["-c", "command -v chromium"]).stdout(Stdio::null()).status();
        let found = found.is_ok_and(|status| status.success());
        assert!(found, "the tests of pages need chromium; as root: apt-get install chromium");
        let mut browser = Command::new("sh")
            .args(["-c", script])
            .arg(profile.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (to, from) = (browser.stdin.take().unwrap(), BufReader::new(browser.stdout.take().unwrap()));
        let mut this = Self {
            browser,
            to,
            from,
            session: String::new(),
            last: 0,
            complaints: Vec::new(),
            requests: Vec::new(),
            _profile: profile,
        };
        let target = this.call("Target.createTarget", json!({ "url": "about:blank" }))["targetId"].clone();
        let session = this.call("Target.attachToTarget", json!({ "targetId": target, "flatten": true }));
        this.session = session["sessionId"].as_str().unwrap().to_owned();
        for domain in ["Page", "Runtime", "Log", "Network"] {
            this.call(&format!("{domain}.enable"), json!({}));
        }
        let Screen { width, height, dark } = screen;
        let metrics = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600 });
        this.call("Emulation.setDeviceMetricsOverride", metrics);
        let scheme = json!({ "name": "prefers-color-scheme", "value": if dark { "dark" } else { "light" } });
        this.call("Emulation.setEmulatedMedia", json!({ "features": [scheme] }));
        this
    }

    /// Opens a page and waits until its pictures are drawn. Returns how many there are.
    pub fn open(&mut self, page: &Path) -> usize {
        self.open_address(&format!("file://{}", page.display()))
    }

    /// The same for an address.
    pub fn open_address(&mut self, url: &str) -> usize {
        self.call("Page.navigate", json!({ "url": url }));
        let drawn = self.wait_for("document.documentElement?.dataset.drawn");
        drawn.as_str().unwrap().parse().unwrap()
    }

    /// The value of an expression once it is one that counts as true, also across loadings of the page.
    #[track_caller]
    pub fn wait_for(&mut self, expression: &str) -> Value {
        let begun = Instant::now();
        loop {
            let parameters = json!({ "expression": expression, "returnByValue": true });
            // While a page is loaded there is nothing to ask.
            let found = self.try_call("Runtime.evaluate", parameters).unwrap_or_default();
            let value = &found["result"]["value"];
            if !(value.is_null() || *value == json!(false) || *value == json!("")) {
                return value.clone();
            }
            assert!(begun.elapsed() < Duration::from_secs(90), "{expression}: {value} {:?}", self.complaints);
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The value of an expression of the page.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let found = self.call("Runtime.evaluate", json!({ "expression": expression, "returnByValue": true }));
        assert!(found.get("exceptionDetails").is_none(), "{expression}: {found}");
        found["result"]["value"].clone()
    }

    /// Moves the pointer there.
    pub fn point_at(&mut self, x: f64, y: f64) {
        self.call("Input.dispatchMouseEvent", json!({ "type": "mouseMoved", "x": x, "y": y }));
    }

    /// The page as a picture, for a person who looks at it.
    pub fn picture(&mut self) -> Vec<u8> {
        let shot = self.call("Page.captureScreenshot", json!({ "format": "png", "captureBeyondViewport": true }));
        BASE64_STANDARD.decode(shot["data"].as_str().unwrap()).unwrap()
    }

    /// The page on paper.
    pub fn paper(&mut self) -> Vec<u8> {
        let pdf = self.call("Page.printToPDF", json!({ "printBackground": false }));
        BASE64_STANDARD.decode(pdf["data"].as_str().unwrap()).unwrap()
    }

    #[track_caller]
    fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.try_call(method, parameters).unwrap_or_else(|message| panic!("{method}: {message}"))
    }

    fn try_call(&mut self, method: &str, parameters: Value) -> Result<Value, Value> {
        self.last += 1;
        let mut message = json!({ "id": self.last, "method": method, "params": parameters });
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        self.to.write_all(format!("{message}\0").as_bytes()).unwrap();
        loop {
            let mut bytes = Vec::new();
            let read = self.from.read_until(0, &mut bytes).unwrap();
            assert!(read > 0, "the browser has ended");
            let message: Value = serde_json::from_slice(bytes.strip_suffix(b"\0").unwrap_or(&bytes)).unwrap();
            if message["id"] == self.last {
                return if message.get("error").is_none() { Ok(message["result"].clone()) } else { Err(message) };
            }
            self.note(&message);
        }
    }

    fn note(&mut self, message: &Value) {
        let parameters = &message["params"];
        match message["method"].as_str().unwrap_or_default() {
            "Network.requestWillBeSent" => {
                self.requests.push(parameters["request"]["url"].as_str().unwrap_or_default().to_owned());
            }
            "Runtime.consoleAPICalled"
            | "Runtime.exceptionThrown"
            | "Log.entryAdded"
            | "Page.javascriptDialogOpening" => {
                self.complaints.push(message.to_string());
            }
            _ => {}
        }
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        let _ = self.browser.kill();
        let _ = self.browser.wait();
    }
}
