//! Test support: applies events to a screen one by one and returns the log lines of each.

use std::sync::Arc;

use crate::domain::chat::Outcome;
use crate::domain::graph::{Claimer, NewTask, TaskGraph};
use crate::domain::ids::{CallId, TaskId};
use crate::domain::team::{Activity, Member, MemberStatus, Team};
use crate::domain::timestamp::Timestamp;
use crate::protocol::{AgentEvent, BoardEvent, EventKind, TeamEvent};
use crate::ui::UiState;
use crate::ui::fixture::{apply_events, blank, name, ready};
use crate::ui::model::event_log::{LogLine, LogSeverity};

/// A screen to which events are applied. Each method returns the lines that its events add to the log.
pub struct Story {
    pub state: UiState,
    board: TaskGraph,
    calls: u64,
}

impl Story {
    pub fn new() -> Story {
        let mut story = Story {
            state: blank(100, 30),
            board: TaskGraph::default(),
            calls: 0,
        };
        story.hears(ready());
        story
    }

    pub fn hears(&mut self, kind: EventKind) -> Vec<String> {
        let before: Vec<u64> = self.state.event_log.lines().map(|l| l.number).collect();
        apply_events(&mut self.state, vec![kind]);
        let lines = self.state.event_log.lines();
        let new = lines.filter(|l| !before.contains(&l.number));
        new.map(format_line).collect()
    }

    /// Sends the start and the end of a tool call.
    pub fn calls(&mut self, agent: &str, tool: &str, input: serde_json::Value) {
        self.calls += 1;
        let call = CallId(format!("c{}", self.calls));
        let (agent, tool) = (name(agent), tool.to_string());
        self.hears(
            AgentEvent::ToolStarted {
                call: call.clone(),
                tool: tool.clone(),
                on: String::new(),
                input,
            }
            .of(agent.clone()),
        );
        self.hears(
            AgentEvent::ToolFinished {
                call,
                tool,
                outcome: Outcome::Ok,
                output: String::new(),
                diff: String::new(),
                took_ms: 1,
            }
            .of(agent),
        );
    }

    pub fn board(&mut self, change: impl FnOnce(&mut TaskGraph, Timestamp)) -> Vec<String> {
        let mut next = self.board.clone();
        change(&mut next, self.state.now);
        let delta = self.board.delta(&next);
        self.board = next;
        self.hears(EventKind::Board(BoardEvent::BoardChanged {
            changed: delta.changed,
            removed: delta.removed,
        }))
    }

    pub fn does(&mut self, agent: &str, activity: Activity) -> Vec<String> {
        let agent = name(agent);
        self.hears(AgentEvent::ActivityChanged { activity }.of(agent))
    }

    pub fn team(&mut self, members: &[(&str, MemberStatus)]) -> Vec<String> {
        let mut team = Team::default();
        for (who, status) in members {
            let mut member = Member::new(name(who), "parser");
            member.status = *status;
            team.members.push(member);
        }
        let team = Arc::new(team);
        self.hears(EventKind::Team(TeamEvent::RosterChanged { team }))
    }
}

/// Formats a log line as the tests compare it: severity, topic, text.
pub fn format_line(line: &LogLine) -> String {
    let tone = match line.severity {
        LogSeverity::Plain => "",
        LogSeverity::Good => "✓",
        LogSeverity::Warn => "▲",
        LogSeverity::Error => "✗",
    };
    format!("{tone}{} {}", line.topic.word(), line.words)
}

pub fn new(subject: &str, blocked_by: &[u64]) -> NewTask {
    NewTask {
        subject: subject.into(),
        description: String::new(),
        blocked_by: blocked_by.iter().copied().map(TaskId).collect(),
        tags: vec![],
        worktree: String::new(),
    }
}

pub fn claimer(who: &str) -> Claimer {
    let (name, tags) = (name(who), vec![]);
    Claimer { name, tags }
}
