//! Opening, filtering, accepting and copying what is selected.

use crate::protocol::event::NoticeLevel;
use crate::ui::app::App;
use crate::ui::app::effect::Effect;
use crate::ui::app::popup::Copied;
use crate::ui::panes;
use crate::ui::shell::peek::Peek;
use crate::ui::shell::state::UiState;
use crate::ui::shell::update::areas;

/// Shows more of what is selected.
pub fn open(state: &mut UiState) {
    // The preview shows the selected item, which is opened instead.
    if state.popups.top::<Peek>().is_some() {
        state.popups.pop();
    }
    if !state.popups.is_empty() {
        return;
    }
    let pane = state.focus.pane();
    let area = areas::frame_of(state, pane);
    panes::feature::feature(pane).open(state, area);
}

/// Starts a filter in the focused list.
pub fn filter(app: &mut App) {
    if app.is_in_panes() {
        // The filter field is in the pane, so the preview closes.
        app.popups.pop();
        let pane = app.focus.pane();
        app.filters.start_editing(pane);
    }
}

/// Accepts the text of the search or filter.
pub fn accept(app: &mut App) {
    if !app.popups.is_empty() {
        return;
    }
    if app.is_searching() {
        return crate::ui::shell::update::find::keep(app);
    }
    let pane = app.focus.pane();
    app.filters.finish_editing(pane);
}

/// Copies the selection or the open text.
pub fn copy(app: &mut App, out: &mut Vec<Effect>) {
    let Some((what, text)) = selected_text(app) else {
        app.say(NoticeLevel::Info, "Nothing to copy here yet.");
        return;
    };
    app.say(NoticeLevel::Info, format!("Copied {what}."));
    out.push(Effect::Copy(text));
}

fn selected_text(app: &App) -> Option<(String, String)> {
    let popup = app.popups.last();
    match popup.map_or(Copied::Below, |popup| popup.copied(app)) {
        Copied::Text(what, text) => return Some((what, text)),
        Copied::Nothing => return None,
        Copied::Below => {}
    }
    panes::feature::feature(app.focus.pane()).copied(app)
}
