//! The queue of an external agent's updates between the connection, which must not wait, and the turn that processes
//! them.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::sync::Notify;

use super::permission::ExternalPermissions;
use crate::acp::{AskedPermission, PermissionAnswer, SessionHandler};
use crate::domain::agent_update::AgentUpdate;

/// Maximum size, in bytes, of the texts of updates that wait for the turn. Further updates are dropped, with a notice.
const WAITING_MAX: usize = 8 * 1024 * 1024;
/// Maximum number of updates that wait for the turn. Further updates are dropped, with a notice, except text that
/// continues the last update.
const UPDATES_MAX: usize = 4096;

/// Receives an agent's updates and permission requests in a session. Stores the updates until the turn takes them.
pub struct UpdateQueue {
    waiting: Mutex<WaitingUpdates>,
    arrived: Notify,
    permissions: ExternalPermissions,
    workdir: PathBuf,
    /// The number of the agent's permission requests that wait for a decision.
    asking: Arc<AtomicUsize>,
}

#[derive(Default)]
struct WaitingUpdates {
    updates: VecDeque<AgentUpdate>,
    bytes: usize,
    has_dropped: bool,
}

impl UpdateQueue {
    pub fn new(permissions: ExternalPermissions, workdir: PathBuf) -> UpdateQueue {
        UpdateQueue {
            waiting: Mutex::default(),
            arrived: Notify::new(),
            permissions,
            workdir,
            asking: Arc::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, WaitingUpdates> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether a permission request of the agent waits for a decision.
    pub fn is_asking(&self) -> bool {
        self.asking.load(Ordering::SeqCst) > 0
    }

    /// Removes and returns the updates that have arrived.
    pub fn take(&self) -> Vec<AgentUpdate> {
        let mut waiting = self.lock();
        waiting.bytes = 0;
        let mut out: Vec<AgentUpdate> = waiting.updates.drain(..).collect();
        if std::mem::take(&mut waiting.has_dropped) {
            let text = "Some output was left out: it arrived faster than it could be processed.";
            out.push(AgentUpdate::Notice(text.into()));
        }
        out
    }

    /// Waits until updates have arrived.
    pub async fn wait(&self) {
        loop {
            let arrived = self.arrived.notified();
            if !self.lock().updates.is_empty() {
                return;
            }
            arrived.await;
        }
    }
}

impl SessionHandler for UpdateQueue {
    fn update(&self, update: AgentUpdate) {
        let mut guard = self.lock();
        let size = size(&update);
        let waiting = &mut *guard;
        let is_large = waiting.bytes + size > WAITING_MAX;
        let is_full = waiting.updates.len() >= UPDATES_MAX || is_large;
        match (waiting.updates.back_mut(), update) {
            _ if is_large => waiting.has_dropped = true,
            (Some(AgentUpdate::Text(last)), AgentUpdate::Text(more))
            | (Some(AgentUpdate::Thought(last)), AgentUpdate::Thought(more)) => {
                last.push_str(&more);
                waiting.bytes += size;
            }
            (_, _) if is_full => waiting.has_dropped = true,
            (_, update) => {
                waiting.updates.push_back(update);
                waiting.bytes += size;
            }
        }
        drop(guard);
        self.arrived.notify_one();
    }

    fn ask(&self, request: AskedPermission) -> BoxFuture<'static, PermissionAnswer> {
        let (permissions, workdir) = (self.permissions.clone(), self.workdir.clone());
        let asking = Asking::begin(&self.asking);
        async move {
            let _asking = asking;
            permissions.decide(workdir, request).await
        }
        .boxed()
    }
}

/// Counts one permission request as waiting until this value is dropped. The future of the request owns the value.
struct Asking(Arc<AtomicUsize>);

impl Asking {
    fn begin(count: &Arc<AtomicUsize>) -> Asking {
        count.fetch_add(1, Ordering::SeqCst);
        Asking(Arc::clone(count))
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

fn size(update: &AgentUpdate) -> usize {
    match update {
        AgentUpdate::Text(text) | AgentUpdate::Thought(text) | AgentUpdate::Notice(text) => {
            text.len()
        }
        AgentUpdate::ToolCall(call) => {
            let diffs = call.diffs.iter();
            let changed: usize = diffs
                .map(|d| d.new.len() + d.old.as_ref().map_or(0, String::len))
                .sum();
            call.title.len() + call.text.len() + changed
        }
        AgentUpdate::Plan(entries) => entries.iter().map(|entry| entry.text.len()).sum(),
        AgentUpdate::Context(_)
        | AgentUpdate::Title(_)
        | AgentUpdate::Mode(_)
        | AgentUpdate::Commands(_) => 64,
    }
}
