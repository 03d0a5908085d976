//! Side effects that a state update requests. The front end runs them.

use crate::domain::custom_theme::ThemeChoice;
use crate::domain::screen::ScreenSettings;
use crate::protocol::Command;

/// A side effect that [`update`](crate::ui::update()) requests and the front end runs.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    Command(Command),
    Quit,
    /// Restores the terminal and suspends the process until the shell resumes it.
    Suspend,
    /// Clears the terminal and draws the whole screen again.
    Redraw,
    /// Opens `$EDITOR` with the text of `App::composer_text`. The edited text comes back as
    /// [`Msg::Edited`](crate::ui::Msg::Edited).
    EditComposer,
    /// Reads the sent messages of earlier sessions. Answered by [`Msg::History`](crate::ui::Msg::History).
    LoadHistory,
    /// Ends this session and resumes the session with this id; `None` starts a new session.
    StartSession(Option<String>),
    /// Lists the sessions of the project. Answered by `UiState::show_sessions`.
    ListSessions,
    /// Runs the checks of `crewdeck doctor`. Answered by `UiState::show_findings`.
    Diagnose,
    /// Writes an exported conversation to a file.
    Export {
        /// The path, relative to the project directory.
        path: String,
        text: String,
    },
    /// Prints the text to the scroll-back of the terminal, and waits until the user presses Enter to return.
    Print(String),
    /// Opens the text in `$EDITOR`; changes are discarded.
    OpenInEditor(String),
    StartDemo,
    /// Reads the settings again, and looks for a model again.
    Reload,
    /// Runs `git init` if needed and creates the first commit.
    CreateRepository,
    /// Records that the user approves the settings of the project, and starts with them.
    ApproveSettings,
    StartWithoutSettings,
    /// Reads what the MCP server with this name runs. Answered by `UiState::show_server_review`.
    ReviewServer(String),
    /// Records that the user approves the MCP server with this name, exactly as it was shown last, and starts it.
    ApproveServer(String),
    Copy(String),
    /// Turns mouse capture on or off. While it is on, the terminal reports mouse events to crewdeck; while it is off,
    /// the terminal uses the mouse to select text.
    CaptureMouse(bool),
    /// Notifies the user, even if another window has the focus. The text is the reason, on one line.
    Notify(String),
    SaveTheme(ThemeChoice),
    /// Saves the pane layout for the project.
    SaveScreen(ScreenSettings),
}
