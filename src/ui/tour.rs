//! The line that tells a newcomer what to press next while the demo runs. Pure: what it says follows from the screen.

use super::keymap::{Action, Context};
use super::pane::{Focus, Pane};
use super::popup::{Choice, Popup, Text};
use super::state::UiState;
use super::textual::width;
use super::transcript::Scroll;
use super::{board, first, rows};
use crate::domain::request::{Request, RequestKind};
use crate::domain::task::{Task, TaskStatus};
use crate::domain::text::clip;

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
mod tests {
    use super::*;
    use crate::domain::graph::{NewTask, TaskGraph};
    use crate::domain::ids::TaskId;
    use crate::domain::mail::LetterKind;
    use crate::domain::request::RequestKind;
    use crate::domain::stamp::Stamp;
    use crate::domain::team::MemberStatus;
    use crate::protocol::EventKind;
    use crate::protocol::event::{LetterStep, Setup};
    use crate::ui::fixture::{board_told, letter, name, picture, plan};
    use crate::ui::fixture::{press, ready, team, tell, told};
    use pretty_assertions::assert_eq;

    fn demo() -> EventKind {
        match ready() {
            EventKind::CrewReady(setup) => EventKind::CrewReady(Setup {
                provider: DEMO.into(),
                ..setup
            }),
            other => other,
        }
    }

    /// A board of six, the first `done` of them completed; the last one solves a conflict.
    fn six(done: u64) -> EventKind {
        let mut board = TaskGraph::default();
        for id in 1..=6 {
            let subject = if id == 6 {
                "Merge main into wt/task-5: conflict in a"
            } else {
                "Work"
            };
            let new = NewTask {
                subject: subject.into(),
                ..NewTask::default()
            };
            board.create(TaskId(id), new, Stamp(1.0)).unwrap();
            if id <= done {
                let who = name("alice");
                let claimer = crate::domain::graph::Claimer {
                    name: who.clone(),
                    tags: vec![],
                };
                board.claim(TaskId(id), &claimer, Stamp(2.0)).unwrap();
                board.complete(TaskId(id), &who, Stamp(3.0)).unwrap();
            }
        }
        board_told(&board)
    }

    fn without_conflict(done: u64) -> Vec<EventKind> {
        vec![demo(), six(done), removed(6), has_team()]
    }

    fn renamed(id: u64) -> EventKind {
        let mut board = TaskGraph::default();
        let new = NewTask {
            subject: "Work".into(),
            ..NewTask::default()
        };
        board.create(TaskId(id), new, Stamp(4.0)).unwrap();
        board_told(&board)
    }

    fn removed(id: u64) -> EventKind {
        EventKind::BoardChanged {
            changed: vec![],
            removed: vec![TaskId(id)],
        }
    }

    fn has_team() -> EventKind {
        EventKind::TeamChanged {
            team: team().into(),
        }
    }

    fn at_rest() -> EventKind {
        let mut team = team();
        for member in &mut team.members {
            member.status = MemberStatus::Idle;
        }
        EventKind::TeamChanged { team: team.into() }
    }

    fn two_letters() -> Vec<EventKind> {
        let moved = |id| EventKind::LetterMoved {
            letter: letter(id, LetterKind::Message, "alice", "bob", "hello"),
            step: LetterStep::Sent,
        };
        vec![moved("a"), moved("b")]
    }

    fn asks(kind: RequestKind) -> EventKind {
        let mut request = plan("r1", "1. Look");
        request.kind = kind;
        EventKind::RequestChanged { request }
    }

    #[test]
    fn what_happens_decides_what_to_press_next() {
        let with = |mut events: Vec<EventKind>, more: Vec<EventKind>| {
            events.extend(more);
            events
        };
        let cases = [
            (
                vec![demo()],
                "",
                "You want a program built; the lead reads and plans",
            ),
            (
                vec![demo(), six(0)],
                "",
                "Alt+3 is the board: who waits for whom",
            ),
            (
                without_conflict(1),
                "",
                "Alt+4, then Enter: watch a teammate, live",
            ),
            (
                without_conflict(1),
                "esc",
                "4, then Enter: watch a teammate, live",
            ),
            (
                without_conflict(2),
                "",
                "Alt+3, then v: the board as graph or list",
            ),
            (
                without_conflict(5),
                "",
                "All tasks are done: the lead merges the branches",
            ),
            (
                with(without_conflict(5), vec![at_rest()]),
                "",
                "Now yours: /quit, then crewdeck in your own project",
            ),
            (
                vec![demo(), six(5), has_team()],
                "",
                "A conflict became task #6: Alt+3 shows who solves it",
            ),
            (
                with(vec![demo(), six(5), has_team(), renamed(6)], two_letters()),
                "",
                "Alt+5: what they write to one another",
            ),
            (
                with(without_conflict(0), vec![asks(RequestKind::Plan)]),
                "",
                "The plan of bob waits for you: Alt+w, then a",
            ),
            (
                with(without_conflict(0), vec![asks(RequestKind::Shutdown)]),
                "esc",
                "The shutdown of bob waits for you: w, then a",
            ),
            (
                with(without_conflict(0), vec![asks(RequestKind::Permission)]),
                "alt+w",
                "a says yes, r says no, c either with a comment",
            ),
            (
                without_conflict(0),
                "alt+3",
                "v: graph or list, Enter: the task, D: its changes",
            ),
            (
                without_conflict(0),
                "alt+4",
                "Enter opens the live transcript of a teammate",
            ),
            (
                without_conflict(0),
                "alt+5",
                "k and j choose a letter, Enter reads it",
            ),
            (
                without_conflict(0),
                "alt+4 enter",
                "This is alice, live. Esc goes back to the lead",
            ),
            (
                without_conflict(0),
                "f1",
                "All keys, those of this place first",
            ),
            (
                without_conflict(0),
                "alt+3 space",
                "j and k go on in the list, and this goes along",
            ),
            (
                without_conflict(0),
                "alt+3 enter",
                "All that is known of the task, and what happened to it",
            ),
        ];
        for (events, keys, expected) in cases {
            let mut state = told(70, 20, events);
            press(&mut state, keys);
            assert_eq!(line(&state).as_deref(), Some(expected), "{keys}");
            assert!(width(expected) <= 54, "too wide for 70 columns: {expected}");
        }
    }

    #[test]
    fn it_is_only_in_the_demo_and_a_key_puts_it_away_and_brings_it_back() {
        let state = told(70, 20, vec![ready()]);
        assert_eq!(line(&state), None);
        let mut state = told(70, 20, without_conflict(0));
        assert!(picture(&state).contains("watch a teammate"));
        press(&mut state, "alt+h");
        assert_eq!(line(&state), None);
        tell(&mut state, vec![asks(RequestKind::Plan), six(2)]);
        press(&mut state, "esc 4");
        assert_eq!(line(&state), None);
        assert!(!picture(&state).contains(&dismissed_by(&state)));
        press(&mut state, "alt+h");
        assert!(line(&state).is_some());
    }
}
