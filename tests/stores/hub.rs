//! A hub: a real NATS server on loopback, whose program is the path in `CREWDECK_NATS_SERVER`.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use crewdeck::domain::ids::TaskId;
use crewdeck::domain::task::Task;
use crewdeck::store::{BoardTransaction, FirstWrite, Hub, HubAddress, HubSettings, Stores};

use crate::suite::{Backend, conformance};

mod cli;
mod errors;
mod events;
mod full;
mod host_kills;
mod host_mail;
mod host_process;
mod host_round;
mod kills;
mod latency;
mod network;
mod outages;
mod partitions;
mod proof;
mod proxy;
mod records;
mod scale;
mod secrets;

/// A NATS server with a configuration, which a test can kill and start again.
pub struct NatsServer {
    process: Mutex<Child>,
    folder: tempfile::TempDir,
    config: PathBuf,
    url: String,
    /// The network namespace in which the server runs; `None` for that of the test.
    namespace: Option<String>,
}

impl NatsServer {
    /// Starts a server on loopback with these lines in its configuration, besides its address and folder.
    pub fn start(config: &str) -> NatsServer {
        NatsServer::start_in(None, "127.0.0.1", free_port(), config)
    }

    /// Starts a server at an address of a network namespace.
    fn start_in(namespace: Option<String>, host: &str, port: u16, config: &str) -> NatsServer {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("store");
        let jetstream = if config.contains("jetstream") {
            String::new()
        } else {
            format!("jetstream {{ store_dir: \"{}\" }}", store.display())
        };
        let path = folder.path().join("server.conf");
        let text = format!("listen: \"{host}:{port}\"\n{jetstream}\n{config}\n");
        std::fs::write(&path, text).unwrap();
        let server = NatsServer {
            process: Mutex::new(spawn(namespace.as_deref(), &path)),
            config: path,
            url: format!("nats://{host}:{port}"),
            namespace,
            folder,
        };
        server.wait_until_ready(host, port);
        server
    }

    fn wait_until_ready(&self, host: &str, port: u16) {
        let began = Instant::now();
        while std::net::TcpStream::connect((host, port)).is_err() {
            let log = std::fs::read_to_string(self.folder.path().join("server.conf.log"));
            assert!(began.elapsed() < Duration::from_secs(20), "{log:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// Kills the server.
    pub fn stop(&self) {
        let mut process = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        process.kill().unwrap();
        process.wait().unwrap();
    }

    /// Stops the server without closing its connections, as a power failure does.
    pub fn freeze(&self) {
        let process = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        let process = process.id().to_string();
        let status = Command::new("kill").args(["-STOP", &process]).status();
        assert!(status.unwrap().success());
    }

    /// Kills the server, if it is running, and starts it again on its store.
    pub fn restart(&self) {
        self.stop();
        let mut process = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        *process = spawn(self.namespace.as_deref(), &self.config);
    }
}

/// Returns a free port that no client gets from the system, so that it stays free until the server listens.
fn free_port() -> u16 {
    loop {
        let random = uuid::Uuid::now_v7().as_u128() % 20_000;
        let port = 10_000 + u16::try_from(random).unwrap();
        if std::net::TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

fn spawn(namespace: Option<&str>, config: &Path) -> Child {
    let program = std::env::var_os("CREWDECK_NATS_SERVER")
        .expect("CREWDECK_NATS_SERVER must be the path of nats-server 2.11.7 or newer");
    let log = std::fs::File::create(config.with_extension("conf.log")).unwrap();
    command_in(namespace, &program)
        .arg("-c")
        .arg(config)
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .unwrap()
}

/// Returns the command that runs a program in a network namespace. It is replaced by the program, so it has the same process
/// id.
fn command_in(namespace: Option<&str>, program: &OsStr) -> Command {
    let Some(namespace) = namespace else {
        return Command::new(program);
    };
    let mut command = Command::new("ip");
    command.args(["netns", "exec", namespace]).arg(program);
    command
}

impl Drop for NatsServer {
    fn drop(&mut self) {
        let process = self.process.get_mut();
        let process = process.unwrap_or_else(PoisonError::into_inner);
        let _ = process.kill();
        let _ = process.wait();
    }
}

/// Returns the number of servers that keep a copy of the state.
fn replicas() -> usize {
    let replicas = std::env::var("CREWDECK_NATS_REPLICAS").ok();
    replicas.map_or(1, |replicas| replicas.parse().unwrap())
}

/// One crew on a server that all tests share.
struct Crew {
    server: Server,
    name: String,
    root: tempfile::TempDir,
}

/// The server of the tests: one that they start, or the one at the address in `CREWDECK_NATS_URL`.
enum Server {
    Started(Arc<NatsServer>),
    Given(String),
}

static SHARED: Mutex<Weak<NatsServer>> = Mutex::new(Weak::new());
static CREWS: AtomicUsize = AtomicUsize::new(0);

impl Crew {
    fn new() -> Crew {
        Crew::on(|| {
            let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
            let server = shared.upgrade();
            let server = server.unwrap_or_else(|| Arc::new(NatsServer::start("")));
            *shared = Arc::downgrade(&server);
            server
        })
    }

    /// Returns a crew on a server that no other test uses.
    fn alone() -> Crew {
        Crew::on(|| Arc::new(NatsServer::start("")))
    }

    fn on(start: impl FnOnce() -> Arc<NatsServer>) -> Crew {
        let server = match std::env::var("CREWDECK_NATS_URL") {
            Ok(url) => Server::Given(url),
            Err(_) => Server::Started(start()),
        };
        let number = CREWS.fetch_add(1, Ordering::Relaxed);
        let process = std::process::id();
        Crew {
            server,
            name: format!("crew-{process}-{number}"),
            root: tempfile::tempdir().unwrap(),
        }
    }

    fn url(&self) -> &str {
        match &self.server {
            Server::Started(server) => server.url(),
            Server::Given(url) => url,
        }
    }

    fn hub(&self) -> Hub {
        Hub::new(HubSettings {
            replicas: replicas(),
            mail_bytes_max: 16 * 1024 * 1024,
            ..HubSettings::new(HubAddress::parse(&self.address()).unwrap())
        })
    }

    fn address(&self) -> String {
        format!("{}/{}", self.url(), self.name)
    }

    /// Kills the server and starts it again, unless another program has started it.
    fn restart_server(&self) {
        if let Server::Started(server) = &self.server {
            server.restart();
        }
    }
}

/// Removes the crew from the server, which reserves space for it.
impl Drop for Crew {
    fn drop(&mut self) {
        let url: Vec<String> = self.url().split(',').map(str::to_string).collect();
        let names = ["tasks", "state", "mail", "leases", "events"];
        let names = names.map(|name| format!("crewdeck_{}_{name}", self.name));
        let remove = async move {
            let client = async_nats::connect(url).await?;
            let jetstream = async_nats::jetstream::new(client);
            for name in names {
                // Some tests use only some streams.
                let _ = jetstream.delete_stream(name).await;
            }
            Ok::<(), async_nats::ConnectError>(())
        };
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let _ = runtime.block_on(remove);
    }
}

impl Backend for Crew {
    fn open(&self) -> Stores {
        std::fs::create_dir_all(self.root().join(".transcripts")).unwrap();
        self.hub().stores(self.root())
    }

    fn root(&self) -> &Path {
        self.root.path()
    }

    fn put_task(&self, task: &Task) {
        let id: TaskId = task.id;
        let store = self.hub().board_store();
        let mut put = |board: &mut dyn BoardTransaction| {
            board.graph_mut().put(Arc::new(task.clone()));
            board.save(&[id], FirstWrite::Update)
        };
        store.transact(&mut put).unwrap();
    }

    fn damage_task(&self, id: TaskId) {
        let url: Vec<String> = self.url().split(',').map(str::to_string).collect();
        let subject = format!("crewdeck.{}.tasks.{}", self.name, id.0);
        let publish = async move {
            let client = async_nats::connect(url).await.unwrap();
            let jetstream = async_nats::jetstream::new(client);
            let sent = jetstream.publish(subject, "{\"id\":".into()).await;
            sent.unwrap().await.unwrap();
        };
        tokio::runtime::Runtime::new().unwrap().block_on(publish);
    }
}

conformance!(
    super::Crew::new(),
    #[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
);
