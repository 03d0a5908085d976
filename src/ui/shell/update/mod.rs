//! Pure state update: applies keys, mouse, events and time to the UI state and returns effects.

pub(in crate::ui) mod act;
mod answer;
pub(in crate::ui) mod apply;
mod compose;
mod cursor;
mod events;
mod guard;
mod history;
mod jump;
mod keep_selection;
mod mouse;
pub(in crate::ui) mod movement;
mod popups;
pub(in crate::ui) mod press;
mod rejected;
mod replay;
mod rewound;
mod screen;
mod slash;
mod unknown;
mod user_shell;

pub use slash::INIT_PROMPT;

use crossterm::event::{KeyEvent, KeyEventKind, MouseEvent};
use ratatui::layout::Rect;

use crate::domain::timestamp::Timestamp;
use crate::protocol::Event;
use crate::ui::app::answering;
use crate::ui::app::effect::Effect;
use crate::ui::app::mentions::FoundFiles;
use crate::ui::app::popup::TextInput;
use crate::ui::notifier::WindowFocus;
use crate::ui::panes::lead::{complete_update, offers};
use crate::ui::panes::needs::{answers, focus};
use crate::ui::pictures::PictureUpdate;
use crate::ui::shell::layout::areas;
use crate::ui::shell::state::UiState;
use crate::ui::shell::tour;
use crate::ui::shell::update::apply::apply_event;
use crate::ui::shell::update::press::{paste, press};
use crate::ui::shell::update::replay::clock;
pub use crate::ui::shell::update::replay::{begin as begin_replay, recall};

/// An input of [`update`]: a key, the mouse, an event of the crew, the time, or an answer to an effect.
#[derive(Debug, Clone, PartialEq)]
#[allow(clippy::large_enum_variant)] // passed on once and never stored
pub enum Msg {
    /// A key press and its time. The time is needed to detect double presses, and keys pressed just after a change of
    /// focus.
    Key(KeyEvent, Timestamp),
    Paste(String),
    Mouse(MouseEvent),
    /// The new size of the terminal: width in columns, height in rows.
    Resize(u16, u16),
    Event(Event),
    Tick {
        now: Timestamp,
    },
    Window(WindowFocus),
    /// The sent messages of earlier sessions, oldest first. Answers [`Effect::LoadHistory`].
    History(Vec<String>),
    /// The text that the user has saved in `$EDITOR`. Answers [`Effect::EditComposer`].
    Edited(String),
    /// Files that match the mention that the user is typing. Answers the query that `App::file_query` has returned.
    Files(FoundFiles),
    /// A picture was loaded, could not be loaded, or was removed from memory.
    Picture(PictureUpdate),
}

/// Applies `msg` to the state and returns the effects that the caller must run. Does no IO and reads no clock, so the
/// same sequence of messages always results in the same state.
pub fn update(state: &mut UiState, msg: Msg) -> Vec<Effect> {
    let mut out = Vec::new();
    let may_write = !matches!(
        msg,
        Msg::Event(_) | Msg::Tick { .. } | Msg::Window(_) | Msg::Files(_) | Msg::Picture(_)
    );
    match msg {
        Msg::Key(key, now) => {
            guard::watch(state, |state| clock(state, now));
            state.notifier.record_key(state.now);
            if key.kind != KeyEventKind::Release {
                press(state, key, &mut out);
            }
        }
        Msg::Paste(text) => paste(state, &text),
        Msg::Mouse(event) => mouse::mouse(state, event, &mut out),
        Msg::Resize(width, height) => {
            state.size = Rect::new(0, 0, width, height);
            state.dirty = true;
        }
        Msg::Event(event) => guard::watch(state, |state| apply_event(state, &event)),
        Msg::Tick { now } => guard::watch(state, |state| clock(state, now)),
        Msg::History(saved) => history::on_history_loaded(state, saved, &mut out),
        Msg::Window(window) => state.notifier.set_focus(window),
        Msg::Edited(text) => {
            let text = text.trim_end_matches('\n');
            let edited = state.input.drafts.in_editor.take();
            if let Some(lost) = edited.filter(|(id, _)| state.model.requests.get(id).is_none()) {
                let why = "The request was closed in the meantime.";
                answers::return_comment(state, &lost.1, text, why);
            } else {
                let put = |input: TextInput<'_>| {
                    let text = input.fit(text);
                    if let TextInput::Area { text: edited, .. } = input {
                        edited.set(&text);
                    }
                };
                if !compose::edit_popup(state, put) {
                    state.input.composer.set(text);
                }
            }
            state.dirty = true;
        }
        Msg::Picture(news) => state.update_picture(news),
        Msg::Files(found) => {
            let UiState { app, panes, .. } = state;
            complete_update::show_files(&mut panes.lead, app, found);
            state.dirty = true;
        }
    }
    state.pass_pane_requests();
    answers::sync_empty_draft(state);
    answering::record_shown(state);
    focus::forget_closed(&mut state.panes.needs, &state.app);
    tour::record_followed(state);
    state.withdraw_stale();
    state.withdraw_elsewhere();
    withdraw_nothing_to_preview(state);
    if may_write && state.dirty {
        compose::reveal(state);
        offers::ask(state, &mut out);
    }
    out.extend(state.notifier.take_due(state.now).map(Effect::Notify));
    replay::hold_back(state, &mut out);
    out
}

/// Removes the status message that says why no preview can be opened once the pane to which the message refers has
/// something to preview.
fn withdraw_nothing_to_preview(state: &mut UiState) {
    let pane = state.status.as_ref().and_then(|message| message.nothing_in);
    let can_peek = |pane| {
        let area = areas::frame_of(state, pane);
        state.panes.get(pane).can_peek(state, area)
    };
    if pane.is_some_and(can_peek) {
        state.status = None;
        state.dirty = true;
    }
}
