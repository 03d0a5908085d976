//! The crew's skills: reads them at the start and when a file changes, and announces changes.

use std::sync::{Arc, PoisonError};

use super::{Shared, lock};
use crate::agent::driver::blocking;
use crate::agent::prompt::LOAD_SKILL;
use crate::domain::skill::SkillBook;
use crate::protocol::event::{EventKind, Level};

impl Shared {
    /// Returns the skills as they were last read.
    pub(super) fn skill_book(&self) -> Arc<SkillBook> {
        let book = self.skill_book.read();
        Arc::clone(&book.unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads the skills. If they have changed, publishes them and adds one line to each agent's next turn. System prompts
    /// are not changed, since that would invalidate the prompt cache.
    pub(super) async fn read_skills(&self) {
        let skills = self.skills.clone();
        let new = match blocking(move || Ok(skills.read())).await {
            Ok(book) => Arc::new(book),
            Err(error) => {
                let text = format!("The skills cannot be read: {error}");
                self.notice(Level::Error, text).await;
                return;
            }
        };
        let old = {
            let slot = self.skill_book.write();
            let mut slot = slot.unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *slot, Arc::clone(&new))
        };
        if old == new {
            return;
        }
        if let Some(news) = new.news(&old).filter(|_| self.has_tool(LOAD_SKILL)) {
            for handle in lock(&self.agents).values() {
                handle.desk.note(news.clone());
            }
        }
        self.publish(EventKind::SkillsChanged(new.as_ref().clone()))
            .await;
        for broken in new.newly_broken(&old) {
            let text = format!("A skill is left out: {}: {}", broken.path, broken.why);
            self.notice(Level::Warn, text).await;
        }
    }

    /// Whether the settings allow the agents this tool.
    fn has_tool(&self, name: &str) -> bool {
        let only = self.tools.as_ref();
        only.is_none_or(|only| only.iter().any(|n| n == name))
    }
}
