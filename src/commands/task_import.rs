//! `crewdeck task import`: adds tasks from a file, from standard input, or from issues.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::CommandContext;
use super::issue_client::{self, IssueQuery};
use crate::cli::ImportArgs;
use crate::domain::code_host::CodeHost;
use crate::domain::graph::{PlannedTask, TaskGraph};
use crate::domain::task::Task;
use crate::domain::task_import::{self, ImportFormat, ImportItem, ImportPlan};
use crate::domain::text::{count_noun, first_names};
use crate::store::{Board, Roster};

/// Maximum size of a file with tasks, in bytes.
const FILE_MAX: u64 = 8 * 1024 * 1024;

/// What an import has added, or would add.
pub struct ImportOutcome {
    pub tasks: Vec<Task>,
    /// What the user should know about it.
    pub notices: Vec<String>,
}

/// Where the items of an import come from.
struct ImportSource {
    /// The name of the source in errors.
    name: String,
    items: Vec<ImportItem>,
    notices: Vec<String>,
}

/// Reads and checks all tasks and adds them to the board. With `--dry-run`, adds none.
///
/// # Errors
/// Fails if the source cannot be read or one of the tasks is not valid. No task is added then.
pub fn run(
    args: &ImportArgs,
    board: &Board,
    context: &CommandContext<'_>,
) -> Result<ImportOutcome> {
    let mut source = read_source(args, context.root)?;
    if args.no_tags {
        source.items.iter_mut().for_each(|item| item.tags.clear());
    }
    // Damaged files are set aside and an interrupted import is finished before the plan looks at the board.
    let mut notices = if args.dry_run {
        Vec::new()
    } else {
        board.read_and_repair()?.notices
    };
    notices.append(&mut source.notices);
    let mut outcome = ImportPlan::default();
    let plan = |graph: &TaskGraph| -> Result<Vec<PlannedTask>> {
        let planned = task_import::plan(&source.items, args.dependencies(), graph);
        let mut planned = planned.with_context(|| source.name.clone())?;
        let tasks = std::mem::take(&mut planned.tasks);
        outcome = planned;
        Ok(tasks)
    };
    let tasks = if args.dry_run {
        board.preview_all(plan, context.now)?
    } else {
        board.create_all(plan, context.now)?
    };
    notices.extend(plan_notices(&outcome, args.from.is_some()));
    notices.extend(tag_notice(&tasks, &context.stores.roster));
    if args.dry_run {
        notices.push("no task was added, because of --dry-run".into());
    }
    Ok(ImportOutcome { tasks, notices })
}

/// Reads the items from the source that the user has chosen.
fn read_source(args: &ImportArgs, project: &Path) -> Result<ImportSource> {
    if let Some(tracker) = args.from {
        return read_issues(args, tracker.into(), project);
    }
    let Some(file) = &args.file else {
        bail!("name a file with tasks, - for standard input, or --from github or gitlab");
    };
    let (name, text) = if file.as_os_str() == "-" {
        let name = String::from("standard input");
        let text = read_text(std::io::stdin().lock(), &name)?;
        (name, text)
    } else {
        let name = file.display().to_string();
        let opened = File::open(file).with_context(|| name.clone())?;
        let text = read_text(opened, &name)?;
        (name, text)
    };
    let format = match args.format {
        Some(format) => format.into(),
        None => ImportFormat::detect(&text),
    };
    let items = format.parse(&text).with_context(|| name.clone())?;
    Ok(ImportSource {
        name,
        items,
        notices: Vec::new(),
    })
}

/// Reads a text of at most [`FILE_MAX`] bytes.
fn read_text(from: impl Read, name: &str) -> Result<String> {
    let mut bytes = Vec::new();
    from.take(FILE_MAX + 1)
        .read_to_end(&mut bytes)
        .with_context(|| name.to_string())?;
    if bytes.len() as u64 > FILE_MAX {
        bail!(
            "{name}: it is larger than {} MiB: split it into several parts",
            FILE_MAX / 1024 / 1024
        );
    }
    String::from_utf8(bytes)
        .ok()
        .with_context(|| format!("{name}: it is not UTF-8 text: convert it"))
}

fn read_issues(args: &ImportArgs, tracker: CodeHost, project: &Path) -> Result<ImportSource> {
    let query = IssueQuery {
        tracker,
        repo: args.repo.as_deref(),
        labels: &args.labels,
        limit: args.limit(),
    };
    let listed = issue_client::list(&query, project)?;
    let mut notices = Vec::new();
    if listed.has_more {
        notices.push(format!(
            "there are more than {}: only the newest were read (change this with --limit)",
            count_noun(query.limit, "open issue")
        ));
    }
    Ok(ImportSource {
        name: tracker.to_string(),
        items: listed.items,
        notices,
    })
}

/// Returns what an import has left out, one line each.
fn plan_notices(plan: &ImportPlan, is_from_issues: bool) -> Vec<String> {
    let mut notices = Vec::new();
    let noun = if is_from_issues { "issue" } else { "task" };
    let skipped = |count: usize, why: &str| {
        let verb = if count == 1 { "was" } else { "were" };
        format!("{} {verb} skipped: {why}", count_noun(count, noun))
    };
    if plan.on_board > 0 {
        notices.push(skipped(plan.on_board, "already on the board"));
    }
    if plan.done > 0 {
        notices.push(skipped(plan.done, "already done"));
    }
    if plan.unknown_blockers > 0 {
        notices.push(format!(
            "dependencies on {} were left out",
            count_noun(plan.unknown_blockers, "unknown task")
        ));
    }
    notices
}

/// Returns a notice if tasks have tags that no teammate has, because then no teammate claims them.
fn tag_notice(tasks: &[Task], roster: &Roster) -> Option<String> {
    let team = roster.read().unwrap_or_default();
    let has = |tag: &str| {
        let mut members = team.members.iter();
        members.any(|m| m.tags.iter().any(|t| t.eq_ignore_ascii_case(tag)))
    };
    let tags = tasks.iter().flat_map(|task| &task.tags);
    let missing: BTreeSet<&String> = tags.filter(|tag| !has(tag)).collect();
    if missing.is_empty() {
        return None;
    }
    let missing: Vec<String> = missing.into_iter().cloned().collect();
    Some(format!(
        "no teammate has these tags, and only teammates with all tags of a task claim it: {} (--no-tags leaves tags out)",
        first_names(&missing)
    ))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn text_is_bounded_and_must_be_utf8() {
        assert_eq!(read_text(&b"text"[..], "a").unwrap(), "text");
        let error = read_text(std::io::repeat(b'x'), "plan.md").unwrap_err();
        assert_eq!(
            error.to_string(),
            "plan.md: it is larger than 8 MiB: split it into several parts"
        );
        let error = read_text(&[0xff_u8][..], "a").unwrap_err();
        assert_eq!(error.to_string(), "a: it is not UTF-8 text: convert it");
    }

    #[test]
    fn notices_count_what_was_left_out() {
        let plan = ImportPlan {
            on_board: 1,
            done: 2,
            unknown_blockers: 3,
            ..ImportPlan::default()
        };
        assert_eq!(
            plan_notices(&plan, true),
            [
                "1 issue was skipped: already on the board",
                "2 issues were skipped: already done",
                "dependencies on 3 unknown tasks were left out",
            ]
        );
        assert_eq!(
            plan_notices(&ImportPlan::default(), true),
            Vec::<String>::new()
        );
    }
}
