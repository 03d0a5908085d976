//! The crew's budgets. An agent that reaches a budget pauses before its next model call, and a request asks the user to
//! raise the budget. An agent that makes no progress pauses too, and a question asks the user whether it may go on.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;

use super::context::{CrewContext, lock};
use super::models::ModelSwitch;
use super::parts::BudgetParts;
use super::period_counter::PeriodCounter;
use super::request_broker::RequestBroker;
use crate::agent::budget_gate::BudgetGate;
use crate::domain::budget::{
    BudgetKey, Ledger, ReachedBudget, UsageBudget, UsageBudgets, charged_agent,
};
use crate::domain::ids::Name;
use crate::domain::limits::Limits;
use crate::domain::request::{Approver, NewRequest, Request, RequestKind, RequestStatus};
use crate::domain::spending::UsageTotal;
use crate::domain::team::Activity;
use crate::domain::text::{clip, one_line};
use crate::domain::usage::{Cost, Usage};
use crate::protocol::event::{AgentEvent, CrewEvent, EventKind, NoticeLevel};

/// [`GO_ON`] and [`STOP`] are the choices of the question whether an agent that makes no progress may go on. After any
/// other answer, the agent goes on too and gets the answer as advice.
const GO_ON: &str = "Go on";
const STOP: &str = "Stop";

/// Time between two checks whether a new day or month has begun. Used while an agent waits because the budget of the
/// day or month is used up.
const PERIOD_CHECK: Duration = Duration::from_secs(30);
/// Maximum number of models about which the user is warned because their price is unknown.
const UNPRICED_MAX: usize = 100;
/// Maximum length of the name of a model in a notice, in characters.
const MODEL_NAME_MAX: usize = 80;

/// The budgets of the crew, what has been used of them, and the requests to raise them.
pub struct TeamBudget {
    context: Arc<CrewContext>,
    broker: Arc<RequestBroker>,
    models: Arc<ModelSwitch>,
    /// Maximum number of concurrent model calls. Only published here; the rate limiter enforces it.
    calls: usize,
    ledger: Mutex<Ledger>,
    /// Counts the usage of the current day and month. `None` if no budget limits them, or if there is no home directory
    /// for the file with the usage.
    periods: Option<PeriodCounter>,
    /// Whether the user was notified that the usage of the day and the month cannot be saved.
    has_failed: AtomicBool,
    /// One entry for each budget that an agent has reached. For each budget, at most one request is pending at a time.
    questions: Mutex<BTreeMap<BudgetKey, Arc<BudgetQuestion>>>,
    /// The agents that may not call their model again in their current turn, each with the reason.
    denied: Mutex<BTreeMap<Name, String>>,
    /// The models about which the user was warned because their price is unknown.
    unpriced: Mutex<BTreeSet<String>>,
    /// The agents that were stopped in their last turn because they made no progress.
    stopped: Mutex<BTreeSet<Name>>,
}

/// The requests to raise one budget. Several agents may wait for the same request.
#[derive(Default)]
struct BudgetQuestion {
    /// The number of denied requests so far. An agent reads this number before and after it waits for the lock of
    /// `asking`. If the number has grown, the last denial applies to that agent too, and the agent does not file
    /// another request.
    denials: AtomicU64,
    /// The reason of the last denial. An agent that files a request holds this lock until the request is decided.
    asking: tokio::sync::Mutex<String>,
}

impl TeamBudget {
    /// Creates the budgets with nothing used. `calls` is the maximum number of concurrent model calls.
    pub fn new(
        context: Arc<CrewContext>,
        broker: Arc<RequestBroker>,
        models: Arc<ModelSwitch>,
        calls: usize,
        parts: BudgetParts,
    ) -> TeamBudget {
        let counter = |file| PeriodCounter::new(context.clone(), file);
        TeamBudget {
            periods: parts.spending.map(counter),
            has_failed: AtomicBool::new(false),
            context,
            broker,
            models,
            calls,
            ledger: Mutex::new(Ledger::new(parts.budgets)),
            questions: Mutex::default(),
            denied: Mutex::default(),
            unpriced: Mutex::default(),
            stopped: Mutex::default(),
        }
    }

    /// Returns the configured budgets, the current limits of the raised budgets, and the maximum number of concurrent
    /// model calls, to be published.
    fn limits(&self) -> Limits {
        let ledger = lock(&self.ledger);
        Limits {
            calls: self.calls,
            budgets: ledger.budgets(),
            periods: self.periods.as_ref().map(|_| ledger.periods().clone()),
            raised: ledger.raised_budgets(),
        }
    }

    /// Returns whether a budget that limits `agent` is used up: a budget of the team or of the agent itself. A subagent
    /// shares the budgets of its parent.
    pub fn is_over(&self, agent: &Name) -> bool {
        self.reached_budget(agent).is_some()
    }

    /// Returns whether the agent's last turn was stopped because it made no progress: by the user, or because no user
    /// was present.
    pub fn was_stopped(&self, agent: &Name) -> bool {
        lock(&self.stopped).contains(agent)
    }

    fn reached_budget(&self, agent: &Name) -> Option<ReachedBudget> {
        lock(&self.ledger).reached_budget(agent)
    }

    fn question(&self, key: &BudgetKey) -> Arc<BudgetQuestion> {
        Arc::clone(lock(&self.questions).entry(key.clone()).or_default())
    }

    fn deny(&self, agent: &Name, why: String) -> Result<(), String> {
        lock(&self.denied).insert(charged_agent(agent), why.clone());
        Err(why)
    }
}

impl BudgetGate for TeamBudget {
    fn begin(&self, agent: &Name) {
        // A subagent's turn is part of its parent's turn, so a denial for the parent still applies.
        if agent.parent().is_none() {
            lock(&self.denied).remove(agent);
            lock(&self.stopped).remove(agent);
        }
    }

    fn restore(&self, agent: &Name, usage: Usage, cost: Option<Cost>) {
        lock(&self.ledger).add_usage(agent, usage, cost);
    }

    fn count<'a>(&'a self, agent: &'a Name, usage: Usage, cost: Option<Cost>) -> BoxFuture<'a, ()> {
        Box::pin(self.count(agent, usage, cost))
    }

    fn warn_without_price<'a>(&'a self, model: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(self.warn_without_price(model))
    }

    fn ask_to_go_on<'a>(
        &'a self,
        agent: &'a Name,
        reason: String,
    ) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(self.ask_to_go_on(agent, reason))
    }

    fn wait_for_budget<'a>(&'a self, agent: &'a Name) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(self.wait_for_budget(agent))
    }
}

impl TeamBudget {
    /// Waits until `agent` may make its next model call: no budget is used up, or the user has raised the budget. All
    /// agents that wait for the same budget share one request. A denial applies to the agent and its subagents for the
    /// rest of the turn, without another request.
    ///
    /// # Errors
    /// Returns the reason if the request is not approved or the crew stops first.
    async fn wait_for_budget(&self, agent: &Name) -> Result<(), String> {
        loop {
            self.refresh_periods().await;
            let Some(reached) = self.reached_budget(agent) else {
                return Ok(());
            };
            if let Some(why) = lock(&self.denied).get(&charged_agent(agent)) {
                return Err(why.clone());
            }
            if self.broker.approvers().of(RequestKind::Budget) == Approver::Ask {
                let request = RequestKind::Budget;
                self.context
                    .publish(
                        AgentEvent::ActivityChanged {
                            activity: Activity::NeedsYou { request },
                        }
                        .of(agent.clone()),
                    )
                    .await;
            }
            let question = self.question(&reached.key);
            let before = question.denials.load(Ordering::SeqCst);
            let mut last = question.asking.lock().await;
            if question.denials.load(Ordering::SeqCst) != before {
                return self.deny(agent, last.clone());
            }
            // Another agent may have asked in the meantime, so that the user has already raised the budget.
            let Some(reached) = self.reached_budget(agent).filter(|r| r.key == reached.key) else {
                continue;
            };
            let from = charged_agent(agent);
            let body = reached.question(&from);
            let asking = NewRequest::new(RequestKind::Budget, &from, body);
            let deciding = self.broker.ask(&from, asking).await?.decision();
            let request = tokio::select! {
                decided = deciding => decided?,
                // This withdraws the request.
                () = self.await_end_of_period(agent, &reached.key) => continue,
            };
            match request.status {
                RequestStatus::Approved => {
                    self.refresh_periods().await;
                    lock(&self.ledger).raise(&reached);
                    self.publish_limits().await;
                }
                RequestStatus::Rejected | RequestStatus::Withdrawn | RequestStatus::Pending => {
                    *last = denial(&reached, &request);
                    question.denials.fetch_add(1, Ordering::SeqCst);
                    return self.deny(agent, last.clone());
                }
            }
        }
    }

    /// Waits until the budget `key`, which limits a day or a month, no longer blocks `agent`, usually because a new day
    /// or month has begun. Never returns for other budgets.
    async fn await_end_of_period(&self, agent: &Name, key: &BudgetKey) {
        if !key.0.is_of_period() {
            return std::future::pending().await;
        }
        loop {
            tokio::time::sleep(PERIOD_CHECK).await;
            self.refresh_periods().await;
            if self.reached_budget(agent).is_none_or(|now| now.key != *key) {
                return;
            }
        }
    }

    async fn count(&self, agent: &Name, usage: Usage, cost: Option<Cost>) {
        lock(&self.ledger).add_usage(agent, usage, cost);
        self.count_period(usage, cost).await;
        let warnings = lock(&self.ledger).take_warnings(agent);
        for text in warnings {
            self.context.notice(NoticeLevel::Warn, text).await;
        }
    }

    /// Adds usage to the current day and month, if a budget limits them, and publishes the totals. Warns the user if
    /// the file with the usage is damaged, and the first time that it cannot be written.
    async fn count_period(&self, usage: Usage, cost: Option<Cost>) {
        let Some(periods) = &self.periods else {
            return;
        };
        let mut used = UsageTotal::default();
        used.add(usage, cost);
        match periods.add(used).await {
            Ok(update) => {
                lock(&self.ledger).set_periods(update.periods);
                if let Some(kept) = update.damaged {
                    let text = format!(
                        "The file with the usage of the day and the month is damaged, so their budgets count from 0 again. It was renamed to {}.",
                        kept.display()
                    );
                    self.context.notice(NoticeLevel::Warn, text).await;
                }
            }
            Err(error) => {
                let known = lock(&self.ledger).periods().clone();
                let mut known = known.on(&periods.today());
                known.day.add_total(used);
                known.month.add_total(used);
                lock(&self.ledger).set_periods(known);
                if !self.has_failed.swap(true, Ordering::SeqCst) {
                    let text = format!(
                        "The usage of the day and the month cannot be saved, so other crews do not see it: {error}"
                    );
                    self.context.notice(NoticeLevel::Warn, text).await;
                }
            }
        }
        self.send_limits().await;
    }

    /// Tries once more to write the usage of the day and the month that could not be saved.
    pub async fn save(&self) {
        if let Some(periods) = &self.periods {
            periods.save().await;
        }
    }

    /// Reads what all crews of the user have used in the current day and month, if a budget limits them. If the file
    /// cannot be read, the usage that was read last still applies.
    async fn refresh_periods(&self) {
        if let Some(periods) = &self.periods
            && let Some(read) = periods.read().await
        {
            lock(&self.ledger).set_periods(read);
        }
    }

    /// Asks the user whether an agent that makes no progress may go on. See [`BudgetGate::ask_to_go_on`].
    async fn ask_to_go_on(&self, agent: &Name, reason: String) -> Result<String, String> {
        let kind = RequestKind::Question;
        if self.broker.approvers().of(kind) == Approver::Ask {
            let activity = Activity::NeedsYou { request: kind };
            let event = AgentEvent::ActivityChanged { activity };
            self.context.publish(event.of(agent.clone())).await;
        }
        let asking = NewRequest {
            choices: vec![GO_ON.into(), STOP.into()],
            ..NewRequest::new(kind, agent, reason)
        };
        let request = self.broker.ask(agent, asking).await?.decision().await?;
        let answer = read_go_on(&request);
        if answer.is_err() {
            lock(&self.stopped).insert(agent.clone());
        }
        answer
    }

    /// Publishes the limits with the current usage of the day and the month.
    pub async fn publish_limits(&self) {
        self.refresh_periods().await;
        self.send_limits().await;
    }

    async fn send_limits(&self) {
        self.context
            .publish(EventKind::Crew(CrewEvent::LimitsChanged(self.limits())))
            .await;
    }

    /// Warns the user about each budget that has no effect. Budgets in US dollars have no effect if the price of the
    /// crew's shared model is unknown. Budgets of a day or month have no effect if there is no home directory for the
    /// file with their usage.
    pub async fn warn_without_effect(&self) {
        let budgets = lock(&self.ledger).budgets();
        if budgets.has_period() && self.periods.is_none() {
            let text = "The budgets of the day and the month have no effect: no home directory was found for the file with their usage. Set HOME.";
            self.context.notice(NoticeLevel::Warn, text).await;
        }
        let model_config = self.models.current();
        if model_config.known_price().is_some() {
            return;
        }
        lock(&self.unpriced).insert(model_config.name.clone());
        for budget in cost_budgets(&budgets) {
            let text = format!(
                "The setting {} has no effect: the price of {} is not known. Set the price in [prices.\"{}\"].",
                budget.setting(),
                model_config.name,
                model_config.name
            );
            self.context.notice(NoticeLevel::Warn, text).await;
        }
    }

    async fn warn_without_price(&self, model: &str) {
        let budgets = lock(&self.ledger).budgets();
        let settings: Vec<&str> = cost_budgets(&budgets).map(UsageBudget::setting).collect();
        let is_new = {
            let mut unpriced = lock(&self.unpriced);
            unpriced.len() < UNPRICED_MAX && unpriced.insert(model.to_string())
        };
        if settings.is_empty() || !is_new {
            return;
        }
        let model = one_line(&clip(model, MODEL_NAME_MAX));
        let text = format!(
            "The calls of {model} do not count towards {}, because the price of {model} is not known. Set the price in [prices.\"{model}\"].",
            settings.join(", ")
        );
        self.context.notice(NoticeLevel::Warn, text).await;
    }
}

/// Returns the kinds of budgets in US dollars that are set.
fn cost_budgets(budgets: &UsageBudgets) -> impl Iterator<Item = UsageBudget> {
    let all = UsageBudget::ALL.into_iter();
    all.filter(|budget| budget.is_cost() && budgets.limit(*budget).is_some())
}

/// Reads the answer to the question whether an agent may go on. Returns the user's advice for the agent, which may be
/// empty. If the agent must stop, returns the reason as an error.
fn read_go_on(request: &Request) -> Result<String, String> {
    let answer = request.comment.trim();
    if request.status == RequestStatus::Approved && !answer.eq_ignore_ascii_case(STOP) {
        let is_advice = !answer.eq_ignore_ascii_case(GO_ON);
        return Ok(if is_advice {
            answer.into()
        } else {
            String::new()
        });
    }
    let by = request.decided_by.as_str();
    Err(if by == Name::policy().as_str() {
        "it makes no progress, and no user was present to approve continuing".into()
    } else {
        format!("it makes no progress, and {by} stopped it")
    })
}

/// Returns, as one line for the agent, that the budget `reached` is used up and why `request` did not raise it.
fn denial(reached: &ReachedBudget, request: &Request) -> String {
    let fact = reached.summary();
    let by = request.decided_by.as_str();
    if by == Name::policy().as_str() {
        return format!("{fact}: no user was present to raise it");
    }
    match request.comment.trim() {
        "" => format!("{fact}: {by} did not raise it"),
        comment => format!("{fact}: {by} did not raise it and said: {comment}"),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::domain::ids::RequestId;
    use crate::domain::timestamp::Timestamp;

    #[test]
    fn only_stop_and_no_answer_stop_an_agent_without_progress() {
        let stopped = |by: &str| Err(format!("it makes no progress, and {by} stopped it"));
        let (approved, rejected) = (RequestStatus::Approved, RequestStatus::Rejected);
        let alone = "it makes no progress, and no user was present to approve continuing";
        for (status, by, comment, expected) in [
            (approved, "user", "Go on", Ok(String::new())),
            (approved, "user", "", Ok(String::new())),
            (
                approved,
                "user",
                " use make check ",
                Ok("use make check".into()),
            ),
            (approved, "user", "stop", stopped("user")),
            (rejected, "user", "", stopped("user")),
            (rejected, "policy", "no user is present", Err(alone.into())),
        ] {
            let (id, lead) = (RequestId("r".into()), Name::lead());
            let kind = RequestKind::Question;
            let request = Request {
                status,
                decided_by: by.into(),
                comment: comment.into(),
                ..Request::new(id, kind, lead.clone(), lead, "x".into(), Timestamp(1.0))
            };
            assert_eq!(read_go_on(&request), expected, "{status} {comment}");
        }
    }
}
