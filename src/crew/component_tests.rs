//! Tests of single components, each on real files.

use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use pretty_assertions::assert_eq;

use super::board_followup::BoardFollowup;
use super::board_view::BoardObserver;
use super::context::lock;
use super::idle_detector::IdleDetector;
use super::jobs::JobRunner;
use super::lead::{NextInput, next_input};
use super::recovery::Recovery;
use super::registry::AgentState;
use super::request_reminders::RequestReminders;
use super::test_support::{LEAD_DECIDES, TestCrew, bob, git, repository};
use super::user_actions::UserActions;
use super::worktrees::TaskWorktrees;
use crate::agent::driver::Control;
use crate::agent::turn::TurnInput;
use crate::domain::graph::{Claimer, NewTask, TaskGraph};
use crate::domain::ids::{Name, TaskId};
use crate::domain::request::{NewRequest, RequestKind};
use crate::domain::task::Task;
use crate::domain::team::{Member, MemberStatus};
use crate::domain::timestamp::Timestamp;
use crate::process::AddedEnvironment;
use crate::protocol::TaskCommand;
use crate::protocol::event::{BoardEvent, CrewEvent, EventKind, TeamEvent, UserAction};
use crate::store::{Mailbox, TaskSet, WorktreeCommands, Worktrees};
use crate::tools::host::JobSpec;

const NOW: Timestamp = Timestamp(1.0);

fn task(subject: &str) -> NewTask {
    NewTask {
        subject: subject.into(),
        ..NewTask::default()
    }
}

fn claimer() -> Claimer {
    Claimer {
        name: bob(),
        tags: Vec::new(),
    }
}

/// Records for each reported change of the board how many tasks the board had before, and how many tasks changed.
#[derive(Default)]
struct Recorder(Mutex<Vec<(usize, usize)>>);

impl BoardObserver for Recorder {
    fn board_changed(self: Arc<Self>, known: &TaskGraph, changed: &[Arc<Task>]) {
        lock(&self.0).push((known.len(), changed.len()));
    }
}

#[tokio::test]
async fn observer_gets_each_change_of_the_board_once() {
    let mut crew = TestCrew::new();
    let recorder = Arc::new(Recorder::default());
    let observer: Weak<dyn BoardObserver> = Arc::downgrade(&recorder) as Weak<dyn BoardObserver>;
    let board = crew.observed_board(observer);
    board.store().create(task("one"), NOW).unwrap();
    board.read(TaskSet::All).await.unwrap();
    board.store().create(task("two"), NOW).unwrap();
    board.read(TaskSet::All).await.unwrap();
    board.read(TaskSet::All).await.unwrap();
    assert_eq!(*lock(&recorder.0), [(0, 1), (1, 1)]);
    let published = crew.take_events();
    let changes = published
        .iter()
        .filter(|e| matches!(e, EventKind::Board(BoardEvent::BoardChanged { .. })));
    assert_eq!(changes.count(), 2);
}

#[tokio::test]
async fn released_task_is_offered_again() {
    let mut crew = TestCrew::new();
    let board = crew.board();
    board.store().create(task("one"), NOW).unwrap();
    board.store().claim(None, &claimer(), NOW).unwrap();
    board.release_task_of(&bob()).await.unwrap();
    board.release_task_of(&bob()).await.unwrap();
    assert_eq!(
        crew.notices(),
        ["Task #1 (one) is back on the board: bob stopped without completing it."]
    );
}

fn followup(crew: &TestCrew) -> Arc<BoardFollowup> {
    Arc::new_cyclic(|followup: &Weak<BoardFollowup>| {
        let board = crew.observed_board(followup.clone());
        let worktrees = TaskWorktrees::new(
            crew.context.clone(),
            crew.registry.clone(),
            board.clone(),
            None,
            None,
        );
        BoardFollowup::new(
            crew.context.clone(),
            crew.signals.clone(),
            crew.registry.clone(),
            crew.lead.clone(),
            board.clone(),
            Arc::new(worktrees),
            crew.merges(&board, None),
            None,
        )
    })
}

#[tokio::test]
async fn completion_commits_a_task_that_is_not_published_yet() {
    let crew = TestCrew::new();
    let root = &crew.context.root;
    repository(root, &[]);
    let (board, store) = (crew.board(), Worktrees::open(root));
    let worktrees = TaskWorktrees::new(
        crew.context.clone(),
        crew.registry.clone(),
        board.clone(),
        Some((store, WorktreeCommands::default())),
        None,
    );
    for subject in ["one", "two"] {
        let created = board.store().create(task(subject), NOW).unwrap();
        let claimed = board
            .store()
            .claim(Some(created.id), &claimer(), NOW)
            .unwrap();
        let owner = bob();
        let workspace = worktrees.workspace_for(claimed.as_ref().unwrap(), &owner, None);
        let dir = workspace.await.unwrap().unwrap().dir;
        std::fs::write(dir.join("new"), subject).unwrap();
        // The published board still shows what the task before it was.
        if subject == "two" {
            board.store().release(created.id, &bob(), NOW).unwrap();
            board.read(TaskSet::All).await;
            board
                .store()
                .claim(Some(created.id), &claimer(), NOW)
                .unwrap();
        }
        worktrees.commit_leftovers(&bob()).await.unwrap();
        assert_eq!(
            git(&dir, &["log", "-1", "--format=%s"]),
            format!("task {}: {subject}", created.id)
        );
        board.store().complete(created.id, &bob(), NOW).unwrap();
    }
}

#[tokio::test]
async fn reused_worktree_gets_the_name_of_its_new_owner() {
    let crew = TestCrew::new();
    let root = &crew.context.root;
    repository(root, &[]);
    let (board, store) = (crew.board(), Worktrees::open(root));
    let worktrees = TaskWorktrees::new(
        crew.context.clone(),
        crew.registry.clone(),
        board.clone(),
        Some((store.clone(), WorktreeCommands::default())),
        None,
    );
    let id = board.store().create(task("one"), NOW).unwrap().id;
    for owner in [bob(), Name::lead()] {
        let task = board.store().get(id).unwrap();
        worktrees.workspace_for(&task, &owner, None).await.unwrap();
        let name = board.store().get(id).unwrap().worktree.clone();
        assert_eq!(store.find(&name).unwrap().owner, owner.as_str());
    }
}

#[tokio::test]
async fn completed_task_of_a_teammate_is_news_for_the_lead() {
    let crew = TestCrew::new();
    let (lead, _inbox) = crew.agent(&Name::lead());
    let followup = followup(&crew);
    let board = &followup.board;
    board.store().create(task("one"), NOW).unwrap();
    board.store().claim(None, &claimer(), NOW).unwrap();
    board.read(TaskSet::All).await.unwrap();
    assert!(!crew.lead.take_news());
    board.store().complete(TaskId(1), &bob(), NOW).unwrap();
    board.read(TaskSet::All).await.unwrap();
    assert!(crew.lead.take_news() && !crew.lead.take_news());
    assert!(lead.mailbox.take_notes().is_some());
}

#[tokio::test]
async fn teammate_whose_task_was_taken_is_interrupted() {
    let crew = TestCrew::new();
    let (handle, mut inbox) = crew.agent(&bob());
    crew.registry.set_state(&handle, AgentState::Working);
    let followup = followup(&crew);
    let board = &followup.board;
    board.store().create(task("one"), NOW).unwrap();
    board.store().claim(None, &claimer(), NOW).unwrap();
    board.read(TaskSet::All).await.unwrap();
    board.store().take(TaskId(1), &bob(), NOW).unwrap();
    board.read(TaskSet::All).await.unwrap();
    assert!(matches!(inbox.try_recv(), Ok(Control::Interrupt)));
    assert_eq!(handle.mailbox.take_revoked_task(), Some(TaskId(1)));
}

#[tokio::test]
async fn end_of_a_job_waits_for_its_agent() {
    let mut crew = TestCrew::new();
    let (handle, _inbox) = crew.agent(&bob());
    let (context, signals) = (crew.context.clone(), crew.signals.clone());
    let jobs = Arc::new(JobRunner::new(
        context,
        signals,
        crew.registry.clone(),
        None,
    ));
    let job = jobs
        .start(JobSpec {
            agent: bob(),
            command: "echo hello".into(),
            workdir: crew.dir.path().to_path_buf(),
            timeout: Duration::from_secs(60),
            added: AddedEnvironment::default(),
        })
        .unwrap();
    assert!(jobs.is_running(Some(&bob())) && !jobs.is_running(Some(&Name::lead())));
    crew.tasks_end().await;
    assert!(!jobs.is_running(None) && handle.mailbox.has_job_results());
    assert_eq!(jobs.output(&job.id), "hello\n");
    assert!(
        jobs.kill(&job.id, &bob())
            .unwrap_err()
            .contains("already ended")
    );
    let ended = crew.take_events().into_iter().rev().find_map(|e| match e {
        EventKind::Crew(CrewEvent::JobChanged { job }) => Some(job),
        _ => None,
    });
    assert!(!ended.unwrap().is_running());
}

#[tokio::test]
async fn member_with_an_unread_message_has_mail() {
    let crew = TestCrew::new();
    crew.team
        .add(Member::new(bob(), "coder"), 16)
        .await
        .unwrap();
    assert!(!crew.delivery.has_mail(&bob()).await);
    let roster = crew.team.store();
    crew.delivery
        .send_from_user(&bob(), ("hello", Vec::new()), &[], roster)
        .await
        .unwrap();
    assert!(crew.delivery.has_mail(&bob()).await);
    let eve = Name::member("eve").unwrap();
    let refused = crew
        .delivery
        .send_from_user(&eve, ("hello", Vec::new()), &[], roster)
        .await;
    assert!(refused.unwrap_err().to_string().contains("bob"));
    let inbox = Mailbox::open(crew.dir.path()).peek(&bob()).unwrap();
    assert_eq!(inbox.messages.len(), 1);
}

#[tokio::test]
async fn roster_is_published_once_per_change() {
    let mut crew = TestCrew::new();
    crew.team
        .add(Member::new(bob(), "coder"), 16)
        .await
        .unwrap();
    crew.team.read().await;
    crew.team.read().await;
    crew.team
        .set_status(&bob(), MemberStatus::Working)
        .await
        .unwrap();
    crew.team.read().await;
    let published = crew.take_events();
    let teams = published
        .iter()
        .filter(|e| matches!(e, EventKind::Team(TeamEvent::RosterChanged { .. })));
    assert_eq!(teams.count(), 2);
}

#[tokio::test]
async fn lead_that_is_not_running_is_not_woken() {
    let crew = TestCrew::new();
    assert!(!crew.lead.wake("hello".into()) && !crew.lead.has_input());
    crew.lead.report("news".into());
    assert!(!crew.lead.has_news());
    let (_handle, mut inbox) = crew.agent(&Name::lead());
    assert!(crew.lead.wake("hello".into()) && crew.lead.has_input());
    assert!(matches!(inbox.try_recv(), Ok(Control::Say(_))));
    crew.lead.set_queued(0);
    assert!(!crew.lead.has_input());
}

#[tokio::test]
async fn interrupt_after_the_end_of_a_turn_does_not_count_as_input() {
    let crew = TestCrew::new();
    let (lead, mut control) = crew.agent(&Name::lead());
    lead.interrupt();
    // As at the end of each turn of the lead.
    crew.lead.set_queued(control.len());
    assert!(crew.lead.has_input());
    let mut changes = crew.signals.subscribe_activity();
    tokio::select! {
        biased;
        input = next_input(&mut control, &crew.lead, &crew.signals) => panic!("{input:?}"),
        changed = changes.changed() => changed.unwrap(),
    }
    assert!(!crew.lead.has_input());
    assert!(crew.lead.wake("hello".into()));
    let input = next_input(&mut control, &crew.lead, &crew.signals).await;
    assert!(
        matches!(input, Some(NextInput::Turn(TurnInput::Say(_)))),
        "{input:?}"
    );
}

#[tokio::test]
async fn crew_is_idle_when_work_has_ended() {
    let mut crew = TestCrew::new();
    let (lead, _inbox) = crew.agent(&Name::lead());
    crew.registry.set_state(&lead, AgentState::Working);
    let (context, signals) = (crew.context.clone(), crew.signals.clone());
    let board = crew.board();
    let broker = crew.broker(LEAD_DECIDES);
    let detector = IdleDetector {
        hosts: None,
        jobs: Arc::new(JobRunner::new(
            context.clone(),
            signals.clone(),
            crew.registry.clone(),
            None,
        )),
        reminders: RequestReminders::new(context.clone(), broker.clone(), crew.lead.clone()),
        branches: crew.merges(&board, None).branches().clone(),
        context,
        signals,
        registry: crew.registry.clone(),
        delivery: crew.delivery.clone(),
        lead: crew.lead.clone(),
        broker,
        board,
    };
    crew.context.spawn(detector.run());
    let busy = crew.signals.busy();
    crew.registry.set_state(&lead, AgentState::Idle);
    drop(busy);
    let event = crew.events.next().await.unwrap();
    assert_eq!(event.kind, EventKind::Crew(CrewEvent::AllIdle));
    crew.context.stop.cancel();
    crew.tasks_end().await;
}

#[tokio::test]
async fn fresh_start_closes_the_members_and_requests_of_an_ended_crew() {
    let mut crew = TestCrew::new();
    let broker = crew.broker(LEAD_DECIDES);
    let board = crew.board();
    let mut member = Member::new(bob(), "coder");
    member.session = crew.context.session.clone();
    crew.team.add(member, 16).await.unwrap();
    board.store().create(task("one"), NOW).unwrap();
    board.store().claim(None, &claimer(), NOW).unwrap();
    let asking = NewRequest::new(RequestKind::Plan, &bob(), "my plan".into());
    broker.file(&bob(), asking).await.unwrap();
    let recovery = Recovery {
        context: crew.context.clone(),
        signals: crew.signals.clone(),
        errors: crew.errors.clone(),
        registry: crew.registry.clone(),
        broker: broker.clone(),
        requests: crew.requests.clone(),
        board: board.clone(),
        team: crew.team.clone(),
    };
    let mut resumes = true;
    let (back, _) = recovery.recover(resumes).await.unwrap();
    assert_eq!(back.len(), 1);
    assert_eq!(broker.read_pending().await.unwrap().len(), 1);
    crew.take_events();
    resumes = false;
    let (back, _) = recovery.recover(resumes).await.unwrap();
    assert!(back.is_empty());
    assert_eq!(broker.read_pending().await.unwrap(), []);
    let team = crew.team.load().await.unwrap();
    assert_eq!(team.present().count(), 0);
    let notices = crew.notices();
    assert!(notices[0].contains("is back on the board"), "{notices:?}");
    assert!(notices[1].starts_with("Request withdrawn"), "{notices:?}");
}

#[tokio::test]
async fn action_of_the_user_is_published_before_its_change_of_the_board() {
    let mut crew = TestCrew::new();
    let (context, signals, board) = (crew.context.clone(), crew.signals.clone(), crew.board());
    let (roster, mailbox) = (crew.team.store().clone(), Mailbox::open(crew.dir.path()));
    let checks = crew.checks(&board);
    let actions = UserActions::new(context, signals, board, roster, mailbox, None, checks);
    let new = task("one");
    actions
        .act(TaskCommand::Add { new }, None, None)
        .await
        .unwrap();
    let task = TaskId(1);
    actions
        .act(TaskCommand::Claim { task }, None, None)
        .await
        .unwrap();
    let events = crew.take_events();
    let acted = |e: &EventKind| {
        matches!(
            e,
            EventKind::Board(BoardEvent::UserActed {
                act: UserAction::Added,
                ..
            })
        )
    };
    assert!(acted(&events[0]), "{events:?}");
    assert!(matches!(
        events[1],
        EventKind::Board(BoardEvent::BoardChanged { .. })
    ));
    let place = "You claimed #1. Work on it in the project directory.";
    let is_place = |e: &EventKind| matches!(e, EventKind::Crew(CrewEvent::Notice { text, .. }) if text == place);
    assert!(events.iter().any(is_place), "{events:?}");
    assert!(
        actions
            .act(TaskCommand::Claim { task: TaskId(9) }, None, None)
            .await
            .is_err()
    );
}
