//! What lies over the panes: texts to read, lists to choose from, a comment to write, a question.

use crate::domain::ids::{Name, RequestId, TaskId};
use crate::domain::worktree::Losses;
use crate::ui::app::App;
use crate::ui::app::task_form::TaskForm;
use crate::ui::keymap::Context;
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::model::Model;
use crate::ui::model::event_log::LogLine;
use crate::ui::model::event_log::query::Query;
use crate::ui::widgets::composer::Composer;
use crate::ui::widgets::line_input::{LineInput, Searching};

/// Most popups that lie over one another.
pub const POPUPS_MAX: usize = 4;

/// A text that is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Text {
    /// The keys that count in these contexts, and all others below.
    Help(Vec<Context>),
    /// An item of the shown todo list, by its place.
    Todo(usize),
    /// A task with everything that is known of it.
    Task(TaskId),
    /// What the branch of a task changes.
    Diff(TaskId),
    /// A letter, by its number in the log.
    Letter(u64),
    /// What is in the way of the work.
    Problems,
    /// What agents can load.
    Skills,
}

/// A popup of text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reader {
    /// What is read.
    pub text: Text,
    /// Lines that are scrolled away above.
    pub scroll: usize,
    /// What is searched for; of the help only the rows with these words are shown.
    pub search: LineInput,
    /// Whether the search line has the keys.
    pub searching: Searching,
    /// The match that the reader is at, from 0 on; more than there are: the last one.
    pub here: usize,
    /// What was scrolled away when the search began.
    pub origin: usize,
    /// The selected entry of the help; the file of a diff that the reader is at; of other texts nothing is selected.
    pub row: usize,
}

/// What is chosen from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// All actions that mean something where the palette was opened.
    Palette {
        /// Where it was opened.
        contexts: Vec<Context>,
        /// Who had the keys.
        focus: Focus,
    },
    /// The models of the server.
    Models,
    /// How far the permission reaches that this request asks for.
    Scopes(RequestId),
    /// What of the conversation that is shown is copied.
    Copy,
    /// The rules of the session; taking one takes it back.
    Rules,
    /// The themes; the screen has the selected one meanwhile.
    Themes,
}

/// A popup with a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picker {
    /// What is chosen from.
    pub choice: Choice,
    /// What is searched for.
    pub search: LineInput,
    /// The selected row among those that fit the search.
    pub row: usize,
}

/// Where the writing of a comment stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommentStage {
    /// It is written.
    Writing,
    /// Yes or no?
    Verdict,
}

/// A popup for a comment to a request.
#[derive(Debug)]
pub struct CommentBox {
    /// The request.
    pub request: RequestId,
    /// The comment.
    pub text: Composer,
    /// Where it stands.
    pub stage: CommentStage,
}

/// What lies over the panes. Whoever wants something of one kind asks for that kind; a `match` over all of them stands
/// where each has its answer: here, where it is drawn, pressed and scrolled, and what Enter does in it.
#[derive(Debug)]
pub enum Popup {
    /// A text.
    Reader(Reader),
    /// A list.
    Picker(Picker),
    /// A comment.
    Comment(Box<CommentBox>),
    /// The background jobs.
    Jobs {
        /// The selected one.
        row: usize,
    },
    /// What happened.
    EventLog(LogView),
    /// What was used.
    Costs(CostView),
    /// What is selected in that pane, beside it: the keys go on selecting there.
    Peek(Pane),
    /// A task that is written or changed.
    Task(Box<TaskForm>),
    /// A question before something that can not be taken back.
    Confirm(Question),
}

/// What the letters go to while a popup has the keys.
#[derive(Debug)]
pub enum Written<'a> {
    /// What a text is searched for; the text goes to its matches.
    Search,
    /// What the event log is filtered by.
    Filter(&'a mut LineInput),
    /// What a list is searched for.
    Choice(&'a mut Picker),
    /// A comment.
    Comment(&'a mut Composer),
    /// A task.
    Task(&'a mut TaskForm),
}

/// A worktree as it was judged before it is removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    /// Its task.
    pub task: TaskId,
    /// What would be lost.
    pub losses: Losses,
    /// What it takes on disk, in words.
    pub size: String,
}

/// What is asked before it is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Question {
    /// Whether to leave although agents are at work.
    Quit,
    /// Whether to end a teammate by force.
    Force(Name),
    /// Whether to merge the branch of a task.
    Merge(TaskId),
    /// Whether to take a task from a teammate at work.
    Release {
        /// The task.
        task: TaskId,
        /// Whose it is.
        from: Name,
    },
    /// Whether to remove the worktree of a task.
    RemoveTree(Judged),
    /// Whether to remove it although something is lost.
    LoseTree(Judged),
    /// Whether to complete a task that nobody has.
    Complete(TaskId),
    /// Whether to approve the settings of the project that the first page shows.
    ApproveSettings,
}

impl Popup {
    /// A text, from its beginning.
    pub fn read(text: Text) -> Popup {
        Popup::Reader(Reader {
            text,
            scroll: 0,
            search: LineInput::default(),
            searching: Searching::Rest,
            here: 0,
            origin: 0,
            row: 0,
        })
    }

    /// A list, with nothing searched for.
    pub fn choose(choice: Choice) -> Popup {
        Popup::Picker(Picker {
            choice,
            search: LineInput::default(),
            row: 0,
        })
    }

    /// The request that it is about.
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

    /// What letters go to; `None`: they mean nothing.
    pub fn written(&mut self) -> Option<Written<'_>> {
        match self {
            Popup::Reader(reader) => {
                (reader.searching == Searching::Typing).then_some(Written::Search)
            }
            Popup::Picker(picker) => Some(Written::Choice(picker)),
            Popup::EventLog(view) => {
                (view.searching == Searching::Typing).then_some(Written::Filter(&mut view.filter))
            }
            Popup::Comment(comment) => match comment.stage {
                CommentStage::Writing => Some(Written::Comment(&mut comment.text)),
                CommentStage::Verdict => None,
            },
            Popup::Task(form) => Some(Written::Task(form)),
            Popup::Jobs { .. } | Popup::Costs(_) | Popup::Peek(_) | Popup::Confirm(_) => None,
        }
    }

    /// The context of its keys.
    pub fn context(&self) -> Context {
        match self {
            Popup::Reader(reader) => match (&reader.text, reader.searching) {
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
            Popup::Confirm(Question::Quit) => Context::Leave,
            Popup::Confirm(
                Question::Force(_)
                | Question::Release { .. }
                | Question::RemoveTree(_)
                | Question::Complete(_)
                | Question::ApproveSettings,
            ) => Context::Confirm,
            Popup::Confirm(Question::LoseTree(_)) => Context::ConfirmLoss,
            Popup::Confirm(Question::Merge(_)) => Context::ConfirmMerge,
        }
    }
}

/// The panel while it is open.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CostView {
    /// What is selected; `None`: the first line that is about something.
    pub selected: Option<Target>,
}

/// What a line of the panel is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// An agent.
    Agent(Name),
    /// A task.
    Task(TaskId),
}

/// How the log is looked at.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LogView {
    /// The selected line, by its number; `None`: the newest, whichever that is.
    pub selected: Option<u64>,
    /// What it is filtered by.
    pub filter: LineInput,
    /// Whether that is being written.
    pub searching: Searching,
}

impl LogView {
    /// Whether only some lines are shown.
    pub fn is_filtered(&self) -> bool {
        !self.filter.text().trim().is_empty()
    }

    /// Whether there is a filter, written or being written.
    pub fn has_filter(&self) -> bool {
        self.searching == Searching::Typing || self.is_filtered()
    }

    /// Shows everything again.
    pub fn end_filter(&mut self) {
        self.searching = Searching::Rest;
        self.filter = LineInput::default();
    }

    /// Whether trouble alone is shown.
    pub fn is_trouble_only(&self) -> bool {
        self.filter.text().split_whitespace().any(|w| w == "!")
    }

    /// What is looked for.
    pub fn query(&self) -> Query {
        Query::new(self.filter.text())
    }

    /// The lines that the filter lets through, the oldest first.
    pub fn rows<'a>(&self, model: &'a Model) -> Vec<&'a LogLine> {
        let query = self.query();
        let lines = model.event_log.lines();
        lines.filter(|l| query.matches(l)).collect()
    }

    /// The place of the selected line among `rows`; `None`: there is none.
    pub fn row(&self, rows: &[&LogLine]) -> Option<usize> {
        let newest = rows.len().checked_sub(1)?;
        let Some(number) = self.selected else {
            return Some(newest);
        };
        // One that fell off the log or the filter gives way to the one that came next.
        let at = rows.iter().position(|l| l.number == number);
        at.or_else(|| rows.iter().position(|l| l.number > number))
            .or(Some(newest))
    }

    /// Selects the row at a place; on the newest it follows.
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

/// Whether what lies below a popup matters no more while it is open; else it is about what can be seen beside it.
pub fn covers(popup: &Popup) -> bool {
    match popup {
        Popup::Reader(_)
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
