//! Replaces an agent's model after a failed call, and publishes changes of the model.

use super::driver::{Driver, ModelConfig};
use super::driver_state::FailedModel;
use super::turn::{FallbackState, TurnInput};
use crate::model::ModelError;
use crate::protocol::event::{CrewEvent, EventKind, NoticeLevel};

impl Driver {
    /// Returns the input that reports a failed model call to the turn, and remembers `failed` for
    /// [`Driver::replace_model`].
    pub(super) fn model_failed(&mut self, failed: FailedModel, error: ModelError) -> TurnInput {
        let fallback = match &failed {
            FailedModel::Own(config) => match self.model.replacement(config) {
                None => FallbackState::None,
                Some(Ok(_)) => FallbackState::Usable,
                Some(Err(why)) => FallbackState::Unusable(why),
            },
            FailedModel::Summary(_) => FallbackState::Usable,
        };
        self.state.refused.failed = Some(failed);
        TurnInput::ModelFailed {
            error,
            jitter: (self.jitter)(),
            fallback,
        }
    }

    /// Replaces the model whose call has failed and is not retried: the agent's own model by its fallback, and a model
    /// that only writes summaries by the agent's own model. Notifies the user of the change and of its cause `why`.
    /// Does nothing if the agent has another model by now.
    pub(super) async fn replace_model(&mut self, why: &str) {
        match self.state.refused.failed.take() {
            Some(FailedModel::Summary(name)) => self.stop_using_summary_model(&name, why).await,
            Some(FailedModel::Own(failed)) => self.use_fallback(&failed, why).await,
            None => {}
        }
    }

    async fn use_fallback(&self, failed: &ModelConfig, why: &str) {
        let Some(next) = self.model.use_fallback_of(failed) else {
            return;
        };
        let text = format!(
            "{} has failed: {why}. {} continues with {}, until you choose another model with /model.",
            failed.name, self.name, next.name
        );
        self.warn(text).await;
    }

    /// Makes the agent's own model write the summaries, because the model `name` cannot.
    pub(super) async fn stop_using_summary_model(&self, name: &str, why: &str) {
        self.model.drop_summary_model();
        let text = format!(
            "{name} cannot summarise the conversation of {}: {}. The agent's own model does it from now on.",
            self.name,
            why.trim_end_matches('.')
        );
        self.warn(text).await;
    }

    async fn warn(&self, text: String) {
        let (level, agent) = (NoticeLevel::Warn, Some(self.name.clone()));
        self.publish(EventKind::Crew(CrewEvent::Notice { level, agent, text }))
            .await;
    }

    /// Publishes the agent's model, effort and context window, unless they are the same as in the last such event.
    pub(super) async fn publish_model(&mut self, model_config: &ModelConfig) {
        let effort = self.effort_input(model_config);
        let window = model_config.known_window();
        let published = Some((model_config.name.clone(), effort, window));
        if self.state.published.model == published {
            return;
        }
        self.state.published.model = published;
        let event = model_config.changed_event(effort);
        self.publish(event.of(self.name.clone())).await;
    }
}
