//! The rows of the panes' lists in display order, and the selected one of each.

use std::sync::Arc;

use ratatui::layout::Rect;

use crate::domain::ids::Name;
use crate::domain::request::Request;
use crate::domain::team::{Member, MemberStatus};
use crate::domain::text::one_line;
use crate::domain::todo::{TodoItem, TodoStatus};
use crate::ui::app::App;
use crate::ui::keymap::pane::Pane;
use crate::ui::model::messages::Traced;
use crate::ui::model::{Model, board as model_board};
use crate::ui::text::terms::Words;
use crate::ui::widgets::cut::cut_top;
use crate::ui::widgets::list::first_row;

/// Returns the teammates in roster order, those that have shut down last.
pub fn members(model: &Model) -> Vec<&Member> {
    let mut rows: Vec<&Member> = model.team.members.iter().collect();
    rows.sort_by_key(|m| m.status == MemberStatus::Shutdown);
    rows
}

/// A row of the team.
#[derive(Debug, Clone, PartialEq)]
pub enum TeamRow<'a> {
    /// A teammate.
    Member(&'a Member),
    /// A running subagent, below its parent.
    Subagent(Name),
}

impl TeamRow<'_> {
    /// Returns the agent of the row.
    pub fn name(&self) -> &Name {
        match self {
            TeamRow::Member(member) => &member.name,
            TeamRow::Subagent(name) => name,
        }
    }
}

/// Returns the filtered team: the lead's subagents, then the teammates, each followed by its subagents.
pub fn team(app: &App) -> Vec<TeamRow<'_>> {
    let words = app.filters.words(Pane::Team);
    let mut rows = everybody(app);
    if !words.is_empty() {
        let words = Words::new(words);
        rows.retain(|row| words.fit(&about(app, row), |_| None));
    }
    rows
}

/// Returns the lowercase text that the filter searches: name, role, activity and task.
fn about(model: &Model, row: &TeamRow) -> String {
    let name = row.name();
    let role = match row {
        TeamRow::Member(member) => one_line(&member.role),
        TeamRow::Subagent(_) => model
            .agents
            .get(name)
            .map_or_else(String::new, |agent| agent.errand.clone()),
    };
    let task = model_board::open_task(model, name).map_or_else(String::new, |task| {
        format!("{} {}", task.id, one_line(&task.subject))
    });
    format!("{name} {role} {task}").to_lowercase()
}

/// Returns the whole team, ignoring the filter.
pub fn everybody(model: &Model) -> Vec<TeamRow<'_>> {
    let of = |parent: &Name| {
        let all = model.agents.subagents(parent);
        all.map(TeamRow::Subagent).collect::<Vec<_>>()
    };
    let mut rows = of(&Name::lead());
    for member in members(model) {
        rows.push(TeamRow::Member(member));
        rows.extend(of(&member.name));
    }
    rows
}

/// Returns the selected teammate or subagent and its row.
pub fn selected_member(app: &App) -> Option<(usize, Name)> {
    let rows = team(app);
    let at = app
        .selected
        .member
        .as_ref()
        .and_then(|name| {
            let row = |name: &Name| rows.iter().position(|r| r.name() == name);
            // A finished subagent is replaced by its parent.
            row(name).or_else(|| row(&name.parent()?))
        })
        .unwrap_or(0);
    rows.get(at).map(|r| (at, r.name().clone()))
}

/// Returns the numbers of the messages that match the inbox filter, oldest first.
pub fn letters(app: &App) -> Arc<Vec<u64>> {
    app.model.letters.fitting(app.filters.words(Pane::Inbox))
}

/// Returns the selected message and its row; the newest if none is selected. A message that is filtered out or no
/// longer kept is replaced by the next one.
pub fn selected_letter(app: &App) -> Option<(usize, &Traced)> {
    let rows = letters(app);
    let newest = rows.len().checked_sub(1)?;
    let at = match app.selected.letter {
        None => newest,
        Some(number) => rows.partition_point(|n| *n < number).min(newest),
    };
    Some((at, app.model.letters.get(*rows.get(at)?)?))
}

/// Selects a row of the inbox; the newest row follows new messages.
pub fn select_letter(app: &mut App, at: usize) {
    let rows = letters(app);
    let is_newest = at + 1 >= rows.len();
    app.selected.letter = rows.get(at).copied().filter(|_| !is_newest);
}

/// Returns the row of the pane's filter, if there is one, and the area of its list.
pub fn places(app: &App, pane: Pane, inside: Rect) -> (Option<Rect>, Rect) {
    match pane {
        Pane::Team | Pane::Inbox if app.filters.of(pane).is_some() => {
            let (row, list) = cut_top(inside, 1);
            (Some(row), list)
        }
        Pane::Lead | Pane::Todo | Pane::Board | Pane::Team | Pane::Inbox | Pane::Needs => {
            (None, inside)
        }
    }
}

/// Returns the shown todo list.
pub fn todo(app: &App) -> &[TodoItem] {
    let agent = app.model.agents.get(&app.shown);
    agent.map_or(&[], |a| a.todo.items())
}

/// Returns the index of the selected todo item; the one in progress if none is selected.
pub fn selected_todo(app: &App) -> Option<usize> {
    let last = todo(app).len().checked_sub(1)?;
    let selected = app.selected.todo.map(|at| at.min(last));
    Some(selected.unwrap_or_else(|| current_todo(app)))
}

fn current_todo(app: &App) -> usize {
    let items = todo(app).iter();
    let mut status = items.map(|item| item.status);
    let current = status.position(|status| status == TodoStatus::InProgress);
    current.unwrap_or(0)
}

/// Returns the first visible todo item. Without a selection the list is scrolled only as far as the item in progress
/// needs.
pub fn first_todo(app: &App, height: u16) -> usize {
    let len = todo(app).len();
    if let Some(at) = app.selected.todo {
        return first_row(len, at.min(len.saturating_sub(1)), height);
    }
    let height = usize::from(height);
    let first = (current_todo(app) + 1).saturating_sub(height);
    first.min(len.saturating_sub(height))
}

/// Returns whether the shown todo list exists and is complete.
pub fn todo_is_done(app: &App) -> bool {
    let items = todo(app);
    let is_done = |item: &TodoItem| item.status == TodoStatus::Completed;
    !items.is_empty() && items.iter().all(is_done)
}

/// Returns the progress of the shown todo list, such as `2/4`; `None` without a list.
pub fn todo_progress(app: &App) -> Option<String> {
    let list = &app.model.agents.get(&app.shown)?.todo;
    (!list.items().is_empty()).then(|| format!("{}/{}", list.done(), list.items().len()))
}

/// Returns the selected request and its index; the oldest if none is selected.
pub fn selected_request(app: &App) -> Option<(usize, &Request)> {
    let at = app
        .selected
        .request
        .as_ref()
        .and_then(|id| app.model.requests.place(id))
        .unwrap_or(0);
    app.model.requests.at(at).map(|r| (at, r))
}
