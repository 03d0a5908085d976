//! Reads roles from the project, the user's folder and the built-in set.

mod built_in;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use super::markdown_files;
use crate::domain::role::{
    AgentRole, BrokenRole, ROLES_MAX, RoleCatalog, RoleFile, RoleNotice, RoleSource,
};
use crate::domain::text::one_line;
use built_in::BUILT_IN;

/// Reads the roles that are available in a project. Cheap to clone. Roles are not cached, so a changed file applies at
/// the next read.
#[derive(Debug, Clone)]
pub struct Roles {
    root: PathBuf,
    user: Option<PathBuf>,
    /// The names of all built-in tools.
    tools: Vec<&'static str>,
}

impl Roles {
    /// Opens the roles of the project in `root` and of the folder `user`, which has the user's roles. `tools` are
    /// the names of all built-in tools. Reads no file yet.
    pub fn open(root: &Path, user: Option<PathBuf>, tools: Vec<&'static str>) -> Roles {
        Roles {
            root: root.to_path_buf(),
            user,
            tools,
        }
    }

    /// Reads all roles. A file that cannot be used is reported in the catalog.
    pub fn read(&self) -> RoleCatalog {
        let mut catalog = RoleCatalog::default();
        let root = Some(self.root.as_path());
        if let Some(user) = &self.user {
            self.add_folder(&mut catalog, RoleSource::User, None, user);
        }
        self.add_folder(
            &mut catalog,
            RoleSource::Project,
            root,
            Path::new(".crewdeck/agents"),
        );
        self.add_folder(
            &mut catalog,
            RoleSource::Claude,
            root,
            Path::new(".claude/agents"),
        );
        for (stem, text) in BUILT_IN {
            add(
                &mut catalog,
                RoleSource::BuiltIn,
                stem,
                Path::new(""),
                Ok(text),
                &self.tools,
            );
        }
        reject_shadowed(&mut catalog);
        catalog.roles.sort_by_key(|r| r.name.to_lowercase());
        catalog.broken.sort();
        if catalog.broken.len() > ROLES_MAX {
            catalog.broken.truncate(ROLES_MAX);
            let why = format!("more than {ROLES_MAX} files cannot be used");
            catalog.incomplete.get_or_insert(why);
        }
        catalog
    }

    fn add_folder(
        &self,
        catalog: &mut RoleCatalog,
        source: RoleSource,
        root: Option<&Path>,
        folder: &Path,
    ) {
        let dir = match markdown_files::open(root, folder) {
            Ok(Some(dir)) => dir,
            Ok(None) => return,
            Err(why) => return add_unreadable(catalog, source, folder, why),
        };
        let found = markdown_files::read_all(&dir, ROLES_MAX);
        for (path, why) in found.unread {
            add_unreadable(catalog, source, &folder.join(path), why);
        }
        for (path, text) in &found.files {
            let stem = path
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            // A README describes the folder and is not a role.
            if stem.eq_ignore_ascii_case("readme") {
                continue;
            }
            let text = text.as_deref().map_err(String::as_str);
            add(
                catalog,
                source,
                &stem,
                &folder.join(path),
                text,
                &self.tools,
            );
        }
    }
}

fn add(
    catalog: &mut RoleCatalog,
    source: RoleSource,
    stem: &str,
    path: &Path,
    text: Result<&str, &str>,
    tools: &[&str],
) {
    let written = text.ok().and_then(written_name);
    let names = || [Some(stem.to_string()), written].into_iter().flatten();
    let parsed = text
        .map_err(str::to_string)
        .and_then(|text| RoleFile::parse(text, stem, tools).map_err(|e| e.to_string()));
    let file = match parsed {
        Ok(file) => file,
        Err(why) => return add_broken(catalog, source, path, why, names().collect()),
    };
    let role: AgentRole = file.into_role(source, one_line(&path.to_string_lossy()));
    if let Some(taken) = catalog.find(&role.name) {
        // The role with this name from a source with higher precedence is used. Two roles with the same name in one
        // source are an error.
        if taken.source == source {
            let why = format!(
                "its name '{}' is used by {}: choose another name",
                role.name, taken.path
            );
            add_broken(catalog, source, path, why, Vec::new());
        } else if taken.source == RoleSource::User && source != RoleSource::BuiltIn {
            let why = format!(
                "your own role '{}' ({}) is used instead: rename one to use both",
                taken.name, taken.path
            );
            add_broken(catalog, source, path, why, Vec::new());
        } else if source == RoleSource::BuiltIn && taken.source != RoleSource::User {
            let name = taken.name.clone();
            note_replacement(catalog, &name);
        }
    } else if catalog.roles.len() == ROLES_MAX {
        let why = format!("there are more than {ROLES_MAX} roles: remove some");
        add_broken(catalog, source, path, why, vec![role.name]);
    } else {
        catalog.roles.push(role);
    }
}

/// Adds a notice to the project's role `name` that says that the role replaces the built-in role of the same name. The
/// user must know this, because the limits of the built-in role do not apply then.
fn note_replacement(catalog: &mut RoleCatalog, name: &str) {
    for role in catalog.roles.iter_mut().filter(|role| role.name == name) {
        let text = format!("it replaces the built-in role '{}'", name.to_lowercase());
        role.notices.push(RoleNotice { line: 1, text });
    }
}

fn add_broken(
    catalog: &mut RoleCatalog,
    source: RoleSource,
    path: &Path,
    why: String,
    names: Vec<String>,
) {
    let path = one_line(&path.to_string_lossy());
    catalog.broken.push(BrokenRole {
        path,
        why,
        source,
        names,
    });
}

fn add_unreadable(catalog: &mut RoleCatalog, source: RoleSource, folder: &Path, why: String) {
    let shown = format!("{}: {why}", one_line(&folder.to_string_lossy()));
    catalog.incomplete.get_or_insert(shown);
    add_broken(catalog, source, folder, why, Vec::new());
}

/// Returns the name that a role file declares, even if its front matter is invalid: the value of the first line `name:
/// VALUE`, without quotes. Only the first 100 lines are searched, and the search ends at a line of 1,000 bytes or more.
/// Returns `None` if there is no such line or the value is empty.
fn written_name(text: &str) -> Option<String> {
    let lines = text.lines().take_while(|line| line.len() < 1000).take(100);
    let name = lines
        .filter_map(|line| line.split_once(':'))
        .find(|(key, _)| key.trim().eq_ignore_ascii_case("name"));
    let name = name.map(|(_, name)| name.trim().trim_matches(['"', '\'']).to_string());
    name.filter(|name| !name.is_empty())
}

/// Removes each role whose name is also the name of a broken role file, if that file is from the same source or from
/// one with higher precedence. The role must not replace the broken file, because the role may allow more than the file
/// was meant to allow.
fn reject_shadowed(catalog: &mut RoleCatalog) {
    let broken = &catalog.broken;
    let is_shadowed = |role: &AgentRole| {
        let mut earlier = broken.iter().filter(|b| b.source <= role.source);
        earlier.any(|b| b.has_name(&role.name))
    };
    catalog.roles.retain(|role| !is_shadowed(role));
}
