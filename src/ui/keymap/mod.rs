//! The default key bindings in one table. With the user's changes, the table becomes a [`KeyMap`], which key dispatch,
//! help, hint line, palette and tour read.

mod action;
#[cfg(test)]
mod conventions;
pub(in crate::ui) mod direction;
mod map;
mod overrides;
pub(in crate::ui) mod pane;
#[cfg(test)]
mod reference;
mod slash;

pub use crate::ui::keymap::action::Action;
use crate::ui::keymap::direction::{PanDirection, Scroll};
pub use crate::ui::keymap::map::{KeyBinding, KeyLookup, KeyMap};
pub use crate::ui::keymap::overrides::{KeyOverrideError, KeyOverrides};
use crate::ui::keymap::pane::Pane;
pub use crate::ui::keymap::slash::{SLASH, SLASH_ALIASES, SLASH_ELSEWHERE};

/// Where a binding of keys to an action applies. A key is looked up in all active contexts, starting with the most
/// specific one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Context {
    /// Always, including text input.
    Everywhere,
    /// On the setup page.
    FirstRun,
    Composer,
    /// In the composer while it is empty. Even keys that would otherwise type text can be bound in this context.
    EmptyComposer,
    /// While the completion list of the composer is open.
    Completion,
    /// In the composer and in every text field of the comment dialog and the task form, including the one-line fields.
    Editing,
    /// While the user searches the history of sent messages.
    History,
    /// In every pane, but not in text inputs and popups.
    Panes,
    In(Pane),
    /// In the filter input of a list.
    Filter,
    /// In the search input of the conversation or a pager.
    Search,
    /// In the pane "Needs you" while a question with choices is selected.
    Choices,
    /// In a pager.
    Reader,
    /// In the diff pager, in addition to [`Context::Reader`].
    Diff,
    Picker,
    /// While the user writes a comment on a request.
    Comment,
    TaskForm,
    /// While the user chooses, after writing a comment, whether to approve or reject.
    CommentVerdict,
    /// In the list of background jobs.
    Jobs,
    /// In the list of MCP servers.
    Servers,
    Costs,
    /// While a preview is open.
    Peek,
    EventLog,
    /// In every dialog that confirms an action and has no context of its own. Enter does not confirm in such a dialog.
    Confirm,
    ConfirmMerge,
    /// In the dialog that confirms an action that loses work.
    ConfirmLoss,
    /// In the dialog that shows what a rewind would change.
    ConfirmRewind,
    /// In a dialog that confirms quitting crewdeck or changing to another session. By default, Enter and the interrupt key
    /// confirm, too.
    Leave,
    Replay,
}

impl Context {
    /// Returns the heading above the keys of this context in the help.
    pub fn heading(self) -> &'static str {
        match self {
            Context::Everywhere => "Everywhere",
            Context::FirstRun => "Setup page",
            Context::Composer => "Composer",
            Context::EmptyComposer => "Empty composer",
            Context::Completion => "Completion",
            Context::Editing => "Text editing",
            Context::History => "Message history",
            Context::Panes => "In every pane",
            Context::In(pane) => pane.title(),
            Context::Filter => "Filter",
            Context::Search => "Search",
            Context::Choices => "Question with choices",
            Context::Reader => "Pager",
            Context::Diff => "Diff",
            Context::Picker => "Picker",
            Context::Comment => "Comment",
            Context::TaskForm => "Task form",
            Context::CommentVerdict => "Comment decision",
            Context::Jobs => "Background jobs",
            Context::Servers => "MCP servers",
            Context::Costs => "Cost",
            Context::Peek => "Preview",
            Context::EventLog => "Event log",
            Context::Confirm => "Confirmation",
            Context::ConfirmMerge => "Merge dialog",
            Context::ConfirmLoss => "Data loss dialog",
            Context::ConfirmRewind => "Rewind dialog",
            Context::Leave => "Quit dialog",
            Context::Replay => "Replay",
        }
    }
}

/// A row of [`TABLE`]: the default keys of an action in one context.
#[derive(Debug, Clone, Copy)]
pub struct Binding {
    pub context: Context,
    /// The keys of the action. Each entry is one key in the syntax of `keys::parse`, or two keys separated by a space
    /// that are pressed one after the other. The hint line shows the first entry.
    pub keys: &'static [&'static str],
    pub action: Action,
    /// The description of the action in the help and the palette.
    pub words: &'static str,
    /// The label of the action in the hint line; empty if the hint line does not show the action.
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

/// The default keymap. Within a context, the hint line shows the bindings in the order of this table.
#[rustfmt::skip]
pub const TABLE: &[Binding] = &[
    bind(Context::FirstRun, &["r"], Action::CheckAgain, "check again: settings, model, local servers", "check again"),
    bind(Context::FirstRun, &["g"], Action::CreateRepository, "create a git repository with a first commit here", "create repository"),
    bind(Context::FirstRun, &["a"], Action::ApproveSettings, "approve what this page lists, exactly as shown", "approve"),
    bind(Context::FirstRun, &["w"], Action::SkipSettings, "continue without what needs approval", "continue without"),
    bind(Context::FirstRun, &["m"], Action::Models, "choose another model", "choose a model"),
    bind(Context::FirstRun, &["d"], Action::StartDemo, "start the demo", "start the demo"),
    bind(Context::FirstRun, &["q"], Action::Close, "quit", "quit"),

    bind(Context::Composer, &["enter"], Action::Send, "send; answers a pending question of the agent; after \\, insert a line break", "send"),
    bind(Context::Composer, &["ctrl+j", "alt+enter", "shift+enter"], Action::Newline, "insert a line break", "new line"),
    bind(Context::Composer, &["esc"], Action::Back, "leave the composer", "leave input"),
    bind(Context::Composer, &["alt+a"], Action::ApproveShown, "approve the request of this agent, with the draft as the comment; also /approve", ""),
    bind(Context::Composer, &["alt+r"], Action::RejectShown, "reject the request, with the draft as the comment; also /reject", ""),
    bind(Context::Composer, &["up"], Action::Older, "row up; in the first row, an older message; in an empty draft, edit the queued message", ""),
    bind(Context::Composer, &["down"], Action::Newer, "row down; in the last row, a newer message", ""),
    bind(Context::Composer, &["pgup"], Action::Move(Scroll::PageUp), "scroll the conversation up", ""),
    bind(Context::Composer, &["pgdn"], Action::Move(Scroll::PageDown), "scroll the conversation down", ""),
    bind(Context::Composer, &["ctrl+u"], Action::DeleteToStart, "delete back to the start of the line", ""),
    bind(Context::Composer, &["ctrl+o"], Action::UnfoldPaste, "show the whole pasted text in the draft; without one, open or fold all tool output", "open paste"),
    bind(Context::Composer, &["ctrl+x e", "ctrl+g"], Action::EditInEditor, "edit in $EDITOR", ""),
    bind(Context::Composer, &["ctrl+r"], Action::SearchHistory, "search your earlier messages", ""),
    bind(Context::Composer, &["alt+1", "ctrl+x 1"], Action::Focus(Pane::Lead), "go to the conversation", ""),
    bind(Context::Composer, &["alt+2", "ctrl+x 2"], Action::Focus(Pane::Todo), "go to the todo list", ""),
    bind(Context::Composer, &["alt+3", "ctrl+x 3"], Action::Focus(Pane::Board), "go to the board", ""),
    bind(Context::Composer, &["alt+4", "ctrl+x 4"], Action::Focus(Pane::Team), "go to the team", ""),
    bind(Context::Composer, &["alt+5", "ctrl+x 5"], Action::Focus(Pane::Inbox), "go to the inbox", ""),
    bind(Context::Composer, &["alt+6", "ctrl+x 6"], Action::Focus(Pane::Needs), "go to \"Needs you\"", ""),
    bind(Context::Composer, &["alt+m", "ctrl+x m"], Action::Models, "choose another model", ""),
    bind(Context::Composer, &["tab"], Action::NextPane, "go to the next pane", ""),
    bind(Context::Composer, &["shift+tab"], Action::PrevPane, "go to the previous pane", ""),
    bind(Context::EmptyComposer, &["?"], Action::Help, "show the keys", "help"),
    bind(Context::EmptyComposer, &["left"], Action::Focus(Pane::Team), "go to the team", ""),

    bind(Context::Completion, &["enter"], Action::Accept, "run the selected command; address the selected agent", "choose"),
    bind(Context::Completion, &["tab"], Action::Complete, "insert the selected word", "complete"),
    bind(Context::Completion, &["down", "ctrl+n"], Action::Move(Scroll::LineDown), "down", "select"),
    bind(Context::Completion, &["up"], Action::Move(Scroll::LineUp), "up", ""),
    bind(Context::Completion, &["esc"], Action::Back, "close the list", "close"),

    bind(Context::Editing, &["ctrl+_", "ctrl+x u"], Action::Undo, "undo", ""),
    bind(Context::Editing, &["ctrl+x r"], Action::Redo, "redo", ""),
    bind(Context::Editing, &["ctrl+k"], Action::DeleteToEnd, "delete to the end of the line", ""),
    bind(Context::Editing, &["ctrl+w"], Action::DeleteWord, "delete back to the previous space", ""),
    bind(Context::Editing, &["alt+backspace", "ctrl+backspace"], Action::DeletePrevWord, "delete the word before the cursor", ""),
    bind(Context::Editing, &["alt+d", "ctrl+delete", "ctrl+x d"], Action::DeleteNextWord, "delete the word after the cursor", ""),
    bind(Context::Editing, &["ctrl+y"], Action::Yank, "insert the last deleted text", ""),
    bind(Context::Editing, &["alt+y", "ctrl+x y"], Action::YankPop, "replace the text just inserted with the next older deleted text", ""),

    bind(Context::History, &["ctrl+r"], Action::Move(Scroll::LineDown), "next older match", "older"),
    bind(Context::History, &["ctrl+s"], Action::Move(Scroll::LineUp), "next newer match", ""),

    bind(Context::In(Pane::Needs), &["a"], Action::Approve, "approve the selected request", "approve"),
    bind(Context::Choices, &["1"], Action::Choose(1), "answer with the first choice", "choose"),
    bind(Context::Choices, &["2"], Action::Choose(2), "answer with the second choice", ""),
    bind(Context::Choices, &["3"], Action::Choose(3), "answer with the third choice", ""),
    bind(Context::Choices, &["4"], Action::Choose(4), "answer with the fourth choice", ""),
    bind(Context::Choices, &["5"], Action::Choose(5), "answer with the fifth choice", ""),
    bind(Context::Choices, &["6"], Action::Choose(6), "answer with the sixth choice", ""),
    bind(Context::In(Pane::Needs), &["A"], Action::ApproveForTeam, "approve for the whole team until crewdeck ends; asks for the scope", "for the team"),
    bind(Context::In(Pane::Needs), &["r"], Action::Reject, "reject the selected request; decline a question", "reject"),
    bind(Context::In(Pane::Needs), &["c"], Action::Comment, "approve or reject with a comment; answer in your own words", "comment"),
    bind(Context::In(Pane::Needs), &["e"], Action::EditComment, "write the comment in $EDITOR; edit a plan there", "edit"),
    bind(Context::In(Pane::Needs), &["enter", "o"], Action::Open, "open the asking agent", "open the agent"),
    bind(Context::In(Pane::Needs), &["space"], Action::Peek, "preview the whole request", "preview"),
    bind(Context::In(Pane::Needs), &["l", "right", "n"], Action::Next, "next request", "next"),
    bind(Context::In(Pane::Needs), &["h", "left", "N"], Action::Prev, "previous request", ""),

    bind(Context::In(Pane::Lead), &["J", "}"], Action::Next, "select the next tool call or message", "tool calls"),
    bind(Context::In(Pane::Lead), &["K", "{"], Action::Prev, "select the previous tool call or message", ""),
    bind(Context::In(Pane::Lead), &["enter", "space"], Action::Open, "open or fold the selected tool call or message", "open"),
    bind(Context::In(Pane::Lead), &["o"], Action::Subagent, "show the subagent of the selected tool call", "subagent"),
    bind(Context::In(Pane::Lead), &["alt+a"], Action::ApproveShown, "approve the request of this agent; also /approve", "approve"),
    bind(Context::In(Pane::Lead), &["alt+r"], Action::RejectShown, "reject the request of this agent; also /reject", "reject"),
    bind(Context::In(Pane::Lead), &["n"], Action::NextMatch, "go to the next match", "next match"),
    bind(Context::In(Pane::Lead), &["N"], Action::PrevMatch, "go to the previous match", "prev match"),
    bind(Context::In(Pane::Lead), &["/"], Action::Search, "search the conversation, including folded output", "search"),
    bind(Context::In(Pane::Lead), &["[", "("], Action::PrevPrompt, "go to your previous prompt", "prev prompt"),
    bind(Context::In(Pane::Lead), &["]", ")"], Action::NextPrompt, "go to your next prompt", ""),
    bind(Context::In(Pane::Lead), &["Y"], Action::CopyMenu, "choose what to copy: a message, a code block, the conversation", ""),
    bind(Context::In(Pane::Lead), &["P"], Action::Print, "print the conversation to the terminal's scroll-back", ""),
    bind(Context::In(Pane::Lead), &["e"], Action::ReadInEditor, "read the conversation in $EDITOR", ""),
    bind(Context::In(Pane::Lead), &["U"], Action::Rewind, "rewind the agent: restore files or conversation to a checkpoint; also /rewind", ""),
    bind(Context::In(Pane::Lead), &["f", "end"], Action::Follow, "follow the newest output", "follow"),

    bind(Context::In(Pane::Todo), &["enter"], Action::Open, "read the whole item", "read"),

    bind(Context::In(Pane::Board), &["enter"], Action::Open, "show the task", "open"),
    bind(Context::In(Pane::Board), &["space"], Action::Peek, "preview the task beside the board", "preview"),
    bind(Context::In(Pane::Board), &["v"], Action::ToggleGraph, "show the board as graph or list", "graph or list"),
    bind(Context::In(Pane::Board), &["C"], Action::Claim, "claim the task for yourself; agents leave it alone", "claim"),
    bind(Context::In(Pane::Board), &["u"], Action::Release, "release your task or a teammate's back to the board", "release"),
    bind(Context::In(Pane::Board), &["d"], Action::CompleteTask, "complete your task", "complete"),
    bind(Context::In(Pane::Board), &["t"], Action::AddTask, "add a task in a form", "add task"),
    bind(Context::In(Pane::Board), &["e"], Action::EditTask, "edit the task: text, blockers, tags", "edit"),
    bind(Context::In(Pane::Board), &["D"], Action::Diff, "show the diff of the task's branch", "diff"),
    bind(Context::In(Pane::Board), &["m"], Action::Merge, "merge the branch of the completed task; asks first", "merge"),
    bind(Context::In(Pane::Board), &["W"], Action::RemoveWorktree, "remove the task's worktree; asks first", "remove worktree"),
    bind(Context::In(Pane::Board), &["/"], Action::Filter, "filter: words, owner:NAME, status:ready, tag:T; !word excludes", "filter"),
    bind(Context::In(Pane::Board), &["Y"], Action::CopyWorktreePath, "copy the path of the task's worktree", ""),
    bind(Context::In(Pane::Board), &["-"], Action::ZoomOut, "zoom out: one line per task, then only numbers", "zoom"),
    bind(Context::In(Pane::Board), &["+"], Action::ZoomIn, "zoom in", ""),
    bind(Context::In(Pane::Board), &["H", "shift+left"], Action::Pan(PanDirection::Left), "move the view to the left", ""),
    bind(Context::In(Pane::Board), &["J", "shift+down"], Action::Pan(PanDirection::Down), "move the view down", ""),
    bind(Context::In(Pane::Board), &["K", "shift+up"], Action::Pan(PanDirection::Up), "move the view up", ""),
    bind(Context::In(Pane::Board), &["L", "shift+right"], Action::Pan(PanDirection::Right), "move the view to the right", ""),
    bind(Context::In(Pane::Board), &["l", "right"], Action::Next, "go to a task that the selected one blocks", ""),
    bind(Context::In(Pane::Board), &["h", "left"], Action::Prev, "go to a task that blocks the selected one", ""),
    bind(Context::In(Pane::Team), &["enter"], Action::Open, "show the teammate's transcript", "open"),
    bind(Context::In(Pane::Team), &["space"], Action::Peek, "preview the teammate beside the team", "preview"),
    bind(Context::In(Pane::Team), &["!"], Action::Nudge, "nudge the teammate: ask for its status", "nudge"),
    bind(Context::In(Pane::Team), &["X"], Action::KillTeammate, "kill the teammate; its task goes back to the board", ""),
    bind(Context::In(Pane::Team), &["x"], Action::AskShutdown, "ask the teammate to shut down", "shut down"),
    bind(Context::In(Pane::Team), &["s"], Action::Sort, "sort the team by the next column", "sort"),
    bind(Context::In(Pane::Team), &["/"], Action::Filter, "filter: name, role or task; !word excludes", "filter"),
    bind(Context::In(Pane::Team), &["U"], Action::Rewind, "rewind the teammate: restore files or conversation to a checkpoint; also /rewind", "rewind"),
    bind(Context::In(Pane::Inbox), &["enter"], Action::Open, "read all messages between sender and recipient", "read"),
    bind(Context::In(Pane::Inbox), &["space"], Action::Peek, "preview the message beside the inbox", "preview"),
    bind(Context::In(Pane::Inbox), &["f", "end"], Action::Follow, "follow the newest messages", "follow"),
    bind(Context::In(Pane::Inbox), &["/"], Action::Filter, "filter: words, from:NAME, to:NAME; !word excludes", "filter"),

    bind(Context::Panes, &["w"], Action::Waiting, "go to the oldest request that waits for you", ""),
    bind(Context::Panes, &["i"], Action::Compose, "write to the shown agent", "write"),
    bind(Context::Panes, &["esc"], Action::Back, "leave the filter, full screen or teammate's conversation", "back"),
    bind(Context::Panes, &["tab"], Action::NextPane, "go to the next pane", "next pane"),
    bind(Context::Panes, &["shift+tab"], Action::PrevPane, "go to the previous pane", ""),
    bind(Context::Panes, &["l", "right"], Action::NextPane, "go to the next pane", ""),
    bind(Context::Panes, &["h", "left"], Action::PrevPane, "go to the previous pane", ""),
    bind(Context::Panes, &["1", "alt+1", "ctrl+x 1"], Action::Focus(Pane::Lead), "go to the conversation; again for full screen", ""),
    bind(Context::Panes, &["2", "alt+2", "ctrl+x 2"], Action::Focus(Pane::Todo), "go to the todo list; again for full screen", ""),
    bind(Context::Panes, &["3", "alt+3", "ctrl+x 3"], Action::Focus(Pane::Board), "go to the board; again for full screen", ""),
    bind(Context::Panes, &["4", "alt+4", "ctrl+x 4"], Action::Focus(Pane::Team), "go to the team; again for full screen", ""),
    bind(Context::Panes, &["5", "alt+5", "ctrl+x 5"], Action::Focus(Pane::Inbox), "go to the inbox; again for full screen", ""),
    bind(Context::Panes, &["6", "alt+6", "ctrl+x 6"], Action::Focus(Pane::Needs), "go to \"Needs you\"; again for full screen", ""),
    bind(Context::Panes, &["j", "down"], Action::Move(Scroll::LineDown), "down", ""),
    bind(Context::Panes, &["k", "up"], Action::Move(Scroll::LineUp), "up", ""),
    bind(Context::Panes, &["ctrl+d"], Action::Move(Scroll::HalfDown), "half a page down", ""),
    bind(Context::Panes, &["ctrl+u"], Action::Move(Scroll::HalfUp), "half a page up", ""),
    bind(Context::Panes, &["pgdn", "ctrl+f"], Action::Move(Scroll::PageDown), "page down", ""),
    bind(Context::Panes, &["pgup"], Action::Move(Scroll::PageUp), "page up", ""),
    bind(Context::Panes, &["g", "home"], Action::Move(Scroll::Top), "to the top", ""),
    bind(Context::Panes, &["G", "end"], Action::Move(Scroll::Bottom), "to the bottom", ""),
    bind(Context::Panes, &["y"], Action::Copy, "copy the selection; in a conversation without one, the last answer", "copy"),
    bind(Context::Panes, &["alt+m", "ctrl+x m"], Action::Models, "choose another model", ""),
    bind(Context::Panes, &["b"], Action::Popup("jobs"), "show the background jobs", "jobs"),
    bind(Context::Panes, &["@"], Action::Popup("event_log"), "show the event log: what happened, when, by whom and why", ""),
    bind(Context::Panes, &["p"], Action::Popup("problems"), "show problems and fixes: agents that wait, failed or are stuck", ""),
    bind(Context::Panes, &["$"], Action::Popup("costs"), "show usage: tokens, cost, budgets, calls", ""),
    bind(Context::Panes, &["S"], Action::Popup("skills"), "show the skills that agents can load", ""),
    bind(Context::Panes, &["ctrl+o"], Action::ToggleOutput, "open or fold all tool output of the conversation", ""),
    bind(Context::Panes, &["z"], Action::Enlarge, "show the pane on the full screen, or all panes again", ""),
    bind(Context::Panes, &[], Action::Restore, "show all panes again", ""),
    bind(Context::Panes, &["="], Action::Layout, "next layout: wall, board, focus", ""),
    bind(Context::Panes, &["T"], Action::Popup("themes"), "choose another theme", ""),
    bind(Context::Panes, &["R"], Action::Popup("rules"), "view or revoke team permissions", ""),
    bind(Context::Panes, &["M"], Action::Mouse, "turn mouse capture on or off (Shift+drag selects text)", ""),
    bind(Context::Panes, &["?"], Action::Help, "show the keys", "help"),
    bind(Context::Panes, &[":"], Action::Palette, "show all actions", "actions"),
    bind(Context::Panes, &["q"], Action::Close, "close the view; if none is open, quit", "quit"),

    bind(Context::Filter, &["enter", "down"], Action::Accept, "keep the filter", "keep filter"),
    bind(Context::Filter, &["esc"], Action::Back, "clear the filter", "clear"),

    bind(Context::Search, &["enter"], Action::Accept, "keep the search", "keep search"),
    bind(Context::Search, &["down", "ctrl+n"], Action::NextMatch, "next match", "next match"),
    bind(Context::Search, &["up"], Action::PrevMatch, "previous match", ""),
    bind(Context::Search, &["esc"], Action::Back, "cancel the search and scroll back", "cancel"),

    bind(Context::Diff, &["]"], Action::NextFile, "go to the next file", "next file"),
    bind(Context::Diff, &["["], Action::PrevFile, "go to the previous file", "prev file"),

    bind(Context::Reader, &["esc", "q"], Action::Back, "end the search, or close if there is none", "close"),
    bind(Context::Reader, &["enter"], Action::Accept, "close; in the key list, run the selected action", "run"),
    bind(Context::Reader, &["j", "down"], Action::Move(Scroll::LineDown), "down", "scroll"),
    bind(Context::Reader, &["k", "up"], Action::Move(Scroll::LineUp), "up", ""),
    bind(Context::Reader, &["ctrl+d"], Action::Move(Scroll::HalfDown), "half a page down", ""),
    bind(Context::Reader, &["ctrl+u"], Action::Move(Scroll::HalfUp), "half a page up", ""),
    bind(Context::Reader, &["pgdn", "space"], Action::Move(Scroll::PageDown), "page down", ""),
    bind(Context::Reader, &["pgup"], Action::Move(Scroll::PageUp), "page up", ""),
    bind(Context::Reader, &["g", "home"], Action::Move(Scroll::Top), "to the top", ""),
    bind(Context::Reader, &["G", "end"], Action::Move(Scroll::Bottom), "to the bottom", ""),
    bind(Context::Reader, &["y"], Action::Copy, "copy the text", "copy"),
    bind(Context::Reader, &["n"], Action::NextMatch, "go to the next match", "next match"),
    bind(Context::Reader, &["N"], Action::PrevMatch, "go to the previous match", "prev match"),
    bind(Context::Reader, &["/"], Action::Filter, "search the text; in the key list, filter", "search"),

    bind(Context::Picker, &["enter"], Action::Accept, "choose the selected line", "choose"),
    bind(Context::Picker, &["esc"], Action::Back, "close", "close"),
    bind(Context::Picker, &["down", "ctrl+n"], Action::Move(Scroll::LineDown), "down", "select"),
    bind(Context::Picker, &["up", "ctrl+p"], Action::Move(Scroll::LineUp), "up", ""),
    bind(Context::Picker, &["pgdn"], Action::Move(Scroll::PageDown), "page down", ""),
    bind(Context::Picker, &["pgup"], Action::Move(Scroll::PageUp), "page up", ""),

    bind(Context::Jobs, &["x"], Action::Kill, "stop the selected job with all its processes", "stop"),
    bind(Context::Jobs, &["enter", "o"], Action::Open, "open the agent that started the job", "open the agent"),
    bind(Context::Jobs, &["y"], Action::Copy, "copy the job's last output", "copy"),
    bind(Context::Jobs, &["j", "down"], Action::Move(Scroll::LineDown), "down", "select"),
    bind(Context::Jobs, &["k", "up"], Action::Move(Scroll::LineUp), "up", ""),
    bind(Context::Jobs, &["g", "home"], Action::Move(Scroll::Top), "to the top", ""),
    bind(Context::Jobs, &["G", "end"], Action::Move(Scroll::Bottom), "to the bottom", ""),
    bind(Context::Jobs, &["esc", "q", "b"], Action::Back, "close", "close"),

    bind(Context::Servers, &["enter", "o"], Action::Open, "show the end of the server's log", "log"),
    bind(Context::Servers, &["a"], Action::Approve, "show what a server that needs approval runs, and approve it", "approve"),
    bind(Context::Servers, &["r"], Action::RestartServer, "restart the selected server", "restart"),
    bind(Context::Servers, &["d"], Action::ToggleServer, "disable the server, or enable it again", "disable or enable"),
    bind(Context::Servers, &["L"], Action::LogIn, "log in to the server: shows the address of its login page", "log in"),
    bind(Context::Servers, &["O"], Action::LogOut, "log out of the server and delete its login tokens", "log out"),
    bind(Context::Servers, &["y"], Action::Copy, "copy the server's log", "copy"),
    bind(Context::Servers, &["j", "down"], Action::Move(Scroll::LineDown), "down", "select"),
    bind(Context::Servers, &["k", "up"], Action::Move(Scroll::LineUp), "up", ""),
    bind(Context::Servers, &["g", "home"], Action::Move(Scroll::Top), "to the top", ""),
    bind(Context::Servers, &["G", "end"], Action::Move(Scroll::Bottom), "to the bottom", ""),
    bind(Context::Servers, &["esc", "q"], Action::Back, "close", "close"),

    bind(Context::Costs, &["enter", "o"], Action::Open, "open the selected agent or task", "open"),
    bind(Context::Costs, &["s"], Action::Sort, "sort the tables by the next column", "sort"),
    bind(Context::Costs, &["y"], Action::Copy, "copy the usage tables", "copy"),
    bind(Context::Costs, &["j", "down"], Action::Move(Scroll::LineDown), "down", "select"),
    bind(Context::Costs, &["k", "up"], Action::Move(Scroll::LineUp), "up", ""),
    bind(Context::Costs, &["pgdn", "ctrl+d", "space"], Action::Move(Scroll::PageDown), "page down", ""),
    bind(Context::Costs, &["pgup", "ctrl+u"], Action::Move(Scroll::PageUp), "page up", ""),
    bind(Context::Costs, &["g", "home"], Action::Move(Scroll::Top), "to the top", ""),
    bind(Context::Costs, &["G", "end"], Action::Move(Scroll::Bottom), "to the bottom", ""),
    bind(Context::Costs, &["esc", "q", "$"], Action::Back, "close", "close"),

    bind(Context::Peek, &["enter", "o"], Action::Open, "open the previewed item", "open"),
    bind(Context::Peek, &["j", "down"], Action::Move(Scroll::LineDown), "preview the next item", "next"),
    bind(Context::Peek, &["k", "up"], Action::Move(Scroll::LineUp), "preview the previous item", ""),
    bind(Context::Peek, &["pgdn", "ctrl+d"], Action::Move(Scroll::PageDown), "scroll the preview down", "scroll"),
    bind(Context::Peek, &["pgup", "ctrl+u"], Action::Move(Scroll::PageUp), "scroll the preview up", ""),
    bind(Context::Peek, &["g", "home"], Action::Move(Scroll::Top), "preview the first item", ""),
    bind(Context::Peek, &["G", "end"], Action::Move(Scroll::Bottom), "preview the last item", ""),
    bind(Context::Peek, &["y"], Action::Copy, "copy the selection", "copy"),
    bind(Context::Peek, &["space", "esc", "q"], Action::Back, "close", "close"),

    bind(Context::EventLog, &["enter", "o"], Action::Open, "open the task, agent, message, request or job of the line", "open"),
    bind(Context::EventLog, &["/"], Action::Filter, "filter: words, who:NAME, kind:task; !word excludes, ! shows problems", "filter"),
    bind(Context::EventLog, &["!"], Action::ProblemsOnly, "show only problems, or everything", "problems"),
    bind(Context::EventLog, &["f", "G", "end"], Action::Follow, "follow the newest events", "follow"),
    bind(Context::EventLog, &["y"], Action::Copy, "copy the line", "copy"),
    bind(Context::EventLog, &["j", "down"], Action::Move(Scroll::LineDown), "down", "select"),
    bind(Context::EventLog, &["k", "up"], Action::Move(Scroll::LineUp), "up", ""),
    bind(Context::EventLog, &["ctrl+d"], Action::Move(Scroll::HalfDown), "half a page down", ""),
    bind(Context::EventLog, &["ctrl+u"], Action::Move(Scroll::HalfUp), "half a page up", ""),
    bind(Context::EventLog, &["pgdn", "space"], Action::Move(Scroll::PageDown), "page down", ""),
    bind(Context::EventLog, &["pgup"], Action::Move(Scroll::PageUp), "page up", ""),
    bind(Context::EventLog, &["g", "home"], Action::Move(Scroll::Top), "to the oldest", ""),
    bind(Context::EventLog, &["esc", "q", "@"], Action::Back, "clear the filter, or close if there is none", "close"),

    bind(Context::Comment, &["enter"], Action::Accept, "continue to approve or reject; for a question, send the answer", "continue"),
    bind(Context::Comment, &["ctrl+j", "alt+enter", "shift+enter"], Action::Newline, "insert a line break", "new line"),
    bind(Context::Comment, &["ctrl+u"], Action::DeleteToStart, "delete back to the start of the line", ""),
    bind(Context::Comment, &["ctrl+x e", "ctrl+g"], Action::EditInEditor, "edit in $EDITOR", ""),
    bind(Context::Comment, &["esc"], Action::Back, "close without a decision", "cancel"),
    bind(Context::CommentVerdict, &["a"], Action::Approve, "approve with the comment", "approve"),
    bind(Context::CommentVerdict, &["r"], Action::Reject, "reject with the comment", "reject"),
    bind(Context::CommentVerdict, &["esc"], Action::Back, "back to the comment", "back"),

    bind(Context::TaskForm, &["enter"], Action::Accept, "save the task to the board", "save"),
    bind(Context::TaskForm, &["tab"], Action::NextField, "go to the next field", "next field"),
    bind(Context::TaskForm, &["shift+tab"], Action::PrevField, "go to the previous field", ""),
    bind(Context::TaskForm, &["ctrl+t"], Action::ToggleBlocker, "add or remove the task selected on the board as a blocker", "toggle blocker"),
    bind(Context::TaskForm, &["ctrl+j", "alt+enter", "shift+enter"], Action::Newline, "insert a line break in the description", "new line"),
    bind(Context::TaskForm, &["ctrl+u"], Action::DeleteToStart, "delete back to the start of the line", ""),
    bind(Context::TaskForm, &["ctrl+x e", "ctrl+g"], Action::EditInEditor, "edit the field in $EDITOR", ""),
    bind(Context::TaskForm, &["esc"], Action::Back, "close; the draft is kept", "close"),

    bind(Context::Confirm, &["y"], Action::Accept, "yes", "yes"),
    bind(Context::Confirm, &["n", "esc", "q", "ctrl+c"], Action::Back, "no", "no"),

    bind(Context::ConfirmMerge, &["y"], Action::Accept, "merge the branch", "merge"),
    bind(Context::ConfirmMerge, &["A"], Action::MergeAll, "merge all completed tasks in dependency order", "merge all"),
    bind(Context::ConfirmMerge, &["D"], Action::Diff, "show the diff of the branch", "diff"),
    bind(Context::ConfirmMerge, &["n", "esc", "q", "ctrl+c"], Action::Back, "do not merge", "cancel"),

    bind(Context::ConfirmLoss, &["X"], Action::Accept, "remove the worktree and discard the listed work", "remove"),
    bind(Context::ConfirmLoss, &["n", "esc", "q", "ctrl+c"], Action::Back, "keep it", "keep"),

    bind(Context::ConfirmRewind, &["b"], Action::RewindBoth, "restore files and conversation", "both"),
    bind(Context::ConfirmRewind, &["f"], Action::RewindFiles, "restore only the files", "files"),
    bind(Context::ConfirmRewind, &["c"], Action::RewindConversation, "restore only the conversation", "conversation"),
    bind(Context::ConfirmRewind, &["D"], Action::Diff, "show what the rewind changes in the files", "diff"),
    bind(Context::ConfirmRewind, &["esc", "n", "q", "ctrl+c"], Action::Back, "do not rewind", "back"),

    bind(Context::Leave, &["y", "enter", "ctrl+c"], Action::Accept, "leave", "yes"),
    bind(Context::Leave, &["n", "esc", "q"], Action::Back, "stay", "no"),

    bind(Context::Replay, &["space"], Action::PauseOrPlay, "play or pause the recording", "pause or play"),
    bind(Context::Replay, &["."], Action::Step, "one event forward", "step"),
    bind(Context::Replay, &[","], Action::StepBack, "one event back", "step back"),
    bind(Context::Replay, &[">"], Action::Jump, "ten seconds forward", "+10 s"),
    bind(Context::Replay, &["<"], Action::JumpBack, "ten seconds back", "-10 s"),
    bind(Context::Replay, &["]"], Action::Faster, "twice as fast", "faster"),
    bind(Context::Replay, &["["], Action::Slower, "half as fast", "slower"),

    bind(Context::Everywhere, &["alt+w", "f2", "ctrl+x w"], Action::Waiting, "go to the oldest request that waits for you", ""),
    bind(Context::Everywhere, &["ctrl+c"], Action::Interrupt, "stop the agent, else clear the draft; twice while idle: quit", "stop"),
    bind(Context::Everywhere, &["f1"], Action::Help, "show the keys", "help"),
    bind(Context::Everywhere, &["ctrl+p"], Action::Palette, "show all actions", "actions"),
    bind(Context::Everywhere, &["ctrl+t"], Action::Todo, "show or hide the todo list", ""),
    bind(Context::Everywhere, &["alt+h", "f3", "ctrl+x h"], Action::ToggleTips, "hide or show the tips", ""),
    bind(Context::Everywhere, &["ctrl+l"], Action::Redraw, "redraw the screen, for example after another program wrote to the terminal", ""),
    bind(Context::Everywhere, &["ctrl+z"], Action::Suspend, "suspend; the shell command fg resumes", ""),
];
