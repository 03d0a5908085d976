//! The text output of `crewdeck checkpoint`.

use std::collections::BTreeSet;
use std::time::Duration;

use super::restore::{RestoreReport, RestoredConversation};
use crate::commands::table::table;
use crate::domain::checkpoint::{
    Checkpoint, ConversationChange, PathList, RestoredFiles, RewindPreview,
};
use crate::domain::ids::Name;
use crate::domain::text::{clip, count_noun, join_names, one_line};
use crate::domain::timestamp::Timestamp;
use crate::domain::worktree::DiskUse;

/// Maximum width of a label in the list, in characters.
const LABEL_WIDTH: usize = 72;
/// Maximum number of files that a sentence names.
const NAMES_MAX: usize = 5;

/// The headings of the columns that [`cells`] returns.
const HEADINGS: [&str; 5] = ["ID", "AGE", "AGENT", "FOLDER", "LABEL"];

/// Returns the table of the checkpoints, and the disk space of all of them. `bytes` is the size of that space.
pub fn list(checkpoints: &[&Checkpoint], now: Timestamp, bytes: u64) -> String {
    if checkpoints.is_empty() {
        return "No checkpoints.".into();
    }
    let mut rows = vec![HEADINGS.map(String::from).to_vec()];
    rows.extend(checkpoints.iter().map(|checkpoint| cells(checkpoint, now)));
    let disk_use = DiskUse {
        bytes,
        at_least: false,
    };
    format!("{}\n\nAll checkpoints: {disk_use}", table(&rows))
}

fn cells(checkpoint: &Checkpoint, now: Timestamp) -> Vec<String> {
    let content = &checkpoint.content;
    vec![
        checkpoint.id.to_string(),
        age(now.since(content.at)),
        format!("@{}", content.agent),
        one_line(&content.folder),
        clip(&one_line(&content.label), LABEL_WIDTH),
    ]
}

/// Returns the text for an agent without checkpoints, which names the agents that have some.
pub fn none_of(agent: &Name, all: &[Checkpoint]) -> String {
    let names: BTreeSet<&str> = all.iter().map(|c| c.content.agent.as_str()).collect();
    let names: Vec<String> = names.into_iter().map(String::from).collect();
    if names.is_empty() {
        return format!("No checkpoints of {agent}.");
    }
    let others = join_names(&names, NAMES_MAX, names.len());
    format!("No checkpoints of {agent}. There are checkpoints of {others}.")
}

fn age(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds / 60),
        7_200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}

/// Returns what a restore of the files would change: a table of the files, remarks, and the diff.
pub fn preview(checkpoint: &Checkpoint, preview: &RewindPreview) -> String {
    let mut lines = Vec::new();
    if preview.files == 0 {
        lines.push(format!(
            "No changes: the files are as they were at checkpoint {}.",
            checkpoint.id
        ));
    } else {
        lines.push(preview.stat.trim_end().to_string());
    }
    if !preview.not_recorded.is_empty() {
        lines.push(format!(
            "Not recorded, stays as it is: {}",
            some_paths(&preview.not_recorded)
        ));
    }
    if preview.commits > 0 {
        lines.push(format!(
            "Stays on the branch: {} since the checkpoint",
            count_noun(preview.commits, "commit")
        ));
    }
    if !preview.shared_with.is_empty() {
        let names: Vec<String> = preview.shared_with.iter().map(Name::to_string).collect();
        lines.push(format!(
            "Works in the same directory: {}",
            join_names(&names, NAMES_MAX, names.len())
        ));
    }
    if !preview.diff.is_empty() {
        lines.push(format!("\n{}", preview.diff.trim_end()));
    }
    lines.join("\n")
}

fn some_paths(list: &PathList) -> String {
    let paths: Vec<String> = list.paths.iter().map(|path| one_line(path)).collect();
    join_names(&paths, NAMES_MAX, list.count)
}

/// Returns what a restore has changed, what it has left as it is, and how to undo it.
pub fn report(checkpoint: &Checkpoint, report: &RestoreReport) -> String {
    let mut lines = Vec::new();
    if let Some(files) = &report.files {
        add_files(&mut lines, checkpoint, files);
    }
    if let Some(conversation) = &report.conversation {
        add_conversation(&mut lines, checkpoint, conversation);
    }
    if !report.conversation_error.is_empty() {
        lines.push(format!(
            "The conversation stays as it is: {}.",
            report.conversation_error.trim_end_matches('.')
        ));
    }
    if let Some(undo) = report.undo {
        let scope = match (&report.files, &report.conversation) {
            (Some(_), None) => " --files",
            (None, Some(_)) => " --conversation",
            _ => "",
        };
        lines.push(format!("Undo: crewdeck checkpoint restore {undo}{scope}"));
    }
    lines.join("\n")
}

fn add_files(lines: &mut Vec<String>, checkpoint: &Checkpoint, files: &RestoredFiles) {
    let (id, content) = (checkpoint.id, &checkpoint.content);
    let folder = match content.folder.as_str() {
        "." => "the project directory".into(),
        folder => one_line(folder),
    };
    let agent = &content.agent;
    lines.push(if files.changed.is_empty() {
        format!("No file of {agent} in {folder} had to be changed for checkpoint {id}.")
    } else {
        let count = count_noun(files.changed.count, "file");
        format!("Restored the files of {agent} in {folder} to checkpoint {id}: {count} changed.")
    });
    add_paths(lines, &files.changed);
    if !files.skipped.is_empty() {
        let count = count_noun(files.skipped.count, "file");
        lines.push(format!("Left as it is: {count}"));
        add_paths(lines, &files.skipped);
    }
}

fn add_paths(lines: &mut Vec<String>, list: &PathList) {
    lines.extend(
        list.paths
            .iter()
            .map(|path| format!("  {}", one_line(path))),
    );
    let more = list.count.saturating_sub(list.paths.len());
    if more > 0 {
        lines.push(format!("  and {more} more"));
    }
}

fn add_conversation(
    lines: &mut Vec<String>,
    checkpoint: &Checkpoint,
    conversation: &RestoredConversation,
) {
    let (id, agent) = (checkpoint.id, &checkpoint.content.agent);
    let count = |n: u64| {
        let end = if n == 1 { "" } else { "s" };
        format!("{n} message{end}")
    };
    let change = match conversation.change {
        ConversationChange::Unchanged => {
            lines.push(format!(
                "The conversation of {agent} has no message after checkpoint {id}."
            ));
            return;
        }
        ConversationChange::Removed(n) => format!("{} removed", count(n)),
        ConversationChange::Replaced(_) => "an earlier conversation is back".into(),
    };
    lines.push(format!(
        "Restored the conversation of {agent} to checkpoint {id}: {change}, {} in it now.",
        count(conversation.messages)
    ));
    if !conversation.transcript.is_empty() {
        lines.push(format!(
            "The whole conversation is in {}",
            one_line(&conversation.transcript)
        ));
    }
    lines.push(format!(
        "Continue: crewdeck --resume {}",
        one_line(&conversation.session)
    ));
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::domain::checkpoint::{CheckpointId, CheckpointReason, NewCheckpoint};
    use pretty_assertions::assert_eq;

    /// Returns a checkpoint of the agent bob.
    pub fn checkpoint(id: u64) -> Checkpoint {
        Checkpoint {
            id: CheckpointId(id),
            content: NewCheckpoint {
                agent: Name::member("bob").unwrap(),
                session: "0190abcd".into(),
                folder: ".worktrees/task-1".into(),
                at: Timestamp(1_000.0),
                reason: CheckpointReason::Turn,
                label: "Write it".into(),
                place: None,
                starts_conversation: true,
            },
        }
    }

    fn paths(names: &[&str], count: usize) -> PathList {
        PathList {
            paths: names.iter().map(|name| (*name).to_string()).collect(),
            count,
        }
    }

    #[test]
    fn list_is_a_table_with_ages() {
        let (mut old, new) = (checkpoint(3), checkpoint(12));
        old.content.at = Timestamp(0.0);
        old.content.folder = ".".into();
        old.content.label = "x".repeat(200);
        let text = list(&[&new, &old], Timestamp(1_060.0), 3_000);
        let label = format!("{}…", "x".repeat(LABEL_WIDTH - 1));
        assert_eq!(
            text,
            format!(
                "ID  AGE     AGENT  FOLDER             LABEL\n\
                 12  60 s    @bob   .worktrees/task-1  Write it\n\
                 3   17 min  @bob   .                  {label}\n\n\
                 All checkpoints: 3 KiB"
            )
        );
        assert_eq!(list(&[], Timestamp(0.0), 0), "No checkpoints.");
    }

    #[test]
    fn agent_without_checkpoints_is_compared_with_the_others() {
        let agent = Name::member("bobb").unwrap();
        assert_eq!(none_of(&agent, &[]), "No checkpoints of bobb.");
        assert_eq!(
            none_of(&agent, &[checkpoint(1), checkpoint(2)]),
            "No checkpoints of bobb. There are checkpoints of bob."
        );
    }

    #[test]
    fn preview_has_remarks_before_the_diff() {
        let change = RewindPreview {
            stat: " a.txt | 2 +-\n".into(),
            diff: "diff --git a/a.txt b/a.txt\n".into(),
            files: 1,
            not_recorded: paths(&["big.bin"], 1),
            commits: 2,
            ..RewindPreview::default()
        };
        assert_eq!(
            preview(&checkpoint(3), &change),
            " a.txt | 2 +-\nNot recorded, stays as it is: big.bin\nStays on the branch: 2 commits since the checkpoint\n\ndiff --git a/a.txt b/a.txt"
        );
        assert_eq!(
            preview(&checkpoint(3), &RewindPreview::default()),
            "No changes: the files are as they were at checkpoint 3."
        );
    }

    #[test]
    fn report_names_changes_and_the_command_that_undoes_them() {
        let changed = RestoreReport {
            checkpoint: CheckpointId(3),
            files: Some(RestoredFiles {
                changed: paths(&["a.txt", "b.txt"], 4),
                skipped: paths(&["big.bin: changed during the rewind"], 1),
                undo: Some(CheckpointId(9)),
            }),
            conversation: Some(RestoredConversation {
                transcript: ".transcripts/0190abcd-bob.whole-1.jsonl".into(),
                messages: 1,
                change: ConversationChange::Removed(4),
                session: "0190abcd".into(),
            }),
            conversation_error: String::new(),
            undo: Some(CheckpointId(9)),
        };
        assert_eq!(
            report(&checkpoint(3), &changed),
            "Restored the files of bob in .worktrees/task-1 to checkpoint 3: 4 files changed.\n  \
             a.txt\n  b.txt\n  and 2 more\n\
             Left as it is: 1 file\n  big.bin: changed during the rewind\n\
             Restored the conversation of bob to checkpoint 3: 4 messages removed, 1 message in it now.\n\
             The whole conversation is in .transcripts/0190abcd-bob.whole-1.jsonl\n\
             Continue: crewdeck --resume 0190abcd\n\
             Undo: crewdeck checkpoint restore 9"
        );
    }

    #[test]
    fn report_says_why_the_conversation_stays() {
        let unchanged = RestoreReport {
            checkpoint: CheckpointId(3),
            files: Some(RestoredFiles::default()),
            conversation: None,
            conversation_error: "it was compacted since.".into(),
            undo: None,
        };
        assert_eq!(
            report(&checkpoint(3), &unchanged),
            "No file of bob in .worktrees/task-1 had to be changed for checkpoint 3.\n\
             The conversation stays as it is: it was compacted since."
        );
    }
}
