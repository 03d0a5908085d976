//! The rows of the panes' lists in display order, and the selected one of each.

use std::sync::Arc;

use ratatui::layout::Rect;

use crate::domain::ids::{Name, RequestId};
use crate::domain::own_theme::ThemeChoice;
use crate::domain::request::Request;
use crate::domain::rule::Scope;
use crate::domain::team::{Member, MemberStatus};
use crate::domain::text::one_line;
use crate::domain::todo::{TodoItem, TodoStatus};
use crate::ui::board;
use crate::ui::keymap::{Action, Bound, Context};
use crate::ui::known::letters::Traced;
use crate::ui::layout::cut::cut_top;
use crate::ui::popup::themes;
use crate::ui::popup::{Choice, Picker};
use crate::ui::state::pane::Pane;
use crate::ui::state::{Models, UiState};
use crate::ui::textual::fuzzy;
use crate::ui::transcript::Portion;
use crate::ui::writing::filters::Words;

/// Returns the first visible row of a list so that the selected row is visible, centered where possible.
pub fn first_row(len: usize, selected: usize, height: u16) -> usize {
    let height = usize::from(height);
    selected
        .saturating_sub(height / 2)
        .min(len.saturating_sub(height))
}

/// Returns the teammates in roster order, those that have shut down last.
pub fn members(state: &UiState) -> Vec<&Member> {
    let mut rows: Vec<&Member> = state.team.members.iter().collect();
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
pub fn team(state: &UiState) -> Vec<TeamRow<'_>> {
    let words = state.filters.words(Pane::Team);
    let mut rows = everybody(state);
    if !words.is_empty() {
        let words = Words::new(words);
        rows.retain(|row| words.fit(&about(state, row), |_| None));
    }
    rows
}

/// Returns the lowercase text that the filter searches: name, role, activity and task.
fn about(state: &UiState, row: &TeamRow) -> String {
    let name = row.name();
    let role = match row {
        TeamRow::Member(member) => one_line(&member.role),
        TeamRow::Subagent(_) => state
            .agents
            .get(name)
            .map_or_else(String::new, |agent| agent.errand.clone()),
    };
    let task = board::open_task(state, name).map_or_else(String::new, |task| {
        format!("{} {}", task.id, one_line(&task.subject))
    });
    format!("{name} {role} {task}").to_lowercase()
}

/// Returns the whole team, ignoring the filter.
pub fn everybody(state: &UiState) -> Vec<TeamRow<'_>> {
    let of = |parent: &Name| {
        let all = state.agents.subagents(parent);
        all.map(TeamRow::Subagent).collect::<Vec<_>>()
    };
    let mut rows = of(&Name::lead());
    for member in members(state) {
        rows.push(TeamRow::Member(member));
        rows.extend(of(&member.name));
    }
    rows
}

/// Returns the selected teammate or subagent and its row.
pub fn selected_member(state: &UiState) -> Option<(usize, Name)> {
    let rows = team(state);
    let at = state
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
pub fn letters(state: &UiState) -> Arc<Vec<u64>> {
    state.letters.fitting(state.filters.words(Pane::Inbox))
}

/// Returns the selected message and its row; the newest if none is selected. A message that is filtered out or no
/// longer kept is replaced by the next one.
pub fn selected_letter(state: &UiState) -> Option<(usize, &Traced)> {
    let rows = letters(state);
    let newest = rows.len().checked_sub(1)?;
    let at = match state.selected.letter {
        None => newest,
        Some(number) => rows.partition_point(|n| *n < number).min(newest),
    };
    Some((at, state.letters.get(*rows.get(at)?)?))
}

/// Selects a row of the inbox; the newest row follows new messages.
pub fn select_letter(state: &mut UiState, at: usize) {
    let rows = letters(state);
    let is_newest = at + 1 >= rows.len();
    state.selected.letter = rows.get(at).copied().filter(|_| !is_newest);
}

/// Returns the row of the pane's filter, if there is one, and the area of its list.
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

/// Returns the shown todo list.
pub fn todo(state: &UiState) -> &[TodoItem] {
    let agent = state.agents.get(&state.shown);
    agent.map_or(&[], |a| a.todo.items())
}

/// Returns the index of the selected todo item; the one in progress if none is selected.
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

/// Returns the first visible todo item. Without a selection the list is scrolled only as far as the item in progress
/// needs.
pub fn first_todo(state: &UiState, height: u16) -> usize {
    let len = todo(state).len();
    if let Some(at) = state.selected.todo {
        return first_row(len, at.min(len.saturating_sub(1)), height);
    }
    let height = usize::from(height);
    let first = (current_todo(state) + 1).saturating_sub(height);
    first.min(len.saturating_sub(height))
}

/// Returns whether the shown todo list exists and is complete.
pub fn todo_is_done(state: &UiState) -> bool {
    let items = todo(state);
    let is_done = |item: &TodoItem| item.status == TodoStatus::Completed;
    !items.is_empty() && items.iter().all(is_done)
}

/// Returns the progress of the shown todo list, such as `2/4`; `None` without a list.
pub fn todo_progress(state: &UiState) -> Option<String> {
    let list = &state.agents.get(&state.shown)?.todo;
    (!list.items().is_empty()).then(|| format!("{}/{}", list.done(), list.items().len()))
}

/// Returns the selected request and its index; the oldest if none is selected.
pub fn selected_request(state: &UiState) -> Option<(usize, &Request)> {
    let at = state
        .selected
        .request
        .as_ref()
        .and_then(|id| state.requests.place(id))
        .unwrap_or(0);
    state.requests.at(at).map(|r| (at, r))
}

/// A row of a picker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pick {
    /// The label.
    pub words: String,
    /// The indices of the characters in `words` that match the search, in order.
    pub marked: Vec<usize>,
    /// The text on the right: a key or a mark.
    pub aside: String,
    /// The effect of choosing the row.
    pub does: Does,
}

/// The effect of choosing a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Does {
    /// Runs an action.
    Action(Action),
    /// Focuses the pane and runs an action.
    In(Pane, Action),
    /// Addresses a message to an agent.
    Address(Name),
    /// Switches to a model.
    Model(String),
    /// Grants a permission in this scope.
    Allow(Scope),
    /// Revokes the session permission with this number.
    TakeBack(u64),
    /// Switches to a theme.
    Theme(ThemeChoice),
    /// Copies a part of the conversation.
    Copy(Portion),
}

/// Returns the rows of a picker that match its search, best match first; without a search all rows in their order.
pub fn picks(state: &UiState, picker: &Picker) -> Vec<Pick> {
    let all: Vec<Pick> = match &picker.choice {
        Choice::Palette { contexts, .. } => palette(state, contexts),
        Choice::Models => models(state),
        Choice::Scopes(id) => scopes(state, id),
        Choice::Rules => rules(state),
        Choice::Copy => copies(state),
        Choice::Themes => themes::rows(state),
    };
    let searched = picker.search.text();
    let mut scored: Vec<(i32, Pick)> = all
        .into_iter()
        .filter_map(|pick| {
            let whole = format!("{} {}", pick.words, pick.aside);
            let fit = fuzzy::fit(searched, &whole)?;
            let words = pick.words.chars().count();
            let marked = fit.places.into_iter().filter(|at| *at < words).collect();
            Some((fit.score, Pick { marked, ..pick }))
        })
        .collect();
    scored.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    scored.into_iter().map(|(_, pick)| pick).collect()
}

/// Returns all actions: open requests first, then the contexts where the palette was opened, then other panes.
fn palette(state: &UiState, contexts: &[Context]) -> Vec<Pick> {
    let mut rows: Vec<Pick> = Vec::new();
    let mut seen: Vec<Action> = Vec::new();
    let mut add = |binding: &Bound, place: &str, does: Does| {
        if binding.action.is_typed() || seen.contains(&binding.action) {
            return;
        }
        seen.push(binding.action);
        let key = binding.shown();
        let aside = [place, &key].into_iter().filter(|s| !s.is_empty());
        rows.push(Pick {
            words: binding.words.into(),
            marked: Vec::new(),
            aside: aside.collect::<Vec<_>>().join("  "),
            does,
        });
    };
    for binding in contexts
        .iter()
        .flat_map(|context| state.keymap.in_context(*context))
    {
        add(binding, "", Does::Action(binding.action));
    }
    for pane in Pane::ALL {
        for binding in state.keymap.in_context(Context::In(pane)) {
            add(binding, pane.title(), Does::In(pane, binding.action));
        }
    }
    if state.requests.for_person() > 0 {
        let waits = Does::Action(Action::Waiting);
        rows.sort_by_key(|row| row.does != waits);
    }
    rows
}

/// Returns the parts of the conversation that can be copied.
pub fn copies(state: &UiState) -> Vec<Pick> {
    let agent = state.agents.get(&state.shown);
    let all = agent.map_or_else(Vec::new, |a| a.transcript.portions());
    all.into_iter()
        .map(|(portion, words, gist)| Pick {
            words,
            marked: Vec::new(),
            aside: gist,
            does: Does::Copy(portion),
        })
        .collect()
}

fn scopes(state: &UiState, id: &RequestId) -> Vec<Pick> {
    let call = state.requests.get(id).and_then(|r| r.call.as_ref());
    let scopes = call.map_or(&[][..], |c| c.scopes.as_slice()).iter();
    scopes
        .map(|scope| Pick {
            words: match scope {
                // A small screen covers the card with the list, so the command is repeated here.
                Scope::Exact { command } => format!("this exact command: {}", one_line(command)),
                Scope::Begins { .. } => one_line(&scope.to_string()),
            },
            marked: Vec::new(),
            aside: String::new(),
            does: Does::Allow(scope.clone()),
        })
        .collect()
}

fn rules(state: &UiState) -> Vec<Pick> {
    state
        .rules
        .iter()
        .map(|rule| Pick {
            words: one_line(&rule.scope.to_string()),
            marked: Vec::new(),
            aside: rule.asked_by.to_string(),
            does: Does::TakeBack(rule.number),
        })
        .collect()
}

fn models(state: &UiState) -> Vec<Pick> {
    let Models::Listed(names) = &state.models else {
        return Vec::new();
    };
    let current = state.setup.as_ref().map_or("", |s| s.model.as_str());
    names
        .iter()
        .map(|name| Pick {
            words: one_line(name),
            marked: Vec::new(),
            aside: if *name == current || *name == format!("{current}:latest") {
                "in use"
            } else {
                ""
            }
            .into(),
            does: Does::Model(name.clone()),
        })
        .collect()
}
