//! Popups: pagers, pickers, forms and dialogs.

use crate::domain::ids::{Name, RequestId, TaskId};
use crate::domain::worktree::Losses;
use crate::ui::app::App;
use crate::ui::app::task_form::TaskForm;
use crate::ui::keymap::Context;
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::model::CrewModel;
use crate::ui::model::event_log::LogLine;
use crate::ui::model::event_log::query::Query;
use crate::ui::widgets::composer::Composer;
use crate::ui::widgets::line_input::{LineInput, Searching};

/// Maximum number of stacked popups.
pub const POPUPS_MAX: usize = 4;

/// The content of a pager.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Text {
    /// The key bindings: these contexts first, then all others.
    Help(Vec<Context>),
    /// An item of the shown todo list, by index.
    Todo(usize),
    /// A task with all its details.
    Task(TaskId),
    /// The diff of a task's branch.
    Diff(TaskId),
    /// A message, by its number in the inbox.
    Letter(u64),
    /// Problems and their fixes.
    Problems,
    /// The skills that agents can load.
    Skills,
}

/// A pager.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pager {
    /// The content.
    pub text: Text,
    /// Lines scrolled off the top.
    pub scroll: usize,
    /// The search text. The help shows only matching rows.
    pub search: LineInput,
    /// Whether the search text is being typed.
    pub searching: Searching,
    /// The index of the current match, from 0. Values past the end mean the last match.
    pub here: usize,
    /// The scroll position when the search began.
    pub origin: usize,
    /// The selected entry of the help, or the current file of a diff. Unused for other texts.
    pub row: usize,
}

/// The content of a picker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// The action palette.
    Palette {
        /// The contexts in which it was opened.
        contexts: Vec<Context>,
        /// The focus when it was opened.
        focus: Focus,
    },
    /// The provider's models.
    Models,
    /// The scopes in which the permission of this request can be granted.
    Scopes(RequestId),
    /// The parts of the shown conversation that can be copied.
    Copy,
    /// The session permissions; choosing one revokes it.
    Rules,
    /// The themes; the selected one is previewed.
    Themes,
}

/// A picker: a list with a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picker {
    /// The content.
    pub choice: Choice,
    /// The search text.
    pub search: LineInput,
    /// The selected row among those that match the search.
    pub row: usize,
}

/// The stages of a comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommentStage {
    /// The text is being typed.
    Writing,
    /// The user approves or rejects.
    Verdict,
}

/// A comment on a request.
#[derive(Debug)]
pub struct CommentDialog {
    /// The request.
    pub request: RequestId,
    /// The comment.
    pub text: Composer,
    /// The current stage.
    pub stage: CommentStage,
}

/// A popup over the panes. Code that needs one kind matches that kind; a `match` over all kinds belongs only where
/// each needs its own answer: here, in drawing, hit testing, scrolling and accepting.
#[derive(Debug)]
pub enum Popup {
    /// A pager.
    Pager(Pager),
    /// A picker.
    Picker(Picker),
    /// A comment on a request.
    Comment(Box<CommentDialog>),
    /// The background jobs.
    Jobs {
        /// The selected row.
        row: usize,
    },
    /// The event log.
    EventLog(LogView),
    /// The cost panel.
    Costs(CostView),
    /// The preview of the pane's selection. The pane keeps the focus.
    Peek(Pane),
    /// The form for a new or changed task.
    Task(Box<TaskForm>),
    /// A confirmation.
    Confirm(Confirmation),
}

/// The text field of a popup.
#[derive(Debug)]
pub enum TextField<'a> {
    /// The search of a pager, which scrolls to its matches.
    Search,
    /// The filter of the event log.
    Filter(&'a mut LineInput),
    /// The search of a picker.
    Choice(&'a mut Picker),
    /// The text input of a comment.
    Comment(&'a mut Composer),
    /// A task.
    Task(&'a mut TaskForm),
}

/// The result of checking a worktree before its removal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreeCheck {
    /// Its task.
    pub task: TaskId,
    /// The work that would be lost.
    pub losses: Losses,
    /// The formatted size on disk.
    pub size: String,
}

/// A question that must be confirmed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Confirmation {
    /// Quit while agents or jobs are running?
    Quit,
    /// End a teammate by force?
    Force(Name),
    /// Merge the branch of a task?
    Merge(TaskId),
    /// Release the task of a running teammate?
    Release {
        /// The task.
        task: TaskId,
        /// The owner.
        from: Name,
    },
    /// Remove the worktree of a task?
    RemoveWorktree(WorktreeCheck),
    /// Remove the worktree although work would be lost?
    LoseWork(WorktreeCheck),
    /// Complete a task without an owner?
    Complete(TaskId),
    /// Approve the project settings shown on the setup page?
    ApproveSettings,
}

impl Popup {
    /// Creates a pager at the start of its content.
    pub fn read(text: Text) -> Popup {
        Popup::Pager(Pager {
            text,
            scroll: 0,
            search: LineInput::default(),
            searching: Searching::Rest,
            here: 0,
            origin: 0,
            row: 0,
        })
    }

    /// Creates a picker without a search.
    pub fn choose(choice: Choice) -> Popup {
        Popup::Picker(Picker {
            choice,
            search: LineInput::default(),
            row: 0,
        })
    }

    /// Returns the request that the popup is about.
    pub fn request(&self) -> Option<&RequestId> {
        if let Popup::Comment(comment) = self {
            Some(&comment.request)
        } else if let Popup::Picker(picker) = self
            && let Choice::Scopes(id) = &picker.choice
        {
            Some(id)
        } else {
            None
        }
    }

    /// Returns the text field that receives typed characters, if there is one.
    pub fn written(&mut self) -> Option<TextField<'_>> {
        match self {
            Popup::Pager(reader) => {
                (reader.searching == Searching::Typing).then_some(TextField::Search)
            }
            Popup::Picker(picker) => Some(TextField::Choice(picker)),
            Popup::EventLog(view) => {
                (view.searching == Searching::Typing).then_some(TextField::Filter(&mut view.filter))
            }
            Popup::Comment(comment) => match comment.stage {
                CommentStage::Writing => Some(TextField::Comment(&mut comment.text)),
                CommentStage::Verdict => None,
            },
            Popup::Task(form) => Some(TextField::Task(form)),
            Popup::Jobs { .. } | Popup::Costs(_) | Popup::Peek(_) | Popup::Confirm(_) => None,
        }
    }

    /// Returns the key context.
    pub fn context(&self) -> Context {
        match self {
            Popup::Pager(reader) => match (&reader.text, reader.searching) {
                (Text::Help(_), Searching::Typing) => Context::Filter,
                (_, Searching::Typing) => Context::Search,
                (_, Searching::Rest) => Context::Reader,
            },
            Popup::Picker(_) => Context::Picker,
            Popup::Comment(comment) => match comment.stage {
                CommentStage::Writing => Context::Comment,
                CommentStage::Verdict => Context::CommentVerdict,
            },
            Popup::Task(_) => Context::TaskForm,
            Popup::Jobs { .. } => Context::Jobs,
            Popup::Costs(_) => Context::Costs,
            Popup::Peek(_) => Context::Peek,
            Popup::EventLog(view) => match view.searching {
                Searching::Typing => Context::Filter,
                Searching::Rest => Context::EventLog,
            },
            Popup::Confirm(Confirmation::Quit) => Context::Leave,
            Popup::Confirm(
                Confirmation::Force(_)
                | Confirmation::Release { .. }
                | Confirmation::RemoveWorktree(_)
                | Confirmation::Complete(_)
                | Confirmation::ApproveSettings,
            ) => Context::Confirm,
            Popup::Confirm(Confirmation::LoseWork(_)) => Context::ConfirmLoss,
            Popup::Confirm(Confirmation::Merge(_)) => Context::ConfirmMerge,
        }
    }
}

/// The state of the open panel.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CostView {
    /// The selected line; `None` selects the first line with a target.
    pub selected: Option<Target>,
}

/// What `Enter` on a line of the panel opens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// An agent.
    Agent(Name),
    /// A task.
    Task(TaskId),
}

/// Selection and filter of the open event log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LogView {
    /// The number of the selected line; `None` follows the newest line.
    pub selected: Option<u64>,
    /// The filter input.
    pub filter: LineInput,
    /// Whether the filter input has the focus.
    pub searching: Searching,
}

impl LogView {
    /// Whether the filter is not empty.
    pub fn is_filtered(&self) -> bool {
        !self.filter.text().trim().is_empty()
    }

    /// Whether there is a filter or its input is open.
    pub fn has_filter(&self) -> bool {
        self.searching == Searching::Typing || self.is_filtered()
    }

    /// Closes and clears the filter.
    pub fn end_filter(&mut self) {
        self.searching = Searching::Rest;
        self.filter = LineInput::default();
    }

    /// Whether only warnings and errors are shown.
    pub fn is_trouble_only(&self) -> bool {
        self.filter.text().split_whitespace().any(|w| w == "!")
    }

    /// Parses the filter.
    pub fn query(&self) -> Query {
        Query::new(self.filter.text())
    }

    /// Returns the lines that match the filter, oldest first.
    pub fn rows<'a>(&self, model: &'a CrewModel) -> Vec<&'a LogLine> {
        let query = self.query();
        let lines = model.event_log.lines();
        lines.filter(|l| query.matches(l)).collect()
    }

    /// Returns the index of the selected line in `rows`, or `None` if `rows` is empty.
    pub fn row(&self, rows: &[&LogLine]) -> Option<usize> {
        let newest = rows.len().checked_sub(1)?;
        let Some(number) = self.selected else {
            return Some(newest);
        };
        // A line that was dropped or filtered out is replaced by the next one.
        let at = rows.iter().position(|l| l.number == number);
        at.or_else(|| rows.iter().position(|l| l.number > number))
            .or(Some(newest))
    }

    /// Selects the row at index `at`. Selecting the newest row follows new lines.
    pub fn select(&mut self, rows: &[&LogLine], at: usize) {
        let is_newest = at + 1 >= rows.len();
        let line = rows.get(at).filter(|_| !is_newest);
        self.selected = line.map(|l| l.number);
    }
}

pub fn push(app: &mut App, popup: Popup) {
    if app.popups.len() < POPUPS_MAX {
        app.popups.push(popup);
    }
}

/// Returns whether the panes are dimmed below a popup. Popups about something visible beside them do not dim.
pub fn covers(popup: &Popup) -> bool {
    match popup {
        Popup::Pager(_)
        | Popup::EventLog(_)
        | Popup::Jobs { .. }
        | Popup::Costs(_)
        | Popup::Task(_)
        | Popup::Confirm(_) => true,
        Popup::Comment(_) | Popup::Peek(_) => false,
        Popup::Picker(picker) => match picker.choice {
            Choice::Palette { .. } | Choice::Models | Choice::Rules => true,
            Choice::Scopes(_) | Choice::Copy | Choice::Themes => false,
        },
    }
}
