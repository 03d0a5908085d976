//! The state of the crew that the dashboard shows (starting, running here, running in another process, or absent),
//! and its changes.

use std::pin::Pin;

use anyhow::Result;

use super::Dashboard;
use crate::app::assemble::{self, Assembly, Built};
use crate::app::blueprint::Blueprint;
use crate::app::describe_error;
use crate::app::hub_viewer::HubViewerSession;
use crate::app::lock::FreedLock;
use crate::app::model_setup::{ModelProblem, ModelUnavailable};
use crate::app::viewer_session::{ViewerSession, ViewerUpdate};
use crate::app::{new_id, now};
use crate::crew::HubUpdate;
use crate::domain::hook::SessionEndReason;
use crate::protocol::event::NoticeLevel;
use crate::protocol::{Event, EventReceiver, SentCommand};
use crate::store::JournalStart;
use crate::ui::{Msg, SessionRole, update};

/// The state of the crew that the dashboard shows.
pub(super) enum CrewState {
    /// The crew is starting in this process. Commands and events are queued.
    Starting(StartQueue),
    /// The crew runs in this process.
    Running(Box<Assembly>),
    /// The crew runs in another process, or that process has ended and this process could not take over the crew.
    Remote(Box<ViewerSession>),
    /// The crew is on a hub, and another host leads it.
    Viewing(Box<HubViewerSession>),
    /// No crew runs. The setup page shows why it could not start, or asks for approval before it starts.
    Absent,
}

/// A change of the crew that is no event.
pub(super) enum CrewChange {
    /// An update of a crew that another process runs.
    Local(ViewerUpdate),
    Hub(HubUpdate),
    /// This host has lost its session on the hub, so that its crew may no longer act. The value is why the hub cannot be
    /// reached; `None` if it can be.
    Lost(Option<String>),
}

impl CrewState {
    /// Waits for the next change of the crew that is no event. If there is none to expect, waits forever.
    pub(super) async fn next_change(&mut self) -> CrewChange {
        match self {
            CrewState::Remote(viewing) => CrewChange::Local(viewing.next().await),
            CrewState::Viewing(viewing) => CrewChange::Hub(viewing.next().await),
            CrewState::Running(assembly) => {
                assembly.crew.lost().await;
                CrewChange::Lost(assembly.crew.hub_outage())
            }
            CrewState::Starting(_) | CrewState::Absent => std::future::pending().await,
        }
    }

    /// Stops a crew that runs in this process and writes its last events to the journal. Does nothing in all other
    /// states. Fails if the crew cannot write its state files.
    pub(super) async fn stop(
        self,
        events: &mut EventReceiver,
        reason: SessionEndReason,
    ) -> Result<()> {
        let CrewState::Running(assembly) = self else {
            return Ok(());
        };
        let Assembly {
            crew,
            mut journal,
            lock,
            stores: _,
            host: _,
            probe: _,
        } = *assembly;
        let stopped = crew.stop_because(reason).await;
        while let Some(event) = events.try_next() {
            journal.note(&event);
        }
        // The journal must be complete before another process can take the lock.
        drop(journal);
        drop(lock);
        stopped?;
        Ok(())
    }
}

/// Maximum number of crew events that are queued for the journal while the crew starts.
const EARLY_EVENTS_MAX: usize = 256;

/// Commands and events queued while the crew starts.
#[derive(Default)]
pub(super) struct StartQueue {
    pub(super) commands: Vec<SentCommand>,
    /// Events for the journal, at most [`EARLY_EVENTS_MAX`].
    events: Vec<Event>,
    /// Number of events that were dropped because `events` was full.
    lost: usize,
    /// The ended process whose crew this process takes over; `None` for a new start.
    pub(super) from: Option<PreviousRun>,
}

impl StartQueue {
    /// Creates a queue that contains `command`, if there is one.
    pub(super) fn with(command: Option<SentCommand>) -> StartQueue {
        StartQueue {
            commands: command.into_iter().collect(),
            ..StartQueue::default()
        }
    }

    /// Queues an event for the journal. If the queue already has [`EARLY_EVENTS_MAX`] events, counts the event as lost
    /// instead.
    pub(super) fn keep(&mut self, event: &Event) {
        if self.events.len() < EARLY_EVENTS_MAX {
            self.events.push(event.clone());
        } else {
            self.lost += 1;
        }
    }

    /// Returns a warning with the number of lost events, which are missing from the journal; `None` if no event was
    /// lost.
    fn warning(&self) -> Option<String> {
        let lost = self.lost;
        let were = if lost == 1 { "event is" } else { "events are" };
        (lost > 0).then(|| {
            format!(
                "{lost} {were} missing from the journal: of the events before the crew started, only the first {EARLY_EVENTS_MAX} are kept."
            )
        })
    }
}

/// A process that ran a crew and has ended, and the session of that crew. `process` is `None` if the lock file did not
/// name the process.
pub(super) struct PreviousRun {
    process: Option<u32>,
    session: String,
}

pub(super) type Building<'a> = Pin<Box<dyn Future<Output = Result<Built>> + 'a>>;

impl Dashboard {
    pub(super) fn crew_built(&mut self, built: Result<Built>, blueprint: &Blueprint) -> Result<()> {
        let early = match std::mem::replace(&mut self.crew, CrewState::Absent) {
            CrewState::Starting(early) => early,
            CrewState::Running(_)
            | CrewState::Remote(_)
            | CrewState::Viewing(_)
            | CrewState::Absent => StartQueue::default(),
        };
        match built {
            Ok(Built::Crew(mut assembly)) => {
                for event in &early.events {
                    if let Some(text) = assembly.journal.note(event) {
                        self.warn(&text);
                    }
                }
                if let Some(text) = early.warning() {
                    self.warn(&text);
                }
                let probe = assembly.probe.take();
                self.crew = CrewState::Running(assembly);
                self.start_checks(blueprint, probe);
                if let Some((level, text)) = self.kept.notice.take() {
                    self.publish(level, &text);
                }
                self.state.set_role(match early.from {
                    None => SessionRole::Crew,
                    Some(from) => SessionRole::Taken(from.process),
                });
            }
            Ok(Built::RunsElsewhere(holder)) => {
                let viewing = ViewerSession::start(
                    (&blueprint.root, blueprint.stores()),
                    holder,
                    self.event_sender.clone(),
                    !blueprint.settings.checks.is_empty(),
                )?;
                self.state.forget_crew();
                self.state.set_role(viewing.role());
                self.crew = CrewState::Remote(Box::new(viewing));
            }
            Ok(Built::LedElsewhere(led)) => match &blueprint.hub {
                Some(plan) => {
                    let viewing = HubViewerSession::start(
                        &blueprint.root,
                        plan,
                        led.host,
                        self.event_sender.clone(),
                        !blueprint.settings.checks.is_empty(),
                    );
                    self.state.forget_crew();
                    self.state.set_role(viewing.role());
                    self.crew = CrewState::Viewing(Box::new(viewing));
                }
                None => return Err(led.into()),
            },
            Err(error) => {
                let missing = error
                    .downcast::<ModelUnavailable>()
                    .unwrap_or_else(|error| ModelUnavailable {
                        problem: ModelProblem::Other,
                        reason: describe_error(&error),
                        steps: Vec::new(),
                    });
                match early.from {
                    None => {
                        self.state.set_role(SessionRole::Crew);
                        self.without_crew(&missing, blueprint);
                        return Ok(());
                    }
                    Some(PreviousRun { session, .. }) => {
                        let viewing = ViewerSession::start_abandoned(
                            (&blueprint.root, blueprint.stores()),
                            session,
                            self.event_sender.clone(),
                            !blueprint.settings.checks.is_empty(),
                        )?;
                        self.state.set_role(viewing.role());
                        self.crew = CrewState::Remote(Box::new(viewing));
                        let text = format!("The crew cannot be taken over: {}", missing.reason);
                        self.publish(NoticeLevel::Error, &text);
                    }
                }
            }
        }
        for command in early.commands {
            self.send(command);
        }
        Ok(())
    }

    /// Shows an update of a crew that another process runs. If that process has ended and this process has acquired the
    /// crew lock, returns the lock, else `None`. Fails if the viewer cannot start a thread.
    pub(super) fn apply_update(&mut self, news: ViewerUpdate) -> Result<Option<FreedLock>> {
        let CrewState::Remote(viewing) = &mut self.crew else {
            return Ok(None);
        };
        viewing.note(&news)?;
        self.state.set_role(viewing.role());
        match news {
            ViewerUpdate::LockFree(freed) => return Ok(Some(freed)),
            ViewerUpdate::LockFailed(error) => {
                let text = format!("This window cannot take over the crew: {error:#}");
                self.publish(NoticeLevel::Warn, &text);
            }
            ViewerUpdate::Holder => {}
            ViewerUpdate::Restarted(events, beginning) => {
                self.state.forget_crew();
                for event in events {
                    if viewing.begins(&event) {
                        self.state.end_crew(event.at);
                    }
                    // Drop the effects: past events must not ring the bell.
                    drop(update(&mut self.state, Msg::Event(event)));
                }
                self.state.mark_seen(now());
                if beginning == JournalStart::Cut {
                    viewing.publish_files();
                    self.state.begins_late();
                    self.warn("The session is long: only its newest part is shown.");
                }
            }
            ViewerUpdate::Appended(events) => {
                for event in events {
                    let CrewState::Remote(viewing) = &mut self.crew else {
                        break;
                    };
                    if viewing.begins(&event) {
                        self.state.end_crew(event.at);
                    }
                    self.apply_event(event);
                }
            }
        }
        Ok(None)
    }

    /// Starts to resume the crew in this process. Call it only after the previous process has ended and the whole
    /// journal is shown.
    pub(super) fn take_over<'a>(
        &mut self,
        freed: FreedLock,
        blueprint: &'a Blueprint,
    ) -> Building<'a> {
        let known = match &self.crew {
            CrewState::Remote(viewing) => viewing.holder().session.clone(),
            CrewState::Starting(_)
            | CrewState::Running(_)
            | CrewState::Viewing(_)
            | CrewState::Absent => None,
        };
        let session = freed
            .before
            .session
            .clone()
            .or(known)
            .unwrap_or_else(new_id);
        self.state.end_crew(now());
        self.state.set_role(SessionRole::Taking);
        // Other viewers read this notice too, so it names both processes.
        let text = format!(
            "The crew's process{} has ended: process {} takes over.",
            freed.before.format_process(),
            std::process::id()
        );
        self.publish(NoticeLevel::Info, &text);
        self.crew = CrewState::Starting(StartQueue {
            from: Some(PreviousRun {
                process: freed.before.process,
                session: session.clone(),
            }),
            ..StartQueue::default()
        });
        Box::pin(assemble::take_over(
            blueprint,
            freed,
            session,
            self.event_sender.clone(),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::EventKind;
    use pretty_assertions::assert_eq;

    #[test]
    fn events_lost_before_the_start_are_counted_and_reported() {
        let mut early = StartQueue::default();
        let event = |seq| Event {
            seq,
            at: now(),
            kind: EventKind::notice(NoticeLevel::Info, "early"),
        };
        (0..256).for_each(|seq| early.keep(&event(seq)));
        assert_eq!((early.events.len(), early.warning()), (256, None));
        early.keep(&event(256));
        let warning = "1 event is missing from the journal: of the events before the crew started, only the first 256 are kept.";
        assert_eq!(early.warning().as_deref(), Some(warning));
        early.keep(&event(257));
        let warning = early.warning().unwrap_or_default();
        assert!(
            warning.starts_with("2 events are missing from the journal"),
            "{warning}"
        );
        assert_eq!(early.events.last().map(|e| e.seq), Some(255));
    }
}
