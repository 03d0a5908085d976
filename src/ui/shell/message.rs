//! The rows of a status message that has rows of its own.

use crate::ui::app::status_message::MESSAGE_ROWS_MAX;
use crate::ui::shell::state::UiState;
use crate::ui::shell::tour;
use crate::ui::text::{fit, width, wrap};

/// Number of columns that a status message needs in addition to its text: for the mark before the text and the spaces
/// around it.
pub const MESSAGE_MARGIN: usize = 5;

/// Returns the lines of the status message that are shown in rows of their own, directly above the hints, on a screen of
/// `columns` columns. While a tour line is shown, every message is shown there and covers the line. Otherwise, a message
/// that needs at most half of the columns is shown in the row of the hints, so that the panes do not move. Empty if no
/// message is shown above the hints. A message that needs more than [`MESSAGE_ROWS_MAX`] rows is cut.
pub fn message_lines(state: &UiState, columns: u16) -> Vec<String> {
    let Some(status) = &state.status else {
        return Vec::new();
    };
    let columns = usize::from(columns);
    let has_tour_line = state.replay.is_none() && tour::line(state).is_some();
    if !has_tour_line && width(&status.text) + MESSAGE_MARGIN <= columns / 2 {
        return Vec::new();
    }
    let room = columns.saturating_sub(MESSAGE_MARGIN);
    let mut lines = wrap(&status.text, room);
    let most = usize::from(MESSAGE_ROWS_MAX);
    if lines.len() > most {
        let rest = lines.split_off(most - 1).join(" ");
        lines.push(fit(&rest, room));
    }
    lines
}
