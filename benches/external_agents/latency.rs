//! The time from an output of an agent to the screen.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::{Duration, SystemTime};

use serde_json::json;

use crate::common::pty::Screen;
use crate::common::{SIZE, crewdeck, echo, median_and, ms, report};
use crate::setup::{ARGS, Setup};

/// Maximum time from an output of an external agent to the screen, as a multiple of the time for one of its own.
const LATENCY: f64 = 1.5;
/// Outputs whose time to the screen is measured.
const MARKS: usize = 100;

/// Compares the time from an output to the screen: of an external agent, and of a model server on loopback. The echo of
/// a key is the floor.
pub fn latency() {
    let setup = Setup::new(0, 1, &format!("stream {MARKS} 60 mark"));
    let mut screen = Screen::start(&setup.root, SIZE.0, SIZE.1, ARGS);
    screen.wait_for("script");
    let mut typed = String::new();
    let echoes: Vec<f64> = (0..40).map(|n| echo(&mut screen, &mut typed, n)).collect();
    screen.send("\u{15}begin\r");
    screen.wait_for("ext0");
    screen.send("\u{1b}");
    std::thread::sleep(Duration::from_millis(300));
    screen.send("4\r");
    screen.wait_for(" to ext0 ");
    let shown = marks_shown(&screen);
    let log = std::fs::read_to_string(&setup.log).unwrap();
    let said: Vec<SystemTime> = log
        .lines()
        .filter_map(|line| line.strip_prefix("said ")?.split(' ').nth(1)?.parse().ok())
        .map(|nanos| SystemTime::UNIX_EPOCH + Duration::from_nanos(nanos))
        .collect();
    let external = delays(&said, &shown);
    screen.kill();

    let (url, server) = serve_marks();
    let setup = Setup::new(0, 0, "");
    let args = ["--provider", "openai", "--model", "m", "--base-url", &url];
    let keys = [("OPENAI_API_KEY", "key")];
    let mut screen = Screen::start_program(crewdeck(), &setup.root, SIZE.0, SIZE.1, &args, &keys);
    screen.wait_for("Say what you want done");
    screen.send("begin\r");
    let shown = marks_shown(&screen);
    screen.kill();
    let own = delays(&server.join().unwrap(), &shown);
    let print = |what: &str, times: &[f64]| {
        let (median, high) = median_and(95, times.to_vec());
        println!("{what}: median {median:.1} ms, 95 % within {high:.1} ms");
        median
    };
    let floor = print("echo of a key", &echoes);
    let own = print("output of an own agent to the screen", &own);
    let external = print("output of an external agent to the screen", &external);
    report(
        "output of an external agent to the screen",
        &format!(
            "ratio {:.2} to an own agent, {:.2} to the echo of a key",
            external / own,
            external / floor
        ),
        &format!("ratio <= {LATENCY} to an own agent"),
        external / own <= LATENCY,
    );
}

fn mark(n: usize) -> String {
    format!("mark{n:04}")
}

/// Returns when each mark appeared. A mark that scrolls in with a later one counts from the later one.
fn marks_shown(screen: &Screen) -> Vec<SystemTime> {
    let wait = |n| {
        screen.wait(&mark(n), |text| (n..MARKS).any(|n| text.contains(&mark(n))));
        SystemTime::now()
    };
    (0..MARKS).map(wait).collect()
}

/// Returns the milliseconds from each output to its appearance, without the first ones, which came before the
/// conversation was shown.
fn delays(said: &[SystemTime], shown: &[SystemTime]) -> Vec<f64> {
    assert_eq!(said.len(), MARKS);
    let pairs = said.iter().zip(shown).skip(MARKS / 4);
    let delay = |(said, shown): (&SystemTime, &SystemTime)| shown.duration_since(*said).ok();
    pairs.filter_map(delay).map(ms).collect()
}

/// Serves one Chat Completions stream of marks. Returns its address and, at the end, the times at which they were sent.
fn serve_marks() -> (String, std::thread::JoinHandle<Vec<SystemTime>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let serve = move || loop {
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_nodelay(true).unwrap();
        let (mut head, mut bytes) = (Vec::new(), vec![0; 64 * 1024]);
        while !head.ends_with(b"}") && !head.starts_with(b"GET ") {
            let n = stream.read(&mut bytes).unwrap_or(0);
            if n == 0 {
                break;
            }
            head.extend_from_slice(&bytes[..n]);
        }
        if !head.starts_with(b"POST ") {
            let answer = "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
            let _ = stream.write_all(answer.as_bytes());
            continue;
        }
        let begin =
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
        stream.write_all(begin.as_bytes()).unwrap();
        let mut said = Vec::new();
        for n in 0..MARKS {
            std::thread::sleep(Duration::from_millis(60));
            let delta = json!({"content": format!("{} ", mark(n))});
            let chunk = json!({"id": "x", "object": "chat.completion.chunk", "model": "m",
                "choices": [{"index": 0, "delta": delta, "finish_reason": null}]});
            said.push(SystemTime::now());
            if stream
                .write_all(format!("data: {chunk}\n\n").as_bytes())
                .is_err()
            {
                break;
            }
        }
        // A stream that ends without this is a failed call, whose text is removed from the screen.
        let end = json!({"id": "x", "object": "chat.completion.chunk", "model": "m",
            "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
        let _ = stream.write_all(format!("data: {end}\n\ndata: [DONE]\n\n").as_bytes());
        return said;
    };
    (url, std::thread::spawn(serve))
}
