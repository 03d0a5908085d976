//! The text of the rewind dialog. Pure.

use crate::domain::checkpoint::{ConversationChange, RewindPreview, RewindScope};
use crate::domain::text::{count_noun, join_names, one_line};
use crate::ui::text::{fit, wrap};

/// Maximum number of lines of the table of changed files. The diff shows all files.
const STAT_MAX: usize = 6;
/// Maximum number of names in a list of files or agents. Of the others, only the number is given.
const NAMES_MAX: usize = 3;

/// The phase of the dialog. It decides the text and the buttons.
#[derive(Debug)]
pub(super) enum RewindPhase {
    /// The crew compares the files with the checkpoint.
    Comparing,
    /// The user chooses what to restore. If the crew has rejected the last rewind, the text is the reason; otherwise, it is
    /// empty.
    Choosing(Box<RewindPreview>, String),
    Rewinding(Box<RewindPreview>),
    /// Only a text is shown: that the files cannot be compared, or which files the rewind has skipped.
    Report(String),
}

/// A line of the dialog, at most as wide as the dialog.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct DialogLine {
    pub kind: LineKind,
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineKind {
    /// The label of the checkpoint.
    Label,
    Plain,
    /// A line of the table of changed files.
    Stat,
    Warning,
}

/// Returns what a rewind can restore: only the parts that it would change.
pub(super) fn possible(preview: &RewindPreview) -> &'static [RewindScope] {
    let unchanged = ConversationChange::Unchanged;
    let has_messages = preview
        .conversation
        .is_some_and(|change| change != unchanged);
    match (preview.files > 0, has_messages) {
        (true, true) => &[
            RewindScope::Both,
            RewindScope::Files,
            RewindScope::Conversation,
        ],
        (true, false) => &[RewindScope::Files],
        (false, true) => &[RewindScope::Conversation],
        (false, false) => &[],
    }
}

/// Returns the lines of the dialog, each at most `columns` wide. If there are more than `rows`, the table of changed files
/// is shortened, at most to nothing.
pub(super) fn lines(
    label: &str,
    phase: &RewindPhase,
    columns: usize,
    rows: usize,
) -> Vec<DialogLine> {
    let mut out = Vec::new();
    if !label.is_empty() {
        push(&mut out, LineKind::Label, fit(label, columns));
        push(&mut out, LineKind::Plain, String::new());
    }
    let preview = match phase {
        RewindPhase::Comparing => {
            push(&mut out, LineKind::Plain, "Comparing files…".into());
            return out;
        }
        RewindPhase::Report(text) => {
            wrapped(&mut out, LineKind::Warning, text, columns);
            return out;
        }
        RewindPhase::Choosing(preview, why) => {
            if !why.is_empty() {
                let text = format!("Not rewound: {why}");
                wrapped(&mut out, LineKind::Warning, &text, columns);
            }
            preview
        }
        RewindPhase::Rewinding(preview) => preview,
    };
    wrapped(&mut out, LineKind::Plain, &files(preview), columns);
    let mut below = Vec::new();
    for text in sentences(preview) {
        wrapped(&mut below, LineKind::Plain, &text, columns);
    }
    if let RewindPhase::Rewinding(_) = phase {
        push(&mut below, LineKind::Label, "Rewinding…".into());
    }
    let room = rows.saturating_sub(out.len() + below.len());
    out.extend(stat(preview, columns, room));
    out.extend(below);
    out
}

fn push(out: &mut Vec<DialogLine>, kind: LineKind, text: String) {
    out.push(DialogLine { kind, text });
}

/// Adds the lines of `text`. An empty text becomes a blank line.
fn wrapped(out: &mut Vec<DialogLine>, kind: LineKind, text: &str, columns: usize) {
    if text.is_empty() {
        push(out, kind, String::new());
    }
    let lines = wrap(text, columns).into_iter();
    out.extend(lines.map(|text| DialogLine { kind, text }));
}

/// Returns the sentence on how many files change.
fn files(preview: &RewindPreview) -> String {
    match preview.files {
        0 if possible(preview).is_empty() => {
            "Nothing would change: all recorded files are as at the checkpoint.".into()
        }
        0 => "No file changes.".into(),
        1 => "1 file changes:".into(),
        files => format!("{files} files change:"),
    }
}

/// Returns the table of changed files, in at most `room` lines. If files are left out, the last line gives their number.
fn stat(preview: &RewindPreview, columns: usize, room: usize) -> Vec<DialogLine> {
    let mut all: Vec<&str> = preview.stat.lines().filter(|l| !l.is_empty()).collect();
    // The last line has the totals.
    if all.last().is_some_and(|last| last.contains(" changed")) {
        all.pop();
    }
    let room = room.min(STAT_MAX);
    let shown = if all.len() > room {
        room.saturating_sub(1)
    } else {
        all.len()
    };
    let line = |text: String| DialogLine {
        kind: LineKind::Stat,
        text: fit(&text, columns),
    };
    let mut out: Vec<DialogLine> = all
        .iter()
        .take(shown)
        .map(|text| line(format!("  {}", one_line(text.trim_start()))))
        .collect();
    if shown < all.len() && room > 0 {
        out.push(line(format!("  … {} more", all.len() - shown)));
    }
    out
}

/// Returns the sentences below the table: everything but the number of changed files.
fn sentences(preview: &RewindPreview) -> Vec<String> {
    let mut out = Vec::new();
    match preview.commits {
        0 => {}
        1 => out.push("1 commit made since then stays on the branch.".into()),
        commits => out.push(format!(
            "{commits} commits made since then stay on the branch."
        )),
    }
    let skipped = &preview.not_recorded;
    if !skipped.is_empty() {
        let names = escaped(&skipped.paths);
        let names = join_names(&names, NAMES_MAX, skipped.count);
        out.push(format!("Not recorded, so left unchanged: {names}."));
    }
    if !preview.shared_with.is_empty() && preview.files > 0 {
        let names = preview.shared_with.iter().map(ToString::to_string);
        let names: Vec<String> = names.collect();
        let names = join_names(&names, NAMES_MAX, names.len());
        out.push(format!(
            "Other agents in this directory, whose files change too: {names}."
        ));
    }
    let count = |messages: u64| {
        let messages = usize::try_from(messages).unwrap_or(usize::MAX);
        count_noun(messages, "message")
    };
    out.push(match preview.conversation {
        None => "The conversation cannot be rewound to this checkpoint.".into(),
        Some(ConversationChange::Unchanged) => "The conversation loses no messages.".into(),
        Some(ConversationChange::Removed(1)) => "The conversation loses its last message.".into(),
        Some(ConversationChange::Removed(messages)) => {
            format!("The conversation loses its last {}.", count(messages))
        }
        Some(ConversationChange::Replaced(messages)) => {
            format!(
                "The earlier conversation with {} comes back.",
                count(messages)
            )
        }
    });
    if !possible(preview).is_empty() {
        out.push(String::new());
        let kept = match preview.conversation {
            Some(ConversationChange::Removed(_) | ConversationChange::Replaced(_)) => {
                " The old conversation is kept in .transcripts/."
            }
            Some(ConversationChange::Unchanged) | None => "",
        };
        out.push(format!(
            "You can undo this: a checkpoint is recorded first.{kept}"
        ));
    }
    out
}

fn escaped(names: &[String]) -> Vec<String> {
    names.iter().map(|name| one_line(name)).collect()
}
