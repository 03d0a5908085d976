//! The order of the team's list.

use std::cmp::Reverse;

use crate::domain::screen::TeamSort;
use crate::domain::team::{Activity, Member, MemberStatus};
use crate::ui::model::CrewModel;

impl TeamSort {
    /// Returns the order that follows this one, for a key that cycles through all orders. The order by cost is skipped
    /// while no cost is known.
    #[must_use]
    pub fn next(self, model: &CrewModel) -> TeamSort {
        match self {
            TeamSort::Joined => TeamSort::Name,
            TeamSort::Name => TeamSort::State,
            TeamSort::State => TeamSort::Context,
            TeamSort::Context => TeamSort::Tokens,
            TeamSort::Tokens if model.agents.cost().is_some() => TeamSort::Cost,
            TeamSort::Tokens | TeamSort::Cost => TeamSort::Joined,
        }
    }

    /// Returns the name of the order for a status message.
    pub fn label(self) -> &'static str {
        match self {
            TeamSort::Joined => "join order",
            TeamSort::Name => "name",
            TeamSort::State => "state",
            TeamSort::Context => "context",
            TeamSort::Tokens => "tokens",
            TeamSort::Cost => "cost",
        }
    }

    /// Returns all teammates in this order. For context, tokens and cost, the highest value is first; for the state,
    /// teammates that need attention are first. Teammates that have shut down are always last. Equal teammates stay in
    /// the order in which they joined.
    pub fn members(self, model: &CrewModel) -> Vec<&Member> {
        let all: Vec<usize> = (0..model.team.members.len()).collect();
        let rows = self.members_at(model, &all).into_iter();
        rows.map(|(_, member)| member).collect()
    }

    /// Like [`TeamSort::members`], for the members with these `indices` in the roster, which are in ascending order.
    /// Returns each member with its index.
    pub fn members_at<'a>(
        self,
        model: &'a CrewModel,
        indices: &[usize],
    ) -> Vec<(usize, &'a Member)> {
        let all = indices.iter();
        let all = all.filter_map(|at| Some((*at, model.team.members.get(*at)?)));
        let mut rows: Vec<(usize, &Member)> = all.collect();
        let agent = |member: &Member| model.agents.get(&member.name);
        // The sort is stable, so equal rows stay in the order of joining.
        match self {
            TeamSort::Joined => {}
            TeamSort::Name => rows.sort_by(|(_, a), (_, b)| a.name.cmp(&b.name)),
            TeamSort::State => {
                rows.sort_by_cached_key(|(_, member)| urgency(&model.activity(&member.name)));
            }
            TeamSort::Context => {
                rows.sort_by_key(|(_, member)| {
                    Reverse(
                        agent(member).and_then(crate::ui::model::agents::AgentView::context_share),
                    )
                });
            }
            TeamSort::Tokens => {
                rows.sort_by_key(|(_, member)| {
                    Reverse(agent(member).map_or(0, |a| a.usage.total()))
                });
            }
            TeamSort::Cost => {
                let cost = |member: &Member| agent(member).map_or(0.0, |a| a.own_usage().dollars());
                rows.sort_by(|(_, a), (_, b)| cost(b).total_cmp(&cost(a)));
            }
        }
        rows.sort_by_key(|(_, member)| member.status == MemberStatus::Shutdown);
        rows
    }
}

fn urgency(activity: &Activity) -> u8 {
    match activity {
        Activity::NeedsYou { .. } | Activity::Stuck { .. } | Activity::Failed { .. } => 0,
        Activity::Idle => 2,
        Activity::Gone => 3,
        _ => 1,
    }
}
