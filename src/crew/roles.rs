//! The roles that agents can get.

use std::sync::Arc;

use super::context::CrewContext;
use crate::agent::driver::blocking;
use crate::domain::role::{AgentRole, RoleCatalog, ToolSelection};
use crate::domain::team::Member;
use crate::domain::text::{clip, head_and_tail, one_line};
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

    async fn catalog(&self) -> Result<RoleCatalog, String> {
        let roles = self.roles.clone();
        let read = blocking(move || Ok(roles.read())).await;
        read.map_err(|error| error.to_string())
    }

    /// Returns the list of roles for the lead's prompt, and tells the user which files cannot be used.
    pub async fn prompt_list(&self) -> String {
        let catalog = self.catalog().await.unwrap_or_default();
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

    /// Returns the role that `text` names; `None` if it is a free description of what an agent does.
    ///
    /// # Errors
    /// The text names a role whose file cannot be used.
    pub async fn find(&self, text: &str) -> Result<Option<AppliedRole>, String> {
        let catalog = self.catalog().await?;
        let found = catalog
            .resolve(text)
            .map_err(|why| format!("the role '{}' cannot be used: {why}", shown(text)))?;
        match found {
            Some(role) => Ok(Some(self.with_skills(role.clone()).await)),
            None => Ok(None),
        }
    }

    /// Returns the role with that name.
    ///
    /// # Errors
    /// An unknown name is an error that lists the roles, or says why the file of the role cannot be used.
    pub async fn require(&self, name: &str) -> Result<AppliedRole, String> {
        match self.find(name).await? {
            Some(role) => Ok(role),
            None => Err(unknown(name, &self.catalog().await?)),
        }
    }

    /// Returns the role and the limits with which a member of a resumed session continues. A member whose role is gone
    /// or cannot be used only reads, and a notice says why.
    pub async fn of_restored(&self, member: &Member) -> (Option<AppliedRole>, Vec<ToolSelection>) {
        let why = match self.find(&member.role).await {
            Ok(None) if member.role_defined => {
                format!("the role '{}' no longer exists", shown(&member.role))
            }
            Ok(role) => return (role, Vec::new()),
            Err(why) => why,
        };
        let text = format!(
            "{} can only read files: {why}. Correct the role's file, then resume the session again.",
            member.name
        );
        self.context.notice(NoticeLevel::Warn, text).await;
        (None, vec![ToolSelection::reading()])
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

fn shown(name: &str) -> String {
    one_line(&clip(name, 80))
}

fn unknown(name: &str, catalog: &RoleCatalog) -> String {
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
    format!(
        "there is no role '{}': the roles are {}{more}",
        shown(name),
        names.join(", ")
    )
}
