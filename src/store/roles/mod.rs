//! Reads roles from the project, the user's folder and the built-in set.

mod built_in;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use super::markdown_files;
use crate::domain::role::{AgentRole, BrokenRole, ROLES_MAX, RoleCatalog, RoleFile, RoleSource};
use crate::domain::text::one_line;
use built_in::BUILT_IN;

/// Reads the roles that are available in a root. Cheap to clone; keeps nothing in memory, so that changes apply at once.
#[derive(Debug, Clone)]
pub struct Roles {
    root: PathBuf,
    user: Option<PathBuf>,
}

impl Roles {
    /// Opens the roles of `root` and of the folder `user`. Reads nothing yet.
    pub fn open(root: &Path, user: Option<PathBuf>) -> Roles {
        Roles {
            root: root.to_path_buf(),
            user,
        }
    }

    /// Returns all roles and the files that cannot be used.
    pub fn read(&self) -> RoleCatalog {
        let mut catalog = RoleCatalog::default();
        let root = Some(self.root.as_path());
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
        if let Some(user) = &self.user {
            self.add_folder(&mut catalog, RoleSource::User, None, user);
        }
        for (stem, text) in BUILT_IN {
            add(
                &mut catalog,
                RoleSource::BuiltIn,
                stem,
                Path::new(""),
                Ok((*text).to_string()),
            );
        }
        catalog.roles.sort_by_key(|r| r.name.to_lowercase());
        catalog.broken.sort();
        catalog.broken.truncate(ROLES_MAX);
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
            Err(why) => return add_broken(catalog, folder, why),
        };
        for (path, text) in markdown_files::read_all(&dir, ROLES_MAX) {
            let stem = path
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            // Explains the folder to readers.
            if stem.eq_ignore_ascii_case("readme") {
                continue;
            }
            add(catalog, source, &stem, &folder.join(&path), text);
        }
    }
}

fn add(
    catalog: &mut RoleCatalog,
    source: RoleSource,
    stem: &str,
    path: &Path,
    text: Result<String, String>,
) {
    let parsed = text.and_then(|text| RoleFile::parse(&text, stem).map_err(|e| e.to_string()));
    let file = match parsed {
        Ok(file) => file,
        Err(why) => return add_broken(catalog, path, why),
    };
    let role: AgentRole = file.into_role(source, one_line(&path.to_string_lossy()));
    if let Some(taken) = catalog.find(&role.name) {
        // A role may override one of a later source. Two of one name in the same source are an error.
        if taken.source == source {
            let why = format!(
                "its name '{}' is used by {}: choose another name",
                role.name, taken.path
            );
            add_broken(catalog, path, why);
        }
    } else if catalog.roles.len() == ROLES_MAX {
        add_broken(
            catalog,
            path,
            format!("there are more than {ROLES_MAX} roles"),
        );
    } else {
        catalog.roles.push(role);
    }
}

fn add_broken(catalog: &mut RoleCatalog, path: &Path, why: String) {
    let path = one_line(&path.to_string_lossy());
    catalog.broken.push(BrokenRole { path, why });
}
