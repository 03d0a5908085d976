//! Holds the running agents and subagents: how to reach each one, and what state it is in.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

use super::context::lock;
use super::signals::CrewSignals;
use crate::agent::driver::{AgentModel, Control};
use crate::agent::mailbox::AgentMailbox;
use crate::domain::ids::Name;
use crate::domain::role::{RoleEffort, ToolSelection};

/// Maximum number of texts and commands, such as an interrupt, that can be queued for one agent.
const CONTROL_MAX: usize = 64;
/// Maximum number of subagents of one agent that run at the same time.
pub const SUBAGENTS_MAX: usize = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentState {
    /// Waits for input, a message or a task.
    Idle,
    /// Waits for input or a message, and counts as unable to claim tasks, for one of these reasons:
    ///
    /// - Its model has failed.
    /// - It was interrupted.
    /// - A budget was not raised.
    /// - Its worktree could not be created.
    /// - Its claims have failed repeatedly. In this case, it still tries to claim tasks.
    Paused,
    /// Is in a turn or about to start one.
    Working,
}

/// The crew's access to a running agent.
#[derive(Clone)]
pub struct AgentHandle {
    pub control: mpsc::Sender<Control>,
    pub mailbox: Arc<AgentMailbox>,
    pub model: Arc<AgentModel>,
    /// The reasoning effort that the agent's role sets; `None` if it sets none.
    pub effort: Option<RoleEffort>,
    state: Arc<Mutex<AgentState>>,
    pub tags: Vec<String>,
    /// The limits on the agent's tools. They also apply to its subagents.
    pub limits: Arc<[ToolSelection]>,
    pub kill: CancellationToken,
    pub subagent_slots: Arc<Semaphore>,
}

impl AgentHandle {
    /// Creates the handle of an idle agent whose role sets no effort. Also returns the channel from which the agent
    /// receives texts and commands.
    pub fn new(
        mailbox: Arc<AgentMailbox>,
        model: Arc<AgentModel>,
        tags: Vec<String>,
        limits: Arc<[ToolSelection]>,
    ) -> (AgentHandle, mpsc::Receiver<Control>) {
        let (control, inbox) = mpsc::channel(CONTROL_MAX);
        let handle = AgentHandle {
            control,
            mailbox,
            model,
            effort: None,
            state: Arc::new(Mutex::new(AgentState::Idle)),
            tags,
            limits,
            kill: CancellationToken::new(),
            subagent_slots: Arc::new(Semaphore::new(SUBAGENTS_MAX)),
        };
        (handle, inbox)
    }

    pub fn state(&self) -> AgentState {
        *lock(&self.state)
    }

    pub fn is_working(&self) -> bool {
        self.state() == AgentState::Working
    }

    pub fn interrupt(&self) {
        // The queue is full only if the agent has not received any of the last `CONTROL_MAX` commands, which means that
        // it is stuck.
        let _ = self.control.try_send(Control::Interrupt);
    }
}

/// The running agents and subagents of a crew, by name.
pub struct AgentRegistry {
    signals: Arc<CrewSignals>,
    agents: Mutex<BTreeMap<Name, AgentHandle>>,
    /// Counts how often an agent has started to work. If the count has not changed during a check of the idle detector,
    /// no agent has started to work in the meantime.
    work_starts: AtomicU64,
    /// The highest number of a subagent in this session so far, including the time before a resume.
    subagents_started: AtomicU64,
    subagents: Mutex<BTreeMap<Name, RunningSubagent>>,
}

struct RunningSubagent {
    /// Cancelling this token interrupts the subagent.
    cancel: CancellationToken,
    mailbox: Arc<AgentMailbox>,
}

impl AgentRegistry {
    pub fn new(signals: Arc<CrewSignals>) -> AgentRegistry {
        AgentRegistry {
            signals,
            agents: Mutex::default(),
            work_starts: AtomicU64::new(0),
            subagents_started: AtomicU64::new(0),
            subagents: Mutex::default(),
        }
    }

    pub fn find(&self, name: &Name) -> Option<AgentHandle> {
        lock(&self.agents)
            .iter()
            .find(|(n, _)| n.same(name))
            .map(|(_, h)| h.clone())
    }

    /// Returns the handle of a running teammate.
    ///
    /// # Errors
    /// Fails if `name` is the lead or is not running.
    pub fn find_teammate(&self, name: &Name) -> Result<AgentHandle, String> {
        let found = self.find(name).filter(|_| !name.is_lead());
        found.ok_or_else(|| format!("'{name}' is not a running teammate."))
    }

    /// Returns the running agents except subagents, ordered by name.
    pub fn all(&self) -> Vec<(Name, AgentHandle)> {
        let agents = lock(&self.agents);
        agents.iter().map(|(n, h)| (n.clone(), h.clone())).collect()
    }

    pub fn add(&self, name: Name, handle: AgentHandle) {
        lock(&self.agents).insert(name, handle);
        self.signals.activity_changed();
    }

    pub fn remove(&self, name: &Name) {
        lock(&self.agents).remove(name);
        self.signals.activity_changed();
    }

    /// Sets the state of an agent and wakes the idle detector. [`AgentState::Working`] counts as a start of work.
    pub fn set_state(&self, handle: &AgentHandle, state: AgentState) {
        if state == AgentState::Working {
            self.work_starts.fetch_add(1, Ordering::SeqCst);
        }
        *lock(&handle.state) = state;
        self.signals.activity_changed();
    }

    /// Counts a start of work although no agent has started, so that the idle detector reports the next idle period.
    pub fn count_work_start(&self) {
        self.work_starts.fetch_add(1, Ordering::SeqCst);
        self.signals.activity_changed();
    }

    pub fn work_starts(&self) -> u64 {
        self.work_starts.load(Ordering::SeqCst)
    }

    pub fn working_teammates(&self) -> Vec<Name> {
        let agents = lock(&self.agents);
        let works = |(name, handle): &(&Name, &AgentHandle)| !name.is_lead() && handle.is_working();
        agents
            .iter()
            .filter(works)
            .map(|(n, _)| n.clone())
            .collect()
    }

    /// Waits until fewer than [`SUBAGENTS_MAX`] subagents of `parent` run. The caller must keep the returned permit
    /// while the subagent runs.
    ///
    /// # Errors
    /// Fails if `parent` is not running.
    pub async fn subagent_slot(&self, parent: &Name) -> Result<OwnedSemaphorePermit, String> {
        let not_running =
            || format!("{parent} is not running any more, so it cannot start a subagent");
        let slots = self.find(parent).ok_or_else(not_running)?.subagent_slots;
        slots.acquire_owned().await.map_err(|_| not_running())
    }

    /// Returns the number for the next subagent. The first number is 1.
    pub fn next_subagent_number(&self) -> u64 {
        self.subagents_started.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// Makes the numbers of new subagents start after `last`, the highest number so far in the resumed session. Numbers
    /// must not repeat, because the name of a subagent's transcript contains its number.
    pub fn continue_subagents_after(&self, last: u64) {
        self.subagents_started.store(last, Ordering::SeqCst);
    }

    pub fn add_subagent(&self, name: Name, cancel: CancellationToken, mailbox: Arc<AgentMailbox>) {
        lock(&self.subagents).insert(name, RunningSubagent { cancel, mailbox });
    }

    /// Returns the mailbox of a running agent or subagent; `None` if it is not running.
    pub fn mailbox_of(&self, name: &Name) -> Option<Arc<AgentMailbox>> {
        let found = lock(&self.subagents)
            .get(name)
            .map(|s| Arc::clone(&s.mailbox));
        found.or_else(|| Some(self.find(name)?.mailbox))
    }

    pub fn remove_subagent(&self, name: &Name) {
        lock(&self.subagents).remove(name);
    }

    pub fn subagents_of(&self, parent: &Name) -> usize {
        let subagents = lock(&self.subagents);
        let parents = subagents.keys().filter_map(Name::parent);
        parents.filter(|p| p.same(parent)).count()
    }

    /// Interrupts a subagent, or the current turn of an agent, without waiting for its end.
    ///
    /// # Errors
    /// Fails if the agent is not running or not in a turn.
    pub fn interrupt(&self, agent: &Name) -> Result<(), String> {
        if let Some(subagent) = lock(&self.subagents).get(agent) {
            subagent.cancel.cancel();
            return Ok(());
        }
        let handle = self
            .find(agent)
            .ok_or_else(|| format!("{agent} is not running"))?;
        if !handle.is_working() {
            return Err(format!(
                "{agent} is not in a turn: there is nothing to interrupt."
            ));
        }
        handle.interrupt();
        Ok(())
    }

    /// Adds a line of text to the next model call of every agent except subagents.
    pub fn note_all(&self, line: &str) {
        for handle in lock(&self.agents).values() {
            handle.mailbox.note(line.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::super::test_support::silent_agent_model;
    use super::*;

    fn registry(names: &[&str]) -> AgentRegistry {
        let registry = AgentRegistry::new(Arc::default());
        for name in names {
            let (handle, _) = AgentHandle::new(
                Arc::default(),
                silent_agent_model(),
                Vec::new(),
                Arc::default(),
            );
            registry.add(Name::party(name).unwrap(), handle);
        }
        registry
    }

    #[test]
    fn only_working_teammates_are_listed_as_working() {
        let registry = registry(&["lead", "ann", "bob"]);
        assert_eq!(registry.working_teammates(), []);
        for (_, handle) in registry.all().iter().filter(|(n, _)| n.as_str() != "bob") {
            registry.set_state(handle, AgentState::Working);
        }
        assert_eq!(registry.working_teammates(), [Name::party("ann").unwrap()]);
        assert_eq!(registry.work_starts(), 2);
        registry.remove(&Name::party("ann").unwrap());
        assert_eq!(registry.working_teammates(), []);
    }

    #[tokio::test]
    async fn subagent_of_an_agent_that_has_left_is_refused_with_the_reason() {
        let registry = registry(&["ann"]);
        let ann = Name::party("ann").unwrap();
        let slot = registry.subagent_slot(&ann).await.unwrap();
        registry.remove(&ann);
        drop(slot);
        let why = registry.subagent_slot(&ann).await.unwrap_err();
        assert_eq!(
            why,
            "ann is not running any more, so it cannot start a subagent"
        );
    }

    #[test]
    fn idle_agents_cannot_be_interrupted_but_their_subagents_can() {
        let registry = registry(&["ann"]);
        let ann = Name::party("ann").unwrap();
        assert!(registry.interrupt(&ann).is_err());
        let (name, cancel) = (Name::subagent(&ann, 1), CancellationToken::new());
        registry.add_subagent(name.clone(), cancel.clone(), Arc::default());
        assert_eq!(registry.subagents_of(&ann), 1);
        assert_eq!(registry.interrupt(&name), Ok(()));
        assert!(cancel.is_cancelled());
        registry.remove_subagent(&name);
        assert_eq!(registry.subagents_of(&ann), 0);
    }

    #[test]
    fn the_lead_is_not_a_teammate() {
        let registry = registry(&["lead", "ann"]);
        assert!(registry.find_teammate(&Name::party("Ann").unwrap()).is_ok());
        assert!(registry.find_teammate(&Name::lead()).is_err());
    }
}
