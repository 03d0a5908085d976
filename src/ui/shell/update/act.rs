//! Runs the actions of the keymap.

use crate::domain::request::Verdict;
use crate::ui::app::effect::Effect;
use crate::ui::app::popup::Next;
use crate::ui::app::{answering, drafts, onboarding};
use crate::ui::frame::navigation;
use crate::ui::keymap::Action;
use crate::ui::keymap::direction::Way;
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::popups::{by_name, help, models, palette};
use crate::ui::replay::Player;
use crate::ui::shell::state::UiState;
use crate::ui::shell::update::{
    answer, compose, history, movement, popups, replay, screen, slash, unknown,
};
use crate::ui::shell::{layout, peek};

/// Runs `action`. Returns `false` if no popup, no pane and no other part of the screen handles it. An action that is
/// refused, for example in a replay, counts as handled: a status message says why. An action that only popups run always
/// counts as handled.
#[allow(clippy::too_many_lines)] // every action, once
pub fn act(state: &mut UiState, action: Action, out: &mut Vec<Effect>) -> bool {
    state.pass_pane_requests();
    let refused = state.role.refuses(action);
    let refused = refused.or_else(|| onboarding::refuses(state, action));
    if let Some(why) = refused.or_else(|| replay::refuses(state, action)) {
        state.say(why);
        return true;
    }
    let next = state.with_popup(|popup, app| popup.act(app, action, out));
    if next != Next::Pass {
        follow(state, next, out);
        return true;
    }
    match action {
        Action::Help => {
            let contexts = state.contexts();
            help::open(state, contexts);
        }
        Action::Palette => {
            if palette::make_room(state) {
                let contexts = state.contexts();
                palette::open(state, contexts);
            }
        }
        Action::Popup(name) => {
            if let Some(popup) = by_name(name) {
                (popup.open)(state);
            }
        }
        Action::Peek => peek::update::open(state),
        Action::Models => models::open(state, out),
        Action::Enlarge if state.arrangement.zoom.is_some() => state.arrangement.zoom = None,
        Action::Enlarge => movement::enlarge(state),
        Action::Restore => state.arrangement.zoom = None,
        Action::Layout => screen::next(state, out),
        Action::Subagent => navigation::show_subagent(state),
        // In the team, a rewind is about the selected teammate.
        Action::Rewind if state.focus == Focus::Pane(Pane::Team) => {
            return act_in_pane(state, action, out);
        }
        Action::Compact
        | Action::Clear
        | Action::Rewind
        | Action::NewSession
        | Action::Sessions
        | Action::Init
        | Action::Memory
        | Action::Export
        | Action::Doctor => slash::act(state, action, "", out),
        Action::Open => popups::open(state),
        Action::Filter => popups::filter(state),
        Action::Accept => {
            if let Some(next) = popups::accept(state) {
                act(state, next, out);
            }
        }
        Action::Copy => popups::copy(state, out),
        Action::Search | Action::NextPrompt | Action::PrevPrompt => {
            // The pane gets the focus first, because the focus can change the pane's area.
            navigation::focus(state, Pane::Lead);
            return act_in_pane(state, action, out);
        }
        Action::Focus(pane) => movement::focus_or_zoom(state, pane),
        Action::NextPane => movement::cycle(state, Way::Forward),
        Action::PrevPane => {
            unknown::explain_modes(state);
            movement::cycle(state, Way::Back);
        }
        Action::Compose => navigation::compose(state),
        // A list that covers the panes, such as the completion list, handles the movement first.
        Action::Move(by) => {
            if !act_in_pane(state, action, out) {
                movement::scroll(state, by);
            }
        }
        Action::Next => movement::neighbour(state, Way::Forward),
        Action::Prev => movement::neighbour(state, Way::Back),
        Action::Follow => movement::follow(state),
        Action::Back => movement::back(state),
        Action::Close => movement::close(state, out),
        Action::Mouse => screen::toggle_mouse(state, out),
        Action::Interrupt => compose::interrupt(state, out),
        Action::Send if compose::continues_line(state) => {}
        Action::Send if answer::show_hidden_choice(state) => {}
        Action::Send => {
            if let Some(next) = compose::send(state, out) {
                act(state, next, out);
            }
        }
        Action::ApproveShown => answer::decide(state, Verdict::Approve, out),
        Action::RejectShown => answer::decide(state, Verdict::Reject, out),
        Action::Choose(number) if answering::takes_click(state) => {
            answer::choose(state, number, out);
        }
        Action::Newline => compose::newline(state),
        Action::Older => history::older(state, out),
        Action::Newer => {
            let width = compose::width(state);
            state.input.composer.cursor_down_or_recall(width);
        }
        Action::DeleteToStart
        | Action::DeleteToEnd
        | Action::DeleteWord
        | Action::DeletePrevWord
        | Action::DeleteNextWord
        | Action::Yank
        | Action::YankPop
        | Action::Undo
        | Action::Redo => compose::edit_text(state, action),
        Action::SearchHistory => history::search(state, out),
        Action::UnfoldPaste if state.input.composer.unfold() => {}
        Action::UnfoldPaste | Action::ToggleOutput => compose::toggle_output(state),
        Action::EditInEditor => drafts::edit_outside(state, out),
        Action::ToggleTips => state.is_tour_dismissed = !state.is_tour_dismissed,
        Action::PauseOrPlay => replay::move_with(state, Player::pause_or_play),
        Action::Step => replay::move_with(state, Player::step),
        Action::StepBack => replay::move_with(state, Player::step_back),
        Action::Jump => replay::move_with(state, Player::jump),
        Action::JumpBack => replay::move_with(state, Player::jump_back),
        Action::Faster => replay::speed(state, Player::faster),
        Action::Slower => replay::speed(state, Player::slower),
        Action::Suspend => out.push(Effect::Suspend),
        Action::Redraw => out.push(Effect::Redraw),
        action if action.is_only_in_popups() => {}
        _ => return act_in_pane(state, action, out),
    }
    true
}

/// Offers `action` to one pane after the other, with or without the focus, until a pane handles it. Returns `false` if no
/// pane handles it.
fn act_in_pane(state: &mut UiState, action: Action, out: &mut Vec<Effect>) -> bool {
    let layout = layout::layout(state, state.size);
    Pane::ALL.into_iter().any(|pane| {
        let feature = state.panes.get_mut(pane);
        feature.act(&mut state.app, layout.pane(pane), action, out)
    })
}

/// Runs the action that `next`, the result of an input to a popup, asks for. Does nothing if it asks for none.
pub fn follow(state: &mut UiState, next: Next, out: &mut Vec<Effect>) {
    if let Some(action) = next.action() {
        act(state, action, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::fixture::busy;
    use crate::ui::keymap::{SLASH, TABLE};

    #[test]
    fn every_action_is_handled() {
        let bound = TABLE.iter().map(|binding| binding.action);
        let typed = SLASH.iter().map(|(_, action, _)| *action);
        for action in bound.chain(typed) {
            let mut state = busy(160, 45);
            let is_handled = act(&mut state, action, &mut Vec::new());
            assert!(is_handled, "nothing handles {action:?}");
        }
    }
}
