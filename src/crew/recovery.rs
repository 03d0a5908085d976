//! Recovery: cleans up after a crew that has ended, selects the members that continue in a resumed session, and
//! regularly records that working teammates are alive.

use std::sync::Arc;
use std::time::Duration;

use super::board_view::BoardView;
use super::context::CrewContext;
use super::file_errors::FileErrors;
use super::registry::AgentRegistry;
use super::request_broker::RequestBroker;
use super::signals::CrewSignals;
use super::team::TeamRoster;
use crate::agent::driver::run_blocking;
use crate::domain::crash_recovery::{self, LeadState};
use crate::domain::host::HostPresence;
use crate::domain::ids::{Name, TaskId};
use crate::domain::request::{Request, RequestKind};
use crate::domain::team::{Member, MemberStatus, Team};
use crate::domain::text::{clip, one_line};
use crate::protocol::event::NoticeLevel;
use crate::store::{Requests, StoreError};

/// Interval at which the roster records that working teammates are alive.
const ALIVE_INTERVAL: Duration = Duration::from_secs(30);
/// Maximum number of withdrawn requests for each of which a notice is published. Further withdrawn requests are only
/// counted.
const LOST_MAX: usize = 8;
/// Maximum length, in characters, of the text of a withdrawn request in its notice.
const LOST_TEXT_MAX: usize = 160;

/// Cleans up after an earlier crew, and selects the members that continue in a resumed session.
pub struct Recovery {
    pub context: Arc<CrewContext>,
    pub signals: Arc<CrewSignals>,
    pub errors: Arc<FileErrors>,
    pub registry: Arc<AgentRegistry>,
    pub broker: Arc<RequestBroker>,
    pub requests: Requests,
    pub board: Arc<BoardView>,
    pub team: Arc<TeamRoster>,
}

impl Recovery {
    /// Prepares the start of a crew after an earlier crew has ended. If `resumes` is true, some members continue in the
    /// session: they keep their tasks and pending requests. All other members are marked as gone; their tasks are
    /// released and their requests withdrawn.
    ///
    /// Returns the members that continue, and the whole team as the earlier crew left it.
    pub async fn recover(&self, resumes: bool) -> Result<(Vec<Member>, Team), StoreError> {
        let team = self.team.load().await?;
        let session = &self.context.session;
        let comes_back = |m: &&Member| resumes && m.session == *session && self.context.runs(m);
        let back: Vec<Member> = team.members.iter().filter(comes_back).cloned().collect();
        let back = self.fit_to_worker(back).await?;
        let names: Vec<Name> = back.iter().map(|m| m.name.clone()).collect();
        self.close_all_but(&names, resumes).await?;
        Ok((back, team))
    }

    /// Returns the members that continue on a worker: at most as many as it has slots, with its present tags. Returns all of
    /// them on other hosts.
    async fn fit_to_worker(&self, mut back: Vec<Member>) -> Result<Vec<Member>, StoreError> {
        let worker = self.context.host.as_ref().filter(|host| host.is_worker());
        let Some(info) = worker.map(|host| &host.info) else {
            return Ok(back);
        };
        // `gpu-2` is before `gpu-10`.
        back.sort_by_key(|m| (m.name.as_str().len(), m.name.clone()));
        back.truncate(usize::from(info.slots));
        for member in &mut back {
            if member.tags != info.tags {
                member.tags.clone_from(&info.tags);
                self.team.set_tags(&member.name, info.tags.clone()).await?;
            }
        }
        Ok(back)
    }

    /// Records the end of this crew: marks its members as gone, puts their tasks and the lead's task back on the board,
    /// and withdraws their requests.
    ///
    /// Members with a request that the lead left undecided are exempt: they continue in the next run of the session. If
    /// there is such a member, the lead keeps its task too.
    pub async fn close(&self) -> Result<(), StoreError> {
        if !self.context.may_act() {
            // The other hosts clean up after a host that they have lost.
            return Ok(());
        }
        let back = self.broker.agents_given_up().await;
        let resumes = !back.is_empty();
        self.close_all_but(&back, resumes).await
    }

    async fn close_all_but(&self, back: &[Name], resumes: bool) -> Result<(), StoreError> {
        let mut team = self.team.load().await?;
        // The members of other hosts continue without this crew.
        let (own, others): (Vec<Member>, Vec<Member>) =
            team.members.into_iter().partition(|m| self.context.runs(m));
        let is_worker = self.context.is_worker();
        let own_members = own.clone();
        let is_own_request = move |request: &Request| {
            let is_of = |members: &[Member]| {
                let mut members = members.iter();
                members.any(|m| m.name.same(&request.from) || m.name.same(&request.target))
            };
            if is_worker {
                is_of(&own_members)
            } else {
                !is_of(&others)
            }
        };
        team.members = own;
        for member in self.ended_members(&team, back) {
            self.release_task_of(&member.name).await?;
            if is_worker {
                // A later run begins new conversations, which would otherwise grow with each run.
                self.team.mark_shut_down(&member.name).await?;
            } else {
                let status = MemberStatus::Shutdown;
                self.team.set_status(&member.name, status).await?;
            }
        }
        if !resumes && !is_worker {
            self.release_task_of(&Name::lead()).await?;
        }
        let (requests, now) = (self.requests.clone(), self.context.now());
        let back = back.to_vec();
        let lead = if resumes {
            LeadState::Back
        } else {
            LeadState::Gone
        };
        let (withdrawn, notices) = run_blocking(move || {
            let mut reading = requests.read_all()?;
            reading.requests.retain(is_own_request);
            let orphaned = crash_recovery::orphaned_requests(&reading.requests, &back, lead);
            for request in &orphaned {
                requests.withdraw(&request.id, crash_recovery::CREW_ENDED, now)?;
            }
            let withdrawn: Vec<Request> = orphaned.into_iter().cloned().collect();
            Ok((withdrawn, reading.notices))
        })
        .await?;
        self.errors.warn("The requests", notices).await;
        for text in lost(&withdrawn) {
            self.context.notice(NoticeLevel::Warn, text).await;
        }
        Ok(())
    }

    /// Returns the members of `team` that do not continue: those that are present, on a worker also those that a later run
    /// could resume.
    fn ended_members<'a>(&self, team: &'a Team, back: &[Name]) -> Vec<&'a Member> {
        if !self.context.is_worker() {
            return crash_recovery::absent_members(team, back);
        }
        let stays = |name: &Name| back.iter().any(|n| n.same(name));
        let members = team.members.iter();
        members
            .filter(|m| !m.session.is_empty() && !stays(&m.name))
            .collect()
    }

    /// Puts the open task of an agent of an earlier crew back on the board. A task that a present host has claimed is not
    /// ours, and stays.
    async fn release_task_of(&self, name: &Name) -> Result<(), StoreError> {
        match self.board.release_task_of(name).await {
            Err(StoreError::ClaimLost(id, _)) => self.release_lost(id, name).await,
            released => released,
        }
    }

    /// Puts a task back on the board that an ended session of a host has claimed for `owner`.
    async fn release_lost(&self, id: TaskId, owner: &Name) -> Result<(), StoreError> {
        let Some(host) = &self.context.host else {
            return Ok(());
        };
        let (board, store) = (self.board.store().clone(), Arc::clone(&host.store));
        let now = self.context.now();
        let released = run_blocking(move || {
            let Some(claim) = board.get(id)?.claim.clone() else {
                return Ok(None);
            };
            let is_present = store.hosts()?.iter().any(|host| {
                host.session == claim.session && host.presence == HostPresence::Present
            });
            if is_present {
                return Ok(None);
            }
            board.release_lost(id, &claim, now)
        });
        match released.await {
            Ok(Some(task)) => self.board.report_released(&task, owner).await,
            Ok(None) | Err(StoreError::ClaimLost(..)) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Records in the roster, once per `ALIVE_INTERVAL`, that working teammates are alive. Writes nothing while all
    /// teammates are idle or a request is pending.
    pub async fn record_alive(self: Arc<Self>) {
        let mut activity = self.signals.subscribe_activity();
        loop {
            while self.working_teammates().is_empty() {
                tokio::select! {
                    () = self.context.stop.cancelled() => return,
                    changed = activity.changed() => if changed.is_err() { return },
                }
            }
            tokio::select! {
                () = self.context.stop.cancelled() => return,
                () = tokio::time::sleep(ALIVE_INTERVAL) => {}
            }
            let names = self.working_teammates();
            if names.is_empty() {
                continue;
            }
            if let Err(error) = self.team.mark_alive(names).await {
                tracing::warn!("the roster cannot be written: {error}");
            }
        }
    }

    /// Returns the teammates that are in a turn. Returns none while one of their requests is pending, because its decision may
    /// take hours.
    fn working_teammates(&self) -> Vec<Name> {
        if self.broker.has_own_pending() {
            return Vec::new();
        }
        self.registry.working_teammates()
    }
}

/// Returns the notices about `requests`, which were withdrawn because their crew ended before a decision: one line for
/// each of the first [`LOST_MAX`], and a line with the number of the others.
fn lost(requests: &[Request]) -> Vec<String> {
    let mut out: Vec<String> = requests
        .iter()
        .take(LOST_MAX)
        .map(|request| {
            let (from, target) = (&request.from, &request.target);
            let asked = match request.kind {
                RequestKind::Plan => format!("{from} asked for approval of its plan"),
                RequestKind::Shutdown => format!("{from} asked {target} to shut down"),
                RequestKind::Permission => format!("{target} asked for permission"),
                RequestKind::Question => format!("{from} asked you"),
                RequestKind::Budget => format!("{from} reached a budget limit"),
            };
            let task = request
                .task
                .map_or_else(String::new, |id| format!(" for {id}"));
            let what = request.call.as_ref().map_or(&request.body, |c| &c.input);
            let what = clip(&one_line(what), LOST_TEXT_MAX);
            format!(
                "Request withdrawn, because crewdeck ended before a decision: {asked}{task}: {what}"
            )
        })
        .collect();
    if let beyond @ 1.. = requests.len().saturating_sub(LOST_MAX) {
        out.push(format!("{beyond} more requests were withdrawn."));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ids::RequestId;
    use crate::domain::request::PendingCall;
    use crate::domain::timestamp::Timestamp;
    use pretty_assertions::assert_eq;

    #[test]
    fn withdrawn_requests_are_listed() {
        let bob = Name::member("bob").unwrap();
        let request = |kind, body: &str| {
            let id = RequestId("r".into());
            Request::new(
                id,
                kind,
                bob.clone(),
                bob.clone(),
                body.into(),
                Timestamp(1.0),
            )
        };
        let mut permission = request(RequestKind::Permission, "bash\n$ git push\n\nwhy");
        permission.task = Some(TaskId(3));
        permission.call = Some(PendingCall {
            tool: "bash".into(),
            input: "git push".into(),
            why: "why".into(),
            scopes: Vec::new(),
        });
        let mut shutdown = request(RequestKind::Shutdown, "All is done.");
        shutdown.from = Name::lead();
        let all = [
            permission,
            shutdown,
            request(RequestKind::Question, "Which\nversion?"),
        ];
        let start = "Request withdrawn, because crewdeck ended before a decision:";
        assert_eq!(
            lost(&all),
            [
                format!("{start} bob asked for permission for #3: git push"),
                format!("{start} lead asked bob to shut down: All is done."),
                format!("{start} bob asked you: Which⏎version?"),
            ]
        );
        let many = vec![request(RequestKind::Plan, "x"); LOST_MAX + 2];
        assert_eq!(lost(&many).len(), LOST_MAX + 1);
        assert_eq!(lost(&many)[LOST_MAX], "2 more requests were withdrawn.");
    }
}
