//! The rate limiter of a model server: limits concurrent model calls of all agents and applies one shared back-off.
//!
//! The rate limiter wraps a model and is a model itself. A call is queued when it is made, and frees its slot when its
//! stream ends or is dropped. While a call waits, its stream reports the reason ([`CallWait`]), so that the UI can show
//! it. The rules are in `call_queue.rs`.
//!
//! If a call fails for a reason that affects all calls to the server, [`ModelError::wait`] is set to the shared
//! back-off, so that the agent does not retry before the back-off ends.

mod call_queue;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::BoxStream;
use futures::{StreamExt, stream};
use tokio::sync::watch;
use tokio::time::Instant;

use super::{CallWait, ContextWindow, Delta, Model, ModelError, ModelRequest};
use call_queue::{Admission, CallNumber, CallQueue};

/// Wraps a model and sends all its calls through one queue, which several models of one server can share.
pub struct RateLimiter {
    model: Arc<dyn Model>,
    shared: Arc<RateLimiterState>,
}

struct RateLimiterState {
    queue: Mutex<CallQueue>,
    /// Notified whenever the queue changes. Each waiting call then checks whether it may start.
    changed: watch::Sender<()>,
    /// The point in time from which the times in `queue` are counted.
    start: Instant,
    jitter: fn() -> f64,
}

impl RateLimiter {
    /// Creates a rate limiter that allows at most `max` concurrent calls to `model`; 0 counts as 1. `jitter` returns
    /// random numbers in 0..1, which vary the length of a back-off.
    pub fn new(model: Arc<dyn Model>, max: usize, jitter: fn() -> f64) -> RateLimiter {
        RateLimiter {
            model,
            shared: Arc::new(RateLimiterState {
                queue: Mutex::new(CallQueue::new(max)),
                changed: watch::Sender::new(()),
                start: Instant::now(),
                jitter,
            }),
        }
    }

    /// Creates a rate limiter for `model` that sends its calls through the queue of `self`. Used for another client of
    /// the same server with the same API key.
    #[must_use]
    pub fn share_with(&self, model: Arc<dyn Model>) -> RateLimiter {
        RateLimiter {
            model,
            shared: Arc::clone(&self.shared),
        }
    }
}

impl Model for RateLimiter {
    fn call(&self, request: ModelRequest) -> BoxStream<'static, Result<Delta, ModelError>> {
        let ticket = Ticket {
            number: self.shared.queue().enqueue(),
            shared: Arc::clone(&self.shared),
        };
        let waiting = Waiting {
            changed: self.shared.changed.subscribe(),
            model: Arc::clone(&self.model),
            request,
            ticket,
            reported: None,
        };
        stream::unfold(CallStage::Waiting(Box::new(waiting)), CallStage::next).boxed()
    }

    fn list(&self) -> BoxFuture<'static, Result<Vec<String>, ModelError>> {
        self.model.list()
    }

    fn listed_window(&self, name: &str) -> Option<ContextWindow> {
        self.model.listed_window(name)
    }

    fn is_remote(&self) -> bool {
        self.model.is_remote()
    }
}

impl RateLimiterState {
    fn queue(&self) -> MutexGuard<'_, CallQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Duration {
        self.start.elapsed()
    }
}

/// The entry of a call in the [`CallQueue`]. Dropping the ticket removes the call and lets the next one start.
struct Ticket {
    shared: Arc<RateLimiterState>,
    number: CallNumber,
}

impl Ticket {
    fn try_start(&self) -> Admission {
        let admission = self
            .shared
            .queue()
            .try_start(self.number, self.shared.now());
        if admission == Admission::Start {
            self.shared.changed.send_replace(());
        }
        admission
    }

    fn record_success(&self) {
        self.shared.queue().record_success(self.number);
        self.shared.changed.send_replace(());
    }

    /// Records that the call has failed. Stores in `error` whether the server has ever answered. If the failure affects
    /// all calls to the server, also stores the remaining time of the shared back-off.
    fn record_failure(&self, error: &mut ModelError) {
        let jitter = (self.shared.jitter)();
        let now = self.shared.now();
        {
            let mut queue = self.shared.queue();
            error.server_has_answered = queue.server_has_answered();
            let wait = queue.record_failure(self.number, error, now, jitter);
            if wait.is_some() {
                error.wait = wait;
            }
        }
        self.shared.changed.send_replace(());
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.shared.queue().remove(self.number, self.shared.now());
        self.shared.changed.send_replace(());
    }
}

enum CallStage {
    Waiting(Box<Waiting>),
    /// The call has started, and no data has been received yet.
    Started(Ticket, BoxStream<'static, Result<Delta, ModelError>>),
    Streaming(Ticket, BoxStream<'static, Result<Delta, ModelError>>),
    Ended,
}

struct Waiting {
    ticket: Ticket,
    model: Arc<dyn Model>,
    request: ModelRequest,
    changed: watch::Receiver<()>,
    /// The last admission that was reported to the agent; `None` before the first one. An equal admission is not
    /// reported again.
    reported: Option<Admission>,
}

type Item = Result<Delta, ModelError>;

impl CallStage {
    async fn next(self) -> Option<(Item, CallStage)> {
        match self {
            CallStage::Waiting(waiting) => {
                let (held, stage) = waiting.wait().await;
                match held {
                    Some(held) => Some((Ok(Delta::Waiting(held)), stage)),
                    None => stage.next_delta().await,
                }
            }
            CallStage::Started(..) | CallStage::Streaming(..) | CallStage::Ended => {
                self.next_delta().await
            }
        }
    }

    /// Returns the next delta or error of a started call, with the next stage; `None` if the call waits, has ended, or
    /// its stream ends. Records the first delta as the success of the call, and an error as its failure.
    async fn next_delta(self) -> Option<(Item, CallStage)> {
        let (ticket, mut stream, is_first) = match self {
            CallStage::Started(ticket, stream) => (ticket, stream, true),
            CallStage::Streaming(ticket, stream) => (ticket, stream, false),
            CallStage::Waiting(_) | CallStage::Ended => return None,
        };
        match stream.next().await? {
            Ok(delta) => {
                if is_first {
                    ticket.record_success();
                }
                let stage = match delta {
                    Delta::Done(_) => CallStage::Ended,
                    Delta::Waiting(_)
                    | Delta::Text(_)
                    | Delta::Part(_)
                    | Delta::External(_)
                    | Delta::Thinking(_)
                    | Delta::ToolCall(_) => CallStage::Streaming(ticket, stream),
                };
                Some((Ok(delta), stage))
            }
            Err(mut error) => {
                ticket.record_failure(&mut error);
                Some((Err(error), CallStage::Ended))
            }
        }
    }
}

impl Waiting {
    /// Waits until the call starts or the reason for waiting changes. Returns what to report to the agent and the next
    /// stage. A call that starts without having waited reports nothing.
    async fn wait(mut self: Box<Self>) -> (Option<CallWait>, CallStage) {
        loop {
            self.changed.mark_unchanged();
            let admission = self.ticket.try_start();
            let due = match &admission {
                Admission::Start => {
                    let stream = self.model.call(self.request);
                    let released = self.reported.map(|_| CallWait::Released);
                    return (released, CallStage::Started(self.ticket, stream));
                }
                Admission::Queued { .. } => None,
                Admission::Paused { until, .. } => Some(self.ticket.shared.start + *until),
            };
            if self.reported.as_ref() != Some(&admission) {
                let held = self.call_wait(&admission);
                self.reported = Some(admission);
                return (held, CallStage::Waiting(self));
            }
            let pause_end = async {
                match due {
                    Some(at) => tokio::time::sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                // Waiting for a change cannot fail, because the ticket keeps the sender alive.
                _ = self.changed.changed() => {}
                () = pause_end => {}
            }
        }
    }

    fn call_wait(&self, admission: &Admission) -> Option<CallWait> {
        match admission {
            Admission::Start => None,
            Admission::Queued { place } => Some(CallWait::Queued { place: *place }),
            Admission::Paused { until, cause } => Some(CallWait::Paused {
                left: until.saturating_sub(self.ticket.shared.now()),
                cause: cause.clone(),
            }),
        }
    }
}

#[cfg(test)]
mod property_tests;
#[cfg(test)]
mod tests;
