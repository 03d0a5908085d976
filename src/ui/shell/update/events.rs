//! Applies crew events to the UI state.

use std::sync::Arc;

use crate::domain::ids::{Name, TaskId};
use crate::domain::notification::NotifyKind;
use crate::domain::request::{Approver, Request};
use crate::domain::task::Task;
use crate::domain::team::Activity;
use crate::domain::text::one_line;
use crate::protocol::event::{NoticeLevel, SessionInfo};
use crate::protocol::{Event, EventKind};
use crate::ui::app::App;
use crate::ui::app::popup::Popup;
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::model::agents::AgentView;
use crate::ui::model::board::index::PolicyContext;
use crate::ui::model::{CrewModel, MODELS_MAX, Models, costs, sentence};
use crate::ui::panes::needs::answers;
use crate::ui::popups::confirm::{merge, task_actions};
use crate::ui::popups::reader::update as reader_update;
use crate::ui::popups::{jobs, task_form};
use crate::ui::shell::peek;
use crate::ui::shell::state::UiState;
use crate::ui::shell::update::{guard, refused};

/// Applies an event.
#[allow(clippy::too_many_lines)] // every event, once
pub fn event(state: &mut UiState, event: &Event) {
    if event.at.0 > state.now.0 {
        state.now = event.at;
    }
    // Text in a hidden conversation needs no redraw.
    let draws = if let EventKind::TextDelta { agent, .. }
    | EventKind::ThinkingDelta { agent, .. }
    | EventKind::ToolOutput { agent, .. } = &event.kind
    {
        *agent == state.shown || peek::shows(state, agent)
    } else if let EventKind::JobOutput { .. } = &event.kind {
        state.shows_jobs()
    } else {
        true
    };
    state.dirty |= draws;
    match &event.kind {
        EventKind::CrewReady(setup) => ready(state, setup),
        EventKind::ModelsListed { names } => {
            state.model.models = Models::Listed(names.iter().take(MODELS_MAX).cloned().collect());
        }
        EventKind::Prompted { agent, text } => {
            refused::arrived(state, agent, text);
            agent_event(state, agent, event);
        }
        EventKind::TurnEnded { agent, .. } => {
            if state.keys.interrupted.as_ref() == Some(agent) {
                state.keys.interrupted = None;
            }
            agent_event(state, agent, event);
        }
        EventKind::Injected { agent, .. }
        | EventKind::TurnStarted { agent }
        | EventKind::TextDelta { agent, .. }
        | EventKind::ThinkingDelta { agent, .. }
        | EventKind::StreamReset { agent }
        | EventKind::Said { agent, .. }
        | EventKind::ToolStarted { agent, .. }
        | EventKind::ToolOutput { agent, .. }
        | EventKind::ToolFinished { agent, .. }
        | EventKind::ActivityChanged { agent, .. }
        | EventKind::UsageChanged { agent, .. }
        | EventKind::Compacted { agent, .. }
        | EventKind::TodoChanged { agent, .. } => agent_event(state, agent, event),
        EventKind::SubagentStarted {
            agent,
            parent,
            call,
            ..
        } => {
            agent_event(state, agent, event);
            let parent = state.model.agents.entry(parent);
            parent.transcript.record_subagent(call, agent);
        }
        EventKind::BranchesChanged { branches } => {
            state.model.branches.changed(branches);
            merge::settle(state);
        }
        EventKind::HeadChanged { head } => state.model.head = Some(head.clone()),
        EventKind::DiffShown {
            task,
            stat,
            text,
            untracked,
        } => reader_update::diff(state, *task, stat, text, untracked),
        EventKind::JobChanged { job } => jobs::job_changed(state, job),
        EventKind::JobOutput { job, chunk } => state.model.jobs.heard(job, chunk),
        EventKind::BoardChanged { changed, removed } => board_changed(state, changed, removed),
        EventKind::TeamChanged { team } => state.model.team = team.clone(),
        EventKind::LetterMoved { letter, step } => {
            if let (true, Ok(to)) = (letter.from == "user", Name::party(&letter.to)) {
                refused::sent(state, &to, &letter.content);
            }
            state.model.letters.moved(letter, *step);
        }
        EventKind::RequestChanged { request } => request_changed(state, request),
        EventKind::SkillsChanged(book) => state.model.skills = book.clone(),
        EventKind::LimitsChanged(limits) => state.model.limits = limits.clone(),
        EventKind::RulesChanged { rules } => state.model.rules.clone_from(rules),
        EventKind::Notice { level, agent, text } => {
            if let Some(agent) = agent {
                agent_event(state, agent, event);
            } else {
                let lead = state.model.agents.entry(&Name::lead());
                lead.transcript.push_notice(*level, text);
            }
            state.note(*level, text);
        }
        EventKind::Refused { asked, why } => refused::refused(state, asked.as_ref(), why),
        EventKind::WorktreeJudged { task, losses, size } => {
            task_actions::judged(state, *task, losses, size);
        }
        EventKind::PersonActed { task, act } => task_form::update::taken(state, *task, act),
        EventKind::CrewAtRest => {}
    }
}

/// Applies a board change and closes dialogs about tasks that no longer need them.
fn board_changed(app: &mut App, changed: &[Arc<Task>], removed: &[TaskId]) {
    Arc::make_mut(&mut app.model.board).apply(changed, removed);
    task_actions::settle(app);
}

/// The crew has started or changed its model.
fn ready(app: &mut App, setup: &SessionInfo) {
    let before = app.model.setup.as_ref().map(|s| s.model.as_str());
    if before.is_some_and(|model| model != setup.model) {
        let text = format!("Model: {}.", one_line(&setup.model));
        app.say(NoticeLevel::Info, text);
        app.other_model();
    }
    app.model.setup = Some(setup.clone());
}

/// Notifies the user about an idle, failed or stuck crew. Requests are handled in [`request_changed`].
pub fn notify_user(state: &mut UiState, event: &EventKind) {
    let (matter, words) = if let EventKind::CrewAtRest = event {
        if !state.model.requests.is_empty() {
            // The crew is idle because a request is open, which has its own notification.
            return;
        }
        let done = crate::ui::model::board::index(state).count(PolicyContext::Done);
        let words = match state.model.board.len() {
            0 => "the lead has answered".into(),
            all => format!("all idle, {done}/{all} done"),
        };
        (NotifyKind::Done, words)
    } else if let EventKind::ActivityChanged { agent, activity } = event
        && *activity != state.activity(agent)
    {
        match activity {
            Activity::Failed { .. } => (NotifyKind::Trouble, format!("{agent} failed")),
            Activity::Stuck { .. } => (NotifyKind::Trouble, format!("{agent} is stuck")),
            Activity::Idle
            | Activity::Thinking
            | Activity::Compacting
            | Activity::Tool { .. }
            | Activity::Backoff { .. }
            | Activity::Queued { .. }
            | Activity::NeedsYou { .. }
            | Activity::Gone => return,
        }
    } else {
        return;
    };
    state.attention.push(matter, words, state.now);
}

fn agent_event(model: &mut CrewModel, agent: &Name, event: &Event) {
    // The user has no conversation.
    if agent.is_user() {
        return;
    }
    let used = |model: &CrewModel| model.agents.get(agent).map(AgentView::used);
    let before = used(model).unwrap_or_default();
    model.agents.apply(agent, event.at, &event.kind);
    if let EventKind::UsageChanged { .. } = event.kind {
        let more = used(model).unwrap_or_default().since(before);
        costs::spent(model, agent, more);
    }
}

fn request_changed(state: &mut UiState, request: &Request) {
    let known = state.model.requests.get(&request.id).is_some();
    state.model.requests.changed(request);
    let waits = state.model.requests.get(&request.id).is_some();
    // A request that joins an existing card was already announced.
    let is_new_card = state.model.requests.same(request).next().is_none();
    if waits && !known && is_new_card && request.decider != Approver::Lead {
        let words = sentence::request(request);
        state.attention.push(NotifyKind::Needs, words, state.now);
    }
    if !waits {
        close_comment(state, request);
        answers::closed(state, request);
    }
    if state.model.requests.is_empty()
        && state.focus == Focus::Pane(Pane::Needs)
        && state.keys.before_needs.is_some()
    {
        state.popups.retain(|p| !matches!(p, Popup::Peek(_)));
        guard::all_decided(state, request);
    }
}

/// Closes dialogs about a closed request and returns the comment as a draft.
fn close_comment(app: &mut App, request: &Request) {
    let count = app.popups.len();
    let written = app.popups.iter().find_map(|popup| match popup {
        Popup::Comment(comment) if comment.request == request.id => Some(comment.text.text()),
        _ => None,
    });
    app.popups.retain(|p| p.request() != Some(&request.id));
    if let Some(text) = written.filter(|text| !text.trim().is_empty()) {
        let why = answers::why_closed(request);
        answers::return_comment(app, &request.from, &text, &why);
    } else if app.popups.len() < count
        && !request.decided_by.is_empty()
        && request.decided_by != "user"
    {
        let by = one_line(&request.decided_by);
        let text = format!("The request was already {} by {by}.", request.status);
        app.say(NoticeLevel::Info, text);
    }
}
