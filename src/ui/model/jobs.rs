//! The view model of background jobs: the running jobs and the jobs that ended most recently.

use std::collections::VecDeque;

use crate::domain::ids::JobId;
use crate::domain::job::{Job, JobEnd};
use crate::domain::timestamp::Timestamp;

/// Maximum number of background jobs in memory. If there are more, the oldest job that has ended is dropped.
pub const JOBS_MAX: usize = 64;

/// The background jobs in the order in which they were started.
#[derive(Debug, Default)]
pub struct JobBook {
    all: VecDeque<Job>,
}

impl JobBook {
    /// Adds or updates a job. If there are [`JOBS_MAX`] jobs already, drops the oldest one that has ended, or the
    /// oldest one if none has ended.
    pub fn apply_change(&mut self, job: &Job) {
        if let Some(known) = self.all.iter_mut().find(|j| j.id == job.id) {
            known.clone_from(job);
            return;
        }
        if self.all.len() >= JOBS_MAX {
            let oldest = self.all.iter().position(|j| !j.is_running()).unwrap_or(0);
            self.all.remove(oldest);
        }
        self.all.push_back(job.clone());
    }

    /// Returns the job `id`; `None` if it is unknown or was dropped.
    pub fn get(&self, id: &JobId) -> Option<&Job> {
        self.all.iter().find(|j| j.id == *id)
    }

    /// Appends a chunk of output to the stored output of the job `id`. Does nothing if the job is not in memory.
    pub fn append_output(&mut self, id: &JobId, chunk: &str) {
        if let Some(job) = self.all.iter_mut().find(|j| j.id == *id) {
            job.put(chunk);
        }
    }

    /// Handles the end of a session: marks all running jobs as killed at the time `now`, because crewdeck has exited.
    pub fn end_of_session(&mut self, now: Timestamp) {
        for job in self.all.iter_mut().filter(|j| j.is_running()) {
            let by = "crewdeck on exit".into();
            job.ended = Some((now, JobEnd::Killed { by }));
        }
    }

    /// Returns the jobs in the order in which they are listed: running jobs, oldest first, then ended jobs, newest
    /// first.
    pub fn ordered_jobs(&self) -> Vec<&Job> {
        let running = self.all.iter().filter(|j| j.is_running());
        let ended = self.all.iter().rev().filter(|j| !j.is_running());
        running.chain(ended).collect()
    }

    pub fn running_count(&self) -> usize {
        self.all.iter().filter(|j| j.is_running()).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ids::Name;
    use pretty_assertions::assert_eq;

    fn job(id: &str, ended: Option<JobEnd>) -> Job {
        Job {
            id: JobId(id.into()),
            agent: Name::lead(),
            command: format!("run {id}"),
            began: Timestamp(1.0),
            ended: ended.map(|end| (Timestamp(2.0), end)),
            tail: String::new(),
        }
    }

    #[test]
    fn running_jobs_come_first_and_oldest_ended_is_dropped() {
        let mut book = JobBook::default();
        for n in 0..JOBS_MAX {
            book.apply_change(&job(&n.to_string(), Some(JobEnd::Exited { code: 0 })));
        }
        book.apply_change(&job("new", None));
        book.append_output(&JobId("new".into()), "hello");
        let listed = book.ordered_jobs();
        assert_eq!((listed.len(), book.running_count()), (JOBS_MAX, 1));
        assert_eq!(
            (listed[0].id.0.as_str(), listed[0].tail.as_str()),
            ("new", "hello")
        );
        assert_eq!(listed[1].id.0, (JOBS_MAX - 1).to_string());
        assert!(listed.iter().all(|j| j.id.0 != "0"));
    }
}
