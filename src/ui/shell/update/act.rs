//! Carries out the actions of the key map.

use crate::protocol::event::NoticeLevel;
use crate::ui::app::effect::Effect;
use crate::ui::app::popup::Next;
use crate::ui::app::{App, drafts};
use crate::ui::frame::navigation;
use crate::ui::keymap::Action;
use crate::ui::keymap::direction::Way;
use crate::ui::panes::board::user_actions;
use crate::ui::panes::lead::complete_update;
use crate::ui::panes::lead::complete_update::Accepted;
use crate::ui::panes::{board, needs};
use crate::ui::popups::{by_name, copy_menu, help, models, palette, task_form};
use crate::ui::replay::Player;
use crate::ui::shell::peek;
use crate::ui::shell::state::UiState;
use crate::ui::shell::update::{
    areas, compose, find, first, movement, popups, replay, screen, todo,
};

/// Runs `action`.
#[allow(clippy::too_many_lines)] // every action, once
pub fn act(state: &mut UiState, action: Action, out: &mut Vec<Effect>) {
    let refused = state.role.refuses(action);
    let refused = refused.or_else(|| first::refuses(state, action));
    if let Some(why) = refused.or_else(|| replay::refuses(state, action)) {
        state.say(NoticeLevel::Info, why);
        return;
    }
    let next = state.with_popup(|popup, app| popup.act(app, action, out));
    if next != Next::Pass {
        return follow(state, next, out);
    }
    match action {
        Action::Help => {
            let contexts = state.contexts();
            help::open(state, contexts);
        }
        Action::Palette => palette::open(state, App::contexts),
        Action::Popup(name) => {
            if let Some(popup) = by_name(name) {
                (popup.open)(state);
            }
        }
        Action::Peek => peek::update::open(state),
        Action::Todo => todo::turn(state, out),
        Action::Print => out.extend(find::whole(state).map(Effect::Print)),
        Action::ReadOutside => out.extend(find::whole(state).map(Effect::OpenInEditor)),
        Action::Models => models::open(state, out),
        Action::Enlarge => movement::enlarge(state),
        Action::Restore => state.arrangement.zoom = None,
        Action::Layout => screen::next(state, out),
        Action::Subagent => navigation::subagent(state),
        Action::Compact => compose::compact(state, "", out),
        Action::Open => popups::open(state),
        Action::Filter => popups::filter(state),
        Action::Accept => {
            let next = match complete_update::take(state) {
                Accepted::Command(action) => Some(action),
                Accepted::Name => None,
                Accepted::Nothing => {
                    popups::accept(state);
                    None
                }
            };
            if let Some(next) = next {
                act(state, next, out);
            }
        }
        Action::TurnBoard => {
            let area = areas::board_area(state);
            board::update::turn(state, area);
        }
        Action::Pan(toward) => {
            let area = areas::board_area(state);
            board::update::pan(state, area, toward);
        }
        Action::ZoomIn => {
            let (area, zoom) = (areas::board_area(state), state.board_view.camera.zoom);
            board::update::zoom(state, area, zoom.nearer());
        }
        Action::ZoomOut => {
            let (area, zoom) = (areas::board_area(state), state.board_view.camera.zoom);
            board::update::zoom(state, area, zoom.farther());
        }
        Action::Copy => popups::copy(state, out),
        Action::CopyMenu => copy_menu::open(state),
        Action::Search => find::begin(state),
        Action::NextMatch => find::next(state, Way::Forward),
        Action::PrevMatch => find::next(state, Way::Back),
        Action::NextPrompt => find::prompt(state, Way::Forward),
        Action::PrevPrompt => find::prompt(state, Way::Back),
        Action::Waiting => navigation::waiting(state),
        Action::Focus(pane) => movement::focus_or_zoom(state, pane),
        Action::NextPane => movement::cycle(state, Way::Forward),
        Action::PrevPane => movement::cycle(state, Way::Back),
        Action::Compose => navigation::compose(state),
        Action::Move(by) => movement::scroll(state, by),
        Action::Next => movement::neighbour(state, Way::Forward),
        Action::Prev => movement::neighbour(state, Way::Back),
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
        Action::Older => {
            let width = compose::width(state);
            state.input.composer.cursor_up_or_recall(width);
        }
        Action::Newer => {
            let width = compose::width(state);
            state.input.composer.cursor_down_or_recall(width);
        }
        Action::DeleteToStart => compose::delete_to_start(state),
        Action::EditOutside => drafts::edit_outside(state, out),
        Action::Approve => {
            let area = areas::needs_area(state);
            needs::update::approve(state, area, out);
        }
        Action::ApproveForTeam => {
            let area = areas::needs_area(state);
            needs::update::choose_scope(state, area);
        }
        Action::Reject => {
            let area = areas::needs_area(state);
            needs::update::reject(state, area, out);
        }
        Action::Comment => needs::update::comment(state),
        Action::Claim => user_actions::claim(state, out),
        Action::Release => user_actions::release_selected(state, out),
        Action::CompleteTask => user_actions::complete_selected(state, out),
        Action::RemoveTree => user_actions::ask_removal(state, out),
        Action::CopyPlace => user_actions::copy_place(state, out),
        Action::AddTask => task_form::add(state),
        Action::EditTask => user_actions::edit(state),
        Action::TurnWait => {
            let selected = board::selected(state).map(|(_, id)| id);
            task_form::toggle_blocker(state, selected);
        }
        Action::Merge => user_actions::merge(state),
        Action::Diff => user_actions::ask_diff(state, out),
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
        Action::DismissTour => state.is_tour_dismissed = !state.is_tour_dismissed,
        Action::PauseOrPlay => replay::turn(state, Player::pause_or_play),
        Action::Step => replay::turn(state, Player::step),
        Action::StepBack => replay::turn(state, Player::step_back),
        Action::Jump => replay::turn(state, Player::jump),
        Action::JumpBack => replay::turn(state, Player::jump_back),
        Action::Faster => replay::speed(state, Player::faster),
        Action::Slower => replay::speed(state, Player::slower),
        Action::Suspend => out.push(Effect::Suspend),
        Action::Quit => out.push(Effect::Quit),
        // Only a popup handles these.
        Action::Trouble
        | Action::Kill
        | Action::NextFile
        | Action::PrevFile
        | Action::NextField
        | Action::PrevField
        | Action::MergeAll => {}
    }
}

/// Runs the action that a popup asked for.
pub fn follow(state: &mut UiState, next: Next, out: &mut Vec<Effect>) {
    if let Some(action) = next.action() {
        act(state, action, out);
    }
}
