//! The program as a process, and requests to it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{JoinHandle, spawn};
use std::time::SystemTime;

use rustix::process::{Pid, Signal, kill_process};
use seenguard::Time;
use seenguard_server::testing::{body, device};
use serde_json::Value;

use crate::waiting::{PATIENCE, eventually};

/// A running program. It ends with the test.
pub struct Program {
    process: Child,
    address: String,
    log: Arc<Mutex<String>>,
    reader: Option<JoinHandle<()>>,
}

impl Program {
    /// The service, for the namespaces `home:<user>`.
    pub fn serve(arguments: &[String], more: &[&str]) -> Self {
        let defaults = ["--listen", "127.0.0.1:0", "--namespace", "home:{user}"].map(str::to_owned);
        let drain = ["--drain-seconds", "0"].map(str::to_owned);
        let drain = drain.into_iter().filter(|_| !more.contains(&"--drain-seconds"));
        let more = more.iter().map(|&argument| argument.to_owned());
        Program::start(arguments.iter().cloned().chain(defaults).chain(drain).chain(more))
    }

    /// A consumer of a stream, which serves metrics.
    pub fn consume(arguments: &[String], more: &[&str]) -> Self {
        let defaults = ["consume", "--listen", "127.0.0.1:0", "--namespace", "home:{user}"].map(str::to_owned);
        let more = more.iter().map(|&argument| argument.to_owned());
        Program::start(defaults.into_iter().chain(arguments.iter().cloned()).chain(more))
    }

    pub fn start(arguments: impl IntoIterator<Item = String>) -> Self {
        Program::run(command(arguments))
    }

    /// Runs a command, and waits until it listens.
    pub fn run(mut command: Command) -> Self {
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let log = Arc::new(Mutex::new(String::new()));
        let (log_writer, stderr) = (Arc::clone(&log), process.stderr.take().unwrap());
        let reader = spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                *log_writer.lock().unwrap() += &(line + "\n");
            }
        });
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let address = line.trim().strip_prefix("listening on http://").map(str::to_owned);
        let address = address.unwrap_or_else(|| panic!("the program does not listen: {line}{}", log.lock().unwrap()));
        Program {
            process,
            address: address.replace("0.0.0.0", "127.0.0.1"),
            log,
            reader: Some(reader),
        }
    }

    pub fn get(&self, path: &str) -> Answer {
        self.request("GET", path, &[], "")
    }

    pub fn post(&self, path: &str, body: impl AsRef<[u8]>) -> Answer {
        self.request("POST", path, &[], body)
    }

    pub fn request(&self, method: &str, path: &str, headers: &[(&str, &str)], body: impl AsRef<[u8]>) -> Answer {
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .allow_non_standard_methods(true)
            .timeout_global(Some(PATIENCE));
        let agent: ureq::Agent = config.build().into();
        let mut request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("http://{}{path}", self.address));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut response = agent.run(request.body(body.as_ref()).unwrap()).unwrap();
        let header = |name: &str| {
            response
                .headers()
                .get(name)
                .map(|value| value.to_str().unwrap().to_owned())
        };
        let (kind, caching) = (
            header("content-type").unwrap_or_default(),
            header("cache-control").unwrap_or_default(),
        );
        Answer {
            status: response.status().as_u16(),
            kind,
            caching,
            body: response.body_mut().read_to_string().unwrap(),
        }
    }

    /// Requests the first page of `size` items.
    pub fn page(&self, user: &str, ranked: &[&str], size: usize) -> Vec<String> {
        let answer = self.page_for(user, ranked, size, &[]);
        texts(&answer["items"])
    }

    /// Requests the first page with a device's headers. Returns the whole response.
    pub fn page_for(&self, user: &str, ranked: &[&str], size: usize, headers: &[(&str, &str)]) -> Value {
        let body = serde_json::json!({ "ranked": ranked, "size": size }).to_string();
        self.request("POST", &format!("/v1/users/{user}/page"), headers, body)
            .json(200)
    }

    /// Posts a device's report.
    pub fn report(&self, user: &str, ids: &[&str]) {
        let body = body(user, ids, now(), nothing_pending(user));
        assert_eq!(self.post(&format!("/v1/users/{user}/impressions"), body).status, 204);
    }

    /// The value of a metric: the sum of all series whose name and labels have this prefix.
    pub fn number(&self, name: &str) -> f64 {
        self.number_so_far(name)
            .unwrap_or_else(|| panic!("no {name} in {}", self.get("/metrics").body))
    }

    /// The value of a metric, if it exists yet.
    pub fn number_so_far(&self, name: &str) -> Option<f64> {
        let numbers = self.get("/metrics").body;
        let of_name = |line: &str| {
            let (series, value) = line.rsplit_once(' ')?;
            let labels = series.strip_prefix(name)?;
            (labels.is_empty() || labels.starts_with('{')).then(|| value.parse::<f64>().unwrap())
        };
        let values: Vec<f64> = numbers.lines().filter_map(of_name).collect();
        (!values.is_empty()).then(|| values.iter().sum())
    }

    /// Opens a TCP connection.
    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// Whether the program accepts connections.
    pub fn is_listening(&self) -> bool {
        TcpStream::connect(&self.address).is_ok()
    }

    /// The log so far.
    pub fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    /// The resident memory in bytes.
    pub fn memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap();
        let (_, resident) = status.split_once("VmRSS:").unwrap();
        resident.split_whitespace().next().unwrap().parse::<u64>().unwrap() << 10
    }

    /// Sends SIGTERM.
    pub fn terminate(&self) {
        kill_process(Pid::from_child(&self.process), Signal::TERM).unwrap();
    }

    /// Waits until the program ends. Returns its exit status and the whole log.
    pub fn ended(mut self) -> (ExitStatus, String) {
        let status = eventually("the program ends", || self.process.try_wait().unwrap());
        if let Some(reader) = self.reader.take() {
            reader.join().unwrap();
        }
        (status, self.log())
    }

    /// The value of a metric, if the program still runs.
    pub fn number_if_running(&self, name: &str) -> Option<f64> {
        let numbers = ureq::get(format!("http://{}/metrics", self.address)).call().ok()?;
        let numbers = numbers.into_body().read_to_string().ok()?;
        let line = numbers
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
        line.parse().ok()
    }

    /// The exit status, if the program has ended.
    pub fn has_ended(&mut self) -> Option<ExitStatus> {
        self.process.try_wait().unwrap()
    }

    /// Suspends the process: it does not respond, and its connections stay open.
    pub fn pause(&self) {
        kill_process(Pid::from_child(&self.process), Signal::STOP).unwrap();
    }

    /// Resumes the suspended process.
    pub fn resume(&self) {
        kill_process(Pid::from_child(&self.process), Signal::CONT).unwrap();
    }

    /// Kills the process.
    pub fn kill(mut self) {
        self.process.kill().unwrap();
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A command of the program, without this process's `HOSTNAME`.
pub fn command(arguments: impl IntoIterator<Item = String>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_seenguard-server"));
    command.args(arguments).env_remove("HOSTNAME").stdin(Stdio::null());
    command
}

/// Runs a command. Returns its exit code and its output.
pub fn check(arguments: impl IntoIterator<Item = String>) -> (i32, String) {
    let output = command(arguments).output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    (output.status.code().unwrap(), printed)
}

/// An HTTP response.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub kind: String,
    pub caching: String,
    pub body: String,
}

impl Answer {
    /// The body as JSON. Panics if the status is another one.
    pub fn json(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{self:?}");
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The code of a problem. Panics if the status is another one, or if a field or the documentation is missing.
    pub fn code(&self, status: u16) -> String {
        assert_eq!(self.kind, "application/problem+json", "{self:?}");
        let problem = self.json(status);
        assert_eq!(problem["status"], status, "{self:?}");
        let code = problem["code"].as_str().unwrap();
        assert_eq!(problem["type"], format!("/service#{code}"));
        let docs = include_str!("../../../docs/service.md");
        assert!(
            docs.contains(&format!("<a id=\"{code}\">")),
            "docs/service.md has no {code}"
        );
        assert!(problem["detail"].as_str().unwrap().len() > 20, "{self:?}");
        assert!(!problem["title"].as_str().unwrap().is_empty(), "{self:?}");
        code.to_owned()
    }
}

/// Sends a part of a request.
pub fn send(stream: &mut TcpStream, part: &str) {
    stream.write_all(part.as_bytes()).unwrap();
}

/// Reads until the connection ends.
pub fn rest(mut stream: TcpStream) -> String {
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

pub fn texts(list: &Value) -> Vec<String> {
    let list = list.as_array().unwrap().iter();
    list.map(|text| text.as_str().unwrap().to_owned()).collect()
}

/// A device's report that forges a server's fields: received ten days ago, with the history deleted. The device's clock
/// /// is ten days ahead.
pub fn forged(user: &str, id: &str) -> String {
    const TEN_DAYS: u64 = 864_000_000;
    // Later than all earlier requests, by a clock of milliseconds.
    std::thread::sleep(std::time::Duration::from_millis(5));
    let (at, ahead) = (now().unix_ms(), now().unix_ms() + TEN_DAYS);
    let impressions = serde_json::json!([{ "id": id, "at": ahead }]);
    serde_json::json!({ "namespace": format!("home:{user}"), "now": ahead, "impressions": impressions,
        "receivedAt": at - TEN_DAYS, "forgotten": true })
    .to_string()
}

/// The empty pending list of a device, so that its reports count only once they are in the chain.
pub fn nothing_pending(user: &str) -> Option<String> {
    Some(device(user, 99).pending_list(4_000, now()))
}

pub fn now() -> Time {
    Time::from(SystemTime::now())
}
