//! `crewdeck worktree …`

use anyhow::{Result, bail};
use serde::Serialize;
use unicode_width::UnicodeWidthStr;

use super::{Desk, Ended};
use crate::cli::WorktreeVerb;
use crate::domain::worktree::{
    BranchFate, Content, DiskUse, Merge, OnDisk, Removal, Worktree, WorktreeDiff, WorktreeState,
};
use crate::store::{Board, Worktrees, worked_in};

/// Carries the verb out.
pub fn run(verb: &WorktreeVerb, desk: &Desk<'_>) -> Result<Ended> {
    let worktrees = Worktrees::open(desk.root);
    match verb {
        WorktreeVerb::List => list(&worktrees, desk),
        WorktreeVerb::Diff { name } => {
            let diff = worktrees.diff(&worktrees.find(name)?.name)?;
            desk.print(&diff, || shown(&diff))?;
            Ok(Ended::Done)
        }
        WorktreeVerb::Merge { name } => merge(&worktrees, name, desk),
        WorktreeVerb::Remove { name, force } => {
            let removal = if *force {
                Removal::WhatIsLostIsKnown
            } else {
                Removal::OnlyIfSafe
            };
            remove(&worktrees, name, removal, desk)
        }
    }
}

/// A worktree as `list` shows it: its entry, and what was found in it.
#[derive(Serialize)]
struct Row {
    #[serde(flatten)]
    worktree: Worktree,
    on_disk: OnDisk,
    /// How many files are not committed.
    dirty: usize,
    /// How many commits the base does not have.
    ahead: u64,
    /// Whether their content is in the base.
    merged: Content,
    #[serde(skip_serializing_if = "Option::is_none")]
    elsewhere: Option<String>,
    size: DiskUse,
}

fn list(worktrees: &Worktrees, desk: &Desk<'_>) -> Result<Ended> {
    let listing = worktrees.list()?;
    Desk::warn(&listing.notices);
    let mut rows = Vec::new();
    for worktree in listing.worktrees {
        let state = worktrees.state(&worktree.name)?;
        rows.push(row(worktree, state, worktrees));
    }
    desk.print(&rows, || {
        if rows.is_empty() {
            return "No worktrees.".into();
        }
        table(&rows.iter().map(cells).collect::<Vec<_>>())
    })?;
    Ok(Ended::Done)
}

fn row(worktree: Worktree, state: WorktreeState, worktrees: &Worktrees) -> Row {
    Row {
        size: worktrees.size(&worktree.name),
        worktree,
        on_disk: state.on_disk,
        dirty: state.dirty,
        ahead: state.ahead,
        merged: state.content,
        elsewhere: state.elsewhere,
    }
}

fn cells(row: &Row) -> Vec<String> {
    let tree = &row.worktree;
    let owner = match tree.owner.as_str() {
        "" => "-".into(),
        owner => format!("@{owner}"),
    };
    let files = match (row.on_disk, row.dirty) {
        (OnDisk::Missing, _) => "folder gone".into(),
        (OnDisk::Foreign, _) => "not a worktree".into(),
        (OnDisk::Whole, 0) => "clean".into(),
        (OnDisk::Whole, n) => format!("{n} uncommitted"),
    };
    let commits = match row.merged {
        Content::Nothing => "no commits".into(),
        Content::Merged => "merged".into(),
        Content::Unmerged => format!("{} not merged", row.ahead),
    };
    let branch = match &row.elsewhere {
        Some(on) => format!("{} (is on {on})", tree.branch),
        None => tree.branch.clone(),
    };
    vec![
        tree.name.to_string(),
        tree.task_id.map_or("-".into(), |id| id.to_string()),
        branch,
        tree.status.to_string(),
        owner,
        files,
        commits,
        row.size.to_string(),
    ]
}

/// Lines whose columns stand below one another.
fn table(rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.width()).max().unwrap_or(0)
    };
    let line = |row: &Vec<String>| {
        let cells = row.iter().enumerate();
        let padded: Vec<String> = cells
            .map(|(at, cell)| format!("{cell}{}", " ".repeat(width(at) - cell.width())))
            .collect();
        padded.join("  ").trim_end().to_string()
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn shown(diff: &WorktreeDiff) -> String {
    if diff.stat.is_empty() && diff.untracked.is_empty() {
        return "No changes.".into();
    }
    let mut out = diff.stat.clone();
    if !diff.untracked.is_empty() {
        out.push_str(&format!(" not added yet: {}\n", diff.untracked.join(", ")));
    }
    if !diff.text.is_empty() {
        out.push_str(&format!("\n{}", diff.text.trim_end()));
    }
    out.trim_end().into()
}

fn merge(worktrees: &Worktrees, name: &str, desk: &Desk<'_>) -> Result<Ended> {
    let tree = worktrees.find(name)?;
    let merge = worktrees.merge(&tree.name, desk.now)?;
    match &merge {
        Merge::Conflict { into, files } => bail!(
            "{} conflicts with {into} in {}; nothing was changed: merge {into} into the worktree and solve it there",
            tree.branch,
            files.join(", ")
        ),
        Merge::Merged { into, .. } => {
            desk.print(&merge, || format!("merged {} into {into}", tree.branch))?;
        }
        Merge::AlreadyMerged { into } => {
            desk.print(&merge, || {
                format!("{into} has all of {} already", tree.branch)
            })?;
        }
    }
    Ok(Ended::Done)
}

fn remove(worktrees: &Worktrees, name: &str, removal: Removal, desk: &Desk<'_>) -> Result<Ended> {
    let tree = worktrees.find(name)?;
    if removal == Removal::OnlyIfSafe {
        not_in_use(worktrees, &tree, desk)?;
    }
    let fate = worktrees.remove(&tree.name, removal, desk.now);
    let fate = match fate {
        Ok(fate) => fate,
        Err(error) if removal == Removal::OnlyIfSafe => bail!("{error} (--force removes it)"),
        Err(error) => return Err(error.into()),
    };
    let stays = match &fate {
        BranchFate::Deleted => None,
        BranchFate::Stays(branch) => Some(branch.clone()),
    };
    let value = serde_json::json!({"removed": tree.name, "branch_stays": stays});
    desk.print(&value, || match stays {
        None => format!("removed {}", tree.name),
        Some(branch) => {
            format!(
                "removed {}; what was committed is on the branch {branch}",
                tree.name
            )
        }
    })?;
    Ok(Ended::Done)
}

/// Nobody works in it, as far as the board knows.
fn not_in_use(worktrees: &Worktrees, tree: &Worktree, desk: &Desk<'_>) -> Result<()> {
    match worked_in(&Board::open(desk.root), worktrees, tree)? {
        Some(task) => bail!(
            "worktree {} stays, {} works on task {} in it (--force removes it)",
            tree.name,
            task.owner,
            task.id
        ),
        None => Ok(()),
    }
}
