//! What the screen knows of each agent: its conversation, todo list, activity and tokens.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use jiff::tz::TimeZone;

use crate::domain::ids::Name;
use crate::domain::stamp::Stamp;
use crate::domain::team::{Activity, MemberStatus, Team};
use crate::domain::text::{clip, head_and_tail, one_line};
use crate::domain::todo::TodoList;
use crate::domain::usage::Usage;
use crate::protocol::EventKind;
use crate::ui::model::costs::Used;
use crate::ui::model::pulse::Pulse;
use crate::ui::transcript::Transcript;

/// Most agents whose conversation is kept, those who are gone included.
pub const AGENTS_MAX: usize = 1024;

/// Most bytes that the conversations of all agents but the lead take together: with fifteen teammates what each has
/// streamed within about half an hour without a pause. Beyond, the longest loses its oldest entries. The lead's has a
/// bound of its own.
const OTHERS_MAX: usize = 12 * 1024 * 1024;

/// Longest errand, in characters.
const ERRAND_MAX: usize = 200;

/// Longest answer that `y` copies, in bytes.
const SAID_MAX: usize = 256 * 1024;

/// One agent.
#[derive(Debug, Default)]
pub struct AgentView {
    /// Its conversation.
    pub transcript: Transcript,
    /// Its todo list.
    pub todo: TodoList,
    /// What it does; `None` while it has not been heard of.
    pub activity: Option<Activity>,
    /// Since when it does that.
    pub since: Stamp,
    /// Its tokens, those of earlier agents of its name included.
    pub usage: Usage,
    /// Its calls of the model, counted in the same way.
    pub calls: u64,
    /// The tokens of its conversation.
    pub context: u64,
    /// What its model can hold, where known.
    pub window: Option<u64>,
    /// Whether that is assumed from the model's name.
    pub window_is_assumed: bool,
    /// What it cost in US dollars, where known, counted in the same way.
    pub cost: Option<f64>,
    /// What agents of its name used that had left before it came.
    earlier: Used,
    /// What those of its subagents used that made room.
    pub past_subagents: Used,
    /// Its last whole answer.
    pub last_said: String,
    /// What a subagent was sent out for, in one line; empty for the others.
    pub errand: String,
    /// What it did lately.
    pub pulse: Pulse,
    /// Whether anything has entered its conversation.
    pub has_spoken: bool,
    /// Whether a turn of it has begun and not ended.
    pub in_turn: bool,
    /// How many turns and compactions of it have ended.
    pub ended: u64,
}

impl AgentView {
    /// Takes an event in that happened to it.
    pub fn apply(&mut self, name: &Name, at: Stamp, event: &EventKind) {
        self.transcript.apply(name, event);
        if let EventKind::Said { .. } | EventKind::ToolStarted { .. } = event {
            self.pulse.beat(at);
        }
        match event {
            EventKind::ActivityChanged { activity, .. } => {
                if self.activity.as_ref() != Some(activity) {
                    self.activity = Some(activity.clone());
                    self.since = at;
                }
            }
            EventKind::UsageChanged {
                total,
                context,
                window,
                assumed,
                cost,
                calls,
                ..
            } => {
                self.context = *context;
                self.window = *window;
                self.window_is_assumed = *assumed;
                self.counted(Used {
                    usage: *total,
                    calls: *calls,
                    cost: *cost,
                });
            }
            EventKind::TodoChanged { list, .. } => self.todo = list.clone(),
            EventKind::Said { text, .. } => {
                self.has_spoken = true;
                if !text.trim().is_empty() {
                    self.last_said = head_and_tail(text, SAID_MAX);
                }
            }
            EventKind::SubagentStarted { prompt, .. } => {
                self.has_spoken = true;
                self.errand = clip(&one_line(prompt), ERRAND_MAX);
            }
            EventKind::Compacted { compaction, .. } => {
                self.has_spoken = true;
                self.context = compaction.after;
                self.ended += 1;
            }
            EventKind::TurnStarted { .. } => self.in_turn = true,
            EventKind::TurnEnded { .. } => {
                self.in_turn = false;
                self.ended += 1;
            }
            EventKind::Prompted { .. }
            | EventKind::Injected { .. }
            | EventKind::TextDelta { .. }
            | EventKind::ThinkingDelta { .. }
            | EventKind::ToolStarted { .. } => self.has_spoken = true,
            EventKind::CrewReady(_)
            | EventKind::ModelsListed { .. }
            | EventKind::StreamReset { .. }
            | EventKind::ToolOutput { .. }
            | EventKind::ToolFinished { .. }
            | EventKind::JobChanged { .. }
            | EventKind::JobOutput { .. }
            | EventKind::BranchesChanged { .. }
            | EventKind::HeadChanged { .. }
            | EventKind::DiffShown { .. }
            | EventKind::WorktreeJudged { .. }
            | EventKind::BoardChanged { .. }
            | EventKind::PersonActed { .. }
            | EventKind::TeamChanged { .. }
            | EventKind::LetterMoved { .. }
            | EventKind::RequestChanged { .. }
            | EventKind::SkillsChanged(_)
            | EventKind::LimitsChanged(_)
            | EventKind::RulesChanged { .. }
            | EventKind::Notice { .. }
            | EventKind::Refused { .. }
            | EventKind::CrewAtRest => {}
        }
    }

    /// Takes in what it has used so far. One that has used less than before, or more with no more calls, is another one
    /// of the same name: what the earlier one used is not undone.
    fn counted(&mut self, so_far: Used) {
        let own = self.used().since(self.earlier);
        let (before, tokens) = (own.usage.total(), so_far.usage.total());
        let begins_anew = so_far.calls > 0 && so_far.calls <= own.calls && tokens != before;
        if tokens < before || begins_anew {
            self.earlier = self.used();
        }
        let mut all = self.earlier;
        all.add(so_far);
        (self.usage, self.calls, self.cost) = (all.usage, all.calls, all.cost);
    }

    /// What it has used, its subagents aside.
    pub fn used(&self) -> Used {
        Used {
            usage: self.usage,
            calls: self.calls,
            cost: self.cost,
        }
    }

    /// The share of the model's window that its conversation takes, in percent, where known.
    pub fn context_share(&self) -> Option<u64> {
        let window = self.window.filter(|w| *w > 0)?;
        Some(self.context.saturating_mul(100).div_ceil(window).min(999))
    }
}

/// All agents that were heard of, by name.
#[derive(Debug, Default)]
pub struct Agents {
    known: BTreeMap<Name, AgentView>,
    /// How many made room, subagents aside, and what they used.
    past: (usize, Used),
    /// The zone of the times that conversations tell; none: UTC.
    zone: Option<TimeZone>,
}

impl Agents {
    /// Nobody yet; times are told in a zone.
    pub fn in_zone(zone: TimeZone) -> Agents {
        Agents {
            zone: Some(zone),
            ..Agents::default()
        }
    }

    /// The agent of that name, if it was heard of.
    pub fn get(&self, name: &Name) -> Option<&AgentView> {
        self.known.get(name)
    }

    /// The agent of that name; a new one takes the place of one who is gone when there are too many.
    pub fn entry(&mut self, name: &Name) -> &mut AgentView {
        if !self.known.contains_key(name) && self.known.len() >= AGENTS_MAX {
            let gone = |a: &AgentView| a.activity == Some(Activity::Gone);
            let victim = self
                .known
                .iter()
                .find(|(n, a)| !n.is_lead() && gone(a))
                .or_else(|| self.known.iter().find(|(n, _)| !n.is_lead()))
                .map(|(n, _)| n.clone());
            if let Some(victim) = victim {
                self.let_go(&victim);
            }
        }
        let zone = &self.zone;
        self.known.entry(name.clone()).or_insert_with(|| AgentView {
            transcript: Transcript::in_zone(zone.clone()),
            ..AgentView::default()
        })
    }

    /// Forgets an agent, but not what it used: that of a subagent is its parent's.
    fn let_go(&mut self, name: &Name) {
        let Some(agent) = self.known.remove(name) else {
            return;
        };
        let mut used = agent.used();
        used.add(agent.past_subagents);
        let parent = name.parent().and_then(|p| self.known.get_mut(&p));
        if let Some(parent) = parent {
            parent.past_subagents.add(used);
        } else {
            self.past.0 += 1;
            self.past.1.add(used);
        }
    }

    /// Takes an event in that happened to `name`.
    pub fn apply(&mut self, name: &Name, at: Stamp, event: &EventKind) {
        self.entry(name).apply(name, at, event);
        if !name.is_lead() {
            self.make_room();
        }
    }

    /// Holds the conversations of all but the lead to [`OTHERS_MAX`].
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
        // One that holds nothing but its newest entry can not give way: then the next longest does.
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

    /// What `name` does. For one that was not heard of, the roster's word.
    pub fn activity(&self, name: &Name, team: &Team) -> Activity {
        if let Some(activity) = self.get(name).and_then(|a| a.activity.clone()) {
            return activity;
        }
        match team.find(name).map(|m| m.status) {
            Some(MemberStatus::Working) => Activity::Thinking,
            Some(MemberStatus::Shutdown) => Activity::Gone,
            Some(MemberStatus::Idle) | None => Activity::Idle,
        }
    }

    /// crewdeck was ended: nobody works any more, and only the lead comes back.
    pub fn end_of_session(&mut self) {
        for (name, agent) in &mut self.known {
            agent.transcript.end_of_session();
            agent.in_turn = false;
            agent.activity = Some(if name.is_lead() {
                Activity::Idle
            } else {
                Activity::Gone
            });
        }
    }

    /// The subagents of `parent` that are at work.
    pub fn subagents(&self, parent: &Name) -> impl Iterator<Item = Name> {
        let here = |(_, agent): &(&Name, &AgentView)| agent.activity != Some(Activity::Gone);
        let mut all: Vec<&Name> = self
            .known
            .iter()
            .filter(here)
            .map(|(name, _)| name)
            .filter(|name| name.parent().as_ref() == Some(parent))
            .collect();
        all.sort_by_key(|name| name.as_str().len());
        all.into_iter().cloned().collect::<Vec<_>>().into_iter()
    }

    /// All that are known, by name.
    pub fn all(&self) -> impl Iterator<Item = (&Name, &AgentView)> {
        self.known.iter()
    }

    /// How many made room, subagents aside, and what they used.
    pub fn past(&self) -> (usize, Used) {
        self.past
    }

    /// What all of them used, those that made room included.
    pub fn used(&self) -> Used {
        let mut all = self.past.1;
        for agent in self.known.values() {
            all.add(agent.used());
            all.add(agent.past_subagents);
        }
        all
    }

    /// The tokens of all of them, those that made room included.
    pub fn tokens(&self) -> u64 {
        self.used().usage.total()
    }

    /// What all of them cost, where the price of any is known.
    pub fn cost(&self) -> Option<f64> {
        self.used().cost
    }
}
