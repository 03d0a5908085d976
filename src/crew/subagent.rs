//! Runs subagents. A subagent starts with an empty conversation, works in a single turn, and ends with an answer.

use std::sync::Arc;

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::agent_builder::{Agent, AgentBuilder, AgentSpec, stop_turn};
use super::context::CrewContext;
use super::registry::AgentRegistry;
use crate::agent::prompt;
use crate::agent::turn::{TurnInput, TurnLimits};
use crate::domain::chat::{Block, Message, Role};
use crate::domain::ids::Name;
use crate::domain::team::Activity;
use crate::protocol::event::{AgentEvent, TurnEnd};
use crate::tools::Caller;
use crate::tools::host::{Host, SubagentSpec};

/// Maximum number of model calls of a subagent whose role sets no other maximum. The same as in learn-claude-code.
const ROUNDS_MAX: u32 = 30;

/// Starts subagents when agents call the tool for it, and returns the answers of the subagents.
pub struct Subagents {
    context: Arc<CrewContext>,
    registry: Arc<AgentRegistry>,
    builder: Arc<AgentBuilder>,
}

impl Subagents {
    pub fn new(
        context: Arc<CrewContext>,
        registry: Arc<AgentRegistry>,
        builder: Arc<AgentBuilder>,
    ) -> Subagents {
        Subagents {
            context,
            registry,
            builder,
        }
    }

    /// Starts a subagent, waits until it has ended, and returns its answer; `(no summary)` if it ended its turn without
    /// a text. First waits until the parent runs fewer than [`SUBAGENTS_MAX`](super::registry::SUBAGENTS_MAX)
    /// subagents. Dropping the future interrupts the subagent.
    ///
    /// # Errors
    /// Returns the reason if the parent is not running, the role cannot be used, or the subagent fails, is interrupted,
    /// or is stopped without an answer.
    pub async fn delegate(
        self: Arc<Self>,
        order: SubagentSpec,
        host: Arc<dyn Host>,
    ) -> Result<String, String> {
        let _slot = self.registry.subagent_slot(&order.parent).await?;
        let cancel = self.context.stop.child_token();
        let _interrupts = cancel.clone().drop_guard();
        let (sender, answer) = oneshot::channel();
        // A separate Tokio task, so that the subagent's last events are published even if the caller no longer waits.
        let life = Arc::clone(&self).run(order, host, cancel);
        self.context.spawn(async move {
            // The caller may no longer wait.
            let _ = sender.send(life.await);
        });
        answer
            .await
            .unwrap_or_else(|_| Err("the subagent failed".into()))
    }

    async fn run(
        self: Arc<Self>,
        order: SubagentSpec,
        host: Arc<dyn Host>,
        cancel: CancellationToken,
    ) -> Result<String, String> {
        let number = self.registry.next_subagent_number();
        let name = Name::subagent(&order.parent, number);
        let Some(parent) = self.registry.find(&order.parent) else {
            return Err(format!("'{}' is not running", order.parent));
        };
        let role = match &order.role {
            Some(name) => Some(self.builder.roles.require(name).await?),
            None => None,
        };
        let chosen = role.as_ref().map_or("", |r| r.role.model.as_str());
        let model = self.builder.models.of_subagent(chosen, &parent.model)?;
        let system =
            |place: &prompt::PromptContext| prompt::subagent(&order.parent, order.kind, place);
        let spec = AgentSpec {
            name: name.clone(),
            caller: Caller::Subagent(order.kind),
            limits: TurnLimits {
                rounds: Some(ROUNDS_MAX),
                last_round: Some(prompt::LAST_ROUND),
                ..TurnLimits::default()
            },
            gate: parent.mailbox.gate(),
            tags: Vec::new(),
            identity: String::new(),
            model,
            role,
            // A subagent gets no tool that the limits of its parent exclude.
            tools: parent.limits.to_vec(),
            roles: String::new(),
            system: &system,
        };
        let color = spec.role.as_ref().and_then(|r| r.role.color);
        let mut agent = self.builder.build(spec, host);
        agent.driver.tool_runner.workdir.clone_from(&order.workdir);
        self.context
            .publish(
                AgentEvent::SubagentStarted {
                    parent: order.parent.clone(),
                    call: order.call.clone(),
                    kind: order.kind,
                    prompt: order.prompt.clone(),
                    color,
                }
                .of(name.clone()),
            )
            .await;
        let Agent {
            mut driver,
            mut control,
            handle,
        } = agent;
        let interrupt = async {
            cancel.cancelled().await;
            // Nothing else uses this queue, so it has room.
            let _ = handle.control.try_send(stop_turn(&self.context));
            std::future::pending::<()>().await;
        };
        let mailbox = Arc::clone(&handle.mailbox);
        self.registry
            .add_subagent(name.clone(), cancel.clone(), mailbox);
        let say = TurnInput::Say(vec![Block::text(order.prompt)]);
        let end = tokio::select! {
            end = driver.turn(say, &mut control) => end,
            () = interrupt => TurnEnd::Interrupted,
        };
        self.registry.remove_subagent(&name);
        driver.activity(Activity::Gone).await;
        let answer = last_words(&driver.state.turn.messages());
        match end {
            TurnEnd::Done if answer.is_empty() => Ok("(no summary)".into()),
            TurnEnd::Done => Ok(answer),
            TurnEnd::Stopped { why } if answer.is_empty() => {
                Err(format!("the subagent ended without an answer: {why}"))
            }
            TurnEnd::Stopped { why } => Ok(format!("{answer}\n[The subagent was stopped: {why}]")),
            TurnEnd::Interrupted => Err("the subagent was interrupted".into()),
            TurnEnd::Failed { error, hint } => Err(format!("the subagent failed: {error}. {hint}")
                .trim()
                .into()),
        }
    }
}

/// Returns the text of the last message if it is from the subagent; otherwise an empty string.
fn last_words(messages: &[Message]) -> String {
    match messages.last() {
        Some(last) if last.role == Role::Assistant => last.text().trim().to_string(),
        Some(_) | None => String::new(),
    }
}
