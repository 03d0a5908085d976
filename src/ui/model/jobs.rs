//! What the screen knows of the background jobs: those that run and the last ones that ended.

use std::collections::VecDeque;

use crate::domain::ids::JobId;
use crate::domain::job::{Job, JobEnd};
use crate::domain::stamp::Stamp;

/// Most jobs that are listed.
pub const JOBS_MAX: usize = 64;

/// The background jobs, in the order in which they began.
#[derive(Debug, Default)]
pub struct JobBook {
    all: VecDeque<Job>,
}

impl JobBook {
    /// A job began or ended. One that ended long ago makes room for a new one.
    pub fn changed(&mut self, job: &Job) {
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

    /// The job of that id, if it is listed.
    pub fn get(&self, id: &JobId) -> Option<&Job> {
        self.all.iter().find(|j| j.id == *id)
    }

    /// A job has written something.
    pub fn heard(&mut self, id: &JobId, chunk: &str) {
        if let Some(job) = self.all.iter_mut().find(|j| j.id == *id) {
            job.put(chunk);
        }
    }

    /// crewdeck was ended, and what ran with it.
    pub fn end_of_session(&mut self, now: Stamp) {
        for job in self.all.iter_mut().filter(|j| j.is_running()) {
            let by = "the end of crewdeck".into();
            job.ended = Some((now, JobEnd::Killed { by }));
        }
    }

    /// The jobs as they are listed: those that run first, then the last ones that ended.
    pub fn listed(&self) -> Vec<&Job> {
        let running = self.all.iter().filter(|j| j.is_running());
        let ended = self.all.iter().rev().filter(|j| !j.is_running());
        running.chain(ended).collect()
    }

    /// How many run.
    pub fn running(&self) -> usize {
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
            began: Stamp(1.0),
            ended: ended.map(|end| (Stamp(2.0), end)),
            tail: String::new(),
        }
    }

    #[test]
    fn those_that_run_come_first_and_the_oldest_end_goes() {
        let mut book = JobBook::default();
        for n in 0..JOBS_MAX {
            book.changed(&job(&n.to_string(), Some(JobEnd::Exited { code: 0 })));
        }
        book.changed(&job("new", None));
        book.heard(&JobId("new".into()), "hello");
        let listed = book.listed();
        assert_eq!((listed.len(), book.running()), (JOBS_MAX, 1));
        assert_eq!(
            (listed[0].id.0.as_str(), listed[0].tail.as_str()),
            ("new", "hello")
        );
        assert_eq!(listed[1].id.0, (JOBS_MAX - 1).to_string());
        assert!(listed.iter().all(|j| j.id.0 != "0"));
    }
}
