//! Background jobs: commands that run while the agent continues.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::ids::{JobId, Name};
use super::text::{clip, one_line};
use super::timestamp::Timestamp;

/// Maximum number of bytes in [`Job::tail`], the end of the output that the screen shows.
pub const TAIL_MAX: usize = 4 * 1024;
/// Maximum number of bytes of [`Job::tail`] that the agent gets when a job ends. The middle of a longer text is cut
/// out.
pub const REPORTED_MAX: usize = 2 * 1024;
/// Maximum number of characters of a command in lists of jobs, as in learn-claude-code.
const COMMAND_MAX: usize = 80;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum JobEnd {
    Exited {
        code: i32,
    },
    /// The command was ended by a signal that crewdeck did not send.
    Signalled {
        signal: i32,
    },
    /// The job was killed because its timeout expired.
    TimedOut {
        /// The timeout in seconds.
        after_s: u64,
    },
    /// The job was killed by an agent, by the user, or by crewdeck on exit.
    Killed {
        /// The name of the agent or user, or `crewdeck`.
        by: String,
    },
    NotStarted {
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

/// A background job, running or ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Job {
    pub id: JobId,
    /// The agent that started the job.
    pub agent: Name,
    pub command: String,
    pub began: Timestamp,
    /// When and how the job ended. `None` while it runs.
    pub ended: Option<(Timestamp, JobEnd)>,
    /// The end of the output, at most [`TAIL_MAX`] bytes.
    pub tail: String,
}

impl Job {
    pub fn is_running(&self) -> bool {
        self.ended.is_none()
    }

    /// Returns `running`, or a text that says how the job ended.
    pub fn status(&self) -> String {
        match &self.ended {
            None => "running".into(),
            Some((_, end)) => end.to_string(),
        }
    }

    /// Returns the command on one line, cut to `COMMAND_MAX` characters.
    pub fn title(&self) -> String {
        clip(&one_line(&self.command), COMMAND_MAX)
    }

    /// Appends `chunk` to [`Job::tail`], then removes characters from the start of the tail until it has at most
    /// [`TAIL_MAX`] bytes.
    pub fn put(&mut self, chunk: &str) {
        self.tail.push_str(chunk);
        if self.tail.len() > TAIL_MAX {
            let over = self.tail.len() - TAIL_MAX;
            self.tail.drain(..self.tail.ceil_char_boundary(over));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tail_keeps_the_last_output_within_bounds() {
        let mut job = Job {
            id: JobId("1".into()),
            agent: Name::lead(),
            command: "x".into(),
            began: Timestamp(0.0),
            ended: None,
            tail: String::new(),
        };
        for n in 0..2000 {
            job.put(&format!("line {n} é\n"));
        }
        assert!(job.tail.len() <= TAIL_MAX && job.tail.ends_with("line 1999 é\n"));
    }

    #[test]
    fn every_end_is_displayed_with_its_cause() {
        let cases = [
            (JobEnd::Exited { code: 0 }, "completed (exit code 0)"),
            (JobEnd::Exited { code: 3 }, "failed (exit code 3)"),
            (JobEnd::Signalled { signal: 9 }, "ended by signal 9"),
            (JobEnd::TimedOut { after_s: 300 }, "timeout (300 s)"),
            (JobEnd::Killed { by: "user".into() }, "killed by user"),
        ];
        for (end, text) in cases {
            assert_eq!(end.to_string(), text);
        }
    }
}
