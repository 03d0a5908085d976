//! One cell of a transcript: a prompt, an answer, a tool call, a notice or another entry.

use crate::domain::text::one_line;
use crate::protocol::event::{NoticeLevel, TurnEnd};
use crate::ui::transcript::answer::Answer;
use crate::ui::transcript::call_group::CallGroup;
use crate::ui::transcript::entry::InsertedEntry;
use crate::ui::transcript::fields::Field;
use crate::ui::transcript::find::Needle;
use crate::ui::transcript::fold;
use crate::ui::transcript::run::{ToolCallState, ToolRun};

#[derive(Debug)]
pub struct TranscriptCell {
    pub kind: CellKind,
    /// A number that is unique within the transcript and changes with each change of the cell. A part of the key of
    /// cached layouts.
    pub version: u64,
    /// Number of search matches in the cell; 0 if no search is active.
    pub found: usize,
    /// The number of the cell with the group's header, if this cell is a call in a group. The header may have been
    /// dropped from memory.
    pub group_header: Option<u64>,
    /// Number of entries before this cell in the conversation, including entries that were dropped from memory. The
    /// header of a call group does not count as an entry.
    pub entries: u64,
}

#[derive(Debug)]
pub enum CellKind {
    /// A prompt of the user with the attached files, or the prompt with which a subagent was started.
    Prompt(String, Vec<AttachedFile>),
    Answer(Box<Answer>),
    Tool(Box<ToolRun>),
    /// The header of a group of calls of the same tool.
    CallGroup(Box<CallGroup>),
    /// Text that crewdeck added to the conversation, such as a message from a teammate or a claimed task.
    Injected(Box<InsertedEntry>),
    /// A notice of crewdeck: its severity, text and hint. The hint may be empty.
    Notice(NoticeLevel, String, String),
}

/// A file that is attached to a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttachedFile {
    /// The line that names the file, such as `README.md · 120 lines`.
    pub label: String,
    /// The image, if the file is one; `None` also for an image whose file name is not valid.
    pub picture: Option<CellPicture>,
}

/// An attached image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellPicture {
    /// The name of the file in which the image is stored.
    pub file: String,
    /// Width and height in pixels.
    pub pixels: (u32, u32),
    /// Why the image cannot be shown; `None` if the image is shown or not loaded yet.
    pub failure: Option<String>,
}

/// Whether the part of a cell that can be folded, such as the thinking of an answer, is shown as one line or
/// completely.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fold {
    #[default]
    Folded,
    Open,
}

impl Fold {
    pub fn toggle(&mut self) {
        *self = match self {
            Fold::Folded => Fold::Open,
            Fold::Open => Fold::Folded,
        };
    }
}

/// The groups of cells that decide the spacing: a blank row separates two adjacent cells unless both belong to
/// `Activity`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpacingGroup {
    User,
    Model,
    /// Tool calls, entries that crewdeck added, and notices.
    Activity,
}

impl CellKind {
    pub fn group(&self) -> SpacingGroup {
        match self {
            CellKind::Prompt(..) => SpacingGroup::User,
            CellKind::Answer(_) => SpacingGroup::Model,
            _ => SpacingGroup::Activity,
        }
    }

    /// Returns whether an image is attached to the cell, even if the image cannot be shown.
    pub fn has_pictures(&self) -> bool {
        match self {
            CellKind::Prompt(_, files) => files.iter().any(|file| file.picture.is_some()),
            _ => false,
        }
    }

    /// Returns whether the cell has nothing to draw: an answer without text and thinking, or the header of a small call
    /// group. A call that a folded call group hides is not blank.
    pub fn is_blank(&self) -> bool {
        match self {
            CellKind::Answer(answer) => answer.is_blank(),
            CellKind::CallGroup(calls) => !calls.is_shown(),
            _ => false,
        }
    }

    /// Returns the fold state of the cell, for the caller to read or change; `None` if the cell cannot be folded.
    pub fn fold(&mut self) -> Option<&mut Fold> {
        match self {
            CellKind::Tool(run) => Some(&mut run.fold),
            CellKind::CallGroup(calls) => calls.is_shown().then_some(&mut calls.fold),
            CellKind::Answer(answer) if !answer.thinking.is_blank() => Some(&mut answer.fold),
            CellKind::Injected(entry) if entry.is_foldable() => Some(&mut entry.fold),
            _ => None,
        }
    }

    /// Returns whether the cell has a part that can be folded. A call group has one only while its header is drawn.
    pub fn is_foldable(&self) -> bool {
        match self {
            CellKind::Tool(_) => true,
            CellKind::CallGroup(calls) => calls.is_shown(),
            CellKind::Answer(answer) => !answer.thinking.is_blank(),
            CellKind::Injected(entry) => entry.is_foldable(),
            CellKind::Prompt(..) | CellKind::Notice(..) => false,
        }
    }

    /// Returns the length of the cell's long texts together, in bytes. Leaves out short ones, such as the labels of
    /// attachments and the subject of a tool call.
    pub fn bytes(&self) -> usize {
        match self {
            CellKind::Prompt(text, _) => text.len(),
            CellKind::Injected(entry) => entry.bytes(),
            CellKind::Answer(answer) => answer.text.as_str().len() + answer.thinking.as_str().len(),
            CellKind::Tool(run) => run.bytes(),
            CellKind::CallGroup(calls) => calls.bytes(),
            CellKind::Notice(_, text, hint) => text.len() + hint.len(),
        }
    }

    /// Returns the number of search matches in the cell, whether the cell is folded or open. Searches the texts
    /// themselves, not the drawn rows:
    ///
    /// - Of a diff or an output, only the lines from [`fold::shown_lines`] are searched.
    /// - Of an inserted entry, only the lines from [`InsertedEntry::shown_lines`] are searched.
    /// - The input of a call with a diff is not searched, because the open call shows the diff in its place.
    pub fn count(&self, needle: &Needle) -> usize {
        let count = |text: &str| needle.count(text);
        match self {
            CellKind::Prompt(text, _) => count(text),
            CellKind::Injected(entry) => {
                count(&entry.what) + entry.shown_lines().map(count).sum::<usize>()
            }
            CellKind::Answer(answer) => {
                count(answer.thinking.as_str()) + count(answer.text.as_str())
            }
            CellKind::Tool(run) => {
                let values =
                    |fields: &[Field]| fields.iter().map(|f| count(&f.value)).sum::<usize>();
                let input = if run.diff.is_empty() {
                    values(&run.input)
                } else {
                    0
                };
                let short =
                    count(&run.tool) + count(&run.subject) + input + values(&run.output_fields);
                let long = [run.diff.as_str(), run.shown_output()]
                    .map(|t| fold::shown_lines(t).map(count).sum::<usize>());
                short + long.iter().sum::<usize>()
            }
            // The matches are counted in the cells of the calls.
            CellKind::CallGroup(_) => 0,
            CellKind::Notice(_, text, hint) => count(text) + count(hint),
        }
    }

    /// Returns a name for the cell, such as `the answer`, for the status message `Copied …`.
    pub fn name(&self) -> &'static str {
        match self {
            CellKind::Prompt(..) => "the prompt",
            CellKind::Answer(_) => "the answer",
            CellKind::Tool(_) => "the tool call",
            CellKind::CallGroup(_) => "the tool calls",
            CellKind::Injected(entry) if entry.is_message() => "the message",
            CellKind::Injected(_) | CellKind::Notice(..) => "the entry",
        }
    }

    /// Returns the text of the cell for the clipboard: an answer without its thinking, a prompt without its
    /// attachments. Empty for the header of a call group.
    pub fn text(&self) -> String {
        match self {
            CellKind::Prompt(text, _) => text.clone(),
            CellKind::Injected(entry) => entry.whole(),
            CellKind::Answer(answer) => answer.text.as_str().to_string(),
            CellKind::Tool(run) => run.text(),
            CellKind::CallGroup(_) => String::new(),
            CellKind::Notice(_, text, hint) if hint.is_empty() => text.clone(),
            CellKind::Notice(_, text, hint) => format!("{text}\n{hint}"),
        }
    }

    /// Returns the state of a tool call; `None` for other cells.
    pub fn progress(&self) -> Option<ToolCallState> {
        match self {
            CellKind::Tool(run) => Some(run.state),
            _ => None,
        }
    }

    /// Returns the notice that says how a turn ended; `None` if the turn ended normally.
    pub fn turn_end_notice(end: &TurnEnd) -> Option<CellKind> {
        match end {
            TurnEnd::Done => None,
            TurnEnd::Interrupted => Some(CellKind::Notice(
                NoticeLevel::Info,
                "interrupted".into(),
                String::new(),
            )),
            TurnEnd::Failed { error, hint } => Some(CellKind::Notice(
                NoticeLevel::Error,
                one_line(error),
                one_line(hint),
            )),
            TurnEnd::Stopped { why } => Some(CellKind::Notice(
                NoticeLevel::Warn,
                format!("stopped: {}", one_line(why)),
                String::new(),
            )),
        }
    }
}
