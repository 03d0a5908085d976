//! Completes tasks after their checks: runs the checks, sends red tasks back to their owners, asks the user after
//! repeated red results, and runs again what a killed crew has left unfinished.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::board_view::BoardView;
use super::context::{CrewContext, lock};
use super::message_delivery::MessageDelivery;
use super::red_question::{RedDecision, again_text, asker, question, read_decision};
use super::request_broker::RequestBroker;
use super::signals::CrewSignals;
use crate::agent::driver::run_blocking;
use crate::checks::{CheckRound, RoundEnd, TaskChecks};
use crate::domain::checks::{CheckOutcome, CheckRecord, REASON_MAX};
use crate::domain::ids::{Name, TaskId};
use crate::domain::request::{NewRequest, Request, RequestKind, RequestStatus};
use crate::domain::task::{Task, TaskStatus};
use crate::domain::team::Activity;
use crate::domain::text::{clip, one_line};
use crate::protocol::event::{AgentEvent, NoticeLevel};
use crate::store::TaskSet;
use crate::tools::host::CheckedCompletion;

/// Time between two checks whether the owner of a task still has it, while its checks run.
const OWNER_INTERVAL: Duration = Duration::from_secs(2);
/// The result of a completion: the completed task, or text for the one who wanted to complete it.
type CompletionResult = Result<Arc<Task>, String>;

/// A completion in progress.
struct RunningCompletion {
    /// Who completes the task.
    owner: Name,
    cancel: CancellationToken,
    result: watch::Receiver<Option<CompletionResult>>,
    /// Number of calls that wait for the result. If there are none, the owner gets the result as a message.
    waiters: usize,
}

/// Completes tasks after their checks.
pub struct CrewChecks {
    context: Arc<CrewContext>,
    signals: Arc<CrewSignals>,
    board: Arc<BoardView>,
    broker: Arc<RequestBroker>,
    delivery: Arc<MessageDelivery>,
    checks: Arc<TaskChecks>,
    /// The completions in progress, at most one for each task.
    running: Mutex<BTreeMap<TaskId, RunningCompletion>>,
}

impl CrewChecks {
    pub fn new(
        context: Arc<CrewContext>,
        signals: Arc<CrewSignals>,
        board: Arc<BoardView>,
        broker: Arc<RequestBroker>,
        delivery: Arc<MessageDelivery>,
        checks: Arc<TaskChecks>,
    ) -> CrewChecks {
        CrewChecks {
            context,
            signals,
            board,
            broker,
            delivery,
            checks,
            running: Mutex::default(),
        }
    }

    /// Completes the task `id` for `owner` after its checks. Returns `None`, and does nothing, if no check concerns the
    /// task. After `wait_max`, returns that the checks are still running; they go on, and the owner gets the result as a
    /// message. Dropping the future stops the checks.
    ///
    /// # Errors
    /// Fails with text for `owner` if the task is not completed: `owner` may not complete it, a check is red, or the
    /// content cannot be determined.
    pub async fn complete(
        self: &Arc<Self>,
        owner: &Name,
        id: TaskId,
        wait_max: Option<Duration>,
    ) -> Result<Option<CheckedCompletion>, String> {
        let task = self.task(id).await?;
        if !self.checks.concern(&task) {
            return Ok(None);
        }
        let (board, name) = (self.board.store().clone(), owner.clone());
        let may = run_blocking(move || board.query(|graph| graph.check_complete(id, &name))).await;
        may.map_err(|e| e.to_string())?.map_err(|e| e.to_string())?;
        let is_owned = !task.owner.is_empty();
        let (mut result, waiter) = self.join_or_start(owner, id, is_owned)?;
        self.show_activity(owner, id).await;
        let limit = async {
            match wait_max {
                Some(limit) => tokio::time::sleep(limit).await,
                None => std::future::pending().await,
            }
        };
        let is_over = tokio::select! {
            biased;
            done = result.wait_for(Option::is_some) => {
                if done.is_err() {
                    return Err(format!("the checks of task {id} were cut off: complete the task again"));
                }
                true
            }
            () = limit => false,
        };
        if !is_over && self.detach(id) {
            waiter.disarm();
            return Ok(Some(CheckedCompletion::StillRunning));
        }
        waiter.disarm();
        let result = result.borrow().clone();
        match result {
            Some(Ok(task)) => Ok(Some(CheckedCompletion::Completed(Box::new(
                Arc::unwrap_or_clone(task),
            )))),
            Some(Err(why)) => Err(why),
            None => Err("the crew is stopping".into()),
        }
    }

    /// Shows that `owner` waits for the checks of the task `id`.
    async fn show_activity(&self, owner: &Name, id: TaskId) {
        if owner.is_user() {
            return;
        }
        let activity = Activity::Tool {
            tool: "checks".into(),
            on: format!("the checks of task {id} run"),
        };
        let shown = AgentEvent::ActivityChanged { activity }.of(owner.clone());
        self.context.publish(shown).await;
    }

    /// Stops the checks of all tasks that `owner` wants to complete. Returns whether there were any.
    pub fn stop(&self, owner: &Name) -> bool {
        let running = lock(&self.running);
        let own = running.values().filter(|entry| entry.owner == *owner);
        own.map(|entry| entry.cancel.cancel()).count() > 0
    }

    /// Returns whether checks run whose result `owner` gets as a message.
    pub fn owes_result(&self, owner: &Name) -> bool {
        let running = lock(&self.running);
        let mut all = running.values();
        all.any(|entry| entry.owner == *owner && entry.waiters == 0)
    }

    /// Runs again the checks that a killed crew has left unfinished, if this crew resumes its session. Their tasks are not
    /// completed by this: their owners continue, complete them again, and find the results. Marks the checks of other
    /// tasks as stopped. Leaves out tasks that are claimed for other hosts, where the checks may run.
    pub fn restart_unfinished(self: &Arc<Self>, resumes: bool) {
        let own = self.context.host.as_ref();
        let own = own.map(|host| host.session.claim());
        // Without a claim, the lead's host acts for all.
        let is_own = |task: &Task| match (&own, &task.claim) {
            (None, _) => true,
            (Some(_), None) => !self.context.is_worker(),
            (Some(own), Some(claim)) => own == claim,
        };
        let is_unfinished = |task: &&Task| {
            if !is_own(task) {
                return false;
            }
            let mut records = task.checks.iter();
            records.any(|record| record.outcome == CheckOutcome::Running)
        };
        let graph = self.board.graph();
        let unfinished: Vec<Task> = graph.tasks().filter(is_unfinished).cloned().collect();
        for task in unfinished {
            let (own, busy) = (Arc::clone(self), self.signals.busy());
            self.context.spawn(async move {
                own.restart(task.id, resumes).await;
                drop(busy);
            });
        }
    }

    async fn restart(&self, id: TaskId, resumes: bool) {
        let Ok(task) = self.task(id).await else {
            return;
        };
        let is_open = resumes && task.status == TaskStatus::InProgress;
        match Name::party(&task.owner).ok().filter(|_| is_open) {
            Some(owner) => {
                let text = format!("The checks of task {id} were cut off and run again.");
                self.context.notice(NoticeLevel::Info, text).await;
                let cancel = self.context.stop.child_token();
                self.checks.run_again(&task, &owner, &cancel).await;
            }
            None => self.checks.mark_stopped(&task).await,
        }
    }

    /// Returns the result of the completion of the task `id`, and the guard of the call that waits for it. Starts a
    /// completion if none is in progress. `is_owned` says whether the task has an owner.
    ///
    /// # Errors
    /// Fails if the task is being completed for another owner.
    fn join_or_start(
        self: &Arc<Self>,
        owner: &Name,
        id: TaskId,
        is_owned: bool,
    ) -> Result<(watch::Receiver<Option<CompletionResult>>, CompletionWaiter), String> {
        let waiter = || CompletionWaiter {
            checks: Some(Arc::clone(self)),
            id,
        };
        let mut running = lock(&self.running);
        if let Some(known) = running.get_mut(&id) {
            if known.owner != *owner {
                return Err(already_running(id, &known.owner));
            }
            known.waiters += 1;
            return Ok((known.result.clone(), waiter()));
        }
        let (sender, result, cancel) = self.insert(&mut running, owner, id);
        drop(running);
        let (own, owner) = (Arc::clone(self), owner.clone());
        let entry = RunningEntry {
            checks: Arc::clone(self),
            id,
        };
        self.context.spawn(async move {
            let ended = own
                .carry_out_while_owned(&owner, id, is_owned, &cancel)
                .await;
            let text = match &ended {
                Ok(_) => format!("Task {id} is completed."),
                Err(why) => why.clone(),
            };
            // A call that finds no entry must find the result.
            sender.send_replace(Some(ended));
            let has_waiter = lock(&own.running)
                .get(&id)
                .is_some_and(|entry| entry.waiters > 0);
            if has_waiter || cancel.is_cancelled() {
                drop(entry);
                return;
            }
            // Until the message is there, its owner must not be asked to continue.
            own.tell(&owner, &text).await;
            drop(entry);
        });
        Ok((result, waiter()))
    }

    /// Adds a completion with one waiting call. The task must not have one.
    fn insert(
        &self,
        running: &mut BTreeMap<TaskId, RunningCompletion>,
        owner: &Name,
        id: TaskId,
    ) -> (
        watch::Sender<Option<CompletionResult>>,
        watch::Receiver<Option<CompletionResult>>,
        CancellationToken,
    ) {
        let cancel = self.context.stop.child_token();
        let (sender, result) = watch::channel(None);
        let entry = RunningCompletion {
            owner: owner.clone(),
            cancel: cancel.clone(),
            result: result.clone(),
            waiters: 1,
        };
        running.insert(id, entry);
        (sender, result, cancel)
    }

    /// Records that one call less waits for the completion of the task `id`. Returns false if the completion has ended in
    /// the meantime.
    fn detach(&self, id: TaskId) -> bool {
        match lock(&self.running).get_mut(&id) {
            Some(entry) if entry.result.borrow().is_none() => {
                entry.waiters = entry.waiters.saturating_sub(1);
                true
            }
            Some(_) | None => false,
        }
    }

    /// Completes the task after its checks. Stops the checks if the task gets another owner, or loses its owner.
    async fn carry_out_while_owned(
        &self,
        owner: &Name,
        id: TaskId,
        is_owned: bool,
        cancel: &CancellationToken,
    ) -> CompletionResult {
        let carry_out = self.carry_out(owner, id, cancel);
        let lost = async {
            loop {
                tokio::time::sleep(OWNER_INTERVAL).await;
                if let Ok(task) = self.task(id).await {
                    let has_no_owner = task.owner.is_empty();
                    let is_same = task.owner.eq_ignore_ascii_case(owner.as_str());
                    if has_no_owner && is_owned || !has_no_owner && !is_same {
                        break;
                    }
                }
            }
        };
        tokio::pin!(carry_out);
        tokio::select! {
            biased;
            ended = &mut carry_out => ended,
            () = lost => {
                cancel.cancel();
                carry_out.await
            }
        }
    }

    async fn tell(&self, owner: &Name, text: &str) {
        if let Err(error) = self.delivery.send_generated(owner, text).await {
            let text = format!("The result of a check cannot be sent to {owner}: {error}");
            self.context.notice(NoticeLevel::Warn, text).await;
        }
    }

    async fn carry_out(
        &self,
        owner: &Name,
        id: TaskId,
        cancel: &CancellationToken,
    ) -> CompletionResult {
        let records = self.settle(owner, id, cancel).await?;
        let (board, owner) = (self.board.store().clone(), owner.clone());
        let now = self.context.now();
        let done = run_blocking(move || board.complete_checked(id, &owner, &records, now)).await;
        let task = done.map_err(|error| error.to_string())?;
        self.board.read(TaskSet::These([id].into())).await;
        self.signals.files_changed();
        Ok(Arc::new(task))
    }

    /// Runs the checks of a task that the user wants to complete. Returns their results, which the caller stores when it
    /// completes the task; empty if no check concerns the task.
    ///
    /// # Errors
    /// Fails with the reason if the task must not be completed.
    pub async fn settle_for_user(self: &Arc<Self>, id: TaskId) -> Result<Vec<CheckRecord>, String> {
        let task = self.task(id).await?;
        if !self.checks.concern(&task) {
            return Ok(Vec::new());
        }
        let user = Name::user();
        let cancel = {
            let mut running = lock(&self.running);
            if let Some(known) = running.get(&id) {
                return Err(already_running(id, &known.owner));
            }
            self.insert(&mut running, &user, id).2
        };
        let _entry = RunningEntry {
            checks: Arc::clone(self),
            id,
        };
        self.settle(&user, id, &cancel).await
    }

    /// Runs the checks of a task. Returns their results if the task may be completed, because the checks are green or the
    /// user has overridden them.
    async fn settle(
        &self,
        owner: &Name,
        id: TaskId,
        cancel: &CancellationToken,
    ) -> Result<Vec<CheckRecord>, String> {
        let busy = self.signals.busy();
        let task = self.task(id).await?;
        let round = self.checks.run(&task, owner, cancel).await?;
        drop(busy);
        let failed = match &round.end {
            RoundEnd::Complete => return Ok(round.records),
            RoundEnd::SendBack(text) if !owner.is_user() => return Err(text.clone()),
            // The user need not try three times before deciding. A branch without changes is no failed check.
            RoundEnd::SendBack(text) if round.failed.is_empty() => return Err(one_line(text)),
            RoundEnd::SendBack(text) | RoundEnd::AskUser(text) => text,
        };
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(format!("task {id} is not completed: its checks are red")),
            decided = self.ask_user(owner, &task, &round, failed) => decided,
        }
    }

    /// Lets the user decide about a task whose checks are red, and carries out the decision.
    async fn ask_user(
        &self,
        owner: &Name,
        task: &Task,
        round: &CheckRound,
        failed: &str,
    ) -> Result<Vec<CheckRecord>, String> {
        let id = task.id;
        let request = self
            .ask(owner, question(owner, task, round, failed))
            .await?;
        let request = match read_decision(&request) {
            // The user has wanted to complete the task, and no agent is to try again.
            RedDecision::Again(_) | RedDecision::Open(_) if owner.is_user() => {
                return Err(format!("task {id} is left open: its checks are red"));
            }
            RedDecision::Again(advice) => {
                self.checks.start_over(id, owner, round).await?;
                return Err(again_text(id, &advice));
            }
            RedDecision::Open(why) => return Err(why),
            RedDecision::Override => {
                let asking = NewRequest::new(
                    RequestKind::Question,
                    &asker(owner),
                    format!(
                        "Why is task {id} complete although its checks are red? Your answer stays visible on the task."
                    ),
                );
                self.ask(owner, asking).await?
            }
        };
        let reason = clip(&one_line(request.comment.trim()), REASON_MAX);
        if request.status != RequestStatus::Approved || reason.is_empty() {
            return Err(format!(
                "task {id} is not completed: its checks are red, and the user gave no reason to complete it"
            ));
        }
        Ok(round.overridden(&reason))
    }

    async fn ask(&self, owner: &Name, asking: NewRequest) -> Result<Request, String> {
        let asked = self.broker.ask(&asker(owner), asking).await?;
        asked.decision().await
    }

    async fn task(&self, id: TaskId) -> Result<Task, String> {
        let board = self.board.store().clone();
        let task = run_blocking(move || board.get(id)).await;
        task.map(Arc::unwrap_or_clone).map_err(|e| e.to_string())
    }
}

/// A call that waits for a completion. The completion is stopped when the last such call is dropped.
struct CompletionWaiter {
    checks: Option<Arc<CrewChecks>>,
    id: TaskId,
}

impl CompletionWaiter {
    /// Lets the completion go on.
    fn disarm(mut self) {
        self.checks = None;
    }
}

impl Drop for CompletionWaiter {
    fn drop(&mut self) {
        let Some(checks) = &self.checks else { return };
        if let Some(entry) = lock(&checks.running).get_mut(&self.id) {
            entry.waiters = entry.waiters.saturating_sub(1);
            if entry.waiters == 0 {
                entry.cancel.cancel();
            }
        }
    }
}

/// The entry of a completion in progress. It is removed even if the completion panics.
struct RunningEntry {
    checks: Arc<CrewChecks>,
    id: TaskId,
}

impl Drop for RunningEntry {
    fn drop(&mut self) {
        lock(&self.checks.running).remove(&self.id);
    }
}

fn already_running(id: TaskId, owner: &Name) -> String {
    format!("the checks of task {id} are already running for {owner}: wait for their result")
}

#[cfg(test)]
#[path = "checks_tests.rs"]
mod tests;
