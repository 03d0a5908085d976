//! Tests of the spare worktree, in real repositories.

use std::path::PathBuf;
use std::time::Duration;

use pretty_assertions::assert_eq;

use super::super::test_support::{TestCrew, bob, git, repository};
use super::*;
use crate::domain::graph::NewTask;
use crate::domain::ids::Name;
use crate::domain::timestamp::Timestamp;
use crate::domain::worktree::{WorktreePhase, WorktreeSettings};
use crate::store::{WorktreeCommands, Worktrees};

const NOW: Timestamp = Timestamp(1.0);
/// Counts its runs in the worktree's cache.
const SETUP: &str = "echo run >> \"$CREWDECK_CACHE/runs\"";

struct SpareFixture {
    crew: TestCrew,
    root: PathBuf,
    store: Worktrees,
    board: Arc<BoardView>,
    spares: Arc<SpareWorktrees>,
}

/// Creates a crew with the teammate bob, in a repository without other files.
fn fixture(settings: WorktreeSettings) -> SpareFixture {
    let crew = TestCrew::new();
    let root = crew.context.root.clone();
    repository(&root, &[]);
    let (board, store) = (crew.board(), Worktrees::open(&root));
    let commands = WorktreeCommands {
        settings,
        ..WorktreeCommands::default()
    };
    let (context, registry) = (crew.context.clone(), crew.registry.clone());
    let used = Some((store.clone(), commands));
    let worktrees =
        TaskWorktrees::new(context.clone(), registry.clone(), board.clone(), used, None);
    let spares = SpareWorktrees::new(context, registry, board.clone(), Arc::new(worktrees));
    crew.agent(&bob());
    SpareFixture {
        crew,
        root,
        store,
        board,
        spares: Arc::new(spares),
    }
}

fn with_setup() -> WorktreeSettings {
    WorktreeSettings {
        setup: Some(SETUP.into()),
        ..WorktreeSettings::default()
    }
}

impl SpareFixture {
    fn add_task(&self, subject: &str) -> TaskId {
        let new = NewTask {
            subject: subject.into(),
            ..NewTask::default()
        };
        self.board.store().create(new, NOW).unwrap().id
    }

    fn claim(&self, id: TaskId) -> Task {
        let claimer = Claimer {
            name: bob(),
            tags: Vec::new(),
        };
        let claimed = self.board.store().claim(Some(id), &claimer, NOW);
        claimed.unwrap().unwrap()
    }

    /// Waits until `is_reached` holds for the spare worktrees.
    async fn wait(&self, is_reached: impl Fn(&[Worktree]) -> bool) {
        let wait = async {
            while !is_reached(&self.store.spares().unwrap()) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(60), wait).await;
        assert!(waited.is_ok(), "{:?}", self.store.spares());
    }

    fn runs(&self) -> String {
        let path = self.root.join(".worktrees/.cache-task-2/runs");
        std::fs::read_to_string(path).unwrap_or_default()
    }
}

#[tokio::test]
async fn next_task_gets_a_prepared_worktree_that_its_claim_takes() {
    let fixture = fixture(with_setup());
    let (first, second) = (fixture.add_task("one"), fixture.add_task("two"));
    fixture.add_task("three");
    // An idle teammate claims the task at once.
    fixture.spares.board_changed();
    fixture.claim(first);
    fixture.spares.board_changed();
    fixture
        .wait(|spares| matches!(spares, [tree] if !tree.setup_pending))
        .await;
    assert_eq!(fixture.store.spares().unwrap()[0].task_id, Some(second));
    let unclaimed = fixture.board.store().get(second).unwrap();
    assert_eq!(
        (unclaimed.worktree.as_str(), unclaimed.owner.as_str()),
        ("", "")
    );

    fixture.board.store().complete(first, &bob(), NOW).unwrap();
    let task = fixture.claim(second);
    let worktrees = &fixture.spares.worktrees;
    let workspace = worktrees.workspace_for(&task, &bob(), None).await;
    let workspace = workspace.unwrap().unwrap();
    assert_eq!(workspace.dir, fixture.root.join(".worktrees/task-2"));
    assert!(
        workspace.text.contains("setup command has run here"),
        "{}",
        workspace.text
    );
    assert_eq!(fixture.runs(), "run\n");
    let tree = fixture.store.find("task-2").unwrap();
    assert_eq!(
        (tree.phase, tree.owner.as_str()),
        (WorktreePhase::Used, "bob")
    );
    let bound = fixture.board.store().get(second).unwrap();
    assert_eq!(bound.worktree, "task-2");
}

#[tokio::test]
async fn spare_worktree_follows_the_base_unless_it_has_files_of_its_own() {
    for has_own_file in [false, true] {
        let fixture = fixture(with_setup());
        let (first, second) = (fixture.add_task("one"), fixture.add_task("two"));
        fixture.claim(first);
        fixture.spares.board_changed();
        fixture
            .wait(|spares| matches!(spares, [tree] if !tree.setup_pending))
            .await;
        let dir = fixture.root.join(".worktrees/task-2");
        if has_own_file {
            std::fs::write(dir.join("own.txt"), "").unwrap();
        }
        std::fs::write(fixture.root.join("new.txt"), "new").unwrap();
        git(&fixture.root, &["add", "new.txt"]);
        git(&fixture.root, &["commit", "--quiet", "-m", "new"]);
        fixture.board.store().complete(first, &bob(), NOW).unwrap();
        let task = fixture.claim(second);
        let worktrees = &fixture.spares.worktrees;
        let workspace = worktrees.workspace_for(&task, &bob(), None).await;
        workspace.unwrap().unwrap();
        assert_eq!(dir.join("new.txt").exists(), !has_own_file);
        // After a move, the setup has run again.
        let expected = if has_own_file { "run\n" } else { "run\nrun\n" };
        assert_eq!(fixture.runs(), expected);
        let tree = fixture.store.find("task-2").unwrap();
        assert_eq!(
            (tree.phase, tree.setup_pending),
            (WorktreePhase::Used, false)
        );
    }
}

#[tokio::test]
async fn spare_worktree_of_a_deleted_task_is_removed_after_its_teardown() {
    let mut fixture = fixture(WorktreeSettings {
        teardown: Some("echo down; exit 3".into()),
        ..with_setup()
    });
    let (first, second) = (fixture.add_task("one"), fixture.add_task("two"));
    fixture.claim(first);
    fixture.spares.board_changed();
    fixture
        .wait(|spares| matches!(spares, [tree] if !tree.setup_pending))
        .await;
    fixture.board.store().remove(second, NOW).unwrap();
    fixture.spares.board_changed();
    fixture.wait(<[Worktree]>::is_empty).await;
    fixture.crew.tasks_end().await;
    assert!(!fixture.root.join(".worktrees/task-2").exists());
    let notices = fixture.crew.notices();
    let last = notices.last().unwrap();
    assert!(
        last.contains("teardown of worktree task-2 failed (exit code 3: down)"),
        "{last}"
    );
}

#[tokio::test]
async fn no_spare_worktree_is_created_without_setup_or_without_a_busy_teammate() {
    let plain = fixture(WorktreeSettings::default());
    let idle = fixture(with_setup());
    for (fixture, is_claimed) in [(plain, true), (idle, false)] {
        let first = fixture.add_task("one");
        fixture.add_task("two");
        if is_claimed {
            fixture.claim(first);
        }
        fixture.spares.board_changed();
        fixture.crew.tasks_end().await;
        assert_eq!(fixture.store.list().unwrap().worktrees, []);
    }
}

#[tokio::test]
async fn setup_of_a_claimed_task_does_not_wait_for_that_of_the_spare_worktree() {
    let waits = "until [ -e ../../go ]; do touch ../../begun; sleep 0.05; done";
    let fixture = fixture(WorktreeSettings {
        setup: Some(format!("[ \"$CREWDECK_TASK\" != 2 ] || {{ {waits}; }}")),
        ..WorktreeSettings::default()
    });
    let (first, third) = (fixture.add_task("one"), {
        fixture.add_task("two");
        fixture.add_task("three")
    });
    fixture.claim(first);
    fixture.spares.board_changed();
    let begun = fixture.root.join("begun");
    fixture.wait(|_| begun.exists()).await;
    let ann = Claimer {
        name: Name::member("ann").unwrap(),
        tags: Vec::new(),
    };
    let claimed = fixture.board.store().claim(Some(third), &ann, NOW);
    let task = claimed.unwrap().unwrap();
    let worktrees = &fixture.spares.worktrees;
    let prepared = worktrees.workspace_for(&task, &ann.name, None);
    let prepared = tokio::time::timeout(Duration::from_secs(60), prepared).await;
    assert!(prepared.unwrap().unwrap().is_some());
    std::fs::write(fixture.root.join("go"), "").unwrap();
    fixture
        .wait(|spares| matches!(spares, [tree] if !tree.setup_pending))
        .await;
}

#[tokio::test]
async fn no_spare_worktree_is_created_above_the_disk_limit() {
    let fixture = fixture(WorktreeSettings {
        disk_limit: Some(100_000),
        ..with_setup()
    });
    let used = fixture.root.join(".worktrees/.used");
    std::fs::create_dir_all(&used).unwrap();
    std::fs::write(used.join("file"), vec![1; 1_000_000]).unwrap();
    let first = fixture.add_task("one");
    fixture.add_task("two");
    fixture.claim(first);
    fixture.spares.board_changed();
    fixture.crew.tasks_end().await;
    assert_eq!(fixture.store.list().unwrap().worktrees, []);
}
