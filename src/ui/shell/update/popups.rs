//! Popups: opening, choosing and copying.

use crate::protocol::event::NoticeLevel;
use crate::ui::app::App;
use crate::ui::app::effect::Effect;
use crate::ui::app::popup::{Choice, Popup, Text, push};
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::keymap::{Action, Context};
use crate::ui::panes;
use crate::ui::panes::inbox;
use crate::ui::popups::feature;
use crate::ui::popups::feature::Copied;
use crate::ui::popups::reader::letter_and_thread;
use crate::ui::shell::state::UiState;
use crate::ui::shell::update::areas;

/// Opens the help, with the keys of the current context first.
pub fn help(app: &mut App) {
    let is_help = |p: &Popup| matches!(p, Popup::Pager(r) if matches!(r.text, Text::Help(_)));
    if !app.popups.iter().any(is_help) {
        let contexts = app.contexts();
        push(app, Popup::read(Text::Help(contexts)));
    }
}

/// Opens the action palette.
pub fn palette(app: &mut App) {
    let is_palette = |p: &Popup| matches!(p, Popup::Picker(picker) if matches!(picker.choice, Choice::Palette { .. }));
    if app.is_commenting() || app.popups.iter().any(is_palette) {
        return;
    }
    app.popups.clear();
    let mut contexts = app.contexts();
    // From the composer, the actions of the conversation pane are listed too.
    if app.focus == Focus::Composer {
        contexts.extend([Context::In(Pane::Lead), Context::Panes]);
    }
    let focus = app.focus;
    push(app, Popup::choose(Choice::Palette { contexts, focus }));
}

/// Opens the list of background jobs.
pub fn jobs(app: &mut App) {
    if !app.shows_jobs() {
        push(app, Popup::Jobs { row: 0 });
    }
}

/// Shows more of what is selected.
pub fn open(state: &mut UiState) {
    // The preview shows the selected item, which is opened instead.
    let is_peek = |popup: &mut Popup| matches!(popup, Popup::Peek(_));
    state.popups.pop_if(is_peek);
    if let Some(popup) = feature::top(state) {
        return popup.open(state);
    }
    let pane = state.focus.pane();
    let area = areas::frame_of(state, pane);
    if let (Pane::Inbox, Some((_, letter))) = (pane, inbox::selected_letter(state)) {
        // It opens where its thread has it.
        let number = letter.number;
        return letter_and_thread(state, number);
    }
    panes::feature::feature(pane).open(state, area);
}

/// Starts a search in the open text or help, or a filter in the focused list.
pub fn filter(app: &mut App) {
    if !feature::top(app).is_some_and(|popup| popup.search(app)) && app.is_in_panes() {
        // The filter field is in the pane, so the preview closes.
        app.popups.pop();
        let pane = app.focus.pane();
        app.filters.start_editing(pane);
    }
}

/// Accepts the selection or the input. Returns the action chosen in the palette, to be run by the caller.
pub fn accept(app: &mut App, out: &mut Vec<Effect>) -> Option<Action> {
    if app.popups.is_empty() && app.is_searching() {
        crate::ui::shell::update::find::keep(app);
        return None;
    }
    if let Some(popup) = feature::top(app) {
        return popup.accept(app, out);
    }
    let pane = app.focus.pane();
    app.filters.finish_editing(pane);
    None
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
    match feature::top(app).map_or(Copied::Below, |popup| popup.copied(app)) {
        Copied::Text(what, text) => return Some((what, text)),
        Copied::Nothing => return None,
        Copied::Below => {}
    }
    panes::feature::feature(app.focus.pane()).copied(app)
}
