//! Tests of the commands of a viewer of a crew on a hub. The shared state is in files here.

use pretty_assertions::assert_eq;

use super::{bob, fixture, prompt};
use crate::crew::viewer::{NO_LEAD, Runner};
use crate::domain::graph::NewTask;
use crate::domain::host::HostName;
use crate::domain::ids::TaskId;
use crate::domain::timestamp::Timestamp;
use crate::domain::worktree::Losses;
use crate::protocol::event::{EventKind, TeamEvent};
use crate::protocol::{Command, TaskCommand};
use crate::store::Board;

#[tokio::test]
async fn branches_of_a_crew_on_a_hub_are_left_to_the_host_of_the_lead() {
    let mut fixture = fixture();
    let host = HostName::parse("home").unwrap();
    fixture.viewer.set_runner(Runner::Hub(Some(host)));
    let task = TaskId(1);
    let confirmed = Losses::default();
    for command in [
        Command::Merge { task },
        Command::MergeAll { tasks: vec![task] },
        Command::ShowDiff { task },
        Command::InspectWorktree { task },
        Command::RemoveWorktree { task, confirmed },
        Command::Interrupt { agent: bob() },
    ] {
        let why = fixture.refusal(command.clone()).await;
        let expected = "Only host home, which leads this crew, can do that: use its dashboard.";
        assert_eq!(why, expected, "{command:?}");
    }
    fixture.viewer.set_runner(Runner::Hub(None));
    assert_eq!(fixture.refusal(Command::Merge { task }).await, NO_LEAD);
    // Without a lead, the shared state can still be changed.
    let said = fixture.answer(prompt(bob(), "hello")).await;
    let is_message = matches!(said, EventKind::Team(TeamEvent::MessageMoved { .. }));
    assert!(is_message, "{said:?}");
}

#[tokio::test]
async fn checks_of_the_lead_prevent_a_completion_in_a_viewer() {
    let mut fixture = fixture();
    let new = NewTask {
        subject: "Sweep".into(),
        ..NewTask::default()
    };
    let board = Board::open(fixture.dir.path());
    let task = board.create(new, Timestamp(1.0)).unwrap().id;
    fixture.viewer.note_checks();
    let complete = Command::Task(Box::new(TaskCommand::Complete { task }));
    let why = fixture.refusal(complete).await;
    assert!(why.contains("has checks"), "{why}");
}
