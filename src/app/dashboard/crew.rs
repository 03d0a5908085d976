//! The state of the dashboard's crew (starting, running here, running in another process, or absent) and its changes.

use std::pin::Pin;

use anyhow::Result;

use super::Dashboard;
use crate::app::assemble::{self, Assembly, Blueprint, Built};
use crate::app::in_words;
use crate::app::lock::Freed;
use crate::app::viewing::{News, Viewing};
use crate::app::wire::{Lack, NoModel};
use crate::app::{new_id, now};
use crate::protocol::event::Level;
use crate::protocol::{Command, Event};
use crate::store::Beginning;
use crate::ui::{Msg, Seat, update};

/// The state of the crew.
pub(super) enum Crew {
    /// It is starting; commands and events are queued.
    Coming(Early),
    /// It runs in this process.
    There(Box<Assembly>),
    /// It runs in another process.
    Elsewhere(Box<Viewing>),
    /// It could not start; the first page shows the reason.
    Missing,
}

impl Crew {
    /// Waits for the next update of a crew that another process runs.
    pub(super) async fn news(&mut self) -> News {
        match self {
            Crew::Elsewhere(viewing) => viewing.next().await,
            Crew::Coming(_) | Crew::There(_) | Crew::Missing => std::future::pending().await,
        }
    }
}

/// Most events that are queued until the journal is open.
const EARLY_EVENTS_MAX: usize = 256;

/// Commands and events queued while the crew starts.
#[derive(Default)]
pub(super) struct Early {
    pub(super) commands: Vec<Command>,
    /// Events for the journal, at most [`EARLY_EVENTS_MAX`].
    events: Vec<Event>,
    /// Number of events dropped over that limit.
    lost: usize,
    /// The crew that is taken over from a dead process, if any.
    pub(super) from: Option<From>,
}

impl Early {
    /// Creates a queue with the first command, if there is one.
    pub(super) fn wanted(command: Option<Command>) -> Early {
        Early {
            commands: command.into_iter().collect(),
            ..Early::default()
        }
    }

    /// Queues an event for the journal, or counts it as lost over the limit.
    pub(super) fn keep(&mut self, event: &Event) {
        if self.events.len() < EARLY_EVENTS_MAX {
            self.events.push(event.clone());
        } else {
            self.lost += 1;
        }
    }

    /// Returns a warning if events were lost.
    fn cut(&self) -> Option<String> {
        let lost = self.lost;
        let were = if lost == 1 { "event is" } else { "events are" };
        (lost > 0).then(|| {
            format!(
                "{lost} {were} missing from the journal: only the first {EARLY_EVENTS_MAX} before the start of the crew are kept."
            )
        })
    }
}

/// The process and session of a crew whose process has ended.
pub(super) struct From {
    process: Option<u32>,
    session: String,
}

/// The future that starts a crew.
pub(super) type Building<'a> = Pin<Box<dyn Future<Output = Result<Built>> + 'a>>;

impl Dashboard {
    pub(super) fn built(&mut self, built: Result<Built>, blueprint: &Blueprint) -> Result<()> {
        let early = match std::mem::replace(&mut self.crew, Crew::Missing) {
            Crew::Coming(early) => early,
            Crew::There(_) | Crew::Elsewhere(_) | Crew::Missing => Early::default(),
        };
        match built {
            Ok(Built::Crew(mut assembly)) => {
                for event in &early.events {
                    if let Some(text) = assembly.journal.note(event) {
                        self.tell(&text);
                    }
                }
                if let Some(text) = early.cut() {
                    self.tell(&text);
                }
                let probe = assembly.probe.take();
                self.crew = Crew::There(assembly);
                self.look_around(blueprint, probe);
                if let Some(done) = self.kept.done.take() {
                    self.publish(Level::Info, done);
                }
                self.state.sit(match early.from {
                    None => Seat::Crew,
                    Some(from) => Seat::Taken(from.process),
                });
            }
            Ok(Built::Taken(holder)) => {
                let viewing = Viewing::start(&blueprint.root, holder, self.publisher.clone())?;
                self.state.forget_crew();
                self.state.sit(viewing.seat());
                self.crew = Crew::Elsewhere(Box::new(viewing));
            }
            Err(error) => {
                let lack = error.downcast::<NoModel>().unwrap_or_else(|error| NoModel {
                    lack: Lack::Other,
                    reason: in_words(&error),
                    steps: Vec::new(),
                });
                match early.from {
                    None => {
                        self.state.sit(Seat::Crew);
                        self.without_crew(&lack, blueprint);
                        return Ok(());
                    }
                    Some(From { session, .. }) => {
                        let root = &blueprint.root;
                        let viewing = Viewing::left(root, session, self.publisher.clone())?;
                        self.state.sit(viewing.seat());
                        self.crew = Crew::Elsewhere(Box::new(viewing));
                        let text = format!("The crew cannot be taken over: {}", lack.reason);
                        self.publish(Level::Error, &text);
                    }
                }
            }
        }
        for command in early.commands {
            self.submit(command);
        }
        Ok(())
    }

    /// Shows an update of a crew that another process runs. Returns the crew lock once that process has ended.
    pub(super) fn look(&mut self, news: News) -> Result<Option<Freed>> {
        let Crew::Elsewhere(viewing) = &mut self.crew else {
            return Ok(None);
        };
        viewing.note(&news)?;
        self.state.sit(viewing.seat());
        match news {
            News::Free(freed) => return Ok(Some(freed)),
            News::NoLock(error) => {
                let text = format!("This window cannot take over the crew: {error:#}");
                self.publish(Level::Warn, &text);
            }
            News::Holder => {}
            News::Anew(events, beginning) => {
                self.state.forget_crew();
                for event in events {
                    if viewing.begins(&event) {
                        self.state.end_of_run(event.at);
                    }
                    // Effects are dropped: old events must not ring the bell.
                    drop(update(&mut self.state, Msg::Event(event)));
                }
                self.state.caught_up(now());
                if beginning == Beginning::Cut {
                    viewing.tell_of_files();
                    self.state.begins_late();
                    self.tell("The session is long: only its newest part is shown.");
                }
            }
            News::More(events) => {
                for event in events {
                    let Crew::Elsewhere(viewing) = &mut self.crew else {
                        break;
                    };
                    if viewing.begins(&event) {
                        self.state.end_of_run(event.at);
                    }
                    self.show(event);
                }
            }
        }
        Ok(None)
    }

    /// Starts the crew in this process after its previous process has ended and its whole journal has been shown.
    pub(super) fn take_over<'a>(&mut self, freed: Freed, blueprint: &'a Blueprint) -> Building<'a> {
        let known = match &self.crew {
            Crew::Elsewhere(viewing) => viewing.holder().session.clone(),
            Crew::Coming(_) | Crew::There(_) | Crew::Missing => None,
        };
        let session = freed
            .before
            .session
            .clone()
            .or(known)
            .unwrap_or_else(new_id);
        self.state.end_of_run(now());
        self.state.sit(Seat::Taking);
        // Other viewers read this notice too, so it names both processes.
        let text = format!(
            "The crew's process{} has ended: process {} takes over.",
            freed.before.shown(),
            std::process::id()
        );
        self.publish(Level::Info, &text);
        self.crew = Crew::Coming(Early {
            from: Some(From {
                process: freed.before.process,
                session: session.clone(),
            }),
            ..Early::default()
        });
        Box::pin(assemble::take_over(
            blueprint,
            freed,
            session,
            self.publisher.clone(),
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
        let mut early = Early::default();
        let event = |seq| Event {
            seq,
            at: now(),
            kind: EventKind::notice(Level::Info, "early"),
        };
        (0..256).for_each(|seq| early.keep(&event(seq)));
        assert_eq!((early.events.len(), early.cut()), (256, None));
        early.keep(&event(256));
        let warning = "1 event is missing from the journal: only the first 256 before the start of the crew are kept.";
        assert_eq!(early.cut().as_deref(), Some(warning));
        early.keep(&event(257));
        let warning = early.cut().unwrap_or_default();
        assert!(
            warning.starts_with("2 events are missing from the journal"),
            "{warning}"
        );
        assert_eq!(early.events.last().map(|e| e.seq), Some(255));
    }
}
