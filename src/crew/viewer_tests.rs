//! Tests of the commands of a viewer, on real files.

use super::super::test_support::{git, one_check, repository};
use super::*;
use crate::domain::permission::PermissionScope;
use crate::domain::team::Member;
use crate::domain::worktree::{BranchState, Losses};
use crate::protocol::bus::bus;
use crate::protocol::event::{BoardEvent, UserAction};
use crate::protocol::{CommandId, CrewEvent, EventReceiver};
use crate::store::{Board, Mailbox, Requests, Roster, Stores, prepare};
use pretty_assertions::assert_eq;

#[path = "viewer/hub_tests.rs"]
mod hub;

struct ViewerFixture {
    dir: tempfile::TempDir,
    viewer: Viewer,
    events: EventReceiver,
}

fn bob() -> Name {
    Name::member("bob").unwrap()
}

/// Creates a viewer of a crew that runs in process 4711 and has the teammate bob.
fn fixture() -> ViewerFixture {
    fixture_with(|_, _| Ok(None))
}

fn fixture_with(merge_checks: MergeChecks) -> ViewerFixture {
    let dir = tempfile::tempdir().unwrap();
    prepare(dir.path()).unwrap();
    let bob = Member::new(bob(), "coder");
    Roster::open(dir.path()).add_member(bob, 16).unwrap();
    let (event_sender, events) = bus(|| Timestamp(1.0));
    let viewer = Viewer::start(ViewerParts {
        has_checks: false,
        merge_checks,
        root: dir.path().to_path_buf(),
        stores: Stores::open(dir.path()),
        runner: Runner::Process(Some(4711)),
        event_sender,
        worktree_commands: |_| crate::store::WorktreeCommands::default(),
        clock: || Timestamp(9.0),
        new_id: || "id-1".into(),
    });
    ViewerFixture {
        dir,
        viewer,
        events,
    }
}

impl ViewerFixture {
    /// Submits a command with the id 7.
    fn submit(&self, command: Command) {
        let id = CommandId(7);
        self.viewer.submit(SentCommand { id, command }).unwrap();
    }

    /// Submits a command and returns the next event.
    async fn answer(&mut self, command: Command) -> EventKind {
        self.submit(command);
        self.events.next().await.unwrap().kind
    }

    async fn refusal(&mut self, command: Command) -> String {
        match self.answer(command).await {
            EventKind::Crew(CrewEvent::CommandRejected { command, why }) => {
                assert_eq!(command, Some(CommandId(7)));
                why
            }
            other => panic!("not refused: {other:?}"),
        }
    }
}

fn prompt(to: Name, text: &str) -> Command {
    Command::prompt(to, text)
}

#[tokio::test]
async fn prompts_of_servers_are_refused_but_not_commands_of_files() {
    let mut fixture = fixture();
    let why = fixture
        .refusal(prompt(Name::lead(), "/git:greet Ann"))
        .await;
    assert!(why.contains("prompts of MCP servers"), "{why}");
    let folder = fixture.dir.path().join(".claude/commands/git");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("greet.md"), "Greet $1").unwrap();
    let said = fixture.answer(prompt(Name::lead(), "/git:greet Ann")).await;
    assert!(
        matches!(said, EventKind::Team(TeamEvent::MessageMoved { .. })),
        "{said:?}"
    );
}

#[tokio::test]
async fn commands_for_the_crew_process_are_refused() {
    let mut fixture = fixture();
    let request = RequestId("r1".into());
    let (agent, name) = (Name::lead(), String::new());
    let scope = PermissionScope::Exact {
        command: "make".into(),
    };
    for command in [
        Command::Interrupt { agent: bob() },
        Command::RunShell {
            agent: bob(),
            command: "true".into(),
        },
        Command::Compact {
            agent,
            focus: name.clone(),
        },
        Command::KillJob {
            job: crate::domain::ids::JobId("j1".into()),
        },
        Command::Allow { request, scope },
        Command::RevokePermission { rule: 1 },
        Command::Force { member: bob() },
        Command::ListModels,
        Command::UseModel { name, agent: None },
    ] {
        let why =
            "Only the crewdeck that runs this crew can do that: use its window (process 4711).";
        assert_eq!(fixture.refusal(command.clone()).await, why, "{command:?}");
    }
}

#[tokio::test]
async fn prompts_are_sent_as_messages_from_the_user() {
    let mut fixture = fixture();
    for (to, text) in [(Name::lead(), "hello"), (bob(), "how far?")] {
        let said = fixture.answer(prompt(to.clone(), text)).await;
        let EventKind::Team(TeamEvent::MessageMoved { message, step }) = said else {
            panic!("no message: {said:?}");
        };
        assert_eq!((message.from.as_str(), step), ("user", DeliveryState::Sent));
        let waiting = Mailbox::open(fixture.dir.path()).peek(&to).unwrap();
        assert_eq!(waiting.messages, [message]);
        assert_eq!(waiting.messages[0].content, text);
    }
    std::fs::write(fixture.dir.path().join("a.md"), "one").unwrap();
    let said = fixture.answer(Command::Prompt {
        to: bob(),
        text: "read @a.md".into(),
        attachments: crate::domain::mention::mentions("read @a.md", |_| true),
    });
    let EventKind::Team(TeamEvent::MessageMoved { message, .. }) = said.await else {
        panic!("no message");
    };
    assert_eq!(message.attachments()[0].label(), "a.md · 1 line");
    let stranger = Name::member("eve").unwrap();
    let why = fixture.refusal(prompt(stranger, "hello")).await;
    assert!(why.contains("bob"), "it names who is there: {why}");
    let why = fixture.refusal(prompt(bob(), " \n")).await;
    assert_eq!(why, "An empty message was not sent.");
}

#[tokio::test]
async fn decision_needs_a_running_crew_and_counts_once() {
    let mut fixture = fixture();
    let requests = Requests::open(fixture.dir.path());
    let id = RequestId("r1".into());
    let plan = Request::new(
        id.clone(),
        RequestKind::Plan,
        bob(),
        bob(),
        "1".into(),
        Timestamp(1.0),
    );
    requests.create(&plan).unwrap();
    let decide = |verdict| {
        Command::Decide(Decision {
            id: id.clone(),
            kind: RequestKind::Plan,
            target: bob(),
            verdict,
            by: Name::user(),
            comment: "good".into(),
        })
    };
    fixture.viewer.set_runner(Runner::None);
    assert_eq!(fixture.refusal(decide(Verdict::Approve)).await, NO_CREW);
    fixture.viewer.set_runner(Runner::Process(None));
    fixture.submit(decide(Verdict::Approve));
    assert_eq!(
        fixture.refusal(decide(Verdict::Reject)).await,
        "request r1 was already approved by user: nothing changed"
    );
    let decided = requests.get(&id).unwrap().unwrap();
    assert_eq!(
        (decided.decided_by.as_str(), decided.comment.as_str()),
        ("user", "good")
    );
}

#[tokio::test]
async fn shutdown_request_of_the_user_is_filed_and_approved() {
    let mut fixture = fixture();
    fixture.submit(Command::AskShutdown { member: bob() });
    let stranger = Name::member("eve").unwrap();
    fixture
        .refusal(Command::AskShutdown { member: stranger })
        .await;
    let all = Requests::open(fixture.dir.path())
        .read_all()
        .unwrap()
        .requests;
    let row = |r: &Request| (r.kind, r.from.clone(), r.target.clone(), r.is_pending());
    let rows: Vec<_> = all.iter().map(row).collect();
    assert_eq!(rows, [(RequestKind::Shutdown, Name::user(), bob(), false)]);
}

#[tokio::test]
async fn slow_merge_hook_does_not_block_other_commands() {
    let mut fixture = fixture();
    let root = fixture.dir.path().to_path_buf();
    repository(&root, &["a", "b"]);
    let script = "#!/bin/sh\n: > \"$DIR/began\"\nwhile [ ! -e \"$DIR/go\" ]; do sleep 0.02; done\n";
    let script = script.replace("$DIR", &root.join(".git").display().to_string());
    for hook in ["pre-merge-commit", "post-merge"] {
        let path = root.join(".git/hooks").join(hook);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &script).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&path, mode).unwrap();
    }
    let until = std::time::Instant::now() + std::time::Duration::from_secs(40);
    let task = TaskId(1);
    fixture.submit(Command::Merge { task });
    while !root.join(".git/began").exists() {
        assert!(std::time::Instant::now() < until, "no hook ran");
        tokio::task::yield_now().await;
    }
    // The removal of the worktree waits until the merge has ended; the message is sent at once.
    let confirmed = Losses {
        commits: 1,
        subjects: vec![git(&root, &["log", "-1", "--format=%h %s", "wt/task-2"])],
        ..Default::default()
    };
    let task = TaskId(2);
    let remove = Command::RemoveWorktree { task, confirmed };
    fixture.submit(remove);
    let words = fixture.answer(prompt(bob(), "hello"));
    let left = until.saturating_duration_since(std::time::Instant::now());
    let said = tokio::time::timeout(left, words).await.unwrap();
    assert!(
        matches!(said, EventKind::Team(TeamEvent::MessageMoved { .. })),
        "{said:?}"
    );
    std::fs::write(root.join(".git/go"), "").unwrap();
    let (mut said, mut gone) = (Vec::new(), Vec::new());
    while gone.is_empty() {
        match fixture.events.next().await.unwrap().kind {
            EventKind::Crew(CrewEvent::Notice { text, .. }) => said.push(text),
            EventKind::Board(BoardEvent::BranchesChanged { branches }) => {
                let is_gone = |b: &crate::domain::worktree::Branch| b.state == BranchState::Gone;
                gone = branches.into_iter().filter(is_gone).collect();
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(
        said[0].starts_with("wt/task-1 is merged into main."),
        "{said:?}"
    );
    assert!(
        said[1].starts_with("The worktree task-2 is removed"),
        "{said:?}"
    );
    let names: Vec<&str> = gone.iter().map(|b| b.worktree.as_str()).collect();
    assert_eq!(names, ["task-2"]);
}

#[tokio::test]
async fn merge_all_stops_at_first_conflict_and_reports_status() {
    let mut fixture = fixture();
    let root = fixture.dir.path().to_path_buf();
    let start = repository(&root, &["a", "b", "b", "c"]);
    let tasks = [1, 2, 3, 4].map(TaskId).to_vec();
    fixture.submit(Command::MergeAll { tasks });
    let mut said = Vec::new();
    let mut stand = Vec::new();
    while said.len() < 3 {
        match fixture.events.next().await.unwrap().kind {
            EventKind::Crew(
                CrewEvent::Notice { text, .. } | CrewEvent::CommandRejected { why: text, .. },
            ) => {
                said.push(text);
            }
            EventKind::Board(BoardEvent::BranchesChanged { branches }) => {
                let is_merged = |s: &BranchState| matches!(s, BranchState::Merged { into, .. } if into == "main");
                stand = branches.iter().map(|b| is_merged(&b.state)).collect();
            }
            other => panic!("{other:?}"),
        }
    }
    let last = said.pop().unwrap();
    assert_eq!(
        said,
        [
            "wt/task-1 is merged into main.",
            "wt/task-2 is merged into main."
        ]
    );
    let stopped = "2 of 4 branches are merged; stopped at #3: wt/task-3 does not merge into main: conflict in b.";
    assert!(last.starts_with(stopped), "{last}");
    let back = format!(" Undo all: git reset --keep {start}");
    assert!(last.ends_with(&back), "{last}");
    assert_eq!(stand, [true, true, false, false]);
}

#[tokio::test]
async fn viewer_lands_only_what_is_green_together() {
    let checks: MergeChecks = |root, _| {
        let run = "test -f a && test -f b && exit 1; exit 0";
        Ok(Some(one_check(root, run, || Timestamp(9.0))))
    };
    let mut fixture = fixture_with(checks);
    let root = fixture.dir.path().to_path_buf();
    repository(&root, &["a", "b", "c"]);
    let tasks = [1, 2, 3].map(TaskId).to_vec();
    fixture.submit(Command::MergeAll { tasks });
    let (mut said, mut trains) = (Vec::new(), Vec::new());
    while said.len() < 2 {
        match fixture.events.next().await.unwrap().kind {
            EventKind::Crew(CrewEvent::Notice { text, .. }) => said.push(text),
            EventKind::Board(BoardEvent::TrainChanged { train }) => trains.push(train),
            other => panic!("{other:?}"),
        }
    }
    assert!(
        said[0].starts_with("#1, #3 are merged into main."),
        "{said:?}"
    );
    assert_eq!(
        said[1],
        "#2 is not merged: the checks are red together with #1. Task #4 was added to fix it."
    );
    assert!(trains.last().unwrap().has_ended());
    let landed = ["a", "b", "c"].map(|file| root.join(file).exists());
    assert_eq!(landed, [true, false, true]);
    let task = Board::open(&root).get(TaskId(4)).unwrap();
    assert_eq!(task.worktree, "task-2");
}

#[tokio::test]
async fn board_actions_follow_the_rules_of_the_crew() {
    let mut fixture = fixture();
    let root = fixture.dir.path().to_path_buf();
    let (board, now) = (Board::open(&root), Timestamp(1.0));
    let new = |subject: &str| crate::domain::graph::NewTask {
        subject: subject.into(),
        ..Default::default()
    };
    let task = TaskId(1);
    let add = TaskCommand::Add { new: new("Work") };
    let acted = |task, act| EventKind::Board(BoardEvent::UserActed { task, act });
    assert_eq!(
        fixture.answer(Command::Task(Box::new(add))).await,
        acted(task, UserAction::Added)
    );
    // The user cannot claim a task that bob has claimed.
    let bob_claims = crate::domain::graph::Claimer {
        name: bob(),
        tags: Vec::new(),
    };
    board.claim(Some(task), &bob_claims, now).unwrap();
    let why = fixture
        .refusal(Command::Task(Box::new(TaskCommand::Claim { task })))
        .await;
    assert!(why.contains("claimed by bob"), "{why}");
    let why = fixture
        .refusal(Command::Task(Box::new(TaskCommand::Complete { task })))
        .await;
    assert!(why.contains("belongs to bob"), "{why}");
    // The release fails if the task's owner is not the one that the user has confirmed.
    let from = Name::lead();
    let why = fixture
        .refusal(Command::Task(Box::new(TaskCommand::Release { task, from })))
        .await;
    assert!(why.contains("belongs to bob"), "{why}");
    // When the user takes the task from bob, bob gets a message and does not claim the task again by itself.
    let from = bob();
    let release = TaskCommand::Release {
        task,
        from: from.clone(),
    };
    assert_eq!(
        fixture.answer(Command::Task(Box::new(release))).await,
        acted(task, UserAction::Released { from })
    );
    let known = board.read().unwrap().graph;
    assert_eq!(known.get(task).unwrap().taken_from, ["bob"]);
    let inbox = Mailbox::open(&root).peek(&bob()).unwrap();
    let messages: Vec<_> = inbox.messages.iter().map(|l| l.content.clone()).collect();
    assert_eq!(messages.len(), 1, "{messages:?}");
    assert!(messages[0].starts_with("I have taken task #1 (Work) from you"));
    // A member that has shut down gets no message when its task is taken.
    board.claim(Some(task), &bob_claims, now).unwrap();
    Roster::open(&root)
        .set_status(&bob(), crate::domain::team::MemberStatus::Shutdown, now)
        .unwrap();
    let release = TaskCommand::Release { task, from: bob() };
    fixture.answer(Command::Task(Box::new(release))).await;
    assert_eq!(Mailbox::open(&root).peek(&bob()).unwrap().messages.len(), 1);
    // The user claims and completes the task.
    assert_eq!(
        fixture
            .answer(Command::Task(Box::new(TaskCommand::Claim { task })))
            .await,
        acted(task, UserAction::Claimed)
    );
    assert_eq!(
        fixture
            .answer(Command::Task(Box::new(TaskCommand::Complete { task })))
            .await,
        acted(task, UserAction::Completed)
    );
    let done = board.read().unwrap().graph.get(task).cloned().unwrap();
    assert_eq!(
        (done.owner.as_str(), done.status),
        ("user", crate::domain::task::TaskStatus::Completed)
    );
}

#[tokio::test]
async fn merge_and_diff_need_a_worktree() {
    let mut fixture = fixture();
    let task = TaskId(1);
    for command in [Command::Merge { task }, Command::ShowDiff { task }] {
        let why = fixture.refusal(command).await;
        assert!(why.contains("the board is empty"), "{why}");
    }
    let new = crate::domain::graph::NewTask {
        subject: "Work".into(),
        ..Default::default()
    };
    Board::open(fixture.dir.path())
        .create(new, Timestamp(1.0))
        .unwrap();
    for command in [Command::Merge { task }, Command::ShowDiff { task }] {
        let why = fixture.refusal(command).await;
        assert!(why.contains("has no worktree"), "{why}");
    }
}
