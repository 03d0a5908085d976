//! The rows of the panes in the order in which they are shown, and which of them is selected.

use std::sync::Arc;

use ratatui::layout::Rect;

use crate::domain::ids::Name;
use crate::domain::request::Request;
use crate::domain::team::{Member, MemberStatus};
use crate::domain::text::one_line;
use crate::domain::todo::{TodoItem, TodoStatus};
use crate::ui::app::UiState;
use crate::ui::keymap::pane::Pane;
use crate::ui::model::board as model_board;
use crate::ui::model::messages::Traced;
use crate::ui::text::terms::Words;
use crate::ui::widgets::cut::cut_top;
use crate::ui::widgets::list::first_row;

/// The teammates: those who are there in the roster's order, then those who are gone.
pub fn members(state: &UiState) -> Vec<&Member> {
    let mut rows: Vec<&Member> = state.model.team.members.iter().collect();
    rows.sort_by_key(|m| m.status == MemberStatus::Shutdown);
    rows
}

/// A row of the team.
#[derive(Debug, Clone, PartialEq)]
pub enum TeamRow<'a> {
    /// A teammate.
    Member(&'a Member),
    /// A subagent that is at work, under the one who sent it out.
    Subagent(Name),
}

impl TeamRow<'_> {
    /// Whose row it is.
    pub fn name(&self) -> &Name {
        match self {
            TeamRow::Member(member) => &member.name,
            TeamRow::Subagent(name) => name,
        }
    }
}

/// The team: the lead's subagents, then the teammates, each with its own; of them those that the filter lets through.
pub fn team(state: &UiState) -> Vec<TeamRow<'_>> {
    let words = state.filters.words(Pane::Team);
    let mut rows = everybody(state);
    if !words.is_empty() {
        let words = Words::new(words);
        rows.retain(|row| words.fit(&about(state, row), |_| None));
    }
    rows
}

/// What a row of the team is about, in small letters: the name, the role, what it does, the task.
fn about(state: &UiState, row: &TeamRow) -> String {
    let name = row.name();
    let role = match row {
        TeamRow::Member(member) => one_line(&member.role),
        TeamRow::Subagent(_) => state
            .model
            .agents
            .get(name)
            .map_or_else(String::new, |agent| agent.errand.clone()),
    };
    let task = model_board::open_task(state, name).map_or_else(String::new, |task| {
        format!("{} {}", task.id, one_line(&task.subject))
    });
    format!("{name} {role} {task}").to_lowercase()
}

/// The whole team, whatever it is filtered by.
pub fn everybody(state: &UiState) -> Vec<TeamRow<'_>> {
    let of = |parent: &Name| {
        let all = state.model.agents.subagents(parent);
        all.map(TeamRow::Subagent).collect::<Vec<_>>()
    };
    let mut rows = of(&Name::lead());
    for member in members(state) {
        rows.push(TeamRow::Member(member));
        rows.extend(of(&member.name));
    }
    rows
}

/// The selected teammate or subagent and its row.
pub fn selected_member(state: &UiState) -> Option<(usize, Name)> {
    let rows = team(state);
    let at = state
        .selected
        .member
        .as_ref()
        .and_then(|name| {
            let row = |name: &Name| rows.iter().position(|r| r.name() == name);
            // A subagent that is done gives way to the one who sent it out.
            row(name).or_else(|| row(&name.parent()?))
        })
        .unwrap_or(0);
    rows.get(at).map(|r| (at, r.name().clone()))
}

/// The numbers of the letters that the inbox shows, the oldest first: those that its filter lets through.
pub fn letters(state: &UiState) -> Arc<Vec<u64>> {
    state
        .model
        .letters
        .fitting(state.filters.words(Pane::Inbox))
}

/// The selected letter and its row; the newest when none is selected. One that the filter hides, or that fell off the log,
/// gives way to the one that came next.
pub fn selected_letter(state: &UiState) -> Option<(usize, &Traced)> {
    let rows = letters(state);
    let newest = rows.len().checked_sub(1)?;
    let at = match state.selected.letter {
        None => newest,
        Some(number) => rows.partition_point(|n| *n < number).min(newest),
    };
    Some((at, state.model.letters.get(*rows.get(at)?)?))
}

/// Selects a row of the inbox; on the newest it follows.
pub fn select_letter(state: &mut UiState, at: usize) {
    let rows = letters(state);
    let is_newest = at + 1 >= rows.len();
    state.selected.letter = rows.get(at).copied().filter(|_| !is_newest);
}

/// The row in which the filter of a pane is written, while there is one, and the rows of its list.
pub fn places(state: &UiState, pane: Pane, inside: Rect) -> (Option<Rect>, Rect) {
    match pane {
        Pane::Team | Pane::Inbox if state.filters.of(pane).is_some() => {
            let (row, list) = cut_top(inside, 1);
            (Some(row), list)
        }
        Pane::Lead | Pane::Todo | Pane::Board | Pane::Team | Pane::Inbox | Pane::Needs => {
            (None, inside)
        }
    }
}

/// The shown todo list.
pub fn todo(state: &UiState) -> &[TodoItem] {
    let agent = state.model.agents.get(&state.shown);
    agent.map_or(&[], |a| a.todo.items())
}

/// The selected item of the shown todo list; the one in progress when none is selected.
pub fn selected_todo(state: &UiState) -> Option<usize> {
    let last = todo(state).len().checked_sub(1)?;
    let selected = state.selected.todo.map(|at| at.min(last));
    Some(selected.unwrap_or_else(|| current_todo(state)))
}

fn current_todo(state: &UiState) -> usize {
    let items = todo(state).iter();
    let mut status = items.map(|item| item.status);
    let current = status.position(|status| status == TodoStatus::InProgress);
    current.unwrap_or(0)
}

/// The first item in view: until one is selected, as many of the first ones as leave the one in progress in view.
pub fn first_todo(state: &UiState, height: u16) -> usize {
    let len = todo(state).len();
    if let Some(at) = state.selected.todo {
        return first_row(len, at.min(len.saturating_sub(1)), height);
    }
    let height = usize::from(height);
    let first = (current_todo(state) + 1).saturating_sub(height);
    first.min(len.saturating_sub(height))
}

/// Whether there is a shown todo list, and all of it is done.
pub fn todo_is_done(state: &UiState) -> bool {
    let items = todo(state);
    let is_done = |item: &TodoItem| item.status == TodoStatus::Completed;
    !items.is_empty() && items.iter().all(is_done)
}

/// How much of the shown todo list is done, as `2/4`; `None` when there is no list.
pub fn todo_progress(state: &UiState) -> Option<String> {
    let list = &state.model.agents.get(&state.shown)?.todo;
    (!list.items().is_empty()).then(|| format!("{}/{}", list.done(), list.items().len()))
}

/// The selected request and its place; the oldest when none is selected.
pub fn selected_request(state: &UiState) -> Option<(usize, &Request)> {
    let at = state
        .selected
        .request
        .as_ref()
        .and_then(|id| state.model.requests.place(id))
        .unwrap_or(0);
    state.model.requests.at(at).map(|r| (at, r))
}
