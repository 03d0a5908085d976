//! Reads the roles and gives them to the agents of a crew.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use super::context::{CrewContext, lock};
use crate::agent::driver::run_blocking;
use crate::domain::memory::{GivenSource, GivenText};
use crate::domain::role::{AgentRole, ROLES_MAX, RoleCatalog, RoleNotice, ToolSelection};
use crate::domain::team::Member;
use crate::domain::text::{clip, head_and_tail, join_names, one_line};
use crate::protocol::event::NoticeLevel;
use crate::store::{Roles, Skills};

/// Maximum size, in bytes, of the texts of all skills of one role together.
const SKILLS_TEXT_MAX: usize = 64 * 1024;
/// Maximum number of roles that the error about an unknown role name lists.
const NAMED_MAX: usize = 40;
/// Maximum number of published notices about one role's file. If there are more, a last notice says how many are not
/// shown.
const NOTICES_MAX: usize = 5;

/// A role with the text of its skills, as the files were when the agent started.
#[derive(Debug, Clone)]
pub struct AppliedRole {
    pub role: AgentRole,
    /// The section of the system prompt with the role's own prompt and the texts of its skills. Empty if there are
    /// none.
    pub text: String,
    /// The parts of `text` with their sources, to be shown to the user.
    pub given: Vec<GivenText>,
}

/// Reads the role files each time that an agent needs a role.
pub struct RoleBook {
    context: Arc<CrewContext>,
    roles: Roles,
    skills: Skills,
    /// The notices about each role's file, by its path, that were published last.
    published: Mutex<BTreeMap<String, Vec<RoleNotice>>>,
}

impl RoleBook {
    pub fn new(context: Arc<CrewContext>, roles: Roles, skills: Skills) -> RoleBook {
        RoleBook {
            context,
            roles,
            skills,
            published: Mutex::default(),
        }
    }

    async fn catalog(&self) -> Result<RoleCatalog, String> {
        let roles = self.roles.clone();
        let read = run_blocking(move || Ok(roles.read())).await;
        read.map_err(|error| error.to_string())
    }

    /// Returns the list of roles for the lead's system prompt, with secrets redacted. Lists none if the role files
    /// cannot be read. Publishes a warning for each role file that cannot be used.
    pub async fn prompt_list(&self) -> String {
        let catalog = self.catalog().await.unwrap_or_default();
        for broken in &catalog.broken {
            let text = format!(
                "The role file {} cannot be used: {}",
                broken.path, broken.why
            );
            self.context.notice(NoticeLevel::Warn, text).await;
        }
        self.context
            .event_sender
            .redactor()
            .text(&catalog.prompt_list())
            .into_owned()
    }

    /// Returns the role whose name is `text`; `None` if no role has that name. `text` is then a free description of an
    /// agent's work.
    ///
    /// # Errors
    /// Fails if `text` is the name of a role whose file cannot be used, or if not all role files can be read.
    pub async fn find(&self, text: &str) -> Result<Option<AppliedRole>, String> {
        let catalog = self.catalog().await?;
        let found = catalog
            .resolve(text)
            .map_err(|why| format!("the role '{}' cannot be used: {why}", format_name(text)))?;
        match found {
            Some(role) => Ok(Some(self.with_skills(role.clone()).await)),
            None => Ok(None),
        }
    }

    /// Returns the role named `name`.
    ///
    /// # Errors
    /// Fails if there is no such role; the error lists the existing roles. Also fails when [`RoleBook::find`] fails.
    pub async fn require(&self, name: &str) -> Result<AppliedRole, String> {
        match self.find(name).await? {
            Some(role) => Ok(role),
            None => Err(unknown(name, &self.catalog().await?)),
        }
    }

    /// Returns the role of a member of a resumed session, and further limits on the member's tools. If the role no
    /// longer exists or cannot be used, the limits permit only tools that read files, and a warning says why.
    pub async fn of_restored(&self, member: &Member) -> (Option<AppliedRole>, Vec<ToolSelection>) {
        let why = match self.find(&member.role).await {
            Ok(None) if member.role_defined => {
                format!("the role '{}' no longer exists", format_name(&member.role))
            }
            Ok(role) => return (role, Vec::new()),
            Err(why) => why,
        };
        let text = format!(
            "{} can only read files: {why}. Restore or correct the role's file, then resume the session again.",
            member.name
        );
        self.context.notice(NoticeLevel::Warn, text).await;
        (None, vec![ToolSelection::reading()])
    }

    /// Publishes the notices about the file of a role that an agent gets, at most [`NOTICES_MAX`]. A notice names a
    /// line that has no effect, or another effect than expected. If the notices are the same as at the last call, does
    /// not publish them again.
    async fn publish_notices(&self, role: &AgentRole) {
        {
            let mut published = lock(&self.published);
            let earlier = published.get(&role.path);
            if earlier.map_or(&[][..], Vec::as_slice) == role.notices {
                return;
            }
            if published.len() >= ROLES_MAX {
                published.clear();
            }
            published.insert(role.path.clone(), role.notices.clone());
        }
        let (name, path) = (&role.name, &role.path);
        for notice in role.notices.iter().take(NOTICES_MAX) {
            let text = format!("Role {name}: {path}:{}: {}", notice.line, notice.text);
            self.context.notice(NoticeLevel::Warn, text).await;
        }
        let more = role.notices.len().saturating_sub(NOTICES_MAX);
        if more > 0 {
            let text = format!(
                "Role {name}: notices not shown: {more}. To list all, run crewdeck agents show {name}."
            );
            self.context.notice(NoticeLevel::Warn, text).await;
        }
    }

    async fn with_skills(&self, role: AgentRole) -> AppliedRole {
        self.publish_notices(&role).await;
        let redactor = self.context.event_sender.redactor();
        let mut given = Vec::new();
        let mut parts = Vec::new();
        if !role.prompt.is_empty() {
            let name = match role.path.as_str() {
                "" => format!("{} (built in)", role.name),
                path => format!("{} ({path})", role.name),
            };
            let text = redactor.text(&role.prompt);
            given.push(GivenText::whole(GivenSource::Role, name, &text));
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
            run_blocking(load).await.unwrap_or_default()
        };
        let mut room = SKILLS_TEXT_MAX;
        for (skill, name) in loaded {
            let Some(skill) = skill else {
                let text = format!(
                    "The role {} names the skill {name}, which does not exist: correct the role or add the skill.",
                    role.name
                );
                self.context.notice(NoticeLevel::Warn, text).await;
                continue;
            };
            let body = head_and_tail(&skill.body, room);
            room = room.saturating_sub(body.len());
            given.push(GivenText {
                size: skill.body.len(),
                ..GivenText::whole(GivenSource::Skill, &skill.skill.name, &redactor.text(&body))
            });
            parts.push(format!(
                "<skill name=\"{}\">\n{body}\n</skill>",
                skill.skill.name
            ));
        }
        let text = parts.join("\n");
        AppliedRole {
            role,
            text: redactor.text(&text).into_owned(),
            given,
        }
    }
}

fn format_name(name: &str) -> String {
    one_line(&clip(name, 80))
}

fn unknown(name: &str, catalog: &RoleCatalog) -> String {
    let names: Vec<String> = catalog.roles.iter().map(|r| r.name.clone()).collect();
    format!(
        "there is no role '{}': the roles are {}",
        format_name(name),
        join_names(&names, NAMED_MAX, names.len())
    )
}
