//! What happens when a teammate is stuck or shuts down: its task is released, and the lead and the user are informed.

use std::sync::atomic::Ordering;

use super::super::Standing;
use super::Life;
use crate::agent::desk::Parting;
use crate::agent::driver::blocking;
use crate::domain::ids::LetterId;
use crate::domain::mail::{Letter, LetterKind};
use crate::domain::request::Verdict;
use crate::domain::team::Activity;
use crate::protocol::event::{EventKind, Level, TurnEnd};

/// Why a teammate shuts down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Farewell {
    /// A shutdown request was approved.
    Asked,
    /// It was idle for longer than the idle timeout.
    Rested,
    /// The user stopped it by force.
    Forced,
}

impl Life {
    pub(super) async fn stuck(&self, why: &str) {
        self.outfit
            .driver
            .activity(Activity::Stuck { why: why.into() })
            .await;
        let agent = Some(self.member.name.clone());
        let text = format!(
            "{} is stuck: it {why}. Write to @{} to restart it.",
            self.member.name, self.member.name
        );
        self.outfit
            .driver
            .publish(EventKind::Notice {
                level: Level::Warn,
                agent,
                text,
            })
            .await;
        self.tell_lead(format!("{} is stuck: it {why}", self.member.name));
    }

    /// Adds a line to the lead's next call, and lets the lead be woken when the crew is idle.
    pub(super) fn tell_lead(&self, line: String) {
        if let Some(lead) = self.shared.handle(&crate::domain::ids::Name::lead()) {
            lead.desk.note(line);
            self.shared.news.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Puts its open task back on the board.
    pub(super) async fn give_back(&self) {
        if let Err(error) = self.shared.give_back(&self.member.name).await {
            self.outfit
                .driver
                .trouble("The task cannot be released", &error)
                .await;
        }
    }

    /// Restores an approved shutdown request that a resuming member had not answered. Returns whether there is one.
    pub(super) async fn remember_shutdown(&mut self) -> bool {
        let open = self.shared.open_shutdowns(&self.member.name).await;
        let Some(request) = open.last() else {
            return false;
        };
        let (kind, to) = (LetterKind::ShutdownRequest, &self.member.name);
        let (id, now) = (LetterId((self.shared.new_id)()), self.shared.now());
        let mut letter = Letter::new(id, kind, &request.from, to, &request.body, now);
        let about = request.id.to_string();
        letter.extra.insert("request_id".into(), about.into());
        self.outfit.driver.state.asked_to_go = Some(letter);
        self.idle.ask_to_go();
        true
    }

    /// Handles the member's answer to a shutdown request after a turn.
    pub(super) fn answer_to_go(&mut self) {
        match self.outfit.handle.desk.take_parting() {
            Some(Parting::Refused) => {
                self.outfit.driver.state.asked_to_go = None;
                self.idle.stay();
            }
            Some(Parting::Agreed) | None if self.outfit.driver.state.asked_to_go.is_some() => {
                self.idle.ask_to_go();
            }
            Some(Parting::Agreed) | None => {}
        }
    }

    /// Shuts the member down: releases its task, stops its jobs, answers the shutdown request and updates the roster.
    pub(super) async fn leave(&mut self, farewell: Farewell) {
        let name = self.member.name.clone();
        // The crew does not count as idle until all of this is published.
        self.shared
            .set_standing(&self.outfit.handle, Standing::Working);
        self.give_back().await;
        self.shared.end_jobs_of(&name);
        let (reason, level) = match farewell {
            Farewell::Asked => ("has shut down, as asked", Level::Info),
            Farewell::Rested => ("has shut down: it had nothing to do", Level::Info),
            Farewell::Forced => ("was ended by force", Level::Warn),
        };
        match (farewell, self.outfit.driver.state.asked_to_go.take()) {
            (Farewell::Asked, Some(asked)) => self.answer(&asked).await,
            (Farewell::Forced, _) => {
                let agent = name.clone();
                let end = TurnEnd::Interrupted;
                self.shared
                    .publish(EventKind::TurnEnded { agent, end })
                    .await;
            }
            (Farewell::Asked | Farewell::Rested, _) => {}
        }
        let (roster, leaving, now) = (self.shared.roster.clone(), name.clone(), self.shared.now());
        if let Err(error) = blocking(move || roster.leave(&leaving, now)).await {
            self.outfit
                .driver
                .trouble("The roster cannot be written", &error)
                .await;
        }
        self.shared.finish_shutdowns(&name).await;
        self.shared.read_team().await;
        self.outfit.driver.activity(Activity::Gone).await;
        let agent = Some(name.clone());
        let text = format!("{name} {reason}.");
        self.shared
            .publish(EventKind::Notice { level, agent, text })
            .await;
        if farewell != Farewell::Asked {
            self.tell_lead(format!("{name} {reason}"));
        }
        self.shared.dismiss(&name);
    }

    async fn answer(&self, asked: &Letter) {
        let Some(id) = asked.request_id() else { return };
        let requests = self.shared.requests.clone();
        let found = blocking(move || requests.get(&id)).await.ok().flatten();
        if let Some(request) = found {
            let from = self.member.name.clone();
            let words = "I have finished and shut down.";
            self.shared
                .answer_shutdown(from, &request, Verdict::Approve, words)
                .await;
        }
    }
}
