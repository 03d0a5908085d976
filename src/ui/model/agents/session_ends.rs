//! What is shown of agents after the end of a session, and when another one begins.

use super::{Agents, TurnStatus};
use crate::domain::ids::Name;
use crate::domain::team::{Activity, MemberStatus, Team};

impl Agents {
    /// Handles the end of a session: ends all turns and the user's shell commands, closes open entries of the
    /// conversations, makes the lead idle, and marks all other agents as gone.
    pub fn end_of_session(&mut self) {
        self.end_agents(|_| true);
    }

    /// Shows the agents for which `has_ended` is true as not running, as [`Self::end_of_session`] does with all.
    pub fn end_agents(&mut self, has_ended: impl Fn(&Name) -> bool) {
        self.version += 1;
        for (name, agent) in &mut self.known {
            if !has_ended(name) {
                continue;
            }
            agent.transcript.close_open_entries();
            agent.turn = TurnStatus::Outside;
            agent.user_command = None;
            agent.activity = Some(if name.is_lead() {
                Activity::Idle
            } else {
                Activity::Gone
            });
        }
    }

    /// Shows the teammates of other hosts as `team` has them, if they were shown as not running since a session has ended.
    /// What their hosts have reported meanwhile did not arrive here.
    pub fn restart_remote(&mut self, team: &Team) {
        let remote = team
            .members
            .iter()
            .filter(|member| !member.host.is_empty() && member.status != MemberStatus::Shutdown);
        for member in remote {
            if let Some(agent) = self.known.get_mut(&member.name)
                && agent.activity == Some(Activity::Gone)
            {
                agent.activity = None;
                self.version += 1;
            }
        }
    }
}
