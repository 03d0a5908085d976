//! The request broker: files requests, hands them to their approvers, and wakes the agents that wait for decisions.

mod ticket;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tokio::sync::oneshot;

use super::approvers::{Approvers, Route, route};
use super::board_view::BoardView;
use super::context::{CrewContext, lock};
use super::decision_followup::DecisionFollowup;
use super::file_errors::FileErrors;
use super::identical_requests::decide_with_like;
use super::message_delivery::MessageDelivery;
use super::registry::AgentRegistry;
use super::signals::CrewSignals;
use super::team::TeamRoster;
use crate::agent::driver::run_blocking;
use crate::domain::ids::{Name, RequestId};
use crate::domain::request::{Approver, Decision, NewRequest, Request, RequestKind, RequestStatus};
use crate::protocol::event::{EventKind, NoticeLevel, TeamEvent};
use crate::store::{Requests, StoreError};
use ticket::{PendingRequest, Withdraw};

pub use ticket::RequestTicket;

pub struct BrokerParts {
    pub context: Arc<CrewContext>,
    pub signals: Arc<CrewSignals>,
    pub errors: Arc<FileErrors>,
    pub registry: Arc<AgentRegistry>,
    pub delivery: Arc<MessageDelivery>,
    pub followup: Arc<DecisionFollowup>,
    pub board: Arc<BoardView>,
    pub team: Arc<TeamRoster>,
    pub requests: Requests,
    pub approvers: Approvers,
}

/// Files requests, hands them to their approvers, and wakes the agents that wait for decisions.
pub struct RequestBroker {
    parts: BrokerParts,
    known: Mutex<HashMap<RequestId, KnownRequest>>,
    waiting: Mutex<HashMap<RequestId, Waiter>>,
    /// Pending requests whose agent no longer waits for the decision. Maps the id of each request to the name of the
    /// agent that filed it.
    left_open: Mutex<HashMap<RequestId, Name>>,
    /// Requests that the lead did not decide after the last reminder. The crew counts as idle although these requests
    /// are pending.
    given_up: Mutex<Vec<RequestId>>,
    /// Locked while requests are read from disk, so that each change is published once and in order. The value is true
    /// after the first read.
    has_read: tokio::sync::Mutex<bool>,
}

/// What was last read of a request.
struct KnownRequest {
    status: RequestStatus,
    from: Name,
}

/// An agent whose tool call waits for the decision on a request.
struct Waiter {
    from: Name,
    sender: oneshot::Sender<Request>,
}

impl RequestBroker {
    pub fn new(parts: BrokerParts) -> RequestBroker {
        RequestBroker {
            parts,
            known: Mutex::default(),
            waiting: Mutex::default(),
            left_open: Mutex::default(),
            given_up: Mutex::default(),
            has_read: tokio::sync::Mutex::default(),
        }
    }

    /// Files a request and hands it to its approver. Does not wait for the decision. Returns the request as it is on
    /// disk afterwards; the settings may have decided it.
    ///
    /// # Errors
    /// Returns the reason if the request cannot be written or read.
    pub async fn file(
        self: &Arc<Self>,
        from: &Name,
        asking: NewRequest,
    ) -> Result<Request, String> {
        let _busy = self.parts.signals.busy();
        let request = self.new_request(from, asking);
        self.put(request.clone()).await?;
        self.hand_over(&request).await;
        self.get(&request.id).await
    }

    /// Files a request and hands it to its approver. If a request of an earlier run with the same sender, kind and text
    /// is pending or was approved, uses that request or approval instead. The caller waits for the decision with
    /// [`RequestTicket::decision`].
    ///
    /// # Errors
    /// Returns the reason if the request cannot be written.
    pub async fn ask(
        self: &Arc<Self>,
        from: &Name,
        asking: NewRequest,
    ) -> Result<RequestTicket, String> {
        let followup = &self.parts.followup;
        if let Some(granted) = followup.take_granted(from, asking.kind, &asking.body) {
            return Ok(RequestTicket::Decided(granted));
        }
        let busy = self.parts.signals.busy();
        let earlier = self.find_earlier(from, asking.kind, &asking.body).await;
        let is_new = earlier.is_none();
        let request = earlier.unwrap_or_else(|| self.new_request(from, asking));
        let (sender, decided) = oneshot::channel();
        let waiter = Waiter {
            from: from.clone(),
            sender,
        };
        lock(&self.waiting).insert(request.id.clone(), waiter);
        lock(&self.left_open).remove(&request.id);
        let withdraw = Withdraw {
            broker: Arc::clone(self),
            id: request.id.clone(),
        };
        if is_new {
            self.put(request.clone()).await?;
            // While the new request was written, another process may have approved an equal request of an earlier run.
            // From now on, one decision applies to both requests, because they are identical.
            if let Some(granted) = followup.take_granted(from, request.kind, &request.body) {
                return Ok(RequestTicket::Decided(granted));
            }
            self.hand_over(&request).await;
        } else {
            self.wake_if_decided(&request.id).await;
        }
        Ok(RequestTicket::Pending(PendingRequest {
            request,
            decided,
            withdraw,
            busy,
        }))
    }

    /// Returns whether the agent `name` has a pending request for which it no longer waits. The agent gets the decision
    /// as a message.
    pub fn has_left_open(&self, name: &Name) -> bool {
        lock(&self.left_open).values().any(|from| from.same(name))
    }

    /// Wakes the agent that waits for the request if the request was already decided.
    async fn wake_if_decided(&self, id: &RequestId) {
        if let Ok(request) = self.get(id).await
            && !request.is_pending()
            && let Some(waiter) = lock(&self.waiting).remove(id)
        {
            let _ = waiter.sender.send(request);
        }
    }

    /// Returns a pending request of an earlier run with this sender, kind and text (`body`). A request counts as filed
    /// in an earlier run if no agent waits for it. Returns `None` if there is none or the requests cannot be read.
    async fn find_earlier(&self, from: &Name, kind: RequestKind, body: &str) -> Option<Request> {
        let pending = self.read_pending().await.ok()?;
        let waiting = lock(&self.waiting);
        pending.into_iter().find(|r| {
            r.kind == kind && r.from.same(from) && r.body == body && !waiting.contains_key(&r.id)
        })
    }

    /// Decides a request, and all pending requests that are identical to it (see [`Request::is_like`]). Publishes the
    /// decisions and carries them out. Returns the request that `decision` names, as it is after the decision.
    ///
    /// # Errors
    /// Returns the reason if the request was not decided.
    pub async fn decide(self: &Arc<Self>, decision: Decision) -> Result<Request, String> {
        let (requests, now) = (self.parts.requests.clone(), self.parts.context.now());
        let decided = run_blocking(move || decide_with_like(&requests, &decision, now)).await;
        let request = decided.map_err(|e| e.to_string())?;
        self.read().await;
        Ok(request)
    }

    /// Reads all requests from disk, and publishes the requests that are new or whose status has changed. Carries out
    /// new decisions, no matter which process made them. An error is reported to the user.
    pub async fn read(self: &Arc<Self>) {
        let mut new_remote = Vec::new();
        let mut has_read = self.has_read.lock().await;
        let requests = self.parts.requests.clone();
        let reading = run_blocking(move || requests.read_all()).await;
        let Some(reading) = self.parts.errors.check("The requests", reading).await else {
            return;
        };
        self.parts
            .errors
            .warn("The requests", reading.notices)
            .await;
        // At the first read, a decided request was decided before this crew started. At later reads, a new request that
        // is already decided is treated as decided now, since another process may file and decide a request in one
        // step.
        let is_later = std::mem::replace(&mut *has_read, true);
        for mut request in reading.requests {
            let known = KnownRequest {
                status: request.status,
                from: request.from.clone(),
            };
            let before = lock(&self.known).insert(request.id.clone(), known);
            let before = before.map(|known| known.status);
            if before == Some(request.status) {
                continue;
            }
            let is_handed_over = request.is_pending() && self.is_remote(&request);
            if is_handed_over {
                // The host that has filed the request does not know the approvers of this crew.
                request.approver = self.approver_of(&request);
            }
            self.parts
                .context
                .publish(EventKind::Team(TeamEvent::RequestChanged {
                    request: request.clone(),
                }))
                .await;
            if is_handed_over && before.is_none() && is_later {
                new_remote.push(request);
            } else if !request.is_pending() {
                let decided_now = before.is_some() || is_later;
                self.follow(request, decided_now).await;
            }
        }
        drop(has_read);
        self.parts.signals.files_changed();
        for request in new_remote {
            self.hand_over_in_background(request);
        }
    }

    fn hand_over_in_background(self: &Arc<Self>, request: Request) {
        let broker = Arc::clone(self);
        let context = &self.parts.context;
        context.spawn(async move { broker.hand_over_remote(&request).await });
    }

    /// Hands over a request that another host has filed. Records the approver for viewers and other hosts.
    async fn hand_over_remote(self: &Arc<Self>, request: &Request) {
        let (requests, id) = (self.parts.requests.clone(), request.id.clone());
        let approver = request.approver;
        let recorded = run_blocking(move || requests.set_approver(&id, approver).map(drop)).await;
        if let Err(error) = recorded {
            tracing::warn!("the approver of a request could not be recorded: {error}");
        }
        self.hand_over(request).await;
    }

    /// Returns whether an agent on another host has filed the request and this process is the one that hands it to its
    /// approver.
    fn is_remote(&self, request: &Request) -> bool {
        let from = &request.from;
        self.parts.context.is_lead_on_hub()
            && !from.is_lead()
            && !from.is_user()
            && self.parts.registry.find(from).is_none()
    }

    /// Returns whether this process runs the agent `name`. The lead, the user and agents that no host has started belong to
    /// the host of the lead.
    fn runs(&self, name: &Name) -> bool {
        let context = &self.parts.context;
        if context.host.is_none() || self.parts.registry.find(name).is_some() {
            return true;
        }
        let is_here = self.parts.team.is_on(name, context.member_host());
        is_here.unwrap_or(!context.is_worker())
    }

    /// Carries out the decision on `request`, and wakes the agent that waits for the decision. If no agent waits, sends
    /// the decision as a message. Leaves a decision to the host that runs the agent. `decided_now` is false if the request
    /// was decided before this crew started. Such a decision is carried out only if the earlier crew did not finish
    /// carrying it out.
    async fn follow(&self, request: Request, decided_now: bool) {
        let followup = &self.parts.followup;
        let is_own = self.runs(&request.target);
        let is_news = is_own && (decided_now || request.has_open_follow_up());
        if is_news {
            followup.carry_out(&request).await;
        }
        lock(&self.left_open).remove(&request.id);
        let waiter = lock(&self.waiting).remove(&request.id);
        match waiter {
            Some(waiter) => {
                let _ = waiter.sender.send(request.clone());
            }
            None if is_news => followup.send_decision(&request).await,
            None => {}
        }
        // The follow-up of an approved shutdown ends later, when the teammate has answered.
        let is_under_way =
            request.kind == RequestKind::Shutdown && request.status == RequestStatus::Approved;
        if is_own && !is_under_way && request.has_open_follow_up() {
            followup.finish(&request.id).await;
        }
    }

    pub fn has_pending(&self) -> bool {
        let known = lock(&self.known);
        let mut all = known.values();
        all.any(|request| request.status == RequestStatus::Pending)
    }

    /// Returns whether a request of an agent of this process is pending.
    pub fn has_own_pending(&self) -> bool {
        let known = lock(&self.known);
        let mut all = known.values();
        all.any(|request| request.status == RequestStatus::Pending && self.runs(&request.from))
    }

    /// Withdraws the pending requests that `agents` have filed or that concern them, because their host is gone. Nothing can
    /// carry out the decisions.
    ///
    /// # Errors
    /// When the requests cannot be read or written.
    pub async fn withdraw_all_of(self: &Arc<Self>, agents: &[Name]) -> Result<(), StoreError> {
        let is_of = |r: &Request| agents.iter().any(|a| a.same(&r.from) || a.same(&r.target));
        let mut pending = self.read_pending().await?;
        pending.retain(is_of);
        if pending.is_empty() {
            return Ok(());
        }
        let (requests, now) = (self.parts.requests.clone(), self.parts.context.now());
        run_blocking(move || {
            for request in &pending {
                match requests.withdraw(&request.id, "its host is gone", now) {
                    // It was decided in the meantime.
                    Ok(_) | Err(StoreError::Request(_)) => {}
                    Err(error) => return Err(error),
                }
            }
            Ok(())
        })
        .await?;
        self.read().await;
        Ok(())
    }

    /// Reads the pending requests from disk. Publishes nothing.
    pub async fn read_pending(&self) -> Result<Vec<Request>, StoreError> {
        let requests = self.parts.requests.clone();
        let mut all = run_blocking(move || requests.read_all()).await?.requests;
        all.retain(Request::is_pending);
        Ok(all)
    }

    fn new_request(&self, from: &Name, asking: NewRequest) -> Request {
        let context = &self.parts.context;
        let id = RequestId(context.new_id());
        let graph = self.parts.board.graph();
        let task = graph.open_task_of(&asking.target).map(|t| t.id);
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
                context.now(),
            )
        };
        let approver = self.approver_of(&request);
        Request {
            approver,
            ..request
        }
    }

    /// Returns the approver of `request` according to the settings of this crew. `request.approver` may differ if an
    /// earlier crew filed the request.
    pub fn approver_of(&self, request: &Request) -> Approver {
        self.parts.approvers.of_request(request)
    }

    pub fn approvers(&self) -> &Approvers {
        &self.parts.approvers
    }

    async fn put(self: &Arc<Self>, request: Request) -> Result<(), String> {
        let requests = self.parts.requests.clone();
        run_blocking(move || requests.create(&request))
            .await
            .map_err(|e| e.to_string())?;
        self.read().await;
        Ok(())
    }

    pub async fn get(&self, id: &RequestId) -> Result<Request, String> {
        let (requests, wanted) = (self.parts.requests.clone(), id.clone());
        let found = run_blocking(move || requests.get(&wanted))
            .await
            .map_err(|e| e.to_string())?;
        found.ok_or_else(|| format!("request {id} no longer exists"))
    }

    /// Hands a request to its approver. If the settings decide the request, decides it. If the lead is the approver,
    /// sends the lead a message. If the user is the approver, does nothing, since the user sees every request on the
    /// screen.
    async fn hand_over(self: &Arc<Self>, request: &Request) {
        let (verdict, comment) = match route(request) {
            Route::User => return,
            Route::Lead(kind) => {
                let (from, to, text) = (&request.from, &Name::lead(), &request.body);
                let delivery = &self.parts.delivery;
                delivery.send_about(request, from, to, kind, text).await;
                return;
            }
            Route::Decided(verdict, comment) => (verdict, comment),
        };
        let decision = Decision::on(request, verdict, Name::policy(), comment.into());
        if let Err(why) = self.decide(decision).await {
            let text = format!(
                "The request about {} could not be decided automatically: {why}",
                request.describe()
            );
            self.parts.context.notice(NoticeLevel::Error, text).await;
        }
    }

    /// Hands all pending requests to their approvers again, because crewdeck may have ended after it filed a request
    /// and before it informed the approver.
    pub async fn hand_over_again(self: &Arc<Self>) {
        let Ok(pending) = self.read_pending().await else {
            return;
        };
        for mut request in pending {
            // The approver may have changed since the request was filed: for example, a user may be present now, or no
            // longer.
            request.approver = self.approver_of(&request);
            if self.is_remote(&request) {
                self.hand_over_remote(&request).await;
            } else {
                self.hand_over(&request).await;
            }
        }
    }

    /// Returns whether a request that concerns a running agent is pending, or was decided and its decision was not
    /// carried out yet. Returns false if the requests cannot be read.
    pub async fn has_unfinished(&self) -> bool {
        let requests = self.parts.requests.clone();
        let all = run_blocking(move || requests.read_all()).await;
        let mut all = all.map(|r| r.requests).unwrap_or_default().into_iter();
        all.any(|r| {
            (r.is_pending() || r.has_open_follow_up())
                && self.parts.registry.find(&r.target).is_some()
        })
    }

    /// Returns whether the agent `name`, with its subagents, does nothing but wait for decisions.
    pub fn only_waits(&self, name: &Name) -> bool {
        let waiting = lock(&self.waiting);
        let waits = waiting.values().filter(|w| w.from.same(name)).count();
        drop(waiting);
        // Requests of the agent's subagents are filed in the agent's name, so they are counted in `waits`.
        waits > 0 && self.parts.registry.subagents_of(name) <= waits
    }

    /// Returns all pending requests, if none of them waits for the user. If no user is present, no request waits for
    /// the user. Returns `None` in these cases:
    ///
    /// - A request waits for the user.
    /// - An agent is about to continue because its request was just decided.
    /// - The requests cannot be read.
    pub async fn pending_without_user(&self) -> Option<Vec<Request>> {
        let waiting: Vec<RequestId> = lock(&self.waiting).keys().cloned().collect();
        if !self.has_pending() {
            return waiting.is_empty().then(Vec::new);
        }
        let pending = self.read_pending().await.ok()?;
        let is_for_others = |request: &Request| match self.approver_of(request) {
            Approver::Lead | Approver::Auto | Approver::Deny => true,
            Approver::Ask => self.parts.approvers.question != Approver::Ask,
        };
        let is_pending = |id: &RequestId| pending.iter().any(|r| r.id == *id);
        (waiting.iter().all(is_pending) && pending.iter().all(is_for_others)).then_some(pending)
    }

    /// Makes the crew count as idle although `requests` are pending. The requests, and the agents that filed them, are
    /// kept for the next run of the session. Replaces the requests of an earlier call.
    pub fn give_up(&self, requests: &[Request]) {
        *lock(&self.given_up) = requests.iter().map(|r| r.id.clone()).collect();
    }

    fn is_given_up(&self, id: &RequestId) -> bool {
        lock(&self.given_up).contains(id)
    }

    /// Returns the agents that filed the requests of the last call of [`Self::give_up`]: one entry for each of these
    /// requests that is still pending. Empty if the requests cannot be read.
    pub async fn agents_given_up(&self) -> Vec<Name> {
        let pending = self.read_pending().await.unwrap_or_default();
        let given_up = pending.into_iter().filter(|r| self.is_given_up(&r.id));
        given_up.map(|r| r.from).collect()
    }
}
