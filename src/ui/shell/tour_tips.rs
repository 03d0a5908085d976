//! Test data: the tips of the tour, each with the keys in its text and a check of what these keys do.

use crate::ui::fixture::top_popup;
use crate::ui::shell::tour::tests::*;

/// Checks from the state and the effects whether the keys of a tip did what the tip says.
pub type DidIt = fn(&UiState, &[Effect]) -> bool;

/// A tip of the tour as a test case. `says` is the text, which is shown after `events` and the keys `before`. `ways`
/// are the key sequences that the text names, each with a check of its effect.
pub struct Tip {
    pub events: Vec<EventKind>,
    pub before: &'static str,
    pub says: &'static str,
    pub ways: Vec<(&'static str, DidIt)>,
}

fn tip(events: Vec<EventKind>, before: &'static str, says: &'static str) -> Tip {
    Tip {
        events,
        before,
        says,
        ways: Vec::new(),
    }
}

impl Tip {
    fn does(mut self, keys: &'static str, check: fn(&UiState, &[Effect]) -> bool) -> Tip {
        self.ways.push((keys, check));
        self
    }
}

/// The keys of the tour's step that shows a teammate's conversation: they open it and return to the lead's composer.
pub const WATCH: &str = "alt+4 enter esc i";
/// The keys of [`WATCH`] and, before the last of them, the keys that switch the board between graph and list.
pub const CHANGE_BOARD: &str = "alt+4 enter esc 3 v i";
/// The keys of [`CHANGE_BOARD`] and, before the last of them, the key that focuses the inbox.
const READ_MESSAGES: &str = "alt+4 enter esc 3 v 5 i";

pub fn on_board(state: &UiState, _: &[Effect]) -> bool {
    state.focus == Focus::Pane(Pane::Board)
}

fn at_lead(state: &UiState, _: &[Effect]) -> bool {
    state.shown.is_lead()
}

pub fn at_teammate(state: &UiState, _: &[Effect]) -> bool {
    !state.shown.is_lead()
}

fn is_decision(_: &UiState, done: &[Effect]) -> bool {
    matches!(done, [Effect::Command(Command::Decide { .. })])
}

fn leaves_it_open(state: &UiState, done: &[Effect]) -> bool {
    state.focus != Focus::Pane(Pane::Needs) && !state.model.requests.is_empty() && done.is_empty()
}

fn comments(state: &UiState, _: &[Effect]) -> bool {
    top_popup(state) == "CommentPopup"
}

fn with(mut events: Vec<EventKind>, more: Vec<EventKind>) -> Vec<EventKind> {
    events.extend(more);
    events
}

#[allow(clippy::too_many_lines)] // one list of all tips
pub fn tips() -> Vec<Tip> {
    let asked = |kind| with(without_conflict(0), vec![asks(kind)]);
    let idle_lead = || lead(Activity::Idle);
    let busy_lead = || lead(Activity::Thinking);
    vec![
        tip(
            vec![demo(), busy_lead()],
            "",
            "The demo sent the prompt (›); ? shows the keys",
        )
        .does("?", |state, _| top_popup(state) == "HelpPopup"),
        tip(
            vec![demo(), idle_lead()],
            "",
            "The lead is idle: write to it, Enter sends",
        )
        .does("\"hello\" enter", |_, done| {
            matches!(done, [Effect::Command(Command::Prompt { .. })])
        }),
        tip(
            vec![demo(), idle_lead()],
            "esc",
            "The lead is idle: press i to write to it",
        )
        .does("i", |state, _| state.focus == Focus::Composer),
        tip(
            vec![demo(), six(0)],
            "",
            "Alt+3: the board with tasks and dependencies",
        )
        .does("alt+3", on_board),
        tip(
            without_conflict(1),
            "",
            "Alt+4, then Enter: watch a teammate, live",
        )
        .does("alt+4 enter", at_teammate),
        tip(
            without_conflict(1),
            "esc",
            "4, then Enter: watch a teammate, live",
        )
        .does("4 enter", at_teammate),
        tip(
            without_conflict(2),
            WATCH,
            "Alt+3, then v: the board as graph or list",
        )
        .does("alt+3 v", |state, _| {
            state.panes.board.shape != BoardShape::default()
        }),
        tip(
            vec![demo(), six(5), has_team()],
            "",
            "Task #6 fixes a merge conflict: Alt+3 shows its owner",
        )
        .does("alt+3", on_board),
        tip(
            with(without_conflict(1), two_messages()),
            CHANGE_BOARD,
            "Alt+5: the messages between agents",
        )
        .does("alt+5", |state, _| state.focus == Focus::Pane(Pane::Inbox)),
        tip(
            with(eight(7), two_messages()),
            READ_MESSAGES,
            "/log: what happened so far, and why",
        )
        .does("\"/log\" enter", |state, _| {
            top_popup(state) == "EventLogPopup"
        }),
        tip(
            with(eight(7), two_messages()),
            "alt+4 enter esc 3 v 5 1",
            "@: what happened so far, and why",
        )
        .does("@", |state, _| top_popup(state) == "EventLogPopup"),
        // At the end of the demo, a tip names the lead only while the lead is busy, and merging only while branches are
        // unmerged.
        tip(
            with(branches(&[4, 5]), vec![busy_lead()]),
            "",
            "All done: the lead merges; Alt+3 shows the branches",
        )
        .does("alt+3", on_board),
        tip(
            with(branches(&[4, 5]), vec![idle_lead()]),
            "",
            "All tasks are done, 2 not merged: Alt+3 shows which (⇡)",
        )
        .does("alt+3", on_board),
        tip(
            with(branches(&[]), vec![busy_lead()]),
            "",
            "All merged: the lead finishes; /cost shows usage",
        )
        .does("\"/cost\" enter", |state, _| {
            top_popup(state) == "CostsPopup"
        }),
        tip(
            with(branches(&[]), vec![idle_lead()]),
            "esc",
            "All merged: the team finishes; $ shows usage",
        )
        .does("$", |state, _| top_popup(state) == "CostsPopup"),
        // Steps that the user has not followed are offered before the end.
        tip(
            with(branches(&[]), vec![idle_lead(), all_idle()]),
            "",
            "Demo over: /quit leaves. Next: Alt+4 Enter: a teammate",
        )
        .does("\"/quit\" enter", |_, done| done == [Effect::Quit])
        .does("alt+4 enter", |state, _| !state.shown.is_lead()),
        tip(
            with(branches(&[]), vec![idle_lead(), all_idle()]),
            "alt+4 enter esc 1",
            "Demo over: q leaves. Next: 3 v: the board",
        )
        .does("q", |_, done| done == [Effect::Quit])
        .does("3 v", |state, _| {
            state.panes.board.shape != BoardShape::default()
        }),
        tip(
            with(branches(&[]), vec![idle_lead(), all_idle()]),
            "alt+4 enter esc 3 v @ esc i",
            "Demo over: /quit, then run crewdeck in your project",
        )
        .does("\"/quit\" enter", |_, done| done == [Effect::Quit]),
        tip(
            with(branches(&[]), vec![idle_lead(), all_idle()]),
            "alt+4 enter esc 3 v @ esc 1",
            "Demo over: q, then run crewdeck in your project",
        )
        .does("q", |_, done| done == [Effect::Quit]),
        // The demo is not over while a request waits.
        tip(
            with(branches(&[]), vec![idle_lead(), all_idle(), lead_asks()]),
            "",
            "lead waits for you: Alt+a approves, Alt+r rejects",
        )
        .does("alt+a", is_decision)
        .does("alt+r", is_decision),
        // Tips about requests that wait for the user.
        tip(
            asked(RequestKind::Plan),
            "",
            "bob's plan needs approval: Alt+w (F2), then a",
        )
        .does("alt+w a", is_decision)
        .does("f2 a", is_decision),
        tip(
            asked(RequestKind::Shutdown),
            "esc",
            "bob's shutdown needs approval: w, then a",
        )
        .does("w a", is_decision),
        tip(
            asked(RequestKind::Permission),
            "",
            "bob needs your approval: Alt+w (F2), then a",
        )
        .does("alt+w a", is_decision),
        tip(
            asked(RequestKind::Permission),
            "alt+w",
            "bob waits for your decision; Esc leaves it open",
        )
        .does("esc", leaves_it_open),
        // The title of the composer names the keys for the request of the agent whose conversation is open.
        tip(
            asked(RequestKind::Plan),
            "alt+w o i",
            "This is bob, live. Esc twice goes back to the lead",
        )
        .does("esc esc", at_lead),
        tip(
            asked(RequestKind::Question),
            "",
            "bob has a question: Alt+w (F2), then c to answer",
        )
        .does("alt+w c", comments),
        tip(
            asked(RequestKind::Question),
            "alt+w",
            "bob waits for your decision; Esc leaves it open",
        )
        .does("esc", leaves_it_open),
        // Tips that depend on the focus.
        tip(
            without_conflict(0),
            "alt+3",
            "v: graph or list, Enter: the task",
        )
        .does("v", |state, _| {
            state.panes.board.shape != BoardShape::default()
        })
        .does("enter", |state, _| !state.popups.is_empty()),
        tip(
            branches(&[4]),
            "alt+3",
            "v: graph or list, Enter: the task, D: its changes",
        )
        .does("v", |state, _| {
            state.panes.board.shape != BoardShape::default()
        })
        .does("enter", |state, _| !state.popups.is_empty())
        .does("D", |_, done| {
            matches!(done, [Effect::Command(Command::ShowDiff { .. })])
        }),
        tip(
            without_conflict(0),
            "alt+4",
            "Enter opens the live transcript of the selected agent",
        )
        .does("enter", |state, _| state.focus == Focus::Pane(Pane::Lead)),
        tip(
            with(without_conflict(0), two_messages()),
            "alt+5",
            "k/j: select a message, Enter: open it",
        )
        .does("k", |state, _| state.panes.inbox.selected.is_some())
        .does("k j", |state, _| state.focus == Focus::Pane(Pane::Inbox))
        .does("enter", |state, _| !state.popups.is_empty()),
        tip(
            without_conflict(0),
            "alt+5",
            "4, then Enter: watch a teammate, live",
        )
        .does("4 enter", at_teammate),
        tip(
            without_conflict(0),
            "alt+4 enter",
            "This is alice, live. Esc goes back to the lead",
        )
        .does("esc", at_lead),
        tip(
            without_conflict(0),
            "alt+4 enter i",
            "This is alice, live. Esc twice goes back to the lead",
        )
        .does("esc esc", at_lead),
        // Tips when all teammates have shut down.
        tip(
            with(without_conflict(0), vec![all_gone()]),
            "alt+4",
            "Enter opens the transcript of the selected agent",
        )
        .does("enter", at_teammate),
        tip(
            with(without_conflict(0), vec![all_gone()]),
            "",
            "Alt+3, then v: the board as graph or list",
        )
        .does("alt+3 v", |state, _| {
            state.panes.board.shape != BoardShape::default()
        }),
        tip(
            with(without_conflict(0), vec![all_gone()]),
            "alt+4 enter",
            "alice has shut down. Esc goes back to the lead",
        )
        .does("esc", at_lead),
        tip(
            with(without_conflict(0), vec![all_gone()]),
            "alt+4 enter i",
            "alice has shut down. Esc twice goes back to the lead",
        )
        .does("esc esc", at_lead),
        // Tips while a popup is open.
        tip(
            without_conflict(0),
            "f1",
            "All keys, those for everyday use first",
        ),
        tip(
            without_conflict(0),
            "alt+3 space",
            "j/k move; preview follows",
        )
        .does("j", |state, _| top_popup(state) == "Peek")
        .does("k", |state, _| top_popup(state) == "Peek"),
        tip(
            without_conflict(0),
            "alt+3 enter",
            "The details and the history of the task",
        ),
    ]
}
