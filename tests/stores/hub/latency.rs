//! Measures how long changes and their reports take, beside the files and beside a bare compare-and-set of the server in the
//! same run, and how many bytes they need. `tests/third_party/hub latency` prints the figures.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use async_nats::jetstream::consumer::{DeliverPolicy, push};
use crewdeck::store::watch::Dirty;
use crewdeck::store::{Hub, HubAddress, HubSettings, Stores};
use futures::StreamExt;

use super::NatsServer;
use super::proxy::Proxy;
use crate::suite::{NOW, claimer, new};

const ROUNDS: usize = 300;
/// Number of tasks that are on the board before the measurement.
const TASKS: usize = 100;

/// Returns the median and the 99th percentile in milliseconds; zeros without times.
pub fn summary(mut times: Vec<Duration>) -> (f64, f64) {
    times.sort();
    if times.is_empty() {
        return (0.0, 0.0);
    }
    let at = |part: usize| times[(times.len() - 1) * part / 100].as_secs_f64() * 1000.0;
    (at(50), at(99))
}

fn print(what: &str, times: Vec<Duration>) {
    let (median, high) = summary(times);
    println!("{what:<40} median {median:>7.2} ms   p99 {high:>7.2} ms");
}

fn time<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let began = Instant::now();
    let result = work();
    (began.elapsed(), result)
}

fn measure(name: &str, open: &dyn Fn() -> Stores) {
    let (stores, other) = (open(), open());
    for n in 0..TASKS {
        stores.board.create(new(&format!("{n}"), &[]), NOW).unwrap();
    }
    let (sender, reports) = mpsc::channel();
    let report = Box::new(move |dirty| drop(sender.send(dirty)));
    let watch = other.changes.watch(report).unwrap();
    std::thread::sleep(Duration::from_secs(1));
    while reports.try_recv().is_ok() {}
    let bob = claimer("bob");
    let (mut claims, mut completions, mut notices) = (Vec::new(), Vec::new(), Vec::new());
    for n in 0..ROUNDS {
        stores.board.create(new(&format!("{n}"), &[]), NOW).unwrap();
        let (claim, task) = time(|| stores.board.claim(None, &bob, NOW).unwrap().unwrap());
        claims.push(claim);
        // The report of the completion comes after those of the other changes.
        std::thread::sleep(Duration::from_millis(15));
        while reports.try_recv().is_ok() {}
        let (notice, completion) = time(|| {
            let (completion, _) = time(|| stores.board.complete(task.id, &bob.name, NOW).unwrap());
            while !matches!(
                reports.recv_timeout(Duration::from_secs(5)).unwrap(),
                Dirty::Board(_)
            ) {}
            completion
        });
        completions.push(completion);
        notices.push(notice);
    }
    drop(watch);
    print(&format!("{name}: claim"), claims);
    print(&format!("{name}: complete"), completions);
    print(&format!("{name}: complete until reported"), notices);
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn changes_and_reports() {
    let server = NatsServer::start("");
    let root = tempfile::tempdir().unwrap();
    crewdeck::store::prepare(root.path()).unwrap();
    measure("files", &|| Stores::open(root.path()));
    let settings = HubSettings::new(HubAddress::parse(server.url()).unwrap());
    measure("hub", &|| Hub::new(settings.clone()).stores(root.path()));
    let url = server.url().to_string();
    let bare = async move {
        let client = async_nats::connect(url).await.unwrap();
        let jetstream = async_nats::jetstream::new(client.clone());
        let (mut last, mut times) = (0, Vec::new());
        let config = async_nats::jetstream::stream::Config {
            name: "bare".into(),
            subjects: vec!["bare.>".into()],
            max_messages_per_subject: 1,
            ..Default::default()
        };
        jetstream.create_stream(config).await.unwrap();
        for _ in 0..ROUNDS {
            let began = Instant::now();
            let message = async_nats::jetstream::message::PublishMessage::build()
                .payload(vec![b'x'; 300].into())
                .expected_last_sequence(last);
            let sent = jetstream.send_publish("bare.1", message).await.unwrap();
            last = sent.await.unwrap().sequence;
            times.push(began.elapsed());
        }
        print("server: bare compare-and-set", times);
        print(
            "server: bare notice",
            bare_notices(&client, &jetstream).await,
        );
    };
    tokio::runtime::Runtime::new().unwrap().block_on(bare);
}

/// Returns how long it takes from a write until a consumer on the same connection has its message.
async fn bare_notices(
    client: &async_nats::Client,
    jetstream: &async_nats::jetstream::Context,
) -> Vec<Duration> {
    let stream = jetstream.get_stream("bare").await.unwrap();
    let config = push::OrderedConfig {
        deliver_subject: client.new_inbox(),
        deliver_policy: DeliverPolicy::New,
        ..push::OrderedConfig::default()
    };
    let consumer = stream.create_consumer(config).await.unwrap();
    let mut messages = consumer.messages().await.unwrap();
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let began = Instant::now();
        let payload = vec![b'x'; 300].into();
        let sent = jetstream.publish("bare.1", payload).await.unwrap();
        messages.next().await.unwrap().unwrap();
        times.push(began.elapsed());
        sent.await.unwrap();
    }
    times
}

/// Counts the bytes between a client and the server for tasks that are created, claimed and completed, and the bytes to
/// another client that watches and reads each change.
#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
#[allow(clippy::cast_precision_loss)] // far below 2^52
fn bytes_on_the_wire() {
    let server = NatsServer::start("");
    let port = server.url().rsplit(':').next().unwrap().parse().unwrap();
    let (own, watched) = (Proxy::start(port), Proxy::start(port));
    let root = tempfile::tempdir().unwrap();
    let open = |proxy: &Proxy| {
        let address = HubAddress::parse(&format!("nats://127.0.0.1:{}", proxy.port()));
        Hub::new(HubSettings::new(address.unwrap())).stores(root.path())
    };
    let (stores, other) = (open(&own), open(&watched));
    let reader = other.clone();
    let report = Box::new(move |_: Dirty| drop(reader.board.read()));
    let watch = other.changes.watch(report).unwrap();
    let bob = claimer("bob");
    stores.board.create(new("first", &[]), NOW).unwrap();
    std::thread::sleep(Duration::from_secs(1));
    let since = |proxy: &Proxy, before: [u64; 2]| {
        let now = proxy.bytes();
        [0, 1].map(|way| (now[way] - before[way]) as f64 / ROUNDS as f64)
    };
    let before = [own.bytes(), watched.bytes()];
    for n in 0..ROUNDS {
        stores.board.create(new(&format!("{n}"), &[]), NOW).unwrap();
        let task = stores.board.claim(None, &bob, NOW).unwrap().unwrap();
        stores.board.complete(task.id, &bob.name, NOW).unwrap();
    }
    std::thread::sleep(Duration::from_secs(1));
    let (worker, watcher) = (since(&own, before[0]), since(&watched, before[1]));
    drop(watch);
    for (what, [sent, received]) in [
        ("client that works", worker),
        ("client that watches", watcher),
    ] {
        println!(
            "bytes per task (create, claim, complete), {what}: {sent:.0} sent, {received:.0} received"
        );
    }
}
