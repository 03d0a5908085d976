//! Editing of pane filters.

use crate::ui::app::App;
use crate::ui::keymap::pane::Pane;
use crate::ui::panes::feature::feature;
use crate::ui::widgets::line_input::LineInput;

/// Edits the filter of a pane and selects its first match.
pub fn write(app: &mut App, pane: Pane, edit: impl FnOnce(&mut LineInput)) {
    let Some(filter) = app.filters.editing(pane) else {
        return;
    };
    edit(&mut filter.words);
    feature(pane).filter_changed(app);
}
