//! Tests of the components that handle requests, each on real files.

use std::sync::{Arc, RwLock};
use std::time::Duration;

use pretty_assertions::assert_eq;

use super::approvers::Approvers;
use super::budget::TeamBudget;
use super::parts::BudgetParts;
use super::request_broker::{RequestBroker, RequestTicket};
use super::request_reminders::{REMINDERS_MAX, RequestReminders};
use super::session_permissions::SessionPermissions;
use super::shutdown::Shutdowns;
use super::test_support::{LEAD_DECIDES, TestCrew, bob};
use crate::agent::budget_gate::BudgetGate;
use crate::domain::budget::UsageBudgets;
use crate::domain::ids::Name;
use crate::domain::permission::PermissionScope;
use crate::domain::request::{
    Approver, Decision, NewRequest, PendingCall, Request, RequestKind, RequestStatus, Verdict,
};
use crate::domain::usage::Usage;
use crate::protocol::event::{EventKind, TeamEvent};
use crate::store::{Mailbox, Requests, SpendingFile};

fn permission(body: &str) -> NewRequest {
    NewRequest::new(RequestKind::Permission, &bob(), body.into())
}

async fn only_pending(broker: &RequestBroker) -> Request {
    let mut pending = broker.read_pending().await.unwrap();
    assert_eq!(pending.len(), 1);
    pending.remove(0)
}

fn build_decision(request: &Request, verdict: Verdict, by: Name) -> Decision {
    Decision::on(request, verdict, by, "fine".into())
}

#[tokio::test]
async fn lead_gets_a_message_and_its_decision_wakes_the_agent() {
    let crew = TestCrew::new();
    let broker = crew.broker(LEAD_DECIDES);
    let ticket = broker.ask(&bob(), permission("ls")).await.unwrap();
    assert!(broker.has_pending() && crew.signals.is_busy());
    let inbox = Mailbox::open(crew.dir.path()).peek(&Name::lead()).unwrap();
    assert_eq!(inbox.messages[0].content, "ls");
    let request = only_pending(&broker).await;
    assert_eq!(inbox.messages[0].request_id(), Some(request.id.clone()));
    let by_lead = build_decision(&request, Verdict::Approve, Name::lead());
    broker.decide(by_lead).await.unwrap();
    let answer = ticket.decision().await.unwrap();
    assert_eq!(answer.status, RequestStatus::Approved);
    assert_eq!(answer.comment, "fine");
    assert!(!broker.has_pending() && !crew.signals.is_busy());
}

#[tokio::test]
async fn settings_decide_without_an_approver() {
    let crew = TestCrew::new();
    let broker = crew.broker(Approvers {
        tool: Approver::Deny,
        ..LEAD_DECIDES
    });
    let filed = broker.file(&bob(), permission("ls")).await.unwrap();
    assert_eq!(filed.status, RequestStatus::Rejected);
    assert_eq!(filed.decided_by, Name::policy().as_str());
}

#[tokio::test]
async fn agent_that_no_longer_waits_withdraws_its_request() {
    let mut crew = TestCrew::new();
    let broker = crew.broker(LEAD_DECIDES);
    let ticket = broker.ask(&bob(), permission("ls")).await.unwrap();
    let request = only_pending(&broker).await;
    assert!(broker.only_waits(&bob()));
    drop(ticket);
    crew.tasks_end().await;
    assert!(!broker.only_waits(&bob()));
    assert_eq!(broker.read_pending().await.unwrap(), []);
    let last = crew.take_events().into_iter().rev().find_map(|e| match e {
        EventKind::Team(TeamEvent::RequestChanged { request }) => Some(request),
        _ => None,
    });
    let withdrawn = last.unwrap();
    assert_eq!(withdrawn.id, request.id);
    assert_eq!(withdrawn.status, RequestStatus::Withdrawn);
}

#[tokio::test]
async fn request_whose_agent_waits_no_longer_stays_open_and_is_decided_by_message() {
    let crew = TestCrew::new();
    let (_handle, _inbox) = crew.agent(&bob());
    let broker = crew.broker(LEAD_DECIDES);
    let plan = NewRequest::new(RequestKind::Plan, &bob(), "1. Write it.".into());
    let ticket = broker.ask(&bob(), plan.clone()).await.unwrap();
    let answer = ticket.decision_within(Some(Duration::ZERO)).await.unwrap();
    assert_eq!(answer.status, RequestStatus::Pending);
    let request = only_pending(&broker).await;
    assert!(broker.has_left_open(&bob()) && !broker.has_left_open(&Name::lead()));
    // The same plan again is the same request.
    let ticket = broker.ask(&bob(), plan).await.unwrap();
    assert!(!broker.has_left_open(&bob()));
    ticket.decision_within(Some(Duration::ZERO)).await.unwrap();
    assert_eq!(only_pending(&broker).await.id, request.id);
    let by_lead = build_decision(&request, Verdict::Approve, Name::lead());
    broker.decide(by_lead).await.unwrap();
    assert!(!broker.has_left_open(&bob()));
    let unread = Mailbox::open(crew.dir.path()).peek(&bob()).unwrap();
    assert!(unread.messages[0].content.starts_with("Approved: fine"));
}

#[tokio::test]
async fn request_that_was_given_up_is_kept_for_the_next_run() {
    let crew = TestCrew::new();
    let broker = crew.broker(LEAD_DECIDES);
    let ticket = broker.ask(&bob(), permission("ls")).await.unwrap();
    broker.give_up(&broker.read_pending().await.unwrap());
    crew.context.stop.cancel();
    drop(ticket);
    crew.tasks_end().await;
    assert_eq!(broker.agents_given_up().await, [bob()]);
}

#[tokio::test]
async fn permission_given_while_no_agent_waited_is_used_once() {
    let crew = TestCrew::new();
    let (_handle, _inbox) = crew.agent(&bob());
    let broker = crew.broker(LEAD_DECIDES);
    let filed = broker.file(&bob(), permission("ls")).await.unwrap();
    let by_lead = build_decision(&filed, Verdict::Approve, Name::lead());
    broker.decide(by_lead).await.unwrap();
    let unread = Mailbox::open(crew.dir.path()).peek(&bob()).unwrap();
    assert_eq!(
        unread.messages[0].content,
        "Approved: fine. Continue with this now: ls"
    );
    let granted = broker.ask(&bob(), permission("ls")).await.unwrap();
    assert!(matches!(granted, RequestTicket::Decided(_)));
    let again = broker.ask(&bob(), permission("ls")).await.unwrap();
    assert!(matches!(again, RequestTicket::Pending(_)));
}

/// Another process approves the request of a crew that has ended. The agent repeats its call before this crew has read
/// the decision.
#[tokio::test]
async fn permission_given_just_before_a_repeated_call_is_used() {
    let crew = TestCrew::new();
    let (_handle, _inbox) = crew.agent(&bob());
    let broker = crew.broker(LEAD_DECIDES);
    let filed = broker.file(&bob(), permission("ls")).await.unwrap();
    let elsewhere = Requests::open(crew.dir.path());
    let by_lead = build_decision(&filed, Verdict::Approve, Name::lead());
    elsewhere.decide(&by_lead, crew.context.now()).unwrap();
    let granted = broker.ask(&bob(), permission("ls")).await.unwrap();
    assert!(matches!(granted, RequestTicket::Decided(_)));
    let again = broker.ask(&bob(), permission("ls")).await.unwrap();
    assert!(matches!(again, RequestTicket::Pending(_)));
}

#[tokio::test]
async fn reminders_end_with_a_warning_and_requests_given_up() {
    let mut crew = TestCrew::new();
    let (_handle, mut inbox) = crew.agent(&Name::lead());
    let broker = crew.broker(LEAD_DECIDES);
    let reminders = RequestReminders::new(crew.context.clone(), broker.clone(), crew.lead.clone());
    broker.file(&bob(), permission("ls")).await.unwrap();
    let pending = broker.pending_without_user().await.unwrap();
    for _ in 0..REMINDERS_MAX {
        assert!(reminders.remind(&pending).await);
        assert!(inbox.try_recv().is_ok());
    }
    crew.take_events();
    assert!(!reminders.remind(&pending).await);
    assert!(inbox.try_recv().is_err());
    assert_eq!(
        crew.notices(),
        [
            "No decision on a permission for bob: the lead did not decide and gets no more reminders."
        ]
    );
    assert_eq!(broker.agents_given_up().await, [bob()]);
}

#[tokio::test]
async fn requests_for_the_user_keep_the_crew_from_being_idle() {
    let crew = TestCrew::new();
    let broker = crew.broker(Approvers {
        tool: Approver::Ask,
        ..LEAD_DECIDES
    });
    assert_eq!(broker.pending_without_user().await, Some(Vec::new()));
    broker.file(&bob(), permission("ls")).await.unwrap();
    assert_eq!(broker.pending_without_user().await, None);
}

#[tokio::test]
async fn session_permission_approves_later_requests_that_it_covers() {
    let mut crew = TestCrew::new();
    let broker = crew.broker(LEAD_DECIDES);
    let rules = Arc::new(RwLock::default());
    let permissions =
        SessionPermissions::new(crew.context.clone(), broker.clone(), Arc::clone(&rules));
    let command = "cargo publish";
    let asking = |from: &Name| NewRequest {
        call: Some(PendingCall {
            tool: "bash".into(),
            input: command.into(),
            why: "it publishes".into(),
            scopes: Vec::new(),
        }),
        ..NewRequest::new(RequestKind::Permission, from, command.into())
    };
    let first = broker.file(&bob(), asking(&bob())).await.unwrap();
    let scope = PermissionScope::Exact {
        command: command.into(),
    };
    permissions.allow(&first.id, scope.clone()).await.unwrap();
    assert_eq!(broker.read_pending().await.unwrap(), []);
    let ann = Name::member("ann").unwrap();
    let second = broker.file(&ann, asking(&ann)).await.unwrap();
    permissions.approve_covered().await;
    let second = broker.get(&second.id).await.unwrap();
    assert_eq!(second.status, RequestStatus::Approved);
    assert_eq!(rules.read().unwrap().session, [scope]);
    permissions.revoke(1).await.unwrap();
    assert_eq!(rules.read().unwrap().session, []);
    assert!(permissions.revoke(1).await.is_err());
    let notices = crew.notices();
    assert!(notices[0].starts_with("user allowed exactly `cargo publish`"));
    assert!(notices[1].starts_with("user revoked exactly `cargo publish`"));
}

fn budget(crew: &TestCrew, approver: Approver) -> TeamBudget {
    let broker = crew.broker(Approvers {
        budget: approver,
        ..LEAD_DECIDES
    });
    let budgets = UsageBudgets {
        agent_tokens: Some(10),
        ..UsageBudgets::default()
    };
    let parts = BudgetParts {
        budgets,
        ..BudgetParts::default()
    };
    TeamBudget::new(crew.context.clone(), broker, crew.models(), 4, parts)
}

#[tokio::test]
async fn approved_budget_is_raised_and_a_denied_one_ends_the_turn() {
    let crew = TestCrew::new();
    let used = Usage {
        output: 11,
        ..Usage::default()
    };
    let denied = budget(&crew, Approver::Deny);
    assert_eq!(denied.wait_for_budget(&bob()).await, Ok(()));
    denied.restore(&bob(), used, None);
    assert!(denied.is_over(&bob()));
    let why = denied.wait_for_budget(&bob()).await.unwrap_err();
    assert!(why.ends_with("no user was present to raise it"), "{why}");
    let subagent = Name::subagent(&bob(), 1);
    assert_eq!(denied.wait_for_budget(&subagent).await, Err(why));
    let raised = budget(&crew, Approver::Auto);
    raised.restore(&bob(), used, None);
    assert_eq!(raised.wait_for_budget(&bob()).await, Ok(()));
    assert!(!raised.is_over(&bob()));
}

#[tokio::test]
async fn models_whose_calls_do_not_count_are_named_once() {
    let mut crew = TestCrew::new();
    let budget = |budgets| {
        let parts = BudgetParts {
            budgets,
            ..BudgetParts::default()
        };
        TeamBudget::new(
            crew.context.clone(),
            crew.broker(LEAD_DECIDES),
            crew.models(),
            4,
            parts,
        )
    };
    let tokens = budget(UsageBudgets {
        team_tokens: Some(10),
        ..UsageBudgets::default()
    });
    BudgetGate::warn_without_price(&tokens, "own").await;
    let costs = budget(UsageBudgets {
        team_cost: Some(1.0),
        agent_cost: Some(1.0),
        ..UsageBudgets::default()
    });
    for model in ["own", "own"] {
        BudgetGate::warn_without_price(&costs, model).await;
    }
    assert_eq!(
        crew.notices(),
        [
            "The calls of own do not count towards budget.team_cost, budget.agent_cost, because the price of own is not known. Set the price in [prices.\"own\"]."
        ]
    );
}

#[tokio::test]
async fn crews_share_the_budget_of_the_day_and_a_denied_question_stops() {
    let mut crew = TestCrew::new();
    let dir = tempfile::tempdir().unwrap();
    let file = SpendingFile::new(&dir.path().join("state"));
    let used = |output| Usage {
        output,
        ..Usage::default()
    };
    let new_crew = || {
        let broker = crew.broker(Approvers {
            budget: Approver::Deny,
            question: Approver::Deny,
            ..LEAD_DECIDES
        });
        let parts = BudgetParts {
            budgets: UsageBudgets {
                day_tokens: Some(100),
                ..UsageBudgets::default()
            },
            spending: Some(file.clone()),
            ..BudgetParts::default()
        };
        TeamBudget::new(crew.context.clone(), broker, crew.models(), 4, parts)
    };
    let (first, second) = (new_crew(), new_crew());
    // The usage of an earlier run of a session was recorded then.
    first.restore(&bob(), used(1000), None);
    assert_eq!(first.wait_for_budget(&bob()).await, Ok(()));
    assert!(!file.path().exists());
    BudgetGate::count(&first, &bob(), used(85), None).await;
    assert_eq!(second.wait_for_budget(&bob()).await, Ok(()));
    BudgetGate::count(&second, &bob(), used(20), None).await;
    let why = first.wait_for_budget(&bob()).await.unwrap_err();
    assert!(
        why.starts_with("today all crews have used 105 tokens, but the budget is 100 tokens"),
        "{why}"
    );
    assert!(!first.was_stopped(&bob()));
    let (bob_name, reason) = (bob(), "It reads the same file.".into());
    let stopped = BudgetGate::ask_to_go_on(&first, &bob_name, reason);
    let why = stopped.await.unwrap_err();
    assert!(
        why.ends_with("no user was present to approve continuing"),
        "{why}"
    );
    assert!(first.was_stopped(&bob()));
    first.begin(&bob());
    assert!(!first.was_stopped(&bob()));
    let damaged = dir.path().join("state/spending.json");
    std::fs::write(&damaged, "{").unwrap();
    BudgetGate::count(&first, &bob(), used(5), None).await;
    assert_eq!(first.wait_for_budget(&bob()).await, Ok(()));
    let notices = crew.notices();
    assert_eq!(
        notices[0],
        "Today all crews have used 85% of the budget: 85 tokens of 100 tokens (setting budget.day_tokens)."
    );
    assert!(
        notices.iter().any(|text| text.contains("is damaged")),
        "{notices:?}"
    );
}

#[tokio::test]
async fn only_an_approved_shutdown_request_can_be_answered() {
    let crew = TestCrew::new();
    let (handle, _inbox) = crew.agent(&bob());
    let broker = crew.broker(LEAD_DECIDES);
    let shutdowns = Shutdowns::new(
        crew.context.clone(),
        crew.registry.clone(),
        crew.delivery.clone(),
        crew.followup(),
        crew.requests.clone(),
    );
    let asking = NewRequest::new(RequestKind::Shutdown, &bob(), "done".into());
    let request = broker.file(&Name::user(), asking).await.unwrap();
    let (name, agree) = (bob(), Verdict::Approve);
    let answer = || shutdowns.answer(&name, &request.id, agree, String::new());
    assert!(answer().await.is_err());
    let approval = build_decision(&request, Verdict::Approve, Name::user());
    broker.decide(approval).await.unwrap();
    assert_eq!(shutdowns.open(&bob()).await.len(), 1);
    assert_eq!(answer().await, Ok(()));
    assert!(handle.mailbox.take_shutdown_answer().is_some());
    shutdowns.finish_all(&bob()).await;
    assert_eq!(shutdowns.open(&bob()).await, []);
}
