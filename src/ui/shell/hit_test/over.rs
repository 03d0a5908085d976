//! Mouse targets of popups and of the completion list, which cover everything below.

use crate::ui::app::popup::{CommentStage, Popup};
use crate::ui::diff::Spot;
use crate::ui::frame::hit::{Hit, Scrolls, has_mouse, listed};
use crate::ui::frame::layout::Layout;
use crate::ui::keymap::Action;
use crate::ui::panes::lead::complete;
use crate::ui::popups::help::Means;
use crate::ui::popups::picker::rows as picker_rows;
use crate::ui::popups::{buttons, confirm, costs, event_log, picker, reader, text_areas};
use crate::ui::shell::hit_test::{Placed, panes};
use crate::ui::shell::state::UiState;
use crate::ui::shell::{layout, peek};
use crate::ui::theme::Theme;
use crate::ui::widgets::area;
use crate::ui::widgets::scrollbar::Scrollbar;

/// Adds the rows of the completion list. Its area blocks the targets below.
pub fn offers(state: &UiState, layout: &Layout, out: &mut Vec<Placed<Hit>>) {
    let len = complete::offers(state).len();
    if let Some(place) = complete::place(state, layout, len) {
        let rows = listed(place.list, place.first, len);
        out.extend(rows.map(|(at, row)| Placed {
            at,
            what: Hit::Offer(row),
        }));
        out.push(Placed {
            at: place.area,
            what: Hit::Nothing,
        });
    }
}

/// Adds the targets of a popup and of the screen around it.
pub fn popup(state: &UiState, popup: &Popup, out: &mut Vec<Placed<Hit>>) {
    let mut acts: Vec<Placed<Hit>> = Vec::new();
    let mut list: Vec<Placed<Hit>> = Vec::new();
    let mut put = |at, what| acts.push(Placed { at, what });
    let (area, beside, bar) = match popup {
        Popup::Reader(reader) => {
            let lines = reader::rows(state, reader, &Theme::default());
            let place = reader::place(state.size, reader, lines.len());
            let (list, first) = reader::list(reader, place, lines.len());
            for (line, at) in lines.iter().skip(first).zip(list.rows()) {
                if let Some(Means::Here(action)) = line.entry.map(|entry| entry.means) {
                    put(at, Hit::HelpRow(action));
                }
                if let Some(Spot::LeadsTo(file) | Spot::Begins(file)) = line.spot {
                    put(at, Hit::File(file));
                }
            }
            let bar = Scrollbar::of_list(place, list, first, lines.len());
            (place, Hit::BesidePopup, bar)
        }
        Popup::Picker(picker) => {
            let len = picker_rows::picks(state, picker).len();
            let place = picker::place::picker(state, state.size, picker, len);
            for (at, row) in listed(place.list, place.first, len) {
                put(at, Hit::PopupRow(row));
            }
            let bar = Scrollbar::of_list(place.area, place.list, place.first, len);
            (place.area, Hit::BesidePopup, bar)
        }
        Popup::Jobs { row } => {
            let len = state.model.jobs.listed().len();
            let place = picker::place::jobs(state.size, *row, len);
            for (at, row) in listed(place.list, place.first, len) {
                put(at, Hit::PopupRow(row));
            }
            let bar = Scrollbar::of_list(place.area, place.list, place.first, len);
            (place.area, Hit::BesidePopup, bar)
        }
        Popup::EventLog(view) => {
            let rows = view.rows(state);
            let row = view.row(&rows).unwrap_or(0);
            let place = event_log::place(state, view, rows.len(), row);
            for (at, row) in listed(place.list, place.first, rows.len()) {
                put(at, Hit::PopupRow(row));
            }
            let bar = Scrollbar::of_list(place.area, place.list, place.first, rows.len());
            (place.area, Hit::BesidePopup, bar)
        }
        Popup::Costs(view) => {
            let lines = costs::lines(state, &Theme::default());
            let place = costs::place(state.size, view, &lines);
            for (at, row) in listed(place.list, place.first, lines.len()) {
                put(at, Hit::PopupRow(row));
            }
            let bar = Scrollbar::of_list(place.area, place.list, place.first, lines.len());
            (place.area, Hit::BesidePopup, bar)
        }
        Popup::Peek(pane) => {
            let layout = layout::layout(state, state.size);
            // The list behind the preview stays clickable.
            if let Some(area) = layout.pane(*pane) {
                panes::inside(state, *pane, area, &mut list);
            }
            let area = layout.peek.unwrap_or_default();
            (area, Hit::BesidePopup, peek::scrollbar(state, area))
        }
        // A click outside does not close these: an accidental one would discard input.
        Popup::Comment(_) | Popup::Task(_) | Popup::Confirm(_) => {
            let place = confirm::place(state, state.size, popup);
            for button in buttons::box_buttons(state, popup, place.buttons) {
                if let Some(action) = button.what.action {
                    put(button.at, Hit::Button(action));
                }
            }
            if let Popup::Task(form) = popup {
                for (field, at) in text_areas::fields(state, popup, form).each {
                    put(at, Hit::Field(field));
                }
            }
            if let Popup::Comment(comment) = popup
                && comment.stage == CommentStage::Writing
            {
                put(text_areas::comment(state, popup), Hit::Comment);
            }
            (place.area, Hit::Popup, None)
        }
    };
    if has_mouse(state) {
        put(area::close_mark(area), Hit::Button(Action::Back));
    }
    if let Some(bar) = bar {
        put(bar.at, Hit::Scrollbar(Scrolls::Popup, bar));
    }
    out.append(&mut acts);
    out.append(&mut list);
    out.extend([(area, Hit::Popup), (state.size, beside)].map(|(at, what)| Placed { at, what }));
}
