//! The address to which `crewdeck run` and `crewdeck doctor` send a key.

use std::io::Read;
use std::net::TcpListener;
use std::process::Stdio;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{crewdeck, text};

#[test]
fn foreign_address_is_printed_before_the_first_request() {
    for args in [
        &["run", "go", "--model", "big-1"][..],
        &["doctor"],
        &["doctor", "--json"],
    ] {
        let (printed, address) = printed_before_the_first_request(args);
        let line = format!("crewdeck: the API key in ANTHROPIC_API_KEY is sent to {address}\n");
        assert!(printed.contains(&line), "{args:?}: {printed}");
    }
}

/// Runs crewdeck with a key and a foreign server. Returns what it has printed to stderr when it connects to the server,
/// and the address of the server.
fn printed_before_the_first_request(args: &[&str]) -> (String, String) {
    let dir = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let mut child = crewdeck(dir.path())
        .args(args)
        .args(["--provider", "anthropic"])
        .env("ANTHROPIC_API_KEY", "a-key")
        .env("ANTHROPIC_BASE_URL", &address)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let most = Timespec {
        tv_sec: 60,
        tv_nsec: 0,
    };
    let connections = poll(&mut [PollFd::new(&listener, PollFlags::IN)], Some(&most));
    // The server does not answer. What the pipe contains now was printed before the request.
    let mut stderr = child.stderr.take().unwrap();
    let printed = rustix::io::ioctl_fionread(&stderr).unwrap();
    let mut printed = vec![0; usize::try_from(printed).unwrap()];
    stderr.read_exact(&mut printed).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(connections, Ok(1), "no request in time");
    (text(&printed), address)
}
