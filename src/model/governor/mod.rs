//! One governor for the whole team: a cap on calls in flight, and one back-off that all share.
//!
//! It stands between the agents and their model and is a model itself. A call takes its place in line when
//! it is asked for and gives it back when its stream ends or is dropped. What it waits for it says in its
//! stream ([`Held`]), so whoever reads the stream can show it. `line.rs` has the rules.
//!
//! A call that the server refuses returns the wait that all share as its error's own
//! ([`ModelError::wait`]): an agent that counts its tries waits as long as the others.

mod line;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::BoxStream;
use futures::{StreamExt, stream};
use tokio::sync::watch;
use tokio::time::Instant;

use super::{Delta, Held, Model, ModelError, ModelRequest, Window};
use line::{Line, Number, Sight};

/// Calls in flight where the settings say nothing.
pub const CALLS_MAX: usize = 4;

/// A model whose calls keep to one line.
pub struct Governor {
    model: Arc<dyn Model>,
    room: Arc<Room>,
}

/// Where the calls wait.
struct Room {
    line: Mutex<Line>,
    /// Touched whenever a call moved: those that wait look again.
    moved: watch::Sender<()>,
    /// What the line's times count from.
    start: Instant,
    jitter: fn() -> f64,
}

impl Governor {
    /// Holds the calls of `model` to `max` at a time. `jitter` gives random numbers in 0..1.
    pub fn new(model: Arc<dyn Model>, max: usize, jitter: fn() -> f64) -> Governor {
        Governor {
            model,
            room: Arc::new(Room {
                line: Mutex::new(Line::new(max)),
                moved: watch::Sender::new(()),
                start: Instant::now(),
                jitter,
            }),
        }
    }
}

impl Model for Governor {
    fn call(&self, request: ModelRequest) -> BoxStream<'static, Result<Delta, ModelError>> {
        let ticket = Ticket {
            number: self.room.line().join(),
            room: Arc::clone(&self.room),
        };
        let waiting = Waiting {
            moved: self.room.moved.subscribe(),
            model: Arc::clone(&self.model),
            request,
            ticket,
            told: None,
        };
        stream::unfold(Stage::Waiting(Box::new(waiting)), Stage::next).boxed()
    }

    fn list(&self) -> BoxFuture<'static, Result<Vec<String>, ModelError>> {
        self.model.list()
    }

    fn listed_window(&self, name: &str) -> Option<Window> {
        self.model.listed_window(name)
    }
}

impl Room {
    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Duration {
        self.start.elapsed()
    }
}

/// A place in line or in flight; dropping it gives it back.
struct Ticket {
    room: Arc<Room>,
    number: Number,
}

impl Ticket {
    fn look(&self) -> Sight {
        let sight = self.room.line().look(self.number, self.room.now());
        if sight == Sight::Begin {
            self.room.moved.send_replace(());
        }
        sight
    }

    fn answered(&self) {
        self.room.line().answered(self.number);
        self.room.moved.send_replace(());
    }

    fn failed(&self, error: &mut ModelError) {
        let jitter = (self.room.jitter)();
        let now = self.room.now();
        {
            let mut line = self.room.line();
            error.server = line.server();
            let shared = line.failed(self.number, error, now, jitter);
            if shared.is_some() {
                error.wait = shared;
            }
        }
        self.room.moved.send_replace(());
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.room.line().leave(self.number, self.room.now());
        self.room.moved.send_replace(());
    }
}

/// Where a call stands.
enum Stage {
    Waiting(Box<Waiting>),
    /// In flight, and nothing has come yet.
    Begun(Ticket, BoxStream<'static, Result<Delta, ModelError>>),
    Answering(Ticket, BoxStream<'static, Result<Delta, ModelError>>),
    Over,
}

struct Waiting {
    ticket: Ticket,
    model: Arc<dyn Model>,
    request: ModelRequest,
    moved: watch::Receiver<()>,
    /// What was said last of what it waits for.
    told: Option<Sight>,
}

type Item = Result<Delta, ModelError>;

impl Stage {
    async fn next(self) -> Option<(Item, Stage)> {
        match self {
            Stage::Waiting(waiting) => {
                let (held, stage) = waiting.wait().await;
                match held {
                    Some(held) => Some((Ok(Delta::Held(held)), stage)),
                    None => stage.hear().await,
                }
            }
            Stage::Begun(..) | Stage::Answering(..) | Stage::Over => self.hear().await,
        }
    }

    /// The next word of the model.
    async fn hear(self) -> Option<(Item, Stage)> {
        let (ticket, mut stream, is_first) = match self {
            Stage::Begun(ticket, stream) => (ticket, stream, true),
            Stage::Answering(ticket, stream) => (ticket, stream, false),
            Stage::Waiting(_) | Stage::Over => return None,
        };
        match stream.next().await? {
            Ok(delta) => {
                if is_first {
                    ticket.answered();
                }
                let stage = match delta {
                    Delta::Done(_) => Stage::Over,
                    Delta::Held(_) | Delta::Text(_) | Delta::Thinking(_) | Delta::ToolCall(_) => {
                        Stage::Answering(ticket, stream)
                    }
                };
                Some((Ok(delta), stage))
            }
            Err(mut error) => {
                ticket.failed(&mut error);
                Some((Err(error), Stage::Over))
            }
        }
    }
}

impl Waiting {
    /// Waits until there is something new to say of the wait, or until the call has begun.
    async fn wait(mut self: Box<Self>) -> (Option<Held>, Stage) {
        loop {
            self.moved.mark_unchanged();
            let sight = self.ticket.look();
            let due = match &sight {
                Sight::Begin => {
                    let stream = self.model.call(self.request);
                    let released = self.told.map(|_| Held::Released);
                    return (released, Stage::Begun(self.ticket, stream));
                }
                Sight::Queued { .. } => None,
                Sight::Paused { until, .. } => Some(self.ticket.room.start + *until),
            };
            if self.told.as_ref() != Some(&sight) {
                let held = self.held(&sight);
                self.told = Some(sight);
                return (held, Stage::Waiting(self));
            }
            let over = async {
                match due {
                    Some(at) => tokio::time::sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                // The sender lives as long as the ticket: this can not fail.
                _ = self.moved.changed() => {}
                () = over => {}
            }
        }
    }

    fn held(&self, sight: &Sight) -> Option<Held> {
        match sight {
            Sight::Begin => None,
            Sight::Queued { place } => Some(Held::Queued { place: *place }),
            Sight::Paused { until, cause } => Some(Held::Paused {
                left: until.saturating_sub(self.ticket.room.now()),
                cause: cause.clone(),
            }),
        }
    }
}

#[cfg(test)]
mod property_tests;
#[cfg(test)]
mod tests;
