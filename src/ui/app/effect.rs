//! What is to be done outside the screen.

use crate::domain::own_theme::ThemeChoice;
use crate::domain::screen::ScreenChoice;
use crate::protocol::Command;
use crate::ui::app::MouseOwner;

/// What is to be done outside the screen.
#[derive(Debug, Clone, PartialEq)]
pub enum Do {
    /// Tell the crew.
    Command(Command),
    /// Leave crewdeck.
    Quit,
    /// Give the terminal back and stop, until the shell wakes the process.
    Suspend,
    /// Open `$EDITOR` with [`UiState::composer_text`]; the result comes back as [`Msg::Edited`].
    EditComposer,
    /// Print the text into the terminal's own scroll-back, and come back when the person wants.
    Print(String),
    /// Open the text in `$EDITOR`; what becomes of it there does not matter.
    ReadOutside(String),
    /// Begin the demo.
    StartDemo,
    /// Read the settings and look for a model again.
    LookAgain,
    /// Make the directory a git repository where it is none, and its first commit.
    MakeRepository,
    /// Remember that the settings of the project are approved, and begin with them.
    ApproveSettings,
    /// Begin without them.
    WithoutSettings,
    /// Put the text into the clipboard.
    Copy(String),
    /// Give the mouse to somebody else.
    Mouse(MouseOwner),
    /// Call the person, who looks elsewhere: why, in one line.
    Call(String),
    /// Remember the theme for the next time.
    SaveTheme(ThemeChoice),
    /// Remember for the project how the panes lie.
    SaveScreen(ScreenChoice),
}
