//! Applies crew events to the UI state.

use std::sync::Arc;

use crate::domain::ids::{Name, TaskId};
use crate::domain::notification::NotifyKind;
use crate::domain::request::{Approver, Request, RequestKind};
use crate::domain::task::Task;
use crate::domain::team::Activity;
use crate::domain::text::{first_names, one_line};
use crate::domain::timestamp::Timestamp;
use crate::protocol::event::{SessionInfo, TurnEnd};
use crate::protocol::{AgentEvent, BoardEvent, CrewEvent, Event, EventKind, TeamEvent};
use crate::ui::app::App;
use crate::ui::keymap::Context;
use crate::ui::model::agents::{AgentView, TurnStatus};
use crate::ui::model::board::index::BoardStatus;
use crate::ui::model::{CrewModel, MODELS_MAX, ModelList, costs, sentence};
use crate::ui::panes::needs::{answers, focus};
use crate::ui::popups::confirm::remove_worktree;
use crate::ui::popups::{diff, memory, rewind, task_form};
use crate::ui::shell::peek::{self, Peek};
use crate::ui::shell::state::UiState;
use crate::ui::shell::update::{rejected, rewound, slash};
use crate::ui::widgets::composer::Composer;

pub fn event(state: &mut UiState, event: &Event) {
    if event.at.0 > state.now.0 {
        state.now = event.at;
    }
    match &event.kind {
        EventKind::Agent { agent, event: what } => {
            // New text in a conversation that is not visible needs no redraw.
            let is_shown = *agent == state.shown || peek::shows(state, agent);
            state.dirty |= is_shown || !event.kind.is_delta();
            agent_event(state, agent, event.at, what);
        }
        EventKind::Board(event) => {
            state.dirty = true;
            board_event(state, event);
        }
        EventKind::Team(event) => {
            state.dirty = true;
            team_event(state, event);
        }
        EventKind::Crew(event) => {
            state.dirty |= !event.is_delta();
            crew_event(state, event);
        }
    }
}

fn board_event(app: &mut App, event: &BoardEvent) {
    match event {
        BoardEvent::BoardChanged { changed, removed } => board_changed(app, changed, removed),
        BoardEvent::BranchesChanged { branches } => {
            app.model.branches.record_states(branches);
            app.close_outdated_popups();
        }
        BoardEvent::HeadChanged { head } => app.model.head = Some(head.clone()),
        BoardEvent::TrainChanged { train } => app.model.train = Some(train.clone()),
        BoardEvent::DiffShown {
            task,
            stat,
            text,
            untracked,
        } => diff::open(app, *task, stat, text, untracked),
        BoardEvent::WorktreeInspected {
            task,
            losses,
            is_kept,
            size,
        } => remove_worktree::ask(app, *task, losses, *is_kept, size),
        BoardEvent::UserActed { task, act } => task_form::on_action_accepted(app, *task, act),
    }
}

fn team_event(state: &mut UiState, event: &TeamEvent) {
    match event {
        TeamEvent::RosterChanged { team } => {
            state.model.agents.restart_remote(team);
            state.model.team.set_roster(team.clone());
        }
        TeamEvent::MessageMoved { message, step } => {
            if let (true, Ok(to)) = (message.from == "user", Name::party(&message.to)) {
                rejected::remove_delivered_message(state, &to, &message.content);
            }
            state.model.messages.update(message, *step);
        }
        TeamEvent::RequestChanged { request } => request_changed(state, request),
        TeamEvent::PermissionsChanged { rules } => state.model.rules.clone_from(rules),
        TeamEvent::HostsChanged { hosts } => {
            let now = state.now;
            let model = &mut state.model;
            model.team.set_hosts(hosts, &model.board, now);
        }
    }
}

fn crew_event(app: &mut App, event: &CrewEvent) {
    match event {
        CrewEvent::Ready(setup) => ready(app, setup),
        CrewEvent::ModelsListed { names } => {
            app.model.models = ModelList::Listed(names.iter().take(MODELS_MAX).cloned().collect());
        }
        CrewEvent::JobChanged { job } => app.model.jobs.apply_change(job),
        CrewEvent::JobOutput { job, chunk } => {
            app.dirty |= shows(app, Context::Jobs);
            app.model.jobs.append_output(job, chunk);
        }
        CrewEvent::ServersChanged { servers } => app.model.servers.replace_all(servers),
        CrewEvent::ServersCalled { calls } => {
            app.dirty |= shows(app, Context::Servers);
            app.model.servers.set_calls(calls);
        }
        CrewEvent::ServerShown { server, log } => app.model.servers.log(server, log),
        CrewEvent::OffersListed(offers) => app.model.servers.offers(offers),
        CrewEvent::MemoryShown(report) => memory::open(app, report),
        CrewEvent::SkillsChanged(skills) => {
            let hidden = skills.commands.iter().find(|c| slash::is_built_in(&c.name));
            let known = hidden.is_some_and(|c| app.model.skills.command(&c.name).is_some());
            if let Some(command) = hidden.filter(|_| !known) {
                let text = format!(
                    "/{} is a built-in command, so {} is not used. Rename the file.",
                    command.name, command.path
                );
                app.warn(text);
            }
            app.model.skills = skills.clone();
        }
        CrewEvent::LimitsChanged(limits) => app.model.limits = limits.clone(),
        CrewEvent::Notice { level, agent, text } => {
            let agent = agent.clone().unwrap_or_else(Name::lead);
            // The user is not an agent and has no conversation.
            if !agent.is_user() {
                app.model.agents.notice(&agent, *level, text);
            }
            app.note(*level, text);
        }
        CrewEvent::CommandRejected { command, why } => {
            rejected::on_command_rejected(app, *command, why);
        }
        // Only a notification follows from it.
        CrewEvent::AllIdle => {}
    }
}

/// Returns whether a popup with this key context is open.
fn shows(app: &App, context: Context) -> bool {
    let mut popups = app.popups.iter();
    popups.any(|popup| popup.context() == context)
}

/// Applies changed and removed tasks to the board, and closes the popups that have become outdated.
fn board_changed(app: &mut App, changed: &[Arc<Task>], removed: &[TaskId]) {
    Arc::make_mut(&mut app.model.board).apply(changed, removed);
    app.close_outdated_popups();
}

/// Handles the event that reports the start of the crew or a change of its model.
fn ready(app: &mut App, setup: &SessionInfo) {
    let before = app.model.setup.as_ref().map(|s| s.model.clone());
    if let Some(before) = before.filter(|model| *model != setup.model) {
        let text = format!("Model: {}.", one_line(&setup.model));
        app.say(text);
        app.remove_model_page();
        app.model.agents.replace_window(&before, setup.window);
    }
    // Another server may offer other models. An open picker keeps its list until the answer to its request arrives.
    if !shows(app, Context::Picker) {
        app.model.models = ModelList::Unknown;
    }
    // The train of a crew that was killed has no end. One that runs is shown again with its next step.
    app.model.train = None;
    app.model.setup = Some(setup.clone());
}

/// Adds a notification if all agents are idle and no request is open, if an agent fails or gets stuck, or if a host is
/// lost. Must be called before the event is applied, because it compares the new state of the agent or host with the
/// current one. The notifications about requests are added by [`request_changed`].
pub fn notify_user(state: &mut UiState, event: &EventKind) {
    let (kind, text) = if let EventKind::Crew(CrewEvent::AllIdle) = event {
        if !state.model.requests.is_empty() {
            // The agents are idle because they wait for a request, which has its own notification.
            return;
        }
        let done = crate::ui::model::board::index(state).count(BoardStatus::Done);
        let text = match state.model.board.len() {
            0 => "the lead has answered".into(),
            all => format!("all idle, {done}/{all} done"),
        };
        (NotifyKind::Done, text)
    } else if let EventKind::Agent {
        agent,
        event: AgentEvent::ActivityChanged { activity },
    } = event
        && *activity != state.activity(agent)
    {
        match activity {
            Activity::Failed { .. } => (NotifyKind::Trouble, format!("{agent} failed")),
            Activity::Stuck { .. } => (NotifyKind::Trouble, format!("{agent} is stuck")),
            _ => return,
        }
    } else if let EventKind::Team(TeamEvent::HostsChanged { hosts }) = event {
        let lost = state.model.team.newly_lost(hosts);
        let names: Vec<String> = lost.iter().map(|host| host.info.name.to_string()).collect();
        let text = match names.as_slice() {
            [] => return,
            [name] => format!("host {name} is lost"),
            all => format!("hosts {} are lost", first_names(all)),
        };
        (NotifyKind::Trouble, text)
    } else {
        return;
    };
    state.notifier.push(kind, text, state.now);
}

/// Shows a status message that `agent`, which the user has interrupted, has stopped. The message stays until the
/// agent's next turn.
fn say_interrupted(app: &mut App, agent: &Name) {
    let text = format!("{agent} is interrupted. Partial work is kept.");
    let agent = agent.clone();
    app.say_while(text, move |app| {
        let agent = app.model.agents.get(&agent);
        agent.is_some_and(|agent| agent.turn == TurnStatus::Interrupted)
    });
}

fn agent_event(app: &mut App, agent: &Name, at: Timestamp, event: &AgentEvent) {
    match event {
        AgentEvent::Prompted { text, .. } => {
            rejected::remove_read_prompt(&mut app.model, agent, text);
        }
        AgentEvent::TurnEnded { end } => {
            let stopped = app.keys.interrupted.take_if(|waits| waits == agent);
            if stopped.is_some() && *end == TurnEnd::Interrupted && !app.is_quit_armed() {
                // The message that the agent is being stopped is outdated now. Another message answers a later key, such
                // as the one that has cleared the draft.
                app.withdraw_stale();
                let now = app.now;
                if app
                    .status
                    .as_ref()
                    .is_none_or(|message| message.is_read(now))
                {
                    say_interrupted(app, agent);
                }
            }
        }
        AgentEvent::UserCommandEnded { .. } => {
            app.keys.interrupted.take_if(|waits| waits == agent);
        }
        AgentEvent::CheckpointsListed { checkpoints, off } => {
            rewind::show_list(app, agent, checkpoints, off);
        }
        AgentEvent::CheckpointShown {
            checkpoint,
            preview,
        } => rewind::show_preview(app, agent, *checkpoint, preview),
        AgentEvent::Rewound { .. } => rewound::on_rewound(app, agent, event),
        _ => {}
    }
    // The user is not an agent and has no conversation.
    if !agent.is_user() {
        let used = |model: &CrewModel| model.agents.get(agent).map(AgentView::own_usage);
        let before = used(app).unwrap_or_default();
        app.model.agents.apply(agent, at, event);
        if let AgentEvent::UsageChanged { .. } = event {
            let more = used(app).unwrap_or_default().since(before);
            costs::record_usage(&mut app.model, agent, more);
        }
    }
    if let AgentEvent::SubagentStarted { parent, call, .. } = event {
        let parent = app.model.agents.entry(parent);
        parent.transcript.record_subagent(call, agent);
    }
}

fn request_changed(state: &mut UiState, request: &Request) {
    let known = state.model.requests.get(&request.id).is_some();
    state.model.requests.apply_change(request);
    let waits = state.model.requests.get(&request.id).is_some();
    // A request that is like one that is already open shares that request's card, which has already been announced.
    let is_new_card = state.model.requests.same(request).next().is_none();
    if waits && !known && is_new_card && request.approver != Approver::Lead {
        let text = sentence::request(request);
        state.notifier.push(NotifyKind::Needs, text, state.now);
    }
    if known && let Some(what) = sentence::decision(request) {
        let agents = &mut state.model.agents;
        agents.add_decision(&request.from, &what, &request.comment);
        if !request.target.same(&request.from) && request.kind == RequestKind::Shutdown {
            agents.add_decision(&request.target, &what, &request.comment);
        }
    }
    if !waits {
        close_comment(state, request);
        answers::on_request_closed(state, request);
    }
    let UiState { app, panes, .. } = &mut *state;
    if !waits && focus::after_decision(&mut panes.needs, app, request) {
        state.popups.close_all::<Peek>();
    }
}

/// Closes the popups of a request that is no longer open. If the user was writing a comment in one of them, the comment
/// becomes a draft for the agent that made the request; otherwise, a status message names who else has decided it.
fn close_comment(app: &mut App, request: &Request) {
    let count = app.popups.len();
    let mut about = (app.popups.iter()).filter(|popup| popup.request() == Some(&request.id));
    let written = about.find_map(|popup| popup.text().map(Composer::text));
    drop(about);
    app.popups.retain(|p| p.request() != Some(&request.id));
    if let Some(text) = written.filter(|text| !text.trim().is_empty()) {
        let why = answers::why_closed(request);
        answers::return_comment(app, &request.from, &text, &why);
    } else if app.popups.len() < count
        && !request.decided_by.is_empty()
        && request.decided_by != "user"
    {
        let by = one_line(&request.decided_by);
        let text = format!("The request was already {} by {by}.", request.status_word());
        app.say(text);
    }
}
