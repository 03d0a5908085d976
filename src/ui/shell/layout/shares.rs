//! Divides the rows of a column among its panes. Pure.
//!
//! Heights change only with the focus, the layout and the first row of a pane, so that nothing moves while the user
//! reads. Only the height of the team pane also grows in steps.

/// Height of an empty pane with its frame, in rows.
pub const EMPTY: u16 = 4;
/// Minimum height of a board with tasks, in rows.
const BOARD_MIN: u16 = 6;
/// Minimum height of an inbox with messages, in rows.
const INBOX_MIN: u16 = 6;
/// The team pane grows in steps of this many rows.
const STEP: u16 = 4;

/// The size of a pane's content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PaneContent {
    /// Number of rows of the whole content.
    pub rows: usize,
    /// Whether the pane has the focus and may therefore grow.
    pub has_focus: bool,
}

/// The heights of the three panes of a column, in rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ColumnHeights {
    pub board: u16,
    pub team: u16,
    pub inbox: u16,
}

/// Divides a column: the team gets the rows it needs up to a third, the inbox 30 %, the board the rest. The focused list
/// may grow to half of the column.
pub fn column(
    height: u16,
    tasks: usize,
    team: PaneContent,
    messages: PaneContent,
) -> ColumnHeights {
    let grown = |base: u16, content: PaneContent| {
        if content.has_focus {
            framed(content.rows).min(height / 2).max(base)
        } else {
            base
        }
    };
    let team = grown(strip(height, team.rows), team);
    let inbox = match messages.rows {
        0 => EMPTY,
        _ => grown((height * 3 / 10).max(INBOX_MIN), messages),
    };
    let team = team.min(height);
    let rest = height - team;
    let board = if tasks > 0 {
        rest.saturating_sub(inbox).max(BOARD_MIN)
    } else if messages.rows > 0 {
        EMPTY
    } else {
        rest.saturating_sub(inbox)
    };
    let board = board.min(rest);
    ColumnHeights {
        board,
        team,
        inbox: rest - board,
    }
}

/// Returns the height of the team pane for a number of members, up to a third of the column.
pub fn strip(height: u16, members: usize) -> u16 {
    let most = (height / 3).max(EMPTY);
    match members {
        0 => EMPTY,
        members => {
            let steps = u16::try_from(members.div_ceil(STEP.into())).unwrap_or(u16::MAX);
            steps.saturating_mul(STEP).saturating_add(2).min(most)
        }
    }
}

/// Returns the height of a pane with `rows` rows of content and its frame.
fn framed(rows: usize) -> u16 {
    u16::try_from(rows).unwrap_or(u16::MAX).saturating_add(2)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn shared(height: u16, tasks: usize, team: (usize, bool), messages: (usize, bool)) -> [u16; 3] {
        let content = |(rows, has_focus)| PaneContent { rows, has_focus };
        let ColumnHeights { board, team, inbox } =
            column(height, tasks, content(team), content(messages));
        [board, team, inbox]
    }

    #[test]
    fn column_is_divided_by_content_and_focus() {
        // The rows of the team and of the inbox, and whether each has the focus.
        let cases = [
            // All panes are empty.
            (40, 0, (0, false), (0, false), [32, 4, 4]),
            // The board gets the rows that the others do not need.
            (40, 8, (0, false), (0, false), [32, 4, 4]),
            (40, 8, (3, false), (0, false), [30, 6, 4]),
            (40, 8, (3, false), (1, false), [22, 6, 12]),
            // More messages or tasks change nothing.
            (40, 90, (4, false), (99, false), [22, 6, 12]),
            // A large team gets up to a third, with the focus up to half.
            (40, 8, (5, false), (9, false), [18, 10, 12]),
            (40, 8, (50, false), (9, false), [15, 13, 12]),
            (40, 8, (50, true), (9, false), [8, 20, 12]),
            (40, 8, (3, true), (9, false), [22, 6, 12]),
            // The inbox with the focus.
            (40, 8, (3, false), (99, true), [14, 6, 20]),
            (40, 8, (3, false), (9, true), [22, 6, 12]),
            // Messages without tasks.
            (40, 0, (3, false), (9, false), [4, 6, 30]),
            // Too few rows: the board comes first.
            (12, 8, (9, false), (9, false), [6, 4, 2]),
            (3, 8, (9, false), (9, false), [0, 3, 0]),
        ];
        for (height, tasks, team, messages, expected) in cases {
            let found = shared(height, tasks, team, messages);
            assert_eq!(found, expected, "{height} {tasks} {team:?} {messages:?}");
            assert_eq!(found.iter().sum::<u16>(), height);
        }
    }
}
