//! A teammate between two turns, as a pure machine: mail, then its own task, then a claim, else rest.

use std::time::Duration;

use crate::domain::ids::TaskId;

/// How often an agent that ended its turn with its task open is sent back to it.
pub const NUDGES_MAX: u32 = 2;

/// What a teammate finds when it looks around.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sight {
    /// Whether letters wait for it.
    pub mail: Mail,
    /// The task that it owns and has not completed.
    pub own: Option<TaskId>,
    /// A task that it may claim.
    pub claimable: Option<TaskId>,
    /// Whether something waits for the person.
    pub person: Person,
    /// Now, by a clock that nobody sets: how long the crew has run.
    pub now: Duration,
}

impl Sight {
    /// Whether there is something to do in it.
    pub fn has_work(&self) -> bool {
        self.mail == Mail::Waiting || self.own.is_some() || self.claimable.is_some()
    }
}

/// Whether the team waits for the person: that time is nobody's rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Person {
    /// Nothing waits.
    Free,
    /// A request waits for a decision.
    Asked,
}

/// What lies in an inbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mail {
    /// Nothing.
    None,
    /// Something to read.
    Waiting,
}

/// What it does next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Next {
    /// Read the mail and work on it.
    Read,
    /// Go on with its own task; it ended its turn without completing it.
    Resume(TaskId),
    /// Try to claim this task.
    Claim(TaskId),
    /// Rest until something changes, or until then to look again.
    Rest(Option<Duration>),
    /// Its own task stays open after [`NUDGES_MAX`] reminders: only mail brings it on.
    Stuck(TaskId),
    /// It was asked to go and nothing holds it, or it rested too long.
    Leave(Why),
}

/// Why a teammate leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// A shutdown request was approved.
    Asked,
    /// It had nothing to do for too long.
    Rested,
}

/// Whether a shutdown request was approved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Leaving {
    #[default]
    No,
    Asked,
}

/// The memory of the machine.
#[derive(Debug, Clone, Default)]
pub struct Idle {
    /// How long it may rest; `None`: for ever.
    timeout: Option<Duration>,
    since: Option<Duration>,
    nudged: Option<(TaskId, u32)>,
    leaving: Leaving,
}

impl Idle {
    /// A machine whose agent leaves after resting for `timeout`; `None`: never.
    pub fn new(timeout: Option<Duration>) -> Idle {
        Idle {
            timeout,
            ..Idle::default()
        }
    }

    /// A shutdown request was approved: it leaves as soon as its task is off its hands.
    pub fn ask_to_go(&mut self) {
        self.leaving = Leaving::Asked;
    }

    /// It answered that it stays.
    pub fn stay(&mut self) {
        self.leaving = Leaving::No;
    }

    /// The next thing to do.
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
    fn mail_then_own_task_then_claim() {
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
    fn an_open_task_is_resumed_twice_and_then_left_to_mail() {
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
            "mail starts the count anew"
        );
    }

    #[test]
    fn resting_has_a_limit_that_work_resets() {
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
    fn waiting_for_a_person_is_not_resting() {
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
    fn asked_to_go_it_finishes_its_task_first_and_claims_no_other() {
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
