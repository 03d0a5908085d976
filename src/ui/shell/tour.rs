//! The tour line: while the demo runs, says what the user can press next. The line depends only on the state of the
//! screen and on the tips that the user has followed. Pure.

use crate::domain::ids::Name;
use crate::domain::request::{Approver, Request, RequestKind};
use crate::domain::screen::BoardShape;
use crate::domain::task::{Task, TaskStatus};
use crate::domain::team::Activity;
use crate::domain::text::clip;
use crate::ui::app::Preferences;
use crate::ui::app::{App, answering, onboarding};
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::keymap::{Action, Context, SLASH};
use crate::ui::keys;
use crate::ui::model::CrewModel;
use crate::ui::model::board::{branches, index};
use crate::ui::shell::demo_step::DemoStep;
use crate::ui::shell::state::UiState;
use crate::ui::text::width;

/// The name of the provider that marks a demo session.
const DEMO: &str = "demo";
/// Maximum length of an agent's name in the tour line, in characters.
const NAME_MAX: usize = 16;
/// Number of columns that the tour line needs in addition to its text and the key in its hint: for the mark before the
/// text and the rest of the hint after the text.
const MARGIN: usize = 11;

pub const MARK: &str = " ▸ ";

/// Records what the user looks at now, so that the tips about it are not shown again.
pub fn record_followed(state: &mut UiState) {
    let top = state.popups.last();
    let is_log = top.is_some_and(|top| top.context() == Context::EventLog);
    let steps = [
        (DemoStep::WatchTeammate, !state.shown.is_lead()),
        (
            DemoStep::ChangeBoard,
            state.panes.board.shape != BoardShape::default(),
        ),
        (
            DemoStep::ReadMessages,
            state.focus == Focus::Pane(Pane::Inbox),
        ),
        (DemoStep::OpenLog, is_log),
    ];
    let done = steps.into_iter().filter(|(_, is_done)| *is_done);
    state.followed_tips.extend(done.map(|(step, _)| step));
}

/// Returns the tour line: the summary of the setup page, else what a viewer (a dashboard that only watches a crew) can
/// do, else the tip of the demo that fits the state of the screen. Returns `None` if none of these applies or the user
/// has hidden the line.
pub fn line(state: &UiState) -> Option<String> {
    if state.is_tour_dismissed {
        return None;
    }
    if let Some(line) = onboarding::line(state, room(state)) {
        return Some(line);
    }
    if let Some(line) = state.role.line(room(state)) {
        return Some(line);
    }
    if !is_demo(state) {
        return None;
    }
    let key = |context, action| state.prefs.keymap.key(context, action);
    if let Some(popup) = state.popups.last() {
        return Some(popup.tip(state));
    }
    if let Some(tip) = announcement(state).or_else(|| focused_request_tip(state)) {
        return Some(tip);
    }
    if !state.shown.is_lead() {
        let name = name(state.shown.as_str());
        let who = if is_live(state, &state.shown) {
            format!("This is {name}, live.")
        } else if state.shown.parent().is_some() {
            format!("{name} has ended.")
        } else {
            format!("{name} has shut down.")
        };
        let back = key(Context::Panes, Action::Back);
        return Some(match state.focus {
            Focus::Composer => format!("{who} {back} twice goes back to the lead"),
            Focus::Pane(_) => format!("{who} {back} goes back to the lead"),
        });
    }
    let tip = match state.focus {
        Focus::Pane(pane) => state.panes.get(pane).tour_tip(state),
        Focus::Composer => None,
    };
    Some(tip.unwrap_or_else(|| stage(state)))
}

fn is_demo(model: &CrewModel) -> bool {
    let setup = model.setup.as_ref();
    setup.is_some_and(|setup| setup.provider == DEMO)
}

/// Returns whether the tour line replaces the line that announces open requests. This is the case if the tour has a tip
/// about the request that waits for the user. While a popup is open, the tour line describes the popup instead of the
/// request; the result stays true nevertheless, so that no row moves.
pub fn replaces_banner(state: &UiState) -> bool {
    is_demo(state) && !state.is_tour_dismissed && announcement(state).is_some()
}

fn request_for_user(state: &UiState) -> Option<&Request> {
    let selected = state.selected_request();
    selected.filter(|request| request.approver != Approver::Lead)
}

/// Returns whether `agent` is still running, so that its conversation may grow.
fn is_live(model: &CrewModel, agent: &Name) -> bool {
    model.activity(agent) != Activity::Gone
}

/// Returns the maximum width of the text in the tour line, in columns: the width of the screen without the mark before
/// the text and the hint after it.
fn room(app: &App) -> usize {
    usize::from(app.size.width).saturating_sub(width(&dismissed_by(&app.prefs)) + MARGIN)
}

/// Returns the key that hides the tour line, formatted for display.
pub fn dismissed_by(prefs: &Preferences) -> String {
    prefs.keymap.key(Context::Everywhere, Action::ToggleTips)
}

/// Returns the tip that says which request waits for the user and how to reach it. Returns `None` if no request waits,
/// or if the screen already shows the keys for it: while the pane "Needs you" has the focus, and while the request can
/// be decided from the composer, whose title names the keys.
fn announcement(app: &UiState) -> Option<String> {
    let request = request_for_user(app)?;
    let can_decide = matches!(app.focus, Focus::Composer | Focus::Pane(Pane::Lead));
    let shown = answering::request(app).filter(|_| can_decide);
    let is_shown = shown.is_some_and(|shown| shown.id == request.id || shown.is_like(request));
    if app.focus == Focus::Pane(Pane::Needs) || is_shown {
        return None;
    }
    let needs = |action| app.prefs.keymap.key(Context::In(Pane::Needs), action);
    let (yes, comment) = (needs(Action::Approve), needs(Action::Comment));
    let target = name(request.target.as_str());
    let what = match request.kind {
        RequestKind::Question => {
            let from = name(request.from.as_str());
            return Some(format!(
                "{from} has a question: {}, then {comment} to answer",
                waiting_keys(app)
            ));
        }
        RequestKind::Plan => format!("{target}'s plan needs approval"),
        RequestKind::Shutdown => format!("{target}'s shutdown needs approval"),
        RequestKind::Permission | RequestKind::Budget => {
            format!("{target} needs your approval")
        }
    };
    Some(format!("{what}: {}, then {yes}", waiting_keys(app)))
}

/// Returns the tip while the pane "Needs you" has the focus and the selected request waits for the user; `None`
/// otherwise. The tip does not repeat the keys that decide the request, because the card shows them.
fn focused_request_tip(state: &UiState) -> Option<String> {
    let request = request_for_user(state)?;
    let is_focused = state.focus == Focus::Pane(Pane::Needs);
    let back = state.prefs.keymap.key(Context::Panes, Action::Back);
    let from = name(request.from.as_str());
    is_focused.then(|| format!("{from} waits for your decision; {back} leaves it open"))
}

/// Returns the tip for the request that the user can decide from the composer or the conversation; `None` if there is
/// none.
fn shown_request_tip(app: &App) -> Option<String> {
    let request = answering::request(app)?;
    let from = name(request.from.as_str());
    if request.kind == RequestKind::Question {
        let send = app.prefs.keymap.key(Context::Composer, Action::Send);
        return Some(format!(
            "{from} has a question: write the answer, {send} sends it"
        ));
    }
    let key = |action| app.prefs.keymap.key(Context::Composer, action);
    let (yes, no) = (key(Action::ApproveShown), key(Action::RejectShown));
    Some(format!(
        "{from} waits for you: {yes} approves, {no} rejects"
    ))
}

/// Returns the key that moves the focus to the pane "Needs you". If that is an Alt key, adds a key for the same action
/// without Alt, for terminals in which Option types symbols.
fn waiting_keys(app: &App) -> String {
    let key = app.waiting_key();
    let mut bound = app.prefs.keymap.in_context(Context::Everywhere);
    let waiting = bound.find(|b| b.action == Action::Waiting);
    let other = waiting.and_then(|b| b.keys.iter().find(|key| !key.contains("alt+")));
    match other.filter(|_| key.starts_with("Alt+")) {
        Some(other) => format!("{key} ({})", keys::format_key(other)),
        None => key,
    }
}

/// Returns the tip that fits the progress of the demo: planning, tasks or the end. While the team works, this is the
/// first tip that the user has not followed.
fn stage(state: &UiState) -> String {
    let app: &App = state;
    let context = match app.focus {
        Focus::Composer => Context::Composer,
        Focus::Pane(_) => Context::Panes,
    };
    let go = |pane: Pane| app.prefs.keymap.key(context, Action::Focus(pane));
    let (done, all) = (
        index(app).count(index::BoardStatus::Done),
        app.model.board.len(),
    );
    let is_lead_busy = app.activity(&Name::lead()).is_busy();
    if all == 0 {
        return match app.focus {
            // The demo sent the first prompt. The tip says so, because the user sees a prompt that the user did not
            // type.
            _ if is_lead_busy => {
                let context = match app.focus {
                    Focus::Composer if app.input.composer.is_empty() => Context::EmptyComposer,
                    Focus::Composer => Context::Everywhere,
                    Focus::Pane(_) => Context::Panes,
                };
                let help = app.prefs.keymap.key(context, Action::Help);
                format!("The demo sent the prompt (›); {help} shows the keys")
            }
            Focus::Composer => {
                let send = app.prefs.keymap.key(Context::Composer, Action::Send);
                format!("The lead is idle: write to it, {send} sends")
            }
            Focus::Pane(_) => {
                let compose = app.prefs.keymap.key(Context::Panes, Action::Compose);
                format!("The lead is idle: press {compose} to write to it")
            }
        };
    }
    if app.model.team.members.is_empty() {
        return format!("{}: the board with tasks and dependencies", go(Pane::Board));
    }
    let solving = |t: &&Task| t.status != TaskStatus::Completed && t.subject.starts_with("Merge ");
    if let Some(task) = app.model.board.tasks().find(solving) {
        return format!(
            "Task {} fixes a merge conflict: {} shows its owner",
            task.id,
            go(Pane::Board)
        );
    }
    let left = next_demo_step(state).map(|step| demo_tip(app, step, &go));
    if done == all {
        return all_done(app, &go(Pane::Board), is_lead_busy, left);
    }
    let [tip, _] = left.unwrap_or_else(|| demo_tip(app, DemoStep::ChangeBoard, &go));
    tip
}

fn board_tip(board: &str, turn: &str) -> String {
    format!("{board}, then {turn}: the board as graph or list")
}

/// Returns the first step of the demo that the user has not done and that is possible now; `None` if there is none.
fn next_demo_step(state: &UiState) -> Option<DemoStep> {
    let is_possible = |step| match step {
        DemoStep::WatchTeammate => state.model.team.present().next().is_some(),
        DemoStep::ReadMessages => state.model.messages.len() > 1,
        DemoStep::ChangeBoard | DemoStep::OpenLog => true,
    };
    let steps = [
        DemoStep::WatchTeammate,
        DemoStep::ChangeBoard,
        DemoStep::ReadMessages,
        DemoStep::OpenLog,
    ];
    let mut open = steps
        .into_iter()
        .filter(|step| !state.followed_tips.contains(step));
    open.find(|step| is_possible(*step))
}

/// Returns the tip for `step` in a long and a short form. `go` returns the key that focuses a pane.
fn demo_tip(app: &App, step: DemoStep, go: &impl Fn(Pane) -> String) -> [String; 2] {
    let key = |pane, action| app.prefs.keymap.key(Context::In(pane), action);
    match step {
        DemoStep::WatchTeammate => {
            let (team, open) = (go(Pane::Team), key(Pane::Team, Action::Open));
            [
                format!("{team}, then {open}: watch a teammate, live"),
                format!("{team} {open}: a teammate"),
            ]
        }
        DemoStep::ChangeBoard => {
            let (board, turn) = (go(Pane::Board), key(Pane::Board, Action::ToggleGraph));
            [
                board_tip(&board, &turn),
                format!("{board} {turn}: the board"),
            ]
        }
        DemoStep::ReadMessages => {
            let inbox = go(Pane::Inbox);
            [
                format!("{inbox}: the messages between agents"),
                format!("{inbox}: messages"),
            ]
        }
        DemoStep::OpenLog => {
            let log = key_or_command(app, Action::Popup("event_log"));
            [
                format!("{log}: what happened so far, and why"),
                format!("{log}: the events"),
            ]
        }
    }
}

/// Returns the tip for a board on which all tasks are completed. `board` is the key that focuses the board. `left` is
/// the tip for the first demo step that the user has not done yet, in a long and a short form; `None` if there is none.
fn all_done(app: &App, board: &str, is_lead_busy: bool, left: Option<[String; 2]>) -> String {
    let unmerged = branches::unmerged_tasks(app).len();
    if unmerged > 0 && is_lead_busy {
        return format!("All done: the lead merges; {board} shows the branches");
    }
    if unmerged > 0 {
        let mark = branches::UNMERGED;
        return format!("All tasks are done, {unmerged} not merged: {board} shows which ({mark})");
    }
    if is_lead_busy || app.busy() > 0 {
        let who = if is_lead_busy { "lead" } else { "team" };
        let usage = key_or_command(app, Action::Popup("costs"));
        return format!("All merged: the {who} finishes; {usage} shows usage");
    }
    // The title of the composer names the keys of this request, so no other tip announces it.
    if let Some(tip) = shown_request_tip(app) {
        return tip;
    }
    let quit = key_or_command(app, Action::Close);
    // In full screen, the first press only ends the full screen.
    let is_zoomed = app.arrangement.zoom.is_some() && app.focus != Focus::Composer;
    let times = if is_zoomed { " twice" } else { "" };
    let end = format!("Demo over: {quit}{times} leaves");
    let forms = match left {
        Some([long, short]) => [
            format!("{end}. Not seen yet: {long}"),
            format!("{end}. Next: {short}"),
        ],
        None => {
            let help = app.prefs.keymap.key(Context::Everywhere, Action::Help);
            [
                format!(
                    "{end}. Look around ({help} lists the keys), or run crewdeck in your own project"
                ),
                format!("Demo over: {quit}{times}, then run crewdeck in your project"),
            ]
        }
    };
    let mut fitting = forms.into_iter().filter(|form| width(form) <= room(app));
    fitting.next().unwrap_or(end)
}

/// Returns how to run `action`. If the composer has the focus, this is the slash command of the action, or an empty
/// text if it has none. Otherwise it is the key of the action in the panes.
fn key_or_command(app: &App, action: Action) -> String {
    let is_it = |(_, does, _): &&(&str, Action, &str)| *does == action;
    match app.focus {
        Focus::Composer => SLASH
            .iter()
            .find(is_it)
            .map_or("", |(word, ..)| word)
            .into(),
        Focus::Pane(_) => app.prefs.keymap.key(Context::Panes, action),
    }
}

fn name(text: &str) -> String {
    clip(text, NAME_MAX)
}

#[cfg(test)]
#[path = "tour_tests.rs"]
mod tests;
