//! The hint on the border of a conversation that does not scroll with new output.

use ratatui::layout::Rect;

use crate::ui::app::App;
use crate::ui::keymap::pane::Pane;
use crate::ui::keymap::{Action, Context};
use crate::ui::widgets::placed::{PlacedPart, at_the_end};

/// Returns the hint on the lower border of a conversation with the frame `area`: the number of new entries below the
/// visible part, and the key that scrolls to the newest one. `None` if the conversation already scrolls with new
/// output.
pub fn follow_mark(app: &App, area: Rect) -> Option<PlacedPart<String>> {
    let transcript = &app.model.agents.get(&app.shown)?.transcript;
    if transcript.is_following() {
        return None;
    }
    let key = app
        .prefs
        .keymap
        .key(Context::In(Pane::Lead), Action::Follow);
    let words = match transcript.unread_below() {
        0 => format!("{key} follows new output"),
        n => format!("{n} new ↓  {key} follows"),
    };
    let edge = Rect {
        y: area.bottom().saturating_sub(1),
        height: 1.min(area.height),
        // The last two columns hold a space and the corner of the frame.
        width: area.width.saturating_sub(2),
        ..area
    };
    Some(at_the_end(edge, words))
}
