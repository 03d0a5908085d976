//! The NATS server of a crew. Its program is the path in `CREWDECK_NATS_SERVER`.

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::Signal;

use super::CREW;
use crate::common::process_tree::signal;
use crate::common::wait::wait_until;

/// A NATS server, which a test can freeze, kill and start again.
pub struct HubServer {
    process: Child,
    port: u16,
    config: PathBuf,
    _folder: tempfile::TempDir,
}

impl HubServer {
    /// Starts a server on a free port.
    pub fn start() -> HubServer {
        HubServer::start_with(|store| format!("jetstream {{ store_dir: \"{}\" }}", store.display()))
    }

    pub fn without_jetstream() -> HubServer {
        HubServer::start_with(|_| String::new())
    }

    fn start_with(jetstream: impl Fn(&Path) -> String) -> HubServer {
        let folder = tempfile::tempdir().unwrap();
        let port = free_port();
        let config = folder.path().join("server.conf");
        let jetstream = jetstream(&folder.path().join("store"));
        let text = format!("listen: \"127.0.0.1:{port}\"\n{jetstream}\n");
        std::fs::write(&config, text).unwrap();
        let server = HubServer {
            process: spawn_server(&config),
            port,
            config,
            _folder: folder,
        };
        server.wait_until_ready();
        server
    }

    fn wait_until_ready(&self) {
        wait_until("the NATS server does not start", || {
            TcpStream::connect(("127.0.0.1", self.port)).is_ok()
        });
    }

    /// Returns the address of the crew on this server.
    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}/{CREW}", self.port)
    }

    /// Stops the server without ending it: its connections stay, but get no answers.
    pub fn freeze(&self) {
        signal(self.id(), Signal::STOP);
    }

    pub fn thaw(&self) {
        signal(self.id(), Signal::CONT);
    }

    fn id(&self) -> i32 {
        i32::try_from(self.process.id()).unwrap()
    }

    pub fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Starts a killed server again on its store.
    pub fn start_again(&mut self) {
        self.process = spawn_server(&self.config);
        self.wait_until_ready();
    }
}

impl Drop for HubServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

pub fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

fn spawn_server(config: &Path) -> Child {
    let program = std::env::var_os("CREWDECK_NATS_SERVER")
        .expect("CREWDECK_NATS_SERVER must be the path of nats-server 2.11.7 or newer");
    Command::new(program)
        .arg("-c")
        .arg(config)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}
