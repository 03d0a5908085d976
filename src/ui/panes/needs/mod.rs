//! The needs pane.

pub(in crate::ui) mod answers;
pub(in crate::ui) mod buttons;
pub(in crate::ui) mod card;
mod feature;
pub(in crate::ui) mod update;
pub(in crate::ui) mod view;

use crate::domain::request::Request;
use crate::ui::app::App;
pub use feature::NeedsPane;

/// Returns the selected request and its index; the oldest if none is selected.
pub fn selected_request(app: &App) -> Option<(usize, &Request)> {
    let at = app
        .selected
        .request
        .as_ref()
        .and_then(|id| app.model.requests.place(id))
        .unwrap_or(0);
    app.model.requests.at(at).map(|r| (at, r))
}
