//! Worktrees that no open task needs, with what each holds; folders and entries of nobody.

use crate::doctor::{Crew, Finding, Mend, Place};
use crate::domain::graph::TaskGraph;
use crate::domain::task::TaskStatus;
use crate::domain::worktree::{
    DiskUse, OnDisk, Removal, Worktree, WorktreeError, WorktreeName, WorktreeState, may_remove,
};
use crate::store::{self, Board, GitError, StoreError, Stray, StrayKind, Worktrees};

const CHECK: &str = "worktrees";
/// Most worktrees that are looked into; each takes several git commands.
const TREES_MAX: usize = 200;

/// One worktree with all that is known of it.
struct Tree {
    worktree: Worktree,
    state: WorktreeState,
    size: DiskUse,
}

/// What the task of a worktree needs it for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Need {
    /// Its task is not completed.
    Open,
    /// Its task is completed.
    Done,
    /// It has no task, or one that is not on the board.
    NoTask,
}

/// Looks at the worktrees.
pub fn look(place: &Place) -> Vec<Finding> {
    if !store::is_used(&place.root) {
        return Vec::new();
    }
    match gather(place) {
        Ok(found) => found,
        // What is wrong with git says its own check.
        Err(StoreError::Git(
            GitError::Missing | GitError::TooOld(_) | GitError::NoRepository(_) | GitError::Bare(_),
        )) => {
            vec![Finding::ok(CHECK, "none: see git above")]
        }
        Err(error) => vec![super::unreadable(CHECK, &error)],
    }
}

fn gather(place: &Place) -> Result<Vec<Finding>, StoreError> {
    let worktrees = Worktrees::open(&place.root);
    let listing = worktrees.list()?;
    let board = Board::open(&place.root).read()?.graph;
    let mut found = Vec::new();
    let more = listing.worktrees.len().saturating_sub(TREES_MAX);
    let all = listing.worktrees.len();
    for worktree in listing.worktrees.into_iter().take(TREES_MAX) {
        let tree = Tree {
            state: worktrees.state(&worktree.name)?,
            size: worktrees.size(&worktree.name),
            worktree,
        };
        found.extend(judge(&tree, need(&tree.worktree, &board), &place.crew));
    }
    if more > 0 {
        found.push(Finding::warn(
            CHECK,
            format!("{more} more worktrees were not looked into"),
            "crewdeck worktree list shows them all",
        ));
    }
    for notice in listing.notices {
        found.push(Finding::warn(
            CHECK,
            notice,
            "mend that entry, or leave it to its program",
        ));
    }
    for one in worktrees.strays()? {
        found.push(stray(&one, &place.crew));
    }
    if found.is_empty() {
        let text = match all {
            0 => "none".to_string(),
            all => format!("{all}, each for an open task or to be kept"),
        };
        found.push(Finding::ok(CHECK, text));
    }
    Ok(found)
}

fn need(tree: &Worktree, board: &TaskGraph) -> Need {
    match tree.task_id.and_then(|id| board.get(id)) {
        None => Need::NoTask,
        Some(task) if task.status == TaskStatus::Completed => Need::Done,
        Some(_) => Need::Open,
    }
}

/// `None`: it is as it should be.
fn judge(tree: &Tree, need: Need, crew: &Crew) -> Option<Finding> {
    let Tree {
        worktree, state, ..
    } = tree;
    let name = &worktree.name;
    let whose = match (need, worktree.task_id) {
        // A folder that is gone is made again from its branch when the task is claimed.
        (Need::Open, _) if state.on_disk != OnDisk::Foreign => return None,
        (Need::Open, Some(id)) => format!("{name} of task {id}"),
        (Need::Done, Some(id)) => format!("{name} of task {id}, which is completed,"),
        (Need::NoTask, Some(id)) => format!("{name} of task {id}, which is not on the board,"),
        (_, None) => format!("{name}, which is for no task,"),
    };
    let size = tree.size.to_string();
    let refusal = match may_remove(worktree, state, Removal::OnlyIfSafe) {
        Ok(()) => None,
        Err(WorktreeError::Kept(_)) => return None,
        Err(refusal) => Some(refusal),
    };
    Some(match refusal {
        None => {
            let holds = match state.on_disk {
                OnDisk::Whole => format!("takes {size} and holds nothing that is not merged"),
                OnDisk::Missing | OnDisk::Foreign => "has no folder any more".into(),
            };
            let finding = Finding::warn(
                CHECK,
                format!("{whose} {holds}"),
                format!("crewdeck worktree remove {name}; crewdeck doctor --mend does it"),
            );
            match crew {
                Crew::None => finding.mended_by(Mend::RemoveWorktree { name: name.clone() }),
                Crew::Runs(_) => finding,
            }
        }
        Some(WorktreeError::Unsafe { losses, .. }) => Finding::warn(
            CHECK,
            format!("{whose} takes {size} and holds work: {losses}"),
            format!(
                "look (crewdeck worktree diff {name}), merge (worktree merge {name}), or give it up: worktree remove {name} --force"
            ),
        ),
        Some(other) => Finding::warn(
            CHECK,
            format!("{whose} takes {size}: {other}"),
            format!("look what is in .worktrees/{name} before you move it away"),
        ),
    })
}

fn stray(stray: &Stray, crew: &Crew) -> Finding {
    let name = &stray.name;
    let mend = |finding: Finding| match (crew, WorktreeName::new(name)) {
        (Crew::None, Ok(name)) => finding.mended_by(Mend::ClearStray { name }),
        (Crew::None | Crew::Runs(_), _) => finding,
    };
    match stray.kind {
        StrayKind::Empty => mend(Finding::warn(
            CHECK,
            format!(".worktrees/{name} is an empty folder of nobody"),
            format!("rmdir .worktrees/{name}; crewdeck doctor --mend does it"),
        )),
        StrayKind::Forgotten => mend(Finding::warn(
            CHECK,
            format!("git still lists a worktree .worktrees/{name}, whose folder is gone"),
            "crewdeck doctor --mend lets git forget it; its branch stays",
        )),
        StrayKind::Folder(size) => Finding::warn(
            CHECK,
            format!(".worktrees/{name} takes {size} and is no worktree of this repository"),
            format!(
                "look what is in it, then move it away; if the repository was moved: git worktree repair .worktrees/{name}"
            ),
        ),
        StrayKind::Unentered => Finding::warn(
            CHECK,
            format!(".worktrees/{name} is a worktree that git knows and crewdeck did not make"),
            format!("if nobody needs it: git worktree remove .worktrees/{name}"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::stamp::Stamp;
    use crate::domain::worktree::Content;
    use pretty_assertions::assert_eq;

    fn tree(dirty: usize, content: Content, on_disk: OnDisk) -> Tree {
        let name = WorktreeName::new("task-3").unwrap();
        Tree {
            worktree: Worktree::new(name, "/x".into(), Stamp(1.0)),
            state: WorktreeState {
                on_disk,
                elsewhere: None,
                loose: None,
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
    fn only_a_worktree_without_work_and_without_an_open_task_can_be_mended() {
        use Content::{Merged, Unmerged};
        use OnDisk::{Foreign, Missing, Whole};
        let mended = "mended";
        for (dirty, content, on_disk, need, words) in [
            (0, Merged, Whole, Need::Open, None),
            (5, Unmerged, Missing, Need::Open, None),
            (0, Merged, Whole, Need::Done, Some(mended)),
            (0, Merged, Missing, Need::NoTask, Some(mended)),
            (
                1,
                Merged,
                Whole,
                Need::Done,
                Some("holds work: 1 uncommitted file (a)"),
            ),
            (
                0,
                Unmerged,
                Whole,
                Need::NoTask,
                Some("holds work: 1 unmerged commit (b)"),
            ),
            (
                0,
                Unmerged,
                Missing,
                Need::Done,
                Some("holds work: 1 unmerged commit"),
            ),
            (
                0,
                Merged,
                Foreign,
                Need::Open,
                Some("is not a worktree of this repository"),
            ),
        ] {
            let tree = tree(dirty, content, on_disk);
            let found = judge(&tree, need, &Crew::None);
            let is_mended = found.as_ref().is_some_and(|f| f.mend.is_some());
            assert_eq!(is_mended, words == Some(mended), "{found:?}");
            match words {
                None => assert_eq!(found, None),
                Some("mended") => {}
                Some(words) => assert!(found.as_ref().unwrap().text.contains(words), "{found:?}"),
            }
            let while_a_crew_runs = judge(&tree, need, &Crew::Runs(None));
            assert!(while_a_crew_runs.is_none_or(|f| f.mend.is_none()));
        }
        let mut kept = tree(0, Merged, Whole);
        kept.worktree.keep(Stamp(2.0));
        assert_eq!(judge(&kept, Need::Done, &Crew::None), None);
    }

    #[test]
    fn only_strays_without_content_can_be_mended() {
        let size = DiskUse::default();
        for (kind, is_mended) in [
            (StrayKind::Empty, true),
            (StrayKind::Forgotten, true),
            (StrayKind::Folder(size), false),
            (StrayKind::Unentered, false),
        ] {
            let one = Stray {
                name: "x".into(),
                kind,
            };
            assert_eq!(
                stray(&one, &Crew::None).mend.is_some(),
                is_mended,
                "{kind:?}"
            );
            assert_eq!(stray(&one, &Crew::Runs(None)).mend, None);
        }
    }
}
