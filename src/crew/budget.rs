//! The crew's budgets. An agent that reaches a budget pauses before its next model call, and a request asks the user to
//! raise the budget.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use futures::future::BoxFuture;

use super::context::{CrewContext, lock};
use super::models::ModelSwitch;
use super::request_broker::RequestBroker;
use crate::agent::budget_gate::BudgetGate;
use crate::domain::budget::{
    BudgetKey, Ledger, ReachedBudget, UsageBudget, UsageBudgets, charged_agent,
};
use crate::domain::ids::Name;
use crate::domain::limits::Limits;
use crate::domain::request::{Approver, NewRequest, Request, RequestKind, RequestStatus};
use crate::domain::team::Activity;
use crate::domain::usage::Usage;
use crate::protocol::event::{AgentEvent, CrewEvent, EventKind, NoticeLevel};

/// The budgets of the crew, what has been used of them, and the requests to raise them.
pub struct TeamBudget {
    context: Arc<CrewContext>,
    broker: Arc<RequestBroker>,
    models: Arc<ModelSwitch>,
    /// Maximum number of concurrent model calls. Only published here; the rate limiter enforces it.
    calls: usize,
    ledger: Mutex<Ledger>,
    /// One entry for each budget that an agent has reached. For each budget, at most one request is pending at a time.
    questions: Mutex<BTreeMap<BudgetKey, Arc<BudgetQuestion>>>,
    /// The agents that may not call their model again in their current turn, each with the reason.
    denied: Mutex<BTreeMap<Name, String>>,
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
        budgets: UsageBudgets,
    ) -> TeamBudget {
        TeamBudget {
            context,
            broker,
            models,
            calls,
            ledger: Mutex::new(Ledger::new(budgets)),
            questions: Mutex::default(),
            denied: Mutex::default(),
        }
    }

    /// Returns the configured budgets, the current limits of the raised budgets, and the maximum number of concurrent
    /// model calls, to be published.
    fn limits(&self) -> Limits {
        let ledger = lock(&self.ledger);
        Limits {
            calls: self.calls,
            budgets: ledger.budgets(),
            raised: ledger.raised_budgets(),
        }
    }

    /// Returns whether a budget that limits `agent` is used up: one of the team, or of the agent itself. A subagent
    /// shares the budgets of its parent.
    pub fn is_over(&self, agent: &Name) -> bool {
        self.reached_budget(agent).is_some()
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
        }
    }

    fn count(&self, agent: &Name, usage: Usage, cost: Option<f64>) {
        lock(&self.ledger).add_usage(agent, usage, cost);
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
            let request = self.broker.ask(&from, asking).await?.decision().await?;
            match request.status {
                RequestStatus::Approved => {
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

    pub async fn publish_limits(&self) {
        self.context
            .publish(EventKind::Crew(CrewEvent::LimitsChanged(self.limits())))
            .await;
    }

    /// Warns the user about each budget in US dollars that has no effect because the price of the crew's shared model
    /// is unknown.
    pub async fn warn_unknown_price(&self) {
        let budgets = lock(&self.ledger).budgets();
        let model_config = self.models.current();
        if model_config.price.is_some() {
            return;
        }
        for budget in [UsageBudget::TeamCost, UsageBudget::AgentCost] {
            if budgets.limit(budget).is_some() {
                let text = format!(
                    "The setting {} has no effect: the price of {} is not known. Set the price in [prices.\"{}\"].",
                    budget.setting(),
                    model_config.name,
                    model_config.name
                );
                self.context.notice(NoticeLevel::Warn, text).await;
            }
        }
    }
}

/// Returns the reason why an agent may not continue, as one line.
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
