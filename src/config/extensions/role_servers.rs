//! MCP servers that the files of roles declare. Only agents with the role can use such a server. The servers of a
//! project's roles need approval, as those in `.mcp.json` do.

use std::path::Path;

use serde_json::{Value, json};

use super::json::{self, format_line};
use super::{ListedServer, ListedState, Loader};
use crate::config::approvals::{Decisions, SettingsDecision};
use crate::domain::mcp::{ServerConfig, ServerSource};
use crate::domain::role::{RoleFile, RoleServer, RoleSource};
use crate::store::{Roles, regular_file};
use crate::tools::table;

/// The project's folders with roles, relative to the project root.
const FOLDERS: &[&str] = &[".crewdeck/agents", ".claude/agents"];

/// A server as the file of a role declares it.
struct RoleEntry<'a> {
    role: &'a str,
    source: ServerSource,
    /// The path of the role's file; relative to the project root if the file is in the project.
    file: &'a str,
    /// The position among the servers of the role, counted from 0.
    index: usize,
    name: &'a str,
    config: &'a Value,
}

impl<F: FnOnce() -> Decisions> Loader<'_, F> {
    /// Adds the servers that the files of the project's and the user's roles declare.
    pub(super) fn role_servers(&mut self, user: Option<&Path>) {
        let user = user.map(|folder| folder.join("agents"));
        let in_project = FOLDERS.iter().map(|folder| self.root.join(folder));
        if !in_project.chain(user.clone()).any(|folder| folder.is_dir()) {
            return;
        }
        let roles = Roles::open(self.root, user, table::names()).read().roles;
        let is_inline = |server: &RoleServer| matches!(server, RoleServer::Inline { .. });
        for role in roles {
            let source = match role.source {
                RoleSource::Project | RoleSource::Claude => ServerSource::Project,
                RoleSource::User => ServerSource::User,
                RoleSource::BuiltIn => continue,
            };
            if !role.servers.iter().flatten().any(is_inline) {
                continue;
            }
            // The file is read again, so that the servers come from the same bytes that the approval covers.
            let read = regular_file::read(&self.root.join(&role.path), json::FILE_MAX);
            let bytes = read.unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes);
            let Ok(file) = RoleFile::parse(&text, &role.name, &table::names()) else {
                let why = "the file changed while crewdeck read it: restart crewdeck";
                self.problem(&role.path, why.into());
                continue;
            };
            let parsed = file.into_role(role.source, role.path.clone());
            for (index, server) in parsed.servers.iter().flatten().enumerate() {
                if let RoleServer::Inline { name, config } = server {
                    let entry = RoleEntry {
                        role: &role.name,
                        source,
                        file: &role.path,
                        index,
                        name,
                        config,
                    };
                    self.role_server(&entry, &bytes);
                }
            }
        }
    }

    fn role_server(&mut self, entry: &RoleEntry<'_>, bytes: &[u8]) {
        let name = format_line(entry.name);
        if let Some(taken) = self.out.servers.iter().find(|s| s.name == entry.name) {
            let whose = match (&taken.role, taken.source) {
                (Some(role), _) => format!("the role {role} has"),
                (None, ServerSource::Project) => "the project has".into(),
                (None, ServerSource::User) => "you have".into(),
            };
            let why =
                format!("{whose} a server of this name, which is used instead: rename one of them");
            self.problem(entry.file, format!("server {name}: {why}"));
            return;
        }
        let withholds = entry.source == ServerSource::Project;
        let file = json!({"mcpServers": {entry.name: entry.config}});
        let file = serde_json::to_vec(&file).unwrap_or_default();
        let parsed = self.parse(&file, entry.source, withholds);
        for text in parsed.problems {
            self.problem(entry.file, text);
        }
        for (name, why) in parsed.unusable {
            self.out.listing.push(ListedServer {
                name,
                source: entry.source,
                role: Some(entry.role.into()),
                target: String::new(),
                state: ListedState::Problem(why),
            });
        }
        let role = Some(entry.role.to_string());
        for mut server in parsed.servers {
            server.config.role.clone_from(&role);
            let state = match entry.source {
                ServerSource::User => self.own_server_state(entry.file, entry.index, &server),
                ServerSource::Project => {
                    match self.approve_server(entry.file, entry.index, &server, bytes) {
                        Ok(Some(SettingsDecision::Approved)) => ListedState::Approved,
                        Ok(Some(SettingsDecision::Ignored)) => ListedState::Ignored,
                        Ok(None) => ListedState::NeedsApproval,
                        Err(why) => {
                            self.problem(entry.file, why.clone());
                            ListedState::Problem(why)
                        }
                    }
                }
            };
            let gets_secrets = state == ListedState::Approved && server.is_withheld;
            self.list(&server, state);
            let whole = if gets_secrets {
                self.parse(&file, entry.source, false).servers.pop()
            } else {
                None
            };
            let config = whole.map_or(server.config, |whole| ServerConfig {
                role: role.clone(),
                ..whole.config
            });
            self.out.servers.push(config);
        }
    }
}
