//! The MCP servers that the user declares. They need approval only where they would use files of the project.

use std::path::{Path, PathBuf};

use super::servers::ParsedServer;
use super::{ListedState, Loader};
use crate::config::approvals::{Decisions, SettingsDecision};
use crate::domain::mcp::{ServerSource, ServerTransport};

/// Options of package managers and build tools that name the folder in which they run.
const FOLDER_OPTIONS: &[&str] = &["--directory", "--prefix", "--dir", "--cwd", "-C"];

/// Returns the folder that one of the `FOLDER_OPTIONS` in `args` names as an absolute path; `None` if no option does.
/// The program then uses files of that folder, and not of the folder in which crewdeck starts the program.
pub(super) fn named_folder(args: &[String]) -> Option<PathBuf> {
    let after = args.windows(2).filter_map(|pair| match pair {
        [option, folder] if FOLDER_OPTIONS.contains(&option.as_str()) => Some(folder.as_str()),
        _ => None,
    });
    let joined = args.iter().filter_map(|arg| {
        let (option, folder) = arg.split_once('=')?;
        FOLDER_OPTIONS.contains(&option).then_some(folder)
    });
    let mut folders = after.chain(joined).map(PathBuf::from);
    folders.find(|folder| folder.is_absolute())
}

impl<F: FnOnce() -> Decisions> Loader<'_, F> {
    /// Adds the servers of the user's own file.
    pub(super) fn user_servers(&mut self, path: &Path) {
        let file = path.display().to_string();
        let Some(bytes) = self.read(path, &file) else {
            return;
        };
        let parsed = self.parse(&bytes, ServerSource::User, false);
        for (index, server) in parsed.servers.iter().enumerate() {
            let state = self.own_server_state(&file, index, server);
            self.list(server, state);
        }
        for text in parsed.problems {
            self.problem(&file, text);
        }
        self.list_unusable(parsed.unusable, ServerSource::User);
        self.out
            .servers
            .extend(parsed.servers.into_iter().map(|s| s.config));
    }

    /// Returns the state of a server that the user declares. A program needs approval only if it would run files of the
    /// project; a server over HTTP never does. Adds a program to the items whose approval is checked before each start.
    /// If it cannot be approved, also records a problem.
    pub(super) fn own_server_state(
        &mut self,
        file: &str,
        index: usize,
        server: &ParsedServer,
    ) -> ListedState {
        if matches!(server.config.transport, ServerTransport::Http { .. }) {
            return ListedState::Approved;
        }
        let decision = match self.approve_server(file, index, server, &[]) {
            Ok(decision) => decision,
            Err(why) => {
                self.problem(file, why.clone());
                return ListedState::Problem(why);
            }
        };
        let name = &server.config.name;
        let needs_approval = self
            .out
            .trust
            .items()
            .any(|item| item.is_own && item.name == *name);
        match decision {
            _ if !needs_approval => ListedState::Approved,
            Some(SettingsDecision::Approved) => ListedState::Approved,
            Some(SettingsDecision::Ignored) => ListedState::Ignored,
            None => ListedState::NeedsApproval,
        }
    }
}
