//! Tests of the rate limiter with a fake model and a paused clock: which call starts when, to the millisecond.

use std::sync::atomic::{AtomicUsize, Ordering};

use futures::FutureExt;
use pretty_assertions::assert_eq;
use tokio::task::JoinSet;

use super::*;
use crate::domain::ids::Name;
use crate::domain::usage::Usage;
use crate::model::{ErrorKind, ImageInput, Reply, StopReason};

/// How one call to the fake model proceeds.
#[derive(Clone)]
enum Behavior {
    /// The call sends text after the first duration, and ends after the second duration.
    Answer(Duration, Duration),
    /// The call fails with the error after the duration.
    Fail(Duration, ModelError),
    Hang,
}

/// A fake model whose calls follow a list of behaviors, the last one repeated. Records when each call started.
struct FakeModel {
    behaviors: Vec<Behavior>,
    started: Mutex<Vec<(String, Duration)>>,
    running: Arc<AtomicUsize>,
    max_running: Arc<AtomicUsize>,
    start: Instant,
}

/// Increases the number of running calls until it is dropped.
struct RunningCall(Arc<AtomicUsize>);

impl Drop for RunningCall {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Model for FakeModel {
    fn call(&self, request: ModelRequest) -> BoxStream<'static, Item> {
        let mut started = self.started.lock().unwrap();
        let behavior = self.behaviors[started.len().min(self.behaviors.len() - 1)].clone();
        started.push((request.agent.to_string(), self.start.elapsed()));
        let count = self.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.max_running.fetch_max(count, Ordering::SeqCst);
        let running = RunningCall(Arc::clone(&self.running));
        let first = async move {
            match behavior {
                Behavior::Answer(first, then) => {
                    tokio::time::sleep(first).await;
                    let end = async move {
                        tokio::time::sleep(then).await;
                        Ok(Delta::Done(reply()))
                    };
                    let text = stream::iter([Ok(Delta::Text("well".into()))]);
                    text.chain(end.into_stream()).boxed()
                }
                Behavior::Fail(after, error) => {
                    tokio::time::sleep(after).await;
                    stream::iter([Err(error)]).boxed()
                }
                Behavior::Hang => stream::pending().boxed(),
            }
        };
        first
            .into_stream()
            .flatten()
            .map(move |item| {
                let _guard = &running;
                item
            })
            .boxed()
    }

    fn list(&self) -> BoxFuture<'static, Result<Vec<String>, ModelError>> {
        async { Ok(vec!["fake".into()]) }.boxed()
    }

    fn is_remote(&self) -> bool {
        false
    }
}

fn reply() -> Reply {
    Reply {
        blocks: Vec::new(),
        stop: StopReason::EndTurn,
        usage: Usage::default(),
    }
}

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn rate_limited(wait: Option<u64>) -> ModelError {
    ModelError {
        wait: wait.map(ms),
        ..ModelError::new(ErrorKind::RateLimited, "slow down", "")
    }
}

fn rate_limiter_of(max: usize, behaviors: Vec<Behavior>) -> (Arc<RateLimiter>, Arc<FakeModel>) {
    let fake = Arc::new(FakeModel {
        behaviors,
        started: Mutex::default(),
        running: Arc::default(),
        max_running: Arc::default(),
        start: Instant::now(),
    });
    let model = Arc::clone(&fake) as Arc<dyn Model>;
    (Arc::new(RateLimiter::new(model, max, || 1.0)), fake)
}

fn request(agent: &str) -> ModelRequest {
    ModelRequest {
        agent: Name::party(agent).unwrap(),
        model: "fake".into(),
        system: String::new(),
        messages: Arc::default(),
        tools: Arc::default(),
        max_tokens: 1,
        images: ImageInput::Sent,
        effort: None,
        thinking_budget: None,
        workdir: std::path::PathBuf::new(),
        clearings: 0,
    }
}

/// Repeats a call until it succeeds, as an agent does, and waits as long as each error says.
async fn call_until_done(rate_limiter: Arc<RateLimiter>, agent: String) {
    loop {
        let items: Vec<Item> = rate_limiter.call(request(&agent)).collect().await;
        match items.last() {
            Some(Ok(Delta::Done(_))) => return,
            Some(Err(error)) => tokio::time::sleep(error.wait.unwrap()).await,
            other => panic!("{other:?}"),
        }
    }
}

/// Lets `agents` call the model concurrently, in this order. Returns the agent and the start time, in milliseconds, of
/// each call, in the order in which the calls started.
async fn call_all(
    rate_limiter: &Arc<RateLimiter>,
    fake: &FakeModel,
    agents: impl IntoIterator<Item = String>,
) -> Vec<(String, u128)> {
    let mut set = JoinSet::new();
    for agent in agents {
        set.spawn(call_until_done(Arc::clone(rate_limiter), agent));
    }
    while let Some(done) = set.join_next().await {
        done.unwrap();
    }
    let started = fake.started.lock().unwrap();
    started
        .iter()
        .map(|(agent, at)| (agent.clone(), at.as_millis()))
        .collect()
}

fn agents(count: usize) -> impl Iterator<Item = String> {
    (1..=count).map(|n| format!("a{n}"))
}

fn starts(calls: &[(&str, u128)]) -> Vec<(String, u128)> {
    calls
        .iter()
        .map(|(agent, at)| ((*agent).into(), *at))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn calls_of_many_agents_respect_limit_and_order() {
    let (rate_limiter, fake) = rate_limiter_of(4, vec![Behavior::Answer(ms(10), ms(90))]);
    let calls = call_all(&rate_limiter, &fake, agents(16)).await;
    assert_eq!(fake.max_running.load(Ordering::SeqCst), 4);
    let expected: Vec<_> = agents(16)
        .enumerate()
        .map(|(at, agent)| (agent, (at / 4 * 100) as u128))
        .collect();
    assert_eq!(calls, expected);
}

#[tokio::test(start_paused = true)]
async fn two_clients_of_one_server_share_the_queue() {
    let answer = vec![Behavior::Answer(ms(0), ms(100))];
    let (rate_limiter, fake) = rate_limiter_of(1, answer.clone());
    let (_, other) = rate_limiter_of(1, answer);
    let shared = Arc::new(rate_limiter.share_with(Arc::clone(&other) as Arc<dyn Model>));
    tokio::join!(
        call_until_done(rate_limiter, "a1".into()),
        call_until_done(shared, "a2".into())
    );
    let calls = |fake: &FakeModel| fake.started.lock().unwrap().clone();
    assert_eq!(calls(&fake), [("a1".into(), ms(0))]);
    assert_eq!(calls(&other), [("a2".into(), ms(100))]);
}

#[tokio::test(start_paused = true)]
async fn rate_limit_pauses_all_calls_and_one_goes_first() {
    let answer = Behavior::Answer(ms(40), ms(60));
    let behaviors = vec![Behavior::Fail(ms(20), rate_limited(Some(2500))), answer];
    let (rate_limiter, fake) = rate_limiter_of(1, behaviors);
    let calls = call_all(&rate_limiter, &fake, agents(3)).await;
    // Agent a1 is rate limited at 20 ms and goes to the end of the queue.
    assert_eq!(
        calls,
        starts(&[("a1", 0), ("a2", 2520), ("a3", 2620), ("a1", 2720)])
    );
}

#[tokio::test(start_paused = true)]
async fn other_calls_start_when_the_probe_is_answered() {
    let (rate_limiter, fake) = rate_limiter_of(
        4,
        vec![
            Behavior::Fail(ms(20), rate_limited(Some(2500))),
            Behavior::Fail(ms(30), rate_limited(Some(100))),
            Behavior::Fail(ms(30), rate_limited(Some(100))),
            Behavior::Fail(ms(30), rate_limited(Some(100))),
            Behavior::Answer(ms(40), ms(1000)),
        ],
    );
    let calls = call_all(&rate_limiter, &fake, agents(6)).await;
    let at: Vec<u128> = calls.iter().map(|(_, at)| *at).collect();
    assert_eq!(calls[4].0, "a5", "the first call that was not rate limited");
    assert_eq!(
        at,
        [0, 0, 0, 0, 2520, 2560, 2560, 2560, 3560, 3600],
        "{calls:?}"
    );
    assert_eq!(fake.max_running.load(Ordering::SeqCst), 4);
}

#[tokio::test(start_paused = true)]
async fn own_backoff_grows_until_a_success() {
    let fail = Behavior::Fail(ms(0), rate_limited(None));
    let (rate_limiter, fake) = rate_limiter_of(
        4,
        vec![
            fail.clone(),
            fail.clone(),
            fail.clone(),
            Behavior::Answer(ms(0), ms(0)),
            fail,
            Behavior::Answer(ms(0), ms(0)),
        ],
    );
    call_all(&rate_limiter, &fake, agents(1)).await;
    let calls = call_all(&rate_limiter, &fake, agents(1)).await;
    let at: Vec<u128> = calls.iter().map(|(_, at)| *at).collect();
    assert_eq!(at, [0, 500, 2000, 6500, 6500, 7000]);
}

#[tokio::test(start_paused = true)]
async fn dropped_stream_frees_its_place() {
    let (rate_limiter, fake) =
        rate_limiter_of(1, vec![Behavior::Hang, Behavior::Answer(ms(0), ms(0))]);
    let mut hanging = rate_limiter.call(request("a1"));
    assert!(hanging.next().now_or_never().is_none());
    let mut canceled = rate_limiter.call(request("a2"));
    let place = |place| Some(Some(Ok(Delta::Waiting(CallWait::Queued { place }))));
    assert_eq!(canceled.next().now_or_never(), place(1));
    let mut waiting = rate_limiter.call(request("a3"));
    assert_eq!(waiting.next().now_or_never(), place(2));
    assert_eq!(waiting.next().now_or_never(), None, "reported once");
    drop(canceled);
    assert_eq!(waiting.next().now_or_never(), place(1));
    drop(hanging);
    let rest: Vec<Item> = waiting.collect().await;
    assert_eq!(
        rest,
        [
            Ok(Delta::Waiting(CallWait::Released)),
            Ok(Delta::Text("well".into())),
            Ok(Delta::Done(reply())),
        ]
    );
    assert_eq!(fake.running.load(Ordering::SeqCst), 0);
    assert_eq!(rate_limiter.shared.queue().running_count(), 0);
}

#[tokio::test(start_paused = true)]
async fn waiting_and_failed_calls_report_the_shared_backoff() {
    let behaviors = vec![
        Behavior::Fail(ms(100), rate_limited(Some(2500))),
        Behavior::Fail(ms(600), rate_limited(Some(50))),
        Behavior::Answer(ms(0), ms(0)),
    ];
    let (rate_limiter, _fake) = rate_limiter_of(2, behaviors);
    let first = rate_limiter.call(request("a1")).collect::<Vec<Item>>();
    let second = rate_limiter.call(request("a2")).collect::<Vec<Item>>();
    let (first, second) = futures::join!(first, second);
    let wait = |items: &[Item]| match items {
        [Err(error)] => error.wait,
        other => panic!("{other:?}"),
    };
    // The second call fails 500 ms later; the rest of the shared back-off is longer than the wait of the second call.
    assert_eq!(
        (wait(&first), wait(&second)),
        (Some(ms(2500)), Some(ms(2000)))
    );
    let third: Vec<Item> = rate_limiter.call(request("a3")).collect().await;
    let held = CallWait::Paused {
        left: ms(2000),
        cause: "slow down".into(),
    };
    assert_eq!(third[0], Ok(Delta::Waiting(held)));
    assert_eq!(third[1], Ok(Delta::Waiting(CallWait::Released)));
}
