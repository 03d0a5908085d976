//! The buttons of a request card.

use ratatui::layout::Rect;

use crate::domain::request::{Request, RequestKind};
use crate::ui::app::App;
use crate::ui::frame::buttons::Button;
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::keymap::{Action, Context};
use crate::ui::text::width;
use crate::ui::widgets::placed::{Placed, place};

/// The buttons of a card that fit into its last row, the most needed first; none while they do not count.
pub fn buttons(app: &App, request: &Request, row: Rect) -> Vec<Placed<Button>> {
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

/// The keys of the choices of a question, as `1-3`, or one by one where they do not follow one another.
pub fn choice_keys(app: &App, count: usize) -> String {
    let key = |number| {
        app.prefs
            .keymap
            .key(Context::Choices, Action::Choose(number))
    };
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
                key: choice_keys(app, count),
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
            if has_scopes && app.seat.refuses(Action::ApproveForTeam).is_none() {
                keys.push(key(Action::ApproveForTeam, "for the team"));
            }
            keys.extend([key(Action::Comment, "comment"), open]);
            keys
        }
    }
}
