//! The roles that agents can get, and the team that a preset starts.

use std::sync::Arc;

use super::context::CrewContext;
use crate::agent::driver::blocking;
use crate::domain::role::{AgentRole, RoleCatalog, ToolSelection};
use crate::domain::text::{clip, head_and_tail};
use crate::protocol::event::NoticeLevel;
use crate::store::{Roles, Skills};

/// Maximum size of the text of all skills of a role, in bytes.
const SKILLS_TEXT_MAX: usize = 64 * 1024;
/// Maximum number of roles that the error for an unknown name lists.
const NAMED_MAX: usize = 40;

/// A role with the text of its skills, as it was on disk when its agent started.
#[derive(Debug, Clone)]
pub struct AppliedRole {
    pub role: AgentRole,
    /// The section of the system prompt; empty if the role has neither prompt nor skills.
    pub text: String,
}

/// Reads roles when an agent needs one. Nothing is read or kept before.
pub struct RoleBook {
    context: Arc<CrewContext>,
    roles: Roles,
    skills: Skills,
}

impl RoleBook {
    pub fn new(context: Arc<CrewContext>, roles: Roles, skills: Skills) -> RoleBook {
        RoleBook {
            context,
            roles,
            skills,
        }
    }

    async fn catalog(&self) -> RoleCatalog {
        let roles = self.roles.clone();
        blocking(move || Ok(roles.read())).await.unwrap_or_default()
    }

    /// Returns the list of roles for the lead's prompt, and tells the user which files cannot be used.
    pub async fn prompt_list(&self) -> String {
        let catalog = self.catalog().await;
        for broken in &catalog.broken {
            let text = format!("A role cannot be used: {}: {}", broken.path, broken.why);
            self.context.notice(NoticeLevel::Warn, text).await;
        }
        self.context
            .publisher
            .redactor()
            .text(&catalog.prompt_list())
            .into_owned()
    }

    /// Returns the role with that name; `None` if the text is no name of a role.
    pub async fn find(&self, name: &str) -> Option<AppliedRole> {
        let catalog = self.catalog().await;
        let role = catalog.find(name)?.clone();
        Some(self.with_skills(role).await)
    }

    /// Returns the role with that name.
    ///
    /// # Errors
    /// An unknown name is an error that lists the roles, or says why the file of the role cannot be used.
    pub async fn require(&self, name: &str) -> Result<AppliedRole, String> {
        let catalog = self.catalog().await;
        match catalog.find(name) {
            Some(role) => Ok(self.with_skills(role.clone()).await),
            None => Err(unknown(name, &catalog)),
        }
    }

    async fn with_skills(&self, role: AgentRole) -> AppliedRole {
        let mut parts = Vec::new();
        if !role.prompt.is_empty() {
            parts.push(format!(
                "<role name=\"{}\">\n{}\n</role>",
                role.name, role.prompt
            ));
        }
        let (store, names) = (self.skills.clone(), role.skills.clone());
        let load = move || {
            Ok(names
                .into_iter()
                .map(|n| (store.load(&n).ok(), n))
                .collect::<Vec<_>>())
        };
        let loaded = if role.skills.is_empty() {
            Vec::new()
        } else {
            blocking(load).await.unwrap_or_default()
        };
        let mut room = SKILLS_TEXT_MAX;
        for (skill, name) in loaded {
            let Some(skill) = skill else {
                let text = format!(
                    "The role {} names the skill {name}, which does not exist.",
                    role.name
                );
                self.context.notice(NoticeLevel::Warn, text).await;
                continue;
            };
            let body = head_and_tail(&skill.body, room);
            room = room.saturating_sub(body.len());
            parts.push(format!(
                "<skill name=\"{}\">\n{body}\n</skill>",
                skill.skill.name
            ));
        }
        let text = parts.join("\n");
        AppliedRole {
            role,
            text: self.context.publisher.redactor().text(&text).into_owned(),
        }
    }
}

fn unknown(name: &str, catalog: &RoleCatalog) -> String {
    let shown = crate::domain::text::one_line(&clip(name, 80));
    let names: Vec<&str> = catalog
        .roles
        .iter()
        .map(|r| r.name.as_str())
        .take(NAMED_MAX)
        .collect();
    let more = catalog.roles.len().saturating_sub(names.len());
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    let stem = format!("/{}.md", shown.to_lowercase());
    let broken = catalog
        .broken
        .iter()
        .find(|b| b.path.to_lowercase().ends_with(&stem));
    let why = broken
        .map(|b| format!(" {} cannot be used: {}.", b.path, b.why))
        .unwrap_or_default();
    format!(
        "there is no role '{shown}'.{why} The roles are {}{more}",
        names.join(", ")
    )
}

/// Returns the tools of an agent that may not change anything itself and works through others.
pub fn delegating() -> ToolSelection {
    let names = ["write_file", "edit_file", "bash", "background_run"];
    ToolSelection {
        allowed: None,
        denied: names.iter().map(ToString::to_string).collect(),
    }
}
