//! The pane "Needs you": the requests that wait for a decision of the user.

pub(in crate::ui) mod answers;
mod banner;
pub(in crate::ui) mod buttons;
pub(in crate::ui) mod card;
#[cfg(test)]
mod choice_tests;
pub(in crate::ui) mod compact;
mod feature;
pub(in crate::ui) mod focus;
#[cfg(test)]
mod tests;
pub(in crate::ui) mod update;
pub(in crate::ui) mod view;

use ratatui::layout::Rect;

use crate::domain::ids::{Name, RequestId};
use crate::domain::request::Request;
use crate::domain::timestamp::Timestamp;
use crate::ui::model::CrewModel;

#[derive(Debug, Default)]
pub struct NeedsPane {
    /// The selected request. `None` means the first one: the oldest that the user must decide, or else the oldest that
    /// the lead may decide.
    pub selected: Option<RequestId>,
    /// The time at which the selection last moved to another request without a key press. For the time
    /// [`SETTLE`](crate::ui::SETTLE) after that, keys that approve are ignored, because the user may have meant the
    /// previous request. 0 if keys are not ignored, for example because a key press moved the selection.
    pub since: Timestamp,
    /// Number of lines of the selected request that are scrolled off the top.
    scroll: usize,
    /// The request whose end the user has seen. The user can approve a permission request only after that.
    seen_to_end: Option<RequestId>,
    /// The permission request for which a warning has said that parts of it are folded or cut.
    warned_incomplete: Option<RequestId>,
    /// The request that was selected before the current event.
    before: Option<RequestId>,
    /// The request that was closed last while the pane had the focus; `None` once the focus has left the pane.
    closed: Option<ClosedRequest>,
}

/// A closed request, as the empty pane describes it.
#[derive(Debug)]
struct ClosedRequest {
    from: Name,
    /// A sentence that says who decided what.
    summary: String,
}

impl NeedsPane {
    /// Returns the index of the selected card and the first request on it; identical requests share a card. If no
    /// request is selected or the selected one is closed, the first card counts as selected. `None` if no request is
    /// open.
    pub fn selected_request<'a>(&self, model: &'a CrewModel) -> Option<(usize, &'a Request)> {
        let selected = self.selected.as_ref();
        let at = selected
            .and_then(|id| model.requests.place(id))
            .unwrap_or(0);
        model.requests.at(at).map(|r| (at, r))
    }

    /// Returns whether the user has seen all of permission request `id` in this pane and was warned about the parts
    /// that are folded or cut. A request of another kind counts as seen. False if `id` is not the selected request.
    /// `area` is the pane's frame; `None` if the pane is not visible.
    pub fn has_read(&self, model: &CrewModel, area: Option<Rect>, id: &RequestId) -> bool {
        if self.selected_id(model).as_ref() != Some(id) {
            return false;
        }
        card::reading_progress(self, model, area).is_none_or(|reading| {
            let is_complete = reading.folded + reading.cut == 0;
            (reading.is_at_end || self.seen_to_end.as_ref() == Some(id))
                && (is_complete || self.warned_incomplete.as_ref() == Some(id))
        })
    }

    /// Returns whether choice `number` of question `id` is visible in this pane, or the user has seen the end of the
    /// question. False if another request is selected.
    pub fn shows_choice(
        &self,
        model: &CrewModel,
        area: Option<Rect>,
        id: &RequestId,
        number: usize,
    ) -> bool {
        let selected = self.selected_request(model).map(|(_, request)| request);
        let asked = model.requests.get(id);
        let is_selected = selected
            .zip(asked)
            .is_some_and(|(a, b)| a.id == b.id || a.is_like(b));
        is_selected
            && (self.seen_to_end == self.selected_id(model)
                || card::shows_choice(self, model, area, number))
    }

    fn selected_id(&self, model: &CrewModel) -> Option<RequestId> {
        self.selected_request(model).map(|(_, r)| r.id.clone())
    }

    /// Selects a request and scrolls its card to the first line.
    fn show(&mut self, id: RequestId) {
        self.selected = Some(id);
        self.scroll = 0;
    }
}
