//! Pure: what a key, an event or the clock changes on the screen, and what is to be done about it.

mod compose;
mod cursor;
mod events;
mod filter;
pub(in crate::ui) mod find;
mod first;
mod guard;
mod jump;
mod keep_selection;
mod mouse;
mod movement;
mod popups;
mod refused;
mod replay;
mod screen;
mod todo;
mod unknown;

use crate::ui::app::App;
use crate::ui::app::effect::Do;
use crate::ui::app::input::Completion;
use crate::ui::app::popup::{Popup, Text, Written};
use crate::ui::app::status_message::Flash;
use crate::ui::attention::Window;
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::keymap::{Action, Context, Found};
use crate::ui::keys;
use crate::ui::panes::lead::complete_update;
use crate::ui::panes::lead::complete_update::Taken;
use crate::ui::panes::needs::answers;
use crate::ui::panes::{board, needs};
use crate::ui::popups::confirm::{merge, task_actions};
use crate::ui::popups::{costs, event_log, reader, task_form, themes};
use crate::ui::replay::Player;
use crate::ui::shell::state::UiState;
pub use crate::ui::shell::update::replay::{begin as begin_replay, recall};
use crate::ui::shell::{ages, peek};
use crate::ui::theme::motion::{Motion, SPIN};

use crossterm::event::{KeyEvent, KeyEventKind, MouseEvent};
use ratatui::layout::Rect;

use crate::domain::stamp::Stamp;
use crate::protocol::event::Level;
use crate::protocol::{Command, Event};

/// What reaches the screen.
#[derive(Debug, Clone, PartialEq)]
#[allow(clippy::large_enum_variant)] // passed on once and never stored
pub enum Msg {
    /// A key was pressed, at that time.
    Key(KeyEvent, Stamp),
    /// Text was pasted.
    Paste(String),
    /// The mouse did something.
    Mouse(MouseEvent),
    /// The screen has another size: columns, rows.
    Resize(u16, u16),
    /// Something happened in the crew.
    Event(Event),
    /// Time has passed.
    Tick {
        /// The time.
        now: Stamp,
    },
    /// The terminal's window got or lost the keyboard.
    Window(Window),
    /// `$EDITOR` gave the message back. Answers [`Do::EditComposer`].
    Edited(String),
}

/// Takes `msg` in and says what is to be done. No IO, no clock: the same messages give the same screen.
pub fn update(state: &mut UiState, msg: Msg) -> Vec<Do> {
    let mut out = Vec::new();
    let may_write = !matches!(msg, Msg::Event(_) | Msg::Tick { .. } | Msg::Window(_));
    match msg {
        Msg::Key(key, now) => {
            guard::watch(state, |state| clock(state, now));
            state.attention.pressed(state.now);
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
        Msg::Event(event) => guard::watch(state, |state| hear(state, &event)),
        Msg::Tick { now } => guard::watch(state, |state| clock(state, now)),
        Msg::Window(window) => state.attention.window(window),
        Msg::Edited(text) => {
            let text = text.trim_end_matches('\n');
            let edited = state.input.drafts.edited.take();
            if let Some(lost) = edited.filter(|(id, _)| state.model.requests.get(id).is_none()) {
                let why = "The request was closed meanwhile.";
                answers::return_comment(state, &lost.1, text, why);
            } else if let Some(Popup::Comment(comment)) = state.popups.last_mut() {
                comment.text.set(text);
            } else if let Some(form) = task_form::update::form(state) {
                let text = form.fitting(text);
                form.writing().set(&text);
            } else {
                state.input.composer.set(text);
            }
            state.dirty = true;
        }
    }
    answers::follow(state);
    state.withdraw_stale();
    if may_write && state.dirty {
        compose::reveal(state);
    }
    out.extend(state.attention.due(state.now).map(Do::Call));
    replay::hold_back(state, &mut out);
    out
}

fn hear(state: &mut UiState, event: &Event) {
    // Before what follows from the board is out of date: it is looked up here.
    let selection = keep_selection::before(state, &event.kind);
    state.log(event);
    state.remember(event);
    events::worth_a_call(state, &event.kind);
    first::heard(state, &event.kind);
    events::event(state, event);
    keep_selection::after(state, selection);
}

/// Time has passed: on the wall, and in the recording where one is played.
fn clock(state: &mut UiState, now: Stamp) {
    if state.replay.is_some() {
        replay::go(state, now);
    } else {
        tick(state, now);
    }
}

fn tick(app: &mut App, now: Stamp) {
    let before = std::mem::replace(&mut app.now, now);
    if app.flash.as_ref().is_some_and(|f| f.until <= now) {
        app.flash = None;
        app.dirty = true;
    }
    let step = match app.prefs.motion {
        Motion::Full => SPIN.as_secs_f64(),
        Motion::Reduced => 1.0,
    };
    let turns = app.busy() > 0 && (before.0 / step).floor() < (now.0 / step).floor();
    app.dirty |= turns || ages::read_otherwise(app, before);
}

fn press(state: &mut UiState, key: KeyEvent, out: &mut Vec<Do>) {
    let Some(name) = keys::name_of(key) else {
        return;
    };
    state.dirty = true;
    state.pointer.clicked = None;
    if guard::ignores(state, key, &name) {
        return;
    }
    // Where time stands still, a message would stay for ever.
    let is_read = |flash: &Flash| flash.is_read(state.now);
    if state.replay.is_some() || state.flash.as_ref().is_some_and(is_read) {
        state.flash = None;
    }
    let contexts = state.contexts();
    let whole = match state.keys.prefix.take() {
        Some(first) => format!("{first} {name}"),
        None => name,
    };
    let found = state.prefs.keymap.lookup(&contexts, &whole);
    // The first key of a pair may be that of the interrupt: its second one tells.
    if !matches!(found, Found::Action(Action::Interrupt) | Found::Prefix) {
        compose::disarm(state);
    }
    match found {
        Found::Action(action) => {
            act(state, action, out);
            state.keys.left_composer &= action == Action::Back;
        }
        Found::Prefix => state.keys.prefix = Some(whole),
        // The second key of a pair that means nothing is dropped with the first one.
        Found::Nothing if whole.contains(' ') => {}
        Found::Nothing => {
            if let Some(action) = unknown::helps(state, &whole) {
                state.popups.clear();
                let is_there = |pane| state.focus == Focus::Pane(pane);
                if !matches!(action, Action::Focus(pane) if is_there(pane)) {
                    act(state, action, out);
                }
                return;
            }
            text_key(state, key);
            unknown::tell(state, &whole);
        }
    }
}

/// A key without another meaning: text, where there is a text field.
fn text_key(state: &mut UiState, key: KeyEvent) {
    let width = compose::width(state);
    match state.popups.last_mut().map(Popup::written) {
        Some(Some(Written::Search)) => reader::update::write(state, |words| {
            words.key(key);
        }),
        Some(Some(Written::Filter(words))) => {
            words.key(key);
        }
        Some(Some(Written::Choice(picker))) => {
            picker.search.key(key);
            picker.row = 0;
        }
        Some(Some(Written::Comment(text))) => text.key(key, width),
        Some(Some(Written::Task(form))) => form.writing().key(key, width),
        Some(None) => {}
        None => match state.focus {
            Focus::Composer => {
                state.input.composer.key(key, width);
                state.input.completion = Completion::Fresh;
            }
            Focus::Pane(pane) if state.is_filtering() => {
                filter::write(state, pane, |words| {
                    words.key(key);
                });
            }
            Focus::Pane(Pane::Lead) if state.is_searching() => {
                find::write(state, |words| {
                    words.key(key);
                });
            }
            Focus::Pane(_) => {}
        },
    }
}

fn paste(state: &mut UiState, text: &str) {
    state.dirty = true;
    compose::disarm(state);
    let is_searching = state.is_searching();
    match state.popups.last_mut().map(Popup::written) {
        Some(Some(Written::Search)) => reader::update::write(state, |words| words.insert(text)),
        Some(Some(Written::Filter(words))) => words.insert(text),
        Some(Some(Written::Choice(picker))) => {
            picker.search.insert(text);
            picker.row = 0;
        }
        Some(Some(Written::Comment(comment))) => {
            let pasted = comment.paste(text);
            compose::report(state, pasted);
        }
        Some(Some(Written::Task(form))) => {
            let text = form.fitting(text);
            let pasted = form.writing().paste(&text);
            compose::report(state, pasted);
        }
        Some(None) => {}
        None if is_searching => find::write(state, |words| words.insert(text)),
        None => match state.focus {
            Focus::Pane(pane) if state.is_filtering() => {
                filter::write(state, pane, |words| words.insert(text));
            }
            Focus::Composer => {
                let pasted = state.input.composer.paste(text);
                compose::report(state, pasted);
            }
            // A paste into the panes would be a row of single keys: nobody means that.
            Focus::Pane(_) => {
                let key = state.prefs.keymap.key(Context::Panes, Action::Compose);
                state.say(Level::Info, format!("Press {key} to write, then paste."));
            }
        },
    }
}

/// Carries `action` out.
#[allow(clippy::too_many_lines)] // every action, once
fn act(state: &mut UiState, action: Action, out: &mut Vec<Do>) {
    let refused = state.seat.refuses(action);
    let refused = refused.or_else(|| first::refuses(state, action));
    if let Some(why) = refused.or_else(|| replay::refuses(state, action)) {
        state.say(Level::Info, why);
        return;
    }
    match action {
        Action::Help => popups::help(state),
        Action::Palette => popups::palette(state),
        Action::EventLog => event_log::update::open(state),
        Action::Trouble => event_log::update::trouble(state),
        Action::Problems => popups::push(state, Popup::read(Text::Problems)),
        Action::Costs => costs::update::open(state),
        Action::Peek => peek::update::open(state),
        Action::Todo => todo::turn(state, out),
        Action::Print => out.extend(find::whole(state).map(Do::Print)),
        Action::ReadOutside => out.extend(find::whole(state).map(Do::ReadOutside)),
        Action::Skills => popups::skills(state),
        Action::Models => popups::models(state, out),
        Action::Themes => themes::update::open(state),
        Action::Enlarge => movement::enlarge(state),
        Action::Restore => state.arrangement.zoom = None,
        Action::Layout => screen::next(state, out),
        Action::Jobs => popups::jobs(state),
        Action::Kill => popups::kill(state, out),
        Action::Subagent => movement::subagent(state),
        Action::Compact => compose::compact(state, "", out),
        Action::Open => popups::open(state),
        Action::Filter => popups::filter(state),
        Action::Accept => {
            let next = match complete_update::take(state) {
                Taken::Command(action) => Some(action),
                Taken::Name => None,
                Taken::Nothing => popups::accept(state, out),
            };
            if let Some(next) = next {
                act(state, next, out);
            }
        }
        Action::TurnBoard => {
            let area = movement::board_area(state);
            board::update::turn(state, area);
        }
        Action::Pan(toward) => {
            let area = movement::board_area(state);
            board::update::pan(state, area, toward);
        }
        Action::ZoomIn => {
            let (area, zoom) = (movement::board_area(state), state.board_view.camera.zoom);
            board::update::zoom(state, area, zoom.nearer());
        }
        Action::ZoomOut => {
            let (area, zoom) = (movement::board_area(state), state.board_view.camera.zoom);
            board::update::zoom(state, area, zoom.farther());
        }
        Action::Copy => popups::copy(state, out),
        Action::CopyMenu => find::copy_menu(state),
        Action::Search => find::begin(state),
        Action::NextMatch => find::next(state, movement::Way::Forward),
        Action::PrevMatch => find::next(state, movement::Way::Back),
        Action::NextPrompt => find::prompt(state, movement::Way::Forward),
        Action::PrevPrompt => find::prompt(state, movement::Way::Back),
        Action::NextFile => reader::update::file(state, movement::Way::Forward),
        Action::PrevFile => reader::update::file(state, movement::Way::Back),
        Action::Waiting => movement::waiting(state),
        Action::Focus(pane) => movement::focus_or_zoom(state, pane),
        Action::NextPane => movement::cycle(state, movement::Way::Forward),
        Action::PrevPane => movement::cycle(state, movement::Way::Back),
        Action::Compose => movement::compose(state),
        Action::Move(by) => movement::scroll(state, by),
        Action::Next => movement::neighbour(state, movement::Way::Forward),
        Action::Prev => movement::neighbour(state, movement::Way::Back),
        Action::Follow => movement::follow(state),
        Action::Back => movement::back(state),
        Action::Close => movement::close(state, out),
        Action::Mouse => screen::give_mouse(state, out),
        Action::Interrupt => compose::interrupt(state, out),
        Action::Send => {
            if let Some(next) = compose::send(state, out) {
                act(state, next, out);
            }
        }
        Action::Complete => complete_update::put_in(state),
        Action::Newline => compose::newline(state),
        Action::Older => state.input.composer.older(compose::width(state)),
        Action::Newer => state.input.composer.newer(compose::width(state)),
        Action::DeleteToStart => compose::delete_to_start(state),
        Action::EditOutside => compose::edit_outside(state, out),
        Action::Approve => {
            let area = movement::needs_area(state);
            needs::update::approve(state, area, out);
        }
        Action::ApproveForTeam => {
            let area = movement::needs_area(state);
            needs::update::choose_scope(state, area);
        }
        Action::Rules => popups::rules(state),
        Action::Reject => {
            let area = movement::needs_area(state);
            needs::update::reject(state, area, out);
        }
        Action::Comment => needs::update::comment(state),
        Action::Claim => task_actions::claim(state, out),
        Action::Release => task_actions::release(state, out),
        Action::CompleteTask => task_actions::complete(state, out),
        Action::RemoveTree => task_actions::ask_removal(state, out),
        Action::CopyPlace => task_actions::copy_place(state, out),
        Action::AddTask => task_form::update::add(state),
        Action::EditTask => task_form::update::edit(state),
        Action::NextField => task_form::update::turn(state, movement::Way::Forward),
        Action::PrevField => task_form::update::turn(state, movement::Way::Back),
        Action::TurnWait => task_form::update::turn_wait(state),
        Action::Merge => merge::ask(state),
        Action::MergeAll => merge::all(state, out),
        Action::Diff => popups::ask_diff(state, out),
        Action::EditComment => needs::update::edit_comment(state, out),
        Action::Choose(number) => needs::update::choose(state, number, out),
        Action::AskShutdown => needs::update::ask_shutdown(state, out),
        Action::Force => needs::update::force(state),
        Action::Nudge => needs::update::nudge(state, out),
        Action::StartDemo
        | Action::LookAgain
        | Action::MakeRepository
        | Action::ApproveSettings
        | Action::WithoutSettings => {
            first::take_up(state, action, out);
        }
        Action::DismissTour => state.tour = state.tour.turned(),
        Action::PauseOrPlay => replay::turn(state, Player::pause_or_play),
        Action::Step => replay::turn(state, Player::step),
        Action::StepBack => replay::turn(state, Player::step_back),
        Action::Jump => replay::turn(state, Player::jump),
        Action::JumpBack => replay::turn(state, Player::jump_back),
        Action::Faster => replay::speed(state, Player::faster),
        Action::Slower => replay::speed(state, Player::slower),
        Action::Suspend => out.push(Do::Suspend),
        Action::Quit => out.push(Do::Quit),
    }
}
