//! The `crewdeck worktree` subcommands: list, diff, merge and remove worktrees, and open pull requests for them.

use anyhow::{Error, Result, bail};
use serde::Serialize;

use super::table::table;
use super::{CommandContext, CommandOutcome, OutputFormat, worktree_pr};
use crate::cli::WorktreeVerb;
use crate::domain::worktree::{
    BranchOutcome, ContentStatus, DiskUse, FolderState, Merge, RemovalMode, Worktree, WorktreeDiff,
    WorktreeError, WorktreeState,
};
use crate::store::{Board, StoreError, Teardown, Worktrees, task_in_worktree};

pub fn run(verb: &WorktreeVerb, context: &CommandContext<'_>) -> Result<CommandOutcome> {
    let worktrees = Worktrees::open(context.root);
    match verb {
        WorktreeVerb::List { sizes } => list(&worktrees, *sizes, context),
        WorktreeVerb::Diff { name } => {
            let diff = worktrees.diff(&worktrees.find(name)?.name)?;
            context.print(&diff, || format_diff(&diff))?;
            Ok(CommandOutcome::Done)
        }
        WorktreeVerb::Merge { name } => merge(&worktrees, name, context),
        WorktreeVerb::Pr(args) => worktree_pr::run(args, &worktrees, context),
        WorktreeVerb::Remove { name, force } => {
            let removal = if *force {
                RemovalMode::Confirmed
            } else {
                RemovalMode::OnlyIfSafe
            };
            remove(&worktrees, name, removal, context)
        }
    }
}

/// One row of `crewdeck worktree list`: the registry entry of a worktree, and its state on disk.
#[derive(Serialize)]
struct WorktreeRow {
    #[serde(flatten)]
    worktree: Worktree,
    on_disk: FolderState,
    /// Number of uncommitted files in the worktree. An untracked folder counts as one.
    dirty: usize,
    /// Number of commits that are not on the base branch. Counts the commits of the worktree's branch and, if another
    /// branch or commit is checked out in the worktree, also those of that branch or commit.
    ahead: u64,
    /// Whether the base branch has the content of the `ahead` commits, even if under other hashes, for example after a
    /// squash merge.
    merged: ContentStatus,
    /// The branch or commit that is checked out in the worktree; `None` if it is the worktree's own branch, or if there
    /// is no folder or no commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    elsewhere: Option<String>,
    /// The disk usage of the worktree and its cache folder. `None` if it was not asked for; always there in JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<DiskUse>,
    /// The part of `size` that is in the cache folder; `None` if it was not asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    cache: Option<DiskUse>,
}

fn list(
    worktrees: &Worktrees,
    has_sizes: bool,
    context: &CommandContext<'_>,
) -> Result<CommandOutcome> {
    let listing = worktrees.list()?;
    CommandContext::warn(&listing.notices);
    let mut rows = Vec::new();
    for worktree in listing.worktrees {
        let state = worktrees.state(&worktree.name)?;
        let mut row = row(worktree, state);
        if has_sizes {
            let (folder, cache) = worktrees.folder_and_cache_size(&row.worktree.name);
            (row.size, row.cache) = (Some(folder.plus(cache)), Some(cache));
        } else if context.format == OutputFormat::Json {
            row.size = Some(worktrees.size(&row.worktree.name));
        }
        rows.push(row);
    }
    context.print(&rows, || {
        if rows.is_empty() {
            return "No worktrees.".into();
        }
        let mut titles = HEADINGS.map(String::from).to_vec();
        if has_sizes {
            titles.extend(SIZE_HEADINGS.map(String::from));
        }
        let mut lines = vec![titles];
        lines.extend(rows.iter().map(cells));
        let text = table(&lines);
        if !has_sizes {
            return text;
        }
        let sizes = rows.iter().filter_map(|row| row.size);
        let total = sizes.fold(DiskUse::default(), DiskUse::plus);
        let checks = worktrees.check_size();
        let checks = match checks.bytes {
            0 => String::new(),
            _ => format!("\nCheckouts and cache of checks: {}", checks.in_words()),
        };
        format!("{text}\n\nAll worktrees: {}{checks}", total.in_words())
    })?;
    Ok(CommandOutcome::Done)
}

fn row(worktree: Worktree, state: WorktreeState) -> WorktreeRow {
    WorktreeRow {
        size: None,
        cache: None,
        worktree,
        on_disk: state.on_disk,
        dirty: state.dirty,
        ahead: state.ahead,
        merged: state.content,
        elsewhere: state.other_checkout,
    }
}

/// The headings of the columns that [`cells`] returns.
const HEADINGS: [&str; 7] = [
    "WORKTREE", "TASK", "BRANCH", "STATUS", "OWNER", "FILES", "COMMITS",
];
/// The headings of the columns with sizes: that of the worktree with its cache folder, and that of the cache folder.
const SIZE_HEADINGS: [&str; 2] = ["SIZE", "CACHE"];

fn cells(row: &WorktreeRow) -> Vec<String> {
    let tree = &row.worktree;
    let owner = match tree.owner.as_str() {
        "" => "-".into(),
        owner => format!("@{owner}"),
    };
    let files = match (row.on_disk, row.dirty) {
        (FolderState::Missing, _) => "folder missing".into(),
        (FolderState::Foreign, _) => "not a worktree".into(),
        (FolderState::Whole, 0) => "clean".into(),
        (FolderState::Whole, n) => format!("{n} uncommitted"),
    };
    let commits = match row.merged {
        ContentStatus::Nothing => "no commits".into(),
        ContentStatus::Merged => "all merged".into(),
        ContentStatus::Unmerged => format!("{} not merged", row.ahead),
    };
    let branch = match &row.elsewhere {
        Some(other) => format!("{} (checked out: {other})", tree.branch),
        None => tree.branch.clone(),
    };
    let mut cells = vec![
        tree.name.to_string(),
        tree.task_id.map_or("-".into(), |id| id.to_string()),
        branch,
        tree.status.to_string(),
        owner,
        files,
        commits,
    ];
    if let (Some(size), Some(cache)) = (row.size, row.cache) {
        cells.extend([size.to_string(), cache.to_string()]);
    }
    cells
}

fn format_diff(diff: &WorktreeDiff) -> String {
    if diff.stat.is_empty() && diff.untracked.is_empty() {
        return "No changes.".into();
    }
    let mut out = diff.stat.clone();
    if !diff.untracked.is_empty() {
        out.push_str(&format!(" untracked: {}\n", diff.untracked.join(", ")));
    }
    if !diff.text.is_empty() {
        out.push_str(&format!("\n{}", diff.text.trim_end()));
    }
    out.trim_end().into()
}

fn merge(
    worktrees: &Worktrees,
    name: &str,
    context: &CommandContext<'_>,
) -> Result<CommandOutcome> {
    let tree = worktrees.find(name)?;
    let merge = match context.gate.merge(&tree)? {
        Some(checked) => checked,
        None => worktrees.merge(&tree.name, context.now)?,
    };
    if matches!(merge, Merge::Merged { .. }) {
        let skipped = worktrees.skipped_merge_hooks().unwrap_or_default();
        CommandContext::warn(skipped.as_slice());
    }
    match &merge {
        Merge::Conflict { into, files } => bail!(
            "{} conflicts with {into} in {}; nothing was changed. In the worktree, merge {into}, resolve the conflicts and commit, then repeat this command",
            tree.branch,
            files.join(", ")
        ),
        Merge::Merged { into, .. } => {
            context.print(&merge, || format!("merged {} into {into}", tree.branch))?;
        }
        Merge::AlreadyMerged { into } => {
            context.print(&merge, || {
                format!("{} is already merged into {into}", tree.branch)
            })?;
        }
    }
    Ok(CommandOutcome::Done)
}

fn remove(
    worktrees: &Worktrees,
    name: &str,
    removal: RemovalMode,
    context: &CommandContext<'_>,
) -> Result<CommandOutcome> {
    let tree = worktrees.find(name)?;
    if removal == RemovalMode::OnlyIfSafe {
        check_not_in_use(worktrees, &tree, context)?;
    }
    let teardown = match worktrees.check_remove(&tree.name, removal) {
        Ok(()) => (context.teardown)(worktrees, &tree.name).map_err(Error::msg)?,
        // The removal below says why.
        Err(_) => Teardown::default(),
    };
    CommandContext::warn(teardown.warning.as_slice());
    if teardown.has_run() && removal == RemovalMode::OnlyIfSafe {
        // A task may have been claimed while the command ran.
        let unused = check_not_in_use(worktrees, &tree, context);
        unused.map_err(|why| Error::msg(teardown.refusal(why.to_string())))?;
    }
    let fate = worktrees.remove(&tree.name, removal, context.now);
    let fate = match fate {
        Ok(fate) => fate,
        Err(StoreError::Worktree(
            error @ (WorktreeError::Unsafe { .. } | WorktreeError::Kept(_)),
        )) => {
            let why = format!("{error} (--force removes the worktree anyway)");
            bail!("{}", teardown.refusal(why))
        }
        Err(error) if teardown.has_run() => bail!("{}", teardown.refusal(error.to_string())),
        Err(error) => return Err(error.into()),
    };
    drop(teardown);
    let remaining_branch = match &fate {
        BranchOutcome::Deleted => None,
        BranchOutcome::Kept(branch) => Some(branch.clone()),
    };
    let value = serde_json::json!({"removed": tree.name, "branch_stays": remaining_branch});
    context.print(&value, || match remaining_branch {
        None => format!("removed {}", tree.name),
        Some(branch) => {
            format!(
                "removed {}; its commits are still on branch {branch}",
                tree.name
            )
        }
    })?;
    Ok(CommandOutcome::Done)
}

/// Fails if a task on the board is in progress in the worktree.
fn check_not_in_use(
    worktrees: &Worktrees,
    tree: &Worktree,
    context: &CommandContext<'_>,
) -> Result<()> {
    match task_in_worktree(&Board::open(context.root), worktrees, tree)? {
        Some(task) => bail!(
            "worktree {} was not removed: {} works on task {} in it (--force removes the worktree anyway)",
            tree.name,
            task.owner,
            task.id
        ),
        None => Ok(()),
    }
}
