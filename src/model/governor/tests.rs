//! The governor with a model that is played: who begins when, to the millisecond.

use std::sync::atomic::{AtomicUsize, Ordering};

use futures::FutureExt;
use pretty_assertions::assert_eq;
use tokio::task::JoinSet;

use super::*;
use crate::domain::ids::Name;
use crate::domain::usage::Usage;
use crate::model::{Fault, Reply, StopReason};

/// How a played call goes.
#[derive(Clone)]
enum Play {
    /// Words after the first time, the end after the second.
    Answer(Duration, Duration),
    /// An error after some time.
    Fail(Duration, ModelError),
    Hang,
}

/// A model that plays its calls in order, the last one for ever, and writes down when each began.
struct Played {
    plays: Vec<Play>,
    began: Mutex<Vec<(String, Duration)>>,
    in_flight: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
    start: Instant,
}

struct Flying(Arc<AtomicUsize>);

impl Drop for Flying {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Model for Played {
    fn call(&self, request: ModelRequest) -> BoxStream<'static, Item> {
        let mut began = self.began.lock().unwrap();
        let play = self.plays[began.len().min(self.plays.len() - 1)].clone();
        began.push((request.agent.to_string(), self.start.elapsed()));
        let flying = self.in_flight.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(flying, Ordering::SeqCst);
        let flying = Flying(Arc::clone(&self.in_flight));
        let first = async move {
            match play {
                Play::Answer(first, then) => {
                    tokio::time::sleep(first).await;
                    let end = async move {
                        tokio::time::sleep(then).await;
                        Ok(Delta::Done(reply()))
                    };
                    let words = stream::iter([Ok(Delta::Text("well".into()))]);
                    words.chain(end.into_stream()).boxed()
                }
                Play::Fail(after, error) => {
                    tokio::time::sleep(after).await;
                    stream::iter([Err(error)]).boxed()
                }
                Play::Hang => stream::pending().boxed(),
            }
        };
        first
            .into_stream()
            .flatten()
            .map(move |item| {
                let _held = &flying;
                item
            })
            .boxed()
    }

    fn list(&self) -> BoxFuture<'static, Result<Vec<String>, ModelError>> {
        async { Ok(vec!["played".into()]) }.boxed()
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

fn refused(wait: Option<u64>) -> ModelError {
    ModelError {
        wait: wait.map(ms),
        ..ModelError::new(Fault::RateLimited, "slow down", "")
    }
}

fn governed(max: usize, plays: Vec<Play>) -> (Arc<Governor>, Arc<Played>) {
    let played = Arc::new(Played {
        plays,
        began: Mutex::default(),
        in_flight: Arc::default(),
        most: Arc::default(),
        start: Instant::now(),
    });
    let model = Arc::clone(&played) as Arc<dyn Model>;
    (Arc::new(Governor::new(model, max, || 1.0)), played)
}

fn request(agent: &str) -> ModelRequest {
    ModelRequest {
        agent: Name::party(agent).unwrap(),
        model: "played".into(),
        system: String::new(),
        messages: Arc::default(),
        tools: Arc::default(),
        max_tokens: 1,
    }
}

/// Calls until it is answered, as an agent does: a failure that says how long is waited for.
async fn insist(governor: Arc<Governor>, agent: String) {
    loop {
        let heard: Vec<Item> = governor.call(request(&agent)).collect().await;
        match heard.last() {
            Some(Ok(Delta::Done(_))) => return,
            Some(Err(error)) => tokio::time::sleep(error.wait.unwrap()).await,
            other => panic!("{other:?}"),
        }
    }
}

/// Lets `agents` call at once, in this order; when each call began comes back.
async fn all(
    governor: &Arc<Governor>,
    played: &Played,
    agents: impl IntoIterator<Item = String>,
) -> Vec<(String, u128)> {
    let mut set = JoinSet::new();
    for agent in agents {
        set.spawn(insist(Arc::clone(governor), agent));
    }
    while let Some(done) = set.join_next().await {
        done.unwrap();
    }
    let began = played.began.lock().unwrap();
    began
        .iter()
        .map(|(who, at)| (who.clone(), at.as_millis()))
        .collect()
}

fn agents(count: usize) -> impl Iterator<Item = String> {
    (1..=count).map(|n| format!("a{n}"))
}

fn began(calls: &[(&str, u128)]) -> Vec<(String, u128)> {
    calls.iter().map(|(who, at)| ((*who).into(), *at)).collect()
}

#[tokio::test(start_paused = true)]
async fn sixteen_agents_never_have_more_calls_in_flight_than_the_cap_and_keep_their_order() {
    let (governor, played) = governed(4, vec![Play::Answer(ms(10), ms(90))]);
    let calls = all(&governor, &played, agents(16)).await;
    assert_eq!(played.most.load(Ordering::SeqCst), 4);
    let expected: Vec<_> = agents(16)
        .enumerate()
        .map(|(at, who)| (who, (at / 4 * 100) as u128))
        .collect();
    assert_eq!(calls, expected);
}

#[tokio::test(start_paused = true)]
async fn one_refusal_holds_all_back_to_the_millisecond_and_one_goes_first() {
    let answer = Play::Answer(ms(40), ms(60));
    let plays = vec![Play::Fail(ms(20), refused(Some(2500))), answer];
    let (governor, played) = governed(1, plays);
    let calls = all(&governor, &played, agents(3)).await;
    // a1 is refused at 20 ms; it was in line first, and is the last one when it comes again.
    assert_eq!(
        calls,
        began(&[("a1", 0), ("a2", 2520), ("a3", 2620), ("a1", 2720)])
    );
}

#[tokio::test(start_paused = true)]
async fn the_others_follow_when_the_first_one_is_being_answered() {
    let (governor, played) = governed(
        4,
        vec![
            Play::Fail(ms(20), refused(Some(2500))),
            Play::Fail(ms(30), refused(Some(100))),
            Play::Fail(ms(30), refused(Some(100))),
            Play::Fail(ms(30), refused(Some(100))),
            Play::Answer(ms(40), ms(1000)),
        ],
    );
    let calls = all(&governor, &played, agents(6)).await;
    let at: Vec<u128> = calls.iter().map(|(_, at)| *at).collect();
    assert_eq!(calls[4].0, "a5", "the first one that has not been refused");
    assert_eq!(
        at,
        [0, 0, 0, 0, 2520, 2560, 2560, 2560, 3560, 3600],
        "{calls:?}"
    );
    assert_eq!(played.most.load(Ordering::SeqCst), 4);
}

#[tokio::test(start_paused = true)]
async fn without_a_word_of_the_server_waits_grow_until_a_success() {
    let fail = Play::Fail(ms(0), refused(None));
    let (governor, played) = governed(
        4,
        vec![
            fail.clone(),
            fail.clone(),
            fail.clone(),
            Play::Answer(ms(0), ms(0)),
            fail,
            Play::Answer(ms(0), ms(0)),
        ],
    );
    all(&governor, &played, agents(1)).await;
    let calls = all(&governor, &played, agents(1)).await;
    let at: Vec<u128> = calls.iter().map(|(_, at)| *at).collect();
    assert_eq!(at, [0, 500, 2000, 6500, 6500, 7000]);
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_is_dropped_gives_its_place_back() {
    let (governor, played) = governed(1, vec![Play::Hang, Play::Answer(ms(0), ms(0))]);
    let mut hangs = governor.call(request("a1"));
    assert!(hangs.next().now_or_never().is_none());
    let mut gives_up = governor.call(request("a2"));
    let place = |place| Some(Some(Ok(Delta::Held(Held::Queued { place }))));
    assert_eq!(gives_up.next().now_or_never(), place(1));
    let mut waits = governor.call(request("a3"));
    assert_eq!(waits.next().now_or_never(), place(2));
    assert_eq!(waits.next().now_or_never(), None, "it is said once");
    drop(gives_up);
    assert_eq!(waits.next().now_or_never(), place(1));
    drop(hangs);
    let rest: Vec<Item> = waits.collect().await;
    assert_eq!(
        rest,
        [
            Ok(Delta::Held(Held::Released)),
            Ok(Delta::Text("well".into())),
            Ok(Delta::Done(reply())),
        ]
    );
    assert_eq!(played.in_flight.load(Ordering::SeqCst), 0);
    assert_eq!(governor.room.line().in_flight(), 0);
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_the_back_off_says_so_and_who_was_refused_is_told_the_shared_wait() {
    let plays = vec![
        Play::Fail(ms(100), refused(Some(2500))),
        Play::Fail(ms(600), refused(Some(50))),
        Play::Answer(ms(0), ms(0)),
    ];
    let (governor, _played) = governed(2, plays);
    let first = governor.call(request("a1")).collect::<Vec<Item>>();
    let second = governor.call(request("a2")).collect::<Vec<Item>>();
    let (first, second) = futures::join!(first, second);
    let wait = |heard: &[Item]| match heard {
        [Err(error)] => error.wait,
        other => panic!("{other:?}"),
    };
    // The second one was refused 500 ms later: what is left of the shared wait is longer than its own.
    assert_eq!(
        (wait(&first), wait(&second)),
        (Some(ms(2500)), Some(ms(2000)))
    );
    let third: Vec<Item> = governor.call(request("a3")).collect().await;
    let held = Held::Paused {
        left: ms(2000),
        cause: "slow down".into(),
    };
    assert_eq!(third[0], Ok(Delta::Held(held)));
    assert_eq!(third[1], Ok(Delta::Held(Held::Released)));
}
