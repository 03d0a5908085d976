//! The layout of the panes, the order of the team and the form of the board, chosen by the user and stored per project.

use serde::{Deserialize, Serialize};

/// How attached images are shown in the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ImageSetting {
    /// In the best way that the terminal supports: with the kitty graphics protocol, with half blocks, or only as
    /// labels.
    #[default]
    Auto,
    /// With half blocks if the terminal has 24-bit colours, otherwise as text labels.
    Blocks,
    /// As text labels, without the image.
    Off,
}

/// Minimum width of the left column, in percent of the screen.
pub const SHARE_MIN: u16 = 30;
/// Maximum width of the left column, in percent of the screen.
pub const SHARE_MAX: u16 = 70;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PaneLayout {
    /// The conversation on the left, all other panes on the right.
    #[default]
    Wall,
    /// The board on the left, a small conversation on the right.
    Board,
    /// One pane at a time, and a line with the state of the other panes.
    Focus,
}

impl PaneLayout {
    /// All layouts, in the order in which the layout key switches between them.
    pub const ALL: [PaneLayout; 3] = [PaneLayout::Wall, PaneLayout::Board, PaneLayout::Focus];

    /// Returns the layout that follows in [`PaneLayout::ALL`]; after the last, the first.
    #[must_use]
    pub fn next(self) -> PaneLayout {
        match self {
            PaneLayout::Wall => PaneLayout::Board,
            PaneLayout::Board => PaneLayout::Focus,
            PaneLayout::Focus => PaneLayout::Wall,
        }
    }

    /// Returns the name and a short description, such as `wall: all panes`.
    pub fn about(self) -> &'static str {
        match self {
            PaneLayout::Wall => "wall: all panes",
            PaneLayout::Board => "board: large task board",
            PaneLayout::Focus => "focus: one pane at a time",
        }
    }
}

/// The column by which the team is sorted. Teammates that have shut down are always last, and subagents always follow
/// their parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TeamSort {
    /// The order in which the teammates joined.
    #[default]
    Joined,
    Name,
    /// First teammates that need the user, have failed or are stuck, then those at work, then idle ones.
    State,
    /// The fullest context first.
    Context,
    /// The most tokens first.
    Tokens,
    /// The highest cost first.
    Cost,
}

/// Whether the board is drawn as a graph or as a list, as chosen by the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BoardShape {
    /// Graph if it fits roughly into the pane, otherwise list. A graph fits if the subjects of its tasks are readable,
    /// and at most half of its height and a third of its width are outside of the pane. In a narrow pane, its whole
    /// width must fit.
    #[default]
    Fitting,
    /// Graph, even if the user must scroll to see all of it. List if the board has too many tasks or dependencies to
    /// draw a graph.
    Graph,
    List,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// The stored layout of a project's screen. Whether a pane is shown full screen is not stored: the full-screen view
/// ends when the focus moves, and crewdeck starts with the focus on the composer. The layout [`PaneLayout::Focus`] also
/// shows one pane at a time, but is stored like the other layouts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScreenSettings {
    pub layout: PaneLayout,
    /// Width of the left column in the wall layout, in percent of the screen; `None` means the default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wall_left: Option<u16>,
    /// Width of the left column in the board layout, in percent of the screen; `None` means the default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub board_left: Option<u16>,
    #[serde(skip_serializing_if = "is_default")]
    pub todo: TodoPane,
    #[serde(skip_serializing_if = "is_default")]
    pub team_sort: TeamSort,
    #[serde(skip_serializing_if = "is_default")]
    pub board: BoardShape,
}

/// Whether the todo list is shown next to the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TodoPane {
    /// The todo list is shown if there is one.
    #[default]
    Shown,
    /// The todo list is hidden, and the conversation uses its rows.
    Hidden,
}

impl ScreenSettings {
    /// Returns the width of the left column in the current layout, in percent of the screen, or `usual` if the user has
    /// not set a width. The result is always from [`SHARE_MIN`] to [`SHARE_MAX`]. The focus layout has the width of the
    /// wall layout.
    pub fn left(&self, usual: u16) -> u16 {
        let set = match self.layout {
            PaneLayout::Wall | PaneLayout::Focus => self.wall_left,
            PaneLayout::Board => self.board_left,
        };
        set.unwrap_or(usual).clamp(SHARE_MIN, SHARE_MAX)
    }

    pub fn shows_todo(&self) -> bool {
        self.todo == TodoPane::Shown
    }

    /// Sets the width of the left column in the current layout, in percent of the screen, and limits it to
    /// [`SHARE_MIN`] to [`SHARE_MAX`]. In the focus layout, sets the width for the wall layout.
    pub fn set_left(&mut self, share: u16) {
        let share = Some(share.clamp(SHARE_MIN, SHARE_MAX));
        match self.layout {
            PaneLayout::Wall | PaneLayout::Focus => self.wall_left = share,
            PaneLayout::Board => self.board_left = share,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_layout_keeps_its_own_width_within_bounds() {
        let mut choice = ScreenSettings::default();
        choice.set_left(5);
        assert_eq!(choice.left(55), SHARE_MIN);
        choice.layout = choice.layout.next();
        assert_eq!((choice.layout, choice.left(62)), (PaneLayout::Board, 62));
        choice.set_left(99);
        assert_eq!(choice.left(62), SHARE_MAX);
        choice.layout = choice.layout.next().next();
        assert_eq!(
            (choice.layout, choice.left(55)),
            (PaneLayout::Wall, SHARE_MIN)
        );
    }
}
