//! `crewdeck worker`: runs teammates on this machine for a crew on a hub, whose lead is on another host.

mod end_signals;
mod members;
mod worked_tasks;

use std::collections::BTreeSet;
use std::mem;
use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use tokio::task::spawn_blocking;

use self::end_signals::EndSignals;
use self::members::prepare;
use self::worked_tasks::WorkedTasks;
use super::assemble::{self, Assembly, Built};
use super::blueprint::Blueprint;
use super::headless::{eprint_line, json_line, print_event};
use super::hub::{HubPlan, NAMES_MAX, is_host_in_use};
use super::journal::JournalWriter;
use super::named_models::ModelConnections;
use super::update_calls::UpdateCalls;
use super::{block_on, describe_error, now, secrets, trust};
use crate::cli::{GlobalOptions, WorkerArgs};
use crate::commands::OutputFormat;
use crate::crew::{Approvers, Crew, HostParts};
use crate::domain::host::{HostClaim, HostKind, HostName};
use crate::domain::request::Approver;
use crate::domain::timestamp::Timestamp;
use crate::domain::worktree::MergePolicy;
use crate::protocol::{Event, EventReceiver, EventSender, bus};
use crate::store::{HubError, StoreError};

/// Interval at which a worker that drains checks whether it has finished.
const CHECK: Duration = Duration::from_millis(500);
/// Pause before the first attempt to join again. Doubled with each further attempt, up to `PAUSE_MAX`.
const PAUSE_MIN: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(15);
/// Maximum number of causes of failed attempts that are remembered, so that each is printed once.
const CAUSES_MAX: usize = 32;
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
    for tag in options.tags.iter().filter(|tag| tag.contains(' ')) {
        eprint_line(&format!(
            "warning: the tag '{tag}' contains a space. Tags are separated by commas, such as --tags gpu,rust"
        ));
    }
    let plan = HubPlan {
        kind: HostKind::Worker,
        name: options.name,
        slots: options.slots,
        tags: options.tags,
        ..plan
    };
    block_on(async move {
        let worker = WorkerProcess {
            blueprint,
            plan,
            form,
            signals: EndSignals::listen()?,
            retry: JoinRetry::default(),
            ran_as: None,
            tasks: WorkedTasks::default(),
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
    /// The name of this host, if teammates have run. The settings were then right, so later errors are outages.
    ran_as: Option<HostName>,
    tasks: WorkedTasks,
}

impl WorkerProcess {
    async fn run(mut self) -> Result<u8> {
        let checking = Box::pin(check_model(&self.blueprint));
        tokio::select! {
            biased;
            () = self.signals.give_up() => return Ok(self.signals.exit_code()),
            checked = checking => checked?,
        }
        loop {
            let cause = match Box::pin(self.attempt()).await {
                Ok(WorkerEnd::Signalled) => break,
                Ok(WorkerEnd::Lost) => LOST.to_string(),
                Ok(WorkerEnd::Stuck) => {
                    bail!("{LOST}; some agents have not ended: start the worker again")
                }
                Err(error) if self.ran_as.is_none() || is_configuration(&error) => {
                    return Err(error);
                }
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
        if let Some(host) = &self.ran_as {
            eprint_line(&format!("crewdeck: {}", self.tasks.summary(host)));
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
            updates: UpdateCalls::default(),
            tasks: mem::take(&mut self.tasks),
            claim: host.as_ref().map(|host| host.session.claim()),
        };
        let worked = match host {
            Some(host) if crew.has_teammates() => {
                self.ran_as = Some(host.info.name.clone());
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
        output.tasks.stop(is_lost);
        self.tasks = mem::take(&mut output.tasks);
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
            }
            tokio::select! {
                event = events.next() => match event {
                    Some(event) => output.write(&event),
                    None => bail!("the crew ended unexpectedly"),
                },
                () = self.signals.next() => {}
                () = &mut lost => {
                    // Before the agents are stopped, which can take as long as the hub does not answer.
                    self.retry.report(LOST);
                    return Ok(WorkerEnd::Lost);
                }
                () = &mut drained, if is_draining => return Ok(WorkerEnd::Signalled),
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

/// Fails if there is no model for the teammates. Checked before the worker joins, so that the crew does not see a host that
/// ends at once.
async fn check_model(blueprint: &Blueprint) -> Result<()> {
    let (settings, choice) = (&blueprint.settings, blueprint.choice.as_ref());
    let models = ModelConnections::new(settings, choice, blueprint.speed);
    // The start of the crew publishes the same notice.
    let (event_sender, _events) = bus::bus(now);
    models.connect_lead(&event_sender).await?;
    Ok(())
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

/// Joins the crew and starts the teammates, or continues those of an earlier process or session of this host. If another host
/// has joined at the same time under the name that was chosen for this one, chooses another name.
async fn start(
    blueprint: &mut Blueprint,
    plan: &HubPlan,
    event_sender: EventSender,
) -> Result<Box<Assembly>> {
    let mut host = prepare_blueprint(blueprint, plan).await?;
    for _ in 1..NAMES_MAX {
        let built = Box::pin(assemble::build(blueprint, event_sender.clone())).await;
        let error = match built {
            Err(error) if plan.name.is_none() && is_host_in_use(&error) => error,
            built => return assembly_of(built?, blueprint),
        };
        let next = prepare_blueprint(blueprint, plan).await?;
        if next.same(&host) {
            return Err(error);
        }
        host = next;
    }
    let built = Box::pin(assemble::build(blueprint, event_sender)).await;
    assembly_of(built?, blueprint)
}

/// Enters into the blueprint what this run begins with. Returns the name of this host.
async fn prepare_blueprint(blueprint: &mut Blueprint, plan: &HubPlan) -> Result<HostName> {
    let (root, asked) = (blueprint.root.clone(), plan.clone());
    let prepared = spawn_blocking(move || prepare(&asked, &root)).await??;
    blueprint.resume = prepared.session;
    blueprint.preset = Some(prepared.preset);
    blueprint.hub = Some(HubPlan {
        name: Some(prepared.host.clone()),
        ..plan.clone()
    });
    Ok(prepared.host)
}

fn assembly_of(built: Built, blueprint: &Blueprint) -> Result<Box<Assembly>> {
    match built {
        Built::Crew(assembly) => Ok(assembly),
        Built::RunsElsewhere(holder) => bail!(
            "crewdeck already runs in {}{}: start the worker in another clone of the project",
            blueprint.root.display(),
            holder.format_process()
        ),
        Built::LedElsewhere(led) => bail!(led),
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
    updates: UpdateCalls,
    tasks: WorkedTasks,
    /// What marks the tasks of this host; `None` if it has not joined.
    claim: Option<HostClaim>,
}

impl WorkerOutput {
    fn write(&mut self, event: &Event) {
        if let Some(claim) = &self.claim {
            self.tasks.update(&event.kind, claim);
        }
        if let Some(text) = self.journal.note(event) {
            eprint_line(&format!("warning: {text}"));
        }
        // A closed output does not end the worker.
        let _ = match self.form {
            OutputFormat::Json => json_line(event),
            OutputFormat::Text => print_event(event, self.began, &mut self.updates),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

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
