//! Tests of requests and merges in a crew on a hub.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use pretty_assertions::assert_eq;

use super::hub_test_support::{lead_in_session, lead_on_hub};
use super::test_support::{LEAD_DECIDES, TestCrew, bob, git, repository};
use crate::domain::ids::{Name, RequestId, TaskId};
use crate::domain::request::{Approver, Decision, Request, RequestKind, RequestStatus, Verdict};
use crate::domain::team::Member;
use crate::domain::timestamp::Timestamp;
use crate::protocol::event::{EventKind, TeamEvent};
use crate::store::{FakeHostSession, Mailbox, TaskSet, Worktrees};

/// Returns a crew on a hub that this process leads, with the teammate bob on the host gpu.
async fn crew_with_remote_bob() -> TestCrew {
    let mut crew = TestCrew::new();
    crew.context = lead_on_hub(&crew);
    let member = Member {
        host: "gpu".into(),
        ..Member::new(bob(), "coder")
    };
    crew.team.add(member, 16).await.unwrap();
    crew.team.read().await;
    crew
}

fn remote_request(id: &str, kind: RequestKind) -> Request {
    let now = Timestamp(1.0);
    Request::new(RequestId(id.into()), kind, bob(), bob(), "ls".into(), now)
}

#[tokio::test]
async fn decision_is_left_to_the_host_that_runs_the_agent() {
    let crew = crew_with_remote_bob().await;
    let broker = crew.broker(LEAD_DECIDES);
    let shutdown = Request {
        from: Name::lead(),
        ..remote_request("r1", RequestKind::Shutdown)
    };
    let plan = remote_request("r2", RequestKind::Plan);
    for (request, verdict) in [(&shutdown, Verdict::Approve), (&plan, Verdict::Reject)] {
        crew.requests.create(request).unwrap();
        let decision = Decision::on(request, verdict, Name::user(), String::new());
        broker.decide(decision).await.unwrap();
        let found = broker.get(&request.id).await.unwrap();
        assert!(found.has_open_follow_up());
    }
    let inbox = Mailbox::open(crew.dir.path()).peek(&bob()).unwrap();
    assert_eq!(inbox.messages, []);
    // The lead runs here.
    let own = Request {
        from: Name::lead(),
        target: Name::lead(),
        ..remote_request("r3", RequestKind::Plan)
    };
    crew.requests.create(&own).unwrap();
    let decision = Decision::on(&own, Verdict::Reject, Name::user(), String::new());
    broker.decide(decision).await.unwrap();
    assert!(!broker.get(&own.id).await.unwrap().has_open_follow_up());
}

#[tokio::test]
async fn request_of_another_host_gets_the_approver_of_the_settings() {
    let mut crew = crew_with_remote_bob().await;
    let broker = crew.broker(LEAD_DECIDES);
    broker.read().await;
    let request = remote_request("r1", RequestKind::Plan);
    assert_eq!(request.approver, Approver::Ask);
    crew.requests.create(&request).unwrap();
    broker.read().await;
    assert!(broker.has_pending() && !broker.has_own_pending());
    crew.tasks_end().await;
    let mut events = crew.take_events().into_iter();
    let shown = events.find_map(|event| match event {
        EventKind::Team(TeamEvent::RequestChanged { request }) => Some(request.approver),
        _ => None,
    });
    assert_eq!(shown, Some(Approver::Lead));
    let stored = broker.get(&request.id).await.unwrap();
    assert_eq!(stored.approver, Approver::Lead);
    broker.withdraw_all_of(&[bob()]).await.unwrap();
    let withdrawn = broker.get(&request.id).await.unwrap();
    assert_eq!(withdrawn.status, RequestStatus::Withdrawn);
}

#[tokio::test]
async fn host_without_a_session_does_not_merge() {
    let crew = crew_with_remote_bob().await;
    let board = crew.board();
    let merges = crew.merges(&board, None);
    let error = merges.merge_for_user(vec![TaskId(1)]).await.unwrap_err();
    assert!(!error.contains("can no longer"), "{error}");
    crew.context.host.as_ref().unwrap().session.leave();
    let error = merges.merge_for_user(vec![TaskId(1)]).await.unwrap_err();
    assert!(error.contains("can no longer merge branches"), "{error}");
}

/// Returns a crew on a hub that this process leads, the session that allows it, and its project with the completed tasks 1
/// and 2, whose branches add the files `a` and `b`.
fn crew_with_two_branches() -> (TestCrew, Arc<FakeHostSession>, PathBuf) {
    let mut crew = TestCrew::new();
    let session = FakeHostSession::new("home", "s");
    crew.context = lead_in_session(&crew, Arc::clone(&session));
    let root = crew.dir.path().to_path_buf();
    repository(&root, &["a", "b"]);
    (crew, session, root)
}

/// Waits until a file exists. Panics after a minute.
async fn wait_for_file(path: &Path) {
    let waiting = async {
        while !path.exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_mins(1), waiting).await;
    assert!(waited.is_ok(), "{} is missing", path.display());
}

#[tokio::test]
async fn branch_stays_if_the_session_ends_while_the_board_is_read() {
    let (crew, session, root) = crew_with_two_branches();
    let board = crew.board();
    board.read(TaskSet::All).await.unwrap();
    let merges = crew.merges(&board, Some(Worktrees::open(&root)));
    merges.try_merge(TaskId(1)).await.unwrap();
    assert!(root.join("a").exists());
    let head = git(&root, &["rev-parse", "main"]);
    // The first answer lets the request pass.
    session.end_after(1);
    let error = merges.try_merge(TaskId(2)).await.err().unwrap();
    assert!(error.contains("can no longer merge branches"), "{error}");
    assert_eq!(git(&root, &["rev-parse", "main"]), head);
    assert!(!root.join("b").exists());
}

#[tokio::test]
async fn train_does_not_land_if_the_session_ends_during_its_checks() {
    let (mut crew, session, root) = crew_with_two_branches();
    let folder = tempfile::tempdir().unwrap();
    let (begun, may_end) = (folder.path().join("begun"), folder.path().join("may_end"));
    // On a combination with `b`, the check waits for the test, at most a minute.
    let check = format!(
        "test -f b || exit 0; touch {}; for i in $(seq 1200); do test -f {} && exit 0; sleep 0.05; done; exit 1",
        begun.display(),
        may_end.display()
    );
    let board = crew.board();
    board.read(TaskSet::All).await.unwrap();
    let merges = crew.checked_merges(&board, &check);
    merges.merge_for_user(vec![TaskId(1)]).await.unwrap();
    assert!(root.join("a").exists());
    let head = git(&root, &["rev-parse", "main"]);
    let end_session = async {
        wait_for_file(&begun).await;
        session.end();
        std::fs::write(&may_end, "").unwrap();
    };
    let (merged, ()) = tokio::join!(merges.merge_for_user(vec![TaskId(2)]), end_session);
    merged.unwrap();
    let notices = crew.notices().join("\n");
    let expected = "can no longer merge branches";
    assert!(notices.contains(expected), "{notices}");
    assert_eq!(git(&root, &["rev-parse", "main"]), head);
    assert!(!root.join("b").exists());
}
