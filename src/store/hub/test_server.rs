//! A NATS server on loopback for tests. Its program is the path in `CREWDECK_NATS_SERVER`.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::{Hub, HubAddress, HubSettings};

pub(super) struct TestServer {
    process: Child,
    folder: tempfile::TempDir,
}

impl TestServer {
    pub fn start() -> TestServer {
        let program = std::env::var_os("CREWDECK_NATS_SERVER").expect("CREWDECK_NATS_SERVER");
        let folder = tempfile::tempdir().unwrap();
        let process = Command::new(program)
            .args(["--addr", "127.0.0.1", "--port", "-1", "--jetstream"])
            .arg("--store_dir")
            .arg(folder.path().join("store"))
            .arg("--ports_file_dir")
            .arg(folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        TestServer { process, folder }
    }

    /// Returns a new connection to the server.
    pub fn hub(&self) -> Hub {
        let ports = format!("nats-server_{}.ports", self.process.id());
        let ports = self.folder.path().join(ports);
        let began = Instant::now();
        let url = loop {
            let text = std::fs::read_to_string(&ports).unwrap_or_default();
            let json: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
            if let Some(url) = json["nats"][0].as_str() {
                break url.to_string();
            }
            assert!(began.elapsed() < Duration::from_secs(20), "no server");
            std::thread::sleep(Duration::from_millis(10));
        };
        Hub::new(HubSettings::new(HubAddress::parse(&url).unwrap()))
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
