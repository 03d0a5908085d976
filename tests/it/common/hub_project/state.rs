//! What is stored on the hub: tasks, hosts and members.

use crewdeck::domain::host::{HostPresence, HostState};
use crewdeck::domain::ids::TaskId;
use crewdeck::domain::task::{Task, TaskStatus};
use crewdeck::domain::team::{Member, MemberStatus};

use super::{HubProject, POLL};
use crate::common::wait::wait_for;

impl HubProject {
    pub fn task(&self, id: u64) -> Task {
        (*self.stores.board.get(TaskId(id)).unwrap()).clone()
    }

    /// Returns all tasks in the order of their numbers.
    pub fn tasks(&self) -> Vec<Task> {
        let graph = self.stores.board.read().unwrap().graph;
        graph.tasks().cloned().collect()
    }

    /// Waits until a task satisfies `is_so`, and returns it.
    pub fn wait_for_task(&self, id: u64, what: &str, is_so: impl Fn(&Task) -> bool) -> Task {
        wait_for(&format!("task {id} {what}"), || {
            std::thread::sleep(POLL);
            let task = self.stores.board.get(TaskId(id)).ok()?;
            is_so(&task).then(|| (*task).clone())
        })
    }

    /// Waits until a task is claimed and its worktree is recorded.
    pub fn wait_until_begun(&self, id: u64) -> Task {
        let is_begun = |task: &Task| !task.owner.is_empty() && !task.worktree.is_empty();
        self.wait_for_task(id, "is not begun", is_begun)
    }

    pub fn wait_until_completed(&self, id: u64) -> Task {
        let is_completed = |task: &Task| task.status == TaskStatus::Completed;
        self.wait_for_task(id, "is not completed", is_completed)
    }

    pub fn hosts(&self) -> Vec<HostState> {
        self.stores.hosts.as_ref().unwrap().hosts().unwrap()
    }

    /// Waits until a host satisfies `is_so`, and returns it.
    pub fn wait_for_host(
        &self,
        name: &str,
        what: &str,
        is_so: impl Fn(&HostState) -> bool,
    ) -> HostState {
        wait_for(&format!("host {name} {what}"), || {
            std::thread::sleep(POLL);
            let hosts = self.stores.hosts.as_ref().unwrap().hosts().ok()?;
            let named = |host: &HostState| host.info.name.as_str() == name;
            hosts.into_iter().find(|host| named(host) && is_so(host))
        })
    }

    pub fn wait_until_present(&self, name: &str) -> HostState {
        let is_present = |host: &HostState| host.presence == HostPresence::Present;
        self.wait_for_host(name, "is not present", is_present)
    }

    pub fn presence(&self, name: &str) -> Option<HostPresence> {
        let mut hosts = self.hosts().into_iter();
        let found = hosts.find(|host| host.info.name.as_str() == name);
        found.map(|host| host.presence)
    }

    pub fn member(&self, name: &str) -> Option<Member> {
        let team = self.stores.roster.read().unwrap();
        team.members.into_iter().find(|m| m.name.as_str() == name)
    }

    /// Waits until a teammate is in the team and has not shut down.
    pub fn wait_for_member(&self, name: &str) -> Member {
        wait_for(&format!("{name} is not in the team"), || {
            std::thread::sleep(POLL);
            let member = self.member(name)?;
            (member.status != MemberStatus::Shutdown).then_some(member)
        })
    }
}
