//! The other hosts of a crew on a hub: shows them, offers the tasks of lost ones again, and says whether their teammates
//! have work.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;

use super::board_view::BoardView;
use super::context::{CrewContext, lock, until};
use super::event_relay;
use super::host_changes::{
    HostsChange, change_between, members_without_host, offered_text, presence_of, take_lost,
};
use super::hub_retry::until_success;
use super::registry::AgentRegistry;
use super::remote_work::RemoteWork;
use super::request_broker::RequestBroker;
use super::shared_parts::HostParts;
use super::signals::CrewSignals;
use super::team::TeamRoster;
use super::teammate::Teammates;
use crate::agent::driver::run_blocking;
use crate::domain::host::{HostClaim, HostKind, HostName, HostPresence, HostState};
use crate::domain::ids::{Name, TaskId};
use crate::domain::request::Request;
use crate::domain::team::{Member, MemberStatus, Team};
use crate::protocol::event::{EventKind, NoticeLevel, TeamEvent};
use crate::store::{EventStart, Mailbox, StoreError, TaskSet};

/// Maximum number of queued reports about hosts. Each report has all hosts, so a later one replaces an earlier one.
const REPORTS_MAX: usize = 4;
/// Time that a host has, after it has joined again, to take over the claims of its earlier session.
const ADOPT_WITHIN: Duration = Duration::from_secs(10);
/// Interval at which tasks are offered again that could not be offered before.
const AGAIN: Duration = Duration::from_secs(5);
/// Minimum time between two events about hosts if only their load has changed.
const LOAD_INTERVAL: Duration = Duration::from_secs(2);

/// Follows the hosts of a crew on a hub.
pub struct CrewHosts {
    context: Arc<CrewContext>,
    signals: Arc<CrewSignals>,
    registry: Arc<AgentRegistry>,
    board: Arc<BoardView>,
    team: Arc<TeamRoster>,
    broker: Arc<RequestBroker>,
    mailbox: Mailbox,
    host: HostParts,
    hosts: Mutex<Vec<HostState>>,
    /// When each session of a host was first seen.
    first_seen: Mutex<BTreeMap<String, Instant>>,
    /// The teammates of other hosts that worked at the last look.
    working: Mutex<BTreeSet<Name>>,
    /// The sessions that were present, and whether the user was informed that they are lost.
    sessions: Mutex<BTreeMap<String, bool>>,
}

impl CrewHosts {
    /// Returns the hosts as the components of `crew` need them; `None` if the crew is on this machine only.
    pub fn new(crew: &Teammates, mailbox: Mailbox) -> Option<Arc<CrewHosts>> {
        let host = crew.context.host.clone()?;
        Some(Arc::new(CrewHosts {
            context: crew.context.clone(),
            signals: crew.signals.clone(),
            registry: crew.registry.clone(),
            board: crew.board.clone(),
            team: crew.team.clone(),
            broker: crew.broker.clone(),
            mailbox,
            host,
            hosts: Mutex::default(),
            first_seen: Mutex::default(),
            working: Mutex::default(),
            sessions: Mutex::default(),
        }))
    }

    /// Follows the hosts until the crew stops.
    pub async fn run(self: Arc<Self>) {
        let (sender, mut reports) = mpsc::channel(REPORTS_MAX);
        let watch = || {
            let (store, sender) = (Arc::clone(&self.host.store), sender.clone());
            run_blocking(move || {
                store.watch_hosts(Box::new(move |hosts| {
                    let _ = sender.blocking_send(hosts);
                }))
            })
        };
        let what = "watching the other hosts";
        let Some(_watch) = until_success(&self.context, what, watch).await else {
            return;
        };
        if !self.context.is_worker() {
            let own = Arc::clone(&self);
            self.context
                .spawn(async move { own.receive_events().await });
        }
        let mut team = self.team.subscribe();
        let mut files = self.signals.subscribe_files();
        let (mut again, mut show_at) = (None, None);
        loop {
            tokio::select! {
                () = self.context.stop.cancelled() => return,
                report = reports.recv() => {
                    let Some(hosts) = report else { return };
                    match self.set(hosts) {
                        HostsChange::None => {}
                        HostsChange::Load => {
                            show_at.get_or_insert_with(|| Instant::now() + LOAD_INTERVAL);
                        }
                        HostsChange::Session => {
                            show_at = None;
                            self.show().await;
                            self.note_working();
                            self.signals.files_changed();
                            again = self.offer_again().await;
                        }
                    }
                }
                changed = team.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    self.note_team();
                    again.get_or_insert_with(|| Instant::now() + AGAIN);
                }
                changed = files.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    // A claim that was sent before its host was lost may be stored later.
                    again.get_or_insert_with(|| Instant::now() + AGAIN);
                }
                () = until(show_at) => {
                    show_at = None;
                    self.show().await;
                }
                () = until(again) => again = self.offer_again().await,
            }
        }
    }

    /// Shows the events of the teammates of other hosts here until the crew stops.
    async fn receive_events(self: Arc<Self>) {
        let follow = || {
            let hosts = Arc::clone(&self);
            let is_member_of = move |name: &Name, host: &HostName| hosts.runs(name, host.as_str());
            let (store, own) = (Arc::clone(&self.host.store), self.host.info.name.clone());
            event_relay::receive(&self.context, store, own, EventStart::Now, is_member_of)
        };
        let what = "showing the work of teammates on other hosts";
        let following = until_success(&self.context, what, follow).await;
        self.context.stop.cancelled().await;
        drop(following);
    }

    /// Returns whether the member `name`, or the parent of the subagent `name`, is run by the host `host`.
    fn runs(&self, name: &Name, host: &str) -> bool {
        let parent = name.parent();
        let member = parent.as_ref().unwrap_or(name);
        self.team.is_on(member, host) == Some(true)
    }

    /// Returns whether a teammate of another present host works, has a message, or may claim a task. One that waits for the
    /// decision on one of the `pending` requests does not work. If the board or the messages cannot be read, only the roster
    /// counts. Returns false if this host has lost its session, since it no longer knows the others.
    pub async fn have_work(&self, pending: &[Request]) -> bool {
        if !self.host.session.is_valid() {
            return false;
        }
        let hosts = lock(&self.hosts).clone();
        if hosts.is_empty() {
            // They are not known yet.
            return true;
        }
        let work = RemoteWork {
            own: self.host.session.claim(),
            members: self.reachable_members(),
            asking: pending.iter().map(|request| request.from.clone()).collect(),
            hosts,
        };
        if work.is_in_progress() {
            return true;
        }
        if !work.members.is_empty() {
            let mailbox = self.mailbox.clone();
            let names: Vec<Name> = work.readers().cloned().collect();
            let has_mail = run_blocking(move || mailbox.has_unread(&names)).await;
            if has_mail.unwrap_or_default() {
                return true;
            }
        }
        let board = self.board.store().clone();
        let on_board = run_blocking(move || board.query(|graph| work.is_on_board(graph)));
        on_board.await.unwrap_or_default()
    }

    /// Returns the members of other hosts that are present.
    fn reachable_members(&self) -> Vec<Member> {
        let present: BTreeSet<String> = lock(&self.hosts)
            .iter()
            .filter(|h| h.presence == HostPresence::Present)
            .map(|h| h.info.name.as_str().to_ascii_lowercase())
            .collect();
        let (team, own) = (self.team.published(), self.host.member_host());
        let remote = team.present().filter(|m| m.host != own);
        let reachable = remote.filter(|m| present.contains(&m.host.to_ascii_lowercase()));
        reachable.cloned().collect()
    }

    /// Responds to a change of the team.
    fn note_team(&self) {
        self.note_working();
        let team = self.team.published();
        let is_closed = |name: &Name| {
            let member = team.find(name);
            member.is_some_and(|m| m.status == MemberStatus::Shutdown)
        };
        if self.registry.all().iter().any(|(name, _)| is_closed(name)) {
            // Another host has seen this one as lost. The teammate corrects its status when it is woken.
            self.signals.files_changed();
        }
    }

    /// Makes the idle detector check again, because a teammate of another host may have begun or ended work.
    fn note_working(&self) {
        let members = self.reachable_members().into_iter();
        let now: BTreeSet<Name> = members
            .filter(|m| m.status == MemberStatus::Working)
            .map(|m| m.name)
            .collect();
        let mut before = lock(&self.working);
        let has_begun = now.difference(&before).next().is_some();
        *before = now;
        drop(before);
        if has_begun {
            self.registry.count_work_start();
        } else {
            self.signals.activity_changed();
        }
    }

    /// Publishes the hosts. Workers show none, and their events are not for the other hosts.
    async fn show(&self) {
        if !self.context.is_worker() {
            let hosts = lock(&self.hosts).clone();
            let event = EventKind::Team(TeamEvent::HostsChanged { hosts });
            self.context.publish(event).await;
        }
    }

    /// Records what the hosts are, and returns what has changed.
    fn set(&self, hosts: Vec<HostState>) -> HostsChange {
        let now = Instant::now();
        {
            let mut first_seen = lock(&self.first_seen);
            first_seen.retain(|session, _| hosts.iter().any(|h| h.session == *session));
            for host in &hosts {
                first_seen.entry(host.session.clone()).or_insert(now);
            }
        }
        let mut known = lock(&self.hosts);
        let change = change_between(&known, &hosts);
        let mut sessions = lock(&self.sessions);
        sessions.retain(|session, _| hosts.iter().any(|h| h.session == *session));
        let present = hosts.iter().filter(|h| h.presence == HostPresence::Present);
        for host in present {
            sessions.entry(host.session.clone()).or_default();
        }
        drop(sessions);
        *known = hosts;
        change
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
        !has_lead && first.is_some_and(|h| h.info.name.same(&self.host.info.name))
    }

    /// Puts the tasks back on the board that are claimed for a session of a host that has ended, and marks the members of
    /// lost hosts as gone. Returns when to call this again; `None` if the next report about hosts is early enough.
    async fn offer_again(&self) -> Option<Instant> {
        if !self.is_responsible() || !self.host.session.is_valid() {
            // Another host informs its user.
            let hosts = lock(&self.hosts).clone();
            take_lost(&mut lock(&self.sessions), &hosts);
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
        let mut ended = Vec::new();
        for (id, claim) in claims {
            match self.state_of(&claim, &hosts) {
                ClaimState::Valid => {}
                ClaimState::MayBeAdopted => is_done = false,
                ClaimState::Ended => ended.push((id, claim)),
            }
        }
        let (offered, released) = self.release_ended(ended).await;
        // What is released already is reported also if a later step fails.
        self.report_offered(offered, &hosts).await;
        released?;
        self.close_lost_members(&hosts).await?;
        Ok(is_done)
    }

    /// Puts tasks of ended sessions back on the board. Returns those that were released before the first error, by host.
    async fn release_ended(
        &self,
        ended: Vec<(TaskId, HostClaim)>,
    ) -> (BTreeMap<String, Vec<TaskId>>, Result<(), StoreError>) {
        let mut offered: BTreeMap<String, Vec<TaskId>> = BTreeMap::new();
        for (id, claim) in ended {
            let (board, now) = (self.board.store().clone(), self.context.now());
            let host = claim.host.to_string();
            match run_blocking(move || board.release_lost(id, &claim, now)).await {
                Ok(Some(_)) => offered.entry(host).or_default().push(id),
                Ok(None) => {}
                Err(error) => return (offered, Err(error)),
            }
        }
        (offered, Ok(()))
    }

    /// Informs the user about hosts that were lost, and about tasks that are offered again, by host.
    async fn report_offered(
        &self,
        mut offered: BTreeMap<String, Vec<TaskId>>,
        hosts: &[HostState],
    ) {
        let lost = take_lost(&mut lock(&self.sessions), hosts);
        for host in lost {
            offered.entry(host).or_default();
        }
        for (host, tasks) in &offered {
            let text = offered_text(host, presence_of(host, hosts), tasks);
            self.context.notice(NoticeLevel::Warn, text).await;
        }
        let tasks: BTreeSet<TaskId> = offered.into_values().flatten().collect();
        if !tasks.is_empty() {
            self.board.read(TaskSet::These(tasks)).await;
        }
    }

    /// Marks the members of lost hosts as gone, and withdraws their requests. They continue when their host joins again.
    async fn close_lost_members(&self, hosts: &[HostState]) -> Result<(), StoreError> {
        let own = self.host.member_host().to_string();
        let lost = members_without_host(&self.team.published(), &own, hosts);
        if lost.is_empty() {
            return Ok(());
        }
        self.broker.withdraw_all_of(&lost).await?;
        let (roster, store) = (self.team.store().clone(), Arc::clone(&self.host.store));
        let now = self.context.now();
        // A host may have joined again in the meantime.
        let find_lost = move |team: &Team| {
            let hosts = store.hosts();
            hosts.map(|hosts| members_without_host(team, &own, &hosts))
        };
        run_blocking(move || roster.close_lost(find_lost, now).map(drop)).await?;
        self.team.read().await;
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
