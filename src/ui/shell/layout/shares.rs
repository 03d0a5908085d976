//! Divides the rows of a column among its panes. Pure.
//!
//! Heights change only with the focus, the layout and the first row of a pane, so that nothing moves while the user
//! reads. Only the height of the team pane also grows in steps.

/// Height of an empty pane, in rows. Its title line says what the pane will show.
pub const EMPTY: u16 = 1;
/// Minimum height of a board with tasks, in rows.
const BOARD_MIN: u16 = 6;
/// Minimum height of an inbox with messages, in rows.
const INBOX_MIN: u16 = 6;
/// Minimum height of a team pane with members, in rows.
const STRIP_MIN: u16 = 4;
/// The team pane grows in steps of this many rows.
const STEP: u16 = 4;

/// The size of a pane's content, and whether the pane may grow.
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

/// Divides a column of `height` rows among board, team and inbox. An empty pane gets [`EMPTY`]. The team gets the rows
/// that it needs, at most a third. The inbox gets 30 %. The board gets the rest, at most `board` rows; the board is
/// empty if `board` is 0. A team or inbox that has the focus may grow to half of the column. Rows that the board does
/// not need go to the inbox; if that is empty, to the team; if both are empty, to the board.
pub fn column(height: u16, board: u16, team: PaneContent, messages: PaneContent) -> ColumnHeights {
    let grown = |base: u16, content: PaneContent| {
        if content.has_focus {
            framed(content.rows).min(height / 2).max(base)
        } else {
            base
        }
    };
    let least_team = grown(strip(height, team.rows), team).min(height);
    let rest = height - least_team;
    let least_inbox = match messages.rows {
        0 => EMPTY.min(rest),
        _ => grown((height * 3 / 10).max(INBOX_MIN), messages),
    };
    let board_rows = match board {
        0 => EMPTY,
        wanted => rest.saturating_sub(least_inbox).min(wanted).max(BOARD_MIN),
    };
    let board_rows = board_rows.min(rest);
    let inbox = rest - board_rows;
    // An inbox without messages leaves its rows to the team, and an empty team to the board.
    let spare = inbox.saturating_sub(least_inbox);
    match (messages.rows, team.rows) {
        (0, 0) => ColumnHeights {
            board: board_rows + spare,
            team: least_team,
            inbox: inbox - spare,
        },
        (0, _) => ColumnHeights {
            board: board_rows,
            team: least_team + spare,
            inbox: inbox - spare,
        },
        _ => ColumnHeights {
            board: board_rows,
            team: least_team,
            inbox,
        },
    }
}

/// Returns the height of the team pane for a number of members, up to a third of the column. The frame takes two rows,
/// the headings one.
pub fn strip(height: u16, members: usize) -> u16 {
    let most = (height / 3).max(STRIP_MIN);
    match members {
        0 => EMPTY,
        members => {
            let steps = u16::try_from(members.div_ceil(STEP.into())).unwrap_or(u16::MAX);
            steps.saturating_mul(STEP).saturating_add(3).min(most)
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

    fn shared(height: u16, board: u16, team: (usize, bool), messages: (usize, bool)) -> [u16; 3] {
        let content = |(rows, has_focus)| PaneContent { rows, has_focus };
        let ColumnHeights { board, team, inbox } =
            column(height, board, content(team), content(messages));
        [board, team, inbox]
    }

    #[test]
    fn column_is_divided_by_content_and_focus() {
        // The rows that the board wants, the rows of the team and of the inbox, and whether each has the focus.
        let cases = [
            // The only pane with content gets all rows.
            (40, 10, (0, false), (0, false), [38, 1, 1]),
            (40, 0, (3, false), (0, false), [1, 38, 1]),
            (40, 0, (0, false), (1, false), [1, 1, 38]),
            // The board gets the rows that it needs, the inbox or else the team the rest.
            (40, 10, (3, false), (0, false), [10, 29, 1]),
            (40, 10, (3, false), (1, false), [10, 7, 23]),
            (40, 99, (3, false), (0, false), [32, 7, 1]),
            (40, 99, (3, false), (1, false), [21, 7, 12]),
            // More messages change nothing.
            (40, 99, (4, false), (99, false), [21, 7, 12]),
            // A large team gets at most a third; with the focus, at most half.
            (40, 99, (5, false), (9, false), [17, 11, 12]),
            (40, 99, (50, false), (9, false), [15, 13, 12]),
            (40, 99, (50, true), (9, false), [8, 20, 12]),
            (40, 99, (3, true), (9, false), [21, 7, 12]),
            // The inbox with the focus.
            (40, 99, (3, false), (99, true), [13, 7, 20]),
            (40, 99, (3, false), (9, true), [21, 7, 12]),
            // Too few rows: the board comes first.
            (12, 99, (9, false), (9, false), [6, 4, 2]),
            (3, 99, (9, false), (9, false), [0, 3, 0]),
        ];
        for (height, board, team, messages, expected) in cases {
            let found = shared(height, board, team, messages);
            assert_eq!(found, expected, "{height} {board} {team:?} {messages:?}");
            assert_eq!(found.iter().sum::<u16>(), height);
        }
    }
}
