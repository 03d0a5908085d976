//! The other hosts of a crew on a hub: shows them, offers the tasks of lost ones again, and says whether their teammates
//! have work.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;

use super::board_view::BoardView;
use super::context::{CrewContext, lock};
use super::event_relay;
use super::parts::HostParts;
use super::registry::AgentRegistry;
use super::signals::CrewSignals;
use super::team::TeamRoster;
use crate::agent::driver::run_blocking;
use crate::domain::graph::Claimer;
use crate::domain::host::{HostClaim, HostKind, HostName, HostPresence, HostState};
use crate::domain::ids::{Name, TaskId};
use crate::domain::team::{Member, MemberStatus};
use crate::protocol::event::{EventKind, NoticeLevel, TeamEvent};
use crate::store::{EventStart, Mailbox, StoreError, TaskSet};

/// Maximum number of queued reports about hosts. Each report has all hosts, so a later one replaces an earlier one.
const REPORTS_MAX: usize = 4;
/// Time that a host has, after it has joined again, to take over the claims of its earlier session.
const ADOPT_WITHIN: Duration = Duration::from_secs(10);
/// Interval at which tasks are offered again that could not be offered before.
const AGAIN: Duration = Duration::from_secs(5);

/// Follows the hosts of a crew on a hub.
pub struct CrewHosts {
    context: Arc<CrewContext>,
    signals: Arc<CrewSignals>,
    registry: Arc<AgentRegistry>,
    board: Arc<BoardView>,
    team: Arc<TeamRoster>,
    mailbox: Mailbox,
    host: HostParts,
    hosts: Mutex<Vec<HostState>>,
    /// When each session of a host was first seen.
    first_seen: Mutex<BTreeMap<String, Instant>>,
    /// The teammates of other hosts that worked at the last look.
    working: Mutex<BTreeSet<Name>>,
}

impl CrewHosts {
    /// Returns `None` if the crew is on this machine only.
    pub fn new(
        context: Arc<CrewContext>,
        signals: Arc<CrewSignals>,
        registry: Arc<AgentRegistry>,
        board: Arc<BoardView>,
        team: Arc<TeamRoster>,
        mailbox: Mailbox,
    ) -> Option<Arc<CrewHosts>> {
        let host = context.host.clone()?;
        Some(Arc::new(CrewHosts {
            context,
            signals,
            registry,
            board,
            team,
            mailbox,
            host,
            hosts: Mutex::default(),
            first_seen: Mutex::default(),
            working: Mutex::default(),
        }))
    }

    /// Follows the hosts until the crew stops.
    pub async fn run(self: Arc<Self>) {
        let (sender, mut reports) = mpsc::channel(REPORTS_MAX);
        let store = Arc::clone(&self.host.store);
        let watching = run_blocking(move || {
            store.watch_hosts(Box::new(move |hosts| {
                let _ = sender.blocking_send(hosts);
            }))
        });
        let _watch = match watching.await {
            Ok(watching) => watching,
            Err(error) => {
                let text = format!(
                    "The other hosts cannot be watched: {error}. Restart crewdeck to try again."
                );
                self.context.notice(NoticeLevel::Error, text).await;
                return;
            }
        };
        let _events = self.receive_events().await;
        let mut files = self.signals.subscribe_files();
        let mut again = None;
        loop {
            tokio::select! {
                () = self.context.stop.cancelled() => return,
                report = reports.recv() => match report {
                    Some(hosts) => {
                        self.set(hosts).await;
                        again = self.offer_again().await;
                    }
                    None => return,
                },
                changed = files.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    self.note_working();
                    // A claim that was sent before its host was lost may be stored later.
                    again.get_or_insert_with(|| Instant::now() + AGAIN);
                }
                () = until(again) => again = self.offer_again().await,
            }
        }
    }

    /// Shows the events of the teammates of other hosts here, if this is the host of the lead. An error is reported to the
    /// user.
    async fn receive_events(self: &Arc<Self>) -> Option<Box<dyn Send>> {
        if self.context.is_worker() {
            return None;
        }
        let hosts = Arc::clone(self);
        let is_member_of = move |name: &Name, host: &HostName| hosts.runs(name, host.as_str());
        let (store, own) = (Arc::clone(&self.host.store), self.host.info.name.clone());
        let following =
            event_relay::receive(&self.context, store, own, EventStart::Now, is_member_of);
        match following.await {
            Ok(following) => Some(following),
            Err(error) => {
                let text = format!(
                    "The work of teammates on other hosts is not shown: {error}. Restart crewdeck to try again."
                );
                self.context.notice(NoticeLevel::Error, text).await;
                None
            }
        }
    }

    /// Returns whether the member `name`, or the parent of the subagent `name`, is run by the host `host`.
    fn runs(&self, name: &Name, host: &str) -> bool {
        let mut members = self.remote_members().into_iter();
        let name = name.parent().unwrap_or_else(|| name.clone());
        members.any(|m| m.name.same(&name) && m.host.eq_ignore_ascii_case(host))
    }

    /// Returns whether a teammate of another present host works, has a message, or may claim a task. If the board or the
    /// messages cannot be read, only the roster counts.
    pub async fn have_work(&self) -> bool {
        let members = self.reachable_members();
        if members.iter().any(|m| m.status == MemberStatus::Working) {
            return true;
        }
        if members.is_empty() {
            return false;
        }
        let mailbox = self.mailbox.clone();
        let names: Vec<Name> = members.iter().map(|m| m.name.clone()).collect();
        let has_mail = run_blocking(move || mailbox.has_unread(&names)).await;
        if has_mail.unwrap_or_default() {
            return true;
        }
        let draining: BTreeSet<String> = lock(&self.hosts)
            .iter()
            .filter(|h| h.info.is_draining)
            .map(|h| h.info.name.as_str().to_ascii_lowercase())
            .collect();
        let claimers: Vec<Claimer> = members
            .into_iter()
            .filter(|m| !draining.contains(&m.host.to_ascii_lowercase()))
            .map(|m| Claimer {
                name: m.name,
                tags: m.tags,
            })
            .collect();
        let board = self.board.store().clone();
        let may_claim = run_blocking(move || {
            board.query(|graph| claimers.iter().any(|c| graph.auto_claimable(c).is_some()))
        });
        may_claim.await.unwrap_or_default()
    }

    fn remote_members(&self) -> Vec<Member> {
        let own = self.host.member_host();
        let mut members = self.team.published().members;
        members.retain(|m| m.host != own && m.status != MemberStatus::Shutdown);
        members
    }

    /// Returns the members of other hosts that are present.
    fn reachable_members(&self) -> Vec<Member> {
        let present: BTreeSet<String> = lock(&self.hosts)
            .iter()
            .filter(|h| h.presence == HostPresence::Present)
            .map(|h| h.info.name.as_str().to_ascii_lowercase())
            .collect();
        let mut members = self.remote_members();
        members.retain(|m| present.contains(&m.host.to_ascii_lowercase()));
        members
    }

    /// Makes the idle detector check again when a teammate of another host has begun or ended work.
    fn note_working(&self) {
        let members = self.reachable_members().into_iter();
        let now: BTreeSet<Name> = members
            .filter(|m| m.status == MemberStatus::Working)
            .map(|m| m.name)
            .collect();
        let mut before = lock(&self.working);
        if now.difference(&before).next().is_some() {
            self.registry.count_work_start();
        } else if now != *before {
            self.signals.activity_changed();
        }
        *before = now;
    }

    async fn set(&self, hosts: Vec<HostState>) {
        let now = Instant::now();
        {
            let mut first_seen = lock(&self.first_seen);
            first_seen.retain(|session, _| hosts.iter().any(|h| h.session == *session));
            for host in &hosts {
                first_seen.entry(host.session.clone()).or_insert(now);
            }
        }
        let has_changed = {
            let mut known = lock(&self.hosts);
            let has_changed = *known != hosts;
            known.clone_from(&hosts);
            has_changed
        };
        if has_changed {
            let event = EventKind::Team(TeamEvent::HostsChanged { hosts });
            self.context.publish(event).await;
            self.note_working();
            self.signals.files_changed();
        }
    }

    /// Returns whether this host offers the tasks of lost hosts again: the lead does, and without a lead, the first worker.
    fn is_responsible(&self) -> bool {
        if !self.context.is_worker() {
            return true;
        }
        let hosts = lock(&self.hosts);
        let mut present = hosts.iter().filter(|h| h.presence == HostPresence::Present);
        let has_lead = present.clone().any(|h| h.info.kind == HostKind::Lead);
        let first = present.next();
        !has_lead && first.is_some_and(|h| h.info.name == self.host.info.name)
    }

    /// Puts the tasks back on the board that are claimed for a session of a host that has ended, and marks the members of
    /// lost hosts as gone. Returns when to call this again; `None` if the next report about hosts is early enough.
    async fn offer_again(&self) -> Option<Instant> {
        if !self.is_responsible() || !self.host.session.is_valid() {
            return None;
        }
        match self.try_offer_again().await {
            Ok(is_done) => (!is_done).then(|| Instant::now() + AGAIN),
            Err(error) => {
                tracing::warn!("the tasks of lost hosts are not offered again yet: {error}");
                Some(Instant::now() + AGAIN)
            }
        }
    }

    /// Returns whether nothing is left to do.
    async fn try_offer_again(&self) -> Result<bool, StoreError> {
        let (board, store) = (self.board.store().clone(), Arc::clone(&self.host.store));
        // The board is read before the hosts, so that a host that has joined and claimed in between is known.
        let (claims, hosts) = run_blocking(move || {
            let claims = board.query(|graph| {
                let open = graph.tasks().filter(|t| t.is_open_for(&t.owner));
                let claimed = open.filter_map(|t| Some((t.id, t.claim.clone()?)));
                claimed.collect::<Vec<(TaskId, HostClaim)>>()
            })?;
            Ok((claims, store.hosts()?))
        })
        .await?;
        let mut is_done = true;
        let mut offered: BTreeMap<String, Vec<TaskId>> = BTreeMap::new();
        for (id, claim) in claims {
            match self.state_of(&claim, &hosts) {
                ClaimState::Valid => {}
                ClaimState::MayBeAdopted => is_done = false,
                ClaimState::Ended => {
                    let (board, now) = (self.board.store().clone(), self.context.now());
                    let host = claim.host.to_string();
                    let released = run_blocking(move || board.release_lost(id, &claim, now));
                    if released.await?.is_some() {
                        offered.entry(host).or_default().push(id);
                    }
                }
            }
        }
        self.close_members_of(&hosts).await?;
        for (host, tasks) in offered {
            let ids: Vec<String> = tasks.iter().map(ToString::to_string).collect();
            let text = format!(
                "Host {host} is lost: {} offered again. Its worktrees keep what was done.",
                match ids.as_slice() {
                    [id] => format!("task {id} is"),
                    ids => format!("tasks {} are", ids.join(", ")),
                }
            );
            self.context.notice(NoticeLevel::Warn, text).await;
            self.board
                .read(TaskSet::These(tasks.into_iter().collect()))
                .await;
        }
        Ok(is_done)
    }

    /// Marks the members of lost hosts as gone. They continue when their host joins again.
    async fn close_members_of(&self, hosts: &[HostState]) -> Result<(), StoreError> {
        let is_gone = |member: &Member| {
            let host = hosts.iter().find(|h| {
                let name = h.info.name.as_str();
                name.eq_ignore_ascii_case(&member.host)
            });
            !member.host.is_empty() && host.is_none_or(|h| h.presence != HostPresence::Present)
        };
        let gone = self.remote_members().into_iter().filter(is_gone);
        for member in gone.collect::<Vec<_>>() {
            let status = MemberStatus::Shutdown;
            self.team.set_status(&member.name, status).await?;
        }
        Ok(())
    }

    fn state_of(&self, claim: &HostClaim, hosts: &[HostState]) -> ClaimState {
        let Some(host) = hosts.iter().find(|h| h.info.name.same(&claim.host)) else {
            return ClaimState::Ended;
        };
        match host.presence {
            HostPresence::Present if host.session == claim.session => ClaimState::Valid,
            HostPresence::Present => {
                let first_seen = lock(&self.first_seen).get(&host.session).copied();
                let is_old = first_seen.is_some_and(|at| at.elapsed() >= ADOPT_WITHIN);
                if is_old {
                    ClaimState::Ended
                } else {
                    ClaimState::MayBeAdopted
                }
            }
            HostPresence::Left | HostPresence::Lost => ClaimState::Ended,
        }
    }
}

/// Whether a claim for a session of a host is valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ClaimState {
    Valid,
    /// The host has just joined again, and may take over the claim.
    MayBeAdopted,
    Ended,
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
