//! Layout of the clickable lines: key hints, tabs, and the hint that hides the tour line. Pure.
//!
//! Both the views and the mouse handling use this layout.

use ratatui::layout::Rect;

use crate::ui::app::App;
use crate::ui::frame::layout::Layout;
use crate::ui::frame::{agent_tab_width, pane_key};
use crate::ui::keymap::Action;
use crate::ui::keymap::pane::Pane;
use crate::ui::shell::hints::{Hint, Urgency, hints};
use crate::ui::shell::message::{MESSAGE_MARGIN, message_lines};
use crate::ui::shell::state::UiState;
use crate::ui::shell::tour;
use crate::ui::text::{fit, fit_name, width};
use crate::ui::widgets::placed::{PlacedPart, at_the_end, place};

/// Minimum number of columns for a status message in the row of the hints. The hints that a message never displaces take
/// the other columns.
const MESSAGE_LEAST: usize = 16;

/// Returns the status message that is shown at the start of the hints' row. Text for which the hints that a message
/// never displaces leave no room is cut. Empty if no message is shown in that row.
pub fn message_beside_hints(state: &UiState, row: Rect) -> String {
    let Some(status) = &state.status else {
        return String::new();
    };
    if !message_lines(state, row.width).is_empty() {
        return String::new();
    }
    let kept = hints(state).into_iter().filter(|h| is_kept(state, h));
    let kept: usize = kept.map(|h| hint_width(&h)).sum();
    let room = usize::from(row.width).saturating_sub(kept + MESSAGE_MARGIN);
    fit(&status.text, room.max(MESSAGE_LEAST))
}

/// Returns the number of columns that the status message takes at the start of the hints' row; 0 if it is not shown in
/// that row.
fn message_room(state: &UiState, row: Rect) -> u16 {
    match message_beside_hints(state, row) {
        words if words.is_empty() => 0,
        words => u16::try_from(width(&words) + MESSAGE_MARGIN).unwrap_or(row.width),
    }
}

fn hint_width(hint: &Hint) -> usize {
    width(&hint.key) + width(&hint.words) + 3
}

fn is_dialog_button(app: &App, hint: &Hint) -> bool {
    let popup = app.popups.last();
    popup.is_some_and(|p| {
        p.buttons(app)
            .iter()
            .any(|(action, _)| *action == hint.action)
    })
}

/// Returns whether a status message must leave room for `hint`. True for the help key, the keys that decide an open
/// request, the buttons of a dialog, and the keys that confirm and close a popup.
fn is_kept(state: &UiState, hint: &Hint) -> bool {
    let decides = [
        Action::Approve,
        Action::Reject,
        Action::ApproveShown,
        Action::RejectShown,
    ];
    let ends = [Action::Accept, Action::Send, Action::Open, Action::Back];
    hint.urgency != Urgency::Usual
        || decides.contains(&hint.action)
        || !state.popups.is_empty() && ends.contains(&hint.action)
        || is_dialog_button(state, hint)
}

/// Returns the hints that fit into the bottom line after the status message, each with its area, in their usual order.
/// If a message is shown in this line, the hints that it must not displace get their room first.
pub fn hint_line(state: &UiState, row: Rect) -> Vec<PlacedPart<Hint>> {
    let taken = message_room(state, row);
    let row = Rect {
        x: row.x + taken,
        width: row.width - taken,
        ..row
    };
    let all = hints(state);
    let is_always = |hint: &&Hint| hint.urgency == Urgency::Always;
    let columns = usize::from(row.width);
    let mut room = columns.saturating_sub(all.iter().filter(is_always).map(hint_width).sum());
    let mut fits = |hint: &Hint| {
        let fits = hint_width(hint) <= room;
        if fits {
            room -= hint_width(hint);
        }
        fits
    };
    let is_kept = |hint: &Hint| taken > 0 && is_kept(state, hint);
    let is_kept: Vec<bool> = all.iter().map(is_kept).collect();
    let mut is_shown: Vec<bool> = all.iter().map(|hint| is_always(&hint)).collect();
    for kept in [true, false] {
        for ((hint, is_kept), is_shown) in all.iter().zip(&is_kept).zip(&mut is_shown) {
            if *is_kept == kept && !*is_shown {
                *is_shown = fits(hint);
            }
        }
    }
    let shown = all.into_iter().zip(is_shown).filter(|(_, shown)| *shown);
    place(row, shown.map(|(hint, _)| (hint_width(&hint), hint)))
}

/// Returns the tabs of the panes that share one area, with their labels. If the labels do not fit, drops the counts in
/// them one by one; the count of "Needs you" is dropped last.
pub fn tab_line(
    state: &UiState,
    layout: &Layout,
    row: Rect,
    offered: &[Pane],
) -> Vec<PlacedPart<(Pane, String)>> {
    let names = agent_tab_width(row.width);
    // The names of the tabs begin in the column in which the text of the panes begins.
    let row = Rect {
        x: row.x + 1.min(row.width),
        width: row.width.saturating_sub(1),
        ..row
    };
    let name = |pane: Pane| {
        let mark = if layout.pane(pane).is_some() {
            "▸"
        } else {
            " "
        };
        let key = pane_key(&state.prefs, pane);
        let title = match pane {
            // The tab names the agent whose conversation the pane shows.
            Pane::Lead if !state.shown.is_lead() => fit_name(state.shown.as_str(), names),
            _ => pane.tab_title().into(),
        };
        format!("{mark}{key} {title}")
    };
    let tab = |pane: Pane| (pane, name(pane), state.panes.get(pane).tab_count(state));
    let mut tabs: Vec<(Pane, String, String)> = offered.iter().map(|pane| tab(*pane)).collect();
    let columns = |(_, name, count): &(Pane, String, String)| width(name) + width(count) + 1;
    while tabs.iter().map(columns).sum::<usize>() >= usize::from(row.width) {
        let counted = tabs.iter_mut().filter(|(_, _, count)| !count.is_empty());
        let least = counted.min_by_key(|(pane, ..)| count_weight(*pane));
        match least {
            Some((_, _, count)) => count.clear(),
            None => break,
        }
    }
    let labels = tabs.into_iter().map(|(pane, name, count)| {
        let label = format!("{name}{count} ");
        (width(&label), (pane, label))
    });
    place(row, labels)
}

/// Returns a weight for the count in the tab of `pane`. If not all counts fit, those with a lower weight are dropped
/// first.
fn count_weight(pane: Pane) -> u8 {
    match pane {
        Pane::Needs => 3,
        Pane::Board => 2,
        Pane::Team => 1,
        _ => 0,
    }
}

/// Returns the hint with the key that hides the tour line, placed at the end of that line. Returns `None` if no tour
/// line is shown or the hint does not fit.
pub fn tour_dismiss_hint(state: &UiState, row: Rect) -> Option<PlacedPart<String>> {
    let line = tour::line(state)?;
    if state.status.is_some() {
        // The status message covers the line.
        return None;
    }
    let key = tour::dismissed_by(&state.prefs);
    // The hint is dropped rather than the tip cut, because the help names the key too.
    let room = usize::from(row.width).saturating_sub(width(tour::MARK) + width(&line));
    let forms = [format!(" {key} hide tips "), format!(" {key} hide ")];
    let words = forms.into_iter().find(|words| width(words) <= room)?;
    Some(at_the_end(row, words))
}
