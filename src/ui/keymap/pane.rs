//! The six panes and the focus.

/// A pane of the screen. The variants are in the order of the number keys that focus the panes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Pane {
    /// The conversation with the lead or another agent.
    Lead,
    /// The todo list of the shown agent.
    Todo,
    Board,
    /// The list of teammates with their activity.
    Team,
    /// The messages between agents.
    Inbox,
    /// The requests that need the user.
    Needs,
}

impl Pane {
    /// All panes, in the order of the number keys that focus them.
    pub const ALL: [Pane; 6] = [
        Pane::Lead,
        Pane::Todo,
        Pane::Board,
        Pane::Team,
        Pane::Inbox,
        Pane::Needs,
    ];

    /// The panes that can share one area of the screen, in the order of their tabs. This is also the order of the
    /// number keys.
    pub const TABS: [Pane; 4] = [Pane::Todo, Pane::Board, Pane::Team, Pane::Inbox];

    /// Returns the panes with a tab. The layout can show each of them as a single line below the conversation while the
    /// pane is empty.
    pub fn lines() -> impl Iterator<Item = Pane> {
        Pane::TABS.into_iter()
    }

    /// Returns the number key that focuses the pane by default.
    #[cfg(test)]
    pub fn number(self) -> usize {
        self as usize + 1
    }

    pub fn title(self) -> &'static str {
        match self {
            Pane::Lead => "Lead",
            Pane::Todo => "Todo",
            Pane::Board => "Board",
            Pane::Team => "Team",
            Pane::Inbox => "Inbox",
            Pane::Needs => "Needs you",
        }
    }

    pub fn tab_title(self) -> &'static str {
        match self {
            Pane::Needs => "Needs",
            _ => self.title(),
        }
    }
}

/// The keyboard focus. In the composer, keys type text; in a pane, each key triggers an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Focus {
    Composer,
    Pane(Pane),
}

impl Focus {
    /// Returns the focused pane. The composer counts as part of the conversation pane.
    pub fn pane(self) -> Pane {
        match self {
            Focus::Composer => Pane::Lead,
            Focus::Pane(pane) => pane,
        }
    }
}
