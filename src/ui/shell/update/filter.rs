//! The words of a pane's filter: written, they select the first row that they let through.

use crate::ui::app::App;
use crate::ui::keymap::pane::Pane;
use crate::ui::panes::feature::feature;
use crate::ui::widgets::line_input::LineInput;

/// Changes what a pane is filtered by, while that is being written.
pub fn write(app: &mut App, pane: Pane, edit: impl FnOnce(&mut LineInput)) {
    let Some(filter) = app.filters.written(pane) else {
        return;
    };
    edit(&mut filter.words);
    feature(pane).filter_changed(app);
}
