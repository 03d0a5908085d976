//! `crewdeck worker`: runs teammates on this machine for a crew on a hub, whose lead is on another host.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use ring::digest::{SHA256, digest};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tokio::task::{JoinHandle, spawn_blocking};

use super::assemble::{self, Assembly, Built};
use super::blueprint::Blueprint;
use super::headless::{eprint_line, json_line, print_event};
use super::hub::HubPlan;
use super::journal::JournalWriter;
use super::{INTERRUPTED, block_on, describe_error, now, resume, secrets, trust};
use crate::cli::{GlobalOptions, WorkerArgs};
use crate::commands::OutputFormat;
use crate::crew::{Approvers, Crew, HostParts};
use crate::domain::host::{HostInfo, HostKind, HostName};
use crate::domain::ids::{NAME_MAX, Name};
use crate::domain::request::Approver;
use crate::domain::team::{DEFAULT_ROLE, Member, MemberStatus};
use crate::domain::team_preset::{LeadMode, TeamPreset};
use crate::domain::timestamp::Timestamp;
use crate::domain::worktree::MergePolicy;
use crate::protocol::{Event, EventReceiver, EventSender, bus};
use crate::store::{HostSession, HubError, Journal, StoreError, TranscriptFile, load_average};

/// Interval at which a worker that drains checks whether it has finished.
const CHECK: Duration = Duration::from_millis(500);
/// Interval at which a worker reports the load of its machine if it has changed, and repeats a failed report.
const REPORT: Duration = Duration::from_secs(15);
/// Difference from which on a change of the load is reported.
const LOAD_STEP: f32 = 0.5;
/// Pause before the first attempt to join again. Doubled with each further attempt, up to [`PAUSE_MAX`].
const PAUSE_MIN: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(15);
/// Maximum time for which a start goes on after a signal.
const START_WITHIN: Duration = Duration::from_secs(5);
/// Maximum number of causes of failed attempts that are remembered, so that each is printed once.
const CAUSES_MAX: usize = 32;
/// Maximum length of the number of a teammate with its dash, such as `-256`.
const NUMBER_MAX: usize = 4;
/// Number of bytes of the hash in a shortened name.
const HASH_LENGTH: usize = 4;

/// Why a worker without a session joins again.
const LOST: &str = "the hub could not be reached for too long, so other hosts may take the tasks of this one; its worktrees keep what was done";

/// How a run of the worker has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WorkerEnd {
    /// A signal ended it.
    Signalled,
    /// The hub could not be reached for too long.
    Lost,
    /// Like `Lost`, but some agents have not ended, so that new ones cannot work in their worktrees.
    Stuck,
}

/// Runs the worker until a signal ends it, and returns the exit code.
///
/// # Errors
/// When options or settings are invalid, the hub cannot be used, or the crew cannot start.
pub fn main(global: &GlobalOptions, options: WorkerArgs) -> Result<u8> {
    let form = if global.json {
        OutputFormat::Json
    } else {
        OutputFormat::Text
    };
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
        let worker = WorkerProcess {
            blueprint,
            plan,
            form,
            signals: EndSignals::listen()?,
            retry: JoinRetry::default(),
            has_run: false,
        };
        worker.run().await
    })
}

/// A worker, which begins a run of a crew after each loss of its session.
struct WorkerProcess {
    blueprint: Blueprint,
    plan: HubPlan,
    form: OutputFormat,
    signals: EndSignals,
    retry: JoinRetry,
    /// Whether teammates have run. The settings were then right, so later errors are outages.
    has_run: bool,
}

impl WorkerProcess {
    async fn run(mut self) -> Result<u8> {
        loop {
            let cause = match Box::pin(self.attempt()).await {
                Ok(WorkerEnd::Signalled) => break,
                Ok(WorkerEnd::Lost) => LOST.to_string(),
                Ok(WorkerEnd::Stuck) => {
                    bail!("{LOST}; some agents have not ended: start the worker again")
                }
                Err(error) if !self.has_run || is_configuration(&error) => return Err(error),
                Err(error) => describe_error(&error),
            };
            if self.signals.count > 0 {
                eprint_line(&format!("crewdeck: {cause}"));
                break;
            }
            self.retry.report(&cause);
            tokio::select! {
                biased;
                () = self.signals.next() => break,
                () = tokio::time::sleep(self.retry.pause()) => {}
            }
        }
        Ok(self.signals.exit_code())
    }

    /// Joins the crew and runs the teammates until a signal ends them or the session is lost.
    async fn attempt(&mut self) -> Result<WorkerEnd> {
        let (event_sender, mut events) = bus::bus(now);
        let event_sender = event_sender.with_redactor(secrets::redactor());
        let starting = Box::pin(start(&mut self.blueprint, &self.plan, event_sender));
        let assembly = tokio::select! {
            biased;
            () = self.signals.give_up() => return Ok(WorkerEnd::Signalled),
            started = starting => started?,
        };
        let Assembly {
            crew,
            journal,
            lock,
            host,
            ..
        } = *assembly;
        let mut output = WorkerOutput {
            journal,
            began: now(),
            form: self.form,
        };
        let worked = match host {
            Some(host) if crew.has_teammates() => {
                self.has_run = true;
                self.retry = JoinRetry::default();
                self.work(&crew, &host, &mut events, &mut output).await
            }
            Some(_) => Err(anyhow!(
                "no teammate could be started: the warnings before this line say why"
            )),
            None => Err(anyhow!("the worker has not joined the crew")),
        };
        let is_lost = matches!(worked, Ok(WorkerEnd::Lost));
        let ended = self.stop(crew, is_lost, &mut events, &mut output).await;
        // The journal must be complete before another process can take the lock.
        drop(output);
        drop(lock);
        worked.map(|end| if ended { end } else { WorkerEnd::Stuck })
    }

    async fn work(
        &mut self,
        crew: &Crew,
        host: &HostParts,
        events: &mut EventReceiver,
        output: &mut WorkerOutput,
    ) -> Result<WorkerEnd> {
        eprint_line(&format!(
            "crewdeck: worker {} runs {} teammates. Ctrl-C: finish the tasks, then end.",
            host.info.name, host.info.slots
        ));
        let facts = HostFacts::start(host);
        let mut report = tokio::time::interval(REPORT);
        let drained = wait_until_drained(crew);
        let lost = crew.lost();
        tokio::pin!(drained, lost);
        let mut is_draining = false;
        loop {
            if self.signals.count > 1 {
                return Ok(WorkerEnd::Signalled);
            }
            if self.signals.count > 0 && !is_draining {
                is_draining = true;
                eprint_line(
                    "crewdeck: the worker claims no more tasks and ends when its teammates have finished. Again to end at once.",
                );
                crew.drain();
                facts.set_draining();
            }
            tokio::select! {
                event = events.next() => match event {
                    Some(event) => output.write(&event),
                    None => bail!("the crew ended unexpectedly"),
                },
                () = self.signals.next() => {}
                () = &mut lost => return Ok(WorkerEnd::Lost),
                () = &mut drained, if is_draining => return Ok(WorkerEnd::Signalled),
                _ = report.tick() => facts.note_load(),
            }
        }
    }

    /// Ends the teammates, and writes the last events. A worker that is lost changes nothing of the shared state. Returns
    /// false if it is lost and some agents have not ended. Another signal ends the wait: the third one, or the next one if
    /// the worker is lost.
    async fn stop(
        &mut self,
        crew: Crew,
        is_lost: bool,
        events: &mut EventReceiver,
        output: &mut WorkerOutput,
    ) -> bool {
        let last = if is_lost { self.signals.count + 1 } else { 3 };
        let mut stopping = Box::pin(stop(crew, is_lost));
        let ended = loop {
            tokio::select! {
                biased;
                () = self.signals.until(last) => break true,
                Some(event) = events.next() => output.write(&event),
                ended = &mut stopping => break ended,
            }
        };
        while let Some(event) = events.try_next() {
            output.write(&event);
        }
        ended
    }
}

async fn stop(crew: Crew, is_lost: bool) -> bool {
    if is_lost {
        return crew.abandon().await;
    }
    match crew.stop().await {
        Ok(problems) => {
            for problem in problems {
                eprint_line(&format!("warning: {problem}"));
            }
        }
        Err(error) => eprint_line(&format!("crewdeck: {error}")),
    }
    true
}

/// Waits until the teammates have finished, and prints what they have not finished, once per change.
async fn wait_until_drained(crew: &Crew) {
    let mut shown = String::new();
    while let Some(left) = crew.unfinished_work().await {
        if shown != left {
            eprint_line(&format!("crewdeck: waiting for {left}"));
            shown = left;
        }
        tokio::time::sleep(CHECK).await;
    }
}

/// Joins the crew and starts the teammates, or continues those of an earlier process or session of this host.
async fn start(
    blueprint: &mut Blueprint,
    plan: &HubPlan,
    event_sender: EventSender,
) -> Result<Box<Assembly>> {
    let (root, asked) = (blueprint.root.clone(), plan.clone());
    let prepared = spawn_blocking(move || prepare(&asked, &root)).await??;
    blueprint.resume = prepared.session;
    blueprint.preset = Some(prepared.preset);
    blueprint.hub = Some(plan.clone());
    match Box::pin(assemble::build(blueprint, event_sender)).await? {
        Built::Crew(assembly) => Ok(assembly),
        Built::RunsElsewhere(holder) => bail!(
            "crewdeck already runs in {}{}: start the worker in another clone of the project",
            blueprint.root.display(),
            holder.format_process()
        ),
    }
}

/// Returns whether an error after a successful run is none of an outage: only the user can remove its cause.
fn is_configuration(error: &anyhow::Error) -> bool {
    let mut causes = error.chain();
    let store = causes.find_map(|cause| cause.downcast_ref::<StoreError>());
    matches!(
        store,
        Some(StoreError::Hub(
            HubError::Address { .. }
                | HubError::Login { .. }
                | HubError::InvalidLogin { .. }
                | HubError::PlainLogin { .. }
                | HubError::TooOld { .. }
                | HubError::Newer { .. }
                | HubError::SecretLength { .. }
                | HubError::SecretMissing { .. }
                | HubError::SecretWrong { .. }
                | HubError::NotSigned { .. }
        ))
    )
}

/// The attempts to join since the last successful run.
#[derive(Default)]
struct JoinRetry {
    failures: u32,
    causes: BTreeSet<String>,
}

impl JoinRetry {
    /// Counts a failed attempt, and prints its cause if it is new.
    fn report(&mut self, cause: &str) {
        self.failures = self.failures.saturating_add(1);
        if self.causes.len() < CAUSES_MAX && self.causes.insert(cause.into()) {
            eprint_line(&format!(
                "crewdeck: {cause}. Joining again; Ctrl-C ends the worker."
            ));
        }
    }

    /// Returns the pause before the next attempt.
    fn pause(&self) -> Duration {
        let doubled = self.failures.saturating_sub(1);
        PAUSE_MIN
            .saturating_mul(2_u32.saturating_pow(doubled))
            .min(PAUSE_MAX)
    }
}

/// Prints the events of the crew, and writes them to the journal.
struct WorkerOutput {
    journal: JournalWriter,
    began: Timestamp,
    form: OutputFormat,
}

impl WorkerOutput {
    fn write(&mut self, event: &Event) {
        if let Some(text) = self.journal.note(event) {
            eprint_line(&format!("warning: {text}"));
        }
        // A closed output does not end the worker.
        let _ = match self.form {
            OutputFormat::Json => json_line(event),
            OutputFormat::Text => print_event(event, self.began),
        };
    }
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
    let own = team.members.iter().filter(|member| {
        member.host.eq_ignore_ascii_case(host.as_str()) && has_records(root, member)
    });
    // Later sessions have greater ids.
    let session = own.map(|member| member.session.clone()).max();
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

/// Returns whether the session of `member` can be resumed here: its conversation or its journal is in this directory.
fn has_records(root: &Path, member: &Member) -> bool {
    // The roster is written by other hosts too, so the id must be checked before it becomes a part of a path.
    let session = &member.session;
    resume::is_id(session)
        && (TranscriptFile::open(root, session, &member.name)
            .path()
            .exists()
            || Journal::head(root, session).is_ok())
}

/// Returns the name of a teammate, such as `gpu-box-2`. The names of different hosts differ: if a name has no room for the
/// number, its end is replaced by a hash of the whole name.
fn member_name(host: &HostName, number: u16) -> Result<Name> {
    let room = NAME_MAX - NUMBER_MAX;
    let mut name = host.to_string();
    if name.len() > room {
        let hash = digest(&SHA256, name.to_ascii_lowercase().as_bytes());
        name = name.chars().take(room - 1 - 2 * HASH_LENGTH).collect();
        name.push('-');
        for byte in hash.as_ref().iter().take(HASH_LENGTH) {
            name.push_str(&format!("{byte:02x}"));
        }
    }
    Name::member(&format!("{name}-{number}")).map_err(|why| anyhow!("{why}"))
}

/// The facts that this host reports about itself. One task reports them, so that they arrive in order.
struct HostFacts {
    info: watch::Sender<HostInfo>,
    reporting: JoinHandle<()>,
}

impl HostFacts {
    fn start(host: &HostParts) -> HostFacts {
        let (info, changes) = watch::channel(host.info.clone());
        let reporting = tokio::spawn(report_changes(Arc::clone(&host.session), changes));
        HostFacts { info, reporting }
    }

    fn note_load(&self) {
        let load = load_average();
        self.info.send_if_modified(|info| {
            let has_changed = (load - info.load).abs() >= LOAD_STEP;
            if has_changed {
                info.load = load;
            }
            has_changed
        });
    }

    fn set_draining(&self) {
        self.info.send_modify(|info| info.is_draining = true);
    }
}

impl Drop for HostFacts {
    fn drop(&mut self) {
        self.reporting.abort();
    }
}

/// Reports each change of the facts until the session is lost. Of several changes during a report, reports the last.
async fn report_changes(session: Arc<dyn HostSession>, mut changes: watch::Receiver<HostInfo>) {
    while changes.changed().await.is_ok() {
        loop {
            let (session, info) = (Arc::clone(&session), changes.borrow_and_update().clone());
            let reported = spawn_blocking(move || session.update(&info)).await;
            let Ok(Err(error)) = reported else { break };
            if error.is_lost_lease() {
                return;
            }
            tracing::warn!("the facts about this host are not reported: {error}");
            tokio::time::sleep(REPORT).await;
        }
    }
}

/// The signals that end a worker: the first one lets it finish, the second one ends its teammates.
struct EndSignals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
    /// Number of signals that were received.
    count: u32,
}

impl EndSignals {
    /// Installs the handlers, which replace the default actions of the signals until the process ends.
    fn listen() -> Result<EndSignals> {
        Ok(EndSignals {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
            count: 0,
        })
    }

    /// Waits for the next signal and counts it. No signal is lost if the future is dropped.
    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hangup.recv() => {}
        }
        self.count = self.count.saturating_add(1);
    }

    /// Waits until `count` signals were received.
    async fn until(&mut self, count: u32) {
        while self.count < count {
            self.next().await;
        }
    }

    /// Waits until a start that a signal has made unnecessary must end: until the second signal, or [`START_WITHIN`] after
    /// the first one.
    async fn give_up(&mut self) {
        self.until(1).await;
        let _ = tokio::time::timeout(START_WITHIN, self.until(2)).await;
    }

    fn exit_code(&self) -> u8 {
        if self.count > 1 { INTERRUPTED } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn teammates_are_named_after_their_host() {
        let name = |host: &str, number| {
            let host = HostName::parse(host).unwrap();
            member_name(&host, number).unwrap().to_string()
        };
        assert_eq!(name("gpu-box", 2), "gpu-box-2");
        let longest = "a".repeat(28);
        assert_eq!(name(&longest, 256), format!("{longest}-256"));
        // Long names that differ at the end only.
        let (first, second) = (format!("{longest}-1"), format!("{longest}-2"));
        assert_ne!(name(&first, 1), name(&second, 1));
        assert_eq!(name(&first, 256).len(), NAME_MAX);
        assert!(name(&first, 1).starts_with(&"a".repeat(19)));
        assert_eq!(
            name(&first.to_uppercase(), 1).to_lowercase(),
            name(&first, 1)
        );
    }

    #[test]
    fn pause_between_attempts_is_capped() {
        let pause = |failures| {
            let causes = BTreeSet::new();
            JoinRetry { failures, causes }.pause().as_secs()
        };
        let pauses: Vec<u64> = (1..=6).map(pause).collect();
        assert_eq!(pauses, [1, 2, 4, 8, 15, 15]);
        assert_eq!(pause(u32::MAX), 15);
    }

    #[test]
    fn outages_are_no_errors_of_the_configuration() {
        let hub = || "nats://a:4222/web".to_string();
        let outages = [
            HubError::Unreachable {
                hub: hub(),
                why: "refused".into(),
            },
            HubError::NoJetStream { hub: hub() },
            HubError::Closed,
        ];
        for error in outages {
            assert!(!is_configuration(&StoreError::Hub(error).into()));
        }
        assert!(!is_configuration(&StoreError::HostInUse(hub()).into()));
        let wrong = StoreError::Hub(HubError::SecretWrong { hub: hub() });
        let error = anyhow::Error::from(wrong).context("the worker cannot join");
        assert!(is_configuration(&error));
    }
}
