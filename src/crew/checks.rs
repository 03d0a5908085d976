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
use super::request_broker::RequestBroker;
use super::signals::CrewSignals;
use crate::agent::driver::run_blocking;
use crate::checks::{CheckRound, RoundEnd, TaskChecks};
use crate::domain::checks::{CheckOutcome, CheckRecord, REASON_MAX, red_rounds};
use crate::domain::ids::{Name, TaskId};
use crate::domain::request::{NewRequest, Request, RequestKind, RequestStatus};
use crate::domain::task::{Task, TaskStatus};
use crate::domain::text::{clip, one_line};
use crate::protocol::event::NoticeLevel;
use crate::store::TaskSet;
use crate::tools::host::CheckedCompletion;

/// Maximum length of the list of failed checks in a question to the user, in characters.
const QUESTION_MAX: usize = 6000;
/// The choice that lets the owner of a task try again.
const TRY_AGAIN: &str = "Try again";
/// The choice that completes a task although its checks are red. crewdeck then asks for the reason.
const OVERRIDE: &str = "Complete it anyway";
/// The choice of the user, who wants to complete a task, that leaves it open.
const LEAVE_OPEN: &str = "Leave it open";

/// The result of a completion: the completed task, or text for the one who wanted to complete it.
type CompletionResult = Result<Arc<Task>, String>;

/// A completion in progress.
struct RunningCompletion {
    cancel: CancellationToken,
    result: watch::Receiver<Option<CompletionResult>>,
    /// Whether a call waits for the result. If none does, the owner gets the result as a message.
    has_waiter: bool,
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

/// What the user has decided about a task whose checks are red.
#[derive(Debug, PartialEq, Eq)]
enum RedDecision {
    /// The owner tries again, with this advice, which may be empty.
    Again(String),
    /// The task is completed for a reason that the user still has to give.
    Override,
    /// There is no decision, for this reason.
    Open(String),
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
        let (mut result, cancel) = self.join_or_start(owner, id);
        let stop = StopOnDrop(Some(cancel));
        let limit = async {
            match wait_max {
                Some(limit) => tokio::time::sleep(limit).await,
                None => std::future::pending().await,
            }
        };
        let is_over = tokio::select! {
            biased;
            done = result.wait_for(Option::is_some) => done.is_ok(),
            () = limit => self.detach(id),
        };
        stop.disarm();
        if !is_over {
            return Ok(Some(CheckedCompletion::StillRunning));
        }
        let result = result.borrow().clone();
        match result {
            Some(Ok(task)) => Ok(Some(CheckedCompletion::Completed(Box::new(
                Arc::unwrap_or_clone(task),
            )))),
            Some(Err(why)) => Err(why),
            None => Err("the crew is stopping".into()),
        }
    }

    /// Runs again the checks that a killed crew has left unfinished. Their tasks are not completed by this: their owners
    /// continue, complete them again, and find the results. Marks the checks of tasks without owner as stopped.
    pub fn restart_unfinished(self: &Arc<Self>) {
        let is_unfinished = |task: &&Task| {
            let mut records = task.checks.iter();
            records.any(|record| record.outcome == CheckOutcome::Running)
        };
        let graph = self.board.graph();
        let unfinished: Vec<Task> = graph.tasks().filter(is_unfinished).cloned().collect();
        for task in unfinished {
            let (own, busy) = (Arc::clone(self), self.signals.busy());
            self.context.spawn(async move {
                own.restart(task.id).await;
                drop(busy);
            });
        }
    }

    async fn restart(&self, id: TaskId) {
        let Ok(task) = self.task(id).await else {
            return;
        };
        let is_open = task.status == TaskStatus::InProgress;
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

    /// Returns the result of the completion of the task `id`, and the token that stops it. Starts a completion if none is
    /// in progress.
    fn join_or_start(
        self: &Arc<Self>,
        owner: &Name,
        id: TaskId,
    ) -> (watch::Receiver<Option<CompletionResult>>, CancellationToken) {
        let mut running = lock(&self.running);
        if let Some(known) = running.get_mut(&id) {
            known.has_waiter = true;
            return (known.result.clone(), known.cancel.clone());
        }
        let cancel = self.context.stop.child_token();
        let (sender, result) = watch::channel(None);
        let entry = RunningCompletion {
            cancel: cancel.clone(),
            result: result.clone(),
            has_waiter: true,
        };
        running.insert(id, entry);
        drop(running);
        let (own, owner, stop) = (Arc::clone(self), owner.clone(), cancel.clone());
        self.context.spawn(async move {
            let ended = own.carry_out(&owner, id, &stop).await;
            let text = match &ended {
                Ok(_) => format!("Task {id} is completed."),
                Err(why) => why.clone(),
            };
            // A call that finds no entry must find the result.
            sender.send_replace(Some(ended));
            let entry = lock(&own.running).remove(&id);
            let has_waiter = entry.is_none_or(|entry| entry.has_waiter);
            if !has_waiter && !stop.is_cancelled() {
                own.tell(&owner, &text).await;
            }
        });
        (result, cancel)
    }

    /// Records that no call waits for the completion of the task `id` any more. Returns true if the completion has ended
    /// in the meantime.
    fn detach(&self, id: TaskId) -> bool {
        match lock(&self.running).get_mut(&id) {
            Some(entry) => {
                entry.has_waiter = false;
                false
            }
            None => true,
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
    pub async fn settle_for_user(&self, id: TaskId) -> Result<Vec<CheckRecord>, String> {
        let task = self.task(id).await?;
        if !self.checks.concern(&task) {
            return Ok(Vec::new());
        }
        let cancel = self.context.stop.child_token();
        self.settle(&Name::user(), id, &cancel).await
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
            RedDecision::Again(advice) => {
                self.checks.start_over(id, round).await?;
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

/// Stops a completion when the call that waits for it is dropped.
struct StopOnDrop(Option<CancellationToken>);

impl StopOnDrop {
    fn disarm(mut self) {
        self.0 = None;
    }
}

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        if let Some(cancel) = &self.0 {
            cancel.cancel();
        }
    }
}

/// Returns in whose name the user is asked about a task of `owner`: the user cannot ask the user.
fn asker(owner: &Name) -> Name {
    if owner.is_user() {
        Name::lead()
    } else {
        owner.clone()
    }
}

fn question(owner: &Name, task: &Task, round: &CheckRound, failed: &str) -> NewRequest {
    let subject = one_line(&clip(&task.subject, 200));
    let id = task.id;
    let reds = red_rounds(&round.records);
    let (fact, again, rest) = if owner.is_user() {
        (
            format!("You want to complete task {id} ({subject}), but its checks are red."),
            LEAVE_OPEN,
            "Any other answer leaves the task open too.".to_string(),
        )
    } else {
        (
            format!(
                "{owner} wants to complete task {id} ({subject}), but its checks are red, {reds} times in a row."
            ),
            TRY_AGAIN,
            format!("Any other answer goes to {owner} as advice, and {owner} tries again."),
        )
    };
    let failed = clip(failed, QUESTION_MAX);
    NewRequest {
        choices: vec![again.into(), OVERRIDE.into()],
        ..NewRequest::new(
            RequestKind::Question,
            &asker(owner),
            format!("{fact} {rest}\n\n{failed}"),
        )
    }
}

fn read_decision(request: &Request) -> RedDecision {
    let answer = request.comment.trim();
    if request.status != RequestStatus::Approved {
        let who = match request.decided_by.as_str() {
            by if by == Name::policy().as_str() => "no user is present to decide",
            _ => "the user has not decided",
        };
        return RedDecision::Open(format!(
            "the task is not completed: its checks are red, and {who}. Say what is wrong, and leave the task as it is"
        ));
    }
    if answer.eq_ignore_ascii_case(OVERRIDE) {
        RedDecision::Override
    } else if answer.eq_ignore_ascii_case(TRY_AGAIN) || answer.eq_ignore_ascii_case(LEAVE_OPEN) {
        RedDecision::Again(String::new())
    } else {
        RedDecision::Again(answer.into())
    }
}

fn again_text(id: TaskId, advice: &str) -> String {
    let text = format!(
        "task {id} is not completed: its checks are red. The user wants you to try again; the checks then run again"
    );
    if advice.is_empty() {
        text
    } else {
        format!("{text}. The user says: {advice}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ids::RequestId;
    use crate::domain::timestamp::Timestamp;
    use pretty_assertions::assert_eq;

    #[test]
    fn only_the_named_choice_overrides() {
        let (approved, rejected) = (RequestStatus::Approved, RequestStatus::Rejected);
        for (status, comment, expected) in [
            (approved, "Try again", RedDecision::Again(String::new())),
            (approved, "leave it open", RedDecision::Again(String::new())),
            (approved, " complete it anyway ", RedDecision::Override),
            (approved, "", RedDecision::Again(String::new())),
            (approved, "use make", RedDecision::Again("use make".into())),
        ] {
            let (id, lead) = (RequestId("r".into()), Name::lead());
            let kind = RequestKind::Question;
            let request = Request {
                status,
                decided_by: "user".into(),
                comment: comment.into(),
                ..Request::new(id, kind, lead.clone(), lead, "x".into(), Timestamp(1.0))
            };
            assert_eq!(read_decision(&request), expected, "{comment}");
            let refused = Request {
                status: rejected,
                ..request
            };
            assert!(matches!(read_decision(&refused), RedDecision::Open(_)));
        }
    }
}
