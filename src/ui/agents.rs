//! What the screen knows of each agent: its conversation, todo list, activity and tokens.

use std::collections::BTreeMap;

use super::pulse::Pulse;
use super::transcript::Transcript;
use crate::domain::ids::Name;
use crate::domain::stamp::Stamp;
use crate::domain::team::{Activity, MemberStatus, Team};
use crate::domain::text::{clip, head_and_tail, one_line};
use crate::domain::todo::TodoList;
use crate::domain::usage::Usage;
use crate::protocol::EventKind;

/// Most agents whose conversation is kept, those who are gone included.
pub const AGENTS_MAX: usize = 64;

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
    /// Its tokens.
    pub usage: Usage,
    /// The tokens of its conversation.
    pub context: u64,
    /// What its model can hold, where known.
    pub window: Option<u64>,
    /// What it cost in US dollars, where known.
    pub cost: Option<f64>,
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
                cost,
                ..
            } => {
                self.usage = *total;
                self.context = *context;
                self.window = *window;
                self.cost = *cost;
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
            }
            EventKind::TurnStarted { .. } => self.in_turn = true,
            EventKind::TurnEnded { .. } => self.in_turn = false,
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
            | EventKind::DiffShown { .. }
            | EventKind::WorktreeJudged { .. }
            | EventKind::BoardChanged { .. }
            | EventKind::PersonActed { .. }
            | EventKind::TeamChanged { .. }
            | EventKind::LetterMoved { .. }
            | EventKind::RequestChanged { .. }
            | EventKind::SkillsChanged(_)
            | EventKind::RulesChanged { .. }
            | EventKind::Notice { .. }
            | EventKind::Refused { .. }
            | EventKind::CrewAtRest => {}
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
    /// The tokens of those that made room, and what they cost.
    past: (u64, Option<f64>),
}

impl Agents {
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
            if let Some(victim) = victim.and_then(|name| self.known.remove(&name)) {
                self.past.0 = self.past.0.saturating_add(victim.usage.total());
                let costs = [self.past.1, victim.cost];
                self.past.1 = costs.into_iter().flatten().reduce(|a, b| a + b);
            }
        }
        self.known.entry(name.clone()).or_default()
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

    /// The tokens of all of them, those that made room included.
    pub fn tokens(&self) -> u64 {
        self.known
            .values()
            .fold(self.past.0, |sum, a| sum.saturating_add(a.usage.total()))
    }

    /// What all of them cost, where the price of any is known.
    pub fn cost(&self) -> Option<f64> {
        let all = self.known.values().map(|a| a.cost).chain([self.past.1]);
        all.flatten().reduce(|a, b| a + b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::event::{Compaction, Shortened};

    #[test]
    fn there_are_never_too_many_and_the_lead_stays() {
        let mut agents = Agents::default();
        agents.entry(&Name::lead());
        for i in 0..AGENTS_MAX * 2 {
            agents.entry(&Name::member(&format!("a{i}")).unwrap());
        }
        assert_eq!(agents.known.len(), AGENTS_MAX);
        assert!(agents.get(&Name::lead()).is_some());
    }

    /// What each said in all, in entries of 64 KiB, and whether the last of them is still there.
    fn kept(agents: &Agents, names: &[&str]) -> Vec<(usize, bool)> {
        let of = |name: &&str| {
            let agent = agents.get(&Name::party(name).unwrap()).unwrap();
            let entries = agent.transcript.bytes() / (64 * 1024);
            (entries, agent.transcript.ends_with("the last"))
        };
        names.iter().map(of).collect()
    }

    fn speak(agents: &mut Agents, name: &str, entries: usize) {
        let agent = Name::party(name).unwrap();
        for n in 1..=entries {
            let words = if n == entries { "the last" } else { "" };
            let said = EventKind::Prompted {
                agent: agent.clone(),
                // With what a cell takes beside its text about 64 KiB.
                text: "x".repeat(64 * 1024 - 512) + words,
            };
            agents.apply(&agent, Stamp(1.0), &said);
        }
    }

    #[test]
    fn the_longest_conversation_gives_way_and_the_lead_keeps_its_own() {
        let mut agents = Agents::default();
        let names = ["lead", "short", "long", "longer"];
        for (name, entries) in names.iter().zip([200, 10, 80, 90]) {
            speak(&mut agents, name, entries);
        }
        // 12 MiB are 192 such entries, less a few words.
        assert_eq!(
            kept(&agents, &names),
            [(200, true), (10, true), (80, true), (90, true)]
        );
        speak(&mut agents, "short", 20);
        let (short, long, longer) = (30, 80, 81);
        assert_eq!(
            kept(&agents, &names),
            [(200, true), (short, true), (long, true), (longer, true)]
        );
    }

    #[test]
    fn what_those_who_made_room_have_cost_is_not_forgotten() {
        let mut agents = Agents::default();
        for n in 1..=AGENTS_MAX as u64 + 5 {
            let name = Name::subagent(&Name::lead(), n);
            let agent = agents.entry(&name);
            agent.usage.input = 10;
            agent.cost = Some(0.5);
            agent.activity = Some(Activity::Gone);
        }
        let all = AGENTS_MAX as u64 + 5;
        assert_eq!(agents.known.len(), AGENTS_MAX);
        assert_eq!(agents.tokens(), all * 10);
        assert_eq!(agents.cost(), Some(34.5));
    }

    #[test]
    fn a_shortened_conversation_takes_less_at_once() {
        let lead = Name::lead();
        let mut agent = AgentView {
            context: 90,
            window: Some(100),
            ..AgentView::default()
        };
        let compaction = Compaction {
            how: Shortened::Results { count: 1 },
            before: 90,
            after: 30,
        };
        let event = EventKind::Compacted {
            agent: lead.clone(),
            compaction,
        };
        agent.apply(&lead, Stamp(1.0), &event);
        assert_eq!(agent.context_share(), Some(30));
    }

    #[test]
    fn the_share_of_the_window() {
        let cases = [
            (0, Some(100), Some(0)),
            (41, Some(100), Some(41)),
            (1, Some(200), Some(1)),
            (5, None, None),
            (5, Some(0), None),
            (500, Some(100), Some(500)),
        ];
        for (context, window, expected) in cases {
            let agent = AgentView {
                context,
                window,
                ..AgentView::default()
            };
            assert_eq!(agent.context_share(), expected);
        }
    }
}
