//! Mouse clicks in text fields: place the cursor at the nearest position.

use ratatui::layout::{Position, Rect};

use crate::ui::app::App;
use crate::ui::app::popup::Popup;
use crate::ui::app::task_form::Field;
use crate::ui::frame::navigation;
use crate::ui::keymap::pane::Focus;
use crate::ui::popups::{task_form, text_areas};
use crate::ui::shell::layout;
use crate::ui::shell::state::UiState;
use crate::ui::widgets::composer::{Composer, TextAreaSize};

/// Places the cursor in the composer and focuses it.
pub fn in_composer(state: &mut UiState, here: Position) {
    // The area at the time of the click; focusing may move the composer.
    let area = layout::layout(state, state.size).composer;
    navigation::compose(state);
    if let (Some(area), Focus::Composer) = (area, state.focus) {
        put(&mut state.input.composer, text_areas::composer(area), here);
    }
}

/// Places the cursor in a comment.
pub fn in_comment(app: &mut App, here: Position) {
    let text = app.popups.last().map(|p| text_areas::comment(app, p));
    if let (Some(text), Some(Popup::Comment(comment))) = (text, app.popups.last_mut()) {
        put(&mut comment.text, text, here);
    }
}

/// Places the cursor in a field of the task form and focuses it.
pub fn in_field(app: &mut App, field: Field, here: Position) {
    let Some(popup @ Popup::Task(form)) = app.popups.last() else {
        return;
    };
    let places = text_areas::fields(app, popup, form);
    let place = places.fields.iter().find(|(of, _)| *of == field);
    if let (Some((_, area)), Some(form)) = (place, task_form::update::form(app)) {
        form.field = field;
        put(form.writing(), text_areas::words(*area), here);
    }
}

fn put(written: &mut Composer, text: Rect, here: Position) {
    let row = here.y.saturating_sub(text.y);
    let column = here.x.saturating_sub(text.x);
    let last = text.height.saturating_sub(1);
    written.click(TextAreaSize::from(text), row.min(last), column);
}
