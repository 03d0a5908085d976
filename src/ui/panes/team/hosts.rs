//! The rows of a crew on several hosts: the agents below the heading of their host, which can be collapsed.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::domain::host::{HostKind, HostPresence};
use crate::domain::ids::Name;
use crate::domain::screen::TeamSort;
use crate::domain::text::one_line;
use crate::ui::app::App;
use crate::ui::keymap::{Action, Context};
use crate::ui::model::CrewModel;
use crate::ui::model::board::memo::Memo;
use crate::ui::model::team_book::{HostGroup, HostGroups};
use crate::ui::panes::team::{TeamItem, TeamPane, TeamRow, about};
use crate::ui::text::terms::FilterTerms;

/// The heading of a host.
#[derive(Debug, Clone, PartialEq)]
pub struct HostRow {
    pub group: Arc<HostGroup>,
    /// Whether the rows of the host's agents follow.
    pub is_open: bool,
}

/// The heading above the hosts that have left and of which nothing is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeftHostsRow {
    /// Number of these hosts.
    pub count: usize,
    /// Whether the headings of these hosts follow.
    pub is_open: bool,
}

/// The key under which [`TeamPane`] records whether the user has expanded the hosts that have left. No host has this name.
const LEFT_HOSTS: &str = "";

/// A row of a crew on several hosts as it is cached: a teammate is its index in the roster.
#[derive(Debug, Clone)]
enum CachedRow {
    Member(usize),
    Subagent(Name),
    Host(HostRow),
    LeftHosts(LeftHostsRow),
}

/// Everything on which the rows of a crew on several hosts depend.
#[derive(Debug, Clone, PartialEq)]
struct HostRowsKey {
    /// The versions of the team, the agents and the board.
    versions: [u64; 3],
    words: String,
    sort: TeamSort,
    selected: Option<TeamItem>,
    folds: BTreeMap<String, bool>,
}

/// The rows of a crew on several hosts, with and without the filter. Drawing, keys and hints of one frame need them
/// several times. Dropping them does not change the screen.
#[derive(Debug, Default)]
pub(super) struct HostRowsCache {
    filtered: Memo<HostRowsKey, Arc<[CachedRow]>>,
    whole: Memo<HostRowsKey, Arc<[CachedRow]>>,
}

impl TeamPane {
    /// Returns the headings of `groups`, each followed by the rows of its agents if it is expanded. If `words`, the text
    /// of a filter, is not empty, returns only agents that match it, all expanded, below the hosts that run them. Without
    /// a filter, the hosts that have left and of which nothing is open are below one heading at the end.
    pub(super) fn rows_by_host<'a>(
        &self,
        model: &'a CrewModel,
        groups: &HostGroups,
        words: &str,
    ) -> Vec<TeamRow<'a>> {
        let key = HostRowsKey {
            versions: [
                model.team.version(),
                model.agents.version(),
                model.memo.version(),
            ],
            words: words.into(),
            sort: self.sort,
            selected: self.selected.clone(),
            folds: self.folds.clone(),
        };
        let memo = match words {
            "" => &self.cache.whole,
            _ => &self.cache.filtered,
        };
        let rows = memo.get(key, || self.make_rows(model, groups, words).into());
        let members = &model.team.members;
        let row = |row: &CachedRow| match row {
            CachedRow::Member(at) => members.get(*at).map(TeamRow::Member),
            CachedRow::Subagent(name) => Some(TeamRow::Subagent(name.clone())),
            CachedRow::Host(host) => Some(TeamRow::Host(host.clone())),
            CachedRow::LeftHosts(left) => Some(TeamRow::LeftHosts(*left)),
        };
        rows.iter().filter_map(row).collect()
    }

    fn make_rows(&self, model: &CrewModel, groups: &HostGroups, words: &str) -> Vec<CachedRow> {
        let terms = (!words.is_empty()).then(|| FilterTerms::new(words));
        let is_folded =
            |group: &&Arc<HostGroup>| terms.is_none() && group.is_over(&model.team, &model.board);
        let (left, mut order): (Vec<_>, Vec<_>) = groups.iter().partition(is_folded);
        if self.sort == TeamSort::State {
            // This order begins with what needs attention.
            order.sort_by_key(|group| !group.is_lost());
        }
        let mut rows = Vec::new();
        self.push_hosts(model, &order, terms.as_ref(), &mut rows);
        if !left.is_empty() {
            let is_open = self.shows_left_hosts(model, &left);
            let count = left.len();
            rows.push(CachedRow::LeftHosts(LeftHostsRow { count, is_open }));
            if is_open {
                self.push_hosts(model, &left, None, &mut rows);
            }
        }
        rows
    }

    /// Adds the headings of `hosts`, each followed by the rows of its agents if it is expanded. With `terms`, only agents
    /// that match them.
    fn push_hosts(
        &self,
        model: &CrewModel,
        hosts: &[&Arc<HostGroup>],
        terms: Option<&FilterTerms>,
        rows: &mut Vec<CachedRow>,
    ) {
        let subagents = model.agents.running_subagents();
        let own = |parent: &Name| {
            let own = subagents.get(parent).into_iter().flatten();
            own.cloned().map(CachedRow::Subagent)
        };
        for &group in hosts {
            let is_open = terms.is_some() || self.is_open(model, group);
            let heading = rows.len();
            rows.push(CachedRow::Host(HostRow {
                group: Arc::clone(group),
                is_open,
            }));
            if !is_open {
                continue;
            }
            if group.is_lead {
                rows.extend(own(&Name::lead()));
            }
            for (at, member) in self.sort.members_at(model, &group.members) {
                rows.push(CachedRow::Member(at));
                rows.extend(own(&member.name));
            }
            if let Some(terms) = terms {
                keep_matching(model, group, terms, heading, rows);
            }
        }
    }

    /// Returns whether the headings of the hosts `left` are listed. They always are if one of them or one of their agents is
    /// selected, so that the selected row is in the list.
    fn shows_left_hosts(&self, model: &CrewModel, left: &[&Arc<HostGroup>]) -> bool {
        let has_selected = match &self.selected {
            Some(TeamItem::Agent(name)) => left.iter().any(|group| group.runs(&model.team, name)),
            Some(TeamItem::Host(host)) => left.iter().any(|group| group.is_called(host)),
            Some(TeamItem::LeftHosts) | None => false,
        };
        has_selected || self.folds.get(LEFT_HOSTS).copied().unwrap_or_default()
    }

    /// Expands or collapses the hosts that have left, and selects their heading.
    pub(super) fn toggle_left_hosts(&mut self, app: &App) {
        let rows = self.rows(app);
        let is_open = rows.iter().any(|row| match row {
            TeamRow::LeftHosts(left) => left.is_open,
            TeamRow::Member(_) | TeamRow::Subagent(_) | TeamRow::Host(_) => false,
        });
        self.selected = Some(TeamItem::LeftHosts);
        self.folds.insert(LEFT_HOSTS.into(), !is_open);
    }

    /// Returns whether the agents of a host are listed. The host of the selected agent is always expanded, so that the
    /// selected row is in the list.
    fn is_open(&self, model: &CrewModel, group: &HostGroup) -> bool {
        if let Some(TeamItem::Agent(name)) = &self.selected
            && group.runs(&model.team, name)
        {
            return true;
        }
        let fold = self.folds.get(&group.name.to_ascii_lowercase());
        fold.copied().unwrap_or_else(|| group.opens_by_default())
    }

    /// Expands or collapses the host called `host`, and selects its heading.
    pub(super) fn toggle_host(&mut self, app: &mut App, host: &str) {
        self.selected = Some(TeamItem::Host(host.into()));
        if !self.filter.words().is_empty() {
            let key = app.prefs.keymap.key(Context::Panes, Action::Back);
            app.say(format!(
                "Filtered hosts are always expanded. {key} clears the filter."
            ));
            return;
        }
        let groups = app.model.team.groups();
        let Some(group) = groups.iter().find(|group| group.is_called(host)) else {
            return;
        };
        let is_open = self.is_open(app, group);
        // Hosts that are gone are dropped, so that the choices do not add up.
        self.folds.retain(|name, _| {
            name == LEFT_HOSTS || groups.iter().any(|group| group.is_called(name))
        });
        self.folds.insert(host.to_ascii_lowercase(), !is_open);
    }

    /// Keeps the host of the selected agent expanded when the selection moves to another row, so that only the user
    /// collapses it. Does nothing for a filtered list, in which all hosts are expanded.
    pub(super) fn keep_host_open(&mut self, model: &CrewModel) {
        if !self.filter.words().is_empty() {
            return;
        }
        let Some(TeamItem::Agent(name)) = &self.selected else {
            return;
        };
        let groups = model.team.groups();
        if let Some(group) = groups.iter().find(|group| group.runs(&model.team, name)) {
            self.folds.insert(group.name.to_ascii_lowercase(), true);
            if group.is_over(&model.team, &model.board) {
                self.folds.insert(LEFT_HOSTS.into(), true);
            }
        }
    }

    /// Returns the number of teammates and running subagents, regardless of the filter and of collapsed hosts.
    pub(super) fn agent_count(model: &CrewModel) -> usize {
        let subagents = model.agents.running_subagents();
        let of = |name: &Name| subagents.get(name).map_or(0, Vec::len);
        let members = model.team.members.iter();
        of(&Name::lead()) + members.map(|member| 1 + of(&member.name)).sum::<usize>()
    }
}

/// Removes the rows after the heading at the index `heading` that do not match `terms`. An agent also matches with the
/// name, the kind, the state and the tags of its host. Removes the heading too if no agent is left.
fn keep_matching(
    model: &CrewModel,
    group: &HostGroup,
    terms: &FilterTerms,
    heading: usize,
    rows: &mut Vec<CachedRow>,
) {
    let host = searched_text(group);
    let agents = rows.split_off(heading + 1);
    let matches = |row: &CachedRow| {
        let row = match row {
            CachedRow::Member(at) => model.team.members.get(*at).map(TeamRow::Member),
            CachedRow::Subagent(name) => Some(TeamRow::Subagent(name.clone())),
            CachedRow::Host(_) | CachedRow::LeftHosts(_) => None,
        };
        row.is_some_and(|row| terms.matches(&format!("{} {host}", about(model, &row)), |_| None))
    };
    rows.extend(agents.into_iter().filter(matches));
    if rows.len() == heading + 1 {
        rows.pop();
    }
}

/// Returns the words about a host that the filter searches, in lower case: name, kind, state and tags.
fn searched_text(group: &HostGroup) -> String {
    let tags = tags(group);
    let (name, kind, state) = (one_line(&group.name), kind_word(group), state_word(group));
    format!("{name} {kind} {state} {tags}").to_lowercase()
}

/// Returns the word for what a host does; empty if the host is unknown.
pub(super) fn kind_word(group: &HostGroup) -> &'static str {
    match group.host.as_ref().map(|host| host.state.info.kind) {
        Some(HostKind::Lead) => "lead",
        Some(HostKind::Worker) => "worker",
        None => "",
    }
}

/// Returns the word for the state of a host. That of a lost host is in capitals, so that it stands out without colour.
pub(super) fn state_word(group: &HostGroup) -> &'static str {
    let Some(host) = &group.host else {
        return "unknown";
    };
    match host.state.presence {
        HostPresence::Present if host.state.info.is_draining => "draining",
        HostPresence::Present => "present",
        HostPresence::Left => "left",
        HostPresence::Lost => "LOST",
    }
}

/// Returns the tags of a host as text, such as `#gpu #rust`.
pub(super) fn tags(group: &HostGroup) -> String {
    let tags = group.host.iter().flat_map(|host| &host.state.info.tags);
    let tags: Vec<String> = tags.map(|tag| format!("#{tag}")).collect();
    one_line(&tags.join(" "))
}
