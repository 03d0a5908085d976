//! What is to be done outside the screen.

use crate::domain::custom_theme::ThemeChoice;
use crate::domain::screen::ScreenSettings;
use crate::protocol::Command;

/// A side effect requested by [`update`](crate::ui::update()).
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Send a command to the crew.
    Command(Command),
    /// Quit crewdeck.
    Quit,
    /// Restore the terminal and suspend the process until the shell resumes it.
    Suspend,
    /// Open `$EDITOR` with `App::composer_text`; the result comes back as [`Msg::Edited`](crate::ui::Msg::Edited).
    EditComposer,
    /// Print the text to the terminal's scroll-back and wait until the user returns.
    Print(String),
    /// Open the text in `$EDITOR`; changes are discarded.
    OpenInEditor(String),
    /// Start the demo.
    StartDemo,
    /// Reload the settings and look for a model again.
    Reload,
    /// Run `git init` if needed and create the first commit.
    MakeRepository,
    /// Record the approval of the project settings and start with them.
    ApproveSettings,
    /// Start without the project settings.
    StartWithoutSettings,
    /// Copy the text to the clipboard.
    Copy(String),
    /// Turn mouse capture on or off.
    CaptureMouse(bool),
    /// Notify the user with this one-line reason; the terminal may not have focus.
    Notify(String),
    /// Save the theme.
    SaveTheme(ThemeChoice),
    /// Save the pane layout of the project.
    SaveScreen(ScreenSettings),
}
