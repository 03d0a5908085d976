//! Teammates that leave because they have been idle for too long.

use std::sync::Arc;
use std::time::Duration;

use crewdeck::app::now;
use crewdeck::crew::Crew;
use crewdeck::domain::ids::Name;
use crewdeck::model::script::Script;
use crewdeck::protocol::event::{AgentEvent, CrewEvent, EventKind};
use crewdeck::protocol::{Command, CommandIds, bus};

use crate::common::crew::crew_parts;

/// Returns the number of the lead's turns after bob has left and until the whole crew is idle again. `call` is the first tool
/// call of the lead, before it spawns bob.
async fn lead_turns_after_bob_left(call: &str) -> usize {
    let script = format!(
        "
rules:
  - agent: lead
    when: ^go$
    calls:
      - {call}
      - {{ tool: spawn_teammate, input: {{ name: bob, role: worker }} }}
  - {{ times: 0, say: Noted. }}
"
    );
    let root = tempfile::tempdir().unwrap();
    crewdeck::store::prepare(root.path()).unwrap();
    let (event_sender, mut receiver) = bus::bus(now);
    let model = Arc::new(Script::parse(&script, 1.0).unwrap());
    let parts = crew_parts(root.path(), event_sender, now, model);
    let crew = Crew::start(parts).await.unwrap();
    let prompt = Command::prompt(Name::lead(), "go");
    crew.submit(CommandIds::default().assign(prompt)).unwrap();
    let (mut has_left, mut turns) = (false, 0);
    let counted = async {
        while let Some(event) = receiver.next().await {
            match event.kind {
                EventKind::Crew(CrewEvent::Notice { text, .. }) if text.starts_with("bob has") => {
                    has_left = true;
                }
                EventKind::Agent { agent, event } if has_left && agent.is_lead() => {
                    turns += usize::from(matches!(event, AgentEvent::TurnStarted));
                }
                EventKind::Crew(CrewEvent::AllIdle) if has_left => return,
                _ => {}
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(60), counted)
        .await
        .unwrap();
    crew.stop().await.unwrap();
    turns
}

#[tokio::test]
async fn idle_timeout_wakes_the_lead_only_if_tasks_are_open() {
    let todo = "{ tool: todo, input: { items: [] } }";
    assert_eq!(lead_turns_after_bob_left(todo).await, 0);
    let task = "{ tool: task_create, input: { subject: one, tags: [nobody] } }";
    assert_eq!(lead_turns_after_bob_left(task).await, 1);
}
