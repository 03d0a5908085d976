//! Which events of agents are carried between hosts. Does no I/O.

use crate::domain::host::{HostKind, HostName, HostState};
use crate::domain::ids::Name;
use crate::domain::team::Team;
use crate::protocol::event::{CrewEvent, DeliveryState, EventKind, NoticeLevel, TeamEvent};
use crate::store::HostEvents;

/// Returns whether an event of a worker is carried to the host of the lead and to viewers.
pub fn is_relayed(event: &EventKind) -> bool {
    match event {
        EventKind::Agent { .. } => !event.is_command_reply(),
        EventKind::Crew(CrewEvent::Notice { .. }) => true,
        EventKind::Team(TeamEvent::MessageMoved { step, .. }) => is_known_to_recipient_only(*step),
        EventKind::Crew(_) | EventKind::Board(_) | EventKind::Team(_) => false,
    }
}

/// Returns whether only the host of a message's recipient knows that the message has reached this step. The other steps
/// are in the shared state.
fn is_known_to_recipient_only(step: DeliveryState) -> bool {
    match step {
        DeliveryState::ActedOn | DeliveryState::Blocked => true,
        DeliveryState::Sent | DeliveryState::Delivered => false,
    }
}

/// Returns the event as it is carried: a message without its attachments, because the shared state has the whole message.
pub fn without_attachments(event: EventKind) -> EventKind {
    match event {
        EventKind::Team(TeamEvent::MessageMoved { message, step }) => {
            let message = message.without_attachments();
            EventKind::Team(TeamEvent::MessageMoved { message, step })
        }
        event => event,
    }
}

/// Returns whether an event of the host of the lead is carried to viewers. Unlike a worker, this host also describes the
/// session.
pub fn is_relayed_by_lead(event: &EventKind) -> bool {
    matches!(event, EventKind::Crew(CrewEvent::Ready(_))) || is_relayed(event)
}

/// Returns the events of a batch that are published in the crew of the lead. `is_member_of` is whether the agent is a
/// teammate that runs on the host.
pub fn received_events(
    batch: HostEvents,
    is_member_of: &impl Fn(&Name, &HostName) -> bool,
) -> Vec<EventKind> {
    let runs = |agent: &Name, host: &HostName| !agent.is_lead() && is_member_of(agent, host);
    carried_events(batch, &runs, false)
}

/// Returns the events of a batch that a viewer shows. A host speaks for the agents that it runs according to `team`; one of
/// `hosts` that leads or has led the crew also for the lead and for the session.
pub fn viewed_events(batch: HostEvents, team: &Team, hosts: &[HostState]) -> Vec<EventKind> {
    let leads = |host: &HostName| {
        let mut leads = hosts.iter().filter(|h| h.info.kind == HostKind::Lead);
        leads.any(|h| h.info.name.same(host))
    };
    let is_lead_host = leads(&batch.host);
    let runs = |agent: &Name, host: &HostName| {
        if agent.is_lead() {
            return is_lead_host;
        }
        team.members.iter().any(|m| {
            m.name.same(agent)
                && if m.host.is_empty() {
                    is_lead_host
                } else {
                    m.host.eq_ignore_ascii_case(host.as_str())
                }
        })
    };
    carried_events(batch, &runs, is_lead_host)
}

/// Returns the events of a batch without those for which its host does not speak. `runs` is whether the host runs the agent.
/// Notices of other hosts than that of the lead name their host.
fn carried_events(
    batch: HostEvents,
    runs: &impl Fn(&Name, &HostName) -> bool,
    is_lead_host: bool,
) -> Vec<EventKind> {
    let HostEvents {
        host,
        events,
        is_cut,
        ..
    } = batch;
    let is_own = |name: &Name| {
        let agent = name.parent().unwrap_or_else(|| name.clone());
        !agent.is_user() && runs(&agent, &host)
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
                text: if is_lead_host {
                    text
                } else {
                    format!("{host}: {text}")
                },
            }))
        }
        ready @ EventKind::Crew(CrewEvent::Ready(_)) => is_lead_host.then_some(ready),
        EventKind::Team(TeamEvent::MessageMoved { message, step }) => {
            let to = Name::party(&message.to).ok();
            let is_carried = is_known_to_recipient_only(step) && to.is_some_and(|to| is_own(&to));
            is_carried.then_some(EventKind::Team(TeamEvent::MessageMoved { message, step }))
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
    use crate::domain::host::{HostInfo, HostPresence};
    use crate::domain::ids::MessageId;
    use crate::domain::mail::{MailKind, MailMessage};
    use crate::domain::permission::SettingsPermissions;
    use crate::domain::team::Member;
    use crate::domain::timestamp::Timestamp;
    use crate::protocol::event::{AgentEvent, SessionInfo};

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

    fn moved(to: &Name, step: DeliveryState) -> EventKind {
        let message = MailMessage::new(
            MessageId("m1".into()),
            MailKind::Message,
            &Name::user(),
            to,
            "hello",
            Timestamp(1.0),
        );
        EventKind::Team(TeamEvent::MessageMoved { message, step })
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
            (
                "message to a member",
                moved(&bob(), DeliveryState::ActedOn),
                Some(moved(&bob(), DeliveryState::ActedOn)),
            ),
            (
                "message to a member of another host",
                moved(&amy, DeliveryState::ActedOn),
                None,
            ),
            (
                "message to the user",
                moved(&Name::user(), DeliveryState::ActedOn),
                None,
            ),
            (
                "step that is in the shared state",
                moved(&bob(), DeliveryState::Delivered),
                None,
            ),
            ("team", roster(), None),
            ("crew", EventKind::Crew(CrewEvent::AllIdle), None),
        ] {
            let batch = HostEvents {
                host: gpu.clone(),
                events: vec![event],
                stored_at: Timestamp::default(),
                is_earlier: false,
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
            stored_at: Timestamp::default(),
            is_earlier: false,
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
            (moved(&bob(), DeliveryState::Delivered), false),
            (moved(&bob(), DeliveryState::ActedOn), true),
            (moved(&bob(), DeliveryState::Blocked), true),
            (roster(), false),
            (EventKind::Crew(CrewEvent::AllIdle), false),
        ] {
            assert_eq!(is_relayed(&event), expected, "{event:?}");
        }
    }

    fn host_state(name: &str, kind: HostKind) -> HostState {
        HostState {
            info: HostInfo::new(host(name), kind),
            session: name.into(),
            presence: HostPresence::Present,
            seen_at: Timestamp::default(),
        }
    }

    fn ready() -> EventKind {
        EventKind::Crew(CrewEvent::Ready(SessionInfo {
            session: "s".into(),
            root: "~/web".into(),
            provider: "script".into(),
            model: "m".into(),
            scripted: true,
            git: true,
            window: None,
            tools: Vec::new(),
            earlier: false,
            allowed: SettingsPermissions::default(),
            checks: false,
        }))
    }

    #[test]
    fn viewer_takes_the_lead_and_the_session_from_the_host_of_the_lead_only() {
        let hosts = [
            host_state("gpu", HostKind::Worker),
            host_state("home", HostKind::Lead),
        ];
        let mut team = Team::default();
        let amy = Name::member("amy").unwrap();
        for (name, host) in [(bob(), "GPU"), (amy.clone(), "")] {
            team.members.push(Member {
                host: host.into(),
                ..Member::new(name, "coder")
            });
        }
        let lead = || text(&Name::lead(), "a");
        for (event, at_home, at_gpu) in [
            (lead(), vec![lead()], vec![]),
            (ready(), vec![ready()], vec![]),
            (text(&amy, "a"), vec![text(&amy, "a")], vec![]),
            (text(&bob(), "a"), vec![], vec![text(&bob(), "a")]),
            (
                notice_of(None, "full disk"),
                vec![notice_of(None, "full disk")],
                vec![notice_of(None, "gpu: full disk")],
            ),
            (roster(), vec![], vec![]),
            (
                moved(&Name::lead(), DeliveryState::ActedOn),
                vec![moved(&Name::lead(), DeliveryState::ActedOn)],
                vec![],
            ),
        ] {
            for (from, expected) in [("home", at_home), ("gpu", at_gpu)] {
                let batch = HostEvents {
                    host: host(from),
                    events: vec![event.clone()],
                    stored_at: Timestamp::default(),
                    is_earlier: false,
                    is_cut: false,
                };
                assert_eq!(viewed_events(batch, &team, &hosts), expected, "{event:?}");
            }
        }
    }

    #[test]
    fn message_is_carried_without_its_attachments() {
        let EventKind::Team(TeamEvent::MessageMoved { mut message, step }) =
            moved(&bob(), DeliveryState::ActedOn)
        else {
            panic!("no message");
        };
        let plain = moved(&bob(), step);
        message
            .extra
            .insert("attachments".into(), Vec::<String>::new().into());
        let event = EventKind::Team(TeamEvent::MessageMoved { message, step });
        assert_eq!(without_attachments(event), plain);
    }

    #[test]
    fn only_the_host_of_the_lead_relays_the_session() {
        assert!(is_relayed_by_lead(&ready()) && !is_relayed(&ready()));
        assert!(!is_relayed_by_lead(&roster()));
    }
}
