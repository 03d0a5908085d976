//! Layout of clickable lines: hints, tabs and the buttons of cards and dialogs. Pure.
//!
//! Views draw these lines, and mouse handling finds its target with the same layout.

use ratatui::layout::Rect;

use crate::domain::request::{Request, RequestKind};
use crate::ui::board::{self, Standing};
use crate::ui::guide::hints::{Hint, Urgency, hints};
use crate::ui::guide::tour;
use crate::ui::keymap::{Action, Context};
use crate::ui::layout::Layout;
use crate::ui::popup::{CommentStage, Popup, Question};
use crate::ui::state::UiState;
use crate::ui::state::pane::{Focus, Pane};
use crate::ui::state::rows;
use crate::ui::textual::{fit, width, wrap};

/// A part of a line and its area.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed<T> {
    /// The area on the screen.
    pub at: Rect,
    /// The content.
    pub what: T,
}

impl<T> Placed<T> {
    /// Converts the content and keeps the area.
    pub fn map<U>(self, make: impl FnOnce(T) -> U) -> Placed<U> {
        Placed {
            at: self.at,
            what: make(self.what),
        }
    }
}

/// A button of a card or dialog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Button {
    /// The key.
    pub key: String,
    /// The label.
    pub words: &'static str,
    /// The action; `None` for a range of number keys, where a number must be chosen.
    pub action: Option<Action>,
}

/// Columns for the mark before a status message and the spaces around it.
const MESSAGE_MARGIN: usize = 5;
/// Minimum width of a truncated status message, in columns; a shorter one would be useless.
const MESSAGE_LEAST: usize = 16;

/// Places parts, given by width and content, one after another in `row`. Parts that do not fit are truncated or empty.
pub fn place<T>(row: Rect, parts: impl IntoIterator<Item = (usize, T)>) -> Vec<Placed<T>> {
    let mut x = row.x;
    let mut out = Vec::new();
    for (columns, what) in parts {
        let width = u16::try_from(columns).unwrap_or(u16::MAX);
        let at = Rect { x, width, ..row };
        x = x.saturating_add(width).min(row.right());
        out.push(Placed {
            at: at.intersection(row),
            what,
        });
    }
    out
}

/// Splits the status message into the text of the row above the hints, used only for a long message, and the text before
/// the hints. Permanent hints and those of an open dialog keep their place.
pub fn message(state: &UiState, row: Rect) -> (String, String) {
    let Some(flash) = &state.flash else {
        return (String::new(), String::new());
    };
    let kept = hints(state)
        .into_iter()
        .filter(|h| is_kept(h) || answers(state, h));
    let kept: usize = kept.map(|h| wide(&h)).sum();
    let columns = usize::from(row.width).saturating_sub(MESSAGE_MARGIN);
    let room = columns.saturating_sub(kept);
    if width(&flash.text) <= room {
        return (String::new(), flash.text.clone());
    }
    if state.replay.is_some() {
        // In a replay, the row above shows the player.
        let before = (room >= MESSAGE_LEAST).then(|| fit(&flash.text, room));
        return (String::new(), before.unwrap_or_default());
    }
    let mut lines = wrap(&flash.text, columns).into_iter();
    let above = lines.next().unwrap_or_default();
    let rest = lines.collect::<Vec<_>>().join(" ");
    if room < MESSAGE_LEAST {
        return (fit(&flash.text, columns), String::new());
    }
    (above, fit(&rest, room))
}

/// Returns the columns that the status message takes before the hints.
fn message_room(state: &UiState, row: Rect) -> u16 {
    match message(state, row) {
        (_, before) if before.is_empty() => 0,
        (_, before) => u16::try_from(width(&before) + MESSAGE_MARGIN).unwrap_or(row.width),
    }
}

fn wide(hint: &Hint) -> usize {
    width(&hint.key) + width(&hint.words) + 3
}

/// Whether the hint is for a button of the open dialog.
fn answers(state: &UiState, hint: &Hint) -> bool {
    let popup = state.popups.last();
    popup.is_some_and(|p| {
        asked(state, p)
            .iter()
            .any(|(action, _)| *action == hint.action)
    })
}

fn is_kept(hint: &Hint) -> bool {
    hint.urgency == Urgency::Always
}

/// Returns the hints that fit into the bottom line, after the status message.
pub fn hint_line(state: &UiState, row: Rect) -> Vec<Placed<Hint>> {
    let taken = message_room(state, row);
    let row = Rect {
        x: row.x + taken,
        width: row.width - taken,
        ..row
    };
    let all = hints(state);
    let kept = |hint: &&Hint| is_kept(hint);
    let columns = usize::from(row.width);
    let mut room = columns.saturating_sub(all.iter().filter(kept).map(wide).sum());
    let mut shown = Vec::new();
    for hint in all {
        if hint.urgency != Urgency::Always {
            if wide(&hint) > room {
                continue;
            }
            room -= wide(&hint);
        }
        shown.push((wide(&hint), hint));
    }
    place(row, shown)
}

/// Whether tabs show counts, which needs enough width.
#[derive(Clone, Copy)]
enum Counts {
    Shown,
    Hidden,
}

/// Returns the tabs of the panes that share one area, with their labels.
pub fn tab_line(
    state: &UiState,
    layout: &Layout,
    row: Rect,
    offered: &[Pane],
) -> Vec<Placed<(Pane, String)>> {
    let label = |pane: Pane, counts: Counts| {
        let mark = if layout.pane(pane).is_some() {
            "▸"
        } else {
            " "
        };
        let count = match counts {
            Counts::Shown => tab_count(state, pane),
            Counts::Hidden => String::new(),
        };
        format!(
            "{mark}{} {}{count} ",
            pane_key(state, pane),
            tab_title(pane)
        )
    };
    let labels = |counts| offered.iter().map(move |p| label(*p, counts));
    let wide: usize = labels(Counts::Shown).map(|l| width(&l)).sum();
    let counts = if wide < usize::from(row.width) {
        Counts::Shown
    } else {
        Counts::Hidden
    };
    let tabs = offered.iter().copied().zip(labels(counts));
    place(
        row,
        tabs.map(|(pane, label)| (width(&label), (pane, label))),
    )
}

fn tab_title(pane: Pane) -> &'static str {
    match pane {
        Pane::Needs => "Needs",
        Pane::Lead | Pane::Todo | Pane::Board | Pane::Team | Pane::Inbox => pane.title(),
    }
}

fn tab_count(state: &UiState, pane: Pane) -> String {
    match pane {
        Pane::Board if !state.board.is_empty() => {
            let done = board::index(state).count(Standing::Done);
            format!(" {done}/{}", state.board.len())
        }
        Pane::Needs if state.requests.for_person() > 0 => {
            format!(" ({})", state.requests.for_person())
        }
        Pane::Team if !state.team.members.is_empty() => {
            format!(" {}", state.team.present().count())
        }
        Pane::Inbox if state.letters.unread(&state.team) > 0 => {
            format!(" {}", state.letters.unread(&state.team))
        }
        Pane::Todo => rows::todo_progress(state).map_or_else(String::new, |p| format!(" {p}")),
        Pane::Lead | Pane::Board | Pane::Team | Pane::Inbox | Pane::Needs => String::new(),
    }
}

/// Returns the buttons of a request's card that fit into its last row, most important first. Empty if the pane does not
/// have the focus or the request was answered.
pub fn buttons(state: &UiState, request: &Request, row: Rect) -> Vec<Placed<Button>> {
    let is_open = state.focus == Focus::Pane(Pane::Needs);
    if !is_open || state.requests.is_answered(&request.id) {
        return Vec::new();
    }
    let mut room = usize::from(row.width);
    let mut shown = Vec::new();
    for button in all_buttons(state, request) {
        let wide = width(&button.key) + width(button.words) + 1;
        if wide > room {
            break;
        }
        room = room.saturating_sub(wide + 3);
        shown.push((wide + 3, button));
    }
    place(row, shown)
}

/// Returns the keys of a question's choices, as `1-3`, or one by one if they are not consecutive numbers.
pub fn choice_keys(state: &UiState, count: usize) -> String {
    let key = |number| state.keymap.key(Context::Choices, Action::Choose(number));
    let keys: Vec<String> = (1..=count).map(key).collect();
    let follow = |(at, key): (usize, &String)| *key == (at + 1).to_string();
    match keys.as_slice() {
        [first, .., last] if keys.iter().enumerate().all(follow) => format!("{first}-{last}"),
        keys => keys.join(" "),
    }
}

fn all_buttons(state: &UiState, request: &Request) -> Vec<Button> {
    let key = |action, words| Button {
        key: state.keymap.key(Context::In(Pane::Needs), action),
        words,
        action: Some(action),
    };
    let open = key(Action::Open, "open the agent");
    match (request.kind, request.choices.len()) {
        (RequestKind::Question, 0) => vec![
            key(Action::Comment, "answer"),
            key(Action::Reject, "decline"),
            open,
        ],
        (RequestKind::Question, count) => vec![
            Button {
                key: choice_keys(state, count),
                words: "choose",
                action: None,
            },
            key(Action::Reject, "decline"),
            key(Action::Comment, "own answer"),
            open,
        ],
        (
            RequestKind::Plan
            | RequestKind::Shutdown
            | RequestKind::Permission
            | RequestKind::Ceiling,
            _,
        ) => {
            let mut keys = vec![
                key(Action::Approve, "approve"),
                key(Action::Reject, "reject"),
            ];
            let has_scopes = request.call.as_ref().is_some_and(|c| !c.scopes.is_empty());
            if has_scopes && state.seat.refuses(Action::ApproveForTeam).is_none() {
                keys.push(key(Action::ApproveForTeam, "for the team"));
            }
            keys.extend([key(Action::Comment, "comment"), open]);
            keys
        }
    }
}

/// Returns the actions and labels of a dialog's buttons; empty for other popups.
pub fn asked(state: &UiState, popup: &Popup) -> &'static [(Action, &'static str)] {
    match popup {
        Popup::Comment(comment) => match comment.stage {
            CommentStage::Writing if state.requests.is_question(&comment.request) => &[
                (Action::Accept, "send the answer"),
                (Action::Back, "cancel"),
            ],
            CommentStage::Writing => &[
                (Action::Accept, "next: approve or reject"),
                (Action::Back, "cancel"),
            ],
            CommentStage::Verdict => &[
                (Action::Approve, "approve with comment"),
                (Action::Reject, "reject with comment"),
                (Action::Back, "back"),
            ],
        },
        Popup::Task(form) => match form.id {
            None => &[
                (Action::Accept, "add"),
                (Action::NextField, "next field"),
                (Action::Back, "close"),
            ],
            Some(_) => &[
                (Action::Accept, "save"),
                (Action::NextField, "next field"),
                (Action::Back, "close"),
            ],
        },
        Popup::Confirm(Question::Quit) => &[(Action::Accept, "quit"), (Action::Back, "stay")],
        Popup::Confirm(Question::Force(_)) => {
            &[(Action::Accept, "end it"), (Action::Back, "cancel")]
        }
        Popup::Confirm(Question::Release { .. }) => {
            &[(Action::Accept, "release"), (Action::Back, "cancel")]
        }
        Popup::Confirm(Question::RemoveTree(_)) => {
            &[(Action::Accept, "remove"), (Action::Back, "cancel")]
        }
        Popup::Confirm(Question::LoseTree(_)) => {
            &[(Action::Accept, "remove anyway"), (Action::Back, "cancel")]
        }
        Popup::Confirm(Question::ApproveSettings) => {
            &[(Action::Accept, "approve"), (Action::Back, "cancel")]
        }
        Popup::Confirm(Question::Complete(_)) => {
            &[(Action::Accept, "complete"), (Action::Back, "cancel")]
        }
        Popup::Confirm(Question::Merge(_)) if board::to_merge(state).len() > 1 => &[
            (Action::Accept, "merge"),
            (Action::MergeAll, "all"),
            (Action::Diff, "diff"),
            (Action::Back, "cancel"),
        ],
        Popup::Confirm(Question::Merge(_)) => &[
            (Action::Accept, "merge"),
            (Action::Diff, "diff"),
            (Action::Back, "cancel"),
        ],
        Popup::Reader(_)
        | Popup::Picker(_)
        | Popup::Jobs { .. }
        | Popup::Costs(_)
        | Popup::Peek(_)
        | Popup::EventLog(_) => &[],
    }
}

/// Returns the buttons of a dialog, in its last row.
pub fn box_buttons(state: &UiState, popup: &Popup, row: Rect) -> Vec<Placed<Button>> {
    let parts = asked(state, popup).iter().map(|(action, words)| {
        let button = Button {
            key: state.keymap.key(popup.context(), *action),
            words,
            action: Some(*action),
        };
        (width(&button.key) + width(words) + 4, button)
    });
    place(row, parts)
}

/// Returns the hint that hides the tour line, at the end of that line, or `None` if there is no line or no room.
pub fn tour_away(state: &UiState, row: Rect) -> Option<Placed<String>> {
    let line = tour::line(state)?;
    let key = tour::dismissed_by(state);
    // The tip itself is more important: the key that hides it is also in the help.
    let room = usize::from(row.width).saturating_sub(width(tour::MARK) + width(&line));
    let forms = [format!(" {key} hide tips "), format!(" {key} hide ")];
    let words = forms.into_iter().find(|words| width(words) <= room)?;
    Some(at_the_end(row, words))
}

/// Returns the hint on the lower edge of a conversation that resumes following new output, or `None` while it follows.
pub fn follow_mark(state: &UiState, area: Rect) -> Option<Placed<String>> {
    let transcript = &state.agents.get(&state.shown)?.transcript;
    if transcript.is_following() {
        return None;
    }
    let key = state.keymap.key(Context::In(Pane::Lead), Action::Follow);
    let words = match transcript.unread_below() {
        0 => format!("{key} follows the newest"),
        n => format!("{n} new ↓  {key} follows"),
    };
    let edge = Rect {
        y: area.bottom().saturating_sub(1),
        height: 1.min(area.height),
        // The last two columns are a space and the corner.
        width: area.width.saturating_sub(2),
        ..area
    };
    Some(at_the_end(edge, words))
}

/// Returns the area of the key and title on a pane's frame.
pub fn title_place(state: &UiState, pane: Pane, area: Rect) -> Rect {
    let words = width(&pane_key(state, pane)) + width(pane.title()) + 3;
    let width = u16::try_from(words).unwrap_or(u16::MAX);
    Rect {
        x: area.x + 1.min(area.width),
        width: width.min(area.width.saturating_sub(2)),
        height: 1.min(area.height),
        ..area
    }
}

fn at_the_end(row: Rect, words: String) -> Placed<String> {
    let columns = u16::try_from(width(&words)).unwrap_or(u16::MAX);
    let wide = columns.min(row.width);
    let at = Rect {
        x: row.right() - wide,
        width: wide,
        ..row
    };
    Placed { at, what: words }
}

/// Returns the key of a pane for its frame and tab, or `·` if the key is longer than one character.
pub fn pane_key(state: &UiState, pane: Pane) -> String {
    let key = state.keymap.key(Context::Panes, Action::Focus(pane));
    if width(&key) == 1 { key } else { "·".into() }
}
