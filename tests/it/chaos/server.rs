//! The played server: raw sockets, because it must break off, drip, lie and go away.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use super::answer::Call;
use super::crew;
use super::fault::{Fault, Weather};
use super::speech::{Speech, error_body};
use super::talk::{Talk, Wire};

/// How long nothing listens when the server is away.
const AWAY: Duration = Duration::from_millis(400);

/// How long it thinks about each answer.
const THOUGHT: Duration = Duration::from_millis(40);

/// One call as the server saw it.
#[derive(Debug, Clone)]
pub struct Seen {
    pub agent: String,
    pub fault: Option<Fault>,
    /// When the request had come, as a Unix time in seconds.
    pub came: f64,
    /// When the fault was done.
    pub at: f64,
    /// The wait that was announced.
    pub wait: Option<Duration>,
}

/// What the server has seen.
#[derive(Debug, Default)]
pub struct Log {
    pub seen: Vec<Seen>,
    /// What no client may do.
    pub wrongs: Vec<String>,
    /// Most calls in flight at a time.
    pub most: usize,
    calls: BTreeMap<String, u64>,
    /// Faults so far.
    dealt: usize,
    /// Calls in flight by their number; those that hang end when the client is gone.
    flying: BTreeMap<u64, Flight>,
    next: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flight {
    Plain,
    Hanging,
}

/// A server at work.
pub struct Server {
    pub port: u16,
    pub log: Arc<Mutex<Log>>,
}

#[derive(Clone)]
pub struct Shop {
    pub wire: Wire,
    pub weather: Weather,
    cap: usize,
    log: Arc<Mutex<Log>>,
    pub away: mpsc::Sender<()>,
}

pub fn unix() -> f64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.unwrap().as_secs_f64()
}

impl Server {
    /// Opens for `wire`; more than `cap` calls in flight are a wrong.
    pub async fn open(wire: Wire, weather: Weather, cap: usize) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (away, leave) = mpsc::channel(64);
        let log: Arc<Mutex<Log>> = Arc::default();
        let shop = Shop {
            wire,
            weather,
            cap,
            log: Arc::clone(&log),
            away,
        };
        tokio::spawn(serve(shop, listener, leave, port));
        Server { port, log }
    }
}

async fn serve(shop: Shop, listener: TcpListener, mut leave: mpsc::Receiver<()>, port: u16) {
    let mut listener = Some(listener);
    loop {
        let Some(open) = &listener else {
            tokio::time::sleep(AWAY).await;
            // All who asked to go away meanwhile have had it.
            while leave.try_recv().is_ok() {}
            listener = TcpListener::bind(("127.0.0.1", port)).await.ok();
            continue;
        };
        tokio::select! {
            _ = leave.recv() => listener = None,
            Ok((stream, _)) = open.accept() => {
                tokio::spawn(connection(shop.clone(), stream));
            }
        }
    }
}

/// Requests one after another until one side closes.
async fn connection(shop: Shop, mut stream: TcpStream) {
    let mut rest = Vec::new();
    while let Some((head, body)) = request(&mut stream, &mut rest).await {
        if head.starts_with("GET ") {
            let list = json!({"data": [{"id": "played"}]}).to_string();
            let _ = stream
                .write_all(plain(200, "application/json", &[], &list).as_bytes())
                .await;
            continue;
        }
        let number = shop.enter();
        let kept = shop.answer(number, &mut stream, &head, &body).await;
        shop.leave(number);
        if kept == Kept::No {
            return;
        }
    }
}

/// Whether a connection can be used again.
#[derive(PartialEq, Eq)]
pub enum Kept {
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

pub fn plain(code: u16, kind: &str, headers: &[(&str, String)], body: &str) -> String {
    let mut more = String::new();
    for (name, value) in headers {
        more.push_str(&format!("{name}: {value}\r\n"));
    }
    let length = body.len();
    format!(
        "HTTP/1.1 {code} Said\r\ncontent-type: {kind}\r\n{more}content-length: {length}\r\n\r\n{body}"
    )
}

impl Shop {
    fn enter(&self) -> u64 {
        let mut log = self.log.lock().unwrap();
        let number = log.next;
        log.next += 1;
        log.flying.insert(number, Flight::Plain);
        let plain = log.flying.values().filter(|f| **f == Flight::Plain);
        let plain = plain.count();
        log.most = log.most.max(plain);
        if plain > self.cap {
            let wrong = format!("{plain} calls in flight, {} may be", self.cap);
            log.wrongs.push(wrong);
        }
        number
    }

    /// A call is over for this server: before the last bytes go out, so that it never counts too many.
    pub fn leave(&self, number: u64) {
        self.log.lock().unwrap().flying.remove(&number);
    }

    /// From here on only the client can end the call. Whether it keeps to the cap is counted without these.
    pub fn hang(&self, number: u64) {
        let mut log = self.log.lock().unwrap();
        if let Some(flight) = log.flying.get_mut(&number) {
            *flight = Flight::Hanging;
        }
    }

    pub fn wrong(&self, text: String) {
        self.log.lock().unwrap().wrongs.push(text);
    }

    pub fn note(&self, agent: &str, came: f64, fault: Option<Fault>, wait: Option<Duration>) {
        let (agent, at) = (agent.to_string(), unix());
        let mut log = self.log.lock().unwrap();
        log.seen.push(Seen {
            agent,
            fault,
            came,
            at,
            wait,
        });
    }

    async fn answer(&self, number: u64, stream: &mut TcpStream, head: &str, body: &[u8]) -> Kept {
        let came = unix();
        let body: Value = match serde_json::from_slice(body) {
            Ok(body) => body,
            Err(error) => {
                self.wrong(format!("a body that is not JSON: {error}"));
                return Kept::No;
            }
        };
        let talk = match Talk::read(self.wire, &body) {
            Ok(talk) => talk,
            Err(wrong) => {
                self.wrong(format!(
                    "{wrong}; in {}",
                    serde_json::to_string(&body).unwrap()
                ));
                let said = error_body(self.wire, "invalid_request_error", &wrong);
                let out = plain(400, "application/json", &[], &said);
                let _ = stream.write_all(out.as_bytes()).await;
                return Kept::Yes;
            }
        };
        if !head.to_ascii_lowercase().contains("sk-played") {
            self.wrong(format!("no key in {head}"));
        }
        let (nth, fault) = {
            let mut log = self.log.lock().unwrap();
            let count = log.calls.entry(talk.agent.clone()).or_default();
            *count += 1;
            let nth = *count;
            let strikes = self.weather.strikes(&talk.agent, nth);
            let fault = strikes.then(|| self.weather.deal(log.dealt));
            log.dealt += usize::from(strikes);
            (nth, fault)
        };
        // As long as a model thinks, in a small way: others call meanwhile.
        tokio::time::sleep(THOUGHT).await;
        let call = Call {
            shop: self,
            number,
            stream,
            agent: &talk.agent,
            came,
            nth,
            speech: Speech::new(self.wire, &format!("{}-{nth}", talk.agent)),
        };
        call.go(crew::next(&talk), fault).await
    }
}
