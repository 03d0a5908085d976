//! What keys can do: one word each, in the table, in the help and in `update`.

use crate::ui::keymap::direction::{Scroll, Toward};
use crate::ui::keymap::pane::Pane;

/// What a key does. One word for it in the table, in the help and in `update`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Show the keys.
    Help,
    /// Show all actions.
    Palette,
    /// Go to the oldest thing that waits for the person.
    Waiting,
    /// Give the keys to a pane; again: give it the whole screen.
    Focus(Pane),
    /// Give the pane that has the keys the whole screen.
    Enlarge,
    /// Give the other panes their room back.
    Restore,
    /// Give the keys to the next pane.
    NextPane,
    /// Give the keys to the pane before.
    PrevPane,
    /// Write to the agent that is shown.
    Compose,
    /// Move the selection or the text.
    Move(Scroll),
    /// The card, the tool call or the pane to the left.
    Prev,
    /// The card, the tool call or the pane to the right.
    Next,
    /// Show more of what is selected.
    Open,
    /// One step back.
    Back,
    /// Close the view; at the top, leave crewdeck.
    Close,
    /// Show the newest, and stay with it.
    Follow,
    /// Copy what is selected.
    Copy,
    /// Choose what of the conversation is copied.
    CopyMenu,
    /// Print the conversation into the terminal's own scroll-back.
    Print,
    /// Read the conversation in `$EDITOR`.
    ReadOutside,
    /// Search the conversation.
    Search,
    /// Go to the next match.
    NextMatch,
    /// Go to the match before.
    PrevMatch,
    /// Go to the next thing that the person said.
    NextPrompt,
    /// Go to what the person said before.
    PrevPrompt,
    /// Go to the next file of a diff.
    NextFile,
    /// Go to the file of a diff before.
    PrevFile,
    /// Show only the tasks that have some words.
    Filter,
    /// Draw the tasks as a graph, or list them.
    TurnBoard,
    /// Let the panes lie in another way.
    Layout,
    /// Move the view over the drawing of the tasks.
    Pan(Toward),
    /// Draw more of each task.
    ZoomIn,
    /// Draw less of each task.
    ZoomOut,
    /// Show what happened.
    EventLog,
    /// In that, show trouble alone, or everything again.
    Trouble,
    /// Show what is in the way of the work.
    Problems,
    /// Show what everybody has used.
    Costs,
    /// Look at what is selected without leaving its pane.
    Peek,
    /// Show the todo list, or hide it.
    Todo,
    /// Show what agents can load.
    Skills,
    /// Choose another model.
    Models,
    /// Choose another theme.
    Themes,
    /// Show the background jobs.
    Jobs,
    /// End the selected background job.
    Kill,
    /// Show the transcript of the subagent that the selected tool call sent out.
    Subagent,
    /// Summarise the conversation of the shown agent.
    Compact,
    /// Give the mouse to crewdeck, or back to the terminal.
    Mouse,
    /// Stop what the shown agent does; when it does nothing: leave.
    Interrupt,
    /// Put crewdeck to sleep.
    Suspend,
    /// Say yes to the selected request.
    Approve,
    /// Say yes to the selected permission for the whole team: choose how far.
    ApproveForTeam,
    /// Show what was allowed for the whole team, to take it back.
    Rules,
    /// Say no to the selected request.
    Reject,
    /// Say yes or no with a comment; answer a question in one's own words.
    Comment,
    /// Take the selected task.
    Claim,
    /// Put the selected task back on the board.
    Release,
    /// Complete the selected task.
    CompleteTask,
    /// Write a task.
    AddTask,
    /// Change the selected task.
    EditTask,
    /// Go to the next field.
    NextField,
    /// Go to the field before.
    PrevField,
    /// Let the written task wait for the selected one, or no more.
    TurnWait,
    /// Ask whether to remove the selected task's worktree.
    RemoveTree,
    /// Copy the path of the selected task's worktree.
    CopyPlace,
    /// Ask whether to merge the branch of the selected task.
    Merge,
    /// Merge the branches of all completed tasks.
    MergeAll,
    /// Show what the branch of the selected task changes.
    Diff,
    /// Write that comment in `$EDITOR`; a plan is there to be changed.
    EditComment,
    /// Answer a question with the choice of that number.
    Choose(usize),
    /// Ask the selected teammate to shut down.
    AskShutdown,
    /// End the selected teammate at once.
    Force,
    /// Ask the selected teammate where it stands.
    Nudge,
    /// Send what is written.
    Send,
    /// Put the selected word into the message.
    Complete,
    /// Begin a new line.
    Newline,
    /// The row above, then older messages.
    Older,
    /// The row below, then newer messages.
    Newer,
    /// Delete back to the start of the line.
    DeleteToStart,
    /// Write in `$EDITOR`.
    EditOutside,
    /// Take what is selected or written.
    Accept,
    /// Begin the demo.
    StartDemo,
    /// Look for a model again.
    LookAgain,
    /// Make the directory a git repository with a first commit.
    MakeRepository,
    /// Let the settings of this project apply that need approval.
    ApproveSettings,
    /// Go on without them.
    WithoutSettings,
    /// Put the line away that tells in the demo what to press next; again: bring it back.
    DismissTour,
    /// Play the recording, or let it stand still.
    PauseOrPlay,
    /// One event on in the recording.
    Step,
    /// One event back in the recording.
    StepBack,
    /// Some seconds on in the recording.
    Jump,
    /// Some seconds back in the recording.
    JumpBack,
    /// Play the recording twice as fast.
    Faster,
    /// Play the recording half as fast.
    Slower,
    /// Leave crewdeck.
    Quit,
}

impl Action {
    /// Whether its key is pressed without a thought while one writes, moves or chooses: nobody looks for it in a list.
    pub fn is_typed(self) -> bool {
        matches!(
            self,
            Action::Send
                | Action::Newline
                | Action::Older
                | Action::Newer
                | Action::DeleteToStart
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
}
