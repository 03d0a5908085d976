//! `crewdeck worker`: runs teammates on this machine for a crew on a hub, whose lead is on another host.

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::assemble::{self, Assembly, Built};
use super::blueprint::Blueprint;
use super::headless::{eprint_line, print_event};
use super::hub::HubPlan;
use super::{INTERRUPTED, block_on, now, secrets, trust};
use crate::cli::{GlobalOptions, WorkerArgs};
use crate::crew::{Approvers, Crew, HostParts};
use crate::domain::host::{HostInfo, HostKind, HostName};
use crate::domain::ids::{NAME_MAX, Name};
use crate::domain::request::Approver;
use crate::domain::team::{DEFAULT_ROLE, Member, MemberStatus};
use crate::domain::team_preset::{LeadMode, TeamPreset};
use crate::domain::worktree::MergePolicy;
use crate::protocol::bus;
use crate::store::load_average;

/// Interval at which a worker checks whether it is still a host of the crew, and whether a worker that drains has finished.
const CHECK: Duration = Duration::from_millis(500);
/// Interval at which a worker reports the load of its machine if it has changed.
const REPORT: Duration = Duration::from_secs(15);
/// Difference from which on a change of the load is reported.
const LOAD_STEP: f32 = 0.5;
/// Pause before a worker that was lost joins again.
const JOIN_AGAIN: Duration = Duration::from_secs(2);

/// How a run of the worker has ended.
enum WorkerEnd {
    /// The teammates have finished after a signal.
    Drained,
    /// A second signal ended the teammates.
    Interrupted,
    /// The hub could not be reached for too long, so other hosts may have taken the tasks.
    Lost,
}

/// Runs the worker until a signal ends it, and returns the exit code.
///
/// # Errors
/// When options or settings are invalid, the hub cannot be used, or the crew cannot start.
pub fn main(global: &GlobalOptions, options: WorkerArgs) -> Result<u8> {
    let mut blueprint = Blueprint::read(global)?;
    let Some(plan) = blueprint.hub.take() else {
        bail!("crewdeck worker needs the crew: --hub nats://HOST:4222/CREW");
    };
    if !plan.settings.has_secret() {
        bail!(
            "a worker runs what its crew asks for, so it needs the secret of the crew: set CREWDECK_HUB_SECRET to the same value as for the lead"
        );
    }
    if !blueprint.root.join(".git").exists() {
        bail!(
            "{} is no git repository: start the worker in a clone of the project",
            blueprint.root.display()
        );
    }
    trust::check(&blueprint.project)?;
    trust::report(&blueprint.extensions.last());
    blueprint.approvers = Approvers {
        plan: Approver::Ask,
        shutdown: Approver::Ask,
        tool: Approver::Ask,
        budget: Approver::Ask,
        question: Approver::Ask,
    };
    let settings = &mut blueprint.settings;
    settings.agents_max = Some(usize::from(options.slots));
    // Teammates of a worker stay until the worker ends.
    settings.idle_timeout_s = Some(0);
    settings.merge = Some(MergePolicy::Asked);
    let mut tags: Vec<String> = options.tags;
    tags.retain(|tag| !tag.trim().is_empty());
    let plan = HubPlan {
        kind: HostKind::Worker,
        name: options.name,
        slots: options.slots,
        tags,
        ..plan
    };
    block_on(async move {
        loop {
            let (root, asked) = (blueprint.root.clone(), plan.clone());
            let prepared = tokio::task::spawn_blocking(move || prepare(&asked, &root)).await??;
            blueprint.resume = prepared.session;
            blueprint.preset = Some(prepared.preset);
            blueprint.hub = Some(plan.clone());
            match Box::pin(run_once(&blueprint)).await? {
                WorkerEnd::Drained => return Ok(0),
                WorkerEnd::Interrupted => return Ok(INTERRUPTED),
                WorkerEnd::Lost => {
                    eprint_line(
                        "crewdeck: the hub could not be reached for too long, so other hosts may take the tasks of this one. Joining again; the worktrees keep what was done.",
                    );
                    tokio::time::sleep(JOIN_AGAIN).await;
                }
            }
        }
    })
}

/// What a run of the worker begins with.
struct PreparedWorker {
    /// The session that an earlier process of this host has left; `None` to begin a new one.
    session: Option<String>,
    /// The teammates. Those that the session restores are not started twice.
    preset: TeamPreset,
}

/// Finds what an earlier process of this host has left, and lists the teammates.
fn prepare(plan: &HubPlan, root: &Path) -> Result<PreparedWorker> {
    let host = plan.host_name(root);
    let team = plan.stores(root).roster.read()?;
    let own = || {
        let mut members: Vec<&Member> = team.members.iter().collect();
        members.retain(|m| m.host.eq_ignore_ascii_case(host.as_str()) && !m.session.is_empty());
        members
    };
    let sessions = crate::store::sessions(root).unwrap_or_default();
    // Sessions are in the order of time.
    let session = sessions
        .into_iter()
        .rev()
        .find(|session| own().iter().any(|m| m.session == *session));
    let members = (1..=plan.slots).map(|number| {
        let name = member_name(&host, number)?;
        let member = Member {
            tags: plan.tags.clone(),
            status: MemberStatus::Idle,
            ..Member::new(name, DEFAULT_ROLE)
        };
        Ok((member, String::new()))
    });
    Ok(PreparedWorker {
        session,
        preset: TeamPreset {
            lead: LeadMode::Work,
            members: members.collect::<Result<_>>()?,
        },
    })
}

/// Returns the name of a teammate, such as `gpu-box-2`.
fn member_name(host: &HostName, number: u16) -> Result<Name> {
    let number = format!("-{number}");
    let room = NAME_MAX.saturating_sub(number.len());
    let host: String = host.as_str().chars().take(room).collect();
    Name::member(&format!("{host}{number}")).map_err(|why| anyhow!("{why}"))
}

async fn run_once(blueprint: &Blueprint) -> Result<WorkerEnd> {
    let mut signals = EndSignals::listen()?;
    let (event_sender, mut events) = bus::bus(now);
    let event_sender = event_sender.with_redactor(secrets::redactor());
    let built = Box::pin(assemble::build(blueprint, event_sender)).await?;
    let Assembly {
        crew,
        mut journal,
        lock,
        host,
        ..
    } = match built {
        Built::Crew(assembly) => *assembly,
        Built::RunsElsewhere(holder) => bail!(
            "crewdeck already runs in {}{}: start the worker in another clone of the project",
            blueprint.root.display(),
            holder.format_process()
        ),
        Built::LedElsewhere(led) => bail!(led),
    };
    let Some(host) = host else {
        bail!("the worker has not joined the crew");
    };
    let began = now();
    eprint_line(&format!(
        "crewdeck: worker {} runs {} teammates. Ctrl-C: finish the tasks, then end.",
        host.info.name, host.info.slots
    ));
    let mut facts = HostFacts::new(&host);
    let mut check = tokio::time::interval(CHECK);
    let mut report = tokio::time::interval(REPORT);
    let end = loop {
        tokio::select! {
            event = events.next() => {
                let Some(event) = event else { break WorkerEnd::Interrupted };
                if let Some(text) = journal.note(&event) {
                    eprint_line(&format!("warning: {text}"));
                }
                // A closed output does not end the worker.
                let _ = print_event(&event, began);
            }
            () = signals.next() => {
                if facts.info.is_draining {
                    break WorkerEnd::Interrupted;
                }
                eprint_line("crewdeck: the worker claims no more tasks and ends when its teammates have finished. Again to end at once.");
                crew.drain();
                facts.info.is_draining = true;
                facts.report();
            }
            _ = check.tick() => {
                if !host.session.is_valid() {
                    break WorkerEnd::Lost;
                }
                if facts.info.is_draining && !crew.has_work().await {
                    break WorkerEnd::Drained;
                }
            }
            _ = report.tick() => facts.report_load(),
        }
    };
    stop(crew, &end).await;
    drop(journal);
    drop(lock);
    Ok(end)
}

/// Ends the teammates. A worker that was lost changes nothing of the shared state.
async fn stop(crew: Crew, end: &WorkerEnd) {
    match end {
        WorkerEnd::Lost => crew.abandon().await,
        WorkerEnd::Drained | WorkerEnd::Interrupted => match crew.stop().await {
            Ok(problems) => {
                for problem in problems {
                    eprint_line(&format!("warning: {problem}"));
                }
            }
            Err(error) => eprint_line(&format!("crewdeck: {error}")),
        },
    }
}

/// The facts that this host reports about itself.
struct HostFacts {
    host: HostParts,
    info: HostInfo,
}

impl HostFacts {
    fn new(host: &HostParts) -> HostFacts {
        HostFacts {
            info: host.info.clone(),
            host: host.clone(),
        }
    }

    fn report_load(&mut self) {
        let load = load_average();
        if (load - self.info.load).abs() >= LOAD_STEP {
            self.info.load = load;
            self.report();
        }
    }

    /// Reports the facts in the background. If this fails, a later report has them.
    fn report(&self) {
        let (session, info) = (self.host.session.clone(), self.info.clone());
        tokio::task::spawn_blocking(move || {
            if let Err(error) = session.update(&info) {
                tracing::warn!("the facts about this host are not reported: {error}");
            }
        });
    }
}

/// The signals that end a worker.
struct EndSignals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl EndSignals {
    fn listen() -> Result<EndSignals> {
        Ok(EndSignals {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hangup.recv() => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn teammates_are_named_after_their_host() {
        let short = HostName::parse("gpu-box").unwrap();
        assert_eq!(member_name(&short, 2).unwrap().as_str(), "gpu-box-2");
        let long = HostName::parse(&"a".repeat(32)).unwrap();
        let name = member_name(&long, 256).unwrap();
        assert_eq!(name.as_str(), format!("{}-256", "a".repeat(28)));
    }
}
