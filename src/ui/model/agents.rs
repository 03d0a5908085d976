//! The view model of each agent: conversation, todo list, activity and usage.

mod session_ends;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use jiff::tz::TimeZone;

use crate::domain::ids::{CallId, Name};
use crate::domain::role::{RoleColor, RoleEffort};
use crate::domain::team::{Activity, MemberStatus, Team};
use crate::domain::text::{clip, head_and_tail, one_line};
use crate::domain::timestamp::Timestamp;
use crate::domain::todo::TodoList;
use crate::domain::usage::{Cost, Usage};
use crate::protocol::AgentEvent;
use crate::protocol::event::{NoticeLevel, TurnEnd};
use crate::ui::model::costs::Used;
use crate::ui::model::pulse::Pulse;
use crate::ui::pictures::ImageDrawing;
use crate::ui::transcript::Transcript;

/// Maximum number of agents in memory, including those that have left the team. If there are more, one is dropped, but
/// never the lead.
pub const AGENTS_MAX: usize = 1024;

/// Maximum total size of the conversations of all agents except the lead, in bytes. With 15 teammates, this is about
/// half an hour of continuous output of each. If the conversations are larger, the longest one loses its oldest
/// entries. The lead's conversation has a separate limit.
const OTHERS_MAX: usize = 12 * 1024 * 1024;

/// Maximum length of a subagent's prompt in memory, in characters. A longer prompt is cut.
const SUBAGENT_PROMPT_MAX: usize = 200;

/// Maximum length in memory of an agent's last answer, in bytes. The answer is stored so that a key can copy it. A
/// longer answer is cut in the middle.
const LAST_ANSWER_MAX: usize = 256 * 1024;

/// Whether an agent is in a turn and, if not, whether the user has interrupted the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TurnStatus {
    #[default]
    Outside,
    Running,
    /// The user has interrupted the last turn. Lasts until the next turn starts.
    Interrupted,
}

/// The name of a model and its reasoning effort, as the screen shows them: without the vendor before a `/` and without
/// the date at the end.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AgentModelLabel(String);

/// Maximum length of the label of a model, in characters. A longer one is cut.
const MODEL_LABEL_MAX: usize = 40;

impl AgentModelLabel {
    pub fn new(model: &str, effort: Option<RoleEffort>) -> AgentModelLabel {
        let model = one_line(model);
        let name = model.rsplit('/').next().unwrap_or(&model);
        let is_date = |end: &str| end.len() == 8 && end.bytes().all(|b| b.is_ascii_digit());
        let name = match name.rsplit_once('-') {
            Some((name, end)) if is_date(end) => name,
            Some(_) | None => name,
        };
        let name = clip(name, MODEL_LABEL_MAX);
        AgentModelLabel(match effort {
            Some(effort) => format!("{name} {}", effort.word()),
            None => name,
        })
    }

    pub fn text(&self) -> &str {
        &self.0
    }

    /// Returns whether the agent with this label may use the model `model`, with any reasoning effort. True for an
    /// empty label, because an agent that has not called a model yet uses the model that all agents share.
    fn may_name(&self, model: &str) -> bool {
        let other = AgentModelLabel::new(model, None);
        let rest = self.0.strip_prefix(other.text());
        self.0.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    }
}

/// The properties that only a subagent has. Other agents have the default values.
#[derive(Debug, Default)]
pub struct SubagentView {
    /// The prompt that the subagent was started with, in one line; empty for other agents.
    pub prompt: String,
    /// The colour of the name; `None` if the role of the subagent sets none, and for other agents.
    pub color: Option<RoleColor>,
}

#[derive(Debug, Default)]
pub struct AgentView {
    pub transcript: Transcript,
    pub todo: TodoList,
    /// What the agent is doing now; `None` before the first event about its activity.
    pub activity: Option<Activity>,
    /// When the current activity began.
    pub since: Timestamp,
    /// The tokens that the agent has used, including those of earlier agents with the same name.
    pub usage: Usage,
    /// The number of model calls, including those of earlier agents with the same name.
    pub calls: u64,
    /// The current number of tokens in the model's context.
    pub context: u64,
    /// The size of the model's context window in tokens, if known.
    pub window: Option<u64>,
    /// Whether the size of the context window is only guessed from the model's name.
    pub window_is_assumed: bool,
    /// The cost, if known, including that of earlier agents with the same name.
    pub cost: Option<Cost>,
    /// The agent's model and reasoning effort; empty before its first model call.
    pub model: AgentModelLabel,
    /// The part of the usage that belongs to earlier agents with the same name.
    earlier: Used,
    /// The usage of those subagents of this agent that were dropped from memory.
    pub past_subagents: Used,
    pub last_answer: String,
    /// The properties of a subagent; the default values for all other agents.
    pub subagent: SubagentView,
    /// The recent answers and tool calls, for the activity bars.
    pub pulse: Pulse,
    pub has_entries: bool,
    pub turn: TurnStatus,
    /// The user's shell command that is running in the conversation; `None` if there is none.
    pub user_command: Option<CallId>,
    /// The number of turns and compactions of the agent that have ended so far.
    pub ended: u64,
}

impl AgentView {
    pub fn apply(&mut self, at: Timestamp, event: &AgentEvent) {
        self.transcript.apply(event);
        match event {
            AgentEvent::ActivityChanged { activity }
                if self.activity.as_ref() != Some(activity) =>
            {
                self.activity = Some(activity.clone());
                self.since = at;
            }
            AgentEvent::UsageChanged {
                total,
                context,
                window,
                assumed,
                cost,
                estimated,
                calls,
            } => {
                self.context = *context;
                self.window = *window;
                self.window_is_assumed = *assumed;
                self.update_usage(Used {
                    usage: *total,
                    calls: *calls,
                    cost: Cost::from_fields(*cost, *estimated),
                });
            }
            AgentEvent::ModelChanged {
                model,
                effort,
                window,
                assumed,
            } => {
                let label = AgentModelLabel::new(model, *effort);
                // A report without a window says nothing new about the window of the same model.
                if window.is_some() || self.model != label {
                    self.window = *window;
                    self.window_is_assumed = *assumed;
                }
                self.model = label;
            }
            AgentEvent::TodoChanged { list } => self.todo = list.clone(),
            AgentEvent::AnswerFinished { text, .. } => {
                self.pulse.beat(at);
                self.has_entries = true;
                if !text.trim().is_empty() {
                    self.last_answer = head_and_tail(text, LAST_ANSWER_MAX);
                }
            }
            AgentEvent::ToolStarted { .. } => {
                self.pulse.beat(at);
                self.has_entries = true;
            }
            AgentEvent::UserCommandStarted { call, .. } => {
                self.user_command = Some(call.clone());
                self.has_entries = true;
            }
            AgentEvent::UserCommandEnded { call, .. } => {
                self.user_command.take_if(|running| running == call);
            }
            AgentEvent::SubagentStarted { prompt, color, .. } => {
                self.has_entries = true;
                self.subagent.color = *color;
                self.subagent.prompt = clip(&one_line(prompt), SUBAGENT_PROMPT_MAX);
            }
            AgentEvent::Compacted { compaction } => {
                self.has_entries = true;
                self.context = compaction.after;
                self.ended += 1;
            }
            AgentEvent::Cleared { .. } => {
                self.has_entries = true;
                self.context = 0;
                self.last_answer.clear();
            }
            AgentEvent::Rewound { messages, .. } => {
                self.has_entries = true;
                if *messages == Some(0) {
                    self.context = 0;
                }
                if messages.is_some() {
                    // The rewind may have removed the answer.
                    self.last_answer.clear();
                }
            }
            AgentEvent::TurnStarted => self.turn = TurnStatus::Running,
            AgentEvent::TurnEnded { end } => {
                self.turn = match end {
                    TurnEnd::Interrupted => TurnStatus::Interrupted,
                    TurnEnd::Done | TurnEnd::Failed { .. } | TurnEnd::Stopped { .. } => {
                        TurnStatus::Outside
                    }
                };
                self.ended += 1;
            }
            AgentEvent::Prompted { .. }
            | AgentEvent::ContextAdded { .. }
            | AgentEvent::TextDelta { .. }
            | AgentEvent::ThinkingDelta { .. } => self.has_entries = true,
            _ => {}
        }
    }

    /// Updates the usage from `so_far`, the total that the agent has reported since it started.
    ///
    /// The total can come from a new agent with the same name. This is assumed if the total has fewer tokens than the
    /// previous one. It is also assumed if the number of tokens has changed, but the number of calls has not grown. The
    /// usage before the report then counts as usage of an earlier agent.
    fn update_usage(&mut self, so_far: Used) {
        let own = self.own_usage().since(self.earlier);
        let (before, tokens) = (own.usage.total(), so_far.usage.total());
        let is_new_agent = so_far.calls > 0 && so_far.calls <= own.calls && tokens != before;
        if tokens < before || is_new_agent {
            self.earlier = self.own_usage();
        }
        let mut all = self.earlier;
        all.add(so_far);
        (self.usage, self.calls, self.cost) = (all.usage, all.calls, all.cost);
    }

    /// Returns the agent's usage, including the usage of earlier agents with the same name, but not of its subagents.
    pub fn own_usage(&self) -> Used {
        Used {
            usage: self.usage,
            calls: self.calls,
            cost: self.cost,
        }
    }

    /// Returns how much of the model's context window is used, in percent, rounded up, at most 999; `None` if the size
    /// of the window is unknown.
    pub fn context_share(&self) -> Option<u64> {
        let window = self.window.filter(|w| *w > 0)?;
        Some(self.context.saturating_mul(100).div_ceil(window).min(999))
    }
}

/// All agents in memory, by name.
#[derive(Debug, Default)]
pub struct Agents {
    known: BTreeMap<Name, AgentView>,
    /// Incremented each time an agent may have changed. The keys of cached values contain it, so that outdated values are
    /// not used.
    version: u64,
    /// The number and the usage of agents that were dropped from memory. Subagents are counted with their parents.
    past: (usize, Used),
    /// The time zone in which conversations show times; `None` is UTC.
    zone: Option<TimeZone>,
    /// How conversations draw images.
    drawing: ImageDrawing,
}

impl Agents {
    /// Creates an empty set of agents, whose conversations show times in `zone`.
    pub fn in_zone(zone: TimeZone) -> Agents {
        Agents {
            zone: Some(zone),
            ..Agents::default()
        }
    }

    pub fn get(&self, name: &Name) -> Option<&AgentView> {
        self.known.get(name)
    }

    pub fn version(&self) -> u64 {
        self.version
    }

    /// Returns the agent `name`, and adds it if it is not in memory. If an agent is added and there are [`AGENTS_MAX`]
    /// already, drops another one: one that has left the team, else any agent except the lead.
    pub fn entry(&mut self, name: &Name) -> &mut AgentView {
        self.version += 1;
        if !self.known.contains_key(name) && self.known.len() >= AGENTS_MAX {
            let gone = |a: &AgentView| a.activity == Some(Activity::Gone);
            let victim = self
                .known
                .iter()
                .find(|(n, a)| !n.is_lead() && gone(a))
                .or_else(|| self.known.iter().find(|(n, _)| !n.is_lead()))
                .map(|(n, _)| n.clone());
            if let Some(victim) = victim {
                self.forget(&victim);
            }
        }
        let (zone, drawing) = (&self.zone, self.drawing);
        self.known.entry(name.clone()).or_insert_with(|| {
            let mut transcript = Transcript::with_time_zone(zone.clone());
            transcript.set_image_drawing(drawing);
            AgentView {
                transcript,
                ..AgentView::default()
            }
        })
    }

    /// Sets how the conversations of all agents, including those that are added later, draw images.
    pub fn set_image_drawing(&mut self, drawing: ImageDrawing) {
        self.drawing = drawing;
        for agent in self.known.values_mut() {
            agent.transcript.set_image_drawing(drawing);
        }
    }

    /// Records in all conversations that the stored image with the file name `file` cannot be shown. `why` is the
    /// reason.
    pub fn fail_picture(&mut self, file: &str, why: &str) {
        for agent in self.known.values_mut() {
            agent.transcript.fail_picture(file, why);
        }
    }

    /// Drops an agent from memory but keeps its usage. The usage of a subagent is added to its parent, if the parent is
    /// in memory. All other usage is added to the total of dropped agents.
    fn forget(&mut self, name: &Name) {
        let Some(agent) = self.known.remove(name) else {
            return;
        };
        let mut used = agent.own_usage();
        used.add(agent.past_subagents);
        let parent = name.parent().and_then(|p| self.known.get_mut(&p));
        if let Some(parent) = parent {
            parent.past_subagents.add(used);
        } else {
            self.past.0 += 1;
            self.past.1.add(used);
        }
    }

    pub fn apply(&mut self, name: &Name, at: Timestamp, event: &AgentEvent) {
        self.change(name, |agent| agent.apply(at, event));
    }

    /// Sets the context window of all agents that have used the model `before` and now use another one. `window` is the
    /// context window of the new model, in tokens. If it is `None`, the window is unknown until the next model call of
    /// the agent.
    pub fn replace_window(&mut self, before: &str, window: Option<u64>) {
        self.version += 1;
        for agent in self.known.values_mut() {
            if agent.model.may_name(before) {
                agent.window = window;
                agent.window_is_assumed = false;
            }
        }
    }

    /// Adds a notice to the conversation of the agent `name`.
    pub fn notice(&mut self, name: &Name, level: NoticeLevel, text: &str) {
        self.change(name, |agent| {
            agent.transcript.push_notice(level, text);
        });
    }

    /// Adds a decision of the user, with the user's comment, to the conversation of the agent `name`.
    pub fn add_decision(&mut self, name: &Name, what: &str, comment: &str) {
        self.change(name, |agent| {
            agent.transcript.push_decision(what, comment);
            agent.has_entries = true;
        });
    }

    fn change(&mut self, name: &Name, by: impl FnOnce(&mut AgentView)) {
        by(self.entry(name));
        if !name.is_lead() {
            self.make_room();
        }
    }

    /// Drops the oldest entries of the longest conversations until all conversations except the lead's have at most
    /// [`OTHERS_MAX`] bytes together. The newest entry of each conversation stays, even if the newest entries are
    /// larger than that together.
    fn make_room(&mut self) {
        let is_other = |name: &Name| !name.is_lead();
        let others = self.known.iter().filter(|(name, _)| is_other(name));
        let mut all: usize = others.map(|(_, agent)| agent.transcript.bytes()).sum();
        if all <= OTHERS_MAX {
            return;
        }
        let others = self.known.iter_mut().filter(|(name, _)| is_other(name));
        let mut sizes: Vec<(usize, &mut AgentView)> = others
            .map(|(_, agent)| (agent.transcript.bytes(), agent))
            .collect();
        // A conversation never loses its newest entry. If the longest one is then still too long, the next longest one
        // loses entries too.
        sizes.sort_by_key(|(bytes, _)| std::cmp::Reverse(*bytes));
        for (bytes, agent) in sizes {
            if all <= OTHERS_MAX {
                return;
            }
            agent
                .transcript
                .shrink(bytes.saturating_sub(all - OTHERS_MAX));
            all -= bytes - agent.transcript.bytes();
        }
    }

    /// Returns what the agent `name` is doing: its last reported activity. Before the first report, derives the
    /// activity from the agent's status in the team.
    ///
    /// An agent that is in a turn is never idle: it is thinking instead. The status on the screen, the hint to stop the
    /// agent, and the question before quitting therefore agree.
    pub fn activity(&self, name: &Name, team: &Team) -> Activity {
        let agent = self.get(name);
        let activity = agent.and_then(|a| a.activity.clone());
        match activity {
            // The first activity of a turn is published some time after its start.
            None | Some(Activity::Idle) if agent.is_some_and(|a| a.turn == TurnStatus::Running) => {
                return Activity::Thinking;
            }
            Some(activity) => return activity,
            None => {}
        }
        match team.find(name).map(|m| m.status) {
            Some(MemberStatus::Working) => Activity::Thinking,
            Some(MemberStatus::Shutdown) => Activity::Gone,
            Some(MemberStatus::Idle) | None => Activity::Idle,
        }
    }

    /// Returns the running subagents of each agent that has any, in the order of their numbers. One pass over all agents
    /// serves the whole list of the team.
    pub fn running_subagents(&self) -> BTreeMap<Name, Vec<Name>> {
        let mut out: BTreeMap<Name, Vec<Name>> = BTreeMap::new();
        for (name, agent) in &self.known {
            if agent.activity != Some(Activity::Gone)
                && let Some(parent) = name.parent()
            {
                out.entry(parent).or_default().push(name.clone());
            }
        }
        for all in out.values_mut() {
            all.sort_by_key(|name| name.as_str().len());
        }
        out
    }

    /// Returns all agents in memory, in the order of their names.
    pub fn all(&self) -> impl Iterator<Item = (&Name, &AgentView)> {
        self.known.iter()
    }

    /// Returns the number and the usage of agents that were dropped from memory. Subagents are counted with their
    /// parents.
    pub fn past(&self) -> (usize, Used) {
        self.past
    }

    /// Returns the usage of all agents, including those that were dropped from memory.
    pub fn total_usage(&self) -> Used {
        let mut all = self.past.1;
        for agent in self.known.values() {
            all.add(agent.own_usage());
            all.add(agent.past_subagents);
        }
        all
    }

    /// Returns the tokens used by all agents, including those that were dropped from memory.
    pub fn tokens(&self) -> u64 {
        self.total_usage().usage.total()
    }

    /// Returns the cost of all agents; `None` if no price is known.
    pub fn cost(&self) -> Option<Cost> {
        self.total_usage().cost
    }
}
