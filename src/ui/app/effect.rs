//! Side effects that an update requests and the front end runs.

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
    /// Opens `$EDITOR` with `App::composer_text`; the result comes back as [`Msg::Edited`](crate::ui::Msg::Edited).
    EditComposer,
    /// Reads the messages of earlier sessions. Answered by [`Msg::History`](crate::ui::Msg::History).
    LoadHistory,
    /// Ends this session; then resumes the session with this id, or starts a new one.
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
    /// Prints the text to the terminal's scroll-back and waits until the user returns.
    Print(String),
    /// Opens the text in `$EDITOR`; changes are discarded.
    OpenInEditor(String),
    StartDemo,
    /// Reloads the settings and looks for a model again.
    Reload,
    /// Runs `git init` if needed and creates the first commit.
    CreateRepository,
    /// Records the approval of the project settings and starts with them.
    ApproveSettings,
    StartWithoutSettings,
    Copy(String),
    /// Whether the terminal reports mouse events to crewdeck from now on, instead of selecting text with them.
    CaptureMouse(bool),
    /// Calls for the user's attention, even while another window has the focus. Holds the reason in one line.
    Notify(String),
    SaveTheme(ThemeChoice),
    /// Saves the pane layout of the project.
    SaveScreen(ScreenSettings),
}
