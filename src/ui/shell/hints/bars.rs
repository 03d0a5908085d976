//! Pure: the lines of words that can be pressed (hints, tabs, the buttons of a card), and what stands where in them.
//! Views draw by it, the mouse counts by it.

use ratatui::layout::Rect;

use crate::domain::request::{Request, RequestKind};
use crate::ui::app::UiState;
use crate::ui::app::popup::{CommentStage, Popup, Question};
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::keymap::{Action, Context};
use crate::ui::model::board::index::Standing;
use crate::ui::model::board::{branches, index};
use crate::ui::panes::rows;
use crate::ui::shell::hints::{Hint, Urgency, hints};
use crate::ui::shell::layout::Layout;
use crate::ui::shell::tour;
use crate::ui::text::{fit, width, wrap};

/// A part of a line, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed<T> {
    /// Its cells.
    pub at: Rect,
    /// What it is.
    pub what: T,
}

impl<T> Placed<T> {
    /// The same place for what `make` makes of it.
    pub fn map<U>(self, make: impl FnOnce(T) -> U) -> Placed<U> {
        Placed {
            at: self.at,
            what: make(self.what),
        }
    }
}

/// A key on a card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Button {
    /// The key.
    pub key: String,
    /// What it does.
    pub words: &'static str,
    /// What pressing it does; `None` where a number is to be chosen.
    pub action: Option<Action>,
}

/// Columns of the mark before a message and of the blanks around it.
const MESSAGE_MARGIN: usize = 5;
/// Fewest columns of a message that is cut: with fewer it says nothing.
const MESSAGE_LEAST: usize = 16;

/// Puts parts of so many columns one behind the other into `row`; what does not fit is cut off or out.
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

/// The status message in the rows at the bottom: what stands above the hints, where it is too long for its place before
/// them, and what stands before them. Those hints that are always there, and those of a question, keep their place.
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
        // The line above is that of the player.
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

/// The columns of the message that stands before the hints.
fn message_room(state: &UiState, row: Rect) -> u16 {
    match message(state, row) {
        (_, before) if before.is_empty() => 0,
        (_, before) => u16::try_from(width(&before) + MESSAGE_MARGIN).unwrap_or(row.width),
    }
}

fn wide(hint: &Hint) -> usize {
    width(&hint.key) + width(&hint.words) + 3
}

/// Whether it is a key of the question that is asked: that waits for one of them.
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

/// The hints that fit into the line at the bottom, behind the message that may stand there.
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

/// Whether the tabs say how much is in their panes: only where there is room.
#[derive(Clone, Copy)]
enum Counts {
    Shown,
    Hidden,
}

/// The panes that share one place, with their words.
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
            let done = index(state).count(Standing::Done);
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

/// The buttons of a card that fit into its last row, the most needed first; none while they do not count.
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

/// The keys of the choices of a question, as `1-3`, or one by one where they do not follow one another.
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
            key(Action::Comment, "own words"),
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

/// What the buttons of a popup that asks do and say; none where it does not ask.
pub fn asked(state: &UiState, popup: &Popup) -> &'static [(Action, &'static str)] {
    match popup {
        Popup::Comment(comment) => match comment.stage {
            CommentStage::Writing if state.requests.is_question(&comment.request) => &[
                (Action::Accept, "send the answer"),
                (Action::Back, "cancel"),
            ],
            CommentStage::Writing => &[
                (Action::Accept, "go on to yes or no"),
                (Action::Back, "cancel"),
            ],
            CommentStage::Verdict => &[
                (Action::Approve, "approve with it"),
                (Action::Reject, "reject with it"),
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
            &[(Action::Accept, "end it"), (Action::Back, "let it go on")]
        }
        Popup::Confirm(Question::Release { .. }) => {
            &[(Action::Accept, "release"), (Action::Back, "leave it")]
        }
        Popup::Confirm(Question::RemoveTree(_)) => {
            &[(Action::Accept, "remove"), (Action::Back, "leave it")]
        }
        Popup::Confirm(Question::LoseTree(_)) => {
            &[(Action::Accept, "lose it"), (Action::Back, "leave it")]
        }
        Popup::Confirm(Question::ApproveSettings) => {
            &[(Action::Accept, "approve"), (Action::Back, "cancel")]
        }
        Popup::Confirm(Question::Complete(_)) => {
            &[(Action::Accept, "complete"), (Action::Back, "not")]
        }
        Popup::Confirm(Question::Merge(_)) if branches::to_merge(state).len() > 1 => &[
            (Action::Accept, "merge"),
            (Action::MergeAll, "all"),
            (Action::Diff, "look"),
            (Action::Back, "not"),
        ],
        Popup::Confirm(Question::Merge(_)) => &[
            (Action::Accept, "merge"),
            (Action::Diff, "look"),
            (Action::Back, "not"),
        ],
        Popup::Reader(_)
        | Popup::Picker(_)
        | Popup::Jobs { .. }
        | Popup::Costs(_)
        | Popup::Peek(_)
        | Popup::EventLog(_) => &[],
    }
}

/// The buttons of a popup that asks, in its last row.
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

/// The words at the end of the line of the demo that put it away; `None` where there is no such line.
pub fn tour_away(state: &UiState, row: Rect) -> Option<Placed<String>> {
    let line = tour::line(state)?;
    let words = format!(" {} hides ", tour::dismissed_by(state));
    // What is to be pressed next is worth more than how the line is put away, which the keys tell too.
    let fits = width(tour::MARK) + width(&line) + width(&words) <= usize::from(row.width);
    fits.then(|| at_the_end(row, words))
}

/// The words on the lower edge of a conversation's frame that follow the newest; `None` while it is followed.
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
        // A corner and a blank are behind it.
        width: area.width.saturating_sub(2),
        ..area
    };
    Some(at_the_end(edge, words))
}

/// The number and the name on a pane's frame.
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

/// The key that leads to a pane, as it stands on its frame and its tab; a long one has no room there.
pub fn pane_key(state: &UiState, pane: Pane) -> String {
    let key = state.keymap.key(Context::Panes, Action::Focus(pane));
    if width(&key) == 1 { key } else { "·".into() }
}
