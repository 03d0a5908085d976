//! Reads skills from the project, the user's folder and the built-in set.

mod built_in;
mod commands;
mod find;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use crate::domain::skill::{
    BrokenSkill, SKILLS_MAX, Skill, SkillCatalog, SkillFile, SkillSource, same,
};
use crate::domain::text::one_line;
use built_in::BUILT_IN;
use find::{SearchResult, SkillsDir};

/// Maximum number of folders to watch for changes of skills. Changes in further folders are found by polling.
const WATCHED_MAX: usize = 128;

/// Reads the skills that are available in a project. Cheap to clone. Skills are not cached, so a changed file applies
/// at the next read.
#[derive(Debug, Clone)]
pub struct Skills {
    root: PathBuf,
    user: Option<PathBuf>,
    /// The id of the session, which replaces the variable `CLAUDE_SESSION_ID` in commands; empty if there is no
    /// session.
    session: String,
}

/// Hash that changes when a SKILL.md or a command file is added, changed or deleted. Hashes of different processes cannot
/// be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SkillsFingerprint(u64);

/// A skill and its instructions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadedSkill {
    pub skill: Skill,
    /// The instructions for the agent, at most [`crate::domain::skill::BODY_MAX`] bytes (63 KiB). If longer
    /// instructions were cut, a note about this follows.
    pub body: String,
    /// The skill's folder, relative to the project's root. `None` if the folder contains no other file besides SKILL.md, and
    /// for skills outside of the root, built-in skills, and a SKILL.md directly in the skills folder.
    pub folder: Option<PathBuf>,
}

impl Skills {
    /// Opens the skills of the project in `root` and of the folder `user`, which has the user's skills. Reads nothing
    /// yet.
    pub fn open(root: &Path, user: Option<PathBuf>) -> Skills {
        Skills {
            root: root.to_path_buf(),
            user,
            session: String::new(),
        }
    }

    /// Returns these skills with the id of the session, which commands can contain as a variable.
    #[must_use]
    pub fn with_session(self, session: &str) -> Skills {
        let session = session.to_string();
        Skills { session, ..self }
    }

    /// Returns all skills, the slash commands of command files and skills, and the files that cannot be used.
    pub fn read(&self) -> SkillCatalog {
        let (loaded, mut broken) = self.scan();
        let skills: Vec<Skill> = loaded.into_iter().map(|l| l.skill).collect();
        let (commands, more_broken) = self.commands(&skills);
        broken.extend(more_broken);
        SkillCatalog {
            skills,
            broken,
            commands,
        }
    }

    /// Reads one skill from disk. The name is not case-sensitive.
    ///
    /// # Errors
    /// If no skill has the name, returns the catalog of all skills, without the slash commands.
    pub fn load(&self, name: &str) -> Result<LoadedSkill, SkillCatalog> {
        let (mut loaded, broken) = self.scan();
        match loaded.iter().position(|l| same(&l.skill.name, name)) {
            Some(at) => Ok(loaded.swap_remove(at)),
            None => Err(SkillCatalog {
                skills: loaded.into_iter().map(|l| l.skill).collect(),
                broken,
                commands: Vec::new(),
            }),
        }
    }

    /// Returns a hash of the metadata of all SKILL.md files and command files. Reads no file contents.
    pub fn fingerprint(&self) -> SkillsFingerprint {
        let mut hasher = DefaultHasher::new();
        for location in self.locations() {
            match location.search() {
                Ok(Some((_, found))) => {
                    for file in &found.files {
                        (&file.path, &file.version).hash(&mut hasher);
                    }
                    found.unusable.hash(&mut hasher);
                }
                Ok(None) => 0.hash(&mut hasher),
                Err(why) => why.hash(&mut hasher),
            }
        }
        self.hash_command_files(&mut hasher);
        SkillsFingerprint(hasher.finish())
    }

    /// Returns the skills of another `root`, with the same user folder and without the id of a session.
    pub(super) fn with_root(&self, root: &Path) -> Skills {
        Skills::open(root, self.user.clone())
    }

    /// Returns the folders to watch, at most [`WATCHED_MAX`]: the skills folders and the commands folder, their
    /// subfolders, and the existing folders above them, in which such a folder may be created later.
    pub(super) fn folders(&self) -> Vec<PathBuf> {
        let mut all = BTreeSet::new();
        for location in self.locations() {
            let folder = location.path();
            let above = folder.parent().filter(|above| above.is_dir());
            all.extend(above.map(Path::to_path_buf));
            all.extend(location.root.map(Path::to_path_buf));
            if let Ok(Some((_, found))) = location.search() {
                all.extend(found.visited.iter().map(|inside| folder.join(inside)));
            }
        }
        all.extend(self.command_folders(WATCHED_MAX));
        all.into_iter().take(WATCHED_MAX).collect()
    }

    /// Returns whether a change of `path` can affect a skill or a command file.
    pub(super) fn concerns(&self, path: &Path) -> bool {
        let commands = self.commands_folder();
        let is_command =
            path.starts_with(&commands) || (commands.starts_with(path) && path != self.root);
        is_command
            || self.locations().iter().any(|location| {
                let folder = location.path();
                path.starts_with(&folder)
                    || (folder.starts_with(path) && location.root != Some(path))
            })
    }

    /// Returns the skills folders in order of precedence. If two folders contain a skill of the same name, the skill in
    /// the first of them is used.
    fn locations(&self) -> Vec<SkillLocation<'_>> {
        let below_root = |source, folder: &'static str| SkillLocation {
            source,
            root: Some(&self.root),
            folder: Path::new(folder),
        };
        let mut locations = vec![
            below_root(SkillSource::Project, "skills"),
            below_root(SkillSource::Claude, ".claude/skills"),
        ];
        locations.extend(self.user.as_deref().map(|folder| SkillLocation {
            source: SkillSource::User,
            root: None,
            folder,
        }));
        locations
    }

    fn scan(&self) -> (Vec<LoadedSkill>, Vec<BrokenSkill>) {
        let mut scan = Scan::default();
        for location in self.locations() {
            scan.add_location(&location);
        }
        for (folder, text) in BUILT_IN {
            let path = format!("skills/{folder}/SKILL.md (built in)");
            scan.add_skill(text, folder, SkillSource::BuiltIn, path, None);
        }
        scan.finish()
    }
}

/// A folder that is searched for skills. The path `folder` is relative to `root` if a root is set.
struct SkillLocation<'a> {
    source: SkillSource,
    /// The folder that must contain the skills folder; `None` if the skills folder may be anywhere.
    root: Option<&'a Path>,
    folder: &'a Path,
}

impl SkillLocation<'_> {
    fn path(&self) -> PathBuf {
        self.root
            .map_or_else(|| self.folder.to_path_buf(), |root| root.join(self.folder))
    }

    fn search(&self) -> Result<Option<(SkillsDir, SearchResult)>, String> {
        let dir = SkillsDir::open(self.root, self.folder)?;
        Ok(dir.map(|dir| {
            let found = dir.search();
            (dir, found)
        }))
    }

    /// Returns the text to display for `path`, which is relative to the skills folder.
    fn format_path(&self, path: &Path) -> String {
        let path = if path.as_os_str().is_empty() {
            self.folder.to_path_buf()
        } else {
            self.folder.join(path)
        };
        one_line(&path.to_string_lossy())
    }
}

/// Collects skills from all sources.
#[derive(Default)]
struct Scan {
    loaded: Vec<LoadedSkill>,
    broken: Vec<BrokenSkill>,
}

impl Scan {
    fn add_location(&mut self, location: &SkillLocation<'_>) {
        let (dir, found) = match location.search() {
            Ok(Some(found)) => found,
            Ok(None) => return,
            Err(why) => return self.add_broken(location.format_path(Path::new("")), why),
        };
        for (path, why) in &found.unusable {
            self.add_broken(location.format_path(path), why.clone());
        }
        for file in &found.files {
            let shown = location.format_path(&file.path);
            // A SKILL.md directly in the skills folder is named after that folder.
            let below = file.path.parent().and_then(Path::file_name);
            let folder = below.or(location.folder.file_name()).unwrap_or_default();
            let inside = file.path.parent().unwrap_or(Path::new(""));
            let has_extra_files = location.root.is_some() && dir.has_other_files(&file.path);
            let extra_files_folder = has_extra_files.then(|| location.folder.join(inside));
            match dir.read(&file.path) {
                Ok(text) => self.add_skill(
                    &text,
                    &folder.to_string_lossy(),
                    location.source,
                    shown,
                    extra_files_folder,
                ),
                Err(why) => self.add_broken(shown, why),
            }
        }
    }

    fn add_skill(
        &mut self,
        text: &str,
        folder: &str,
        source: SkillSource,
        path: String,
        extra_files_folder: Option<PathBuf>,
    ) {
        let file = match SkillFile::parse(text, folder) {
            Ok(file) => file,
            Err(error) => return self.add_broken(path, error.to_string()),
        };
        let taken = self.loaded.iter().find(|l| same(&l.skill.name, &file.name));
        if let Some(taken) = taken {
            // The skill with this name from a source with higher precedence is used. Two skills with the same name in
            // one source are an error.
            if taken.skill.source == source {
                let why = format!(
                    "its name '{}' is used by {}: choose another name",
                    file.name, taken.skill.path
                );
                self.add_broken(path, why);
            }
            return;
        }
        if self.loaded.len() == SKILLS_MAX {
            let why = format!("there are more than {SKILLS_MAX} skills: remove some");
            return self.add_broken(path, why);
        }
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        self.loaded.push(LoadedSkill {
            skill: Skill {
                name: file.name,
                description: file.description,
                tags: file.tags,
                source,
                path: match source {
                    SkillSource::BuiltIn => String::new(),
                    SkillSource::Project | SkillSource::Claude | SkillSource::User => path,
                },
                version: hasher.finish(),
            },
            body: file.body,
            folder: extra_files_folder,
        });
    }

    fn add_broken(&mut self, path: String, why: String) {
        self.broken.push(BrokenSkill { path, why });
    }

    fn finish(mut self) -> (Vec<LoadedSkill>, Vec<BrokenSkill>) {
        self.loaded.sort_by_key(|l| l.skill.name.to_lowercase());
        self.broken.sort();
        if self.broken.len() > SKILLS_MAX {
            let more = self.broken.split_off(SKILLS_MAX - 1).len();
            self.add_broken(
                "…".into(),
                format!("{more} more skills cannot be used: fix the listed ones first"),
            );
        }
        (self.loaded, self.broken)
    }
}
