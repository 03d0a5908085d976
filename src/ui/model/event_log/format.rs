//! Converts events to lines of the event log, and decides which kinds of events are logged.
//!
//! Events about tasks, messages, the team and model calls are logged. Answers and tool calls of agents are not, except
//! `merge_worktree`, because the conversations show them.

use crate::domain::chat::Outcome;
use crate::domain::ids::{Name, TaskId};
use crate::domain::job::{Job, JobEnd};
use crate::domain::mail::MailMessage;
use crate::domain::permission::SessionPermission;
use crate::domain::request::{Request, RequestKind, RequestStatus};
use crate::domain::skill::SkillCatalog;
use crate::domain::text::one_line;
use crate::domain::timestamp::Timestamp;
use crate::protocol::event::{DeliveryState, NoticeLevel, SessionInfo};
use crate::protocol::{AgentEvent, BoardEvent, CrewEvent, Event, EventKind, TeamEvent};
use crate::ui::model::event_log::agents::{activity_changed, gone, team_changed, turn_ended};
use crate::ui::model::event_log::hosts::hosts_changed;
use crate::ui::model::event_log::train::train_lines;
use crate::ui::model::event_log::{About, LogSeverity, NewLogLine, Topic, board};
use crate::ui::model::{CrewModel, sentence};
use crate::ui::text::display_name;
use crate::ui::transcript::apply;
use crate::ui::transcript::rewind::{rewind_notice, skipped_notice};

/// Returns the lines of the event log for an event: usually none or one. `model` is the state before the event.
pub(in crate::ui) fn log_lines(model: &CrewModel, event: &Event) -> Vec<NewLogLine> {
    match &event.kind {
        EventKind::Agent { agent, event: what } => agent_event(model, agent, what, event.at)
            .into_iter()
            .collect(),
        // Other events about the board are not logged: the board shows the states of branches, and the status line the
        // branch that is checked out; a diff or an inspection answers a single screen; an action of the user only
        // explains the change of the board that follows.
        EventKind::Board(BoardEvent::BoardChanged { changed, removed }) => {
            board::change_lines(model, changed, removed, event.at)
        }
        EventKind::Board(BoardEvent::TrainChanged { train }) => train_lines(model, train),
        EventKind::Board(_) => Vec::new(),
        EventKind::Team(what) => match what {
            TeamEvent::RosterChanged { team } => team_changed(model, team, event.at),
            TeamEvent::MessageMoved { message, step } => message_moved(model, message, *step),
            TeamEvent::RequestChanged { request } => {
                request_changed(model, request).into_iter().collect()
            }
            TeamEvent::PermissionsChanged { rules } => rules_changed(&model.rules, rules),
            TeamEvent::HostsChanged { hosts } => hosts_changed(model, hosts),
        },
        EventKind::Crew(what) => crew_event(model, what).into_iter().collect(),
    }
}

/// Returns the log line for an event about an agent; `None` if the event is not logged. Text, tool calls except
/// `merge_worktree`, usage and todo lists are not logged, because the conversation and the panes show them.
fn agent_event(
    model: &CrewModel,
    agent: &Name,
    event: &AgentEvent,
    at: Timestamp,
) -> Option<NewLogLine> {
    let line = |topic, words: String| NewLogLine::new(topic, words).of(agent);
    Some(match event {
        AgentEvent::Prompted { text, .. } => {
            line(Topic::Mail, format!("you → {agent}: {text}")).by("user")
        }
        AgentEvent::StreamReset => line(
            Topic::Model,
            format!("{agent}'s response was cut off, retrying"),
        )
        .tone(LogSeverity::Warn),
        AgentEvent::ToolFinished {
            tool,
            outcome: Outcome::Ok,
            output,
            ..
        } if tool == "merge_worktree" => {
            let text = output.lines().next().unwrap_or_default();
            // The log has a line about a conflict already, from a notice with the same text.
            let mut recent = model.event_log.lines().rev().take(8);
            if recent.any(|l| l.words == text) {
                return None;
            }
            let line = NewLogLine::new(Topic::Worktree, text).by(agent.as_str());
            line.about(about_words(model, text))
        }
        AgentEvent::TurnEnded { end } => return turn_ended(agent, end),
        AgentEvent::ActivityChanged { activity } => {
            return activity_changed(model, agent, activity, at);
        }
        AgentEvent::Compacted { compaction } => line(
            Topic::Model,
            format!("{agent}: {}", apply::compaction(compaction)),
        ),
        AgentEvent::Cleared { transcript } => line(
            Topic::Model,
            format!("{agent}: {}", apply::clear_notice(transcript)),
        ),
        AgentEvent::Rewound {
            checkpoint,
            scope,
            files,
            transcript,
            messages,
            ..
        } => {
            let topic = if scope.includes_files() {
                Topic::Worktree
            } else {
                Topic::Model
            };
            let what = rewind_notice(*checkpoint, *scope, files, *messages, transcript);
            match skipped_notice(files) {
                Some(skipped) => line(topic, format!("{agent}: {what}. {skipped}"))
                    .tone(LogSeverity::Warn)
                    .by("user"),
                None => line(topic, format!("{agent}: {what}")).by("user"),
            }
        }
        AgentEvent::SubagentStarted {
            parent,
            kind,
            prompt,
            ..
        } => line(
            Topic::Team,
            format!("{parent} started {agent} to {kind}: {prompt}"),
        )
        .by(parent.as_str()),
        _ => return None,
    })
}

fn crew_event(model: &CrewModel, event: &CrewEvent) -> Option<NewLogLine> {
    match event {
        CrewEvent::Ready(setup) => Some(ready(model.setup.as_ref(), setup)),
        CrewEvent::JobChanged { job } => job_changed(model, job),
        CrewEvent::SkillsChanged(skills) => skills_changed(&model.skills, skills),
        CrewEvent::Notice { level, agent, text } => {
            Some(notice(model, *level, agent.as_ref(), text))
        }
        CrewEvent::CommandRejected { why, .. } => Some(
            NewLogLine::new(Topic::Notice, format!("refused: {why}"))
                .by("user")
                .about(about_words(model, why))
                .tone(LogSeverity::Warn),
        ),
        CrewEvent::AllIdle => {
            let words = match (model.board.done(), model.board.len()) {
                (_, 0) => "all idle".into(),
                (done, all) => format!("all idle, {done}/{all} done"),
            };
            Some(NewLogLine::new(Topic::Team, words))
        }
        _ => None,
    }
}

fn ready(before: Option<&SessionInfo>, setup: &SessionInfo) -> NewLogLine {
    let (model, provider) = (&setup.model, &setup.provider);
    match before {
        None => NewLogLine::new(
            Topic::Team,
            format!(
                "session {} started with {model} ({provider})",
                setup.session
            ),
        ),
        Some(before) if before.model != setup.model => NewLogLine::new(
            Topic::Model,
            format!("model changed from {} to {model}", before.model),
        ),
        Some(_) => NewLogLine::new(Topic::Team, format!("session {} resumed", setup.session)),
    }
}

fn job_changed(model: &CrewModel, job: &Job) -> Option<NewLogLine> {
    let known = model.jobs.get(&job.id);
    let (agent, title) = (&job.agent, job.title());
    let line = match (&job.ended, known.map(Job::is_running)) {
        (None, None) => {
            let words = format!("{agent} started a background job: {title}");
            NewLogLine::new(Topic::Job, words)
        }
        (None, Some(_)) | (Some(_), Some(false)) => return None,
        (Some((_, end)), Some(true) | None) => {
            let tone = match end {
                JobEnd::Exited { code: 0 } => LogSeverity::Good,
                JobEnd::Killed { .. } => LogSeverity::Plain,
                _ => LogSeverity::Error,
            };
            let words = format!("{agent}'s background job ended: {end}: {title}");
            NewLogLine::new(Topic::Job, words).tone(tone)
        }
    };
    Some(line.by(agent.as_str()).about(About::Job(job.id.clone())))
}

fn message_moved(model: &CrewModel, message: &MailMessage, step: DeliveryState) -> Vec<NewLogLine> {
    let known = model.messages.find(message).map(|t| t.step);
    if known.is_some_and(|known| known >= step) {
        return Vec::new();
    }
    // A message from before the start of this crew is not logged. If its delivery state changes later, that is logged.
    if known.is_none() && model.event_log.attribution.is_before(message.timestamp) {
        return Vec::new();
    }
    let (from, to) = (display_name(&message.from), display_name(&message.to));
    let about = match message.id.0.as_str() {
        "" => About::Nothing,
        _ => About::Message(message.id.clone()),
    };
    let line = |words: String| {
        NewLogLine::new(Topic::Mail, words)
            .by(&message.to)
            .by(&message.from)
            .about(about.clone())
    };
    let mut out = Vec::new();
    if known.is_none() {
        let words = format!("{from} → {to}: {}", sentence::message(message));
        out.push(line(words));
    }
    let whose = match from.as_str() {
        "you" => "your".into(),
        other => format!("{other}'s"),
    };
    match step {
        DeliveryState::Sent => {}
        DeliveryState::Delivered => out.push(line(format!("{to} received {whose} message"))),
        DeliveryState::ActedOn => out.push(line(format!("{to} acted on {whose} message"))),
        DeliveryState::Blocked => {
            out.push(line(format!("a hook blocked {whose} message to {to}")));
        }
    }
    out
}

fn request_changed(model: &CrewModel, request: &Request) -> Option<NewLogLine> {
    let actors = &model.event_log.attribution;
    let known = actors.request(&request.id);
    if known == Some(request.status) {
        return None;
    }
    let is_over = actors.is_before(request.decided_at) || request.decided_at.0 == 0.0;
    if known.is_none() && !request.is_pending() && is_over {
        return None;
    }
    let (from, target) = (&request.from, &request.target);
    let task = request
        .task
        .map_or_else(String::new, |id| format!(" for {id}"));
    let comment = match request.comment.trim() {
        "" => String::new(),
        comment => format!(": {comment}"),
    };
    let by = display_name(&request.decided_by);
    let asked = match request.kind {
        RequestKind::Plan => format!("{from}'s plan{task}"),
        RequestKind::Shutdown => format!("the shutdown of {target}"),
        RequestKind::Permission => format!("{target}'s permission request{task}"),
        RequestKind::Budget => format!("a higher budget for {from}"),
        RequestKind::Question => format!("{from}'s question{task}"),
    };
    let (words, tone) = match request.status {
        // A shutdown that the user asks for needs no approval, so it is logged only once.
        RequestStatus::Pending | RequestStatus::Approved
            if request.kind == RequestKind::Shutdown && from.is_user() =>
        {
            if known.is_some() {
                return None;
            }
            (
                format!("you asked {target} to shut down"),
                LogSeverity::Plain,
            )
        }
        RequestStatus::Pending => {
            let what = request.call.as_ref().map_or(&request.body, |c| &c.input);
            let words = format!("{}{task}: {what}", sentence::request(request));
            (words, LogSeverity::Plain)
        }
        RequestStatus::Approved if request.kind == RequestKind::Question => {
            (format!("{by} answered {asked}{comment}"), LogSeverity::Good)
        }
        RequestStatus::Approved => (format!("{by} approved {asked}{comment}"), LogSeverity::Good),
        RequestStatus::Rejected if request.kind == RequestKind::Question => (
            format!("{by} declined {asked}{comment}"),
            LogSeverity::Plain,
        ),
        RequestStatus::Rejected => (
            format!("{by} rejected {asked}{comment}"),
            LogSeverity::Plain,
        ),
        RequestStatus::Withdrawn => {
            let words = format!("withdrawn: {asked}{comment}");
            (words, LogSeverity::Warn)
        }
    };
    let line = NewLogLine::new(Topic::Request, words).by(from.as_str());
    let line = line.by(target.as_str()).by(&request.decided_by).tone(tone);
    Some(line.about(About::Request(request.id.clone(), target.clone())))
}

fn rules_changed(before: &[SessionPermission], after: &[SessionPermission]) -> Vec<NewLogLine> {
    let has = |rules: &[SessionPermission], rule: &SessionPermission| {
        rules.iter().any(|r| r.number == rule.number)
    };
    let made = after.iter().filter(|r| !has(before, r)).map(|rule| {
        let (by, scope) = (display_name(rule.by.as_str()), &rule.scope);
        NewLogLine::new(
            Topic::Request,
            format!("{by} allowed for the whole team: {scope}"),
        )
        .by(rule.by.as_str())
        .by(rule.asked_by.as_str())
    });
    let taken = before.iter().filter(|r| !has(after, r)).map(|rule| {
        NewLogLine::new(
            Topic::Request,
            format!("no longer allowed for the whole team: {}", rule.scope),
        )
    });
    made.chain(taken).collect()
}

fn skills_changed(before: &SkillCatalog, after: &SkillCatalog) -> Option<NewLogLine> {
    // The first list of skills is the initial state and not a change.
    if before == after || *before == SkillCatalog::default() {
        return None;
    }
    let words = format!("skills changed: {} available", after.skills.len());
    Some(NewLogLine::new(Topic::Notice, words))
}

fn notice(model: &CrewModel, level: NoticeLevel, agent: Option<&Name>, text: &str) -> NewLogLine {
    let topic = if text.starts_with("wt/") {
        Topic::Worktree
    } else if agent.is_some_and(|a| model.event_log.has_just_said(&gone(a.as_str()))) {
        Topic::Team
    } else {
        Topic::Notice
    };
    let tone = match level {
        NoticeLevel::Info => LogSeverity::Plain,
        NoticeLevel::Warn => LogSeverity::Warn,
        NoticeLevel::Error => LogSeverity::Error,
    };
    let about = match agent {
        Some(agent) => About::Agent(agent.clone()),
        None => about_words(model, text),
    };
    let line = NewLogLine::new(topic, text).tone(tone).about(about);
    match agent {
        Some(agent) => line.by(agent.as_str()),
        None => line,
    }
}

/// Returns which task a text is about. If the text begins with a branch `wt/NAME`, this is the task of that branch;
/// otherwise the first task on the board that the text names as `#N`. Returns [`About::Nothing`] if there is no such
/// task.
fn about_words(model: &CrewModel, text: &str) -> About {
    let branch = text
        .strip_prefix("wt/")
        .and_then(|t| t.split_whitespace().next());
    if let Some(name) = branch
        && let Some(task) = model.board.tasks().find(|t| t.worktree == name)
    {
        return About::Task(task.id);
    }
    let named = text.split('#').skip(1).find_map(|rest| {
        let digits = rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len());
        let id = TaskId(rest[..digits].parse().ok()?);
        model.board.get(id).map(|t| t.id)
    });
    named.map_or(About::Nothing, About::Task)
}

/// Formats a task for a log line, such as `#3 Fix the parser`.
pub(in crate::ui) fn task(id: TaskId, subject: &str) -> String {
    format!("{id} {}", one_line(subject))
}
