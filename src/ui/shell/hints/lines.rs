//! Layout of the clickable lines: key hints, tabs, and the hint that hides the tour line. Pure.
//!
//! Both the views and the mouse handling use this layout.

use ratatui::layout::Rect;

use crate::ui::app::App;
use crate::ui::frame::layout::Layout;
use crate::ui::frame::pane_key;
use crate::ui::keymap::Action;
use crate::ui::keymap::pane::Pane;
use crate::ui::shell::hints::{Hint, Urgency, hints, is_on_card};
use crate::ui::shell::state::UiState;
use crate::ui::shell::tour;
use crate::ui::text::{fit, width, wrap};
use crate::ui::widgets::placed::{PlacedPart, at_the_end, place};

/// Number of columns that a status message needs in addition to its text: for the mark before the text and the spaces
/// around it.
const MESSAGE_MARGIN: usize = 5;
/// Minimum width, in columns, at which a part of a long status message is shown before the hints, in their row. With
/// less room, the message is shown only in the row above the hints.
const MESSAGE_LEAST: usize = 16;

/// Returns the two parts of the status message: the text for a row above the key hints, and the text for the start of
/// the hints' row. Text that does not fit is cut.
///
/// The first part is empty if the whole message fits into the hints' row. It has text nevertheless if a tip is shown
/// (see `has_tip`): the message then covers the tip and leaves the hints where they are. In a replay it is always
/// empty.
///
/// The second part leaves room for the hints that a message must not displace. It is empty if fewer than
/// `MESSAGE_LEAST` columns remain for it.
pub fn message(state: &UiState, row: Rect) -> (String, String) {
    let Some(status) = &state.status else {
        return (String::new(), String::new());
    };
    let kept = hints(state).into_iter().filter(|h| is_kept(state, h));
    let kept: usize = kept.map(|h| hint_width(&h)).sum();
    let columns = usize::from(row.width).saturating_sub(MESSAGE_MARGIN);
    let room = columns.saturating_sub(kept);
    if width(&status.text) <= room && !has_tip(state) {
        return (String::new(), status.text.clone());
    }
    if state.replay.is_some() {
        // In a replay, the row above the hints shows the progress of the replay, so it has no room for a message.
        let before = (room >= MESSAGE_LEAST).then(|| fit(&status.text, room));
        return (String::new(), before.unwrap_or_default());
    }
    let mut lines = wrap(&status.text, columns).into_iter();
    let above = lines.next().unwrap_or_default();
    let rest = lines.collect::<Vec<_>>().join(" ");
    if room < MESSAGE_LEAST {
        return (fit(&status.text, columns), String::new());
    }
    (above, fit(&rest, room))
}

/// Returns whether a tour line is shown and a status message may cover it. A message must not cover a tour line that
/// announces open requests.
fn has_tip(state: &UiState) -> bool {
    state.replay.is_none() && tour::line(state).is_some() && !tour::replaces_banner(state)
}

/// Returns the distance of the first part of a status message from the hints, in rows. It is 1, the row of the tour
/// line if there is one; it is 2 if the tour line announces open requests, because the message must not cover that
/// line.
pub fn rows_to_message(state: &UiState) -> u16 {
    let announces = tour::line(state).is_some() && tour::replaces_banner(state);
    if announces { 2 } else { 1 }
}

/// Returns the number of columns that the status message takes at the start of the hints' row; 0 if no part of the
/// message is shown in that row.
fn message_room(state: &UiState, row: Rect) -> u16 {
    match message(state, row) {
        (_, before) if before.is_empty() => 0,
        (_, before) => u16::try_from(width(&before) + MESSAGE_MARGIN).unwrap_or(row.width),
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

/// Returns whether a status message must leave room for `hint`. True for the help key, the keys for an open request,
/// the buttons of a dialog, and the keys that confirm and close a popup.
fn is_kept(state: &UiState, hint: &Hint) -> bool {
    let decides = [
        Action::Approve,
        Action::Reject,
        Action::ApproveShown,
        Action::RejectShown,
    ];
    let ends = [Action::Accept, Action::Send, Action::Open, Action::Back];
    hint.urgency != Urgency::Usual
        || decides.contains(&hint.action) && !is_on_card(state, hint.action)
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
    let name = |pane: Pane| {
        let mark = if layout.pane(pane).is_some() {
            "▸"
        } else {
            " "
        };
        let key = pane_key(&state.prefs, pane);
        format!("{mark}{key} {}", pane.tab_title())
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
    if has_tip(state) && state.status.is_some() {
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
