//! The rows of the panes in the order in which they are shown, and which of them is selected.

use std::sync::Arc;

use ratatui::layout::Rect;

use crate::domain::ids::{Name, RequestId};
use crate::domain::own_theme::ThemeChoice;
use crate::domain::request::Request;
use crate::domain::rule::Scope;
use crate::domain::team::{Member, MemberStatus};
use crate::domain::text::one_line;
use crate::domain::todo::{TodoItem, TodoStatus};
use crate::ui::app::filters::Words;
use crate::ui::app::popup::{Choice, Picker};
use crate::ui::app::{Models, UiState};
use crate::ui::keymap::pane::Pane;
use crate::ui::keymap::{Action, Bound, Context};
use crate::ui::model::messages::Traced;
use crate::ui::panes::board;
use crate::ui::popups::themes;
use crate::ui::text::fuzzy;
use crate::ui::transcript::Portion;
use crate::ui::widgets::cut::cut_top;

/// The first row in view of a list, so that the selected one is in view, in the middle where it can be.
pub fn first_row(len: usize, selected: usize, height: u16) -> usize {
    let height = usize::from(height);
    selected
        .saturating_sub(height / 2)
        .min(len.saturating_sub(height))
}

/// The teammates: those who are there in the roster's order, then those who are gone.
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
            .agents
            .get(name)
            .map_or_else(String::new, |agent| agent.errand.clone()),
    };
    let task = board::open_task(state, name).map_or_else(String::new, |task| {
        format!("{} {}", task.id, one_line(&task.subject))
    });
    format!("{name} {role} {task}").to_lowercase()
}

/// The whole team, whatever it is filtered by.
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
    state.letters.fitting(state.filters.words(Pane::Inbox))
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
    Some((at, state.letters.get(*rows.get(at)?)?))
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
    let agent = state.agents.get(&state.shown);
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
    let list = &state.agents.get(&state.shown)?.todo;
    (!list.items().is_empty()).then(|| format!("{}/{}", list.done(), list.items().len()))
}

/// The selected request and its place; the oldest when none is selected.
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
    /// What it says.
    pub words: String,
    /// The places of the letters in `words` that are searched for, counted in characters, in order.
    pub marked: Vec<usize>,
    /// What stands at the right: a key, or a mark.
    pub aside: String,
    /// What it does.
    pub does: Does,
}

/// What taking a row does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Does {
    /// An action of the key map.
    Action(Action),
    /// An action of the key map, in that pane.
    In(Pane, Action),
    /// A message to this agent.
    Address(Name),
    /// Another model.
    Model(String),
    /// A permission that reaches so far.
    Allow(Scope),
    /// A rule of the session, by its number.
    TakeBack(u64),
    /// Another theme.
    Theme(ThemeChoice),
    /// A part of the conversation.
    Copy(Portion),
}

/// The rows of a picker that fit its search, the best first; all of them in their order when nothing is searched for.
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

/// All actions: what waits first, then what is nearest to where the palette was opened, then what other panes can do.
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

/// What of the conversation can be copied.
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
                // On a small screen the list lies over the card.
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
