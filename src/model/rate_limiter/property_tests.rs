//! Property test of the rate limiter with random sequences of answers, failures and requested waits.
//!
//! No call may start during a back-off. After a failure that affects all calls to the server, a single call goes first.

use futures::FutureExt;
use proptest::prelude::*;
use tokio::task::JoinSet;

use super::*;
use crate::domain::ids::Name;
use crate::domain::usage::Usage;
use crate::model::{ErrorKind, ImageInput, Reply, StopReason, retry};

/// How one call to the fake model proceeds.
#[derive(Debug, Clone)]
struct Behavior {
    /// The time before each item of the stream, in milliseconds.
    delay: u64,
    /// The kind of failure, and the wait in milliseconds that the server asks for; `None` if the call succeeds.
    failure: Option<(ErrorKind, Option<u64>)>,
    /// Whether text arrives before the failure.
    sends_text: bool,
}

/// What happened to a call. The first field of each variant is the number of the call.
#[derive(Debug, Clone, PartialEq)]
enum CallEvent {
    Started(usize),
    Answered(usize),
    /// The call, the kind of failure, and the wait that the server asked for.
    Failed(usize, ErrorKind, Duration),
    Ended(usize),
}

/// A fake model whose calls follow a list of behaviors and then always succeed. Records all events.
struct FakeModel {
    behaviors: Vec<Behavior>,
    events: Arc<Mutex<Vec<(Duration, CallEvent)>>>,
    calls: Mutex<usize>,
    start: Instant,
}

/// A running call. Dropping it records that the call has ended.
struct RunningCall {
    number: usize,
    events: Arc<Mutex<Vec<(Duration, CallEvent)>>>,
    start: Instant,
}

impl RunningCall {
    fn record(&self, event: CallEvent) {
        let at = self.start.elapsed();
        self.events.lock().unwrap().push((at, event));
    }
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        self.record(CallEvent::Ended(self.number));
    }
}

impl Model for FakeModel {
    fn call(&self, _: ModelRequest) -> BoxStream<'static, Item> {
        let mut calls = self.calls.lock().unwrap();
        let number = *calls;
        *calls += 1;
        let behavior = self.behaviors.get(number).cloned().unwrap_or(Behavior {
            delay: 10,
            failure: None,
            sends_text: true,
        });
        let running = RunningCall {
            number,
            events: Arc::clone(&self.events),
            start: self.start,
        };
        running.record(CallEvent::Started(number));
        let delay = Duration::from_millis(behavior.delay);
        stream::unfold(
            (running, behavior, 0),
            move |(running, mut behavior, step)| async move {
                if step == 2 {
                    return None;
                }
                tokio::time::sleep(delay).await;
                if step == 0 && (behavior.sends_text || behavior.failure.is_none()) {
                    running.record(CallEvent::Answered(running.number));
                    behavior.sends_text = false;
                    return Some((Ok(Delta::Text("well".into())), (running, behavior, 1)));
                }
                let item = match behavior.failure {
                    None => Ok(Delta::Done(Reply {
                        blocks: Vec::new(),
                        stop: StopReason::EndTurn,
                        usage: Usage::default(),
                    })),
                    Some((fault, asked)) => {
                        let asked = asked.map(Duration::from_millis);
                        let wait = asked.unwrap_or_default();
                        running.record(CallEvent::Failed(running.number, fault, wait));
                        Err(ModelError {
                            wait: asked,
                            ..ModelError::new(fault, "slow down", "")
                        })
                    }
                };
                Some((item, (running, behavior, 2)))
            },
        )
        .boxed()
    }

    fn list(&self) -> BoxFuture<'static, Result<Vec<String>, ModelError>> {
        async { Ok(Vec::new()) }.boxed()
    }

    fn is_remote(&self) -> bool {
        false
    }
}

fn behaviors() -> impl Strategy<Value = Vec<Behavior>> {
    let fault = prop::sample::select(vec![
        ErrorKind::RateLimited,
        ErrorKind::RateLimited,
        ErrorKind::Server,
        ErrorKind::Truncated,
        ErrorKind::Timeout,
        ErrorKind::Unreachable,
        ErrorKind::BadRequest,
    ]);
    let asked = prop::option::of(prop_oneof![Just(0), 1..5000u64]);
    let failure = prop::option::weighted(0.7, (fault, asked));
    let behavior = (0..300u64, failure, any::<bool>());
    let behavior = behavior.prop_map(|(delay, failure, sends_text)| Behavior {
        delay,
        failure,
        sends_text,
    });
    prop::collection::vec(behavior, 0..24)
}

/// Repeats a call until it succeeds, as an agent does. Fails unless each wait is reported immediately and with its
/// cause.
async fn call_until_done(rate_limiter: Arc<RateLimiter>, start: Instant) -> Result<(), String> {
    loop {
        let asked = start.elapsed();
        let mut stream = rate_limiter.call(ModelRequest {
            agent: Name::lead(),
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
        });
        let mut reported: Option<Duration> = None;
        let failed = loop {
            match stream.next().await {
                Some(Ok(Delta::Waiting(held))) => {
                    let now = start.elapsed();
                    let first = *reported.get_or_insert(now);
                    if first != asked {
                        return Err(format!(
                            "called at {asked:?}, wait reported at {first:?}: {held:?}"
                        ));
                    }
                    if let CallWait::Paused { left, cause } = &held
                        && (left.is_zero() || cause != "slow down")
                    {
                        return Err(format!("reported without wait or cause: {held:?}"));
                    }
                }
                Some(Ok(Delta::Done(_))) => return Ok(()),
                Some(Ok(_)) => {}
                Some(Err(error)) => break error,
                None => return Err("the stream ended without a reply".into()),
            }
        };
        drop(stream);
        if retry::is_server_wide(&failed) && failed.wait.is_none_or(|w| w.is_zero()) {
            return Err(format!("server-wide failure without a wait: {failed:?}"));
        }
        tokio::time::sleep(failed.wait.unwrap_or(Duration::from_millis(500))).await;
    }
}

/// Whether calls may start. The test computes this from the events alone and compares it with what the rate limiter does.
enum Gate {
    Open,
    Shut,
    Probing(usize),
}

/// Checks that the events obey the rules of the rate limiter; fails with a description of the first violation.
fn check_events(events: &[(Duration, CallEvent)], max: usize) -> Result<(), String> {
    let (mut gate, mut until, mut running) = (Gate::Open, Duration::ZERO, 0);
    let mut known = false;
    for (at, event) in events {
        match event {
            CallEvent::Started(number) => {
                running += 1;
                if running > max {
                    return Err(format!("{running} calls running at {at:?}"));
                }
                if *at < until {
                    return Err(format!(
                        "call {number} started at {at:?}, back-off ends at {until:?}"
                    ));
                }
                match gate {
                    Gate::Open => {}
                    Gate::Shut => gate = Gate::Probing(*number),
                    Gate::Probing(first) => {
                        return Err(format!(
                            "call {number} started at {at:?} while probe {first} was running"
                        ));
                    }
                }
            }
            CallEvent::Answered(number) => {
                known = true;
                if matches!(gate, Gate::Probing(first) if first == *number) {
                    gate = Gate::Open;
                }
            }
            CallEvent::Failed(number, fault, asked) => {
                let is_probe = matches!(gate, Gate::Probing(first) if first == *number);
                match fault {
                    ErrorKind::RateLimited | ErrorKind::Server => {
                        (gate, until) = (Gate::Shut, until.max(*at + *asked));
                    }
                    ErrorKind::Unreachable if known => {
                        (gate, until) = (Gate::Shut, until.max(*at + *asked));
                    }
                    ErrorKind::BadRequest if is_probe => gate = Gate::Open,
                    _ if is_probe => gate = Gate::Shut,
                    _ => {}
                }
            }
            CallEvent::Ended(number) => {
                running -= 1;
                if matches!(gate, Gate::Probing(first) if first == *number) {
                    gate = Gate::Shut;
                }
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_call_starts_early_and_one_probe_goes_first(
        behaviors in behaviors(),
        max in 1..5usize,
        agents in 1..9usize,
        jitter in prop::sample::select(vec![(|| 0.0) as fn() -> f64, || 0.5, || 1.0]),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        let (reported, events) = runtime.block_on(async {
            let start = Instant::now();
            let events: Arc<Mutex<Vec<(Duration, CallEvent)>>> = Arc::default();
            let fake = FakeModel {
                behaviors,
                events: Arc::clone(&events),
                calls: Mutex::default(),
                start,
            };
            let rate_limiter = Arc::new(RateLimiter::new(Arc::new(fake), max, jitter));
            let mut set = JoinSet::new();
            for _ in 0..agents {
                set.spawn(call_until_done(Arc::clone(&rate_limiter), start));
            }
            let reported: Result<Vec<()>, String> = set.join_all().await.into_iter().collect();
            let events = events.lock().unwrap().clone();
            (reported, events)
        });
        prop_assert!(reported.is_ok(), "{reported:?}\n{events:#?}");
        let checked = check_events(&events, max);
        prop_assert!(checked.is_ok(), "{checked:?}\n{events:#?}");
    }
}
