//! The request broker: files requests, hands them to their approvers, and wakes the agents that wait for a decision.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tokio::sync::oneshot;

use super::undecided::Waiter;
use super::{Shared, lock};
use crate::agent::driver::blocking;
use crate::domain::ids::{LetterId, Name, RequestId};
use crate::domain::mail::{Letter, LetterKind};
use crate::domain::request::{
    Asking, Decider, Decision, Request, RequestKind, RequestStatus, Verdict,
};
use crate::domain::stamp::Stamp;
use crate::domain::team::Activity;
use crate::protocol::event::{EventKind, Level};
use crate::store::{Requests, StoreError};

/// The broker's state: known requests and the agents that wait for them.
#[derive(Default)]
pub struct Clerk {
    known: Mutex<HashMap<RequestId, RequestStatus>>,
    pub(super) waiting: Mutex<HashMap<RequestId, Waiter>>,
    /// Permissions given when no agent waited for them. Bounded by the requests of one earlier run.
    pub(super) granted: Mutex<Vec<Request>>,
    /// Requests for which the crew no longer waits after the last reminder. Bounded by the pending requests.
    pub(super) given_up: Mutex<Vec<RequestId>>,
    /// Locked while requests are read, so that changes are published once and in order. Holds whether the next read is
    /// the first one.
    reading: tokio::sync::Mutex<Reading>,
}

/// Which read of the requests is next.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// Decided requests were handled by an earlier crew.
    #[default]
    First,
    /// New requests are handled even if they are already decided, since another process may file and decide in one step.
    Later,
}

/// When a decision was made.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Heard {
    Now,
    /// Before this crew started.
    Before,
}

/// Whether a request is new or from an earlier run.
enum New {
    Yes,
    No,
}

impl Shared {
    /// Files a request and hands it to its approver. Does not wait for the decision.
    pub(super) async fn file_request(
        self: &Arc<Self>,
        from: &Name,
        asking: Asking,
    ) -> Result<Request, String> {
        let _chore = self.chore();
        let request = self.new_request(from, asking);
        self.put(request.clone()).await?;
        self.hand_over(&request).await;
        self.get_request(&request.id).await
    }

    /// Files a request and waits for its decision. Dropping the future withdraws it.
    pub(super) async fn ask_and_wait(
        self: &Arc<Self>,
        from: &Name,
        asking: Asking,
    ) -> Result<Request, String> {
        if let Some(granted) = self.take_granted(from, asking.kind, &asking.body) {
            return Ok(granted);
        }
        // The crew counts as busy until the approver has the request.
        let chore = self.chore();
        let (request, is_new) = match self.waits_already(from, asking.kind, &asking.body).await {
            Some(request) => (request, New::No),
            None => (self.new_request(from, asking), New::Yes),
        };
        let kind = request.kind;
        let (tell, told) = oneshot::channel();
        let waiter = Waiter {
            from: from.clone(),
            tell,
        };
        lock(&self.clerk.waiting).insert(request.id.clone(), waiter);
        let guard = Withdraw {
            shared: Arc::clone(self),
            id: request.id.clone(),
        };
        match is_new {
            New::Yes => {
                self.put(request.clone()).await?;
                self.hand_over(&request).await;
            }
            New::No => self.catch_up(&request.id).await,
        }
        if kind == RequestKind::Permission {
            self.approve_covered().await;
        }
        drop(chore);
        if request.decider == Decider::Ask {
            let activity = Activity::NeedsYou { request: kind };
            self.publish(EventKind::ActivityChanged {
                agent: from.clone(),
                activity,
            })
            .await;
        }
        let decided = told.await.map_err(|_| "the crew is stopping".to_string());
        drop(guard);
        decided
    }

    /// Wakes the waiting agent if the request was decided before the wait started.
    async fn catch_up(self: &Arc<Self>, id: &RequestId) {
        if let Ok(request) = self.get_request(id).await
            && !request.is_pending()
            && let Some(waiter) = lock(&self.clerk.waiting).remove(id)
        {
            let _ = waiter.tell.send(request);
        }
    }

    /// Decides a request and all identical pending ones.
    ///
    /// # Errors
    /// Why nothing changed.
    pub(super) async fn decide(self: &Arc<Self>, decision: Decision) -> Result<Request, String> {
        let (requests, now) = (self.requests.clone(), self.now());
        let decided = blocking(move || decide_with_like(&requests, &decision, now)).await;
        let request = decided.map_err(|e| e.to_string())?;
        self.read_requests().await;
        Ok(request)
    }

    /// Reads all requests and publishes those that have changed, whichever process changed them.
    pub(super) async fn read_requests(self: &Arc<Self>) {
        let mut turn = self.clerk.reading.lock().await;
        let requests = self.requests.clone();
        let reading = blocking(move || requests.read_all()).await;
        let Some(reading) = self.looked("The requests", reading).await else {
            return;
        };
        self.warn("The requests", reading.notices).await;
        let which = std::mem::replace(&mut *turn, Reading::Later);
        for request in reading.requests {
            let before = lock(&self.clerk.known).insert(request.id.clone(), request.status);
            if before == Some(request.status) {
                continue;
            }
            self.publish(EventKind::RequestChanged {
                request: request.clone(),
            })
            .await;
            if !request.is_pending() {
                let heard = if before.is_some() || which == Reading::Later {
                    Heard::Now
                } else {
                    Heard::Before
                };
                self.follow(request, heard).await;
            }
        }
        self.changed();
    }

    /// Whether any request is pending.
    pub(super) fn has_open_request(&self) -> bool {
        lock(&self.clerk.known)
            .values()
            .any(|s| *s == RequestStatus::Pending)
    }

    fn new_request(&self, from: &Name, asking: Asking) -> Request {
        let id = RequestId((self.new_id)());
        let task = self.graph().open_task_of(&asking.target).map(|t| t.id);
        let request = Request {
            task,
            choices: asking.choices,
            workdir: asking.workdir,
            call: asking.call,
            ..Request::new(
                id,
                asking.kind,
                from.clone(),
                asking.target,
                asking.body,
                self.now(),
            )
        };
        let decider = self.decider_of(&request);
        Request { decider, ..request }
    }

    /// Returns the approver of a request in this crew.
    pub(super) fn decider_of(&self, request: &Request) -> Decider {
        match self.deciders.of(request.kind) {
            // The lead cannot decide its own requests; they go to the approver of questions, the user.
            Decider::Lead if request.from.is_lead() => self.deciders.question,
            decider => decider,
        }
    }

    async fn put(self: &Arc<Self>, request: Request) -> Result<(), String> {
        let requests = self.requests.clone();
        blocking(move || requests.file(&request))
            .await
            .map_err(|e| e.to_string())?;
        self.read_requests().await;
        Ok(())
    }

    pub(super) async fn get_request(&self, id: &RequestId) -> Result<Request, String> {
        let (requests, wanted) = (self.requests.clone(), id.clone());
        let found = blocking(move || requests.get(&wanted))
            .await
            .map_err(|e| e.to_string())?;
        found.ok_or_else(|| format!("request {id} no longer exists"))
    }

    /// Hands a request to its approver: decides it by the settings, or sends the lead a message. The user sees every
    /// request on the screen.
    pub(super) async fn hand_over(self: &Arc<Self>, request: &Request) {
        let ruled =
            |verdict, comment: &str| Decision::on(request, verdict, Name::policy(), comment.into());
        let kind = request.kind;
        match request.decider {
            Decider::Ask => {}
            Decider::Lead => {
                let letter_kind = match kind {
                    RequestKind::Plan => LetterKind::PlanRequest,
                    RequestKind::Shutdown => LetterKind::ShutdownRequest,
                    RequestKind::Permission | RequestKind::Ceiling => LetterKind::PermissionRequest,
                    // Questions go to the user, so they have no message kind of their own.
                    RequestKind::Question => LetterKind::Message,
                };
                self.write(&request.from, &Name::lead(), letter_kind, request)
                    .await;
            }
            Decider::Auto | Decider::Deny if kind == RequestKind::Question => {
                let comment = "no user is present";
                self.rule(ruled(Verdict::Reject, comment)).await;
            }
            Decider::Auto => {
                let comment = "the settings approve every request of this kind";
                self.rule(ruled(Verdict::Approve, comment)).await;
            }
            Decider::Deny => {
                let comment = "the settings deny every request of this kind";
                self.rule(ruled(Verdict::Reject, comment)).await;
            }
        }
    }

    async fn rule(self: &Arc<Self>, decision: Decision) {
        if let Err(why) = self.decide(decision).await {
            self.notice(
                Level::Error,
                format!("A request could not be decided automatically: {why}"),
            )
            .await;
        }
    }

    /// Executes a decision, apart from waking the waiting agent.
    pub(super) async fn carry_out(self: &Arc<Self>, request: &Request) {
        match (request.kind, request.status) {
            (RequestKind::Plan, RequestStatus::Approved) => {
                if let Some(handle) = self.handle(&request.target) {
                    handle.desk.open_gate();
                    self.keep_plan(&request.target).await;
                }
            }
            (RequestKind::Shutdown, RequestStatus::Approved) => {
                self.write(
                    &request.from,
                    &request.target,
                    LetterKind::ShutdownRequest,
                    request,
                )
                .await;
                self.watch_parting(request.target.clone());
                self.pass_comment_on(request).await;
            }
            (RequestKind::Shutdown, RequestStatus::Rejected) if !request.from.is_user() => {
                self.write(
                    &request.target,
                    &request.from,
                    LetterKind::ShutdownResponse,
                    request,
                )
                .await;
            }
            (
                RequestKind::Plan
                | RequestKind::Shutdown
                | RequestKind::Permission
                | RequestKind::Ceiling
                | RequestKind::Question,
                RequestStatus::Pending
                | RequestStatus::Approved
                | RequestStatus::Rejected
                | RequestStatus::Withdrawn,
            ) => {}
        }
    }

    /// Sends the approver's comment on an approved shutdown to the agent that asked for it. The answer itself comes later
    /// from the agent that shuts down.
    async fn pass_comment_on(self: &Arc<Self>, request: &Request) {
        let Ok(decider) = Name::party(&request.decided_by) else {
            return;
        };
        if !said(request).is_empty() && !request.from.is_user() && !decider.same(&request.from) {
            self.write(&decider, &request.from, LetterKind::Message, request)
                .await;
        }
    }

    /// Sends a message about a request.
    async fn write(self: &Arc<Self>, from: &Name, to: &Name, kind: LetterKind, request: &Request) {
        let text = match (&kind, request.status) {
            (LetterKind::ShutdownRequest, RequestStatus::Approved) => {
                let please = "Please shut down: finish your current task, then end your turn.";
                match said(request) {
                    "" => please.to_string(),
                    said => format!("{please} {} says: {said}", request.decided_by),
                }
            }
            (LetterKind::Message, RequestStatus::Approved) => {
                format!("{} may shut down. {}", request.target, request.comment)
            }
            (LetterKind::ShutdownResponse, RequestStatus::Rejected) => format!(
                "{} did not allow {} to shut down.{}",
                request.decided_by,
                request.target,
                if request.comment.is_empty() {
                    String::new()
                } else {
                    format!(" {}", request.comment)
                }
            ),
            _ => request.body.clone(),
        };
        self.write_letter(from, to, kind, request, &text).await;
    }

    /// Sends a message with the id and the decision of a request.
    pub(super) async fn write_letter(
        self: &Arc<Self>,
        from: &Name,
        to: &Name,
        kind: LetterKind,
        request: &Request,
        text: &str,
    ) {
        let mut letter = Letter::new(LetterId((self.new_id)()), kind, from, to, text, self.now());
        letter
            .extra
            .insert("request_id".into(), request.id.to_string().into());
        if !request.is_pending() {
            let approve = request.status == RequestStatus::Approved;
            letter.extra.insert("approve".into(), approve.into());
        }
        let post = self.post.clone();
        if let Err(error) = blocking(move || post.send_once(&letter)).await {
            self.notice(
                Level::Error,
                format!("A message to {to} could not be sent: {error}"),
            )
            .await;
        }
    }
}

/// Decides a request on disk and all identical pending ones.
pub(super) fn decide_with_like(
    requests: &Requests,
    decision: &Decision,
    now: Stamp,
) -> Result<Request, StoreError> {
    let decided = requests.decide(decision, now)?;
    for same in requests.read_all()?.requests {
        if same.is_pending() && same.is_like(&decided) {
            let decision = Decision {
                id: same.id,
                target: same.target,
                ..decision.clone()
            };
            // Fails for requests that were decided in the meantime or that the approver filed itself; they are left alone.
            let _ = requests.decide(&decision, now);
        }
    }
    Ok(decided)
}

/// Returns the approver's comment. Empty for automatic decisions.
fn said(request: &Request) -> &str {
    if request.decided_by == Name::policy().as_str() {
        ""
    } else {
        &request.comment
    }
}

/// Withdraws a request when its agent stops waiting.
struct Withdraw {
    shared: Arc<Shared>,
    id: RequestId,
}

impl Drop for Withdraw {
    fn drop(&mut self) {
        // A decided request has no waiter any more, so there is nothing to withdraw.
        if lock(&self.shared.clerk.waiting).remove(&self.id).is_none() {
            return;
        }
        if self.shared.stop.is_cancelled() && self.shared.is_given_up(&self.id) {
            // The request is kept for the next run.
            return;
        }
        let (shared, id) = (Arc::clone(&self.shared), self.id.clone());
        let work = async move {
            let (requests, now) = (shared.requests.clone(), shared.now());
            let withdrawn =
                blocking(move || requests.withdraw(&id, "the agent was interrupted", now)).await;
            if let Err(error) = withdrawn {
                shared
                    .notice(
                        Level::Warn,
                        format!("A request could not be withdrawn: {error}"),
                    )
                    .await;
            }
            shared.read_requests().await;
        };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(self.shared.tracker.track_future(work));
        }
    }
}
