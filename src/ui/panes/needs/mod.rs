//! The "Needs you" pane: the requests that wait for the user.

pub(in crate::ui) mod answers;
mod banner;
pub(in crate::ui) mod buttons;
pub(in crate::ui) mod card;
pub(in crate::ui) mod compact;
mod feature;
pub(in crate::ui) mod focus;
#[cfg(test)]
mod tests;
pub(in crate::ui) mod update;
pub(in crate::ui) mod view;

use ratatui::layout::Rect;

use crate::domain::ids::RequestId;
use crate::domain::request::Request;
use crate::domain::timestamp::Timestamp;
use crate::ui::model::CrewModel;

#[derive(Debug, Default)]
pub struct NeedsPane {
    /// The selected request; `None` selects the oldest one.
    pub selected: Option<RequestId>,
    /// The time at which another request was last selected without a key press. For a short time after it, keys that
    /// approve are ignored, because they were meant for the previous request. 0 if no delay is needed.
    pub since: Timestamp,
    /// Number of lines of the selected request that are scrolled off the top.
    scroll: usize,
    /// The request whose end the user has seen. A permission request can be approved only after that.
    seen_to_end: Option<RequestId>,
    /// The permission request for which the user was warned that parts of it are folded or truncated.
    warned_incomplete: Option<RequestId>,
    /// The selected request before the current event.
    before: Option<RequestId>,
}

impl NeedsPane {
    /// Returns the index of the selected card and its first request (identical requests share a card). `None` if no
    /// request is open.
    pub fn selected_request<'a>(&self, model: &'a CrewModel) -> Option<(usize, &'a Request)> {
        let selected = self.selected.as_ref();
        let at = selected
            .and_then(|id| model.requests.place(id))
            .unwrap_or(0);
        model.requests.at(at).map(|r| (at, r))
    }

    /// Returns whether the user has seen all of request `id` in this pane, or was warned about the parts that are
    /// folded or cut. Always false if another request is selected. `area` is the pane's frame; `None` if the pane is
    /// not visible.
    pub fn has_read(&self, model: &CrewModel, area: Option<Rect>, id: &RequestId) -> bool {
        if self.selected_id(model).as_ref() != Some(id) {
            return false;
        }
        card::reading(self, model, area).is_none_or(|reading| {
            let is_complete = reading.folded + reading.cut == 0;
            (reading.is_at_end || self.seen_to_end.as_ref() == Some(id))
                && (is_complete || self.warned_incomplete.as_ref() == Some(id))
        })
    }

    fn selected_id(&self, model: &CrewModel) -> Option<RequestId> {
        self.selected_request(model).map(|(_, r)| r.id.clone())
    }

    /// Selects a request and shows it from its first line.
    fn show(&mut self, id: RequestId) {
        self.selected = Some(id);
        self.scroll = 0;
    }
}
