//! The pane with the list of teammates and subagents.

mod feature;
mod figures;
mod heading;
mod hosts;
mod preview;
mod sort;
#[cfg(test)]
mod tests;
mod update;
pub(in crate::ui) mod view;

use std::collections::BTreeMap;

use ratatui::layout::Rect;

use crate::domain::ids::Name;
use crate::domain::screen::TeamSort;
use crate::domain::team::{Member, MemberStatus};
use crate::domain::text::one_line;
use crate::ui::frame::list_filter::ListFilter;
use crate::ui::model::{CrewModel, board as model_board};
use crate::ui::panes::team::hosts::{HostRow, HostRowsCache, LeftHostsRow};
use crate::ui::text::terms::FilterTerms;
use crate::ui::widgets::cut::cut_top;
use crate::ui::widgets::list::first_row;

/// Minimum width of the list, in columns, to show the headings of its columns.
const HEADINGS_FROM: u16 = 48;

#[derive(Debug)]
pub struct TeamPane {
    /// The selected agent or host. `None` means the first agent in the list, or the first host if no agent is listed.
    pub selected: Option<TeamItem>,
    pub filter: ListFilter,
    pub sort: TeamSort,
    /// Whether the user has expanded (true) or collapsed a host, by its name in lower case. Other hosts are as
    /// [`HostGroup::opens_by_default`](crate::ui::model::team_book::HostGroup::opens_by_default) says. The empty name stands
    /// for the hosts that have left.
    folds: BTreeMap<String, bool>,
    cache: HostRowsCache,
}

/// What a row of the list is about. It identifies the row even if the row moves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TeamItem {
    Agent(Name),
    /// The host with this name.
    Host(String),
    /// The heading above the hosts that have left.
    LeftHosts,
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
            folds: BTreeMap::new(),
            cache: HostRowsCache::default(),
        }
    }
}

impl TeamPane {
    /// Returns the rows that match the filter: first the subagents of the lead, then the teammates, each followed by
    /// its subagents. For a crew on several hosts, these rows are below the heading of their host.
    pub fn rows<'a>(&self, model: &'a CrewModel) -> Vec<TeamRow<'a>> {
        let words = self.filter.words();
        let groups = model.team.groups();
        if !groups.is_empty() {
            return self.rows_by_host(model, &groups, words);
        }
        let mut rows = self.unfiltered_rows(model);
        if !words.is_empty() {
            let terms = FilterTerms::new(words);
            rows.retain(|row| terms.matches(&about(model, row), |_| None));
        }
        rows
    }

    /// Returns the rows of the whole team in the order of [`TeamPane::rows`], ignoring the filter. The lead itself has
    /// no row.
    pub fn unfiltered_rows<'a>(&self, model: &'a CrewModel) -> Vec<TeamRow<'a>> {
        let groups = model.team.groups();
        if !groups.is_empty() {
            return self.rows_by_host(model, &groups, "");
        }
        let subagents = model.agents.running_subagents();
        let mut rows = Vec::new();
        let own = |parent: &Name| {
            let own = subagents.get(parent).into_iter().flatten();
            own.cloned().map(TeamRow::Subagent)
        };
        rows.extend(own(&Name::lead()));
        for member in self.sort.members(model) {
            rows.push(TeamRow::Member(member));
            rows.extend(own(&member.name));
        }
        rows
    }

    /// Divides `inside`, the area inside the pane's frame, into filter, headings and rows.
    pub fn places(&self, model: &CrewModel, inside: Rect) -> TeamListLayout {
        self.places_of(model, &self.rows(model), inside)
    }

    /// Like [`TeamPane::places`], for a caller that has the `rows` of the list.
    fn places_of(&self, model: &CrewModel, rows: &[TeamRow<'_>], inside: Rect) -> TeamListLayout {
        let (filter, list) = self.filter.areas(inside);
        // Headings are shown if a row is free for them. They are also shown if the list is sorted, because a mark in a
        // heading shows by which column.
        let is_free = !rows.is_empty() && rows.len() < usize::from(list.height);
        let is_sorted = self.sort != TeamSort::default() && list.height > 1;
        let has_headings = list.width >= HEADINGS_FROM && (is_free || is_sorted);
        let (headings, list) = cut_top(list, u16::from(has_headings));
        let free = usize::from(list.height).checked_sub(rows.len());
        // The last calls are not looked up for a list that does not even fit without them.
        let shows_actions = free.is_some_and(|free| {
            let has_action = |row: &&TeamRow<'_>| last_action(model, row).is_some();
            rows.iter().filter(has_action).count() <= free
        });
        TeamListLayout {
            filter,
            headings: has_headings.then_some(headings),
            list,
            shows_actions,
        }
    }

    /// Returns the visible rows of the list, from the top. The last tool calls have rows only if all of them fit.
    pub fn lines(&self, model: &CrewModel, places: TeamListLayout) -> Vec<TeamLine> {
        self.lines_of(model, &self.rows(model), places)
    }

    /// Like [`TeamPane::lines`], for a caller that has the `rows` of the list.
    fn lines_of(
        &self,
        model: &CrewModel,
        rows: &[TeamRow<'_>],
        places: TeamListLayout,
    ) -> Vec<TeamLine> {
        let selected = self.selected_row(rows).unwrap_or(0);
        let height = places.list.height;
        let first = first_row(rows.len(), selected, height);
        let visible = rows.iter().enumerate().skip(first);
        let mut out = Vec::new();
        for (at, row) in visible.take(height.into()) {
            out.push(TeamLine::Agent(at));
            if places.shows_actions && last_action(model, row).is_some() {
                out.push(TeamLine::Action(at));
            }
        }
        out.truncate(height.into());
        out
    }

    /// Returns the index of the selected row in `rows`; `None` if the list is empty. If the selected agent is not in the
    /// list, its parent counts as selected: a subagent leaves the list when it finishes. If the parent is not in the
    /// list either, or if nothing is selected, the first agent counts as selected, or the first row if no agent is
    /// listed.
    fn selected_row(&self, rows: &[TeamRow<'_>]) -> Option<usize> {
        let row = |name: &Name| rows.iter().position(|r| r.agent() == Some(name));
        let selected = self.selected.as_ref().and_then(|item| match item {
            // The selection moves from a finished subagent to its parent.
            TeamItem::Agent(name) => row(name).or_else(|| row(&name.parent()?)),
            TeamItem::Host(host) => {
                let is_its = |r: &TeamRow<'_>| r.host().is_some_and(|h| h.group.is_called(host));
                rows.iter().position(is_its)
            }
            TeamItem::LeftHosts => {
                let is_it = |r: &TeamRow<'_>| matches!(r, TeamRow::LeftHosts(_));
                rows.iter().position(is_it)
            }
        });
        let first_agent = || rows.iter().position(|r| r.agent().is_some());
        let at = selected.or_else(first_agent).unwrap_or(0);
        (at < rows.len()).then_some(at)
    }

    /// Returns the index of the selected row, and the agent or host in it; `None` if the list is empty.
    pub fn selected_item_row(&self, model: &CrewModel) -> Option<(usize, TeamItem)> {
        let rows = self.rows(model);
        let at = self.selected_row(&rows)?;
        Some((at, rows.get(at)?.item()))
    }

    /// Returns the index of the selected row and the name of the teammate or subagent in it; `None` if the list is empty
    /// or a host is selected.
    pub fn selected_member(&self, model: &CrewModel) -> Option<(usize, Name)> {
        let rows = self.rows(model);
        let at = self.selected_row(&rows)?;
        Some((at, rows.get(at)?.agent()?.clone()))
    }
}

impl TeamRow<'_> {
    /// Returns the name of the agent or the host.
    #[cfg(test)]
    pub fn name(&self) -> &str {
        match self {
            TeamRow::Member(member) => member.name.as_str(),
            TeamRow::Subagent(name) => name.as_str(),
            TeamRow::Host(host) => &host.group.name,
            TeamRow::LeftHosts(_) => "hosts that have left",
        }
    }

    /// Returns whether a heading is expanded; `None` for an agent.
    fn is_open(&self) -> Option<bool> {
        match self {
            TeamRow::Host(host) => Some(host.is_open),
            TeamRow::LeftHosts(left) => Some(left.is_open),
            TeamRow::Member(_) | TeamRow::Subagent(_) => None,
        }
    }

    /// Returns the name of the agent; `None` for a heading.
    pub fn agent(&self) -> Option<&Name> {
        match self {
            TeamRow::Member(member) => Some(&member.name),
            TeamRow::Subagent(name) => Some(name),
            TeamRow::Host(_) | TeamRow::LeftHosts(_) => None,
        }
    }

    fn host(&self) -> Option<&HostRow> {
        match self {
            TeamRow::Host(host) => Some(host),
            TeamRow::Member(_) | TeamRow::Subagent(_) | TeamRow::LeftHosts(_) => None,
        }
    }

    fn item(&self) -> TeamItem {
        match self {
            TeamRow::Member(member) => TeamItem::Agent(member.name.clone()),
            TeamRow::Subagent(name) => TeamItem::Agent(name.clone()),
            TeamRow::Host(host) => TeamItem::Host(host.group.name.clone()),
            TeamRow::LeftHosts(_) => TeamItem::LeftHosts,
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum TeamRow<'a> {
    Member(&'a Member),
    /// A running subagent. The subagents of a teammate are in the rows below the teammate. The subagents of the lead
    /// are in the first rows, because the lead has no row.
    Subagent(Name),
    /// The heading of a host. The rows of its agents follow if it is expanded.
    Host(HostRow),
    /// The heading above the hosts that have left and of which nothing is open.
    LeftHosts(LeftHostsRow),
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
/// subagent), and its task. Empty for the heading of a host.
pub fn about(model: &CrewModel, row: &TeamRow) -> String {
    let Some(name) = row.agent() else {
        return String::new();
    };
    let role = match row {
        TeamRow::Member(member) => one_line(&member.role),
        TeamRow::Subagent(_) | TeamRow::Host(_) | TeamRow::LeftHosts(_) => model
            .agents
            .get(name)
            .map_or_else(String::new, |agent| agent.subagent.prompt.clone()),
    };
    let task = model_board::open_task(model, name).map_or_else(String::new, |task| {
        format!("{} {}", task.id, one_line(&task.subject))
    });
    format!("{name} {role} {task}").to_lowercase()
}
