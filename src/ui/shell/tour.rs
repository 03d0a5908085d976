//! The line that tells a newcomer what to press next while the demo runs. Pure: what it says follows from the screen.

use crate::domain::ids::Name;
use crate::domain::request::{Decider, Request, RequestKind};
use crate::domain::task::{Task, TaskStatus};
use crate::domain::team::Activity;
use crate::domain::text::clip;
use crate::ui::app::popup::{Choice, Popup, Text};
use crate::ui::app::{App, onboarding};
use crate::ui::keymap::direction::Scroll;
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::keymap::{Action, Context};
use crate::ui::model::Model;
use crate::ui::model::board::{branches, index};
use crate::ui::panes::{board, needs, team};
use crate::ui::shell::state::UiState;
use crate::ui::text::width;

/// The provider whose screens have the line.
const DEMO: &str = "demo";
/// Longest name in the line, in characters.
const NAME_MAX: usize = 16;
/// Columns of the mark before the line, and of the word and the spaces behind it.
const MARGIN: usize = 11;
/// So many completed tasks after which the board is worth a look.
const SOME_DONE: usize = 2;

/// What stands before the line.
pub const MARK: &str = " ▸ ";

/// Whether the person still wants the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tour {
    /// It is shown, in the demo.
    #[default]
    Shown,
    /// The person has put it away.
    Dismissed,
}

impl Tour {
    /// Put away, or brought back.
    #[must_use]
    pub fn turned(self) -> Tour {
        match self {
            Tour::Shown => Tour::Dismissed,
            Tour::Dismissed => Tour::Shown,
        }
    }
}

/// What to press next in the demo, or what a viewer can do; `None` elsewhere, and when the person has put the line
/// away.
pub fn line(state: &UiState) -> Option<String> {
    if state.tour == Tour::Dismissed {
        return None;
    }
    if let Some(line) = onboarding::line(state, room(state)) {
        return Some(line);
    }
    if let Some(line) = state.seat.line(room(state)) {
        return Some(line);
    }
    let is_demo = state
        .model
        .setup
        .as_ref()
        .is_some_and(|s| s.provider == DEMO);
    if !is_demo {
        return None;
    }
    let key = |context, action| state.prefs.keymap.key(context, action);
    if let Some(popup) = state.popups.last() {
        return Some(over(state, popup));
    }
    let request = needs::selected_request(state).map(|(_, request)| request);
    if let Some(request) = request.filter(|r| r.decider != Decider::Lead) {
        return Some(waiting(state, request));
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
    Some(match state.focus {
        Focus::Pane(Pane::Board) => at_the_board(state),
        Focus::Pane(Pane::Team) => match team::selected_member(state) {
            Some((_, member)) => {
                let open = key(Context::In(Pane::Team), Action::Open);
                let live = if is_live(state, &member) { "live " } else { "" };
                format!("{open} opens the {live}transcript of the selected agent")
            }
            None => stage(state),
        },
        Focus::Pane(pane @ Pane::Inbox) if !state.model.letters.is_empty() => format!(
            "{} and {} choose a message, {} reads it",
            key(Context::Panes, Action::Move(Scroll::LineUp)),
            key(Context::Panes, Action::Move(Scroll::LineDown)),
            key(Context::In(pane), Action::Open),
        ),
        Focus::Pane(_) | Focus::Composer => stage(state),
    })
}

/// Whether more can come into the transcript of `agent`.
fn is_live(model: &Model, agent: &Name) -> bool {
    model.activity(agent) != Activity::Gone
}

/// What the keys of the board do with the selected task.
fn at_the_board(app: &App) -> String {
    let key = |action| app.prefs.keymap.key(Context::In(Pane::Board), action);
    let Some(task) = board::selected(app).and_then(|(_, id)| app.model.board.get(id)) else {
        return stage(app);
    };
    let (turn, open) = (key(Action::TurnBoard), key(Action::Open));
    let changes = if branches::has_tree(app, task) {
        format!(", {}: its changes", key(Action::Diff))
    } else {
        String::new()
    };
    format!("{turn}: graph or list, {open}: the task{changes}")
}

/// What a popup is for; the hints below have its keys.
fn over(app: &App, popup: &Popup) -> String {
    let words = match popup {
        Popup::Reader(reader) => match reader.text {
            Text::Help(_) => "All keys, those of this place first",
            Text::Todo(_) => "A step of the agent's own list",
            Text::Task(_) => "All that is known of the task, and what happened to it",
            Text::Diff(_) => "What the branch of the task changes, file by file",
            Text::Letter(_) => "The messages between the two",
            Text::Problems => "Problems and fixes",
            Text::Skills => "What agents load when the work calls for it",
        },
        Popup::Picker(picker) => match picker.choice {
            Choice::Palette { .. } => "Type to filter the actions",
            Choice::Models => "The models that the server lists",
            Choice::Scopes(_) => "How far the permission reaches, for the whole team",
            Choice::Copy => "What of the conversation is copied",
            Choice::Rules => "What the whole team may do unasked",
            Choice::Themes => "A live preview of the selected theme",
        },
        Popup::Comment(_) => "Sent with your decision",
        Popup::Jobs { .. } => "What agents run in the background",
        Popup::EventLog(_) => "What happened, by whom and why; the newest last",
        Popup::Costs(_) => "What everybody has used, and what for",
        Popup::Peek(_) => {
            let key = |scroll| app.prefs.keymap.key(Context::Panes, Action::Move(scroll));
            let (down, up) = (key(Scroll::LineDown), key(Scroll::LineUp));
            return format!("{down}/{up} move; preview follows");
        }
        Popup::Task(_) => "The board is yours, too: teammates claim what you add",
        Popup::Confirm(_) => "Nothing happens before you answer",
    };
    words.into()
}

/// Columns that the line has for its words: before it stands a mark, behind it the key that puts it away.
fn room(app: &App) -> usize {
    usize::from(app.size.width).saturating_sub(width(&dismissed_by(app)) + MARGIN)
}

/// The key that puts the line away, as the person reads it.
pub fn dismissed_by(app: &App) -> String {
    app.prefs
        .keymap
        .key(Context::Everywhere, Action::DismissTour)
}

fn waiting(app: &App, request: &Request) -> String {
    let needs = |action| app.prefs.keymap.key(Context::In(Pane::Needs), action);
    let (yes, no) = (needs(Action::Approve), needs(Action::Reject));
    let comment = needs(Action::Comment);
    let has_keys = app.focus == Focus::Pane(Pane::Needs);
    let target = name(request.target.as_str());
    let what = match request.kind {
        RequestKind::Question if has_keys => {
            return format!("{comment} answers in your own words, {no} declines");
        }
        RequestKind::Question => {
            let from = name(request.from.as_str());
            return format!(
                "{from} asks you something: {}, then {comment}",
                app.waiting_key()
            );
        }
        RequestKind::Plan => format!("The plan of {target} waits for you"),
        RequestKind::Shutdown => format!("The shutdown of {target} waits for you"),
        RequestKind::Permission | RequestKind::Ceiling => {
            format!("{target} needs your approval")
        }
    };
    if has_keys {
        return format!("{yes} approves, {no} rejects, {comment} adds a comment");
    }
    format!("{what}: {}, then {yes}", app.waiting_key())
}

/// What is worth a look, by how far the work is.
fn stage(app: &App) -> String {
    let context = match app.focus {
        Focus::Composer => Context::Composer,
        Focus::Pane(_) => Context::Panes,
    };
    let go = |pane: Pane| app.prefs.keymap.key(context, Action::Focus(pane));
    let open = app.prefs.keymap.key(Context::In(Pane::Team), Action::Open);
    let turn = app
        .prefs
        .keymap
        .key(Context::In(Pane::Board), Action::TurnBoard);
    let (done, all) = (
        index(app).count(index::Standing::Done),
        app.model.board.len(),
    );
    let is_lead_busy = app.activity(&Name::lead()).is_busy();
    if all == 0 {
        return match app.focus {
            _ if is_lead_busy => "The lead reads what you want and plans".into(),
            Focus::Composer => {
                let send = app.prefs.keymap.key(Context::Composer, Action::Send);
                format!("The lead is idle: write to it, {send} sends")
            }
            Focus::Pane(_) => {
                let compose = app.prefs.keymap.key(Context::Panes, Action::Compose);
                format!("The lead is idle: {compose} writes to it")
            }
        };
    }
    if app.model.team.members.is_empty() {
        return format!("{} is the board: who waits for whom", go(Pane::Board));
    }
    let solving = |t: &&Task| t.status != TaskStatus::Completed && t.subject.starts_with("Merge ");
    if let Some(task) = app.model.board.tasks().find(solving) {
        return format!(
            "A conflict became task {}: {} shows who solves it",
            task.id,
            go(Pane::Board)
        );
    }
    if done == all {
        return all_done(app, &go(Pane::Board), is_lead_busy);
    }
    if done < SOME_DONE && app.model.team.present().next().is_some() {
        return format!("{}, then {open}: watch a teammate, live", go(Pane::Team));
    }
    if app.model.letters.len() > 1 && done > SOME_DONE * 2 {
        return format!("{}: what they write to one another", go(Pane::Inbox));
    }
    format!(
        "{}, then {turn}: the board as graph or list",
        go(Pane::Board)
    )
}

/// What there is to see when every task is completed; `board` is the key that goes to the board.
fn all_done(app: &App, board: &str, is_lead_busy: bool) -> String {
    let unmerged = branches::unmerged(app).len();
    if unmerged > 0 && is_lead_busy {
        return "All tasks are done: the lead merges the branches".into();
    }
    if unmerged > 0 {
        let mark = branches::UNMERGED;
        return format!("All tasks are done, {unmerged} not merged: {board} shows which ({mark})");
    }
    if is_lead_busy {
        return "All tasks are done and merged: the lead finishes".into();
    }
    if app.busy() > 0 {
        return "All tasks are done and merged: the team finishes".into();
    }
    let quit = match app.focus {
        Focus::Composer => "/quit".into(),
        Focus::Pane(_) => app.prefs.keymap.key(Context::Panes, Action::Close),
    };
    let help = app.prefs.keymap.key(Context::Everywhere, Action::Help);
    let whole = format!(
        "The demo is over. Look around ({help} lists the keys), or leave with {quit} and run crewdeck in your own project"
    );
    if width(&whole) <= room(app) {
        return whole;
    }
    format!("Next: {quit}, then run crewdeck in your own project")
}

fn name(text: &str) -> String {
    clip(text, NAME_MAX)
}

#[cfg(test)]
#[path = "tour_tests.rs"]
mod tests;
