//! Which events of agents are carried between hosts. Does no I/O.

use crate::domain::host::HostName;
use crate::domain::ids::Name;
use crate::protocol::event::{CrewEvent, EventKind, NoticeLevel};
use crate::store::HostEvents;

/// Returns whether an event of a worker is carried to the host of the lead.
pub fn is_relayed(event: &EventKind) -> bool {
    match event {
        EventKind::Agent { .. } => !event.is_command_reply(),
        EventKind::Crew(CrewEvent::Notice { .. }) => true,
        EventKind::Crew(_) | EventKind::Board(_) | EventKind::Team(_) => false,
    }
}

/// Returns the events of a batch that are published in the crew of the lead. `is_member_of` is whether the agent is a
/// teammate that runs on the host.
pub fn received_events(
    batch: HostEvents,
    is_member_of: &impl Fn(&Name, &HostName) -> bool,
) -> Vec<EventKind> {
    let HostEvents {
        host,
        events,
        is_cut,
    } = batch;
    let is_own = |name: &Name| {
        let agent = name.parent().unwrap_or_else(|| name.clone());
        !agent.is_lead() && !agent.is_user() && is_member_of(&agent, &host)
    };
    let lost = is_cut.then(|| {
        let text = format!(
            "{host}: some events of this host were removed from the hub before they could be read. The conversations of its agents are not complete here."
        );
        EventKind::notice(NoticeLevel::Warn, text)
    });
    let carried = events.into_iter().filter_map(|event| match event {
        EventKind::Agent { agent, event } => {
            let event = event.of(agent.clone());
            (is_own(&agent) && is_relayed(&event)).then_some(event)
        }
        EventKind::Crew(CrewEvent::Notice { level, agent, text }) => {
            Some(EventKind::Crew(CrewEvent::Notice {
                level,
                agent: agent.filter(|agent| is_own(agent)),
                text: format!("{host}: {text}"),
            }))
        }
        EventKind::Crew(_) | EventKind::Board(_) | EventKind::Team(_) => None,
    });
    lost.into_iter().chain(carried).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use pretty_assertions::assert_eq;

    use super::*;
    use crate::protocol::event::{AgentEvent, TeamEvent};

    fn bob() -> Name {
        Name::member("bob").unwrap()
    }

    fn host(name: &str) -> HostName {
        HostName::parse(name).unwrap()
    }

    fn text(agent: &Name, text: &str) -> EventKind {
        AgentEvent::TextDelta { text: text.into() }.of(agent.clone())
    }

    fn notice_of(agent: Option<Name>, text: &str) -> EventKind {
        EventKind::Crew(CrewEvent::Notice {
            level: NoticeLevel::Info,
            agent,
            text: text.into(),
        })
    }

    fn roster() -> EventKind {
        EventKind::Team(TeamEvent::RosterChanged {
            team: Arc::default(),
        })
    }

    #[test]
    fn host_speaks_for_its_own_agents_only() {
        let (gpu, subagent) = (host("gpu"), Name::subagent(&bob(), 1));
        let is_member_of = |name: &Name, host: &HostName| *name == bob() && host.as_str() == "gpu";
        let amy = Name::member("amy").unwrap();
        for (step, event, expected) in [
            ("member", text(&bob(), "a"), Some(text(&bob(), "a"))),
            (
                "subagent of a member",
                text(&subagent, "a"),
                Some(text(&subagent, "a")),
            ),
            ("member of another host", text(&amy, "a"), None),
            ("lead", text(&Name::lead(), "a"), None),
            (
                "subagent of the lead",
                text(&Name::subagent(&Name::lead(), 1), "a"),
                None,
            ),
            (
                "notice",
                notice_of(Some(bob()), "full disk"),
                Some(notice_of(Some(bob()), "gpu: full disk")),
            ),
            (
                "notice about the lead",
                notice_of(Some(Name::lead()), "x"),
                Some(notice_of(None, "gpu: x")),
            ),
            ("team", roster(), None),
            ("crew", EventKind::Crew(CrewEvent::AllIdle), None),
        ] {
            let batch = HostEvents {
                host: gpu.clone(),
                events: vec![event],
                is_cut: false,
            };
            let received = received_events(batch, &is_member_of);
            assert_eq!(received, Vec::from_iter(expected), "{step}");
        }
    }

    #[test]
    fn gap_is_reported_before_the_events_after_it() {
        let batch = HostEvents {
            host: host("gpu"),
            events: vec![text(&bob(), "a")],
            is_cut: true,
        };
        let received = received_events(batch, &|_: &Name, _: &HostName| true);
        let EventKind::Crew(CrewEvent::Notice { text: gap, .. }) = &received[0] else {
            panic!("{received:?}");
        };
        assert!(gap.starts_with("gpu: some events"), "{gap}");
        assert_eq!(received[1..], [text(&bob(), "a")]);
    }

    #[test]
    fn answers_to_commands_and_shared_state_are_not_carried() {
        let listed = AgentEvent::CheckpointsListed {
            checkpoints: Vec::new(),
            off: String::new(),
        };
        for (event, expected) in [
            (text(&bob(), "a"), true),
            (notice_of(None, "a"), true),
            (listed.of(bob()), false),
            (roster(), false),
            (EventKind::Crew(CrewEvent::AllIdle), false),
        ] {
            assert_eq!(is_relayed(&event), expected, "{event:?}");
        }
    }
}
