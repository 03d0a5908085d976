//! The buttons of a request card.

use ratatui::layout::Rect;

use crate::domain::request::{Request, RequestKind};
use crate::ui::app::App;
use crate::ui::app::Preferences;
use crate::ui::frame::buttons::Button;
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::keymap::{Action, Context};
use crate::ui::text::width;
use crate::ui::widgets::placed::{PlacedPart, place};

/// Returns the buttons of a request's card, most important first, as far as they fit into `row`, the card's row for
/// buttons. Returns none if the pane does not have the focus or the user has already decided the request.
pub fn buttons(app: &App, request: &Request, row: Rect) -> Vec<PlacedPart<Button>> {
    let is_open = app.focus == Focus::Pane(Pane::Needs);
    if !is_open || app.model.requests.is_answered(&request.id) {
        return Vec::new();
    }
    let mut room = usize::from(row.width);
    let mut shown = Vec::new();
    for button in all_buttons(app, request) {
        let wide = width(&button.key) + width(button.words) + 1;
        if wide > room {
            break;
        }
        room = room.saturating_sub(wide + 3);
        shown.push((wide + 3, button));
    }
    place(row, shown)
}

/// Returns the keys that choose among the `count` choices of a question: as a range such as `1-3` if the keys are the
/// numbers from 1 on, otherwise each key.
pub fn choice_keys(prefs: &Preferences, count: usize) -> String {
    let key = |number| prefs.keymap.key(Context::Choices, Action::Choose(number));
    let keys: Vec<String> = (1..=count).map(key).collect();
    let follow = |(at, key): (usize, &String)| *key == (at + 1).to_string();
    match keys.as_slice() {
        [first, .., last] if keys.iter().enumerate().all(follow) => format!("{first}-{last}"),
        keys => keys.join(" "),
    }
}

pub fn all_buttons(app: &App, request: &Request) -> Vec<Button> {
    let key = |action, words| Button {
        key: app.prefs.keymap.key(Context::In(Pane::Needs), action),
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
                key: choice_keys(&app.prefs, count),
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
            | RequestKind::Budget,
            _,
        ) => {
            let mut keys = vec![
                key(Action::Approve, "approve"),
                key(Action::Reject, "reject"),
            ];
            let has_scopes = request.call.as_ref().is_some_and(|c| !c.scopes.is_empty());
            if has_scopes && app.role.refuses(Action::ApproveForTeam).is_none() {
                keys.push(key(Action::ApproveForTeam, "for the team"));
            }
            keys.extend([key(Action::Comment, "comment"), open]);
            keys
        }
    }
}
