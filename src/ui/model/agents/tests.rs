//! Tests of the limits on agents in memory, and that the usage of dropped agents is kept.

use crate::domain::team::Member;
use crate::protocol::event::{Compaction, CompactionMethod};
use crate::ui::model::agents::*;

#[test]
fn number_of_agents_is_limited_and_the_lead_is_kept() {
    let mut agents = Agents::default();
    agents.entry(&Name::lead());
    for i in 0..AGENTS_MAX * 2 {
        agents.entry(&Name::member(&format!("a{i}")).unwrap());
    }
    assert_eq!(agents.known.len(), AGENTS_MAX);
    assert!(agents.get(&Name::lead()).is_some());
}

/// Returns for each of the agents `names` the number of 64-KiB entries in its conversation, and whether the last entry
/// is still there.
fn retained_entries(agents: &Agents, names: &[&str]) -> Vec<(usize, bool)> {
    let of = |name: &&str| {
        let agent = agents.get(&Name::party(name).unwrap()).unwrap();
        let entries = agent.transcript.bytes() / (64 * 1024);
        (entries, agent.transcript.ends_with("the last"))
    };
    names.iter().map(of).collect()
}

fn speak(agents: &mut Agents, name: &str, entries: usize) {
    let agent = Name::party(name).unwrap();
    for n in 1..=entries {
        let words = if n == entries { "the last" } else { "" };
        let said = // About 64 KiB with the overhead of an entry.
            AgentEvent::prompt("x".repeat(64 * 1024 - 512) + words);
        agents.apply(&agent, Timestamp(1.0), &said);
    }
}

#[test]
fn longest_conversation_shrinks_first_but_not_the_leads() {
    let mut agents = Agents::default();
    let names = ["lead", "short", "long", "longer"];
    for (name, entries) in names.iter().zip([200, 10, 80, 90]) {
        speak(&mut agents, name, entries);
    }
    // 12 MiB are 192 entries of 64 KiB.
    assert_eq!(
        retained_entries(&agents, &names),
        [(200, true), (10, true), (80, true), (90, true)]
    );
    speak(&mut agents, "short", 20);
    let (short, long, longer) = (30, 80, 81);
    assert_eq!(
        retained_entries(&agents, &names),
        [(200, true), (short, true), (long, true), (longer, true)]
    );
}

#[test]
fn dropped_agents_keep_their_usage() {
    let mut agents = Agents::default();
    for n in 1..=AGENTS_MAX as u64 + 5 {
        let name = Name::subagent(&Name::lead(), n);
        let agent = agents.entry(&name);
        agent.usage.input = 10;
        agent.cost = Cost::from_fields(Some(0.5), false);
        agent.activity = Some(Activity::Gone);
    }
    let all = AGENTS_MAX as u64 + 5;
    assert_eq!(agents.known.len(), AGENTS_MAX);
    assert_eq!(agents.tokens(), all * 10);
    let each = (0..all).map(|_| 0.5);
    let each = Cost::from_fields(Some(each.sum()), false);
    assert_eq!(agents.cost(), each);
}

fn usage_event(total: u64, calls: u64, cost: Option<f64>) -> AgentEvent {
    AgentEvent::UsageChanged {
        total: Usage {
            input: total,
            ..Usage::default()
        },
        context: 0,
        window: None,
        assumed: false,
        cost,
        estimated: false,
        calls,
    }
}

#[test]
fn respawned_agent_keeps_previous_usage() {
    let mut agents = Agents::default();
    let bob = Name::member("bob").unwrap();
    let usages = [
        (100, 1, Some(1.0)),
        (300, 2, Some(3.0)),
        // A new agent with the same name.
        (50, 1, Some(0.5)),
        (80, 2, Some(0.75)),
        // The same agent after a restart.
        (80, 2, Some(0.75)),
        // A new agent whose first call used more than the previous agent in total.
        (900, 1, Some(9.0)),
        // A new agent with the same number of calls.
        (1000, 1, Some(10.0)),
    ];
    let mut seen = Vec::new();
    for (total, calls, cost) in usages {
        agents.apply(&bob, Timestamp(1.0), &usage_event(total, calls, cost));
        let cost = agents.cost().map(|cost| cost.dollars);
        seen.push((agents.tokens(), agents.total_usage().calls, cost));
    }
    let expected = [
        (100, 1, Some(1.0)),
        (300, 2, Some(3.0)),
        (350, 3, Some(3.5)),
        (380, 4, Some(3.75)),
        (380, 4, Some(3.75)),
        (1280, 5, Some(12.75)),
        (2280, 6, Some(22.75)),
    ];
    assert_eq!(seen, expected);
}

#[test]
fn usage_of_a_dropped_subagent_counts_for_its_parent() {
    let mut agents = Agents::default();
    agents.entry(&Name::lead());
    for n in 1..=AGENTS_MAX as u64 {
        agents.entry(&Name::subagent(&Name::lead(), n)).usage.input = 10;
    }
    let lead = agents.get(&Name::lead()).map(|a| a.past_subagents.usage);
    assert_eq!(lead.map(|u| u.input), Some(10));
    assert_eq!(agents.past(), (0, Used::default()));
    assert_eq!(agents.tokens(), AGENTS_MAX as u64 * 10);
}

#[test]
fn compaction_updates_the_context_size_at_once() {
    let mut agent = AgentView {
        context: 90,
        window: Some(100),
        ..AgentView::default()
    };
    let compaction = Compaction {
        how: CompactionMethod::Results { count: 1 },
        before: 90,
        after: 30,
    };
    let event = AgentEvent::Compacted { compaction };
    agent.apply(Timestamp(1.0), &event);
    assert_eq!(agent.context_share(), Some(30));
}

#[test]
fn model_change_brings_the_window_of_the_new_model() {
    let mut agent = AgentView {
        context: 50,
        ..AgentView::default()
    };
    let mut change = |model: &str, window| {
        let event = AgentEvent::ModelChanged {
            model: model.into(),
            effort: None,
            window,
            assumed: false,
        };
        agent.apply(Timestamp(1.0), &event);
        agent.context_share()
    };
    assert_eq!(change("small", Some(100)), Some(50));
    assert_eq!(change("small", None), Some(50), "the same model");
    assert_eq!(change("large", Some(500)), Some(10));
    assert_eq!(change("unknown", None), None);
}

#[test]
fn shared_model_changes_the_window_of_its_agents_only() {
    let mut agents = Agents::default();
    let names = ["lead", "ann", "bob"].map(|name| Name::party(name).unwrap());
    let models = ["shared", "own-1", ""];
    for (name, model) in names.iter().zip(models) {
        let agent = agents.entry(name);
        agent.model =
            AgentModelLabel::new(model, Some(RoleEffort::High).filter(|_| !model.is_empty()));
        agent.context = 50;
        agent.window = Some(100);
    }
    let shares = |agents: &Agents| {
        names
            .each_ref()
            .map(|n| agents.get(n).unwrap().context_share())
    };
    agents.replace_window("shared", Some(500));
    assert_eq!(shares(&agents), [Some(10), Some(50), Some(10)]);
    agents.replace_window("shared", None);
    assert_eq!(shares(&agents), [None, Some(50), None]);
}

#[test]
fn context_share_is_in_percent_of_the_window() {
    let cases = [
        (0, Some(100), Some(0)),
        (41, Some(100), Some(41)),
        (1, Some(200), Some(1)),
        (5, None, None),
        (5, Some(0), None),
        (500, Some(100), Some(500)),
    ];
    for (context, window, expected) in cases {
        let agent = AgentView {
            context,
            window,
            ..AgentView::default()
        };
        assert_eq!(agent.context_share(), expected);
    }
}

#[test]
fn agent_in_its_first_turn_is_busy_before_its_activity_is_known() {
    let mut agents = Agents::default();
    let team = Team::default();
    agents.apply(&Name::lead(), Timestamp(1.0), &AgentEvent::TurnStarted);
    assert_eq!(agents.activity(&Name::lead(), &team), Activity::Thinking);
    let end = TurnEnd::Done;
    agents.apply(
        &Name::lead(),
        Timestamp(2.0),
        &AgentEvent::TurnEnded { end },
    );
    assert_eq!(agents.activity(&Name::lead(), &team), Activity::Idle);
}

#[test]
fn teammates_of_other_hosts_are_shown_again_after_the_lead_has_joined_again() {
    let member = |name: &str, host: &str, status| Member {
        host: host.into(),
        status,
        ..Member::new(Name::member(name).unwrap(), "worker")
    };
    let team = Team {
        members: vec![
            member("local", "", MemberStatus::Idle),
            member("gpu-1", "gpu", MemberStatus::Working),
            member("gpu-2", "gpu", MemberStatus::Shutdown),
        ],
        ..Team::default()
    };
    let mut agents = Agents::default();
    for member in &team.members {
        agents.entry(&member.name);
    }
    agents.end_of_session();
    agents.restart_remote(&team);
    let shown: Vec<Activity> = team
        .members
        .iter()
        .map(|member| agents.activity(&member.name, &team))
        .collect();
    assert_eq!(shown, [Activity::Gone, Activity::Thinking, Activity::Gone]);
}
