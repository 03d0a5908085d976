//! The idle cycle of a teammate as a pure state machine: messages first, then its own task, then a claim, else idle.

use std::time::Duration;

use crate::domain::ids::TaskId;

/// How often an agent that ended its turn with its task open is reminded of it.
pub const NUDGES_MAX: u32 = 2;

/// The situation of a teammate between two turns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sight {
    /// Whether messages wait in its inbox.
    pub mail: Mail,
    /// The open task that it owns.
    pub own: Option<TaskId>,
    /// A task that it may claim.
    pub claimable: Option<TaskId>,
    /// Whether a request waits for the user.
    pub person: Person,
    /// The monotonic time since the crew started.
    pub now: Duration,
}

impl Sight {
    /// Returns whether there is work to do.
    pub fn has_work(&self) -> bool {
        self.mail == Mail::Waiting || self.own.is_some() || self.claimable.is_some()
    }
}

/// Whether a request waits for the user. Such time does not count as idle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Person {
    /// No request waits.
    Free,
    /// A request waits for a decision.
    Asked,
}

/// Whether messages wait in an inbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mail {
    /// No messages wait.
    None,
    /// Messages wait.
    Waiting,
}

/// What a teammate does next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Next {
    /// Read its messages and work on them.
    Read,
    /// Continue its own task: it ended its turn without completing it.
    Resume(TaskId),
    /// Try to claim this task.
    Claim(TaskId),
    /// Stay idle until something changes, or until this time.
    Rest(Option<Duration>),
    /// Wait for a message: its own task is still open after [`NUDGES_MAX`] reminders.
    Stuck(TaskId),
    /// Leave.
    Leave(Why),
}

/// Why a teammate leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// A shutdown request was approved.
    Asked,
    /// It was idle for too long.
    Rested,
}

/// Whether a shutdown request was approved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Leaving {
    #[default]
    No,
    Asked,
}

/// The state of the idle cycle.
#[derive(Debug, Clone, Default)]
pub struct Idle {
    /// How long the agent may be idle; `None` means forever.
    timeout: Option<Duration>,
    since: Option<Duration>,
    nudged: Option<(TaskId, u32)>,
    leaving: Leaving,
}

impl Idle {
    /// Creates the state of an agent that leaves after being idle for `timeout`; `None` means never.
    pub fn new(timeout: Option<Duration>) -> Idle {
        Idle {
            timeout,
            ..Idle::default()
        }
    }

    /// Records an approved shutdown request: the agent leaves once it has no open task.
    pub fn ask_to_go(&mut self) {
        self.leaving = Leaving::Asked;
    }

    /// Records that the agent rejected the shutdown request.
    pub fn stay(&mut self) {
        self.leaving = Leaving::No;
    }

    /// Returns what to do next.
    pub fn next(&mut self, sight: Sight) -> Next {
        if sight.mail == Mail::Waiting {
            self.since = None;
            self.nudged = None;
            return Next::Read;
        }
        if let Some(own) = sight.own {
            self.since = None;
            let done = self
                .nudged
                .filter(|(task, _)| *task == own)
                .map_or(0, |(_, n)| n);
            if done < NUDGES_MAX {
                self.nudged = Some((own, done + 1));
                return Next::Resume(own);
            }
            return if self.leaving == Leaving::Asked {
                Next::Leave(Why::Asked)
            } else {
                Next::Stuck(own)
            };
        }
        self.nudged = None;
        if self.leaving == Leaving::Asked {
            return Next::Leave(Why::Asked);
        }
        if let Some(task) = sight.claimable {
            self.since = None;
            return Next::Claim(task);
        }
        if sight.person == Person::Asked {
            self.since = None;
            return Next::Rest(None);
        }
        let since = *self.since.get_or_insert(sight.now);
        match self.timeout {
            Some(limit) if sight.now.saturating_sub(since) >= limit => Next::Leave(Why::Rested),
            Some(limit) => Next::Rest(Some(since.saturating_add(limit))),
            None => Next::Rest(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sight(at: u64) -> Sight {
        Sight {
            mail: Mail::None,
            own: None,
            claimable: None,
            person: Person::Free,
            now: Duration::from_secs(at),
        }
    }

    #[test]
    fn messages_come_before_own_task_and_claims() {
        let mut idle = Idle::new(None);
        let all = Sight {
            mail: Mail::Waiting,
            own: Some(TaskId(1)),
            claimable: Some(TaskId(2)),
            ..sight(0)
        };
        assert_eq!(idle.next(all), Next::Read);
        assert_eq!(
            idle.next(Sight {
                mail: Mail::None,
                ..all
            }),
            Next::Resume(TaskId(1))
        );
        let free = Sight {
            claimable: Some(TaskId(2)),
            ..sight(0)
        };
        assert_eq!(idle.next(free), Next::Claim(TaskId(2)));
        assert_eq!(idle.next(sight(0)), Next::Rest(None));
    }

    #[test]
    fn open_task_is_resumed_twice_then_waits_for_messages() {
        let mut idle = Idle::new(None);
        let own = Sight {
            own: Some(TaskId(1)),
            ..sight(0)
        };
        assert_eq!(idle.next(own), Next::Resume(TaskId(1)));
        assert_eq!(idle.next(own), Next::Resume(TaskId(1)));
        assert_eq!(idle.next(own), Next::Stuck(TaskId(1)));
        assert_eq!(
            idle.next(Sight {
                mail: Mail::Waiting,
                ..own
            }),
            Next::Read
        );
        assert_eq!(
            idle.next(own),
            Next::Resume(TaskId(1)),
            "a message resets the count"
        );
    }

    #[test]
    fn work_resets_the_idle_timeout() {
        let mut idle = Idle::new(Some(Duration::from_secs(60)));
        assert_eq!(
            idle.next(sight(10)),
            Next::Rest(Some(Duration::from_secs(70)))
        );
        assert_eq!(
            idle.next(sight(69)),
            Next::Rest(Some(Duration::from_secs(70)))
        );
        let free = Sight {
            claimable: Some(TaskId(2)),
            ..sight(69)
        };
        assert_eq!(idle.next(free), Next::Claim(TaskId(2)));
        assert_eq!(
            idle.next(sight(80)),
            Next::Rest(Some(Duration::from_secs(140)))
        );
        assert_eq!(idle.next(sight(140)), Next::Leave(Why::Rested));
    }

    #[test]
    fn waiting_for_the_user_does_not_count_as_idle() {
        let mut idle = Idle::new(Some(Duration::from_secs(60)));
        assert_eq!(
            idle.next(sight(0)),
            Next::Rest(Some(Duration::from_secs(60)))
        );
        let asked = Sight {
            person: Person::Asked,
            ..sight(500)
        };
        assert_eq!(idle.next(asked), Next::Rest(None));
        assert_eq!(
            idle.next(sight(600)),
            Next::Rest(Some(Duration::from_secs(660)))
        );
    }

    #[test]
    fn approved_shutdown_finishes_own_task_and_claims_no_other() {
        let mut idle = Idle::new(None);
        idle.ask_to_go();
        let own = Sight {
            own: Some(TaskId(1)),
            claimable: Some(TaskId(2)),
            ..sight(0)
        };
        assert_eq!(idle.next(own), Next::Resume(TaskId(1)));
        assert_eq!(
            idle.next(Sight { own: None, ..own }),
            Next::Leave(Why::Asked)
        );
    }
}
