//! Publishes for the driver what an external agent does while it answers a prompt.

use tokio::time::Instant;

use super::calls::ExternalCalls;
use super::crew_tools::CrewToolNames;
use crate::agent::driver::Driver;
use crate::agent::published_calls::summarise_call;
use crate::domain::agent_update::{
    AgentPlanEntry, AgentToolCall, AgentUpdate, ContextUsage, PlanEntryStatus,
};
use crate::domain::team::Activity;
use crate::domain::text::{clip, one_line};
use crate::domain::todo::{TODO_MAX, TodoItem, TodoList, TodoStatus};
use crate::protocol::event::{AgentEvent, CrewEvent, EventKind, NoticeLevel};

/// Maximum length, in characters, of an entry of an agent's plan. The rest of a longer entry is cut off.
const ENTRY_MAX: usize = 200;

impl Driver {
    /// Publishes a complete part of an external agent's answer, and the thinking before it, as an answer.
    pub(in crate::agent) async fn publish_part(&self, text: String, thinking: String) {
        let answer = AgentEvent::AnswerFinished {
            text,
            thinking,
            thought_ms: 0,
        };
        self.publish(answer.of(self.name.clone())).await;
    }

    pub(in crate::agent) async fn publish_external(
        &self,
        update: AgentUpdate,
        calls: &mut ExternalCalls,
    ) {
        match update {
            AgentUpdate::ToolCall(call) => self.publish_call(call, calls).await,
            AgentUpdate::Plan(entries) => {
                if let Some(list) = todo_list(&entries) {
                    let event = AgentEvent::TodoChanged { list };
                    self.publish(event.of(self.name.clone())).await;
                }
            }
            AgentUpdate::Context(usage) => {
                self.publish_context(&usage).await;
                calls.context = Some(usage);
            }
            AgentUpdate::Notice(text) => {
                let (level, agent) = (NoticeLevel::Warn, Some(self.name.clone()));
                self.publish(EventKind::Crew(CrewEvent::Notice { level, agent, text }))
                    .await;
            }
            AgentUpdate::Text(_)
            | AgentUpdate::Thought(_)
            | AgentUpdate::Title(_)
            | AgentUpdate::Mode(_)
            | AgentUpdate::Commands(_) => {}
        }
    }

    async fn publish_call(&self, call: AgentToolCall, calls: &mut ExternalCalls) {
        let tools = self.crew_tools();
        let is_new = calls.is_new(&call.id);
        let (is_final, shown) = (
            call.status.is_final(),
            super::calls::as_tool_call(&call, &tools),
        );
        for event in calls.record(&self.name, call, &tools, Instant::now()) {
            self.publish(event).await;
        }
        if is_final && !calls.has_open() {
            self.activity(Activity::Thinking).await;
        } else if is_new {
            let (tool, on) = (shown.name.clone(), summarise_call(&shown));
            self.activity(Activity::Tool { tool, on }).await;
        }
    }

    /// Publishes the end of the calls that are still open when the prompt has ended.
    pub(in crate::agent) async fn end_external_calls(&self, calls: &mut ExternalCalls) {
        if calls.has_open() {
            let tools = self.crew_tools();
            for event in calls.end_all(&self.name, &tools, Instant::now()) {
                self.publish(event).await;
            }
        }
    }

    fn crew_tools(&self) -> CrewToolNames {
        let runner = &self.tool_runner;
        CrewToolNames::new(&runner.tools, runner.servers.as_deref())
    }

    /// Publishes how full the agent's context window is. The published totals of tokens, cost and calls do not change.
    async fn publish_context(&self, usage: &ContextUsage) {
        let event = AgentEvent::UsageChanged {
            total: self.state.usage,
            context: usage.used,
            window: Some(usage.size).filter(|size| *size > 0),
            assumed: false,
            cost: self.state.cost.map(|cost| cost.dollars),
            estimated: self.state.cost.is_some_and(|cost| cost.is_estimate),
            calls: self.state.calls,
        };
        self.publish(event.of(self.name.clone())).await;
    }
}

/// Returns the first `TODO_MAX` entries of an agent's plan as a todo list; `None` if an entry has no text. A todo list
/// has at most one item in progress, so any further entry in progress becomes pending.
fn todo_list(entries: &[AgentPlanEntry]) -> Option<TodoList> {
    let mut has_current = false;
    let item = |(at, entry): (usize, &AgentPlanEntry)| {
        let text = clip(&one_line(&entry.text), ENTRY_MAX);
        let status = match entry.status {
            PlanEntryStatus::InProgress if !std::mem::replace(&mut has_current, true) => {
                TodoStatus::InProgress
            }
            PlanEntryStatus::Pending | PlanEntryStatus::InProgress => TodoStatus::Pending,
            PlanEntryStatus::Completed => TodoStatus::Completed,
        };
        TodoItem {
            id: (at + 1).to_string(),
            text,
            status,
        }
    };
    let shown = entries.iter().take(TODO_MAX).enumerate();
    TodoList::new(shown.map(item).collect()).ok()
}
