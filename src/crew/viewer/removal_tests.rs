//! Tests of removals in a viewer, on real files.

use pretty_assertions::assert_eq;

use super::super::super::test_support::{git, repository};
use super::super::{Runner, Viewer, ViewerParts};
use crate::domain::ids::TaskId;
use crate::domain::timestamp::Timestamp;
use crate::domain::worktree::Losses;
use crate::protocol::bus::bus;
use crate::protocol::event::{EventKind, NoticeLevel};
use crate::protocol::{Command, CommandId, CrewEvent, SentCommand};
use crate::store::{Stores, WorktreeCommands, prepare};

#[tokio::test]
async fn teardown_that_cannot_run_is_reported_at_the_removal() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().to_path_buf();
    prepare(&root).unwrap();
    repository(&root, &["a.txt"]);
    let (event_sender, mut events) = bus(|| Timestamp(1.0));
    let viewer = Viewer::start(ViewerParts {
        has_checks: false,
        merge_checks: |_, _| Ok(None),
        root: root.clone(),
        stores: Stores::open(&root),
        runner: Runner::Process(Some(4711)),
        event_sender,
        worktree_commands: |_| WorktreeCommands {
            withheld: Some("The teardown command was not run.".into()),
            ..WorktreeCommands::default()
        },
        clock: || Timestamp(9.0),
        new_id: || "id-1".into(),
    });
    let confirmed = Losses {
        commits: 1,
        subjects: vec![git(&root, &["log", "-1", "--format=%h %s", "wt/task-1"])],
        ..Losses::default()
    };
    let command = Command::RemoveWorktree {
        task: TaskId(1),
        confirmed,
    };
    let id = CommandId(7);
    viewer.submit(SentCommand { id, command }).unwrap();
    let mut texts = Vec::new();
    while texts.len() < 2 {
        if let EventKind::Crew(CrewEvent::Notice { level, text, .. }) =
            events.next().await.unwrap().kind
        {
            texts.push((level, text));
        }
    }
    assert_eq!(
        texts[0],
        (
            NoticeLevel::Warn,
            "The teardown command was not run.".into()
        )
    );
    assert!(
        texts[1].1.starts_with("The worktree task-1 is removed"),
        "{texts:?}"
    );
}
