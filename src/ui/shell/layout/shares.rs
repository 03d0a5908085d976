//! Divides the rows of a column among its panes. Pure.
//!
//! A height changes only with the focus, with the layout, and when the first row of a pane appears, so that nothing
//! moves while the user reads. Only the board and the team pane also grow with their content, each in steps of several
//! rows.

/// Height of an empty pane, in rows. Its title line says what the pane will show.
pub const EMPTY: u16 = 1;
/// Height of an empty pane whose tab is selected, in rows. It has room for the frame and a text that says what the pane
/// will show.
pub const PLACEHOLDER: u16 = 6;
/// Minimum height of a board with tasks, in rows.
const BOARD_MIN: u16 = 6;
/// Minimum height of an inbox with messages, in rows.
const INBOX_MIN: u16 = 6;
/// Minimum height of a team pane with members, in rows.
const STRIP_MIN: u16 = 4;
/// The team pane grows in steps of this number of rows.
const STEP: u16 = 4;

/// The facts about a pane from which [`column()`] computes the height of the pane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PaneContent {
    /// Number of rows that the content of the pane needs.
    pub rows: usize,
    /// Whether the pane has the focus; only then may it get more rows than its share.
    pub has_focus: bool,
}

/// The heights of the three panes of a column, in rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ColumnHeights {
    pub board: u16,
    pub team: u16,
    pub inbox: u16,
}

/// Divides a column of `height` rows among board, team and inbox. `board` is the number of rows that the board needs; 0
/// means that the board is empty.
///
/// - An empty pane gets [`EMPTY`] rows.
/// - The team gets the rows that it needs, at most a third of the column.
/// - The inbox gets 30 % of the column, at least `INBOX_MIN` rows.
/// - The board gets the other rows, at least `BOARD_MIN` and at most `board`. Rows that the board does not need go to
///   the inbox if that has messages, else to the team if that has members, else to the board if that has tasks, else to
///   the inbox.
/// - A team or inbox that has the focus may grow to half of the column.
pub fn column(height: u16, board: u16, team: PaneContent, messages: PaneContent) -> ColumnHeights {
    let grown = |base: u16, content: PaneContent| {
        if content.has_focus {
            framed_height(content.rows).min(height / 2).max(base)
        } else {
            base
        }
    };
    let least_team = grown(strip(height, team.rows), team).min(height);
    let rest = height - least_team;
    let least_inbox = match messages.rows {
        0 => EMPTY.min(rest),
        _ => grown(inbox_height(height), messages),
    };
    let board_rows = match board {
        0 => EMPTY,
        wanted => rest.saturating_sub(least_inbox).min(wanted).max(BOARD_MIN),
    };
    let board_rows = board_rows.min(rest);
    let inbox = rest - board_rows;
    // Spare rows go to the team if the inbox has no messages, and to the board if the team is empty too. A board
    // without tasks gets none, so that its title line stays where it is.
    let spare = inbox.saturating_sub(least_inbox);
    match (messages.rows, team.rows) {
        (0, 0) if board > 0 => ColumnHeights {
            board: board_rows + spare,
            team: least_team,
            inbox: inbox - spare,
        },
        (0, 1..) => ColumnHeights {
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

/// Returns the height of the team pane for `members` members, in rows: one row per member, rounded up to a multiple of
/// `STEP`, two rows for the frame and one for the headings. The maximum is a third of `height`, the height of the
/// column, but at least `STRIP_MIN`. Without members, the height is [`EMPTY`].
pub fn strip(height: u16, members: usize) -> u16 {
    let most = (height / 3).max(STRIP_MIN);
    match members {
        0 => EMPTY,
        members => team_height(members).min(most),
    }
}

/// Returns the height of a team pane for `members` members, in rows: one row per member, rounded up to a multiple of
/// `STEP`, and three rows for the frame and the headings.
pub fn team_height(members: usize) -> u16 {
    let steps = u16::try_from(members.div_ceil(STEP.into())).unwrap_or(u16::MAX);
    steps.saturating_mul(STEP).saturating_add(3)
}

/// Returns the height of an inbox with messages in a column of `height` rows. It does not depend on the number of
/// messages.
pub fn inbox_height(height: u16) -> u16 {
    (height * 3 / 10).max(INBOX_MIN)
}

/// Returns the height of a pane with `rows` rows of content and its frame.
fn framed_height(rows: usize) -> u16 {
    u16::try_from(rows).unwrap_or(u16::MAX).saturating_add(2)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn column_heights(
        height: u16,
        board: u16,
        team: (usize, bool),
        messages: (usize, bool),
    ) -> [u16; 3] {
        let content = |(rows, has_focus)| PaneContent { rows, has_focus };
        let ColumnHeights { board, team, inbox } =
            column(height, board, content(team), content(messages));
        [board, team, inbox]
    }

    #[test]
    fn column_is_divided_by_content_and_focus() {
        // Height of the column, rows that the board needs, rows and focus of the team, rows and focus of the inbox, and
        // the expected heights.
        let cases = [
            // The only pane with content gets all rows.
            (40, 10, (0, false), (0, false), [38, 1, 1]),
            (40, 0, (0, false), (0, false), [1, 1, 38]),
            (40, 0, (3, false), (0, false), [1, 38, 1]),
            (40, 0, (0, false), (1, false), [1, 1, 38]),
            // The board gets the rows that it needs. The inbox gets the rest, or the team if the inbox is empty.
            (40, 10, (3, false), (0, false), [10, 29, 1]),
            (40, 10, (3, false), (1, false), [10, 7, 23]),
            (40, 99, (3, false), (0, false), [32, 7, 1]),
            (40, 99, (3, false), (1, false), [21, 7, 12]),
            // More messages do not change the heights.
            (40, 99, (4, false), (99, false), [21, 7, 12]),
            // A large team gets at most a third of the rows; with the focus, at most half.
            (40, 99, (5, false), (9, false), [17, 11, 12]),
            (40, 99, (50, false), (9, false), [15, 13, 12]),
            (40, 99, (50, true), (9, false), [8, 20, 12]),
            (40, 99, (3, true), (9, false), [21, 7, 12]),
            // An inbox that has the focus gets at most half.
            (40, 99, (3, false), (99, true), [13, 7, 20]),
            (40, 99, (3, false), (9, true), [21, 7, 12]),
            // With too few rows for all, the board comes first.
            (12, 99, (9, false), (9, false), [6, 4, 2]),
            (3, 99, (9, false), (9, false), [0, 3, 0]),
        ];
        for (height, board, team, messages, expected) in cases {
            let found = column_heights(height, board, team, messages);
            assert_eq!(found, expected, "{height} {board} {team:?} {messages:?}");
            assert_eq!(found.iter().sum::<u16>(), height);
        }
    }
}
