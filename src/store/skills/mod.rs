//! Reads skills from the project, the user's folder and the built-in set.

mod built_in;
mod find;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use crate::domain::skill::{
    BrokenSkill, SKILLS_MAX, Skill, SkillBook, SkillFile, SkillSource, same,
};
use crate::domain::text::one_line;
use built_in::BUILT_IN;
use find::{Finds, Shelf};

/// Most folders that are watched. Changes in further folders are found by polling.
const WATCHED_MAX: usize = 128;

/// The skills of a root. Cheap to clone; keeps nothing in memory, so that changes apply at once.
#[derive(Debug, Clone)]
pub struct Skills {
    root: PathBuf,
    user: Option<PathBuf>,
}

/// Hash that changes when a SKILL.md is added, changed or deleted. Comparable only within one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint(u64);

/// A skill and its instructions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadedSkill {
    pub skill: Skill,
    /// The instructions for the agent, bounded in length.
    pub body: String,
    /// The skill's folder, relative to the root, if it contains other files besides SKILL.md. `None` for skills outside of
    /// the root.
    pub folder: Option<PathBuf>,
}

impl Skills {
    /// Opens the skills of `root` and of the folder `user`. Reads nothing yet.
    pub fn open(root: &Path, user: Option<PathBuf>) -> Skills {
        Skills {
            root: root.to_path_buf(),
            user,
        }
    }

    /// Returns all skills and the files that cannot be used.
    pub fn read(&self) -> SkillBook {
        let (loaded, broken) = self.scan();
        SkillBook {
            skills: loaded.into_iter().map(|l| l.skill).collect(),
            broken,
        }
    }

    /// Reads one skill from disk. The name is not case-sensitive.
    ///
    /// # Errors
    /// All existing skills, if none has the name.
    pub fn load(&self, name: &str) -> Result<LoadedSkill, SkillBook> {
        let (mut loaded, broken) = self.scan();
        match loaded.iter().position(|l| same(&l.skill.name, name)) {
            Some(at) => Ok(loaded.swap_remove(at)),
            None => Err(SkillBook {
                skills: loaded.into_iter().map(|l| l.skill).collect(),
                broken,
            }),
        }
    }

    /// Returns a hash of the metadata of all SKILL.md files. Reads no file contents.
    pub fn fingerprint(&self) -> Fingerprint {
        let mut hasher = DefaultHasher::new();
        for place in self.places() {
            match place.finds() {
                Ok(Some((_, finds))) => {
                    for file in &finds.files {
                        (&file.path, &file.stamp).hash(&mut hasher);
                    }
                    finds.odd.hash(&mut hasher);
                }
                Ok(None) => 0.hash(&mut hasher),
                Err(why) => why.hash(&mut hasher),
            }
        }
        Fingerprint(hasher.finish())
    }

    /// Returns the skills with another path of the root.
    pub(super) fn of(&self, root: &Path) -> Skills {
        Skills::open(root, self.user.clone())
    }

    /// Returns the folders to watch: the skills folders with their subfolders and the parents in which a skills folder can
    /// be created; at most [`WATCHED_MAX`].
    pub(super) fn folders(&self) -> Vec<PathBuf> {
        let mut all = BTreeSet::new();
        for place in self.places() {
            let folder = place.path();
            let above = folder.parent().filter(|above| above.is_dir());
            all.extend(above.map(Path::to_path_buf));
            all.extend(place.root.map(Path::to_path_buf));
            if let Ok(Some((_, finds))) = place.finds() {
                all.extend(finds.within.iter().map(|inside| folder.join(inside)));
            }
        }
        all.into_iter().take(WATCHED_MAX).collect()
    }

    /// Returns whether a change of `path` can affect a skill.
    pub(super) fn concerns(&self, path: &Path) -> bool {
        self.places().iter().any(|place| {
            let folder = place.path();
            path.starts_with(&folder) || (folder.starts_with(path) && place.root != Some(path))
        })
    }

    /// Returns the skills folders in order of precedence. If two have a skill of the same name, the first wins.
    fn places(&self) -> Vec<Place<'_>> {
        let below_root = |source, folder: &'static str| Place {
            source,
            root: Some(&self.root),
            folder: Path::new(folder),
        };
        let mut places = vec![
            below_root(SkillSource::Project, "skills"),
            below_root(SkillSource::Claude, ".claude/skills"),
        ];
        places.extend(self.user.as_deref().map(|folder| Place {
            source: SkillSource::User,
            root: None,
            folder,
        }));
        places
    }

    fn scan(&self) -> (Vec<LoadedSkill>, Vec<BrokenSkill>) {
        let mut scan = Scan::default();
        for place in self.places() {
            scan.place(&place);
        }
        for (folder, text) in BUILT_IN {
            let path = format!("skills/{folder}/SKILL.md (built in)");
            scan.file(text, folder, SkillSource::BuiltIn, path, None);
        }
        scan.end()
    }
}

/// A skills folder.
struct Place<'a> {
    source: SkillSource,
    /// The folder that must contain the skills folder; `None`: no restriction.
    root: Option<&'a Path>,
    folder: &'a Path,
}

impl Place<'_> {
    fn path(&self) -> PathBuf {
        self.root
            .map_or_else(|| self.folder.to_path_buf(), |root| root.join(self.folder))
    }

    fn finds(&self) -> Result<Option<(Shelf, Finds)>, String> {
        let shelf = Shelf::open(self.root, self.folder)?;
        Ok(shelf.map(|shelf| {
            let finds = shelf.find();
            (shelf, finds)
        }))
    }

    /// Returns a path in the folder for display.
    fn shown(&self, path: &Path) -> String {
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
    fn place(&mut self, place: &Place<'_>) {
        let (shelf, finds) = match place.finds() {
            Ok(Some(found)) => found,
            Ok(None) => return,
            Err(why) => return self.broken(place.shown(Path::new("")), why),
        };
        for (path, why) in &finds.odd {
            self.broken(place.shown(path), why.clone());
        }
        for file in &finds.files {
            let shown = place.shown(&file.path);
            // A SKILL.md directly in the skills folder is named after that folder.
            let below = file.path.parent().and_then(Path::file_name);
            let folder = below.or(place.folder.file_name()).unwrap_or_default();
            let inside = file.path.parent().unwrap_or(Path::new(""));
            let beside = place.root.is_some() && shelf.has_more(&file.path);
            let beside = beside.then(|| place.folder.join(inside));
            match shelf.read(&file.path) {
                Ok(text) => self.file(
                    &text,
                    &folder.to_string_lossy(),
                    place.source,
                    shown,
                    beside,
                ),
                Err(why) => self.broken(shown, why),
            }
        }
    }

    fn file(
        &mut self,
        text: &str,
        folder: &str,
        source: SkillSource,
        path: String,
        beside: Option<PathBuf>,
    ) {
        let file = match SkillFile::parse(text, folder) {
            Ok(file) => file,
            Err(error) => return self.broken(path, error.to_string()),
        };
        let taken = self.loaded.iter().find(|l| same(&l.skill.name, &file.name));
        if let Some(taken) = taken {
            // A skill may override one of a later source. Two of one name in the same source are an error.
            if taken.skill.source == source {
                let why = format!(
                    "its name '{}' is used by {}: choose another name",
                    file.name, taken.skill.path
                );
                self.broken(path, why);
            }
            return;
        }
        if self.loaded.len() == SKILLS_MAX {
            let why = format!("it is left out: there are more than {SKILLS_MAX} skills");
            return self.broken(path, why);
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
            folder: beside,
        });
    }

    fn broken(&mut self, path: String, why: String) {
        self.broken.push(BrokenSkill { path, why });
    }

    fn end(mut self) -> (Vec<LoadedSkill>, Vec<BrokenSkill>) {
        self.loaded.sort_by_key(|l| l.skill.name.to_lowercase());
        self.broken.sort();
        if self.broken.len() > SKILLS_MAX {
            let more = self.broken.split_off(SKILLS_MAX - 1).len();
            self.broken(
                "…".into(),
                format!("{more} more cannot be used: fix these first"),
            );
        }
        (self.loaded, self.broken)
    }
}
