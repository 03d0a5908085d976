//! The card of a request: what is asked, wrapped to its width. Its height decides the pane's.

use super::rows;
use super::state::UiState;
use super::textual::wrap_some;

/// Rows of a card that are not its body: blank line and buttons; the headings are counted apart.
pub const FIXED: u16 = 2;

/// Most requests that are named at a time.
const LISTED_MAX: usize = 3;

/// The lines of the selected request's body, at most `width` columns wide.
pub fn body(state: &UiState, width: u16) -> Vec<String> {
    some_body(state, width, usize::MAX)
}

fn some_body(state: &UiState, width: u16, enough: usize) -> Vec<String> {
    let Some((_, request)) = rows::selected_request(state) else {
        return Vec::new();
    };
    let text = if request.body.trim().is_empty() {
        "It gave no reason."
    } else {
        request.body.as_str()
    };
    wrap_some(text, usize::from(width), enough)
}

/// How many rows name the requests, the selected one among them.
pub fn listed(state: &UiState) -> u16 {
    u16::try_from(state.requests.len().min(LISTED_MAX)).unwrap_or(0)
}

/// The rows that the card wants inside its frame; when it is more than `most`, any number above it.
pub fn height(state: &UiState, width: u16, most: u16) -> u16 {
    let body = some_body(state, width, usize::from(most));
    let body = u16::try_from(body.len()).unwrap_or(u16::MAX);
    body.saturating_add(FIXED).saturating_add(listed(state))
}
