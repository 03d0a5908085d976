//! Background jobs: commands that run beside an agent, and how their end is told.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::ids::{JobId, Name};
use super::stamp::Stamp;
use super::text::{clip, one_line};

/// Most bytes of a job's last output that the screen keeps.
pub const TAIL_MAX: usize = 4 * 1024;
/// Most bytes of a job's last output that are told to its agent when it ends.
pub const TOLD_MAX: usize = 2 * 1024;
/// Most characters of a command in a list; the reference's number.
const COMMAND_MAX: usize = 80;

/// How a job ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum JobEnd {
    /// By itself, with this exit code.
    Exited {
        /// The code.
        code: i32,
    },
    /// By a signal from elsewhere.
    Signalled {
        /// The signal.
        signal: i32,
    },
    /// By its time-out.
    TimedOut {
        /// After so many seconds.
        after_s: u64,
    },
    /// Somebody ended it.
    Killed {
        /// Who: a name, or `crewdeck` when it stopped.
        by: String,
    },
    /// It could not be started.
    NotStarted {
        /// Why.
        why: String,
    },
}

impl fmt::Display for JobEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JobEnd::Exited { code: 0 } => f.write_str("completed (exit code 0)"),
            JobEnd::Exited { code } => write!(f, "failed (exit code {code})"),
            JobEnd::Signalled { signal } => write!(f, "ended by signal {signal}"),
            JobEnd::TimedOut { after_s } => write!(f, "timeout ({after_s} s)"),
            JobEnd::Killed { by } => write!(f, "killed by {by}"),
            JobEnd::NotStarted { why } => write!(f, "not started: {why}"),
        }
    }
}

/// A command that runs beside an agent, or has run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// Its id.
    pub id: JobId,
    /// Whose it is.
    pub agent: Name,
    /// The command.
    pub command: String,
    /// When it began.
    pub began: Stamp,
    /// When and how it ended; `None`: it runs.
    pub ended: Option<(Stamp, JobEnd)>,
    /// Its last output, at most [`TAIL_MAX`] bytes.
    pub tail: String,
}

impl Job {
    /// Whether it runs.
    pub fn is_running(&self) -> bool {
        self.ended.is_none()
    }

    /// `running`, or how it ended.
    pub fn status(&self) -> String {
        match &self.ended {
            None => "running".into(),
            Some((_, end)) => end.to_string(),
        }
    }

    /// Its command on one line, clipped.
    pub fn title(&self) -> String {
        clip(&one_line(&self.command), COMMAND_MAX)
    }

    /// Adds output to the tail.
    pub fn put(&mut self, chunk: &str) {
        self.tail.push_str(chunk);
        if self.tail.len() > TAIL_MAX {
            let over = self.tail.len() - TAIL_MAX;
            let at = (over..self.tail.len())
                .find(|at| self.tail.is_char_boundary(*at))
                .unwrap_or(self.tail.len());
            self.tail.drain(..at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_is_the_last_of_the_output_and_bounded() {
        let mut job = Job {
            id: JobId("1".into()),
            agent: Name::lead(),
            command: "x".into(),
            began: Stamp(0.0),
            ended: None,
            tail: String::new(),
        };
        for n in 0..2000 {
            job.put(&format!("line {n} é\n"));
        }
        assert!(job.tail.len() <= TAIL_MAX && job.tail.ends_with("line 1999 é\n"));
    }

    #[test]
    fn every_end_is_told_with_its_cause() {
        let cases = [
            (JobEnd::Exited { code: 0 }, "completed (exit code 0)"),
            (JobEnd::Exited { code: 3 }, "failed (exit code 3)"),
            (JobEnd::Signalled { signal: 9 }, "ended by signal 9"),
            (JobEnd::TimedOut { after_s: 300 }, "timeout (300 s)"),
            (JobEnd::Killed { by: "user".into() }, "killed by user"),
        ];
        for (end, words) in cases {
            assert_eq!(end.to_string(), words);
        }
    }
}
