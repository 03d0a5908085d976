//! The texts about merge trains, and the tasks for branches that were thrown out.

use super::merge_report::COMMIT_SHOWN;
use super::merge_train::{TrainFailure, TrainReport, list_tasks};
use crate::domain::graph::{NewTask, SUBJECT_MAX, TaskGraph};
use crate::domain::ids::TaskId;
use crate::domain::merge_train::{HeldBack, TrainEnd};
use crate::domain::text::{clip, one_line};
use crate::protocol::event::NoticeLevel;

/// Maximum length of the failing output in a task, in characters.
const OUTPUT_MAX: usize = 12_000;
/// Maximum length of the failing output in a message to the user, in characters.
const SHOWN_MAX: usize = 600;
/// Maximum length of the subject of another task in a description, in characters.
const NAMED_MAX: usize = 100;

/// A line about a train.
pub type TrainLine = (NoticeLevel, String);

/// Returns the lines about what has landed, what was held back and why the train has ended early. The lines about what
/// was thrown out are added when the tasks for it are created.
pub fn report_lines(report: &TrainReport) -> Vec<TrainLine> {
    let into = &report.into;
    let mut lines = Vec::new();
    if !report.landed.is_empty() {
        let is_one = report.landed.len() == 1;
        let (verb, undo) = if is_one {
            ("is", "Undo")
        } else {
            ("are", "Undo all")
        };
        let mut text = format!("{} {verb} merged into {into}.", list_tasks(&report.landed));
        if let Some(before) = &report.undo {
            text.push_str(&format!(" {undo}: git reset --keep {}", short(before)));
        }
        lines.push((NoticeLevel::Info, text));
    }
    lines.extend(report.held_back.iter().map(held_back_line));
    let tasks = list_tasks(&report.waiting);
    let Some(mut why) = report.end.reason(into) else {
        return lines;
    };
    if let TrainEnd::BaseRed(_) = &report.end {
        let output = one_line(&clip(&report.base_output, SHOWN_MAX));
        why.push_str(&format!(" {output}"));
    }
    lines.push((
        NoticeLevel::Warn,
        format!("Not merged into {into}: {tasks}: {why}"),
    ));
    lines
}

/// Returns the line about a task that was not tried.
pub fn held_back_line(held: &HeldBack) -> TrainLine {
    let text = format!(
        "{} is not merged: it builds on {}, which was thrown out.",
        held.task, held.by
    );
    (NoticeLevel::Warn, text)
}

/// Returns the task to repair a branch that breaks the checks. It is worked on in the worktree of the branch.
pub fn repair_task(graph: &TaskGraph, failure: &TrainFailure, report: &TrainReport) -> NewTask {
    let (out, into) = (&failure.out, &report.into);
    let branch = failure.name.branch();
    let with = partners(failure, into);
    let named: Vec<String> = out.with.iter().map(|id| name_of(graph, *id)).collect();
    let partners = match named.as_slice() {
        [] => match &failure.commit {
            None => format!("It is red alone on {into}, which is green without it."),
            Some(commit) => format!(
                "It breaks together with the commit {} ({}), which has landed on {into} since the branch began. Each of the two is green without the other.",
                short(&commit.hash),
                commit.subject
            ),
        },
        [one] => {
            format!("It breaks together with {one}. Each of the two is green without the other.")
        }
        all => format!(
            "It breaks together with {}, but with none of them alone.",
            all.join("; ")
        ),
    };
    // A partner that has not landed is not in the base branch.
    let missing: Vec<String> = out
        .with
        .iter()
        .filter(|id| !report.landed.contains(id) && !report.landed_before.contains(id))
        .filter_map(|id| {
            Some(format!(
                ", then `git merge wt/{}`",
                graph.get(*id)?.worktree
            ))
        })
        .collect();
    NewTask {
        subject: clip(&format!("Fix {branch}: checks are red {with}"), SUBJECT_MAX),
        description: format!(
            "The checks are red when {branch} ({}) is merged, so it was taken out of the merge train and is not merged. {partners} You work in the worktree of that task. Run `git merge {into}`{} there, make the checks green so that the intent of both sides is kept, commit, and complete this task. crewdeck then merges {branch} again.\n\n{}",
            name_of(graph, out.task),
            missing.concat(),
            clip(&failure.output, OUTPUT_MAX)
        ),
        blocked_by: Vec::new(),
        tags: graph
            .get(out.task)
            .map(|task| task.tags.clone())
            .unwrap_or_default(),
        // Set when the task is created, so that its owner works in this worktree.
        worktree: failure.name.to_string(),
    }
}

/// Returns the text about a branch that breaks the checks. `task` repairs it.
pub fn thrown_out_text(failure: &TrainFailure, into: &str, task: TaskId) -> String {
    let with = partners(failure, into);
    format!(
        "{} is not merged: the checks are red {with}. Task {task} was added to fix it.",
        failure.out.task
    )
}

/// Returns with whom a branch breaks, such as `together with #1`.
fn partners(failure: &TrainFailure, into: &str) -> String {
    match (failure.out.with.as_slice(), &failure.commit) {
        ([], None) => format!("on {into}"),
        ([], Some(commit)) => format!("together with commit {}", short(&commit.hash)),
        (with, _) => format!("together with {}", list_tasks(with)),
    }
}

/// Returns the first characters of the hash of a commit.
fn short(hash: &str) -> String {
    hash.chars().take(COMMIT_SHOWN).collect()
}

/// Returns the number and the subject of a task.
fn name_of(graph: &TaskGraph, id: TaskId) -> String {
    let subject = graph.get(id).map(|task| task.subject.as_str());
    let subject = one_line(&clip(subject.unwrap_or_default(), NAMED_MAX));
    format!("task {id}, {subject}")
}
