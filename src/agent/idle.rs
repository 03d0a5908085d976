//! The idle cycle of a teammate as a pure state machine. Messages come first, then the teammate's own open task, then
//! an approved shutdown, then a task to claim; without any of these, the teammate is idle.

use std::time::Duration;

use crate::domain::ids::TaskId;

/// Maximum number of reminders in a row to an agent that ended its turn with its task open. A message in between resets
/// the count.
pub const NUDGES_MAX: u32 = 2;

/// The facts that determine what a teammate does between two turns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Situation {
    /// Whether unread messages or results of background jobs wait for the teammate.
    pub has_mail: bool,
    /// The task that the teammate has claimed and not completed; `None` if there is none.
    pub own: Option<TaskId>,
    /// A task that the teammate may claim; `None` if there is none.
    pub claimable: Option<TaskId>,
    /// Whether the teammate waits for a decision or for a background job. Such time does not count as idle.
    pub pauses_idle_timeout: bool,
    /// The time since the crew started, on the monotonic clock.
    pub now: Duration,
}

impl Situation {
    /// Returns whether the teammate has a message, a job result, an open task or a task that it may claim.
    pub fn has_work(&self) -> bool {
        self.has_mail || self.own.is_some() || self.claimable.is_some()
    }
}

/// What a teammate does after a turn, or when it is woken while idle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum IdleAction {
    /// Start a turn that reads the messages and job results.
    Read,
    /// Start a turn that continues the teammate's own task, which was still open at the end of the last turn.
    Resume(TaskId),
    /// Try to claim this task, which another agent may claim first.
    Claim(TaskId),
    /// Stay idle until something changes, or until [`Situation::now`] reaches this time. `None` means no time limit.
    StayIdle(Option<Duration>),
    /// Wait for a message, because the teammate's own task is still open after [`NUDGES_MAX`] reminders.
    Stuck(TaskId),
    Leave(LeaveReason),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaveReason {
    ShutdownApproved,
    IdleTimeout,
}

/// Decides what a teammate does between two turns, and measures how long it has been idle.
#[derive(Debug, Clone, Default)]
pub struct Idle {
    /// How long the agent may be idle; `None` for no limit.
    timeout: Option<Duration>,
    since: Option<Duration>,
    nudged: Option<(TaskId, u32)>,
    /// Whether the agent leaves because a shutdown request was approved. Reset if the agent rejects the request.
    is_leaving: bool,
}

impl Idle {
    /// Creates the state of an agent that leaves once it has been idle for `timeout`. With `None`, it may be idle
    /// without limit.
    pub fn new(timeout: Option<Duration>) -> Idle {
        Idle {
            timeout,
            ..Idle::default()
        }
    }

    /// Records an approved shutdown request: the agent leaves once it has no open task, or after [`NUDGES_MAX`]
    /// reminders of its open task.
    pub fn approve_shutdown(&mut self) {
        self.is_leaving = true;
    }

    /// Undoes [`Idle::approve_shutdown`], because the agent has rejected the shutdown request.
    pub fn reject_shutdown(&mut self) {
        self.is_leaving = false;
    }

    /// Returns the next action. Messages come first, then the agent's open task, then an approved shutdown, then a task
    /// to claim. After [`NUDGES_MAX`] reminders, an approved shutdown comes before the open task. Each returned
    /// [`IdleAction::Resume`] counts as a reminder. The idle time starts again from 0 after each action other than
    /// staying idle or leaving. It does not run while [`Situation::pauses_idle_timeout`] is true.
    pub fn next(&mut self, situation: Situation) -> IdleAction {
        if situation.has_mail {
            self.since = None;
            self.nudged = None;
            return IdleAction::Read;
        }
        if let Some(own) = situation.own {
            self.since = None;
            let done = self
                .nudged
                .filter(|(task, _)| *task == own)
                .map_or(0, |(_, n)| n);
            if done < NUDGES_MAX {
                self.nudged = Some((own, done + 1));
                return IdleAction::Resume(own);
            }
            return if self.is_leaving {
                IdleAction::Leave(LeaveReason::ShutdownApproved)
            } else {
                IdleAction::Stuck(own)
            };
        }
        self.nudged = None;
        if self.is_leaving {
            return IdleAction::Leave(LeaveReason::ShutdownApproved);
        }
        if let Some(task) = situation.claimable {
            self.since = None;
            return IdleAction::Claim(task);
        }
        if situation.pauses_idle_timeout {
            self.since = None;
            return IdleAction::StayIdle(None);
        }
        let since = *self.since.get_or_insert(situation.now);
        match self.timeout {
            Some(limit) if situation.now.saturating_sub(since) >= limit => {
                IdleAction::Leave(LeaveReason::IdleTimeout)
            }
            Some(limit) => IdleAction::StayIdle(Some(since.saturating_add(limit))),
            None => IdleAction::StayIdle(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn situation(at: u64) -> Situation {
        Situation {
            has_mail: false,
            own: None,
            claimable: None,
            pauses_idle_timeout: false,
            now: Duration::from_secs(at),
        }
    }

    #[test]
    fn messages_come_before_own_task_and_claims() {
        let mut idle = Idle::new(None);
        let all = Situation {
            has_mail: true,
            own: Some(TaskId(1)),
            claimable: Some(TaskId(2)),
            ..situation(0)
        };
        assert_eq!(idle.next(all), IdleAction::Read);
        assert_eq!(
            idle.next(Situation {
                has_mail: false,
                ..all
            }),
            IdleAction::Resume(TaskId(1))
        );
        let free = Situation {
            claimable: Some(TaskId(2)),
            ..situation(0)
        };
        assert_eq!(idle.next(free), IdleAction::Claim(TaskId(2)));
        assert_eq!(idle.next(situation(0)), IdleAction::StayIdle(None));
    }

    #[test]
    fn open_task_is_resumed_twice_then_waits_for_messages() {
        let mut idle = Idle::new(None);
        let own = Situation {
            own: Some(TaskId(1)),
            ..situation(0)
        };
        assert_eq!(idle.next(own), IdleAction::Resume(TaskId(1)));
        assert_eq!(idle.next(own), IdleAction::Resume(TaskId(1)));
        assert_eq!(idle.next(own), IdleAction::Stuck(TaskId(1)));
        assert_eq!(
            idle.next(Situation {
                has_mail: true,
                ..own
            }),
            IdleAction::Read
        );
        assert_eq!(
            idle.next(own),
            IdleAction::Resume(TaskId(1)),
            "a message resets the count"
        );
    }

    #[test]
    fn work_resets_the_idle_timeout() {
        let mut idle = Idle::new(Some(Duration::from_secs(60)));
        assert_eq!(
            idle.next(situation(10)),
            IdleAction::StayIdle(Some(Duration::from_secs(70)))
        );
        assert_eq!(
            idle.next(situation(69)),
            IdleAction::StayIdle(Some(Duration::from_secs(70)))
        );
        let free = Situation {
            claimable: Some(TaskId(2)),
            ..situation(69)
        };
        assert_eq!(idle.next(free), IdleAction::Claim(TaskId(2)));
        assert_eq!(
            idle.next(situation(80)),
            IdleAction::StayIdle(Some(Duration::from_secs(140)))
        );
        assert_eq!(
            idle.next(situation(140)),
            IdleAction::Leave(LeaveReason::IdleTimeout)
        );
    }

    #[test]
    fn waiting_for_the_user_does_not_count_as_idle() {
        let mut idle = Idle::new(Some(Duration::from_secs(60)));
        assert_eq!(
            idle.next(situation(0)),
            IdleAction::StayIdle(Some(Duration::from_secs(60)))
        );
        let asked = Situation {
            pauses_idle_timeout: true,
            ..situation(500)
        };
        assert_eq!(idle.next(asked), IdleAction::StayIdle(None));
        assert_eq!(
            idle.next(situation(600)),
            IdleAction::StayIdle(Some(Duration::from_secs(660)))
        );
    }

    #[test]
    fn approved_shutdown_finishes_own_task_and_claims_no_other() {
        let mut idle = Idle::new(None);
        idle.approve_shutdown();
        let own = Situation {
            own: Some(TaskId(1)),
            claimable: Some(TaskId(2)),
            ..situation(0)
        };
        assert_eq!(idle.next(own), IdleAction::Resume(TaskId(1)));
        assert_eq!(
            idle.next(Situation { own: None, ..own }),
            IdleAction::Leave(LeaveReason::ShutdownApproved)
        );
    }
}
