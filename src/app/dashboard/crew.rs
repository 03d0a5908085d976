//! Where the dashboard's crew is: on its way, here, in another process, or nowhere; and how one becomes the other.

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

/// Where the crew is.
pub(super) enum Crew {
    /// It is on its way; what the person wants meanwhile waits.
    Coming(Early),
    There(Box<Assembly>),
    /// Another process runs it.
    Elsewhere(Box<Viewing>),
    /// It could not start; the first page says why.
    Missing,
}

impl Crew {
    /// What is new of a crew that another process runs.
    pub(super) async fn news(&mut self) -> News {
        match self {
            Crew::Elsewhere(viewing) => viewing.next().await,
            Crew::Coming(_) | Crew::There(_) | Crew::Missing => std::future::pending().await,
        }
    }
}

/// Events that may wait for the journal to be there.
const EARLY_EVENTS_MAX: usize = 256;

/// What happened before the crew was there.
#[derive(Default)]
pub(super) struct Early {
    /// What the person wants of it.
    pub(super) commands: Vec<Command>,
    /// What the journal is to hold, at most 256.
    events: Vec<Event>,
    /// How many events were too many to be kept.
    lost: usize,
    /// What is taken over, where the crew ran in another process.
    pub(super) from: Option<From>,
}

impl Early {
    /// Nothing has happened, and this is wanted already.
    pub(super) fn wanted(command: Option<Command>) -> Early {
        Early {
            commands: command.into_iter().collect(),
            ..Early::default()
        }
    }

    /// Keeps an event for the journal, or counts it where too many wait already.
    pub(super) fn keep(&mut self, event: &Event) {
        if self.events.len() < EARLY_EVENTS_MAX {
            self.events.push(event.clone());
        } else {
            self.lost += 1;
        }
    }

    /// That not all could be kept; `None`: all were.
    fn cut(&self) -> Option<String> {
        let lost = self.lost;
        let were = if lost == 1 { "event is" } else { "events are" };
        (lost > 0).then(|| {
            format!(
                "{lost} {were} not in the journal: before the crew was there, only the first {EARLY_EVENTS_MAX} were kept for it."
            )
        })
    }
}

/// The crew of another process, which is gone.
pub(super) struct From {
    process: Option<u32>,
    session: String,
}

/// A crew that is being started.
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
                        let text = format!("The crew can not be taken over: {}", lack.reason);
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

    /// Shows what is new of a crew that another process runs. The lock comes back when it is gone.
    pub(super) fn look(&mut self, news: News) -> Result<Option<Freed>> {
        let Crew::Elsewhere(viewing) = &mut self.crew else {
            return Ok(None);
        };
        viewing.note(&news)?;
        self.state.sit(viewing.seat());
        match news {
            News::Free(freed) => return Ok(Some(freed)),
            News::NoLock(error) => {
                let text = format!("This window will not take the crew over: {error:#}");
                self.publish(Level::Warn, &text);
            }
            News::Holder => {}
            News::Anew(events, beginning) => {
                self.state.forget_crew();
                for event in events {
                    if viewing.begins(&event) {
                        self.state.end_of_run(event.at);
                    }
                    // What waited then rings no bell now.
                    drop(update(&mut self.state, Msg::Event(event)));
                }
                self.state.caught_up(now());
                if beginning == Beginning::Cut {
                    viewing.tell_of_files();
                    self.state.begins_late();
                    self.tell("Of this long session only the newest part is shown.");
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

    /// The process that ran the crew is gone, and all that it wrote was shown: begins to run it here.
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
        // Others who look on read it, too: so it names processes.
        let text = format!(
            "The process that ran the crew{} is gone: process {} takes it over.",
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
    fn what_is_too_much_to_be_kept_before_the_crew_is_there_is_counted_and_told() {
        let mut early = Early::default();
        let event = |seq| Event {
            seq,
            at: now(),
            kind: EventKind::notice(Level::Info, "early"),
        };
        (0..256).for_each(|seq| early.keep(&event(seq)));
        assert_eq!((early.events.len(), early.cut()), (256, None));
        early.keep(&event(256));
        let told = "1 event is not in the journal: before the crew was there, only the first 256 were kept for it.";
        assert_eq!(early.cut().as_deref(), Some(told));
        early.keep(&event(257));
        let told = early.cut().unwrap_or_default();
        assert!(
            told.starts_with("2 events are not in the journal"),
            "{told}"
        );
        assert_eq!(early.events.last().map(|e| e.seq), Some(255));
    }
}
