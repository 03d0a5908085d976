//! The governor under every order of answers, failures and announced waits: nobody begins too early, and after
//! a refusal one goes first.

use futures::FutureExt;
use proptest::prelude::*;
use tokio::task::JoinSet;

use super::*;
use crate::domain::ids::Name;
use crate::domain::usage::Usage;
use crate::model::{Fault, Reply, StopReason, retry};

/// How a played call goes: after how many ms, and what then.
#[derive(Debug, Clone)]
struct Play {
    after: u64,
    /// `None`: an answer, whose end comes as much later.
    fails: Option<(Fault, Option<u64>)>,
    /// Whether words come before it fails.
    words: bool,
}

/// What happened, in order.
#[derive(Debug, Clone, PartialEq)]
enum Fact {
    Began(usize),
    Answered(usize),
    /// With what the server asked for.
    Failed(usize, Fault, Duration),
    Over(usize),
}

/// A model that plays its calls in order, then answers for ever, and writes down what happens.
struct Played {
    plays: Vec<Play>,
    facts: Arc<Mutex<Vec<(Duration, Fact)>>>,
    calls: Mutex<usize>,
    start: Instant,
}

/// One call; when it is dropped it is over.
struct Flying {
    number: usize,
    facts: Arc<Mutex<Vec<(Duration, Fact)>>>,
    start: Instant,
}

impl Flying {
    fn note(&self, fact: Fact) {
        let at = self.start.elapsed();
        self.facts.lock().unwrap().push((at, fact));
    }
}

impl Drop for Flying {
    fn drop(&mut self) {
        self.note(Fact::Over(self.number));
    }
}

impl Model for Played {
    fn call(&self, _: ModelRequest) -> BoxStream<'static, Item> {
        let mut calls = self.calls.lock().unwrap();
        let number = *calls;
        *calls += 1;
        let play = self.plays.get(number).cloned().unwrap_or(Play {
            after: 10,
            fails: None,
            words: true,
        });
        let flying = Flying {
            number,
            facts: Arc::clone(&self.facts),
            start: self.start,
        };
        flying.note(Fact::Began(number));
        let after = Duration::from_millis(play.after);
        stream::unfold(
            (flying, play, 0),
            move |(flying, mut play, step)| async move {
                if step == 2 {
                    return None;
                }
                tokio::time::sleep(after).await;
                if step == 0 && (play.words || play.fails.is_none()) {
                    flying.note(Fact::Answered(flying.number));
                    play.words = false;
                    return Some((Ok(Delta::Text("well".into())), (flying, play, 1)));
                }
                let item = match play.fails {
                    None => Ok(Delta::Done(Reply {
                        blocks: Vec::new(),
                        stop: StopReason::EndTurn,
                        usage: Usage::default(),
                    })),
                    Some((fault, asked)) => {
                        let asked = asked.map(Duration::from_millis);
                        let wait = asked.unwrap_or_default();
                        flying.note(Fact::Failed(flying.number, fault, wait));
                        Err(ModelError {
                            wait: asked,
                            ..ModelError::new(fault, "slow down", "")
                        })
                    }
                };
                Some((item, (flying, play, 2)))
            },
        )
        .boxed()
    }

    fn list(&self) -> BoxFuture<'static, Result<Vec<String>, ModelError>> {
        async { Ok(Vec::new()) }.boxed()
    }
}

fn plays() -> impl Strategy<Value = Vec<Play>> {
    let fault = prop::sample::select(vec![
        Fault::RateLimited,
        Fault::RateLimited,
        Fault::Server,
        Fault::Cut,
        Fault::Timeout,
        Fault::Unreachable,
        Fault::BadRequest,
    ]);
    let asked = prop::option::of(prop_oneof![Just(0), 1..5000u64]);
    let fails = prop::option::weighted(0.7, (fault, asked));
    let play = (0..300u64, fails, any::<bool>());
    let play = play.prop_map(|(after, fails, words)| Play {
        after,
        fails,
        words,
    });
    prop::collection::vec(play, 0..24)
}

/// Calls until it is answered, as an agent does. What waits must be told at once comes back where it was not.
async fn insist(governor: Arc<Governor>, start: Instant) -> Result<(), String> {
    loop {
        let asked = start.elapsed();
        let mut stream = governor.call(ModelRequest {
            agent: Name::lead(),
            model: "played".into(),
            system: String::new(),
            messages: Arc::default(),
            tools: Arc::default(),
            max_tokens: 1,
        });
        let mut told: Option<Duration> = None;
        let failed = loop {
            match stream.next().await {
                Some(Ok(Delta::Held(held))) => {
                    let now = start.elapsed();
                    let first = *told.get_or_insert(now);
                    if first != asked {
                        return Err(format!("asked at {asked:?}, told at {first:?}: {held:?}"));
                    }
                    if let Held::Paused { left, cause } = &held
                        && (left.is_zero() || cause != "slow down")
                    {
                        return Err(format!("told without until or cause: {held:?}"));
                    }
                }
                Some(Ok(Delta::Done(_))) => return Ok(()),
                Some(Ok(Delta::Text(_) | Delta::Thinking(_) | Delta::ToolCall(_))) => {}
                Some(Err(error)) => break error,
                None => return Err("a stream without an end".into()),
            }
        };
        drop(stream);
        if retry::concerns_all(&failed) && failed.wait.is_none_or(|w| w.is_zero()) {
            return Err(format!("refused without a wait: {failed:?}"));
        }
        tokio::time::sleep(failed.wait.unwrap_or(Duration::from_millis(500))).await;
    }
}

/// Whether calls may begin, told anew from the facts alone.
enum Gate {
    Open,
    Shut,
    Probing(usize),
}

/// What the facts have against the governor.
fn broken(facts: &[(Duration, Fact)], max: usize) -> Result<(), String> {
    let (mut gate, mut until, mut flying) = (Gate::Open, Duration::ZERO, 0);
    let mut known = false;
    for (at, fact) in facts {
        match fact {
            Fact::Began(number) => {
                flying += 1;
                if flying > max {
                    return Err(format!("{flying} in flight at {at:?}"));
                }
                if *at < until {
                    return Err(format!("call {number} at {at:?}, announced was {until:?}"));
                }
                match gate {
                    Gate::Open => {}
                    Gate::Shut => gate = Gate::Probing(*number),
                    Gate::Probing(first) => {
                        return Err(format!("call {number} at {at:?} besides {first}"));
                    }
                }
            }
            Fact::Answered(number) => {
                known = true;
                if matches!(gate, Gate::Probing(first) if first == *number) {
                    gate = Gate::Open;
                }
            }
            Fact::Failed(number, fault, asked) => {
                let is_probe = matches!(gate, Gate::Probing(first) if first == *number);
                match fault {
                    Fault::RateLimited | Fault::Server => {
                        (gate, until) = (Gate::Shut, until.max(*at + *asked));
                    }
                    Fault::Unreachable if known => {
                        (gate, until) = (Gate::Shut, until.max(*at + *asked));
                    }
                    Fault::BadRequest if is_probe => gate = Gate::Open,
                    _ if is_probe => gate = Gate::Shut,
                    _ => {}
                }
            }
            Fact::Over(number) => {
                flying -= 1;
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
    fn nobody_begins_before_the_announced_time_and_then_one_goes_first(
        plays in plays(),
        max in 1..5usize,
        agents in 1..9usize,
        jitter in prop::sample::select(vec![(|| 0.0) as fn() -> f64, || 0.5, || 1.0]),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        let (told, facts) = runtime.block_on(async {
            let start = Instant::now();
            let facts: Arc<Mutex<Vec<(Duration, Fact)>>> = Arc::default();
            let played = Played {
                plays,
                facts: Arc::clone(&facts),
                calls: Mutex::default(),
                start,
            };
            let governor = Arc::new(Governor::new(Arc::new(played), max, jitter));
            let mut set = JoinSet::new();
            for _ in 0..agents {
                set.spawn(insist(Arc::clone(&governor), start));
            }
            let told: Result<Vec<()>, String> = set.join_all().await.into_iter().collect();
            let facts = facts.lock().unwrap().clone();
            (told, facts)
        });
        prop_assert!(told.is_ok(), "{told:?}\n{facts:#?}");
        let judged = broken(&facts, max);
        prop_assert!(judged.is_ok(), "{judged:?}\n{facts:#?}");
    }
}
