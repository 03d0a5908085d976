//! In a list that changes, the selected item stays selected.

use std::sync::Arc;

use pretty_assertions::assert_eq;

use crate::domain::ids::{JobId, Name};
use crate::domain::job::{Job, JobEnd};
use crate::domain::permission::{PermissionScope, SessionPermission};
use crate::domain::task::TaskStatus;
use crate::domain::team::MemberStatus;
use crate::domain::timestamp::Timestamp;
use crate::domain::todo::{TodoItem, TodoList, TodoStatus};
use crate::protocol::{AgentEvent, BoardEvent, Command, CrewEvent, EventKind, TeamEvent};
use crate::ui::Effect;
use crate::ui::fixture::{
    NOON, apply_events, board, busy, name, picture, press, started_screen, team,
};
use crate::ui::panes::team::TeamItem;
use crate::ui::popups::jobs::JobsPopup;
use crate::ui::popups::models::ModelChoices;
use crate::ui::popups::picker::Picker;

#[test]
fn team_selection_follows_agent_that_moves_down() {
    for moves in ["", "g ", "j k "] {
        let mut state = busy(160, 45);
        press(&mut state, &format!("esc 4 {moves}"));
        assert_eq!(
            state.panes.team.selected_member(&state),
            Some((0, name("alice")))
        );
        let mut gone = team();
        gone.members[0].status = MemberStatus::Shutdown;
        let team = Arc::new(gone);
        apply_events(
            &mut state,
            vec![EventKind::Team(TeamEvent::RosterChanged { team })],
        );
        assert_eq!(
            state.panes.team.selected_member(&state),
            Some((2, name("alice")))
        );
        // The key does not act on the agent that is now in the row where the selected agent was.
        let asked = press(&mut state, "!");
        let is_bobs = |d: &Effect| matches!(d, Effect::Command(Command::Nudge { member }) if *member == name("bob"));
        assert!(!asked.iter().any(is_bobs), "{asked:?}");
    }
}

#[test]
fn finished_subagent_selection_moves_to_parent() {
    let mut state = busy(160, 45);
    press(&mut state, "esc 4");
    state.panes.team.selected = Some(TeamItem::Agent(Name::subagent(&name("bob"), 7)));
    let (_, selected) = state.panes.team.selected_member(&state).unwrap();
    assert_eq!(selected, name("bob"));
}

#[test]
fn board_selection_keeps_task_then_row() {
    let mut state = busy(160, 45);
    press(&mut state, "esc 3 g");
    let selected =
        |state: &crate::ui::UiState| state.panes.board.selected_row(state).map(|(_, id)| id);
    let first = selected(&state).unwrap();
    // After the change, other tasks precede the selected task.
    let graph = board();
    let mut done = graph.get(first).unwrap().clone();
    done.status = TaskStatus::Completed;
    let changed = vec![Arc::new(done)];
    apply_events(
        &mut state,
        vec![EventKind::Board(BoardEvent::BoardChanged {
            changed,
            removed: vec![],
        })],
    );
    assert_eq!(selected(&state), Some(first));
    // If the selected task is removed, the task that is now in its row is selected, not the first one.
    press(&mut state, "j j");
    let (row, gone) = state.panes.board.selected_row(&state).unwrap();
    assert!(row > 0);
    apply_events(
        &mut state,
        vec![EventKind::Board(BoardEvent::BoardChanged {
            changed: vec![],
            removed: vec![gone],
        })],
    );
    let (now, next) = state.panes.board.selected_row(&state).unwrap();
    assert!(now >= row - 1 && next != gone, "{row} {now}");
}

fn job(id: &str, ended: bool) -> EventKind {
    EventKind::Crew(CrewEvent::JobChanged {
        job: Job {
            id: JobId(id.into()),
            agent: Name::lead(),
            command: format!("run {id}"),
            began: Timestamp(NOON),
            ended: ended.then(|| (Timestamp(NOON + 1.0), JobEnd::Killed { by: "bob".into() })),
            tail: String::new(),
        },
    })
}

#[test]
fn job_selection_follows_ended_job() {
    let mut state = started_screen(120, 40);
    apply_events(
        &mut state,
        vec![job("one", false), job("two", false), job("three", false)],
    );
    press(&mut state, "\"/jobs\" enter");
    apply_events(&mut state, vec![job("one", true)]);
    let selected = |state: &crate::ui::UiState| {
        let row = state.popups.top::<JobsPopup>().unwrap().row;
        state.model.jobs.ordered_jobs()[row].id.0.clone()
    };
    assert_eq!(selected(&state), "one");
    apply_events(&mut state, vec![job("four", false)]);
    assert_eq!(selected(&state), "one");
}

fn rule(number: u64, command: &str) -> SessionPermission {
    SessionPermission {
        number,
        scope: PermissionScope::Exact {
            command: command.into(),
        },
        by: Name::user(),
        asked_by: name("bob"),
        since: Timestamp(NOON),
    }
}

#[test]
fn enter_revokes_selected_permission() {
    let mut state = busy(120, 40);
    let rules = vec![rule(1, "make"), rule(2, "make test"), rule(3, "ls")];
    apply_events(
        &mut state,
        vec![EventKind::Team(TeamEvent::PermissionsChanged { rules })],
    );
    press(&mut state, "esc R down");
    let rules = vec![rule(2, "make test"), rule(3, "ls")];
    apply_events(
        &mut state,
        vec![EventKind::Team(TeamEvent::PermissionsChanged { rules })],
    );
    let done = press(&mut state, "enter");
    assert_eq!(
        done,
        [Effect::Command(Command::RevokePermission { rule: 2 })]
    );
}

#[test]
fn todo_selection_follows_its_item() {
    let mut state = busy(160, 45);
    let list = |texts: &[&str]| {
        let item = |(at, text): (usize, &&str)| TodoItem {
            id: at.to_string(),
            text: (*text).into(),
            status: TodoStatus::Pending,
        };
        let list = TodoList::new(texts.iter().enumerate().map(item).collect()).unwrap();
        let agent = Name::lead();
        AgentEvent::TodoChanged { list }.of(agent)
    };
    apply_events(&mut state, vec![list(&["first", "second", "third"])]);
    press(&mut state, "esc 2 g j");
    assert_eq!(state.panes.todo.selected, Some(1));
    apply_events(&mut state, vec![list(&["new", "first", "second", "third"])]);
    assert_eq!(state.panes.todo.selected, Some(2));
}

#[test]
fn model_list_opens_on_current_model() {
    let names: Vec<String> = (0..40)
        .map(|i| match i {
            23 => "scripted-demo".into(),
            i => format!("model-{i}"),
        })
        .collect();
    let listed = || {
        EventKind::Crew(CrewEvent::ModelsListed {
            names: names.clone(),
        })
    };
    let opened = |state: &crate::ui::UiState| {
        let text = picture(state);
        let line = text
            .lines()
            .find(|l| l.contains("in use"))
            .map(str::to_string);
        let picker = state.popups.top::<Picker<ModelChoices>>();
        let row = picker.unwrap().row;
        (row, line.is_some_and(|l| l.contains("scripted-demo")))
    };
    // The list of models arrives after the picker was opened. Then the picker is opened with the known list, and a
    // search text is typed.
    let mut state = started_screen(100, 30);
    press(&mut state, "\"/model\" enter");
    apply_events(&mut state, vec![listed()]);
    assert_eq!(opened(&state), (23, true));
    press(&mut state, "down");
    let (agent, text) = (Name::lead(), "part of an answer".to_string());
    apply_events(
        &mut state,
        vec![AgentEvent::TextDelta { text }.of(agent), listed()],
    );
    assert_eq!(opened(&state), (24, true));
    press(&mut state, "esc \"/model\" enter");
    assert_eq!(opened(&state), (23, true));
    press(&mut state, "\"model-7\"");
    assert_eq!(opened(&state).0, 0);
}
