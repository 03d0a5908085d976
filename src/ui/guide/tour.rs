//! The line that tells a newcomer what to press next while the demo runs. Pure: what it says follows from the screen.

use crate::domain::request::{Request, RequestKind};
use crate::domain::task::{Task, TaskStatus};
use crate::domain::text::clip;
use crate::ui::board;
use crate::ui::guide::first;
use crate::ui::keymap::{Action, Context};
use crate::ui::popup::{Choice, Popup, Text};
use crate::ui::state::UiState;
use crate::ui::state::pane::{Focus, Pane};
use crate::ui::state::rows;
use crate::ui::textual::width;
use crate::ui::transcript::Scroll;

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
    if let Some(line) = first::line(state, room(state)) {
        return Some(line);
    }
    if let Some(line) = state.seat.line(room(state)) {
        return Some(line);
    }
    let is_demo = state.setup.as_ref().is_some_and(|s| s.provider == DEMO);
    if !is_demo {
        return None;
    }
    let key = |context, action| state.keymap.key(context, action);
    if let Some(popup) = state.popups.last() {
        return Some(over(state, popup));
    }
    if let Some((_, request)) = rows::selected_request(state) {
        return Some(waiting(state, request));
    }
    if !state.shown.is_lead() {
        let name = name(state.shown.as_str());
        let back = key(Context::Panes, Action::Back);
        return Some(match state.focus {
            Focus::Composer => {
                format!("This is {name}, live. {back} twice goes back to the lead")
            }
            Focus::Pane(_) => format!("This is {name}, live. {back} goes back to the lead"),
        });
    }
    let here = match state.focus {
        Focus::Pane(pane @ Pane::Board) => format!(
            "{}: graph or list, {}: the task, {}: its changes",
            key(Context::In(pane), Action::TurnBoard),
            key(Context::In(pane), Action::Open),
            key(Context::In(pane), Action::Diff),
        ),
        Focus::Pane(pane @ Pane::Team) => {
            let open = key(Context::In(pane), Action::Open);
            format!("{open} opens the live transcript of a teammate")
        }
        Focus::Pane(pane @ Pane::Inbox) => format!(
            "{} and {} choose a letter, {} reads it",
            key(Context::Panes, Action::Move(Scroll::LineUp)),
            key(Context::Panes, Action::Move(Scroll::LineDown)),
            key(Context::In(pane), Action::Open),
        ),
        Focus::Pane(Pane::Lead | Pane::Todo | Pane::Needs) | Focus::Composer => {
            return Some(stage(state));
        }
    };
    Some(here)
}

/// What a popup is for; the hints below have its keys.
fn over(state: &UiState, popup: &Popup) -> String {
    let words = match popup {
        Popup::Reader(reader) => match reader.text {
            Text::Help(_) => "All keys, those of this place first",
            Text::Todo(_) => "A step of the agent's own list",
            Text::Task(_) => "All that is known of the task, and what happened to it",
            Text::Diff(_) => "What the branch of the task changes, file by file",
            Text::Letter(_) => "What the two wrote to one another",
            Text::Problems => "What is in the way, why, and what helps",
            Text::Skills => "What agents load when the work calls for it",
        },
        Popup::Picker(picker) => match picker.choice {
            Choice::Palette { .. } => "A few letters of an action find it",
            Choice::Models => "The models that the server lists",
            Choice::Scopes(_) => "How far the permission reaches, for the whole team",
            Choice::Copy => "What of the conversation is copied",
            Choice::Rules => "What the whole team may do unasked",
            Choice::Themes => "The screen shows what is selected before it is kept",
        },
        Popup::Comment(_) => "The one who asks reads what you write",
        Popup::Jobs { .. } => "What agents run in the background",
        Popup::EventLog(_) => "What happened, by whom and why; the newest last",
        Popup::Costs(_) => "What everybody has used, and what for",
        Popup::Peek(_) => {
            let key = |scroll| state.keymap.key(Context::Panes, Action::Move(scroll));
            let (down, up) = (key(Scroll::LineDown), key(Scroll::LineUp));
            return format!("{down} and {up} go on in the list, and this goes along");
        }
        Popup::Task(_) => "The board is yours, too: teammates claim what you add",
        Popup::Confirm(_) => "Nothing is done before you answer",
    };
    words.into()
}

/// Columns that the line has for its words: before it stands a mark, behind it the key that puts it away.
fn room(state: &UiState) -> usize {
    usize::from(state.size.width).saturating_sub(width(&dismissed_by(state)) + MARGIN)
}

/// The key that puts the line away, as the person reads it.
pub fn dismissed_by(state: &UiState) -> String {
    state.keymap.key(Context::Everywhere, Action::DismissTour)
}

fn waiting(state: &UiState, request: &Request) -> String {
    if state.focus == Focus::Pane(Pane::Needs) {
        let key = |action| state.keymap.key(Context::In(Pane::Needs), action);
        let (yes, no) = (key(Action::Approve), key(Action::Reject));
        let comment = key(Action::Comment);
        return format!("{yes} says yes, {no} says no, {comment} either with a comment");
    }
    let key = state.waiting_key();
    let yes = state.keymap.key(Context::In(Pane::Needs), Action::Approve);
    let target = name(request.target.as_str());
    let what = match request.kind {
        RequestKind::Plan => format!("The plan of {target} waits for you"),
        RequestKind::Shutdown => format!("The shutdown of {target} waits for you"),
        RequestKind::Permission | RequestKind::Ceiling | RequestKind::Question => {
            format!("{target} waits for your word")
        }
    };
    format!("{what}: {key}, then {yes}")
}

/// What is worth a look, by how far the work is.
fn stage(state: &UiState) -> String {
    let context = match state.focus {
        Focus::Composer => Context::Composer,
        Focus::Pane(_) => Context::Panes,
    };
    let go = |pane: Pane| state.keymap.key(context, Action::Focus(pane));
    let open = state.keymap.key(Context::In(Pane::Team), Action::Open);
    let turn = state
        .keymap
        .key(Context::In(Pane::Board), Action::TurnBoard);
    let (done, all) = (
        board::index(state).count(board::Standing::Done),
        state.board.len(),
    );
    if all == 0 {
        return "You want a program built; the lead reads and plans".into();
    }
    if state.team.members.is_empty() {
        return format!("{} is the board: who waits for whom", go(Pane::Board));
    }
    let solving = |t: &&Task| t.status != TaskStatus::Completed && t.subject.starts_with("Merge ");
    if let Some(task) = state.board.tasks().find(solving) {
        return format!(
            "A conflict became task {}: {} shows who solves it",
            task.id,
            go(Pane::Board)
        );
    }
    if done == all {
        return if state.busy() > 0 {
            "All tasks are done: the lead merges the branches".into()
        } else {
            let quit = match state.focus {
                Focus::Composer => "/quit".into(),
                Focus::Pane(_) => state.keymap.key(Context::Panes, Action::Close),
            };
            let help = state.keymap.key(Context::Everywhere, Action::Help);
            let forms = [
                format!(
                    "That was all. Look around, {help} has the keys; then {quit}, and crewdeck in a project of your own"
                ),
                format!("Now yours: {quit}, then crewdeck in your own project"),
            ];
            let [whole, short] = forms;
            if width(&whole) <= room(state) {
                whole
            } else {
                short
            }
        };
    }
    if done < SOME_DONE {
        return format!("{}, then {open}: watch a teammate, live", go(Pane::Team));
    }
    if state.letters.len() > 1 && done > SOME_DONE * 2 {
        return format!("{}: what they write to one another", go(Pane::Inbox));
    }
    format!(
        "{}, then {turn}: the board as graph or list",
        go(Pane::Board)
    )
}

fn name(text: &str) -> String {
    clip(text, NAME_MAX)
}

#[cfg(test)]
#[path = "tour_tests.rs"]
mod tests;
