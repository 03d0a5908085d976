//! The six panes and who has the keys.

/// A part of the screen that can have the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Pane {
    /// The conversation with the lead, or the live transcript of a teammate.
    Lead,
    /// The todo list of the agent whose conversation is shown.
    Todo,
    /// The tasks.
    Board,
    /// The teammates.
    Team,
    /// The letters between them.
    Inbox,
    /// What waits for the person.
    Needs,
}

impl Pane {
    /// All of them, in the order of their number keys.
    pub const ALL: [Pane; 6] = [
        Pane::Lead,
        Pane::Todo,
        Pane::Board,
        Pane::Team,
        Pane::Inbox,
        Pane::Needs,
    ];

    /// The number key that goes there.
    pub fn number(self) -> usize {
        match self {
            Pane::Lead => 1,
            Pane::Todo => 2,
            Pane::Board => 3,
            Pane::Team => 4,
            Pane::Inbox => 5,
            Pane::Needs => 6,
        }
    }

    /// Its title.
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
}

/// Who has the keys. In the composer keys are text; in a pane each is an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Focus {
    /// The composer.
    Composer,
    /// A pane.
    Pane(Pane),
}

impl Focus {
    /// The pane that has the keys; the composer belongs to the conversation.
    pub fn pane(self) -> Pane {
        match self {
            Focus::Composer => Pane::Lead,
            Focus::Pane(pane) => pane,
        }
    }
}
