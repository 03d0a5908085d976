//! Layout of the clickable lines: key hints, tabs, and the hint that hides the tour line. Pure.
//!
//! Both the views and the mouse handling use this layout.

use ratatui::layout::Rect;

use crate::ui::app::App;
use crate::ui::frame::layout::Layout;
use crate::ui::frame::pane_key;
use crate::ui::keymap::pane::Pane;
use crate::ui::shell::hints::{Hint, Urgency, hints};
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

/// Returns the two parts of the status message: the text for the row above the key hints, and the text for the start of
/// the hints' row. The second part leaves room for the hints that are always shown and for the buttons of an open
/// dialog. The first part is empty if the whole message fits into the hints' row, and in a replay; the second part is
/// empty if it would have fewer than [`MESSAGE_LEAST`] columns. A message that does not fit is cut.
pub fn message(state: &UiState, row: Rect) -> (String, String) {
    let Some(status) = &state.status else {
        return (String::new(), String::new());
    };
    let kept = hints(state)
        .into_iter()
        .filter(|h| is_kept(h) || is_dialog_button(state, h));
    let kept: usize = kept.map(|h| hint_width(&h)).sum();
    let columns = usize::from(row.width).saturating_sub(MESSAGE_MARGIN);
    let room = columns.saturating_sub(kept);
    if width(&status.text) <= room {
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

fn is_kept(hint: &Hint) -> bool {
    hint.urgency == Urgency::Always
}

/// Returns the hints that fit into the bottom line after the status message, each with its area.
pub fn hint_line(state: &UiState, row: Rect) -> Vec<PlacedPart<Hint>> {
    let taken = message_room(state, row);
    let row = Rect {
        x: row.x + taken,
        width: row.width - taken,
        ..row
    };
    let all = hints(state);
    let kept = |hint: &&Hint| is_kept(hint);
    let columns = usize::from(row.width);
    let mut room = columns.saturating_sub(all.iter().filter(kept).map(hint_width).sum());
    let mut shown = Vec::new();
    for hint in all {
        if hint.urgency != Urgency::Always {
            if hint_width(&hint) > room {
                continue;
            }
            room -= hint_width(&hint);
        }
        shown.push((hint_width(&hint), hint));
    }
    place(row, shown)
}

/// Returns the tabs of the panes that share one area, with their labels.
pub fn tab_line(
    state: &UiState,
    layout: &Layout,
    row: Rect,
    offered: &[Pane],
) -> Vec<PlacedPart<(Pane, String)>> {
    let label = |pane: Pane, has_count: bool| {
        let mark = if layout.pane(pane).is_some() {
            "▸"
        } else {
            " "
        };
        let count = if has_count {
            state.panes.get(pane).tab_count(state)
        } else {
            String::new()
        };
        format!(
            "{mark}{} {}{count} ",
            pane_key(&state.prefs, pane),
            pane.tab_title()
        )
    };
    let labels = |have_counts| offered.iter().map(move |p| label(*p, have_counts));
    let wide: usize = labels(true).map(|l| width(&l)).sum();
    // The counts in the tabs are dropped if they do not fit.
    let have_counts = wide < usize::from(row.width);
    let tabs = offered.iter().copied().zip(labels(have_counts));
    place(
        row,
        tabs.map(|(pane, label)| (width(&label), (pane, label))),
    )
}

/// Returns the hint with the key that hides the tour line, placed at the end of that line. Returns `None` if no tour
/// line is shown or the hint does not fit.
pub fn tour_dismiss_hint(state: &UiState, row: Rect) -> Option<PlacedPart<String>> {
    let line = tour::line(state)?;
    let key = tour::dismissed_by(&state.prefs);
    // The hint is dropped rather than the tip cut, because the help names the key too.
    let room = usize::from(row.width).saturating_sub(width(tour::MARK) + width(&line));
    let forms = [format!(" {key} hide tips "), format!(" {key} hide ")];
    let words = forms.into_iter().find(|words| width(words) <= room)?;
    Some(at_the_end(row, words))
}
