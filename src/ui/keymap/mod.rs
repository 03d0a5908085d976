//! The keys that crewdeck has from the start: one table of context, keys, action and words. With the person's changes it
//! becomes a [`KeyMap`], and dispatch, help, hint line, palette and the demo's line read that.

mod action;
mod change;
pub(in crate::ui) mod direction;
mod map;
pub(in crate::ui) mod pane;

pub use crate::ui::keymap::action::Action;
pub use crate::ui::keymap::change::{ChangeError, Changes};
use crate::ui::keymap::direction::{Scroll, Toward};
pub use crate::ui::keymap::map::{Bound, Found, KeyMap};
use crate::ui::keymap::pane::Pane;

/// Where a key counts. A press is looked up in the contexts that hold now, the narrowest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Context {
    /// Always, also while writing.
    Everywhere,
    /// On the page that says what is in the way before the first word.
    FirstRun,
    /// While writing to an agent.
    Composer,
    /// While the first word of a message is completed.
    Completion,
    /// In every pane.
    Panes,
    /// In one pane.
    In(Pane),
    /// While writing the board's filter.
    Filter,
    /// While writing what is searched for in the conversation, or in a text.
    Search,
    /// While a question with choices has the keys.
    Choices,
    /// In a popup of text.
    Reader,
    /// In what a branch changes, beside the keys of every text.
    Diff,
    /// In a popup with a list and a line to search in it.
    Picker,
    /// While writing a comment to a request.
    Comment,
    /// While writing a task or changing one.
    TaskForm,
    /// The comment is written: yes or no?
    CommentVerdict,
    /// In the list of background jobs.
    Jobs,
    /// In the cost panel.
    Costs,
    /// While what is selected in a pane is peeked at.
    Peek,
    /// In the event log.
    EventLog,
    /// A question before something that can not be taken back: only its own letter says yes.
    Confirm,
    /// A question before a branch is merged.
    ConfirmMerge,
    /// A question before something is lost for good.
    ConfirmLoss,
    /// A question before leaving: who presses the key again means it.
    Leave,
    /// While a recording is played.
    Replay,
}

impl Context {
    /// The heading of its keys in the help.
    pub fn heading(self) -> &'static str {
        match self {
            Context::Everywhere => "Everywhere",
            Context::FirstRun => "First page",
            Context::Composer => "While writing",
            Context::Completion => "Completing a word",
            Context::Panes => "In every pane",
            Context::In(pane) => pane.title(),
            Context::Filter => "Filter",
            Context::Search => "Search",
            Context::Choices => "A question with choices",
            Context::Reader => "Reading",
            Context::Diff => "Reading a diff",
            Context::Picker => "Choosing",
            Context::Comment => "Comment",
            Context::TaskForm => "Writing a task",
            Context::CommentVerdict => "Comment: yes or no",
            Context::Jobs => "Background jobs",
            Context::Costs => "Cost",
            Context::Peek => "Peeking",
            Context::EventLog => "Event log",
            Context::Confirm => "Question",
            Context::ConfirmMerge => "Before a merge",
            Context::ConfirmLoss => "Before a loss",
            Context::Leave => "Before leaving",
            Context::Replay => "Replay",
        }
    }
}

/// One line of the table.
#[derive(Debug, Clone, Copy)]
pub struct Binding {
    /// Where it counts.
    pub context: Context,
    /// The keys, as `keys::parse` reads them; the first one is shown in the hint line.
    pub keys: &'static [&'static str],
    /// What they do.
    pub action: Action,
    /// What they do, for the help and the palette.
    pub words: &'static str,
    /// What they do, for the hint line; empty: not shown there.
    pub hint: &'static str,
}

const fn bind(
    context: Context,
    keys: &'static [&'static str],
    action: Action,
    words: &'static str,
    hint: &'static str,
) -> Binding {
    Binding {
        context,
        keys,
        action,
        words,
        hint,
    }
}

/// The key map. Within a context, the hint line shows the first ones first.
#[rustfmt::skip]
pub const TABLE: &[Binding] = &[
    bind(Context::FirstRun, &["r"], Action::LookAgain, "look for a model again: settings, servers on this machine", "look again"),
    bind(Context::FirstRun, &["g"], Action::MakeRepository, "make the directory a git repository, with a first commit", "make it a repository"),
    bind(Context::FirstRun, &["a"], Action::ApproveSettings, "approve the settings of this project, exactly as shown", "approve settings"),
    bind(Context::FirstRun, &["w"], Action::WithoutSettings, "go on without the settings of this project that need approval", "go on without"),
    bind(Context::FirstRun, &["m"], Action::Models, "choose another model", "choose a model"),
    bind(Context::FirstRun, &["d"], Action::StartDemo, "start the demo", "start the demo"),
    bind(Context::FirstRun, &["q"], Action::Close, "quit", "quit"),

    bind(Context::Composer, &["enter"], Action::Send, "send; while the agent asks a question, answer it", "send"),
    bind(Context::Composer, &["ctrl+j", "alt+enter", "shift+enter"], Action::Newline, "begin a new line", "new line"),
    bind(Context::Composer, &["esc"], Action::Back, "leave the composer", "to the panes"),
    bind(Context::Composer, &["up"], Action::Older, "row above; on the first one an older message", ""),
    bind(Context::Composer, &["down"], Action::Newer, "row below; on the last one a newer message", ""),
    bind(Context::Composer, &["pgup"], Action::Move(Scroll::PageUp), "scroll the conversation up", ""),
    bind(Context::Composer, &["pgdn"], Action::Move(Scroll::PageDown), "scroll the conversation down", ""),
    bind(Context::Composer, &["ctrl+u"], Action::DeleteToStart, "delete back to the start of the line", ""),
    bind(Context::Composer, &["ctrl+x e"], Action::EditOutside, "write in $EDITOR", ""),
    bind(Context::Composer, &["alt+1"], Action::Focus(Pane::Lead), "go to the conversation", ""),
    bind(Context::Composer, &["alt+2"], Action::Focus(Pane::Todo), "go to the todo list", ""),
    bind(Context::Composer, &["alt+3"], Action::Focus(Pane::Board), "go to the board", ""),
    bind(Context::Composer, &["alt+4"], Action::Focus(Pane::Team), "go to the team", ""),
    bind(Context::Composer, &["alt+5"], Action::Focus(Pane::Inbox), "go to the inbox", ""),
    bind(Context::Composer, &["alt+6"], Action::Focus(Pane::Needs), "go to what needs you", ""),
    bind(Context::Composer, &["tab"], Action::NextPane, "go to the next pane", ""),
    bind(Context::Composer, &["shift+tab"], Action::PrevPane, "go to the pane before", ""),

    bind(Context::Completion, &["enter"], Action::Accept, "do the selected command; write to the selected agent", "choose"),
    bind(Context::Completion, &["tab"], Action::Complete, "put the selected word into the message", "complete"),
    bind(Context::Completion, &["down", "ctrl+n"], Action::Move(Scroll::LineDown), "down", "select"),
    bind(Context::Completion, &["up"], Action::Move(Scroll::LineUp), "up", ""),
    bind(Context::Completion, &["esc"], Action::Back, "put the list away", "close"),

    bind(Context::In(Pane::Needs), &["a"], Action::Approve, "approve the selected request", "approve"),
    bind(Context::Choices, &["1"], Action::Choose(1), "answer with the first choice", "choose"),
    bind(Context::Choices, &["2"], Action::Choose(2), "answer with the second choice", ""),
    bind(Context::Choices, &["3"], Action::Choose(3), "answer with the third choice", ""),
    bind(Context::Choices, &["4"], Action::Choose(4), "answer with the fourth choice", ""),
    bind(Context::Choices, &["5"], Action::Choose(5), "answer with the fifth choice", ""),
    bind(Context::Choices, &["6"], Action::Choose(6), "answer with the sixth choice", ""),
    bind(Context::In(Pane::Needs), &["A"], Action::ApproveForTeam, "approve for the whole team until crewdeck ends; choose how far", "for the team"),
    bind(Context::In(Pane::Needs), &["r"], Action::Reject, "reject the selected request; decline a question", "reject"),
    bind(Context::In(Pane::Needs), &["c"], Action::Comment, "approve or reject with a comment; answer in your own words", "comment"),
    bind(Context::In(Pane::Needs), &["e"], Action::EditComment, "write the comment in $EDITOR; change a plan there", ""),
    bind(Context::In(Pane::Needs), &["enter", "o"], Action::Open, "open the agent that asks", "open the agent"),
    bind(Context::In(Pane::Needs), &["space"], Action::Peek, "peek at the request: all of it, beside the pane", ""),
    bind(Context::In(Pane::Needs), &["l", "right", "n"], Action::Next, "next request", "next"),
    bind(Context::In(Pane::Needs), &["h", "left", "N"], Action::Prev, "request before", ""),

    bind(Context::In(Pane::Lead), &["J", "}"], Action::Next, "select the next tool call", "tool calls"),
    bind(Context::In(Pane::Lead), &["K", "{"], Action::Prev, "select the tool call before", ""),
    bind(Context::In(Pane::Lead), &["enter", "space"], Action::Open, "open or fold the selected tool call", "open"),
    bind(Context::In(Pane::Lead), &["o"], Action::Subagent, "show the subagent that the selected tool call sent out", "subagent"),
    bind(Context::In(Pane::Lead), &["n"], Action::NextMatch, "go to the next match of the search", "next match"),
    bind(Context::In(Pane::Lead), &["N"], Action::PrevMatch, "go to the match before", "match before"),
    bind(Context::In(Pane::Lead), &["/"], Action::Search, "search the conversation, folded output too", "search"),
    bind(Context::In(Pane::Lead), &["[", "("], Action::PrevPrompt, "go to what you said before", "prompts"),
    bind(Context::In(Pane::Lead), &["]", ")"], Action::NextPrompt, "go to what you said next", ""),
    bind(Context::In(Pane::Lead), &["Y"], Action::CopyMenu, "choose what to copy: a message, a code block, the conversation", ""),
    bind(Context::In(Pane::Lead), &["s"], Action::Print, "print the conversation into the terminal's own scroll-back", ""),
    bind(Context::In(Pane::Lead), &["v"], Action::ReadOutside, "read the conversation in $EDITOR", ""),
    bind(Context::In(Pane::Lead), &["f", "end"], Action::Follow, "follow the newest", "follow"),

    bind(Context::In(Pane::Todo), &["enter"], Action::Open, "read the whole item", "read"),

    bind(Context::In(Pane::Board), &["enter"], Action::Open, "show the task", "open"),
    bind(Context::In(Pane::Board), &["space"], Action::Peek, "peek at the task, beside the board", "peek"),
    bind(Context::In(Pane::Board), &["v"], Action::TurnBoard, "draw the tasks as a graph, or list them", "graph or list"),
    bind(Context::In(Pane::Board), &["c"], Action::Claim, "claim the task: you work on it, agents leave it alone", "claim"),
    bind(Context::In(Pane::Board), &["u"], Action::Release, "release the task, also a teammate's: back to the board", "release"),
    bind(Context::In(Pane::Board), &["d"], Action::CompleteTask, "complete the task that you claimed", "complete"),
    bind(Context::In(Pane::Board), &["a"], Action::AddTask, "add a task: a form asks for its words", "add"),
    bind(Context::In(Pane::Board), &["e"], Action::EditTask, "edit the task: its words, what it waits for, its tags", "edit"),
    bind(Context::In(Pane::Board), &["D"], Action::Diff, "show what the branch of the task changes", "diff"),
    bind(Context::In(Pane::Board), &["m"], Action::Merge, "merge the branch of the completed task; asks first", "merge"),
    bind(Context::In(Pane::Board), &["W"], Action::RemoveTree, "remove the task's worktree; asks first", "remove worktree"),
    bind(Context::In(Pane::Board), &["/"], Action::Filter, "filter: words, owner:NAME status:ready tag:T, !word", "filter"),
    bind(Context::In(Pane::Board), &["Y"], Action::CopyPlace, "copy the path of the task's worktree", ""),
    bind(Context::In(Pane::Board), &["-"], Action::ZoomOut, "draw less of each task: one line, then its number", "zoom"),
    bind(Context::In(Pane::Board), &["+"], Action::ZoomIn, "draw more of each task", ""),
    bind(Context::In(Pane::Board), &["H", "shift+left"], Action::Pan(Toward::Left), "move the view to the left", ""),
    bind(Context::In(Pane::Board), &["J", "shift+down"], Action::Pan(Toward::Down), "move the view down", ""),
    bind(Context::In(Pane::Board), &["K", "shift+up"], Action::Pan(Toward::Up), "move the view up", ""),
    bind(Context::In(Pane::Board), &["L", "shift+right"], Action::Pan(Toward::Right), "move the view to the right", ""),
    bind(Context::In(Pane::Board), &["l", "right"], Action::Next, "to the task that waits for this one", ""),
    bind(Context::In(Pane::Board), &["h", "left"], Action::Prev, "to the task that this one waits for", ""),
    bind(Context::In(Pane::Team), &["enter"], Action::Open, "show the teammate's transcript", "open"),
    bind(Context::In(Pane::Team), &["space"], Action::Peek, "peek at what the teammate does, beside the team", "peek"),
    bind(Context::In(Pane::Team), &["n"], Action::Nudge, "nudge the teammate: ask it where it stands", "nudge"),
    bind(Context::In(Pane::Team), &["X"], Action::Force, "end the teammate by force; its task goes back to the board", ""),
    bind(Context::In(Pane::Team), &["x"], Action::AskShutdown, "ask the teammate to shut down", "shut down"),
    bind(Context::In(Pane::Team), &["/"], Action::Filter, "filter: name, role or task, !word", "filter"),
    bind(Context::In(Pane::Inbox), &["enter"], Action::Open, "read the message with all others between the two", "read"),
    bind(Context::In(Pane::Inbox), &["space"], Action::Peek, "peek at the message, beside the inbox", "peek"),
    bind(Context::In(Pane::Inbox), &["f", "end"], Action::Follow, "follow the newest", "follow"),
    bind(Context::In(Pane::Inbox), &["/"], Action::Filter, "filter: words, from:NAME to:NAME, !word", "filter"),

    bind(Context::Panes, &["w"], Action::Waiting, "go to the oldest request that waits for you", "needs you"),
    bind(Context::Panes, &["i"], Action::Compose, "write to the agent that is shown", "write"),
    bind(Context::Panes, &["esc"], Action::Back, "back: filter, whole screen, teammate", "back"),
    bind(Context::Panes, &["tab"], Action::NextPane, "go to the next pane", "pane"),
    bind(Context::Panes, &["shift+tab"], Action::PrevPane, "go to the pane before", ""),
    bind(Context::Panes, &["l", "right"], Action::NextPane, "go to the next pane", ""),
    bind(Context::Panes, &["h", "left"], Action::PrevPane, "go to the pane before", ""),
    bind(Context::Panes, &["1", "alt+1"], Action::Focus(Pane::Lead), "go to the conversation; again for the whole screen", ""),
    bind(Context::Panes, &["2", "alt+2"], Action::Focus(Pane::Todo), "go to the todo list; again for the whole screen", ""),
    bind(Context::Panes, &["3", "alt+3"], Action::Focus(Pane::Board), "go to the board; again for the whole screen", ""),
    bind(Context::Panes, &["4", "alt+4"], Action::Focus(Pane::Team), "go to the team; again for the whole screen", ""),
    bind(Context::Panes, &["5", "alt+5"], Action::Focus(Pane::Inbox), "go to the inbox; again for the whole screen", ""),
    bind(Context::Panes, &["6", "alt+6"], Action::Focus(Pane::Needs), "go to what needs you; again for the whole screen", ""),
    bind(Context::Panes, &["j", "down"], Action::Move(Scroll::LineDown), "down", ""),
    bind(Context::Panes, &["k", "up"], Action::Move(Scroll::LineUp), "up", ""),
    bind(Context::Panes, &["ctrl+d"], Action::Move(Scroll::HalfDown), "half a page down", ""),
    bind(Context::Panes, &["ctrl+u"], Action::Move(Scroll::HalfUp), "half a page up", ""),
    bind(Context::Panes, &["pgdn", "ctrl+f"], Action::Move(Scroll::PageDown), "page down", ""),
    bind(Context::Panes, &["pgup"], Action::Move(Scroll::PageUp), "page up", ""),
    bind(Context::Panes, &["g", "home"], Action::Move(Scroll::Top), "to the top", ""),
    bind(Context::Panes, &["G", "end"], Action::Move(Scroll::Bottom), "to the bottom", ""),
    bind(Context::Panes, &["y"], Action::Copy, "copy what is selected; of a conversation with nothing selected, the last answer", "copy"),
    bind(Context::Panes, &["m"], Action::Models, "choose another model", ""),
    bind(Context::Panes, &["b"], Action::Jobs, "show the background jobs", "jobs"),
    bind(Context::Panes, &["@"], Action::EventLog, "show the event log: what happened, when, by whom and why", ""),
    bind(Context::Panes, &["p"], Action::Problems, "show what is in the way: who waits, failed or stands still, and what helps", ""),
    bind(Context::Panes, &["$"], Action::Costs, "show what everybody has used: tokens, cost, ceilings, calls", ""),
    bind(Context::Panes, &["S"], Action::Skills, "show the skills that agents can load", ""),
    bind(Context::Panes, &["+"], Action::Enlarge, "give the pane the whole screen", ""),
    bind(Context::Panes, &["-"], Action::Restore, "give the other panes their room back", ""),
    bind(Context::Panes, &["="], Action::Layout, "another layout: wall, board, focus", ""),
    bind(Context::Panes, &["T"], Action::Themes, "choose another theme", ""),
    bind(Context::Panes, &["R"], Action::Rules, "show what the whole team may do unasked, to take it back", ""),
    bind(Context::Panes, &["M"], Action::Mouse, "mouse for crewdeck on or off (Shift+drag selects text)", ""),
    bind(Context::Panes, &["?"], Action::Help, "show the keys", "help"),
    bind(Context::Panes, &[":"], Action::Palette, "show all actions", "actions"),
    bind(Context::Panes, &["q"], Action::Close, "close the view; at the top quit", "quit"),

    bind(Context::Filter, &["enter", "down"], Action::Accept, "keep the filter", "keep"),
    bind(Context::Filter, &["esc"], Action::Back, "clear the filter", "clear"),

    bind(Context::Search, &["enter"], Action::Accept, "keep the search, to go on from match to match", "keep"),
    bind(Context::Search, &["down", "ctrl+n"], Action::NextMatch, "next match", "next match"),
    bind(Context::Search, &["up"], Action::PrevMatch, "match before", ""),
    bind(Context::Search, &["esc"], Action::Back, "end the search, back to where it began", "cancel"),

    bind(Context::Diff, &["]"], Action::NextFile, "go to the next file", "next file"),
    bind(Context::Diff, &["["], Action::PrevFile, "go to the file before", "file before"),

    bind(Context::Reader, &["esc", "q"], Action::Back, "end the search, then close", "close"),
    bind(Context::Reader, &["enter"], Action::Accept, "close; of the keys do what the selected one does", "do it"),
    bind(Context::Reader, &["j", "down"], Action::Move(Scroll::LineDown), "down", "scroll"),
    bind(Context::Reader, &["k", "up"], Action::Move(Scroll::LineUp), "up", ""),
    bind(Context::Reader, &["ctrl+d"], Action::Move(Scroll::HalfDown), "half a page down", ""),
    bind(Context::Reader, &["ctrl+u"], Action::Move(Scroll::HalfUp), "half a page up", ""),
    bind(Context::Reader, &["pgdn", "space"], Action::Move(Scroll::PageDown), "page down", ""),
    bind(Context::Reader, &["pgup"], Action::Move(Scroll::PageUp), "page up", ""),
    bind(Context::Reader, &["g", "home"], Action::Move(Scroll::Top), "to the top", ""),
    bind(Context::Reader, &["G", "end"], Action::Move(Scroll::Bottom), "to the bottom", ""),
    bind(Context::Reader, &["y"], Action::Copy, "copy the text", "copy"),
    bind(Context::Reader, &["n"], Action::NextMatch, "go to the next match of the search", "next match"),
    bind(Context::Reader, &["N"], Action::PrevMatch, "go to the match before", "match before"),
    bind(Context::Reader, &["/"], Action::Filter, "search the text; of the keys show those with the words", "search"),

    bind(Context::Picker, &["enter"], Action::Accept, "take the selected line", "choose"),
    bind(Context::Picker, &["esc"], Action::Back, "close", "close"),
    bind(Context::Picker, &["down", "ctrl+n"], Action::Move(Scroll::LineDown), "down", "select"),
    bind(Context::Picker, &["up", "ctrl+p"], Action::Move(Scroll::LineUp), "up", ""),
    bind(Context::Picker, &["pgdn"], Action::Move(Scroll::PageDown), "page down", ""),
    bind(Context::Picker, &["pgup"], Action::Move(Scroll::PageUp), "page up", ""),

    bind(Context::Jobs, &["x"], Action::Kill, "end the selected job and all that it started", "end it"),
    bind(Context::Jobs, &["enter", "o"], Action::Open, "show the agent that started it", "open the agent"),
    bind(Context::Jobs, &["y"], Action::Copy, "copy what it wrote last", "copy"),
    bind(Context::Jobs, &["j", "down"], Action::Move(Scroll::LineDown), "down", "select"),
    bind(Context::Jobs, &["k", "up"], Action::Move(Scroll::LineUp), "up", ""),
    bind(Context::Jobs, &["g", "home"], Action::Move(Scroll::Top), "to the top", ""),
    bind(Context::Jobs, &["G", "end"], Action::Move(Scroll::Bottom), "to the bottom", ""),
    bind(Context::Jobs, &["esc", "q", "b"], Action::Back, "close", "close"),

    bind(Context::Costs, &["enter", "o"], Action::Open, "show the agent, or the task", "open"),
    bind(Context::Costs, &["y"], Action::Copy, "copy the figures", "copy"),
    bind(Context::Costs, &["j", "down"], Action::Move(Scroll::LineDown), "down", "select"),
    bind(Context::Costs, &["k", "up"], Action::Move(Scroll::LineUp), "up", ""),
    bind(Context::Costs, &["pgdn", "ctrl+d", "space"], Action::Move(Scroll::PageDown), "page down", ""),
    bind(Context::Costs, &["pgup", "ctrl+u"], Action::Move(Scroll::PageUp), "page up", ""),
    bind(Context::Costs, &["g", "home"], Action::Move(Scroll::Top), "to the top", ""),
    bind(Context::Costs, &["G", "end"], Action::Move(Scroll::Bottom), "to the bottom", ""),
    bind(Context::Costs, &["esc", "q", "$"], Action::Back, "close", "close"),

    bind(Context::Peek, &["enter", "o"], Action::Open, "open what is peeked at", "open"),
    bind(Context::Peek, &["j", "down"], Action::Move(Scroll::LineDown), "peek at the next one", "next"),
    bind(Context::Peek, &["k", "up"], Action::Move(Scroll::LineUp), "peek at the one before", ""),
    bind(Context::Peek, &["pgdn", "ctrl+d"], Action::Move(Scroll::PageDown), "scroll what is peeked at down", "scroll"),
    bind(Context::Peek, &["pgup", "ctrl+u"], Action::Move(Scroll::PageUp), "scroll what is peeked at up", ""),
    bind(Context::Peek, &["g", "home"], Action::Move(Scroll::Top), "peek at the first one", ""),
    bind(Context::Peek, &["G", "end"], Action::Move(Scroll::Bottom), "peek at the last one", ""),
    bind(Context::Peek, &["y"], Action::Copy, "copy what is selected", "copy"),
    bind(Context::Peek, &["space", "esc", "q"], Action::Back, "close", "close"),

    bind(Context::EventLog, &["enter", "o"], Action::Open, "show what the line is about: task, agent, message, request, job", "show it"),
    bind(Context::EventLog, &["/"], Action::Filter, "filter: words, who:NAME kind:task, !word; ! alone for trouble", "filter"),
    bind(Context::EventLog, &["!"], Action::Trouble, "show trouble alone, or everything again", "trouble"),
    bind(Context::EventLog, &["f", "G", "end"], Action::Follow, "follow the newest", "follow"),
    bind(Context::EventLog, &["y"], Action::Copy, "copy the line", "copy"),
    bind(Context::EventLog, &["j", "down"], Action::Move(Scroll::LineDown), "down", "select"),
    bind(Context::EventLog, &["k", "up"], Action::Move(Scroll::LineUp), "up", ""),
    bind(Context::EventLog, &["ctrl+d"], Action::Move(Scroll::HalfDown), "half a page down", ""),
    bind(Context::EventLog, &["ctrl+u"], Action::Move(Scroll::HalfUp), "half a page up", ""),
    bind(Context::EventLog, &["pgdn", "space"], Action::Move(Scroll::PageDown), "page down", ""),
    bind(Context::EventLog, &["pgup"], Action::Move(Scroll::PageUp), "page up", ""),
    bind(Context::EventLog, &["g", "home"], Action::Move(Scroll::Top), "to the oldest", ""),
    bind(Context::EventLog, &["esc", "q", "@"], Action::Back, "clear the filter, then close", "close"),

    bind(Context::Comment, &["enter"], Action::Accept, "go on to yes or no; send an answer", "go on"),
    bind(Context::Comment, &["ctrl+j", "alt+enter", "shift+enter"], Action::Newline, "begin a new line", "new line"),
    bind(Context::Comment, &["ctrl+u"], Action::DeleteToStart, "delete back to the start of the line", ""),
    bind(Context::Comment, &["ctrl+x e"], Action::EditOutside, "write in $EDITOR", ""),
    bind(Context::Comment, &["esc"], Action::Back, "close; nothing is decided", "cancel"),
    bind(Context::CommentVerdict, &["a"], Action::Approve, "approve with the comment", "approve"),
    bind(Context::CommentVerdict, &["r"], Action::Reject, "reject with the comment", "reject"),
    bind(Context::CommentVerdict, &["esc"], Action::Back, "back to the comment", "back"),

    bind(Context::TaskForm, &["enter"], Action::Accept, "put it on the board", "take it"),
    bind(Context::TaskForm, &["tab"], Action::NextField, "go to the next field", "next field"),
    bind(Context::TaskForm, &["shift+tab"], Action::PrevField, "go to the field before", ""),
    bind(Context::TaskForm, &["ctrl+t"], Action::TurnWait, "let it wait for the task that is selected on the board, or no more", "wait for selected"),
    bind(Context::TaskForm, &["ctrl+j", "alt+enter", "shift+enter"], Action::Newline, "begin a new line of the description", "new line"),
    bind(Context::TaskForm, &["ctrl+u"], Action::DeleteToStart, "delete back to the start of the line", ""),
    bind(Context::TaskForm, &["ctrl+x e"], Action::EditOutside, "write the field in $EDITOR", ""),
    bind(Context::TaskForm, &["esc"], Action::Back, "close; the draft is kept", "close"),

    bind(Context::Confirm, &["y"], Action::Accept, "yes", "yes"),
    bind(Context::Confirm, &["n", "esc", "q", "ctrl+c"], Action::Back, "no", "no"),

    bind(Context::ConfirmMerge, &["y"], Action::Accept, "merge the branch", "merge"),
    bind(Context::ConfirmMerge, &["A"], Action::MergeAll, "merge all that is completed, what others build on first", "merge all"),
    bind(Context::ConfirmMerge, &["D"], Action::Diff, "look at what the branch changes", "look"),
    bind(Context::ConfirmMerge, &["n", "esc", "q", "ctrl+c"], Action::Back, "do not merge", "not"),

    bind(Context::ConfirmLoss, &["X"], Action::Accept, "remove it, and lose what is named", "lose it"),
    bind(Context::ConfirmLoss, &["n", "esc", "q", "ctrl+c"], Action::Back, "leave it as it is", "leave it"),

    bind(Context::Leave, &["y", "enter", "ctrl+c"], Action::Accept, "leave", "yes"),
    bind(Context::Leave, &["n", "esc", "q"], Action::Back, "stay", "no"),

    bind(Context::Replay, &["space"], Action::PauseOrPlay, "play the recording, or let it stand still", "pause or play"),
    bind(Context::Replay, &["."], Action::Step, "one event on", "step"),
    bind(Context::Replay, &[","], Action::StepBack, "one event back", "step back"),
    bind(Context::Replay, &[">"], Action::Jump, "ten seconds on", "10 s on"),
    bind(Context::Replay, &["<"], Action::JumpBack, "ten seconds back", "10 s back"),
    bind(Context::Replay, &["]"], Action::Faster, "twice as fast", "faster"),
    bind(Context::Replay, &["["], Action::Slower, "half as fast", "slower"),

    bind(Context::Everywhere, &["alt+w", "f2"], Action::Waiting, "go to the oldest request that waits for you", "needs you"),
    bind(Context::Everywhere, &["ctrl+c"], Action::Interrupt, "stop the shown agent; clear a draft; twice when idle: quit", "stop"),
    bind(Context::Everywhere, &["f1"], Action::Help, "show the keys", "help"),
    bind(Context::Everywhere, &["ctrl+p"], Action::Palette, "show all actions", "actions"),
    bind(Context::Everywhere, &["ctrl+t"], Action::Todo, "show or hide the todo list", ""),
    bind(Context::Everywhere, &["alt+h", "f3"], Action::DismissTour, "put away the line above the hints, or bring it back", ""),
    bind(Context::Everywhere, &["ctrl+z"], Action::Suspend, "suspend; `fg` in the shell brings it back", ""),
];

/// The words that the composer takes for actions when a message is nothing else.
pub const SLASH: &[(&str, Action, &str)] = &[
    ("/model", Action::Models, "choose another model"),
    (
        "/compact",
        Action::Compact,
        "summarise the conversation; words behind it say what matters most",
    ),
    ("/theme", Action::Themes, "choose another theme"),
    ("/jobs", Action::Jobs, "show the background jobs"),
    (
        "/skills",
        Action::Skills,
        "show the skills that agents can load",
    ),
    (
        "/rules",
        Action::Rules,
        "show what the whole team may do unasked, to take it back",
    ),
    ("/help", Action::Help, "show the keys"),
    ("/quit", Action::Close, "quit"),
];
