//! The watcher: when state files change, reads them again, publishes the changes and wakes idle agents.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;

use super::board_followup::BoardFollowup;
use super::board_view::BoardView;
use super::branch_exchange::CrewExchange;
use super::branch_status::BranchStatus;
use super::context::CrewContext;
use super::file_errors::FileErrors;
use super::hub_retry::until_success;
use super::merge_service::MergeService;
use super::request_broker::RequestBroker;
use super::session_permissions::SessionPermissions;
use super::signals::CrewSignals;
use super::skills::SkillWatch;
use super::team::TeamRoster;
use crate::agent::driver::run_blocking;
use crate::domain::ids::{MessageId, Name};
use crate::domain::mail::MailMessage;
use crate::protocol::event::{DeliveryState, EventKind, NoticeLevel, TeamEvent};
use crate::store::watch::{self, Dirty, WatchMode};
use crate::store::{Mailbox, ScanMode, StateWatch, StoreError, TaskSet};

/// Maximum number of queued reports of file changes. If the queue is full, the watch thread waits, and merges further
/// changes into later reports.
const DIRTY_MAX: usize = 16;
/// Interval at which state files that could not be read are read again.
const AGAIN: Duration = Duration::from_secs(5);
/// Maximum number of messages that the pane "Inbox" shows.
pub const RECENT_MESSAGES_MAX: usize = 500;

/// Watches the state files. When files change, the components that use them read them again.
pub struct Watcher {
    pub context: Arc<CrewContext>,
    pub signals: Arc<CrewSignals>,
    pub errors: Arc<FileErrors>,
    pub board: Arc<BoardView>,
    pub followup: Arc<BoardFollowup>,
    pub team: Arc<TeamRoster>,
    pub broker: Arc<RequestBroker>,
    pub branches: Arc<BranchStatus>,
    pub merges: Arc<MergeService>,
    pub skills: Arc<SkillWatch>,
    pub permissions: Arc<SessionPermissions>,
    pub mailbox: Mailbox,
    /// Reports changes of the state on a hub. Not used for a crew on this machine, whose state is in the watched files.
    pub changes: Arc<dyn StateWatch>,
    /// Exchanges branches with other hosts; `None` if the crew is on this machine only, or has no git remote.
    pub exchange: Option<Arc<CrewExchange>>,
}

impl Watcher {
    /// Watches the state folders until the crew stops. First reads all state files, continues unfinished work of an
    /// earlier run such as merges, and calls `begin`, which starts the agents. If the folders cannot be watched,
    /// reports the error and returns after `begin`.
    pub async fn run(self, begin: impl FnOnce() + Send) {
        let (sender, mut changes) = mpsc::channel(DIRTY_MAX);
        let _hub_watch = self.watch_hub(sender.clone()).await;
        let watching = watch::start(&self.context.root, self.skills.store(), move |dirty| {
            let _ = sender.blocking_send(dirty);
        });
        let _watch = match watching {
            Ok(watching) => {
                if let WatchMode::Polling { why } = watching.mode() {
                    let text = format!("File changes are noticed only once a second: {why}");
                    self.context.notice(NoticeLevel::Warn, text).await;
                }
                Some(watching)
            }
            Err(error) => {
                self.context
                    .notice(
                        NoticeLevel::Error,
                        format!("crewdeck cannot watch its state folders ({error}), so it does not notice changes by other programs. Restart crewdeck to try again."),
                    )
                    .await;
                // The sender has been dropped with the closure, so the loop below ends at once.
                None
            }
        };
        let mut messages = PublishedMessages::default();
        self.board.read(TaskSet::All).await;
        self.team.read().await;
        self.broker.read().await;
        self.followup
            .create_user_worktrees(self.board.graph().tasks());
        self.followup.resume_user_setups();
        self.followup.spares.board_changed();
        self.branches.read_head().await;
        self.publish_head();
        self.followup.continue_exchange();
        self.branches.read(ScanMode::Always).await;
        messages.read(&self).await;
        // Read again, because the skills may have changed before the watch started.
        self.skills.read().await;
        self.broker.hand_over_again().await;
        let (busy, merges) = (self.signals.busy(), Arc::clone(&self.merges));
        self.context.spawn(async move {
            merges.merge_waiting().await;
            drop(busy);
        });
        begin();
        let mut again = Instant::now() + AGAIN;
        loop {
            if !self.errors.any() {
                again = Instant::now() + AGAIN;
            }
            let dirty = tokio::select! {
                () = self.context.stop.cancelled() => return,
                dirty = changes.recv() => match dirty {
                    Some(dirty) => vec![dirty],
                    None => return,
                },
                // State files that could not be read are read again at an interval, since the cause of the error may
                // end without a change of the file. Changes of other files do not postpone this.
                () = tokio::time::sleep_until(again), if self.errors.any() => {
                    again = Instant::now() + AGAIN;
                    Dirty::all().into()
                }
            };
            for dirty in dirty {
                // While a hub cannot be reached, each read takes seconds until it fails.
                if self.context.stop.is_cancelled() {
                    return;
                }
                match dirty {
                    Dirty::Board(which) => drop(self.board.read(which).await),
                    Dirty::Roster => self.team.read().await,
                    Dirty::Requests => {
                        self.broker.read().await;
                        if self.context.is_lead_on_hub() {
                            // Other hosts do not know what the user has allowed for the whole team.
                            self.permissions.approve_covered().await;
                        }
                    }
                    Dirty::Mail => messages.read(&self).await,
                    Dirty::Branches => {
                        self.branches.read_head().await;
                        self.publish_head();
                        self.branches.read(ScanMode::IfChanged).await;
                        self.retry_merges();
                    }
                    Dirty::Skills => self.skills.read().await,
                }
            }
        }
    }
}

impl Watcher {
    /// Watches the state on the hub, if it is there. Returns what keeps the watch alive. After an error, returns `None` and
    /// tries again in the background until the crew stops.
    async fn watch_hub(&self, sender: mpsc::Sender<Dirty>) -> Option<Box<dyn Send>> {
        self.context.host.as_ref()?;
        if let Ok(watching) = start_hub_watch(&self.changes, &sender).await {
            return Some(watching);
        }
        let (context, changes) = (Arc::clone(&self.context), Arc::clone(&self.changes));
        self.context.spawn(async move {
            let what = "watching the changes of other hosts";
            let attempt = || start_hub_watch(&changes, &sender);
            let watching = until_success(&context, what, attempt).await;
            // What has changed before the watch was not reported.
            for dirty in Dirty::all() {
                if sender.send(dirty).await.is_err() {
                    return;
                }
            }
            context.stop.cancelled().await;
            drop(watching);
        });
        None
    }

    /// Publishes in the background the commit from which the worktrees of workers start.
    fn publish_head(&self) {
        let exchange = self.exchange.clone();
        let may_publish = !self.context.is_worker() && self.context.may_act();
        if let Some(exchange) = exchange.filter(|_| may_publish) {
            self.context
                .spawn(async move { exchange.publish_head().await });
        }
    }

    /// Tries the branches again in the background that automatic merges have left, for example because the user's checkout
    /// had uncommitted changes.
    fn retry_merges(&self) {
        if !self.merges.has_left() && !self.merges.waits_for_hosts() {
            return;
        }
        let (busy, merges) = (self.signals.busy(), Arc::clone(&self.merges));
        self.context.spawn(async move {
            merges.retry_take_over().await;
            merges.retry_left().await;
            drop(busy);
        });
    }

    /// Returns whether a hook has blocked the message.
    fn is_blocked(&self, message: &MailMessage) -> bool {
        let hooks = self.context.hooks.as_ref();
        let checks = hooks.and_then(|hooks| hooks.caller.prompt_checks());
        checks.is_some_and(|checks| {
            Name::party(&message.to).is_ok_and(|to| checks.is_blocked(&to, message))
        })
    }
}

async fn start_hub_watch(
    changes: &Arc<dyn StateWatch>,
    sender: &mpsc::Sender<Dirty>,
) -> Result<Box<dyn Send>, StoreError> {
    let (changes, sender) = (Arc::clone(changes), sender.clone());
    run_blocking(move || {
        changes.watch(Box::new(move |dirty| {
            let _ = sender.blocking_send(dirty);
        }))
    })
    .await
}

/// The messages that were published, each with the delivery state that was published last.
#[derive(Default)]
struct PublishedMessages {
    known: HashMap<MessageId, DeliveryState>,
}

impl PublishedMessages {
    /// Publishes the messages that were sent or received since the last call. A worker shows none.
    async fn read(&mut self, watcher: &Watcher) {
        if watcher.context.is_worker() {
            watcher.signals.files_changed();
            return;
        }
        let mailbox = watcher.mailbox.clone();
        let recent = run_blocking(move || mailbox.recent(RECENT_MESSAGES_MAX)).await;
        let Some(recent) = watcher.errors.check("The messages", recent).await else {
            return;
        };
        watcher.errors.warn("The messages", recent.notices).await;
        let mut known = HashMap::new();
        for (message, read) in recent.messages {
            // A blocked message is marked as read too.
            let step = if watcher.is_blocked(&message) {
                DeliveryState::Blocked
            } else {
                read
            };
            let before = self.known.get(&message.id).copied();
            known.insert(message.id.clone(), step);
            if before != Some(step) {
                watcher
                    .context
                    .publish(EventKind::Team(TeamEvent::MessageMoved { message, step }))
                    .await;
            }
        }
        self.known = known;
        watcher.signals.files_changed();
    }
}
