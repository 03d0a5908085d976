//! Mouse clicks in text fields: place the cursor at the nearest position.

use ratatui::layout::{Position, Rect};

use super::{movement, task_form};
use crate::ui::popup::Popup;
use crate::ui::state::UiState;
use crate::ui::state::pane::Focus;
use crate::ui::writing::composer::{Composer, Room};
use crate::ui::writing::task_form::Field;
use crate::ui::{layout, writing};

/// Places the cursor in the composer and focuses it.
pub fn in_composer(state: &mut UiState, here: Position) {
    // The area at the time of the click; focusing may move the composer.
    let area = layout::layout(state, state.size).composer;
    movement::compose(state);
    if let (Some(area), Focus::Composer) = (area, state.focus) {
        put(&mut state.composer, writing::composer(area), here);
    }
}

/// Places the cursor in a comment.
pub fn in_comment(state: &mut UiState, here: Position) {
    let text = state.popups.last().map(|p| writing::comment(state, p));
    if let (Some(text), Some(Popup::Comment(comment))) = (text, state.popups.last_mut()) {
        put(&mut comment.text, text, here);
    }
}

/// Places the cursor in a field of the task form and focuses it.
pub fn in_field(state: &mut UiState, field: Field, here: Position) {
    let Some(popup @ Popup::Task(form)) = state.popups.last() else {
        return;
    };
    let places = writing::fields(state, popup, form);
    let place = places.each.iter().find(|(of, _)| *of == field);
    if let (Some((_, area)), Some(form)) = (place, task_form::form(state)) {
        form.field = field;
        put(form.writing(), writing::words(*area), here);
    }
}

fn put(written: &mut Composer, text: Rect, here: Position) {
    let row = here.y.saturating_sub(text.y);
    let column = here.x.saturating_sub(text.x);
    let last = text.height.saturating_sub(1);
    written.click(Room::from(text), row.min(last), column);
}
