//! Finds worktrees that no open task needs, and orphaned folders and entries in `.worktrees`.

use crate::doctor::units::size;
use crate::doctor::{CrewPresence, DoctorContext, Finding, Fix};
use crate::domain::graph::TaskGraph;
use crate::domain::task::{Task, TaskStatus};
use crate::domain::worktree::{
    DiskUse, FolderState, RemovalMode, Worktree, WorktreeError, WorktreeName, WorktreeState,
    check_removal,
};
use crate::store::{self, Board, GitError, OrphanKind, OrphanWorktree, StoreError, Worktrees};

const CHECK: &str = "worktrees";
/// Maximum number of worktrees that are inspected, because inspecting one takes several git commands.
const TREES_MAX: usize = 200;

struct InspectedTree {
    worktree: Worktree,
    state: WorktreeState,
    size: DiskUse,
}

/// Whether a worktree is still needed by a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TaskNeed {
    /// The task, or another task that works in the worktree, is not completed.
    Open,
    Done,
    /// The worktree has no task, or its task is not on the board.
    NoTask,
}

pub fn run(context: &DoctorContext) -> Vec<Finding> {
    if !store::has_state(&context.root) {
        return Vec::new();
    }
    match gather(context) {
        Ok(found) => found,
        // The git check reports these errors.
        Err(StoreError::Git(
            GitError::Missing | GitError::TooOld(_) | GitError::NoRepository(_) | GitError::Bare(_),
        )) => {
            vec![Finding::ok(
                CHECK,
                "not checked: the check \"git\" above says why",
            )]
        }
        Err(error) => vec![super::unreadable(CHECK, &error)],
    }
}

fn gather(context: &DoctorContext) -> Result<Vec<Finding>, StoreError> {
    let worktrees = Worktrees::open(&context.root);
    let listing = worktrees.list()?;
    let board = Board::open(&context.root).read()?.graph;
    let mut found = Vec::new();
    let more = listing.worktrees.len().saturating_sub(TREES_MAX);
    let all = listing.worktrees.len();
    for worktree in listing.worktrees.into_iter().take(TREES_MAX) {
        let tree = InspectedTree {
            state: worktrees.state(&worktree.name)?,
            size: worktrees.size(&worktree.name),
            worktree,
        };
        found.extend(evaluate(&tree, need(&tree.worktree, &board), &context.crew));
    }
    if let Some(limit) = context.settings.worktree_disk_limit {
        found.extend(limit_exceeded(worktrees.disk_use(), limit));
    }
    if more > 0 {
        found.push(Finding::warn(
            CHECK,
            format!("{more} more worktrees were not checked"),
            "list them all: crewdeck worktree list",
        ));
    }
    for notice in listing.notices {
        found.push(Finding::warn(
            CHECK,
            notice,
            "repair that entry, or leave it to the program that created it",
        ));
    }
    for one in worktrees.orphans()? {
        found.push(orphan(&one, &context.crew));
    }
    if found.is_empty() {
        let text = match all {
            0 => "none".to_string(),
            all => format!("{all}, each marked to be kept or needed by an open task"),
        };
        found.push(Finding::ok(CHECK, text));
    }
    Ok(found)
}

/// Returns a warning if the worktrees and checks use more than `limit` bytes together, or if they may do so because there
/// are too many files to count.
fn limit_exceeded(total: DiskUse, limit: u64) -> Option<Finding> {
    let used = total.in_words();
    let limit_text = size(limit);
    let text = if total.bytes > limit {
        format!(
            "worktrees and checks use {used}, more than the limit of {limit_text} (worktree.disk_limit)"
        )
    } else if total.at_least {
        format!(
            "worktrees and checks use {used} and have too many files to count: they may exceed the limit of {limit_text} (worktree.disk_limit)"
        )
    } else {
        return None;
    };
    Some(Finding::warn(
        CHECK,
        text,
        "show their sizes: crewdeck worktree list --sizes\nremove one that you no longer need: crewdeck worktree remove NAME",
    ))
}

fn need(tree: &Worktree, board: &TaskGraph) -> TaskNeed {
    // A task that resolves a merge conflict works in the worktree of another task.
    let is_open = |t: &Task| t.worktree == tree.name.as_str() && t.status != TaskStatus::Completed;
    if board.tasks().any(is_open) {
        return TaskNeed::Open;
    }
    match tree.task_id.and_then(|id| board.get(id)) {
        None => TaskNeed::NoTask,
        Some(task) if task.status == TaskStatus::Completed => TaskNeed::Done,
        Some(_) => TaskNeed::Open,
    }
}

/// Returns a warning if no open task needs the worktree, or if its folder is not a worktree. Otherwise returns `None`.
/// Also returns `None` if the user has marked the worktree to be kept. The warning offers a fix if no crew is running and
/// the removal would lose no work.
fn evaluate(tree: &InspectedTree, need: TaskNeed, crew: &CrewPresence) -> Option<Finding> {
    let InspectedTree {
        worktree, state, ..
    } = tree;
    let name = &worktree.name;
    let whose = match (need, worktree.task_id) {
        // A missing folder is created again from its branch when the task is claimed.
        (TaskNeed::Open, _) if state.on_disk != FolderState::Foreign => return None,
        (TaskNeed::Open, Some(id)) => format!("{name} of task {id}"),
        (TaskNeed::Done, Some(id)) => format!("{name} of task {id}, which is completed,"),
        (TaskNeed::NoTask, Some(id)) => format!("{name} of task {id}, which is not on the board,"),
        (_, None) => format!("{name}, which has no task,"),
    };
    let size = tree.size.to_string();
    let refusal = match check_removal(worktree, state, RemovalMode::OnlyIfSafe) {
        Ok(()) => None,
        Err(WorktreeError::Kept(_)) => return None,
        Err(refusal) => Some(refusal),
    };
    Some(match refusal {
        None => {
            let holds = match state.on_disk {
                FolderState::Whole => format!("uses {size} and contains no unmerged work"),
                FolderState::Missing | FolderState::Foreign => "has no folder".into(),
            };
            let finding = Finding::warn(
                CHECK,
                format!("{whose} {holds}"),
                format!("remove it: crewdeck doctor --mend, or crewdeck worktree remove {name}"),
            );
            match crew {
                CrewPresence::None => finding.with_fix(Fix::RemoveWorktree { name: name.clone() }),
                CrewPresence::Runs(_) => finding,
            }
        }
        Some(WorktreeError::Unsafe { losses, .. }) => Finding::warn(
            CHECK,
            format!("{whose} uses {size} and contains unmerged work: {losses}"),
            format!(
                "review it: crewdeck worktree diff {name}\nmerge it: crewdeck worktree merge {name}\ndiscard it: crewdeck worktree remove {name} --force"
            ),
        ),
        Some(WorktreeError::Foreign(_)) => Finding::warn(
            CHECK,
            format!(".worktrees/{name} uses {size} and is not a worktree of this repository"),
            foreign_remedy(name.as_str()),
        ),
        Some(other) => Finding::warn(
            CHECK,
            format!("{whose} uses {size}: {other}"),
            format!("review .worktrees/{name}, then move it away"),
        ),
    })
}

/// Returns what to do with the folder `.worktrees/{name}`, which is not a worktree of this repository.
fn foreign_remedy(name: &str) -> String {
    format!(
        "review it, then move it away; if the repository was moved: git worktree repair .worktrees/{name}"
    )
}

fn orphan(orphan: &OrphanWorktree, crew: &CrewPresence) -> Finding {
    let name = &orphan.name;
    let with_fix = |finding: Finding| match (crew, WorktreeName::new(name)) {
        (CrewPresence::None, Ok(name)) => finding.with_fix(Fix::ClearOrphan { name }),
        (CrewPresence::None | CrewPresence::Runs(_), _) => finding,
    };
    match orphan.kind {
        OrphanKind::Empty => with_fix(Finding::warn(
            CHECK,
            format!(".worktrees/{name} is an empty folder and not a worktree"),
            format!("remove it: crewdeck doctor --mend, or rmdir .worktrees/{name}"),
        )),
        OrphanKind::FolderMissing => with_fix(Finding::warn(
            CHECK,
            format!("git still lists the worktree .worktrees/{name}, but its folder is gone"),
            "remove the entry: crewdeck doctor --mend; its branch is kept",
        )),
        OrphanKind::Folder(size) => Finding::warn(
            CHECK,
            format!(".worktrees/{name} uses {size} and is not a worktree of this repository"),
            foreign_remedy(name),
        ),
        OrphanKind::Unregistered => Finding::warn(
            CHECK,
            format!(".worktrees/{name} is a git worktree that crewdeck did not create"),
            format!("if you do not need it: git worktree remove .worktrees/{name}"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::graph::NewTask;
    use crate::domain::ids::{Name, TaskId};
    use crate::domain::timestamp::Timestamp;
    use crate::domain::worktree::ContentStatus;
    use pretty_assertions::assert_eq;

    fn tree(dirty: usize, content: ContentStatus, on_disk: FolderState) -> InspectedTree {
        let name = WorktreeName::new("task-3").unwrap();
        InspectedTree {
            worktree: Worktree::new(name, "/x".into(), Timestamp(1.0)),
            state: WorktreeState {
                on_disk,
                other_checkout: None,
                unreachable_commit: None,
                busy: None,
                dirty,
                files: vec!["a".into(); dirty],
                ahead: 1,
                content,
                unmerged: vec!["b".into()],
                nested: Vec::new(),
            },
            size: DiskUse {
                bytes: 4096,
                at_least: false,
            },
        }
    }

    #[test]
    fn only_merged_worktrees_without_open_task_have_a_fix() {
        use ContentStatus::{Merged, Unmerged};
        use FolderState::{Foreign, Missing, Whole};
        let fix = "fix";
        for (dirty, content, on_disk, need, words) in [
            (0, Merged, Whole, TaskNeed::Open, None),
            (5, Unmerged, Missing, TaskNeed::Open, None),
            (0, Merged, Whole, TaskNeed::Done, Some(fix)),
            (0, Merged, Missing, TaskNeed::NoTask, Some(fix)),
            (
                1,
                Merged,
                Whole,
                TaskNeed::Done,
                Some("contains unmerged work: 1 uncommitted file (a)"),
            ),
            (
                0,
                Unmerged,
                Whole,
                TaskNeed::NoTask,
                Some("contains unmerged work: 1 unmerged commit (b)"),
            ),
            (
                0,
                Unmerged,
                Missing,
                TaskNeed::Done,
                Some("contains unmerged work: 1 unmerged commit"),
            ),
            (
                0,
                Merged,
                Foreign,
                TaskNeed::Open,
                Some("is not a worktree of this repository"),
            ),
        ] {
            let tree = tree(dirty, content, on_disk);
            let found = evaluate(&tree, need, &CrewPresence::None);
            let has_fix = found.as_ref().is_some_and(|f| f.fix.is_some());
            assert_eq!(has_fix, words == Some(fix), "{found:?}");
            match words {
                None => assert_eq!(found, None),
                Some("fix") => {}
                Some(words) => assert!(found.as_ref().unwrap().text.contains(words), "{found:?}"),
            }
            let while_a_crew_runs = evaluate(&tree, need, &CrewPresence::Runs(None));
            assert!(while_a_crew_runs.is_none_or(|f| f.fix.is_none()));
        }
        let mut kept = tree(0, Merged, Whole);
        kept.worktree.mark_kept(Timestamp(2.0));
        assert_eq!(evaluate(&kept, TaskNeed::Done, &CrewPresence::None), None);
    }

    #[test]
    fn worktrees_above_the_disk_limit_are_reported() {
        let total = DiskUse {
            bytes: 3 * 1024 * 1024,
            at_least: true,
        };
        let found = limit_exceeded(total, 2 * 1024 * 1024).unwrap();
        assert_eq!(
            found.text,
            "worktrees and checks use at least 3.0 MiB, more than the limit of 2.0 MiB (worktree.disk_limit)"
        );
        let found = limit_exceeded(total, total.bytes).unwrap();
        assert!(found.text.contains("too many files to count"), "{found:?}");
        let exact = DiskUse {
            at_least: false,
            ..total
        };
        assert_eq!(limit_exceeded(exact, exact.bytes), None);
    }

    #[test]
    fn worktree_of_a_conflict_task_is_needed() {
        let tree = tree(0, ContentStatus::Merged, FolderState::Whole).worktree;
        let mut board = TaskGraph::default();
        assert_eq!(need(&tree, &board), TaskNeed::NoTask);
        let now = Timestamp(1.0);
        let new = |worktree: &str| NewTask {
            subject: "x".into(),
            worktree: worktree.into(),
            ..NewTask::default()
        };
        board.create(TaskId(3), new("task-3"), now).unwrap();
        let lead = Name::lead();
        board.complete(TaskId(3), &lead, now).unwrap();
        assert_eq!(need(&tree, &board), TaskNeed::Done);
        board.create(TaskId(9), new("task-3"), now).unwrap();
        assert_eq!(need(&tree, &board), TaskNeed::Open);
        board.complete(TaskId(9), &lead, now).unwrap();
        assert_eq!(need(&tree, &board), TaskNeed::Done);
    }

    #[test]
    fn only_orphans_without_content_have_a_fix() {
        let size = DiskUse::default();
        for (kind, has_fix) in [
            (OrphanKind::Empty, true),
            (OrphanKind::FolderMissing, true),
            (OrphanKind::Folder(size), false),
            (OrphanKind::Unregistered, false),
        ] {
            let one = OrphanWorktree {
                name: "x".into(),
                kind,
            };
            assert_eq!(
                orphan(&one, &CrewPresence::None).fix.is_some(),
                has_fix,
                "{kind:?}"
            );
            assert_eq!(orphan(&one, &CrewPresence::Runs(None)).fix, None);
        }
    }
}
