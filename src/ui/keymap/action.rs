//! The actions that keys, palette, slash commands and mouse can trigger.

use crate::ui::keymap::direction::{PanDirection, Scroll};
use crate::ui::keymap::pane::Pane;

/// A user action. The settings name actions in `snake_case`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Help,
    /// Open the palette, which lists all actions.
    Palette,
    /// Go to the oldest request that waits for the user.
    Waiting,
    /// Focus a pane; if it already has the focus, enlarge it to full screen.
    Focus(Pane),
    /// Enlarge the focused pane to full screen; if one is enlarged, show all panes again.
    Enlarge,
    /// End full screen and show all panes again.
    Restore,
    NextPane,
    PrevPane,
    /// Focus the composer, to write to the shown agent.
    Compose,
    /// Move the selection or scroll the text.
    Move(Scroll),
    /// Select the previous item: request, tool call or task.
    Prev,
    /// Select the next item: request, tool call or task.
    Next,
    Open,
    /// Go one step back, for example from a filter or a popup.
    Back,
    /// Close the view; at the top level, quit.
    Close,
    /// Scroll to the newest entry and follow further ones.
    Follow,
    Copy,
    /// Choose which part of the conversation to copy.
    CopyMenu,
    /// Print the conversation to the terminal's scroll-back.
    Print,
    /// Read the conversation in `$EDITOR`.
    ReadInEditor,
    /// Search the conversation.
    Search,
    NextMatch,
    PrevMatch,
    NextPrompt,
    PrevPrompt,
    /// Go to the next file of a diff.
    NextFile,
    /// Go to the previous file of a diff.
    PrevFile,
    /// Edit the filter of a list; in a pager, search.
    Filter,
    /// Sort the list by the next column.
    Sort,
    /// Switch the board between graph and list.
    ToggleGraph,
    /// Switch to the next layout.
    Layout,
    Pan(PanDirection),
    /// Show more of each task in the graph.
    ZoomIn,
    /// Show less of each task in the graph.
    ZoomOut,
    /// Open the popup with that name, which is also the action's name in the settings.
    Popup(&'static str),
    /// Switch the event log between problems only and all events.
    ProblemsOnly,
    /// Preview the selected item without leaving the pane.
    Peek,
    /// Show or hide the todo list.
    Todo,
    /// Choose another model.
    Models,
    /// Stop the selected background job.
    Kill,
    /// Restart the selected MCP server.
    RestartServer,
    /// Disable the selected MCP server, or enable it again.
    ToggleServer,
    /// Log in to the selected MCP server.
    LogIn,
    /// Show the transcript of the subagent that the selected tool call started.
    Subagent,
    /// Summarise the conversation of the shown agent.
    Compact,
    /// Empty the conversation of the shown agent.
    Clear,
    NewSession,
    /// Choose an earlier session to resume.
    Sessions,
    /// Ask the lead for a draft of AGENTS.md.
    Init,
    /// Show the project memory that agents were given.
    Memory,
    /// Write the shown conversation to a file.
    Export,
    /// Check this machine, the model and the project.
    Doctor,
    /// Turn mouse capture on or off.
    Mouse,
    /// Stop the shown agent. If it is idle, clear the draft; pressed twice, quit.
    Interrupt,
    /// Suspend crewdeck and return to the shell.
    Suspend,
    /// Approve the selected request.
    Approve,
    /// Approve the selected permission for the whole team, after choosing the scope.
    ApproveForTeam,
    /// Reject the selected request.
    Reject,
    /// Approve the request of the shown agent; the draft is the comment.
    ApproveShown,
    /// Reject the request of the shown agent; the draft is the comment.
    RejectShown,
    /// Decide with a comment, or answer a question in free text.
    Comment,
    Claim,
    Release,
    CompleteTask,
    AddTask,
    EditTask,
    /// Go to the next field of the task form.
    NextField,
    /// Go to the previous field of the task form.
    PrevField,
    /// Add or remove the selected task as a blocker in the task form.
    ToggleBlocker,
    /// Remove the selected task's worktree, after confirmation.
    RemoveWorktree,
    CopyWorktreePath,
    /// Merge the branch of the selected task, after confirmation.
    Merge,
    /// Merge the branches of all completed tasks.
    MergeAll,
    /// Show the diff of the selected task's branch.
    Diff,
    /// Write the comment in `$EDITOR`; for a plan, edit the plan there.
    EditComment,
    /// Answer a question with the choice of this number, from 1.
    Choose(usize),
    /// Ask the selected teammate to shut down.
    AskShutdown,
    KillTeammate,
    /// Ask the selected teammate for its status.
    Nudge,
    Send,
    /// Insert the selected completion.
    Complete,
    Newline,
    /// Move up a row; from the first row, recall an older message.
    Older,
    /// Move down a row; from the last row, recall a newer message.
    Newer,
    /// Delete back to the start of the line.
    DeleteToStart,
    SearchHistory,
    Undo,
    Redo,
    /// Delete to the end of the line.
    DeleteToEnd,
    /// Delete the word before the cursor.
    DeleteWord,
    /// Delete the rest of the word after the cursor.
    DeleteNextWord,
    /// Insert the text that was deleted last.
    Yank,
    /// Replace the inserted text by the one that was deleted before it.
    YankPop,
    /// Replace the chip of a pasted text by the text. Without a chip, like `ToggleOutput`.
    UnfoldPaste,
    /// Open or fold all tool calls of the shown conversation.
    ToggleOutput,
    EditInEditor,
    /// Accept the selected row, the typed text or a dialog.
    Accept,
    StartDemo,
    /// Repeat the startup checks.
    CheckAgain,
    /// Create a git repository with a first commit.
    CreateRepository,
    /// Approve the project settings that need approval.
    ApproveSettings,
    /// Start crewdeck without the project settings that need approval.
    SkipSettings,
    ToggleTips,
    PauseOrPlay,
    /// Go one event forward in the recording.
    Step,
    /// Go one event back in the recording.
    StepBack,
    /// Go ten seconds forward in the recording.
    Jump,
    /// Go ten seconds back in the recording.
    JumpBack,
    /// Double the speed of the replay.
    Faster,
    /// Halve the speed of the replay.
    Slower,
}

/// Former names of actions, which settings may still use, each with the current name.
pub(super) const FORMER_NAMES: &[(&str, &str)] = &[
    ("copy_place", "copy_worktree_path"),
    ("dismiss_tour", "toggle_tips"),
    ("edit_outside", "edit_in_editor"),
    ("force", "kill_teammate"),
    ("look_again", "check_again"),
    ("make_repository", "create_repository"),
    ("read_outside", "read_in_editor"),
    ("remove_tree", "remove_worktree"),
    ("trouble", "problems_only"),
    ("turn_board", "toggle_graph"),
    ("turn_wait", "toggle_blocker"),
    ("without_settings", "skip_settings"),
];

impl Action {
    /// Returns whether this is a basic editing or navigation action, which the palette does not list.
    pub fn is_hidden_in_palette(self) -> bool {
        matches!(
            self,
            Action::Send
                | Action::Newline
                | Action::Older
                | Action::Newer
                | Action::DeleteToStart
                | Action::Undo
                | Action::Redo
                | Action::DeleteToEnd
                | Action::DeleteWord
                | Action::DeleteNextWord
                | Action::Yank
                | Action::YankPop
                | Action::Complete
                | Action::Accept
                | Action::NextField
                | Action::PrevField
                | Action::Back
                | Action::Move(_)
                | Action::Pan(_)
                | Action::Next
                | Action::Prev
                | Action::Choose(_)
                | Action::Palette
        )
    }

    /// Returns whether the action needs a running crew. Such an action has no effect in a replay.
    pub fn needs_crew(self) -> bool {
        matches!(
            self,
            Action::Approve
                | Action::ApproveForTeam
                | Action::Reject
                | Action::ApproveShown
                | Action::RejectShown
                | Action::Comment
                | Action::EditComment
                | Action::Choose(_)
                | Action::AskShutdown
                | Action::KillTeammate
                | Action::Nudge
                | Action::Claim
                | Action::Release
                | Action::CompleteTask
                | Action::AddTask
                | Action::RemoveWorktree
                | Action::EditTask
                | Action::Merge
                | Action::MergeAll
                | Action::Diff
                | Action::Compose
                | Action::Models
                | Action::Kill
                | Action::RestartServer
                | Action::ToggleServer
                | Action::LogIn
                | Action::Interrupt
                | Action::Compact
                | Action::Clear
                | Action::NewSession
                | Action::Sessions
                | Action::Init
                | Action::Memory
                | Action::Export
                | Action::Doctor
                | Action::SearchHistory
        )
    }

    /// Returns whether only popups handle the action.
    pub fn is_only_in_popups(self) -> bool {
        matches!(
            self,
            Action::ProblemsOnly
                | Action::Kill
                | Action::RestartServer
                | Action::ToggleServer
                | Action::LogIn
                | Action::NextFile
                | Action::PrevFile
                | Action::NextField
                | Action::PrevField
                | Action::MergeAll
        )
    }
}
