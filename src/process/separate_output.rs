//! Runs a job like [`super::run`] and returns standard output and standard error separately, for programs that print a
//! result to standard output and messages to standard error.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio_util::sync::CancellationToken;

use super::supervisor::JobOutcome;
use super::{CommandSpec, DRAIN, DRAIN_READS, JobExit, JobHandle, JobInput};

/// Maximum number of bytes of one read.
const CHUNK: usize = 16 * 1024;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeparateReport {
    pub ended: JobExit,
    /// The start of standard output, at most [`CommandSpec::keep`] bytes.
    pub stdout: Vec<u8>,
    /// The start of standard error, at most [`CommandSpec::keep`] bytes.
    pub stderr: Vec<u8>,
    /// The number of bytes of standard output and standard error together that were read but not kept.
    pub lost: u64,
    /// Whether the job was killed because it printed too much. `ended` is then [`JobExit::Cancelled`].
    pub is_flood: bool,
    /// Whether the job exited by itself and left processes running, which were then killed; see
    /// [`super::JobReport::had_leftovers`].
    pub had_leftovers: bool,
    /// The limit for which the job was killed, as a clause for the model that begins with "the command"; `None` if it
    /// exceeded no limit.
    pub limit: Option<String>,
}

/// Runs a job with the standard input and the environment variables in `input`. Kills the job in one of these cases:
///
/// - Its timeout has passed.
/// - `cancel` is cancelled.
/// - It has printed more than `flood` bytes to standard output and standard error together.
///
/// Dropping the future kills everything that the job has started. Unlike [`super::run`], does not copy git changes of a
/// sandboxed job from its private history to the repository.
///
/// # Errors
/// Fails if the program cannot be started. A job that fails, is killed or times out is not an error.
pub async fn run_separate(
    job: &CommandSpec,
    input: JobInput,
    cancel: &CancellationToken,
    flood: u64,
) -> io::Result<SeparateReport> {
    let (mut child, mut handle) = JobHandle::start(job, Some(input)).await?;
    let mut out = BoundedPipe::new(child.stdout.take(), job.keep);
    let mut err = BoundedPipe::new(child.stderr.take(), job.keep);
    let deadline = tokio::time::sleep(job.timeout);
    tokio::pin!(deadline);
    let mut is_flood = false;
    let outcome = loop {
        tokio::select! {
            biased;
            () = cancel.cancelled() => break Err(JobExit::Cancelled),
            () = &mut deadline => break Err(JobExit::TimedOut),
            () = out.read() => {}
            () = err.read() => {}
            outcome = handle.wait(&mut child) => break Ok(outcome?),
        }
        if out.total + err.total > flood {
            is_flood = true;
            break Err(JobExit::Cancelled);
        }
    };
    let outcome = match outcome {
        Err(ended) => {
            handle.end(&mut child).await;
            JobOutcome {
                limit: None,
                ended,
                had_leftovers: false,
            }
        }
        Ok(outcome) => {
            // Another process may keep the pipes open, so the end of the output is not awaited.
            let until = tokio::time::Instant::now() + DRAIN;
            for _ in 0..DRAIN_READS {
                if out.open.is_none() && err.open.is_none() {
                    break;
                }
                tokio::select! {
                    biased;
                    () = out.read() => {}
                    () = err.read() => {}
                    () = tokio::time::sleep_until(until) => break,
                }
            }
            handle.with_leftovers(outcome)
        }
    };
    Ok(SeparateReport {
        ended: outcome.ended,
        lost: out.lost() + err.lost(),
        stdout: out.kept,
        stderr: err.kept,
        is_flood,
        had_leftovers: outcome.had_leftovers,
        limit: outcome.limit,
    })
}

/// A pipe of which the first `keep` bytes are stored in `kept`. Further bytes are read and counted in `total`, but
/// dropped.
struct BoundedPipe<P> {
    open: Option<P>,
    chunk: Vec<u8>,
    kept: Vec<u8>,
    keep: usize,
    total: u64,
}

impl<P: AsyncRead + Unpin> BoundedPipe<P> {
    fn new(pipe: Option<P>, keep: usize) -> BoundedPipe<P> {
        BoundedPipe {
            open: pipe,
            chunk: vec![0; CHUNK],
            kept: Vec::new(),
            keep,
            total: 0,
        }
    }

    /// Reads more bytes. Closes the pipe at its end or after a read error. Never completes for a closed pipe.
    /// Cancel-safe.
    async fn read(&mut self) {
        let Some(pipe) = &mut self.open else {
            return std::future::pending().await;
        };
        let n = pipe.read(&mut self.chunk).await.unwrap_or(0);
        if n == 0 {
            self.open = None;
            return;
        }
        self.total += n as u64;
        let room = (self.keep - self.kept.len()).min(n);
        self.kept.extend_from_slice(&self.chunk[..room]);
    }

    fn lost(&self) -> u64 {
        self.total - self.kept.len() as u64
    }
}
