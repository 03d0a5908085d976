//! The played server: raw sockets, because it must break off, drip, lie and go away.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use super::crew::{self, Reply};
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
struct Shop {
    wire: Wire,
    weather: Weather,
    cap: usize,
    log: Arc<Mutex<Log>>,
    away: mpsc::Sender<()>,
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
enum Kept {
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

fn plain(code: u16, kind: &str, headers: &[(&str, String)], body: &str) -> String {
    let more: String = headers
        .iter()
        .map(|(n, v)| format!("{n}: {v}\r\n"))
        .collect();
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
    fn leave(&self, number: u64) {
        self.log.lock().unwrap().flying.remove(&number);
    }

    /// From here on only the client can end the call. Whether it keeps to the cap is counted without these.
    fn hang(&self, number: u64) {
        let mut log = self.log.lock().unwrap();
        if let Some(flight) = log.flying.get_mut(&number) {
            *flight = Flight::Hanging;
        }
    }

    fn wrong(&self, text: String) {
        self.log.lock().unwrap().wrongs.push(text);
    }

    fn note(&self, agent: &str, came: f64, fault: Option<Fault>, wait: Option<Duration>) {
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

/// One call that is being answered.
struct Call<'a> {
    shop: &'a Shop,
    number: u64,
    stream: &'a mut TcpStream,
    agent: &'a str,
    came: f64,
    nth: u64,
    speech: Speech,
}

impl Call<'_> {
    async fn go(mut self, reply: Reply, fault: Option<Fault>) -> Kept {
        let Some(fault) = fault else {
            self.shop.note(self.agent, self.came, None, None);
            return self.stream_out(&self.speech.whole(&reply), "").await;
        };
        match fault {
            Fault::LimitSeconds
            | Fault::LimitMs
            | Fault::LimitDate
            | Fault::LimitZero
            | Fault::LimitBare
            | Fault::Broken500
            | Fault::Overloaded529 => self.refuse(fault).await,
            Fault::Html => {
                self.done(fault);
                let page = "<html><body>Please sign in</body></html>";
                let page = plain(200, "text/html; charset=utf-8", &[], page);
                self.write(&page).await
            }
            Fault::Silent => self.wait_for_client(fault, "").await,
            Fault::Stalled => {
                let some = self.speech.begin();
                self.wait_for_client(fault, &some).await
            }
            Fault::Reset => {
                self.done(fault);
                let _ = self.stream.set_zero_linger();
                Kept::No
            }
            Fault::Away => {
                self.done(fault);
                let _ = self.shop.away.try_send(());
                let _ = self.stream.set_zero_linger();
                Kept::No
            }
            Fault::Cut | Fault::Unfinished => {
                let all = self.speech.whole(&reply);
                let some = match fault {
                    Fault::Cut => all[..all.len() / 2].to_vec(),
                    _ => vec![
                        self.speech.begin(),
                        self.speech.begin_input(),
                        self.speech.more_input("{\"path\": \"out"),
                    ],
                };
                self.open_stream().await;
                for event in &some {
                    self.chunk(event).await;
                }
                self.done(fault);
                // Half of them end as if that was all, half in the middle of a chunk.
                if self.nth.is_multiple_of(2) {
                    self.write("0\r\n\r\n").await;
                }
                Kept::No
            }
            Fault::OverloadedInside => {
                let some = [self.speech.begin(), self.speech.failed()];
                self.done(fault);
                self.stream_out(&some, "").await
            }
            Fault::Garbage => {
                let some = [
                    self.speech.begin(),
                    "data: {\"type\": \"conte\u{fffd}\n\n".into(),
                ];
                self.done(fault);
                self.stream_out(&some, "").await;
                Kept::No
            }
            Fault::HugeLine => self.pour(fault, "data: ", &"x".repeat(64 * 1024)).await,
            Fault::Endless => {
                let begin = self.speech.begin() + &self.speech.begin_input();
                let more = self.speech.more_input(&"a ".repeat(8 * 1024));
                self.pour(fault, &begin, &more).await
            }
            Fault::Doubled => {
                let all = self.speech.whole(&reply);
                let twice: Vec<String> = all.iter().flat_map(|e| [e.clone(), e.clone()]).collect();
                self.shop.note(self.agent, self.came, Some(fault), None);
                self.stream_out(&twice, "").await
            }
            Fault::Slow => {
                self.open_stream().await;
                let all = self.speech.whole(&reply);
                let (last, first) = all.split_last().unwrap();
                for event in first {
                    // In two pieces, which need not end where a character does.
                    let (one, two) = event.as_bytes().split_at(event.len() / 2);
                    for piece in [one, two] {
                        let _ = self.raw_chunk(piece).await;
                        tokio::time::sleep(Duration::from_millis(15)).await;
                    }
                }
                self.shop.note(self.agent, self.came, Some(fault), None);
                self.last(last, "").await
            }
            Fault::WrongUsage => {
                self.speech.lie(self.nth);
                self.shop.note(self.agent, self.came, Some(fault), None);
                self.stream_out(&self.speech.whole(&reply), "").await
            }
            Fault::Empty => {
                self.shop.note(self.agent, self.came, Some(fault), None);
                self.stream_out(&self.speech.whole(&Reply::default()), "")
                    .await
            }
            Fault::Unknown => {
                let all = self.speech.whole(&reply);
                let mut more = vec![": a comment\n\nretry: 3000\nid: 7\n\n".to_string()];
                for event in all {
                    more.push(self.speech.unknown());
                    more.push(event);
                }
                self.shop.note(self.agent, self.came, Some(fault), None);
                self.stream_out(&more, "").await
            }
            Fault::LeftOpen => {
                self.open_stream().await;
                let all = self.speech.whole(&reply);
                self.shop.note(self.agent, self.came, Some(fault), None);
                let (last, first) = all.split_last().unwrap();
                for event in first {
                    self.chunk(event).await;
                }
                self.shop.leave(self.number);
                self.chunk(last).await;
                self.until_closed().await;
                Kept::No
            }
        }
    }

    fn done(&self, fault: Fault) {
        self.shop.note(self.agent, self.came, Some(fault), None);
        self.shop.leave(self.number);
    }

    async fn refuse(&mut self, fault: Fault) -> Kept {
        let wait = self.shop.weather.wait(self.agent, self.nth);
        let (code, kind, headers, wait) = match fault {
            Fault::LimitSeconds => {
                let seconds = Duration::from_secs(1);
                (
                    429,
                    "rate_limit_error",
                    vec![("retry-after", "1".to_string())],
                    Some(seconds),
                )
            }
            Fault::LimitMs => {
                let ms = wait.as_millis().to_string();
                let headers = vec![("retry-after-ms", ms), ("retry-after", "1".into())];
                (429, "rate_limit_error", headers, Some(wait))
            }
            Fault::LimitDate => {
                // A date has whole seconds: what is left until then is announced.
                let at =
                    jiff::Timestamp::from_second(jiff::Timestamp::now().as_second() + 2).unwrap();
                let date = at.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
                let left = Duration::try_from_secs_f64(at.as_duration().as_secs_f64() - unix());
                (
                    429,
                    "rate_limit_error",
                    vec![("retry-after", date)],
                    left.ok(),
                )
            }
            Fault::LimitZero => (
                429,
                "rate_limit_error",
                vec![("retry-after", "0".into())],
                None,
            ),
            Fault::Broken500 => (500, "api_error", vec![], None),
            Fault::Overloaded529 => (529, "overloaded_error", vec![], None),
            _ => (429, "rate_limit_error", vec![], None),
        };
        let body = error_body(self.shop.wire, kind, "Slow down");
        self.shop.note(self.agent, self.came, Some(fault), wait);
        self.shop.leave(self.number);
        self.write(&plain(code, "application/json", &headers, &body))
            .await
    }

    /// Says `some` and nothing more until the client has had enough.
    async fn wait_for_client(&mut self, fault: Fault, some: &str) -> Kept {
        self.shop.hang(self.number);
        if !some.is_empty() {
            self.open_stream().await;
            self.chunk(some).await;
        }
        self.until_closed().await;
        self.done(fault);
        Kept::No
    }

    async fn until_closed(&mut self) {
        let mut bin = [0; 1024];
        while self.stream.read(&mut bin).await.is_ok_and(|n| n > 0) {}
    }

    /// Sends `begin` and then `more` for ever.
    async fn pour(&mut self, fault: Fault, begin: &str, more: &str) -> Kept {
        self.shop.hang(self.number);
        self.open_stream().await;
        let mut open = self.raw_chunk(begin.as_bytes()).await;
        let mut sent = 0;
        while open.is_ok() {
            open = self.raw_chunk(more.as_bytes()).await;
            sent += more.len();
            if sent > 512 * 1024 * 1024 {
                self.shop
                    .wrong(format!("{fault:?}: {sent} bytes were taken"));
                break;
            }
        }
        self.done(fault);
        Kept::No
    }

    async fn stream_out(&mut self, events: &[String], end: &str) -> Kept {
        self.open_stream().await;
        let Some((last, first)) = events.split_last() else {
            return Kept::No;
        };
        for event in first {
            self.chunk(event).await;
        }
        self.last(last, end).await
    }

    async fn last(&mut self, event: &str, end: &str) -> Kept {
        self.shop.leave(self.number);
        self.chunk(event).await;
        self.chunk(end).await;
        self.write("0\r\n\r\n").await
    }

    async fn open_stream(&mut self) {
        self.write("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
            .await;
    }

    async fn chunk(&mut self, text: &str) {
        if !text.is_empty() {
            // A client that went away is noticed elsewhere.
            let _ = self.raw_chunk(text.as_bytes()).await;
        }
    }

    async fn raw_chunk(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        let mut out = format!("{:x}\r\n", bytes.len()).into_bytes();
        out.extend_from_slice(bytes);
        out.extend_from_slice(b"\r\n");
        self.stream.write_all(&out).await
    }

    async fn write(&mut self, text: &str) -> Kept {
        match self.stream.write_all(text.as_bytes()).await {
            Ok(()) => Kept::Yes,
            Err(_) => Kept::No,
        }
    }
}
