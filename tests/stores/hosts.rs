//! Promises about tasks that are claimed for the session of a host.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crewdeck::domain::host::{HostClaim, HostInfo, HostName};
use crewdeck::domain::ids::{MessageId, Name, TaskId};
use crewdeck::domain::mail::{MailKind, MailMessage};
use crewdeck::domain::task::TaskStatus;
use crewdeck::domain::worktree::WorktreeName;
use crewdeck::store::{Board, HostSession, StoreError, Stores, take_task};
use pretty_assertions::assert_eq;

use crate::suite::{Backend, NOW, claimer, name, new, race};

/// A session that a test can end. The promises hold for every session, whatever store it comes from.
#[derive(Debug)]
struct TestSession {
    claim: HostClaim,
    is_valid: AtomicBool,
}

impl TestSession {
    fn new(host: &str, session: &str) -> Arc<TestSession> {
        Arc::new(TestSession {
            claim: HostClaim {
                host: HostName::parse(host).unwrap(),
                session: session.into(),
            },
            is_valid: AtomicBool::new(true),
        })
    }

    fn end(&self) {
        self.is_valid.store(false, Ordering::SeqCst);
    }
}

impl HostSession for TestSession {
    fn claim(&self) -> HostClaim {
        self.claim.clone()
    }

    fn is_valid(&self) -> bool {
        self.is_valid.load(Ordering::SeqCst)
    }

    fn update(&self, _info: &HostInfo) -> Result<(), StoreError> {
        Ok(())
    }

    fn leave(&self) {
        self.is_valid.store(false, Ordering::SeqCst);
    }
}

fn on(backend: &dyn Backend, session: &Arc<TestSession>) -> Stores {
    let session: Arc<dyn HostSession> = session.clone();
    backend.open().with_host(session)
}

fn create(board: &Board) -> TaskId {
    board.create(new("a", &[]), NOW).unwrap().id
}

fn claim(board: &Board, id: TaskId, who: &str) {
    board.claim(Some(id), &claimer(who), NOW).unwrap();
}

fn claim_of(board: &Board, id: TaskId) -> Option<HostClaim> {
    board.get(id).unwrap().claim.clone()
}

/// Tries all acts of bob as the owner of the task, and checks that they are rejected and change nothing.
fn assert_fenced(board: &Board, id: TaskId) {
    let before = board.get(id).unwrap();
    let (bob, tree) = (name("bob"), WorktreeName::new("tree").unwrap());
    let results = [
        board.start(id, &claimer("bob"), NOW),
        board.complete(id, &bob, NOW),
        board.complete_checked(id, &bob, &[], NOW),
        board.release(id, &bob, NOW),
        board.bind(id, &tree, NOW),
    ];
    for result in results {
        let error = result.unwrap_err();
        assert!(
            matches!(error, StoreError::ClaimLost(lost, _) if lost == id),
            "{error}"
        );
        assert!(error.is_lost_lease());
    }
    assert_eq!(board.get(id).unwrap(), before);
}

pub fn claim_of_a_host_counts_for_its_session_only(backend: &dyn Backend) {
    let session = TestSession::new("gpu", "s1");
    let own = on(backend, &session).board;
    let others = [
        on(backend, &TestSession::new("gpu", "s2")).board,
        on(backend, &TestSession::new("cpu", "s1")).board,
        backend.open().board,
    ];
    // A task is claimed by its number, as the next one, or when work on it begins.
    let first = create(&own);
    claim(&own, first, "bob");
    assert_eq!(claim_of(&own, first), Some(session.claim()));
    for other in &others {
        assert_fenced(other, first);
    }
    own.start(first, &claimer("bob"), NOW).unwrap();
    let tree = WorktreeName::new("tree").unwrap();
    own.bind(first, &tree, NOW).unwrap();
    let done = own.complete(first, &name("bob"), NOW).unwrap();
    assert_eq!(done.claim, Some(session.claim()));
    // A completed task says so, and not which host has completed it.
    let error = others[0].complete(first, &name("bob"), NOW).unwrap_err();
    assert!(matches!(error, StoreError::Graph(_)), "{error}");
    let second = create(&own);
    let next = own.claim(None, &claimer("bob"), NOW).unwrap().unwrap();
    assert_eq!((next.id, next.claim), (second, Some(session.claim())));
    let released = own.release(second, &name("bob"), NOW).unwrap();
    assert_eq!(released.claim, None);
    let started = others[1].start(second, &claimer("bob"), NOW).unwrap();
    let held = started.claim.unwrap();
    assert_eq!((held.host.as_str(), held.session.as_str()), ("cpu", "s1"));
    assert_fenced(&own, second);
}

pub fn ended_session_cannot_act_as_owner(backend: &dyn Backend) {
    let session = TestSession::new("gpu", "s1");
    let board = on(backend, &session).board;
    let (id, free) = (create(&board), create(&board));
    claim(&board, id, "bob");
    session.end();
    assert_fenced(&board, id);
    let error = board.record_checks(id, &name("bob"), &[]).unwrap_err();
    assert!(error.is_lost_lease(), "{error}");
    for wanted in [Some(free), None] {
        let error = board.claim(wanted, &claimer("carol"), NOW).unwrap_err();
        assert!(error.is_lost_lease(), "{error}");
    }
    assert_eq!(board.get(free).unwrap().owner, "");
    // What needs no claim still works.
    create(&board);
    board.claim(Some(free), &claimer("user"), NOW).unwrap();
    assert_eq!(claim_of(&board, free), None);
}

pub fn user_is_not_limited_by_claims_of_hosts(backend: &dyn Backend) {
    let session = TestSession::new("gpu", "s1");
    let stores = backend.open();
    let own = on(backend, &session).board;
    let ids = [create(&own), create(&own)];
    claim(&own, ids[0], "bob");
    claim(&own, ids[1], "carol");
    let edit = crewdeck::domain::graph::TaskEdit {
        description: Some("more".into()),
        ..Default::default()
    };
    stores.board.edit(ids[0], &edit, NOW).unwrap();
    assert_eq!(claim_of(&own, ids[0]), Some(session.claim()));
    stores.board.take(ids[0], &name("bob"), NOW).unwrap();
    // The owner is not in the roster.
    let parts = (&stores.board, &stores.roster, &stores.mailbox);
    take_task(parts, ids[1], &name("carol"), MessageId("m1".into()), NOW).unwrap();
    for id in ids {
        let task = own.get(id).unwrap();
        assert_eq!((task.owner.as_str(), &task.claim), ("", &None));
        stores.board.remove(id, NOW).unwrap();
    }
}

pub fn lost_claim_is_released_once(backend: &dyn Backend) {
    let lost = TestSession::new("gpu", "s1");
    let board = on(backend, &lost).board;
    let ids = [create(&board), create(&board)];
    claim(&board, ids[0], "bob");
    claim(&board, ids[1], "carol");
    board.complete(ids[1], &name("carol"), NOW).unwrap();
    lost.end();
    let released = race(backend, 3, |_, stores| {
        let found = stores.board.release_lost(ids[0], &lost.claim(), NOW);
        found.unwrap()
    });
    let released: Vec<_> = released.into_iter().flatten().collect();
    assert_eq!(released.len(), 1);
    let task = &released[0];
    assert_eq!(
        (task.owner.as_str(), task.status, task.attempts),
        ("", TaskStatus::Pending, 1)
    );
    let other = backend.open().board;
    assert_eq!(
        other.release_lost(ids[1], &lost.claim(), NOW).unwrap(),
        None
    );
    // The next claim has another session, also if the owner has the same name.
    let next = TestSession::new("gpu", "s2");
    let newer = on(backend, &next).board;
    claim(&newer, ids[0], "bob");
    assert_eq!(
        other.release_lost(ids[0], &lost.claim(), NOW).unwrap(),
        None
    );
    assert_fenced(&board, ids[0]);
    newer.complete(ids[0], &name("bob"), NOW).unwrap();
    other.remove(ids[0], NOW).unwrap();
    assert_eq!(
        other.release_lost(ids[0], &lost.claim(), NOW).unwrap(),
        None
    );
}

pub fn restarted_host_adopts_its_open_tasks(backend: &dyn Backend) {
    let old = TestSession::new("gpu", "s1");
    let other = on(backend, &TestSession::new("cpu", "s1")).board;
    let board = on(backend, &old).board;
    let ids: Vec<TaskId> = (0..4).map(|_| create(&board)).collect();
    claim(&board, ids[0], "bob");
    claim(&board, ids[1], "carol");
    board.complete(ids[1], &name("carol"), NOW).unwrap();
    claim(&other, ids[2], "dora");
    claim(&backend.open().board, ids[3], "erin");
    assert_eq!(backend.open().board.adopt("s1", NOW).unwrap(), []);
    let new = TestSession::new("GPU", "s2");
    let restarted = on(backend, &new).board;
    assert_fenced(&restarted, ids[0]);
    let adopted = restarted.adopt("s1", NOW).unwrap();
    let adopted: Vec<(TaskId, Option<HostClaim>)> =
        adopted.into_iter().map(|t| (t.id, t.claim)).collect();
    assert_eq!(adopted, [(ids[0], Some(new.claim()))]);
    assert_eq!(restarted.adopt("s1", NOW).unwrap(), []);
    assert_fenced(&board, ids[0]);
    let done = restarted.complete(ids[0], &name("bob"), NOW).unwrap();
    assert_eq!((done.owner.as_str(), done.attempts), ("bob", 1));
    assert_eq!(claim_of(&board, ids[1]), Some(old.claim()));
    new.end();
    assert_eq!(restarted.adopt("s1", NOW).unwrap(), []);
}

pub fn task_that_no_host_has_claimed_is_not_limited(backend: &dyn Backend) {
    let plain = backend.open().board;
    let hosted = on(backend, &TestSession::new("gpu", "s1")).board;
    let (bob, tree) = (name("bob"), WorktreeName::new("tree").unwrap());
    for (first, second) in [(&plain, &hosted), (&hosted, &plain), (&plain, &plain)] {
        let id = create(&plain);
        claim(&plain, id, "bob");
        assert_eq!(claim_of(&plain, id), None);
        first.start(id, &claimer("bob"), NOW).unwrap();
        first.bind(id, &tree, NOW).unwrap();
        second.release(id, &bob, NOW).unwrap();
        claim(&plain, id, "bob");
        second.complete(id, &bob, NOW).unwrap();
    }
}

pub fn messages_of_an_ended_session_are_rejected(backend: &dyn Backend) {
    let session = TestSession::new("gpu", "s1");
    let mailbox = on(backend, &session).mailbox;
    let send = |id: &str, from: &Name| {
        let (id, kind) = (MessageId(id.into()), MailKind::Message);
        let message = MailMessage::new(id, kind, from, &name("carol"), "hello", NOW);
        mailbox.send(&message)?;
        mailbox.send_once(&message)
    };
    send("m1", &name("bob")).unwrap();
    session.end();
    let error = send("m2", &name("bob")).unwrap_err();
    assert!(matches!(error, StoreError::HostLost(_)), "{error}");
    assert!(error.is_lost_lease());
    send("m3", &Name::user()).unwrap();
    let reader = mailbox
        .reader(&name("carol"), Duration::from_secs(20))
        .unwrap();
    let unread = reader.read_pending().unwrap().messages;
    assert!(
        unread.iter().all(|message| message.id.0 != "m2"),
        "{unread:?}"
    );
    assert!(unread.iter().any(|message| message.id.0 == "m3"));
}
