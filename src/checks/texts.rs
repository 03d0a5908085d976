//! Texts for the owner of a task that is not completed.

use super::runner::CheckRun;
use crate::domain::checks::{CheckRecord, CheckSpec, REDS_MAX};
use crate::domain::ids::TaskId;
use crate::domain::task::Task;
use crate::domain::text::{clip, count_noun, one_line};

/// Maximum length of a command in a text, in characters.
const COMMAND_MAX: usize = 300;

/// Length of a list of failed checks, in bytes, above which the output of further checks is left out.
const FAILED_MAX: usize = 16_000;

/// Returns why the acceptance command `run` of the task `id` does not run: the user has not set it.
pub fn refusal_text(id: TaskId, run: &str) -> String {
    if run.is_empty() {
        return format!(
            "[the acceptance command that the user has set is no longer in the file of the task. The user can set it again: crewdeck task edit {} --accept COMMAND]",
            id.0
        );
    }
    let shown = one_line(&clip(run, COMMAND_MAX));
    format!(
        "[the acceptance command was not set by the user and does not run: {shown}. The user can set it: crewdeck task edit {} --accept COMMAND]",
        id.0
    )
}

/// Returns why the branch of the completed task `id` is not merged: the acceptance command in its file is not the one that
/// the user has set. The user cannot set it again, because the task is completed.
pub fn changed_acceptance_text(id: TaskId) -> String {
    format!(
        "the acceptance command that the user has set for {id} is no longer in .tasks/task_{}.json. Restore it there",
        id.0
    )
}

pub fn no_changes_text(task: &Task) -> String {
    format!(
        "task {} is not completed: its branch has no change of its own. If the task asks for a change, make it. If nothing needs to be changed, complete the task again: the board then shows that it changed nothing.",
        task.id
    )
}

/// Returns the failed checks with the failing part of their output. If the text gets too long, only names the others.
pub fn failed_text(failed: &[(&CheckSpec, &CheckRun)]) -> String {
    let parts = failed.iter().map(|(spec, run)| {
        let record = &run.record;
        let log = match record.log.as_str() {
            "" => String::new(),
            log => format!(" (whole output: {log})"),
        };
        let words = CheckRecord {
            reds: 0,
            ..record.clone()
        }
        .words();
        format!(
            "check {}: {words}{log}\n$ {}\n{}",
            spec.name,
            one_line(&clip(&spec.run, COMMAND_MAX)),
            run.excerpt
        )
    });
    let mut out = String::new();
    let mut others = Vec::new();
    for (part, (spec, _)) in parts.zip(failed) {
        if !out.is_empty() && out.len() + part.len() > FAILED_MAX {
            others.push(spec.name.as_str());
            continue;
        }
        if !out.is_empty() {
            out.push_str("\n\n");
        }
        out.push_str(&part);
    }
    if !others.is_empty() {
        out.push_str(&format!("\n\nalso failed: {}", others.join(", ")));
    }
    out
}

pub fn send_back_text(task: &Task, failed: &[(&CheckSpec, &CheckRun)], reds: u32) -> String {
    let left = usize::try_from(REDS_MAX.saturating_sub(reds)).unwrap_or(0);
    format!(
        "task {} is not completed, because {} failed on your branch. Fix the cause and complete the task again ({} left before the user is asked). The checks come from the settings that the user approved; changing them on the branch has no effect.\n\n{}",
        task.id,
        count_noun(failed.len(), "check"),
        count_noun(left, "attempt"),
        failed_text(failed)
    )
}
