//! Handles a teammate that is stuck or shuts down: releases its task, and informs the lead and the user.

use super::super::progress::{TeamProgress, progress};
use super::super::registry::AgentState;
use super::TeammateLoop;
use crate::agent::mailbox::ShutdownAnswer;
use crate::domain::mail::MailKind;
use crate::domain::team::Activity;
use crate::protocol::event::{AgentEvent, CrewEvent, EventKind, NoticeLevel, TurnEnd};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaveCause {
    /// A shutdown request for the teammate was approved.
    Asked,
    IdleTimeout,
    /// The user killed the teammate.
    Forced,
}

impl TeammateLoop {
    pub(super) async fn report_stuck(&self, why: &str) {
        self.agent
            .driver
            .activity(Activity::Stuck { why: why.into() })
            .await;
        let agent = Some(self.member.name.clone());
        let text = format!(
            "{} is stuck: it {why}. Write to @{} to restart it.",
            self.member.name, self.member.name
        );
        self.agent
            .driver
            .publish(EventKind::Crew(CrewEvent::Notice {
                level: NoticeLevel::Warn,
                agent,
                text,
            }))
            .await;
        self.crew
            .lead
            .report(format!("{} is stuck: it {why}", self.member.name));
    }

    /// Puts the teammate's open task back on the board. An error is published.
    pub(super) async fn release_task(&self) {
        if let Err(error) = self.crew.board.release_task_of(&self.member.name).await {
            self.agent
                .driver
                .report_file_error("The task cannot be released", &error)
                .await;
        }
    }

    /// Restores the last approved shutdown request that the teammate of a resumed session has not answered. The
    /// teammate then shuts down once it has finished its open task. Returns false if there is no such request.
    pub(super) async fn remember_shutdown(&mut self) -> bool {
        let open = self.crew.shutdowns.open(&self.member.name).await;
        let Some(request) = open.last() else {
            return false;
        };
        let (kind, to) = (MailKind::ShutdownRequest, &self.member.name);
        let (from, text) = (&request.from, &request.body);
        let message = self
            .crew
            .delivery
            .about(request, from, to, kind, text, None);
        self.agent.driver.state.approved_shutdown = Some(message);
        self.idle.approve_shutdown();
        true
    }

    /// Applies the teammate's answer to an approved shutdown request, after the turn in which it could answer. A
    /// teammate that has refused continues. A teammate that has agreed or not answered shuts down once it has finished
    /// its open task.
    pub(super) fn handle_shutdown_answer(&mut self) {
        match self.agent.handle.mailbox.take_shutdown_answer() {
            Some(ShutdownAnswer::Refused) => {
                self.agent.driver.state.approved_shutdown = None;
                self.idle.reject_shutdown();
            }
            Some(ShutdownAnswer::Agreed) | None
                if self.agent.driver.state.approved_shutdown.is_some() =>
            {
                self.idle.approve_shutdown();
            }
            Some(ShutdownAnswer::Agreed) | None => {}
        }
    }

    /// Shuts the teammate down: releases its task, stops its background jobs, updates the roster and removes the
    /// teammate from the registry. Confirms a requested shutdown to the agent that requested it. Informs the user and,
    /// unless the shutdown was requested, the lead.
    pub(super) async fn leave(&mut self, cause: LeaveCause) {
        let name = self.member.name.clone();
        // The crew does not count as idle until all steps of the shutdown are published.
        self.set_state(AgentState::Working);
        self.close_external().await;
        self.crew.checks.stop(&name);
        self.crew.worktrees.interrupt_setup(&name);
        self.release_task().await;
        self.crew.jobs.kill_all_of(&name);
        let (reason, level) = match cause {
            LeaveCause::Asked => ("has shut down as requested", NoticeLevel::Info),
            LeaveCause::IdleTimeout => ("has shut down: idle for too long", NoticeLevel::Info),
            LeaveCause::Forced => ("was killed", NoticeLevel::Warn),
        };
        match (cause, self.agent.driver.state.approved_shutdown.take()) {
            (LeaveCause::Asked, Some(asked)) => {
                if let Some(id) = asked.request_id() {
                    self.crew.shutdowns.confirm(&name, &id).await;
                }
            }
            (LeaveCause::Forced, _) => {
                let agent = name.clone();
                let end = TurnEnd::Interrupted;
                self.crew
                    .context
                    .publish(AgentEvent::TurnEnded { end }.of(agent))
                    .await;
            }
            (LeaveCause::Asked | LeaveCause::IdleTimeout, _) => {}
        }
        if let Err(error) = self.crew.team.mark_shut_down(&name).await {
            self.agent
                .driver
                .report_file_error("The roster cannot be written", &error)
                .await;
        }
        self.crew.shutdowns.finish_all(&name).await;
        self.crew.team.read().await;
        self.agent.driver.activity(Activity::Gone).await;
        let agent = Some(name.clone());
        let text = format!("{name} {reason}.");
        self.crew
            .context
            .publish(EventKind::Crew(CrewEvent::Notice { level, agent, text }))
            .await;
        let line = format!("{name} {reason}");
        match (cause, progress(&self.crew.board.graph())) {
            (LeaveCause::Asked, _) => {}
            // No work is left, so a turn of the lead would only cost tokens.
            (LeaveCause::IdleTimeout, TeamProgress::Done(_)) => self.crew.lead.note(line),
            (LeaveCause::IdleTimeout | LeaveCause::Forced, _) => self.crew.lead.report(line),
        }
        self.crew.registry.remove(&name);
    }
}
