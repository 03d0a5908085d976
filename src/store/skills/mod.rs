//! The Skills door: the project's, the person's and the built-in skills. It only reads.

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

/// Most folders that are watched; changes in others are found by looking.
const WATCHED_MAX: usize = 128;

/// The skills of a root. Cheap to clone; holds nothing in memory, so that a change counts at once.
#[derive(Debug, Clone)]
pub struct Skills {
    root: PathBuf,
    user: Option<PathBuf>,
}

/// Another value when a SKILL.md came, changed or went. It means nothing in another process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint(u64);

/// A skill with its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadedSkill {
    /// The skill.
    pub skill: Skill,
    /// What an agent reads, bounded.
    pub body: String,
    /// Its folder below the root, where other files stand beside its SKILL.md; `None` also where it lies
    /// outside the root.
    pub folder: Option<PathBuf>,
}

impl Skills {
    /// The skills of `root`, with those in `user`, the person's own folder.
    pub fn open(root: &Path, user: Option<PathBuf>) -> Skills {
        Skills {
            root: root.to_path_buf(),
            user,
        }
    }

    /// All skills, and the files that can not be used.
    pub fn read(&self) -> SkillBook {
        let (loaded, broken) = self.scan();
        SkillBook {
            skills: loaded.into_iter().map(|l| l.skill).collect(),
            broken,
        }
    }

    /// One skill with its text, as it stands on disk now; case does not matter.
    ///
    /// # Errors
    /// Gives all skills that there are when there is none of that name.
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

    /// Whether a SKILL.md is another than before, without reading any.
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

    /// The same skills, with their root under another name.
    pub(super) fn of(&self, root: &Path) -> Skills {
        Skills::open(root, self.user.clone())
    }

    /// The folders in which a change can make another skill: those that are looked into, [`WATCHED_MAX`] at most, and
    /// those in which one of them may come.
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

    /// Whether a change of `path` can make another skill.
    pub(super) fn concerns(&self, path: &Path) -> bool {
        self.places().iter().any(|place| {
            let folder = place.path();
            path.starts_with(&folder) || (folder.starts_with(path) && place.root != Some(path))
        })
    }

    /// The folders that are looked into, the first one wins.
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

struct Place<'a> {
    source: SkillSource,
    /// What the folder must stay below; `None`: it stands alone.
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

    /// A path in the folder as a person would write it.
    fn shown(&self, path: &Path) -> String {
        let path = if path.as_os_str().is_empty() {
            self.folder.to_path_buf()
        } else {
            self.folder.join(path)
        };
        one_line(&path.to_string_lossy())
    }
}

/// What was read so far.
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
            // A SKILL.md right in the skills folder has that folder's name.
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
            // To stand before a skill of a later source is what the order is for; two in one are a mistake.
            if taken.skill.source == source {
                let why = format!(
                    "its name '{}' is that of {}: give it another",
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
                format!("{more} more can not be used: mend these first"),
            );
        }
        (self.loaded, self.broken)
    }
}
