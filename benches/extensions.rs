//! Compares a crew with five MCP servers with one without any: first screen, first request, and memory of 16 agents.
//!
//! `cargo bench --bench extensions` prints each measurement with the difference or ratio of the two crews. Times depend
//! on the machine, so compare only ratios of one run.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)] // a failed benchmark panics

mod common;

use std::fmt::Write as _;
use std::io::{Read, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::pty::Screen;
use common::{
    SIZE, crewdeck, median, process, report, repository, settle, time_until_shown, turns,
};
use serde_json::{Map, Value, json};

const AGENTS: usize = 16;
const SERVERS: usize = 5;
const ROUNDS: usize = 15;
const TASKS: u64 = 12;
/// Maximum time until the first screen with servers, as a multiple of the time without.
const FIRST: f64 = 1.2;
/// Maximum additional memory of crewdeck and its supervisors with servers in use, in MiB.
const MEMORY: f64 = 16.0;

/// Maximum time until all agents have ended their turns, and until the first request arrives.
const WITHIN: Duration = Duration::from_secs(120);

fn main() {
    let dir = tempfile::tempdir().unwrap();
    // Names of equal length, because requests contain them.
    let roots = ["plain", "tools"].map(|name| {
        let root = repository(dir.path(), name, TASKS);
        let settings = root.join(".config/crewdeck");
        std::fs::create_dir_all(&settings).unwrap();
        let text = format!("agents_max = {AGENTS}\nidle_timeout_s = 0\n");
        std::fs::write(settings.join("config.toml"), text).unwrap();
        std::fs::write(root.join("rules.yaml"), rules(name == "tools")).unwrap();
        root
    });
    configure(&roots[1]);
    let [without, with] = [&*roots[0], &*roots[1]];
    println!("{}", process::load());
    first_screen(without, with);
    first_request(without, with);
    agents(without, with);
    println!("{}", process::load());
}

/// Configures the servers for a user whose home directory is `root`.
fn configure(root: &Path) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/mcp/server.py");
    let servers: Map<String, Value> = (0..SERVERS)
        .map(|n| {
            let server =
                json!({"command": "python3", "args": [script, "--pids", root.join("pids")]});
            (format!("s{n}"), server)
        })
        .collect();
    let text = json!({ "mcpServers": servers }).to_string();
    std::fs::write(root.join(".config/crewdeck/mcp.json"), text).unwrap();
}

/// Returns a script whose lead spawns all agents. Each calls a tool of each server if `has_servers`; otherwise, each
/// reads a file as often.
fn rules(has_servers: bool) -> String {
    let mut out = "rules:\n  - agent: lead\n    when: begin\n    calls:\n".to_string();
    for n in 0..AGENTS {
        writeln!(
            out,
            "      - {{ tool: spawn_teammate, input: {{ name: a{n}, role: tester, prompt: go }} }}"
        )
        .unwrap();
    }
    let call = |n| {
        if has_servers {
            format!("{{ tool: mcp__s{n}__echo, input: {{ text: hello }} }}")
        } else {
            "{ tool: read_file, input: { path: rules.yaml } }".to_string()
        }
    };
    let calls: Vec<String> = (0..SERVERS).map(call).collect();
    for n in 0..AGENTS {
        writeln!(
            out,
            "  - agent: a{n}\n    when: go\n    calls: [{}]",
            calls.join(", ")
        )
        .unwrap();
    }
    out.push_str("  - say: finished\n    times: 0\n");
    out
}

const ARGS: &[&str] = &["--provider", "script:rules.yaml"];

fn first_screen(without: &Path, with: &Path) {
    let (mut plain, mut extended) = (Vec::new(), Vec::new());
    // Alternates, so that other load affects both.
    for _ in 0..ROUNDS {
        for (root, times) in [(without, &mut plain), (with, &mut extended)] {
            times.push(time_until_shown(crewdeck(), root, ARGS, &[], &["Subject 1 "])[0]);
        }
    }
    let (plain, extended) = (median(plain), median(extended));
    report(
        &format!("first screen with {SERVERS} servers"),
        &format!(
            "{extended:.1} ms, {plain:.1} ms without: ratio {:.2}",
            extended / plain
        ),
        &format!("ratio <= {FIRST}"),
        extended / plain <= FIRST,
    );
    assert!(!with.join("pids").exists(), "a server was started");
}

/// Compares the number of threads before the first message, and the length of the first request.
fn first_request(without: &Path, with: &Path) {
    let threads = [without, with].map(|root| {
        let mut screen = Screen::start(root, SIZE.0, SIZE.1, ARGS);
        screen.wait_for("Subject 1 ");
        settle(&screen);
        // Threads for blocking work end after 10 s without work.
        std::thread::sleep(Duration::from_secs(12));
        let tasks = format!("/proc/{}/task", screen.pid());
        let threads = std::fs::read_dir(tasks).unwrap().count();
        screen.send("\u{3}\u{3}q");
        screen.wait_for_exit();
        threads
    });
    report(
        &format!("idle threads with {SERVERS} servers that are not used"),
        &format!("{}, {} without", threads[1], threads[0]),
        "no more",
        threads[1] <= threads[0],
    );
    let hidden = ["--tools", "bash,read_file,write_file,edit_file,glob,grep"];
    let bytes = [
        (without, &hidden[..]),
        (with, &hidden),
        (without, &[]),
        (with, &[]),
    ]
    .map(|(root, args)| request_length(root, args));
    report(
        "first request of an agent that may use no server",
        &format!("{} bytes, {} bytes without servers", bytes[1], bytes[0]),
        "equal",
        bytes[0] == bytes[1],
    );
    println!(
        "first request with all tools: {} bytes without servers, {} bytes with those of {SERVERS} servers",
        bytes[2], bytes[3]
    );
}

/// Returns the length, in bytes, of the body of the first request that `crewdeck run` sends with the options `args`.
fn request_length(root: &Path, args: &[&str]) -> usize {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let mut child = Command::new(crewdeck())
        .args([
            "run",
            "go",
            "--provider",
            "openai",
            "--model",
            "m",
            "--base-url",
            &url,
        ])
        .args(args)
        .current_dir(root)
        .env("HOME", root)
        .env("OPENAI_API_KEY", "key")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    listener.set_nonblocking(true).unwrap();
    let until = Instant::now() + WITHIN;
    let length = loop {
        if let Ok((stream, _)) = listener.accept() {
            stream.set_nonblocking(false).unwrap();
            let length = body_length(stream);
            if length > 0 {
                break length;
            }
        }
        let ended = child.try_wait().unwrap();
        assert!(
            ended.is_none() && Instant::now() < until,
            "no request: {ended:?}"
        );
        std::thread::sleep(Duration::from_millis(5));
    };
    child.kill().unwrap();
    child.wait().unwrap();
    length
}

/// Reads the head of a request, refuses it, and returns the length of its body in bytes; 0 if it has none.
fn body_length(mut stream: TcpStream) -> usize {
    let mut head = Vec::new();
    let mut bytes = [0; 1024];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let n = stream.read(&mut bytes).unwrap_or(0);
        if n == 0 {
            return 0;
        }
        head.extend_from_slice(&bytes[..n]);
    }
    let head = String::from_utf8_lossy(&head).to_lowercase();
    let length = head.split("content-length: ").nth(1);
    let length = length.and_then(|rest| rest.split('\r').next()?.parse().ok());
    let answer = "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    let _ = stream.write_all(answer.as_bytes());
    length.unwrap_or(0)
}

/// Compares the memory after all agents have called tools and are idle.
fn agents(without: &Path, with: &Path) {
    let memory = [without, with].map(|root| {
        // Without tasks, agents only do what the script says. The state of earlier runs must not count.
        std::fs::remove_dir_all(root.join(".tasks")).unwrap();
        std::fs::remove_dir_all(root.join(".crewdeck")).unwrap();
        let _ = std::fs::remove_file(root.join("pids"));
        let mut screen = Screen::start(root, SIZE.0, SIZE.1, ARGS);
        screen.wait_for("script");
        screen.send("begin\r");
        let until = Instant::now() + WITHIN;
        while turns(root) < AGENTS + 1 {
            assert!(Instant::now() < until, "the screen:\n{}", screen.text());
            std::thread::sleep(Duration::from_millis(100));
        }
        settle(&screen);
        let pids = std::fs::read_to_string(root.join("pids")).unwrap_or_default();
        let servers: Vec<u32> = pids.lines().map(|pid| pid.parse().unwrap()).collect();
        // Supervisors are part of crewdeck: they map the same program, which lowers its own share.
        let own = process::family(screen.pid()).into_iter();
        let own: f64 = own
            .filter(|pid| !servers.contains(pid))
            .map(process::pss_mib)
            .sum();
        let count = servers.len();
        let theirs: f64 = servers.into_iter().map(process::pss_mib).sum();
        (own, theirs, count)
    });
    let [(plain, ..), (extended, servers, count)] = memory;
    assert_eq!(count, SERVERS, "each server runs once");
    report(
        &format!(
            "memory (PSS) of crewdeck with {AGENTS} agents that have called {SERVERS} servers"
        ),
        &format!("{extended:.1} MiB, {plain:.1} MiB without; the servers have {servers:.1} MiB"),
        &format!("at most {MEMORY:.0} MiB more"),
        extended - plain <= MEMORY,
    );
}
