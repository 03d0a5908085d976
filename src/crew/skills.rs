//! The crew's skills: reads them at the start and after changes of their files, and publishes changes.

use std::sync::{Arc, PoisonError, RwLock};

use super::context::CrewContext;
use super::registry::AgentRegistry;
use crate::agent::driver::run_blocking;
use crate::agent::prompt::LOAD_SKILL;
use crate::domain::skill::SkillCatalog;
use crate::protocol::event::{CrewEvent, EventKind, NoticeLevel};
use crate::store::Skills;

/// Holds the skills of a crew, and reads them again when their files change.
pub struct SkillWatch {
    context: Arc<CrewContext>,
    registry: Arc<AgentRegistry>,
    store: Skills,
    book: RwLock<Arc<SkillCatalog>>,
    /// Whether the settings allow the tool with which agents load skills.
    can_load: bool,
}

impl SkillWatch {
    /// Creates a watch without skills; `read` reads them. `tools` are the names of the tools that the settings allow;
    /// `None` allows all tools.
    pub fn new(
        context: Arc<CrewContext>,
        registry: Arc<AgentRegistry>,
        store: Skills,
        tools: Option<&[String]>,
    ) -> SkillWatch {
        SkillWatch {
            context,
            registry,
            store,
            book: RwLock::default(),
            can_load: tools.is_none_or(|only| only.iter().any(|n| n == LOAD_SKILL)),
        }
    }

    pub fn store(&self) -> &Skills {
        &self.store
    }

    /// Returns the skills as they were last read.
    pub fn catalog(&self) -> Arc<SkillCatalog> {
        let book = self.book.read();
        Arc::clone(&book.unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads the skills. If they have changed, publishes them and warns about files that can no longer be used. If the
    /// settings allow agents to load skills, also adds a note about the changes to the next model call of every agent.
    /// System prompts stay as they are, because a change would invalidate the model server's prompt cache.
    pub async fn read(&self) {
        let skills = self.store.clone();
        let new = match run_blocking(move || Ok(skills.read())).await {
            Ok(book) => Arc::new(book),
            Err(error) => {
                let text = format!("The skills cannot be read: {error}");
                self.context.notice(NoticeLevel::Error, text).await;
                return;
            }
        };
        let old = {
            let slot = self.book.write();
            let mut slot = slot.unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *slot, Arc::clone(&new))
        };
        if old == new {
            return;
        }
        if let Some(news) = new.changes_since(&old).filter(|_| self.can_load) {
            self.registry.note_all(&news);
        }
        self.context
            .publish(EventKind::Crew(CrewEvent::SkillsChanged(
                new.as_ref().clone(),
            )))
            .await;
        for broken in new.newly_broken(&old) {
            let text = format!(
                "The skill or command file {} cannot be used: {}",
                broken.path, broken.why
            );
            self.context.notice(NoticeLevel::Warn, text).await;
        }
    }
}
