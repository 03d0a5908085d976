//! The pane with the list of teammates and subagents.

mod feature;
mod figures;
mod preview;
mod sort;
mod update;
pub(in crate::ui) mod view;

use ratatui::layout::Rect;

use crate::domain::ids::Name;
use crate::domain::screen::TeamSort;
use crate::domain::team::{Member, MemberStatus};
use crate::domain::text::one_line;
use crate::ui::frame::list_filter::ListFilter;
use crate::ui::model::{CrewModel, board as model_board};
use crate::ui::text::terms::FilterTerms;
use crate::ui::widgets::cut::cut_top;
use crate::ui::widgets::list::first_row;

/// Minimum width of the list, in columns, to show the headings of its columns.
const HEADINGS_FROM: u16 = 48;

#[derive(Debug)]
pub struct TeamPane {
    /// The selected agent. `None` means the agent in the first row.
    pub selected: Option<Name>,
    pub filter: ListFilter,
    pub sort: TeamSort,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TeamListLayout {
    /// The filter input; `None` if no filter is set or being typed.
    pub filter: Option<Rect>,
    /// The row with the headings of the columns; `None` if the list is too narrow or has no row to spare.
    pub headings: Option<Rect>,
    pub list: Rect,
    /// Whether the list has room for one more row below each agent with a last tool call.
    pub shows_actions: bool,
}

/// A row of the list on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TeamLine {
    /// The row of the agent with this index among the rows of the team.
    Agent(usize),
    /// The last tool call of that agent.
    Action(usize),
}

impl Default for TeamPane {
    fn default() -> TeamPane {
        TeamPane {
            selected: None,
            filter: ListFilter::new("name, role or task  !word"),
            sort: TeamSort::default(),
        }
    }
}

impl TeamPane {
    /// Returns the rows that match the filter: first the subagents of the lead, then the teammates, each followed by
    /// its subagents.
    pub fn rows<'a>(&self, model: &'a CrewModel) -> Vec<TeamRow<'a>> {
        let words = self.filter.words();
        let mut rows = self.unfiltered_rows(model);
        if !words.is_empty() {
            let words = FilterTerms::new(words);
            rows.retain(|row| words.matches(&about(model, row), |_| None));
        }
        rows
    }

    /// Returns the rows of the whole team in the order of [`TeamPane::rows`], ignoring the filter. The lead itself has
    /// no row.
    pub fn unfiltered_rows<'a>(&self, model: &'a CrewModel) -> Vec<TeamRow<'a>> {
        let of = |parent: &Name| {
            let all = model.agents.subagents(parent);
            all.map(TeamRow::Subagent).collect::<Vec<_>>()
        };
        let mut rows = of(&Name::lead());
        for member in self.sort.members(model) {
            rows.push(TeamRow::Member(member));
            rows.extend(of(&member.name));
        }
        rows
    }

    /// Divides `inside`, the area inside the pane's frame, into filter, headings and rows.
    pub fn places(&self, model: &CrewModel, inside: Rect) -> TeamListLayout {
        let (filter, list) = self.filter.areas(inside);
        let rows = self.rows(model).len();
        // Headings are shown if a row is free for them. They are also shown if the list is sorted, because a mark in a
        // heading shows by which column.
        let is_free = rows > 0 && rows < usize::from(list.height);
        let is_sorted = self.sort != TeamSort::default() && list.height > 1;
        let has_headings = list.width >= HEADINGS_FROM && (is_free || is_sorted);
        let (headings, list) = cut_top(list, u16::from(has_headings));
        let actions = self.rows(model);
        let actions = actions
            .iter()
            .filter(|row| last_action(model, row).is_some());
        TeamListLayout {
            filter,
            headings: has_headings.then_some(headings),
            list,
            shows_actions: rows + actions.count() <= usize::from(list.height),
        }
    }

    /// Returns the visible rows of the list, from the top. The last tool calls have rows only if all of them fit.
    pub fn lines(&self, model: &CrewModel, places: TeamListLayout) -> Vec<TeamLine> {
        let rows = self.rows(model);
        let selected = self.selected_member(model).map_or(0, |(at, _)| at);
        let height = places.list.height;
        let first = first_row(rows.len(), selected, height);
        let mut out = Vec::new();
        for (at, row) in rows.iter().enumerate().skip(first) {
            out.push(TeamLine::Agent(at));
            if places.shows_actions && last_action(model, row).is_some() {
                out.push(TeamLine::Action(at));
            }
        }
        out.truncate(height.into());
        out
    }

    /// Returns the index of the selected row and the name of the teammate or subagent in it; `None` if the list is
    /// empty. If the selected agent is not in the list, its parent counts as selected: a subagent leaves the list when
    /// it finishes. If the parent is not in the list either, or if no agent is selected, the first row counts as
    /// selected.
    pub fn selected_member(&self, model: &CrewModel) -> Option<(usize, Name)> {
        let rows = self.rows(model);
        let at = self
            .selected
            .as_ref()
            .and_then(|name| {
                let row = |name: &Name| rows.iter().position(|r| r.name() == name);
                // The selection moves from a finished subagent to its parent.
                row(name).or_else(|| row(&name.parent()?))
            })
            .unwrap_or(0);
        rows.get(at).map(|r| (at, r.name().clone()))
    }
}

impl TeamRow<'_> {
    pub fn name(&self) -> &Name {
        match self {
            TeamRow::Member(member) => &member.name,
            TeamRow::Subagent(name) => name,
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum TeamRow<'a> {
    Member(&'a Member),
    /// A running subagent. The subagents of a teammate are in the rows below the teammate. The subagents of the lead
    /// are in the first rows, because the lead has no row.
    Subagent(Name),
}

/// Returns the last tool call of a working teammate, as its transcript names it: the tool and its subject. `None` if the
/// teammate does not work or has not called a tool recently, and for a subagent.
pub fn last_action(model: &CrewModel, row: &TeamRow) -> Option<String> {
    let TeamRow::Member(member) = row else {
        return None;
    };
    if member.status == MemberStatus::Shutdown || !model.activity(&member.name).is_busy() {
        return None;
    }
    let (tool, subject) = model.agents.get(&member.name)?.transcript.last_call()?;
    Some(format!("{tool} {subject}").trim_end().into())
}

/// Returns the text of a row that the filter searches, in lower case: the agent's name, its role (or the prompt of a
/// subagent), and its task.
pub fn about(model: &CrewModel, row: &TeamRow) -> String {
    let name = row.name();
    let role = match row {
        TeamRow::Member(member) => one_line(&member.role),
        TeamRow::Subagent(_) => model
            .agents
            .get(name)
            .map_or_else(String::new, |agent| agent.subagent.prompt.clone()),
    };
    let task = model_board::open_task(model, name).map_or_else(String::new, |task| {
        format!("{} {}", task.id, one_line(&task.subject))
    });
    format!("{name} {role} {task}").to_lowercase()
}
