//! Runs the PostToolUse hooks for an external agent's tool calls, while the prompt that made the calls goes on.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use tokio::time::Instant;

use super::permission::ExternalPermissions;
use crate::domain::agent_update::{AgentToolStatus, AgentUpdate};

/// Maximum number of calls whose hooks run at the same time. While so many run, further updates of the agent are not
/// processed.
const RUNNING_MAX: usize = 16;
/// Maximum number of calls of one prompt whose ids are stored. The hooks of a stored call do not run a second time if
/// the agent reports the end of the call again.
const CALLS_MAX: usize = 4096;

/// The PostToolUse hooks for the calls of one prompt. Dropping this value kills the hooks that run.
pub struct HooksAfter<'a> {
    /// Runs the hooks; `None` if no PostToolUse hook is configured. Then no call is recorded.
    permissions: Option<&'a ExternalPermissions>,
    dir: PathBuf,
    running: FuturesUnordered<BoxFuture<'static, ()>>,
    began: BTreeMap<String, Instant>,
    ended: BTreeSet<String>,
}

impl<'a> HooksAfter<'a> {
    /// `dir` is the directory in which the agent works.
    pub fn new(permissions: &'a ExternalPermissions, dir: &Path) -> HooksAfter<'a> {
        HooksAfter {
            permissions: Some(permissions).filter(|permissions| permissions.has_hooks_after()),
            dir: dir.to_path_buf(),
            running: FuturesUnordered::new(),
            began: BTreeMap::new(),
            ended: BTreeSet::new(),
        }
    }

    pub fn is_running(&self) -> bool {
        !self.running.is_empty()
    }

    /// Starts the hooks of the calls that have succeeded according to `updates`. While the hooks of `RUNNING_MAX` calls
    /// run, waits until those of one call have ended.
    pub async fn start(&mut self, updates: &[AgentUpdate]) {
        let Some(permissions) = self.permissions else {
            return;
        };
        for update in updates {
            let AgentUpdate::ToolCall(call) = update else {
                continue;
            };
            if !call.status.is_final() {
                if self.began.len() < CALLS_MAX && !self.ended.contains(&call.id) {
                    self.began
                        .entry(call.id.clone())
                        .or_insert_with(Instant::now);
                }
                continue;
            }
            let began = self.began.remove(&call.id);
            if self.ended.len() >= CALLS_MAX {
                // Hooks run twice if one of these calls is reported as ended again.
                self.ended.clear();
            }
            if !self.ended.insert(call.id.clone()) || call.status != AgentToolStatus::Completed {
                continue;
            }
            if self.running.len() >= RUNNING_MAX {
                self.next().await;
            }
            let took = began.map_or(std::time::Duration::ZERO, |began| began.elapsed());
            let hooks = permissions.clone();
            let work = hooks.run_hooks_after(self.dir.clone(), call.clone(), took);
            self.running.push(Box::pin(work));
        }
    }

    /// Waits until the hooks of one call have ended. Returns immediately if no hooks run.
    pub async fn next(&mut self) {
        self.running.next().await;
    }

    /// Waits until all hooks have ended.
    pub async fn finish(&mut self) {
        while self.is_running() {
            self.next().await;
        }
    }
}
