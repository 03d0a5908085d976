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
    /// Focus a pane; if it already has the focus, switch its full screen on or off.
    Focus(Pane),
    /// Enlarge the focused pane to full screen; if one is enlarged, show all panes again.
    Enlarge,
    /// End full screen and show all panes again.
    Restore,
    NextPane,
    PrevPane,
    /// Focus the composer, to write to the shown agent.
    Compose,
    /// Move the selection in a list, or scroll a text.
    Move(Scroll),
    /// Select the previous request, tool call or message; on the board, a task that blocks the selected one.
    Prev,
    /// Select the next request, tool call or message; on the board, a task that the selected one blocks.
    Next,
    Open,
    /// Go one step back, for example leave a filter or close a popup.
    Back,
    /// Close the popup, the full-screen pane or the conversation of a teammate or subagent. If there is none of these,
    /// quit.
    Close,
    /// Scroll to the newest entry. From then on, the view scrolls with new entries.
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
    /// In a list, edit the filter. In a pager, search the text.
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
    /// Open the popup with this name. The settings use the same name for the action.
    Popup(&'static str),
    /// Switch the event log between showing only problems and showing all events.
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
    /// Log out of the selected MCP server.
    LogOut,
    /// Show the transcript of the subagent that the selected tool call started.
    Subagent,
    /// Replace the conversation of the shown agent with a summary.
    Compact,
    /// Empty the conversation of the shown agent.
    Clear,
    /// Choose a checkpoint of the shown or selected agent, to restore its files or its conversation.
    Rewind,
    /// Restore the files and the conversation to the checkpoint.
    RewindBoth,
    /// Restore only the files to the checkpoint.
    RewindFiles,
    /// Restore only the conversation to the checkpoint.
    RewindConversation,
    NewSession,
    /// Choose an earlier session to resume.
    Sessions,
    /// Ask the lead for a draft of AGENTS.md.
    Init,
    /// Show the texts that an agent was given: the project memory, the text of its role and its instructions.
    Memory,
    /// Write the shown conversation to a file.
    Export,
    /// Check this machine, the model and the project.
    Doctor,
    /// Turn mouse capture on or off.
    Mouse,
    /// Stop the shown agent. If the agent is idle, clear the draft. Pressed twice, quit crewdeck.
    Interrupt,
    /// Suspend crewdeck and return to the shell.
    Suspend,
    /// Clear the terminal and draw the whole screen again.
    Redraw,
    /// Approve the selected request.
    Approve,
    /// Allow the call of the selected permission request for the whole team. The user first chooses which similar calls
    /// the permission covers.
    ApproveForTeam,
    /// Reject the selected request.
    Reject,
    /// Approve the request of the shown agent; the draft is the comment.
    ApproveShown,
    /// Reject the request of the shown agent; the draft is the comment.
    RejectShown,
    /// Decide the selected request with a comment; if it is a question, answer in free text.
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
    /// Add the task that is selected on the board as a blocker in the task form, or remove it from the blockers.
    ToggleBlocker,
    /// Remove the selected task's worktree, after confirmation.
    RemoveWorktree,
    CopyWorktreePath,
    /// Merge the branch of the selected task, after confirmation.
    Merge,
    /// Merge the branches of all completed tasks that can be merged now.
    MergeAll,
    /// Show the diff of the selected task's branch, or of what a rewind would change.
    Diff,
    /// Edit the comment on a request in `$EDITOR`, or the plan if the request is a plan.
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
    /// Move the cursor up a row. From the first row, put an older sent message into the draft.
    Older,
    /// Move the cursor down a row. From the last row, put a newer sent message into the draft.
    Newer,
    /// Delete from the cursor back to the start of the line.
    DeleteToStart,
    SearchHistory,
    Undo,
    Redo,
    /// Delete from the cursor to the end of the line.
    DeleteToEnd,
    /// Delete the text before the cursor back to a blank.
    DeleteWord,
    /// Delete the word before the cursor: its letters and digits, and the punctuation between the word and the cursor.
    DeletePrevWord,
    /// Delete the rest of the word after the cursor.
    DeleteNextWord,
    /// Insert the text that was deleted last.
    Yank,
    /// After [`Action::Yank`], replace the inserted text with the text that was deleted before it.
    YankPop,
    /// Replace the label of a long pasted text in the draft, such as `[pasted 200 lines]`, with the text. If the draft
    /// has no such label, do the same as [`Action::ToggleOutput`].
    UnfoldPaste,
    /// Show or hide the output of all tool calls of the shown conversation.
    ToggleOutput,
    EditInEditor,
    /// Accept what has the focus: the selected row, the typed text or the dialog.
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

/// Former names of actions, each with the current name. Settings may still use the former names.
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
    /// Returns whether the palette omits the action: basic editing, navigation, and the palette itself.
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
                | Action::DeletePrevWord
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

    /// Returns whether the action is used every day. The help and the palette list these actions first.
    pub fn is_everyday(self) -> bool {
        matches!(
            self,
            Action::Waiting
                | Action::Compose
                | Action::NextPane
                | Action::Focus(_)
                | Action::Open
                | Action::Peek
                | Action::Follow
                | Action::Search
                | Action::Filter
                | Action::Send
                | Action::Newline
                | Action::Back
                | Action::Accept
                | Action::Approve
                | Action::ApproveForTeam
                | Action::Reject
                | Action::Comment
                | Action::ToggleGraph
                | Action::AddTask
                | Action::Diff
                | Action::Merge
                | Action::Nudge
                | Action::AskShutdown
                | Action::Interrupt
                | Action::Help
                | Action::Palette
                | Action::Close
        )
    }

    /// Returns whether the action needs a running crew. A replay refuses such an action, except a few that are useful
    /// without a crew, such as [`Action::Export`].
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
                | Action::LogOut
                | Action::Interrupt
                | Action::Compact
                | Action::Clear
                | Action::Rewind
                | Action::RewindBoth
                | Action::RewindFiles
                | Action::RewindConversation
                | Action::NewSession
                | Action::Sessions
                | Action::Init
                | Action::Memory
                | Action::Export
                | Action::Doctor
                | Action::SearchHistory
        )
    }

    /// Returns whether the action is available only in the process that runs the crew, not in a viewer.
    pub fn needs_crew_process(self) -> bool {
        matches!(
            self,
            Action::Models
                | Action::Compact
                | Action::Memory
                | Action::Clear
                | Action::Rewind
                | Action::RewindBoth
                | Action::RewindFiles
                | Action::RewindConversation
                | Action::NewSession
                | Action::Sessions
                | Action::Kill
                | Action::RestartServer
                | Action::ToggleServer
                | Action::LogIn
                | Action::LogOut
                | Action::ApproveForTeam
                | Action::KillTeammate
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
                | Action::LogOut
                | Action::NextFile
                | Action::PrevFile
                | Action::NextField
                | Action::PrevField
                | Action::MergeAll
                | Action::RewindBoth
                | Action::RewindFiles
                | Action::RewindConversation
        )
    }
}
