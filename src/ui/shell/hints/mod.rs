//! The hint line: which keys have an effect in the current state. Other keys are not shown.

pub(in crate::ui) mod bars;
pub(in crate::ui) mod words;

use crate::domain::request::RequestKind;
use crate::domain::task::Task;
use crate::domain::team::MemberStatus;
use crate::ui::app::Preferences;
use crate::ui::app::{App, onboarding};
use crate::ui::frame::{CLEAR_FILTER, END_SEARCH};
use crate::ui::keymap::direction::Scroll;
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::keymap::{Action, Context, KeyBinding, KeyLookup};
use crate::ui::model::board::branches;
use crate::ui::panes::board::TaskAction;
use crate::ui::panes::{board, needs, team};
use crate::ui::popups;
use crate::ui::popups::task_form::form::TaskForm;
use crate::ui::shell::hints::words::words;
use crate::ui::shell::peek::{self, Peek};
use crate::ui::shell::state::UiState;
use crate::ui::{keys, panes};

/// An entry of the hint line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hint {
    /// The key.
    pub key: String,
    /// The label.
    pub words: String,
    /// The action of the key.
    pub action: Action,
    /// The priority.
    pub urgency: Urgency,
}

/// The priority of a hint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Urgency {
    /// Shown if there is room.
    Usual,
    /// Highlighted and shown first: something waits for the user.
    Now,
    /// Always shown: the key of the help.
    Always,
}

/// Returns the keys that have an effect now, most useful first.
pub fn hints(state: &UiState) -> Vec<Hint> {
    if let Some(first) = &state.keys.prefix {
        let contexts = state.contexts();
        let bound = contexts
            .iter()
            .flat_map(|c| state.prefs.keymap.in_context(*c));
        let pairs = bound.flat_map(|b| b.keys.iter().map(move |key| (key, b.words, b.action)));
        return pairs
            .filter(|(key, ..)| key.split_once(' ').is_some_and(|(a, _)| a == first))
            .map(|(key, words, action)| Hint {
                key: keys::shown(key),
                words: words.into(),
                action,
                urgency: Urgency::Usual,
            })
            .collect();
    }
    let contexts = state.contexts();
    let mut out: Vec<Hint> = Vec::new();
    for binding in contexts
        .iter()
        .flat_map(|c| state.prefs.keymap.in_context(*c))
    {
        if binding.hint.is_empty() || binding.keys.is_empty() || !does_something(state, binding) {
            continue;
        }
        // A narrower context may bind the same key to another action.
        let meant = KeyLookup::Action(binding.action);
        let means = |key: &&String| state.prefs.keymap.lookup(&contexts, key) == meant;
        let Some(key) = binding.keys.iter().find(means) else {
            continue;
        };
        let hint = Hint {
            key: both_ways(&state.prefs, binding, key),
            words: words(state, binding),
            action: binding.action,
            urgency: if binding.action == Action::Waiting {
                Urgency::Now
            } else if binding.action == Action::Help {
                Urgency::Always
            } else {
                Urgency::Usual
            },
        };
        // Skip a label or key that is already shown: the hints of narrower contexts come first.
        let is_told = |h: &Hint| h.words == hint.words || h.key == hint.key;
        if !out.iter().any(is_told) {
            out.push(hint);
        }
    }
    out.sort_by_key(|hint| place(state, hint));
    out
}

/// Returns the key as shown. For scrolling the preview, the keys of both directions.
fn both_ways(prefs: &Preferences, binding: &KeyBinding, key: &str) -> String {
    let shown = keys::shown(key);
    if binding.context != Context::Peek || binding.action != Action::Move(Scroll::PageDown) {
        return shown;
    }
    let up = prefs
        .keymap
        .key(Context::Peek, Action::Move(Scroll::PageUp));
    format!("{up} {shown}")
}

/// Returns the sort key of a hint: first what waits for the user, then leaving a filter or search, and deciding a request
/// in the preview, then the rest. On a narrow screen the rest may not fit.
fn place(app: &App, hint: &Hint) -> u8 {
    let ends = [CLEAR_FILTER, END_SEARCH].contains(&hint.words.as_str());
    let is_peek = app.popups.top::<Peek>().is_some();
    let answers = [Action::Approve, Action::Reject].contains(&hint.action);
    match (hint.urgency, ends || is_peek && answers) {
        (Urgency::Now, _) => 0,
        (_, true) => 1,
        (Urgency::Usual | Urgency::Always, false) => 2,
    }
}

fn selected_task(app: &App) -> Option<&Task> {
    board::selected(app).and_then(|(_, id)| app.model.board.get(id))
}

/// Whether the user can do `action` with the selected task.
fn can(app: &App, action: TaskAction) -> bool {
    selected_task(app).is_some_and(|task| board::why_not(app, task, action).is_none())
}

/// Whether `action` needs a running crew. Such actions have no effect in a replay.
pub fn acts_on_the_crew(action: Action) -> bool {
    matches!(
        action,
        Action::Approve
            | Action::ApproveForTeam
            | Action::Reject
            | Action::Comment
            | Action::EditComment
            | Action::Choose(_)
            | Action::AskShutdown
            | Action::Force
            | Action::Nudge
            | Action::Claim
            | Action::Release
            | Action::CompleteTask
            | Action::AddTask
            | Action::RemoveTree
            | Action::EditTask
            | Action::Merge
            | Action::MergeAll
            | Action::Diff
            | Action::Compose
            | Action::Models
            | Action::Kill
            | Action::Interrupt
            | Action::Compact
    )
}

/// Whether the action of `binding` would have an effect now.
#[allow(clippy::too_many_lines)] // one match over all actions
fn does_something(state: &UiState, binding: &KeyBinding) -> bool {
    let focus = state.focus;
    let pane = panes::feature::feature(focus.pane());
    let in_panes = state.popups.is_empty();
    let is_recording = state.replay.is_some() && acts_on_the_crew(binding.action);
    if is_recording || state.role.refuses(binding.action).is_some() {
        return false;
    }
    if binding.context != Context::Everywhere
        && let Some(popup) = state.popups.last()
        && let Some(offers) = popup.offers(state, binding.action)
    {
        return offers;
    }
    match binding.action {
        Action::Waiting => {
            in_panes && state.model.requests.for_person() > 0 && focus != Focus::Pane(Pane::Needs)
        }
        Action::Interrupt => in_panes && state.role.is_crew() && state.is_running(&state.shown),
        Action::Follow => pane.can_follow(state),
        Action::Popup(name) => {
            popups::by_name(name).is_some_and(|popup| (popup.has_content)(state))
        }
        Action::Subagent => state
            .model
            .agents
            .get(&state.shown)
            .is_some_and(|a| a.transcript.selected_subagent().is_some()),
        Action::Open => pane.can_open(state),
        Action::Approve => {
            needs::selected_request(state).is_some_and(|(_, r)| r.kind != RequestKind::Question)
        }
        Action::ApproveForTeam => needs::selected_request(state)
            .and_then(|(_, r)| r.call.as_ref())
            .is_some_and(|c| !c.scopes.is_empty()),
        Action::Reject | Action::Comment | Action::EditComment => !state.model.requests.is_empty(),
        Action::Next | Action::Prev => pane.has_neighbour(state),
        Action::TurnBoard | Action::Pan(_) | Action::ZoomIn | Action::ZoomOut => {
            !state.model.board.is_empty() && state.filters.of(Pane::Board).is_none()
        }
        Action::Claim => can(state, TaskAction::Claim),
        Action::Release => can(state, TaskAction::Release),
        // A task without owner can be completed, too, after a confirmation; that is rare and not hinted at.
        Action::CompleteTask => {
            selected_task(state).is_some_and(board::is_own) && can(state, TaskAction::Complete)
        }
        Action::RemoveTree => selected_task(state).is_some_and(|t| {
            branches::has_tree(state, t) && board::why_no_removal(state, t.id).is_none()
        }),
        Action::EditTask => {
            selected_task(state).is_some_and(|t| board::why_no_edit(state, t.id).is_none())
        }
        Action::TurnWait => {
            let selected = board::selected(state).map(|(_, id)| id);
            let form = state.popups.top::<TaskForm>();
            form.is_some_and(|form| form.id != selected)
        }
        Action::CopyPlace => {
            selected_task(state).is_some_and(|t| branches::why_no_tree(state, t).is_none())
        }
        Action::Merge => selected_task(state).is_some_and(|t| branches::is_mergeable(state, t)),
        Action::Enlarge => {
            state.arrangement.zoom.is_none() && !crate::ui::frame::layout::shows_one(state)
        }
        Action::Restore => state.arrangement.zoom.is_some(),
        Action::MergeAll => branches::to_merge(state).len() > 1,
        Action::Diff => selected_task(state).is_some_and(|t| branches::has_tree(state, t)),
        Action::AskShutdown | Action::Force | Action::Nudge => team::selected_member(state)
            .is_some_and(|(_, name)| {
                let status = state.model.team.find(&name).map(|m| m.status);
                status.is_some_and(|s| s != MemberStatus::Shutdown)
            }),
        Action::Move(Scroll::PageDown | Scroll::PageUp) if binding.context == Context::Peek => {
            let area = crate::ui::shell::layout::layout(state, state.size).peek;
            area.is_some_and(|area| peek::scrollbar(state, area).is_some())
        }
        Action::Peek => pane.can_peek(state),
        Action::Filter => pane.can_filter(state),
        Action::Back if binding.context == Context::Panes => {
            let filtered = state.filters.of(focus.pane()).is_some();
            let searched = state
                .model
                .agents
                .get(&state.shown)
                .is_some_and(|a| a.transcript.search().is_some());
            let searched = searched && focus == Focus::Pane(Pane::Lead);
            filtered || searched || state.arrangement.zoom.is_some() || !state.shown.is_lead()
        }
        Action::Send | Action::Newline => match state.popups.last() {
            None => !state.input.composer.is_empty(),
            Some(_) => true,
        },
        Action::Search
        | Action::PrevPrompt
        | Action::NextPrompt
        | Action::CopyMenu
        | Action::Print
        | Action::ReadOutside => state
            .model
            .agents
            .get(&state.shown)
            .is_some_and(|a| a.has_spoken),
        Action::NextMatch | Action::PrevMatch => {
            let agent = state.model.agents.get(&state.shown);
            in_panes && agent.is_some_and(|a| a.transcript.found().1 > 0)
        }
        Action::Copy if !in_panes => true,
        Action::Copy => pane.can_copy(state),
        Action::StartDemo
        | Action::LookAgain
        | Action::MakeRepository
        | Action::ApproveSettings
        | Action::WithoutSettings => onboarding::offers(state, binding.action),
        Action::Models if binding.context == Context::FirstRun => {
            onboarding::offers(state, binding.action)
        }
        // Only a popup knows these; no popup is open.
        Action::Kill | Action::Trouble | Action::NextFile | Action::PrevFile => false,
        Action::Choose(_)
        | Action::AddTask
        | Action::NextField
        | Action::PrevField
        | Action::Help
        | Action::Palette
        | Action::Focus(_)
        | Action::NextPane
        | Action::PrevPane
        | Action::Compose
        | Action::Move(_)
        | Action::Back
        | Action::Close
        | Action::Todo
        | Action::Models
        | Action::Compact
        | Action::Mouse
        | Action::Suspend
        | Action::Older
        | Action::Newer
        | Action::DeleteToStart
        | Action::EditOutside
        | Action::Accept
        | Action::Complete
        | Action::DismissTour
        | Action::Layout
        | Action::PauseOrPlay
        | Action::Step
        | Action::StepBack
        | Action::Jump
        | Action::JumpBack
        | Action::Faster
        | Action::Slower
        | Action::Quit => true,
    }
}
