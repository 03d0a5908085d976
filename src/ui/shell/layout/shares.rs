//! Pure: how the rows of a column are shared among its panes. Nothing jumps while a person reads: a pane's rows change with
//! who has the keys, with the layout, and when its first row comes; the team's in large steps too.

/// The rows of a pane with nothing in it: its frame and some words.
pub const EMPTY: u16 = 4;
/// The fewest rows of a board with tasks.
const BOARD_MIN: u16 = 6;
/// The fewest rows of an inbox with letters.
const INBOX_MIN: u16 = 6;
/// What a pane of a team has room for grows by so many rows.
const STEP: u16 = 4;

/// What is in a pane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Content {
    /// The rows that would show all of it.
    pub rows: usize,
    /// Who has the keys.
    pub keys: Keys,
}

/// Whether a pane has the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keys {
    /// It does: it may grow.
    Here,
    /// It does not.
    Elsewhere,
}

/// The rows of board, team and inbox, one above the other in a column so high.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rows {
    /// Of the board.
    pub board: u16,
    /// Of the team.
    pub team: u16,
    /// Of the inbox.
    pub inbox: u16,
}

/// Shares a column: the team has room for all in it up to a third, the inbox a little less than a third, the board the
/// rest. A list that is longer grows to half of the column while it has the keys.
pub fn column(height: u16, tasks: usize, team: Content, letters: Content) -> Rows {
    let grown = |base: u16, content: Content| match content.keys {
        Keys::Here => framed(content.rows).min(height / 2).max(base),
        Keys::Elsewhere => base,
    };
    let team = grown(strip(height, team.rows), team);
    let inbox = match letters.rows {
        0 => EMPTY,
        _ => grown((height * 3 / 10).max(INBOX_MIN), letters),
    };
    let team = team.min(height);
    let rest = height - team;
    let board = if tasks > 0 {
        rest.saturating_sub(inbox).max(BOARD_MIN)
    } else if letters.rows > 0 {
        EMPTY
    } else {
        rest.saturating_sub(inbox)
    };
    let board = board.min(rest);
    Rows {
        board,
        team,
        inbox: rest - board,
    }
}

/// The rows of a pane of a team of so many, up to a third of a column.
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

/// So many rows with the frame around them.
fn framed(rows: usize) -> u16 {
    u16::try_from(rows).unwrap_or(u16::MAX).saturating_add(2)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn shared(height: u16, tasks: usize, team: (usize, Keys), letters: (usize, Keys)) -> [u16; 3] {
        let content = |(rows, keys)| Content { rows, keys };
        let Rows { board, team, inbox } = column(height, tasks, content(team), content(letters));
        [board, team, inbox]
    }

    #[test]
    fn what_each_pane_gets() {
        use Keys::{Elsewhere, Here};
        let cases = [
            // Nothing yet.
            (40, 0, (0, Elsewhere), (0, Elsewhere), [32, 4, 4]),
            // Tasks have the room that the others do not need.
            (40, 8, (0, Elsewhere), (0, Elsewhere), [32, 4, 4]),
            (40, 8, (3, Elsewhere), (0, Elsewhere), [30, 6, 4]),
            (40, 8, (3, Elsewhere), (1, Elsewhere), [22, 6, 12]),
            // Letters, tasks and keys of others move nothing.
            (40, 90, (4, Elsewhere), (99, Elsewhere), [22, 6, 12]),
            // A large team, up to a third; with the keys up to half.
            (40, 8, (5, Elsewhere), (9, Elsewhere), [18, 10, 12]),
            (40, 8, (50, Elsewhere), (9, Elsewhere), [15, 13, 12]),
            (40, 8, (50, Here), (9, Elsewhere), [8, 20, 12]),
            (40, 8, (3, Here), (9, Elsewhere), [22, 6, 12]),
            // The same with letters.
            (40, 8, (3, Elsewhere), (99, Here), [14, 6, 20]),
            (40, 8, (3, Elsewhere), (9, Here), [22, 6, 12]),
            // Letters without tasks.
            (40, 0, (3, Elsewhere), (9, Elsewhere), [4, 6, 30]),
            // Hardly any room: the board first.
            (12, 8, (9, Elsewhere), (9, Elsewhere), [6, 4, 2]),
            (3, 8, (9, Elsewhere), (9, Elsewhere), [0, 3, 0]),
        ];
        for (height, tasks, team, letters, expected) in cases {
            let found = shared(height, tasks, team, letters);
            assert_eq!(found, expected, "{height} {tasks} {team:?} {letters:?}");
            assert_eq!(found.iter().sum::<u16>(), height);
        }
    }
}
