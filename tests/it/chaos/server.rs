//! The fake server. It uses raw sockets, because it must cut, delay and corrupt answers and stop listening.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use super::encoder::{ResponseEncoder, error_body};
use super::fault::{Fault, FaultPlan};
use super::request::{ModelRequest, Wire};
use super::responder::Call;
use super::scripted_model::{self, TeamModels};

/// How long the server does not listen after [`Fault::Away`].
const AWAY_TIME: Duration = Duration::from_millis(400);

/// Delay before each answer, so that calls overlap.
const THINKING_TIME: Duration = Duration::from_millis(40);

/// A call as the server observed it.
#[derive(Debug, Clone)]
pub struct ObservedCall {
    pub agent: String,
    pub wire: Wire,
    pub fault: Option<Fault>,
    /// When the request was complete, as Unix time in seconds.
    pub received_at: f64,
    /// When the fault was over for the server, as Unix time in seconds.
    pub finished_at: f64,
    /// The wait for which the server asked the client.
    pub retry_after: Option<Duration>,
}

/// What the server has observed of its clients.
#[derive(Debug, Default)]
pub struct Log {
    pub calls: Vec<ObservedCall>,
    /// What the client did against the protocol or the limits.
    pub violations: Vec<String>,
    /// Largest number of concurrent calls so far.
    pub max_in_flight: usize,
    call_counts: BTreeMap<String, u64>,
    fault_count: usize,
    /// The calls that are being answered, by number.
    in_flight: BTreeMap<u64, CallState>,
    next_number: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CallState {
    Active,
    /// Lasts until the client closes the connection; does not count towards the cap.
    Hanging,
}

pub struct FakeServer {
    pub port: u16,
    pub log: Arc<Mutex<Log>>,
}

#[derive(Clone)]
pub struct ServerState {
    pub wire: Wire,
    pub faults: FaultPlan,
    /// Which models the lead chooses for its teammates.
    team: TeamModels,
    cap: usize,
    log: Arc<Mutex<Log>>,
    pub away: mpsc::Sender<()>,
}

pub fn unix_now() -> f64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.unwrap().as_secs_f64()
}

impl FakeServer {
    /// Starts a server for `wire`. If more than `cap` calls are in flight, it records a violation.
    pub async fn open(wire: Wire, team: TeamModels, faults: FaultPlan, cap: usize) -> FakeServer {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (away, leave) = mpsc::channel(64);
        let log: Arc<Mutex<Log>> = Arc::default();
        let state = ServerState {
            wire,
            team,
            faults,
            cap,
            log: Arc::clone(&log),
            away,
        };
        tokio::spawn(serve(state, listener, leave, port));
        FakeServer { port, log }
    }

    /// Returns the base address for clients.
    pub fn url(&self, wire: Wire) -> String {
        format!("http://127.0.0.1:{}{}", self.port, wire.paths().0)
    }
}

async fn serve(
    state: ServerState,
    listener: TcpListener,
    mut leave: mpsc::Receiver<()>,
    port: u16,
) {
    let mut listener = Some(listener);
    loop {
        let Some(open) = &listener else {
            tokio::time::sleep(AWAY_TIME).await;
            // Requests to stop listening that arrived meanwhile are fulfilled.
            while leave.try_recv().is_ok() {}
            listener = TcpListener::bind(("127.0.0.1", port)).await.ok();
            continue;
        };
        tokio::select! {
            _ = leave.recv() => listener = None,
            Ok((stream, _)) = open.accept() => {
                tokio::spawn(connection(state.clone(), stream));
            }
        }
    }
}

/// Answers the requests of a connection until one side closes it.
async fn connection(state: ServerState, mut stream: TcpStream) {
    let mut rest = Vec::new();
    while let Some((head, body)) = request(&mut stream, &mut rest).await {
        if head.starts_with("GET ") {
            let list = json!({"data": [{"id": "played"}]}).to_string();
            let _ = stream
                .write_all(http_response(200, "application/json", &[], &list).as_bytes())
                .await;
            continue;
        }
        let number = state.begin_call();
        let keep_alive = state.answer(number, &mut stream, &head, &body).await;
        state.end_call(number);
        if keep_alive == KeepAlive::No {
            return;
        }
    }
}

/// Whether a connection stays open for another request.
#[derive(PartialEq, Eq)]
pub enum KeepAlive {
    Yes,
    No,
}

async fn request(stream: &mut TcpStream, rest: &mut Vec<u8>) -> Option<(String, Vec<u8>)> {
    let mut chunk = vec![0; 64 * 1024];
    loop {
        if let Some(at) = rest.windows(4).position(|w| w == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&rest[..at]).into_owned();
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length")
                    .then(|| value.trim().parse::<usize>().ok())?
            });
            let end = at + 4 + length.unwrap_or(0);
            if rest.len() >= end {
                let body = rest[at + 4..end].to_vec();
                rest.drain(..end);
                return Some((head, body));
            }
        }
        let n = stream.read(&mut chunk).await.ok().filter(|n| *n > 0)?;
        rest.extend_from_slice(&chunk[..n]);
    }
}

pub fn http_response(code: u16, kind: &str, headers: &[(&str, String)], body: &str) -> String {
    let mut more = String::new();
    for (name, value) in headers {
        more.push_str(&format!("{name}: {value}\r\n"));
    }
    let length = body.len();
    format!(
        "HTTP/1.1 {code} Said\r\ncontent-type: {kind}\r\n{more}content-length: {length}\r\n\r\n{body}"
    )
}

impl ServerState {
    fn begin_call(&self) -> u64 {
        let mut log = self.log.lock().unwrap();
        let number = log.next_number;
        log.next_number += 1;
        log.in_flight.insert(number, CallState::Active);
        let active = log.in_flight.values().filter(|f| **f == CallState::Active);
        let active = active.count();
        log.max_in_flight = log.max_in_flight.max(active);
        if active > self.cap {
            let violation = format!("{active} calls in flight, at most {} allowed", self.cap);
            log.violations.push(violation);
        }
        number
    }

    /// Removes a call from those in flight. Must be called before the last bytes are sent: the client may start its
    /// next call as soon as it has them.
    pub fn end_call(&self, number: u64) {
        self.log.lock().unwrap().in_flight.remove(&number);
    }

    /// Excludes a call from the cap. From now on, only the client can end it.
    pub fn mark_hanging(&self, number: u64) {
        let mut log = self.log.lock().unwrap();
        if let Some(state) = log.in_flight.get_mut(&number) {
            *state = CallState::Hanging;
        }
    }

    pub fn report_violation(&self, text: String) {
        self.log.lock().unwrap().violations.push(text);
    }

    pub fn record(
        &self,
        agent: &str,
        received_at: f64,
        fault: Option<Fault>,
        retry_after: Option<Duration>,
    ) {
        let (agent, finished_at) = (agent.to_string(), unix_now());
        let mut log = self.log.lock().unwrap();
        log.calls.push(ObservedCall {
            agent,
            wire: self.wire,
            fault,
            received_at,
            finished_at,
            retry_after,
        });
    }

    async fn answer(
        &self,
        number: u64,
        stream: &mut TcpStream,
        head: &str,
        body: &[u8],
    ) -> KeepAlive {
        let received_at = unix_now();
        let body: Value = match serde_json::from_slice(body) {
            Ok(body) => body,
            Err(error) => {
                self.report_violation(format!("the body is not JSON: {error}"));
                return KeepAlive::No;
            }
        };
        let request = match ModelRequest::read(self.wire, &body) {
            Ok(request) => request,
            Err(reason) => {
                self.report_violation(format!(
                    "{reason}; in {}",
                    serde_json::to_string(&body).unwrap()
                ));
                let body = error_body(self.wire, "invalid_request_error", &reason);
                let out = http_response(400, "application/json", &[], &body);
                let _ = stream.write_all(out.as_bytes()).await;
                return KeepAlive::Yes;
            }
        };
        let (base, path) = self.wire.paths();
        if !head.starts_with(&format!("POST {base}{path} ")) {
            self.report_violation(format!("another path than {base}{path} in {head}"));
        }
        // Each server has a key of its own.
        if !head
            .to_ascii_lowercase()
            .contains(&format!("sk-played-{}", self.wire.provider()))
        {
            self.report_violation(format!("no key, or that of another server, in {head}"));
        }
        let (nth, fault) = {
            let mut log = self.log.lock().unwrap();
            let count = log.call_counts.entry(request.agent.clone()).or_default();
            *count += 1;
            let nth = *count;
            let is_faulty = self.faults.has_fault(&request.agent, nth);
            let fault = is_faulty.then(|| self.faults.fault_at(log.fault_count));
            log.fault_count += usize::from(is_faulty);
            (nth, fault)
        };
        tokio::time::sleep(THINKING_TIME).await;
        let call = Call {
            server: self,
            number,
            stream,
            agent: &request.agent,
            received_at,
            nth,
            encoder: ResponseEncoder::new(self.wire, &format!("{}-{nth}", request.agent)),
        };
        call.respond(scripted_model::next_reply(&request, self.team), fault)
            .await
    }
}
