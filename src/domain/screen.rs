//! How the panes lie: what the person chooses with a key or the mouse, remembered for each project.

use serde::{Deserialize, Serialize};

/// Least share of the left column, in percent of the screen.
pub const SHARE_MIN: u16 = 30;
/// Largest share of the left column, in percent of the screen.
pub const SHARE_MAX: u16 = 70;

/// Which pane gets the room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Arrangement {
    /// The conversation on the left, all others beside it.
    #[default]
    Wall,
    /// The board on the left, the conversation small beside it.
    Board,
    /// One pane, and a line that says how the others stand.
    Focus,
}

impl Arrangement {
    /// All of them, in the order in which the key goes through them.
    pub const ALL: [Arrangement; 3] = [Arrangement::Wall, Arrangement::Board, Arrangement::Focus];

    /// The one after it, round and round.
    #[must_use]
    pub fn next(self) -> Arrangement {
        match self {
            Arrangement::Wall => Arrangement::Board,
            Arrangement::Board => Arrangement::Focus,
            Arrangement::Focus => Arrangement::Wall,
        }
    }

    /// Its name, and what it is for.
    pub fn about(self) -> &'static str {
        match self {
            Arrangement::Wall => "wall: everything at once",
            Arrangement::Board => "board: the tasks have the room",
            Arrangement::Focus => "focus: one pane at a time",
        }
    }
}

/// What is remembered of a project's screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScreenChoice {
    /// How the panes lie.
    pub layout: Arrangement,
    /// The left column's share in the wall, in percent; where it is not set, crewdeck's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wall_left: Option<u16>,
    /// The same with the board on the left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub board_left: Option<u16>,
    /// Whether the todo list lies beside the conversation.
    #[serde(skip_serializing_if = "TodoPane::is_usual")]
    pub todo: TodoPane,
}

/// Whether the todo list has rows of its own while the conversation is in view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TodoPane {
    /// It has, when there is one.
    #[default]
    Shown,
    /// The conversation has them.
    Hidden,
}

impl TodoPane {
    #[allow(clippy::trivially_copy_pass_by_ref)] // as serde asks it
    fn is_usual(&self) -> bool {
        *self == TodoPane::default()
    }

    /// The other way.
    #[must_use]
    pub fn turned(self) -> TodoPane {
        match self {
            TodoPane::Shown => TodoPane::Hidden,
            TodoPane::Hidden => TodoPane::Shown,
        }
    }
}

impl ScreenChoice {
    /// The left column's share, in percent of the screen, within the bounds; `usual` where none is set.
    pub fn left(&self, usual: u16) -> u16 {
        let set = match self.layout {
            Arrangement::Wall | Arrangement::Focus => self.wall_left,
            Arrangement::Board => self.board_left,
        };
        set.unwrap_or(usual).clamp(SHARE_MIN, SHARE_MAX)
    }

    /// Whether the todo list has rows of its own.
    pub fn shows_todo(&self) -> bool {
        self.todo == TodoPane::Shown
    }

    /// Gives the left column a share, in percent of the screen, cut to the bounds.
    pub fn set_left(&mut self, share: u16) {
        let share = Some(share.clamp(SHARE_MIN, SHARE_MAX));
        match self.layout {
            Arrangement::Wall | Arrangement::Focus => self.wall_left = share,
            Arrangement::Board => self.board_left = share,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_layout_has_a_share_of_its_own_within_bounds() {
        let mut choice = ScreenChoice::default();
        choice.set_left(5);
        assert_eq!(choice.left(55), SHARE_MIN);
        choice.layout = choice.layout.next();
        assert_eq!((choice.layout, choice.left(62)), (Arrangement::Board, 62));
        choice.set_left(99);
        assert_eq!(choice.left(62), SHARE_MAX);
        choice.layout = choice.layout.next().next();
        assert_eq!(
            (choice.layout, choice.left(55)),
            (Arrangement::Wall, SHARE_MIN)
        );
    }
}
