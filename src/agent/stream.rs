//! Calls the model for the driver and streams the answer. Parts of the answer that arrive within a short time are
//! published as one event.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::attachments;
use super::driver::{Control, Driver, ModelConfig, until_interrupt};
use super::driver_state::{EffortRefusal, Streamed};
use super::turn::TurnInput;
use crate::domain::role::RoleEffort;
use crate::domain::team::Activity;
use crate::model::effort::{self, EffortReplacement};
use crate::model::http::truncated_error;
use crate::model::{CallWait, Delta, ModelError, ModelRequest, Reply};
use crate::model::{ImageInput, images, known_models};
use crate::protocol::event::{AgentEvent, CrewEvent, EventKind, NoticeLevel};

/// Time during which the arriving parts of an answer are collected and then published as one event.
const MERGE: Duration = Duration::from_millis(30);
/// Maximum size, in bytes, of an unfinished answer's text that is kept in case the turn is interrupted.
const PARTIAL_MAX: usize = 1024 * 1024;
/// The text that replaces the rest of an unfinished answer that is longer than `PARTIAL_MAX`.
const PARTIAL_CUT: &str = "\n[… the rest of the interrupted answer is left out …]";

/// Adds `piece` to `partial`, the text of an unfinished answer. If `partial` would become longer than `PARTIAL_MAX`,
/// adds `PARTIAL_CUT` in place of this and all later pieces.
fn push_bounded(partial: &mut String, piece: &str) {
    if partial.ends_with(PARTIAL_CUT) {
        return;
    }
    let fits = partial.len() + piece.len() <= PARTIAL_MAX;
    partial.push_str(if fits { piece } else { PARTIAL_CUT });
}

impl Driver {
    /// Waits until the agent's budget allows a model call, and then returns `None`. If the call is denied or the wait
    /// is interrupted, returns the input that ends the turn.
    pub(super) async fn await_budget(
        &self,
        control: &mut mpsc::Receiver<Control>,
        inputs: &mut VecDeque<TurnInput>,
    ) -> Option<TurnInput> {
        match until_interrupt(
            control,
            inputs,
            self.budget_gate.wait_for_budget(&self.name),
        )
        .await
        {
            Some(Ok(())) => None,
            Some(Err(why)) => Some(TurnInput::Stop { why }),
            None => Some(TurnInput::Interrupt {
                partial: String::new(),
            }),
        }
    }

    /// Publishes, as the agent's activity, that a model call waits in the call queue or for the end of a back-off. Once
    /// the wait is over, publishes the activity `doing`.
    pub(super) async fn publish_wait(&self, held: CallWait, doing: Activity) {
        self.activity(match held {
            CallWait::Queued { place } => Activity::Queued { place },
            CallWait::Paused { left, cause } => Activity::Backoff {
                cause,
                until: (self.clock)().after(left),
                attempt: 0,
                attempts_max: 0,
            },
            CallWait::Released => doing,
        })
        .await;
    }

    /// Returns whether the images of the conversation are sent to the model. They are left out after this model has
    /// refused images.
    pub(super) fn image_input(&self, model_config: &ModelConfig) -> ImageInput {
        if self.state.refused.images.as_ref() == Some(&model_config.name) {
            ImageInput::LeftOut
        } else {
            ImageInput::Sent
        }
    }

    /// Checks whether `error` means that the model refuses the images of the conversation. If so, records the refusal,
    /// so that the model gets no more images, and returns an error that names this cause. Otherwise returns `error`
    /// unchanged.
    pub(super) fn look_for_image_refusal(
        &mut self,
        model_config: &ModelConfig,
        error: ModelError,
    ) -> ModelError {
        let messages = self.state.turn.messages();
        let has_image = messages.iter().any(|m| attachments::has_image(&m.blocks));
        if !has_image || self.image_input(model_config) == ImageInput::LeftOut {
            return error;
        }
        match images::refusal(&error, &model_config.name) {
            Some(refused) => {
                self.state.refused.images = Some(model_config.name.clone());
                refused
            }
            None => error,
        }
    }

    /// Tells the user, once per model, that the model probably cannot read the images of the conversation. They are
    /// sent nevertheless, because the built-in table may be out of date.
    pub(super) async fn hint_at_images(&mut self, model_config: &ModelConfig) {
        let name = &model_config.name;
        let is_notified = self.state.refused.doubtful_images.as_ref() == Some(name);
        let is_text_only = known_models::find(name).is_some_and(|model| !model.images);
        if is_notified || !is_text_only || self.image_input(model_config) == ImageInput::LeftOut {
            return;
        }
        let messages = self.state.turn.messages();
        if !messages.iter().any(|m| attachments::has_image(&m.blocks)) {
            return;
        }
        self.state.refused.doubtful_images = Some(name.clone());
        let text = format!(
            "{name} probably cannot read images (built-in table of {}). The image is sent; choose another model with /model if the answer ignores it.",
            known_models::date()
        );
        self.publish(EventKind::Crew(CrewEvent::Notice {
            level: NoticeLevel::Warn,
            agent: Some(self.name.clone()),
            text,
        }))
        .await;
    }

    /// Returns the reasoning effort to send to the model: the one that the agent's role sets, else the one that the
    /// model's options set. If the model has refused it, returns the level that replaces it. `None` if neither sets an
    /// effort or the model accepts none.
    pub(super) fn effort_input(&self, model_config: &ModelConfig) -> Option<RoleEffort> {
        let level = self.effort.or(model_config.options.effort)?;
        let refused = self.state.refused.effort.as_ref();
        match refused.filter(|refused| refused.model == model_config.name) {
            Some(EffortRefusal {
                replacement: EffortReplacement::Nothing,
                ..
            }) => None,
            Some(EffortRefusal {
                level: refused,
                replacement: EffortReplacement::Level(other),
                ..
            }) if *refused == level => Some(*other),
            Some(_) | None => Some(level),
        }
    }

    /// Returns whether `error` means that the model does not accept the reasoning effort that was sent. If so, warns
    /// the user and records what is sent from now on, so that the caller can repeat the call. The first refusal may
    /// lead to any other level or to none. Each later refusal leads to a lower level or to none, so a call is repeated
    /// only a few times.
    pub(super) async fn is_effort_refusal(
        &mut self,
        model_config: &ModelConfig,
        error: &ModelError,
    ) -> bool {
        let level = self.effort.or(model_config.options.effort);
        let (Some(level), Some(sent)) = (level, self.effort_input(model_config)) else {
            return false;
        };
        let refused = self.state.refused.effort.as_ref();
        let is_first = refused.is_none_or(|r| r.model != model_config.name || r.level != level);
        let Some(replacement) = effort::replacement(error, sent, is_first) else {
            return false;
        };
        let (model, agent) = (&model_config.name, &self.name);
        let text = match replacement {
            EffortReplacement::Level(other) => format!(
                "The model {model} does not accept effort {}, so {agent} uses effort {}.",
                sent.word(),
                other.word()
            ),
            EffortReplacement::Nothing => format!(
                "The model {model} accepts no effort level, so effort {} of {agent} is ignored.",
                level.word()
            ),
        };
        self.state.refused.effort = Some(EffortRefusal {
            model: model.clone(),
            level,
            replacement,
        });
        self.publish(EventKind::Crew(CrewEvent::Notice {
            level: NoticeLevel::Warn,
            agent: Some(self.name.clone()),
            text,
        }))
        .await;
        true
    }

    /// Calls the model and publishes its answer as it arrives. Writes what has arrived to `streamed`, which the caller
    /// can read even if the future was dropped. Fails if the call fails, or if the answer ends before it is complete.
    pub(super) async fn stream(
        &self,
        model_config: &ModelConfig,
        streamed: &mut Streamed,
    ) -> Result<Reply, ModelError> {
        let mut stream = model_config.model.call(ModelRequest {
            agent: self.name.clone(),
            model: model_config.name.clone(),
            system: self.system.clone(),
            messages: self.state.turn.messages(),
            tools: Arc::clone(&self.specs),
            max_tokens: model_config.max_tokens,
            images: self.image_input(model_config),
            effort: self.effort_input(model_config),
            thinking_budget: model_config.options.thinking_budget,
            workdir: self.tool_runner.workdir.clone(),
            clearings: self.state.turn.clearings(),
        });
        let Streamed {
            partial,
            thought_ms,
            parts,
            calls,
        } = streamed;
        let agent = &self.name;
        let (mut text, mut thinking) = (String::new(), String::new());
        let redactor = self.event_sender.redactor();
        let (mut said, mut thought) = (redactor.stream(), redactor.stream());
        let mut due: Option<Instant> = None;
        let mut thinks_since: Option<Instant> = None;
        let mut thought_until = |since: &mut Option<Instant>| {
            if let Some(since) = since.take() {
                let passed = u64::try_from(since.elapsed().as_millis());
                *thought_ms = thought_ms.saturating_add(passed.unwrap_or(u64::MAX));
            }
        };
        let flush = |text: &mut String, thinking: &mut String| {
            if !thinking.is_empty() {
                let text = std::mem::take(thinking);
                self.event_sender
                    .offer(AgentEvent::ThinkingDelta { text }.of(agent.clone()));
            }
            if !text.is_empty() {
                let text = std::mem::take(text);
                self.event_sender
                    .offer(AgentEvent::TextDelta { text }.of(agent.clone()));
            }
        };
        loop {
            let wait = async {
                match due {
                    Some(at) => tokio::time::sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = wait => {
                    flush(&mut text, &mut thinking);
                    due = None;
                }
                delta = stream.next() => match delta {
                    Some(Ok(Delta::Waiting(held))) => self.publish_wait(held, Activity::Thinking).await,
                    Some(Ok(Delta::Text(more))) => {
                        thought_until(&mut thinks_since);
                        push_bounded(partial, &more);
                        text.push_str(&said.push_text(&more));
                        due.get_or_insert_with(|| Instant::now() + MERGE);
                    }
                    Some(Ok(Delta::Thinking(more))) => {
                        thinks_since.get_or_insert_with(Instant::now);
                        thinking.push_str(&thought.push_text(&more));
                        due.get_or_insert_with(|| Instant::now() + MERGE);
                    }
                    Some(Ok(Delta::Part(part))) => {
                        text.push_str(&said.end_text());
                        flush(&mut text, &mut thinking);
                        (said, due) = (redactor.stream(), None);
                        partial.clear();
                        *parts += 1;
                        self.publish_part(part, thought.end_text()).await;
                        thought = redactor.stream();
                    }
                    Some(Ok(Delta::External(update))) => {
                        thought_until(&mut thinks_since);
                        flush(&mut text, &mut thinking);
                        due = None;
                        self.publish_external(update, calls).await;
                    }
                    Some(Ok(Delta::ToolCall(_))) => thought_until(&mut thinks_since),
                    Some(Ok(Delta::Done(reply))) => {
                        thought_until(&mut thinks_since);
                        text.push_str(&said.end_text());
                        thinking.push_str(&thought.end_text());
                        flush(&mut text, &mut thinking);
                        return Ok(reply);
                    }
                    Some(Err(error)) => return Err(error),
                    None => return Err(truncated_error()),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interrupted_answer_is_bounded_and_its_cut_is_marked() {
        let mut partial = String::new();
        for _ in 0..5 {
            push_bounded(&mut partial, &"x".repeat(PARTIAL_MAX / 2));
        }
        assert_eq!(partial.len(), PARTIAL_MAX + PARTIAL_CUT.len());
        push_bounded(&mut partial, "y");
        assert!(partial.ends_with(PARTIAL_CUT));
    }
}
