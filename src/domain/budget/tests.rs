//! Tests of the budgets: when they are reached, raised and warned about, and what ends with a day or a month.

use pretty_assertions::assert_eq;

use super::*;
use crate::domain::spending::Day;

fn name(text: &str) -> Name {
    match text.split_once('.') {
        Some((parent, n)) => Name::subagent(&name(parent), n.parse().unwrap()),
        None => Name::party(text).unwrap(),
    }
}

fn tokens(total: u64) -> Usage {
    Usage {
        input: total / 2,
        output: total - total / 2,
        ..Usage::default()
    }
}

#[allow(clippy::unnecessary_wraps)] // the type of the argument
fn cost(dollars: f64) -> Option<Cost> {
    Cost::from_fields(Some(dollars), false)
}

const ALL: UsageBudgets = UsageBudgets {
    team_tokens: Some(1000),
    agent_tokens: Some(400),
    team_cost: Some(5.0),
    agent_cost: Some(2.0),
    day_tokens: None,
    day_cost: None,
    month_tokens: None,
    month_cost: None,
};

#[test]
fn reached_budget_is_found_for_agent_and_team() {
    type Spent<'a> = &'a [(&'a str, u64, f64)];
    let cases: &[(Spent, &str, Option<&str>)] = &[
        (&[], "bob", None),
        (&[("bob", 399, 1.99)], "bob", None),
        (&[("bob", 400, 0.0)], "bob", Some("budget.agent_tokens")),
        (&[("bob", 400, 0.0)], "ann", None),
        (&[("bob", 0, 2.5)], "bob", Some("budget.agent_cost")),
        // Usage of subagents is charged to their parent. When the parent's budget is used up, its subagents are
        // blocked too.
        (
            &[("bob.1", 200, 0.0), ("bob.2", 200, 0.0)],
            "bob",
            Some("budget.agent_tokens"),
        ),
        (&[("bob", 400, 0.0)], "bob.3", Some("budget.agent_tokens")),
        // The team's budgets are checked first and block all agents.
        (
            &[("bob", 399, 0.0), ("ann", 399, 0.0), ("cid.1", 202, 0.0)],
            "lead",
            Some("budget.team_tokens"),
        ),
        (
            &[("bob", 399, 1.9), ("ann", 399, 1.9), ("cid", 0, 1.9)],
            "bob",
            Some("budget.team_cost"),
        ),
    ];
    for (spent, who, expected) in cases {
        let mut ledger = Ledger::new(ALL);
        for (agent, used, cost_used) in *spent {
            ledger.add_usage(&name(agent), tokens(*used), cost(*cost_used));
        }
        let reached = ledger.reached_budget(&name(who));
        let setting = reached.map(|r| r.key.0.setting());
        assert_eq!(setting, *expected, "{who} after {spent:?}");
    }
    let mut free = Ledger::new(UsageBudgets::default());
    free.add_usage(&name("bob"), tokens(u64::MAX), None);
    free.add_usage(&name("bob"), tokens(u64::MAX), cost(1e9));
    assert_eq!(free.reached_budget(&name("bob")), None);
}

#[test]
fn approval_raises_limit_above_the_amount_used() {
    let mut ledger = Ledger::new(UsageBudgets {
        agent_tokens: Some(400),
        ..UsageBudgets::default()
    });
    for (more, used, allowed, raised) in [
        (400, 400.0, 400.0, 800.0),
        (400, 800.0, 800.0, 1200.0),
        (1700, 2500.0, 1200.0, 2800.0),
    ] {
        ledger.add_usage(&name("bob"), tokens(more), None);
        let reached = ledger.reached_budget(&name("bob")).unwrap();
        let expected = ReachedBudget {
            key: (UsageBudget::AgentTokens, Some(name("bob"))),
            used,
            is_estimate: false,
            allowed,
            raised,
            date: Day::default(),
        };
        assert_eq!(reached, expected);
        ledger.raise(&reached);
        assert_eq!(ledger.reached_budget(&name("bob")), None);
    }
}

#[test]
fn approval_after_the_end_of_a_period_raises_nothing() {
    let mut ledger = Ledger::new(UsageBudgets {
        day_tokens: Some(5),
        month_tokens: Some(15),
        ..UsageBudgets::default()
    });
    let bob = name("bob");
    let on = |ledger: &mut Ledger, date: &str, used| {
        let mut total = UsageTotal::default();
        total.add(tokens(used), None);
        ledger.set_periods(PeriodUsage {
            date: Day(date.into()),
            day: total,
            month: total,
        });
        ledger.reached_budget(&bob).unwrap()
    };
    let yesterday = on(&mut ledger, "2026-11-30", 17);
    assert_eq!(
        (yesterday.key.0, yesterday.raised),
        (UsageBudget::DayTokens, 20.0)
    );
    let today = on(&mut ledger, "2026-12-01", 5);
    ledger.raise(&yesterday);
    assert_eq!(ledger.reached_budget(&bob), Some(today.clone()));
    ledger.raise(&today);
    assert_eq!(ledger.reached_budget(&bob), None);
}

#[test]
fn question_states_usage_budget_and_consequences() {
    let mut ledger = Ledger::new(ALL);
    ledger.add_usage(&name("bob"), tokens(100), cost(2.5));
    let own = ledger.reached_budget(&name("bob")).unwrap();
    assert_eq!(
        own.question(&name("bob")),
        "bob has used $2.50, but the budget is $2.00 (setting budget.agent_cost).\n\
         bob pauses before its next model call.\n\
         Approve raises the budget to $4.00 until crewdeck ends. Reject ends its turn."
    );
    ledger.add_usage(&name("ann"), tokens(12_345), None);
    let team = ledger.reached_budget(&name("bob")).unwrap();
    assert_eq!(
        team.question(&name("bob")),
        "The team has used 12.4k tokens, but the budget is 1.0k tokens (setting budget.team_tokens).\n\
         All agents pause before their next model call.\n\
         Approve raises the budget to 13.0k tokens until crewdeck ends. Reject ends the turns of all paused agents."
    );
}

fn periods(date: &str, day: f64, month: f64) -> PeriodUsage {
    let cost = |cost| UsageTotal {
        tokens: 10,
        cost,
        estimated: true,
    };
    PeriodUsage {
        date: Day(date.into()),
        day: cost(day),
        month: cost(month),
    }
}

const PERIODS: UsageBudgets = UsageBudgets {
    team_tokens: None,
    agent_tokens: None,
    team_cost: None,
    agent_cost: None,
    day_tokens: None,
    day_cost: Some(5.0),
    month_tokens: Some(100),
    month_cost: Some(20.0),
};

#[test]
fn day_and_month_block_all_agents_until_they_end() {
    assert!(PERIODS.has_period());
    assert!(!ALL.has_period());
    let mut ledger = Ledger::new(PERIODS);
    ledger.add_usage(&name("bob"), tokens(1000), cost(100.0));
    assert_eq!(ledger.reached_budget(&name("bob")), None);
    ledger.set_periods(periods("2026-11-29", 5.5, 19.0));
    let day = ledger.reached_budget(&name("bob")).unwrap();
    assert_eq!(
        day.question(&name("bob")),
        "Today all crews have used ~$5.50, but the budget is $5.00 (setting budget.day_cost).\n\
         All agents pause before their next model call.\n\
         Approve raises the budget to $10.00 in this session until the day or crewdeck ends. Reject ends the turns of all paused agents."
    );
    ledger.raise(&day);
    assert_eq!(ledger.reached_budget(&name("bob")), None);
    // The month is used up too, and the next day has its own budget.
    ledger.set_periods(periods("2026-11-30", 5.0, 20.0));
    let reached = |ledger: &Ledger| ledger.reached_budget(&name("bob")).map(|r| r.key.0);
    assert_eq!(reached(&ledger), Some(UsageBudget::DayCost));
    let day = ledger.reached_budget(&name("bob")).unwrap();
    ledger.raise(&day);
    let month = ledger.reached_budget(&name("bob")).unwrap();
    assert_eq!(month.key.0, UsageBudget::MonthCost);
    ledger.raise(&month);
    ledger.set_periods(periods("2026-11-30", 6.0, 21.0));
    assert_eq!(reached(&ledger), None);
    ledger.set_periods(periods("2026-12-01", 0.0, 20.0));
    assert_eq!(reached(&ledger), Some(UsageBudget::MonthCost));
}

#[test]
fn each_budget_warns_once_at_80_percent() {
    let mut ledger = Ledger::new(UsageBudgets {
        agent_tokens: Some(1000),
        day_cost: Some(5.0),
        ..UsageBudgets::default()
    });
    let bob = name("bob");
    ledger.add_usage(&bob, tokens(799), None);
    ledger.set_periods(periods("2026-11-29", 3.99, 3.99));
    assert_eq!(ledger.take_warnings(&bob), Vec::<String>::new());
    ledger.add_usage(&name("bob.1"), tokens(1), None);
    assert_eq!(
        ledger.take_warnings(&name("bob.1")),
        [
            "bob has used 80% of the budget: 800 tokens of 1.0k tokens (setting budget.agent_tokens)."
        ]
    );
    ledger.set_periods(periods("2026-11-29", 4.05, 4.05));
    let day =
        "Today all crews have used 81% of the budget: ~$4.05 of $5.00 (setting budget.day_cost).";
    assert_eq!(ledger.take_warnings(&bob), [day]);
    ledger.set_periods(periods("2026-11-29", 4.06, 4.06));
    assert_eq!(ledger.take_warnings(&bob), Vec::<String>::new());
    // A used-up budget asks instead, and a raised one warns again.
    ledger.add_usage(&bob, tokens(200), None);
    assert_eq!(ledger.take_warnings(&bob), Vec::<String>::new());
    let reached = ledger.reached_budget(&bob).unwrap();
    ledger.raise(&reached);
    ledger.add_usage(&bob, tokens(700), None);
    assert_eq!(
        ledger.take_warnings(&bob),
        [
            "bob has used 85% of the budget: 1.7k tokens of 2.0k tokens (setting budget.agent_tokens)."
        ]
    );
    // The next day warns again.
    ledger.set_periods(periods("2026-11-30", 4.05, 8.0));
    assert_eq!(ledger.take_warnings(&bob), [day]);
}

#[test]
fn raised_limit_is_above_a_multiple_that_is_rounded() {
    assert!(raise_limit(0.39, 1.17) > 1.5);
    for (cents, times) in (1..100).flat_map(|c| (1..40).map(move |t| (c, t))) {
        let base = f64::from(cents) / 100.0;
        for used in [base * f64::from(times), f64::from(cents * times) / 100.0] {
            let more = raise_limit(base, used) - used;
            assert!(more > base / 2.0 && more < base * 1.5, "{base} {used}");
        }
    }
}
