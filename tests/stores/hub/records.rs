//! What the processes of a test have done, by their own records and by the changes that the server has stored.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use async_nats::jetstream::consumer::{DeliverPolicy, push};
use futures::StreamExt;

/// Pause before the history is read again after an error.
const RESTART: Duration = Duration::from_millis(200);
/// Time without a change after which a history is complete, and the maximum time for it.
const QUIET: Duration = Duration::from_secs(1);
const COMPLETE_WITHIN: Duration = Duration::from_secs(20);

/// One line of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordLine {
    /// Milliseconds since the Unix epoch, by the real clock of the machine.
    pub at: u64,
    pub role: String,
    pub event: String,
    pub arguments: Vec<String>,
}

impl RecordLine {
    /// Returns an argument; empty if it is missing.
    pub fn argument(&self, index: usize) -> &str {
        self.arguments.get(index).map_or("", String::as_str)
    }
}

pub fn milliseconds() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    u64::try_from(now.unwrap().as_millis()).unwrap()
}

/// Adds a line that survives a kill of this process. The arguments contain no spaces, except the last one.
pub fn record(root: &Path, role: &str, event: &str, arguments: &[&str]) {
    let path = root.join(format!("{role}.txt"));
    let file = OpenOptions::new().create(true).append(true).open(path);
    let words = [&[event][..], arguments].concat().join(" ");
    let line = format!("{} {}\n", milliseconds(), words.replace('\n', " "));
    file.unwrap().write_all(line.as_bytes()).unwrap();
}

/// Returns the lines of a process, oldest first.
pub fn records_of(root: &Path, role: &str) -> Vec<RecordLine> {
    let path = root.join(format!("{role}.txt"));
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let parse = |line: &str| {
        let mut words = line.split(' ').map(str::to_string);
        Some(RecordLine {
            at: words.next()?.parse().ok()?,
            role: role.into(),
            event: words.next()?,
            arguments: words.collect(),
        })
    };
    text.lines().filter_map(parse).collect()
}

/// Returns the lines of all processes in the order of their times.
pub fn all_records(root: &Path, roles: &[&str]) -> Vec<RecordLine> {
    let mut all: Vec<RecordLine> = roles.iter().flat_map(|r| records_of(root, r)).collect();
    all.sort_by_key(|line| line.at);
    all
}

/// A task after one change, as the server has stored it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskVersion {
    pub sequence: u64,
    pub id: String,
    pub status: String,
    pub owner: String,
    /// The host and the session for which the task was claimed; empty without a claim.
    pub host: String,
    pub session: String,
}

/// Reads every change of the board while it is stored, over a connection that is not cut.
pub struct BoardHistory {
    runtime: tokio::runtime::Runtime,
    seen: Arc<Mutex<Vec<TaskVersion>>>,
}

impl BoardHistory {
    pub fn start(urls: Vec<String>, crew: &str) -> BoardHistory {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let seen = Arc::<Mutex<Vec<TaskVersion>>>::default();
        let (shared, stream) = (Arc::clone(&seen), format!("crewdeck_{crew}_tasks"));
        runtime.spawn(async move {
            loop {
                // The stream is created by the first process, and a server may be down.
                let _ = follow(&urls, &stream, &shared).await;
                tokio::time::sleep(RESTART).await;
            }
        });
        BoardHistory { runtime, seen }
    }

    /// Returns all changes in their order, when no more arrive. Some may be missing: the server keeps the last one of each
    /// task only.
    pub fn end(self) -> Vec<TaskVersion> {
        let count = || lock(&self.seen).len();
        let (began, mut known) = (Instant::now(), count());
        while began.elapsed() < COMPLETE_WITHIN {
            std::thread::sleep(QUIET);
            let now = count();
            if now == known && now > 0 {
                break;
            }
            known = now;
        }
        self.runtime.shutdown_background();
        let mut seen = std::mem::take(&mut *lock(&self.seen));
        seen.sort_by_key(|version| version.sequence);
        seen.dedup();
        seen
    }
}

fn lock(seen: &Mutex<Vec<TaskVersion>>) -> std::sync::MutexGuard<'_, Vec<TaskVersion>> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn follow(
    urls: &[String],
    stream: &str,
    seen: &Mutex<Vec<TaskVersion>>,
) -> Result<(), async_nats::Error> {
    let client = async_nats::connect(urls.to_vec()).await?;
    let jetstream = async_nats::jetstream::new(client.clone());
    let stream = jetstream.get_stream(stream).await?;
    let last = lock(seen).iter().map(|version| version.sequence).max();
    let config = push::OrderedConfig {
        deliver_subject: client.new_inbox(),
        deliver_policy: DeliverPolicy::ByStartSequence {
            start_sequence: last.unwrap_or(0) + 1,
        },
        ..push::OrderedConfig::default()
    };
    let mut messages = stream.create_consumer(config).await?.messages().await?;
    while let Some(message) = messages.next().await {
        let message = message?;
        let sequence = message.info()?.stream_sequence;
        let json: serde_json::Value = serde_json::from_slice(&message.payload)?;
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_string();
        let task = &json["task"];
        let subject = message.subject.as_str();
        let id = subject.rsplit('.').next().unwrap_or_default();
        lock(seen).push(TaskVersion {
            sequence,
            id: id.to_string(),
            status: text(&task["status"]),
            owner: text(&task["owner"]),
            host: text(&task["claim"]["host"]),
            session: text(&task["claim"]["session"]),
        });
    }
    Ok(())
}
