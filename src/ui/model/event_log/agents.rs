//! Log lines about agents: the ends of turns, activities, and members that join or leave the team.

use crate::domain::graph::Claimer;
use crate::domain::ids::Name;
use crate::domain::team::{Activity, Member, MemberStatus, Team};
use crate::domain::timestamp::Timestamp;
use crate::protocol::event::TurnEnd;
use crate::ui::model::event_log::attribution::ActionEffect;
use crate::ui::model::event_log::{LogSeverity, NewLogLine, Topic};
use crate::ui::model::{CrewModel, style};

/// Returns the log line for the end of a turn; `None` if the end is not logged. A normal end is logged only for a
/// subagent.
pub(in crate::ui) fn turn_ended(agent: &Name, end: &TurnEnd) -> Option<NewLogLine> {
    let line = match end {
        TurnEnd::Done if agent.parent().is_some() => {
            NewLogLine::new(Topic::Team, format!("{agent} returned its answer"))
                .tone(LogSeverity::Good)
        }
        TurnEnd::Done => return None,
        TurnEnd::Interrupted => NewLogLine::new(Topic::Team, format!("{agent} was interrupted")),
        TurnEnd::Failed { error, hint } if hint.is_empty() => {
            NewLogLine::new(Topic::Model, format!("{agent}'s turn failed: {error}"))
                .tone(LogSeverity::Error)
        }
        TurnEnd::Failed { error, hint } => NewLogLine::new(
            Topic::Model,
            format!("{agent}'s turn failed: {error}. {hint}"),
        )
        .tone(LogSeverity::Error),
        TurnEnd::Stopped { why } => {
            NewLogLine::new(Topic::Model, format!("{agent}'s turn was stopped: {why}"))
                .tone(LogSeverity::Warn)
        }
    };
    Some(line.of(agent))
}

/// Returns the log line for a change of an agent's activity to `activity`; `None` if the change is not logged. These
/// changes are logged:
///
/// - An agent waits after a failed model call.
/// - A model call of an agent enters the call queue. A change of its position in the queue is not logged.
/// - A teammate becomes idle, unless a task is ready for it.
pub(in crate::ui) fn activity_changed(
    model: &CrewModel,
    agent: &Name,
    activity: &Activity,
    at: Timestamp,
) -> Option<NewLogLine> {
    let before = model.activity(agent);
    if before == *activity {
        return None;
    }
    let line = match activity {
        Activity::Backoff {
            cause,
            until,
            attempt,
            attempts_max,
        } => {
            let wait = style::seconds(*until, at);
            let of = match attempts_max {
                0 => String::new(),
                most => format!(" of {most}"),
            };
            let words = format!(
                "{agent}'s model call failed: {cause}; attempt {}{of} in {wait} s",
                attempt.saturating_add(1)
            );
            NewLogLine::new(Topic::Model, words).tone(LogSeverity::Warn)
        }
        Activity::Queued { .. } if matches!(before, Activity::Queued { .. }) => return None,
        Activity::Queued { place } => NewLogLine::new(
            Topic::Model,
            format!("{agent}'s model call is queued at position {place}"),
        ),
        Activity::Idle if agent.is_lead() || agent.parent().is_some() => return None,
        Activity::Idle => {
            let words = format!("{agent} is idle: {}", why_idle(model, agent)?);
            NewLogLine::new(Topic::Team, words)
        }
        // Other activities are not logged, because the team pane shows them, or the log has another line with more
        // details: that of the end of the turn, of a notice or of a request.
        _ => return None,
    };
    Some(line.of(agent))
}

/// Returns why an agent is idle; `None` if a task is ready for the agent, because the agent is about to claim it.
fn why_idle(model: &CrewModel, agent: &Name) -> Option<String> {
    if let Some(own) = model.board.open_task_of(agent) {
        return Some(format!("its turn ended with {} still open", own.id));
    }
    let tags = model.team.find(agent).map(|m| m.tags.clone());
    let claimer = Claimer {
        name: agent.clone(),
        tags: tags.unwrap_or_default(),
    };
    if !model.board.has_open() {
        return Some("no open tasks".into());
    }
    let is_ready = model.board.auto_claimable(&claimer).is_some();
    (!is_ready).then(|| "no task is ready for it".into())
}

/// Returns the log line about a teammate that has left. If a notice says why the teammate has left, the line of the
/// notice replaces this one.
pub(in crate::ui) fn gone(name: &str) -> String {
    format!("{name} left the team")
}

/// Returns the log lines for the members that have joined or left since the team in `model`; `team` is the new team.
pub(in crate::ui) fn team_changed(
    model: &CrewModel,
    team: &Team,
    at: Timestamp,
) -> Vec<NewLogLine> {
    let here = |m: &&Member| m.status != MemberStatus::Shutdown;
    let was_here = |m: &Member| model.team.find(&m.name).is_some_and(|m| here(&m));
    let came = team.members.iter().filter(here).filter(|m| !was_here(m));
    let came = came.map(|member| {
        let name = &member.name;
        let role = match member.role.as_str() {
            "" => String::new(),
            role => format!(" as {role}"),
        };
        let by = model
            .event_log
            .attribution
            .who(&ActionEffect::Spawn(name.to_string()), at);
        match by {
            Some(by) => NewLogLine::new(Topic::Team, format!("{by} spawned {name}{role}"))
                .of(name)
                .by(by.as_str()),
            None => NewLogLine::new(Topic::Team, format!("{name} joined the team{role}")).of(name),
        }
    });
    let left = model.team.members.iter().filter(here);
    let left = left.filter(|m| team.find(&m.name).is_none_or(|m| !here(&m)));
    let left = left.map(|m| NewLogLine::new(Topic::Team, gone(m.name.as_str())).of(&m.name));
    came.chain(left).collect()
}
