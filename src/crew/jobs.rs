//! Background jobs: starts and stops them, collects their output, and reports their end to the agent.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use tokio_util::sync::CancellationToken;

use super::context::{CrewContext, lock};
use super::registry::AgentRegistry;
use super::signals::CrewSignals;
use crate::agent::driver::run_blocking;
use crate::domain::conversation::{JobState, LogRecord};
use crate::domain::ids::{JobId, Name};
use crate::domain::job::{Job, JobEnd, REPORTED_MAX};
use crate::domain::text::head_and_tail;
use crate::process::supervisor::Supervisor;
use crate::process::{self, HeadTailBuffer, JobExit};
use crate::protocol::event::{CrewEvent, EventKind};
use crate::tools::host::JobSpec;
use crate::tools::reach;

/// Maximum number of background jobs that run at the same time, of all agents together.
const RUNNING_MAX: usize = 16;
/// Number of ended jobs that stay stored with their output. When a job starts, older ended jobs are removed, and their
/// output can no longer be read.
const ENDED_MAX: usize = 50;
/// Maximum number of bytes that are kept of a job's output: half from the start, half from the end.
const OUTPUT_MAX: usize = 50_000;
/// Maximum number of bytes of a job's output in one event. Longer output is shortened.
const CHUNK_MAX: usize = 4 * 1024;
/// Maximum number of bytes of a job's output that are searched for signs that the sandbox has denied a write.
const NOTED_MAX: usize = 16 * 1024;

pub struct JobRunner {
    context: Arc<CrewContext>,
    signals: Arc<CrewSignals>,
    registry: Arc<AgentRegistry>,
    supervisor: Option<Arc<Supervisor>>,
    jobs: Jobs,
}

/// The running jobs of the crew and the last ended jobs, oldest first. See [`ENDED_MAX`] for their number.
#[derive(Default)]
struct Jobs {
    all: Mutex<VecDeque<JobEntry>>,
}

struct JobEntry {
    job: Job,
    output: HeadTailBuffer,
    cancel: CancellationToken,
    /// The agent or user that stopped the job; `None` if the job was not stopped by an agent or user.
    killed_by: Option<String>,
}

impl Jobs {
    fn put(&self, entry: JobEntry) -> Result<(), String> {
        let mut all = lock(&self.all);
        let running = all.iter().filter(|e| e.job.is_running()).count();
        if running >= RUNNING_MAX {
            return Err(format!(
                "{RUNNING_MAX} background jobs are already running: stop one with stop_background, or wait until one ends"
            ));
        }
        all.push_back(entry);
        let ended = all.iter().filter(|e| !e.job.is_running()).count();
        // Several jobs can have ended since the last one was added.
        for _ in ENDED_MAX..ended {
            if let Some(oldest) = all.iter().position(|e| !e.job.is_running()) {
                all.remove(oldest);
            }
        }
        Ok(())
    }

    fn with<T>(&self, id: &JobId, act: impl FnOnce(&mut JobEntry) -> T) -> Option<T> {
        lock(&self.all)
            .iter_mut()
            .find(|e| e.job.id == *id)
            .map(act)
    }
}

impl JobRunner {
    /// Creates a runner without jobs. With `None` as the supervisor, jobs run without a supervisor.
    pub fn new(
        context: Arc<CrewContext>,
        signals: Arc<CrewSignals>,
        registry: Arc<AgentRegistry>,
        supervisor: Option<Arc<Supervisor>>,
    ) -> JobRunner {
        JobRunner {
            context,
            signals,
            registry,
            supervisor,
            jobs: Jobs::default(),
        }
    }

    /// Returns whether a job of `agent` is running. `None` means any agent.
    pub fn is_running(&self, agent: Option<&Name>) -> bool {
        lock(&self.jobs.all)
            .iter()
            .any(|e| e.job.is_running() && agent.is_none_or(|a| e.job.agent.same(a)))
    }

    /// Returns the running jobs of `agent` and its ended jobs whose output is still stored, oldest first.
    pub fn of(&self, agent: &Name) -> Vec<Job> {
        let all = lock(&self.jobs.all);
        let mine = all.iter().filter(|e| e.job.agent.same(agent));
        mine.map(|e| e.job.clone()).collect()
    }

    /// Returns the output of a job so far, with secrets redacted. If it was shortened, a marker shows where text is
    /// missing. Empty if the job is unknown.
    pub fn output(&self, id: &JobId) -> String {
        let all = lock(&self.jobs.all);
        let found = all.iter().find(|e| e.job.id == *id);
        found.map(|e| e.output.clone().text()).unwrap_or_default()
    }

    /// Stops a job on behalf of `by`, without waiting for its end.
    ///
    /// # Errors
    /// Returns the reason if the job is unknown or has ended.
    pub fn kill(&self, id: &JobId, by: &Name) -> Result<(), String> {
        let mut all = lock(&self.jobs.all);
        let Some(entry) = all.iter_mut().find(|e| e.job.id == *id) else {
            return Err(format!("there is no background job {id}"));
        };
        if !entry.job.is_running() {
            let status = entry.job.status();
            return Err(format!("background job {id} has already ended: {status}"));
        }
        entry.killed_by.get_or_insert_with(|| by.to_string());
        entry.cancel.cancel();
        Ok(())
    }

    /// Starts a job and returns it, without waiting for its process. The job runs until it exits, is stopped or reaches
    /// its time limit, or until the crew stops. If its process cannot be started, the job ends with that reason.
    ///
    /// # Errors
    /// Returns the reason if too many jobs are running.
    pub fn start(self: &Arc<Self>, order: JobSpec) -> Result<Job, String> {
        let id = self.context.new_id();
        let short = id.get(id.len().saturating_sub(8)..).unwrap_or(&id);
        let job = Job {
            id: JobId(short.to_string()),
            agent: order.agent.clone(),
            command: order.command.clone(),
            began: self.context.now(),
            ended: None,
            tail: String::new(),
        };
        let cancel = self.context.stop.child_token();
        self.jobs.put(JobEntry {
            job: job.clone(),
            output: HeadTailBuffer::new(OUTPUT_MAX),
            cancel: cancel.clone(),
            killed_by: None,
        })?;
        if let Some(handle) = self.registry.find(&job.agent) {
            handle.mailbox.add_running_job(job.id.clone(), job.title());
        }
        let work = Arc::clone(self).run(job.clone(), order, cancel);
        self.context.spawn(work);
        Ok(job)
    }

    pub fn kill_all_of(&self, agent: &Name) {
        for job in self.of(agent).iter().filter(|j| j.is_running()) {
            // The job may have exited in the meantime.
            let _ = self.kill(&job.id, agent);
        }
    }

    /// Records in the agent's transcript that a job has started. The end of the job is recorded later, when the agent
    /// is informed about the end.
    async fn record(&self, job: &Job) {
        let transcript = self.context.transcript(&job.agent);
        let record = LogRecord::Job {
            job: job.id.clone(),
            command: job.title(),
            state: JobState::Began,
        };
        if let Err(error) = run_blocking(move || transcript.append_existing(&record)).await {
            tracing::error!("the start of a background job could not be recorded: {error}");
        }
    }

    async fn run(self: Arc<Self>, job: Job, order: JobSpec, cancel: CancellationToken) {
        let id = job.id.clone();
        self.record(&job).await;
        self.context
            .publish(EventKind::Crew(CrewEvent::JobChanged { job: job.clone() }))
            .await;
        let work = process::CommandSpec {
            reach: reach::of(
                self.supervisor.as_deref(),
                &order.agent,
                &order.workdir,
                &order.command,
            ),
            argv: process::shell(order.command),
            dir: order.workdir,
            timeout: order.timeout,
            keep: NOTED_MAX,
            supervisor: self.supervisor.clone(),
            added: order.added,
        };
        let mut part: Vec<u8> = Vec::new();
        let mut clean = self.context.event_sender.redactor().stream();
        let live = |bytes: &[u8]| {
            let bytes = &clean.push(bytes)[..];
            part.extend_from_slice(bytes);
            let whole: Vec<u8> = part.drain(..whole(&part)).collect();
            let chunk = String::from_utf8_lossy(&whole).into_owned();
            self.jobs.with(&id, |entry| {
                entry.output.push(bytes);
                entry.job.put(&chunk);
            });
            self.context
                .event_sender
                .offer(EventKind::Crew(CrewEvent::JobOutput {
                    job: id.clone(),
                    chunk: head_and_tail(&chunk, CHUNK_MAX),
                }));
        };
        let report = process::run(&work, &cancel, live).await;
        let rest = clean.end();
        part.extend_from_slice(&rest);
        let now = self.context.now();
        let handle = self.registry.find(&job.agent);
        // The job's command has left processes running (with `&`), which were killed. The output says so, because the
        // agent may rely on them.
        let left = matches!(&report, Ok(r) if r.had_leftovers);
        let note = report.as_ref().ok().and_then(|r| r.note.clone());
        let said: Vec<String> = left
            .then(|| process::LEFTOVERS_KILLED_NOTE.to_string())
            .into_iter()
            .chain(note)
            .collect();
        let ended = self.jobs.with(&id, |entry| {
            entry.output.push(&rest);
            entry.job.put(&String::from_utf8_lossy(&part));
            for line in &said {
                let line = format!("\n{line}\n");
                entry.output.push(line.as_bytes());
                entry.job.put(&line);
            }
            let end = match report {
                Err(error) => JobEnd::NotStarted {
                    why: error.to_string(),
                },
                Ok(report) => match report.ended {
                    JobExit::Code(code) => JobEnd::Exited { code },
                    JobExit::Signal(signal) => JobEnd::Signalled { signal },
                    JobExit::TimedOut => JobEnd::TimedOut {
                        after_s: order.timeout.as_secs(),
                    },
                    JobExit::Cancelled => JobEnd::Killed {
                        by: entry.killed_by.take().unwrap_or_else(|| "crewdeck".into()),
                    },
                },
            };
            let mut job = entry.job.clone();
            job.ended = Some((now, end));
            // The result is stored before the job counts as ended. So at any time the job either runs or has a result
            // for the agent, and the crew does not count as idle in between.
            if let Some(handle) = &handle {
                handle.mailbox.add_job_result(id.clone(), result_text(&job));
            }
            entry.job = job.clone();
            job
        });
        let Some(job) = ended else { return };
        self.context
            .publish(EventKind::Crew(CrewEvent::JobChanged { job }))
            .await;
        self.signals.files_changed();
    }
}

/// Returns the length of `bytes` without an incomplete UTF-8 character at the end.
fn whole(bytes: &[u8]) -> usize {
    let is_part = |at: &usize| {
        let end = bytes.get(*at..).unwrap_or_default();
        std::str::from_utf8(end).is_err_and(|e| e.valid_up_to() == 0 && e.error_len().is_none())
    };
    let from = bytes.len().saturating_sub(3);
    (from..bytes.len()).find(is_part).unwrap_or(bytes.len())
}

/// Returns the text that informs an agent of the end of its job, in the format of learn-claude-code: status, command
/// and the end of the output.
fn result_text(job: &Job) -> String {
    let tail = match job.tail.trim() {
        "" => "(no output)".to_string(),
        text => head_and_tail(text, REPORTED_MAX),
    };
    format!("[bg:{}] {}: {}\n{tail}", job.id, job.status(), job.title())
}
