//! Draws a picker.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::Line;
use ratatui::widgets::Widget;

use crate::ui::app::App;
use crate::ui::app::Preferences;
use crate::ui::app::popup::{Choice, Picker};
use crate::ui::frame;
use crate::ui::frame::popup::{emphasised, open, search};
use crate::ui::keymap::pane::Pane;
use crate::ui::keymap::{Action, Context};
use crate::ui::model::Models;
use crate::ui::popups::picker;
use crate::ui::popups::picker::rows as picker_rows;
use crate::ui::text::wrap;
use crate::ui::theme::Theme;
use crate::ui::widgets::area;
use crate::ui::widgets::scrollbar::Scrollbar;

pub fn pick(
    app: &App,
    picker: &Picker,
    theme: &Theme,
    screen: Rect,
    buffer: &mut Buffer,
) -> Position {
    let picks = picker_rows::picker_rows(app, picker);
    let area::Place { area, list, first } = picker::place::picker(app, screen, picker, picks.len());
    let title = match picker.choice {
        Choice::Palette { .. } => "Actions".into(),
        Choice::Models => "Model".into(),
        Choice::Themes => "Theme".into(),
        Choice::Copy => "Copy".into(),
        Choice::Scopes(_) => "Allow for the whole team until crewdeck ends".into(),
        Choice::Rules => format!("Allowed until crewdeck ends: {} revokes", takes(&app.prefs)),
    };
    let below = frame::position(Some(picker.row), picks.len(), list.height, theme);
    let inner = open(app, &title, below, theme, area, buffer);
    let bar = Scrollbar::of_list(area, list, first, picks.len());
    frame::scrollbar(bar, theme.title, buffer);
    let (cursor, _) = search(&picker.search, theme, inner, buffer);
    if picks.is_empty() {
        let words = nothing(app, picker);
        for (line, row) in wrap(&words, usize::from(list.width))
            .iter()
            .zip(list.rows())
        {
            Line::styled(line.as_str(), theme.dim).render(row, buffer);
        }
    }
    for ((at, pick), row) in picks.iter().enumerate().skip(first).zip(list.rows()) {
        let columns = usize::from(row.width).saturating_sub(2);
        let style = if at == picker.row {
            theme.accent
        } else {
            theme.text
        };
        let spans = frame::sides(&pick.words, style, &pick.aside, theme.dim, columns);
        let spans = emphasised(spans, &pick.marked, theme);
        let mark = if at == picker.row {
            frame::Row::Selected
        } else {
            frame::Row::Plain
        };
        frame::row(mark, spans, theme, row, buffer);
    }
    cursor
}

/// Returns the key that accepts the selected row.
pub fn takes(prefs: &Preferences) -> String {
    prefs.keymap.key(Context::Picker, Action::Accept)
}

pub fn nothing(app: &App, picker: &Picker) -> String {
    let written = picker.search.text().trim();
    match (&picker.choice, &app.model.models) {
        (Choice::Scopes(_), _) => {
            let key = app.prefs.keymap.key(Context::Picker, Action::Back);
            format!("No matches. {key} cancels.")
        }
        (Choice::Rules, _) if app.model.rules.is_empty() => {
            let context = Context::In(Pane::Needs);
            let key = app.prefs.keymap.key(context, Action::ApproveForTeam);
            format!("No permissions yet. {key} on a permission request adds one.")
        }
        (Choice::Palette { .. } | Choice::Copy | Choice::Themes | Choice::Rules, _) => {
            "No matches.".into()
        }
        (Choice::Models, _) if !written.is_empty() => {
            let key = takes(&app.prefs);
            format!("No listed model matches. {key} uses the name as typed: {written}")
        }
        (Choice::Models, Models::Unknown | Models::Asked) => "Loading models…".into(),
        (Choice::Models, Models::Listed(_)) => {
            let key = takes(&app.prefs);
            format!("The server lists no models. Type a name and press {key}.")
        }
    }
}
