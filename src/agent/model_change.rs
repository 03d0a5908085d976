//! Changes of an agent's model, as the driver makes and publishes them.

use super::driver::{Driver, ModelConfig};
use crate::protocol::event::{CrewEvent, EventKind, NoticeLevel};

impl Driver {
    /// Changes to the model that replaces the current one after it has failed for good, and tells the user why.
    pub(super) async fn use_fallback(&self, why: &str) {
        let failed = self.model_config().name;
        let Some(next) = self.model.fallback() else {
            return;
        };
        let text = format!(
            "{failed} has failed: {why}. {} continues with {}, until you choose another model with /model.",
            self.name, next.name
        );
        self.model.set_own(next);
        let (level, agent) = (NoticeLevel::Warn, Some(self.name.clone()));
        self.publish(EventKind::Crew(CrewEvent::Notice { level, agent, text }))
            .await;
    }

    /// Publishes the agent's model and its context window if they are not those that were published last.
    pub(super) async fn publish_model(&mut self, model_config: &ModelConfig) {
        let effort = self.effort.or(model_config.options.effort);
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
