//! The needs pane.

pub(in crate::ui) mod answers;
pub(in crate::ui) mod buttons;
pub(in crate::ui) mod card;
mod feature;
#[cfg(test)]
mod tests;
pub(in crate::ui) mod update;
pub(in crate::ui) mod view;

use crate::domain::ids::RequestId;
use crate::domain::request::Request;
use crate::domain::timestamp::Timestamp;
use crate::ui::model::CrewModel;

/// The requests that wait for the user.
#[derive(Debug, Default)]
pub struct NeedsPane {
    /// `None` selects the oldest request.
    pub selected: Option<RequestId>,
    /// When the selected request changed without a key press.
    pub since: Timestamp,
    /// Lines of the selected request scrolled off the top.
    scroll: usize,
    /// The permission request whose end was visible.
    read: Option<RequestId>,
    /// The permission request whose folded or truncated parts were reported to the user.
    cut: Option<RequestId>,
    /// The selected request before the current event.
    before: Option<RequestId>,
}

impl NeedsPane {
    /// Returns the selected request and its index.
    pub fn selected_request<'a>(&self, model: &'a CrewModel) -> Option<(usize, &'a Request)> {
        let selected = self.selected.as_ref();
        let at = selected
            .and_then(|id| model.requests.place(id))
            .unwrap_or(0);
        model.requests.at(at).map(|r| (at, r))
    }

    fn selected_id(&self, model: &CrewModel) -> Option<RequestId> {
        self.selected_request(model).map(|(_, r)| r.id.clone())
    }

    /// Selects a request and shows it from its first line.
    fn show(&mut self, id: RequestId) {
        self.selected = Some(id);
        self.scroll = 0;
    }

    /// Selects the oldest request on the user's demand: keys count at once.
    pub fn select_oldest(&mut self, model: &CrewModel) {
        let oldest = model.requests.at(0).map(|r| r.id.clone());
        if self.selected != oldest {
            self.selected = oldest;
            self.scroll = 0;
        }
        self.since = Timestamp::default();
    }
}
