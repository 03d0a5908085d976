//! Skills: instructions that agents load on demand.

mod file;
#[cfg(test)]
mod file_tests;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::slash_command::SlashCommand;
use super::text::join_names;

pub use super::front_matter::{BODY_MAX, NAME_MAX};
pub use file::{SkillError, SkillFile};

/// Maximum number of skills. Further skills are ignored and reported.
pub const SKILLS_MAX: usize = 64;
/// Maximum length of a skill's description, in characters. A longer one is cut and ends in `…`.
pub const DESCRIPTION_MAX: usize = 1024;
/// Maximum number of tags of a skill. Further tags are dropped.
pub const TAGS_MAX: usize = 16;
/// Maximum length of a tag, in characters. A longer one is cut and ends in `…`.
pub const TAG_MAX: usize = 32;
/// Maximum number of names in each of the lists (new, changed, removed) that [`SkillCatalog::changes_since`] returns.
/// Further names are only counted.
const CHANGES_LISTED_MAX: usize = 10;

/// The origin of a skill. If two sources contain a skill of the same name, the source that is declared first here is
/// used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SkillSource {
    /// A skill in the folder `skills/` of the project.
    Project,
    /// A skill in the folder `.claude/skills/` of the project.
    Claude,
    /// A skill in the user's own folder, for all projects.
    User,
    BuiltIn,
}

impl SkillSource {
    pub fn label(self) -> &'static str {
        match self {
            SkillSource::Project | SkillSource::Claude => "project",
            SkillSource::User => "yours",
            SkillSource::BuiltIn => "built in",
        }
    }
}

/// A skill without its text. All strings are on one line, with control characters escaped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skill {
    /// The name by which agents load the skill. Unique regardless of case.
    pub name: String,
    /// When to use the skill.
    pub description: String,
    /// Tags that agents see in the list of skills.
    pub tags: Vec<String>,
    pub source: SkillSource,
    /// The path of the file as shown to the user; empty for a built-in skill.
    pub path: String,
    /// A hash of the whole SKILL.md, to detect changes. Only comparable within one process.
    #[serde(skip)]
    pub version: u64,
}

impl Skill {
    /// Returns name, description and tags in one line, as `NAME: DESCRIPTION [TAG, TAG]`, which is the format of
    /// learn-claude-code.
    pub fn line(&self) -> String {
        let tags = if self.tags.is_empty() {
            String::new()
        } else {
            format!(" [{}]", self.tags.join(", "))
        };
        format!("{}: {}{tags}", self.name, self.description)
    }
}

/// A SKILL.md or command file that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct BrokenSkill {
    /// The path of the file, or of a folder that cannot be read, as shown to the user.
    pub path: String,
    /// The problem and what to do, on one line.
    pub why: String,
}

/// All skills, the slash commands of skills and command files, and the files that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SkillCatalog {
    /// The skills, sorted by name, at most [`SKILLS_MAX`].
    pub skills: Vec<Skill>,
    /// The SKILL.md and command files that cannot be used. At most [`SKILLS_MAX`] entries are about SKILL.md files. If
    /// more of these files cannot be used, one of the entries only says how many.
    pub broken: Vec<BrokenSkill>,
    /// The commands that the user can type as `/NAME`: the command files in `.claude/commands` and the skills, sorted
    /// by name. A command file takes precedence over a skill of the same name. Skills whose name is not a valid command
    /// name are left out.
    #[serde(default)]
    pub commands: Vec<SlashCommand>,
}

impl SkillCatalog {
    /// Returns the skill `name`; `None` if there is none. The case of the name does not matter.
    pub fn find(&self, name: &str) -> Option<&Skill> {
        self.skills.iter().find(|s| same(&s.name, name))
    }

    /// Returns the command that the user can type as `/NAME`; `None` if there is none. The case of `name` matters.
    pub fn command(&self, name: &str) -> Option<&SlashCommand> {
        self.commands.iter().find(|c| c.name == name)
    }

    /// Returns the files that cannot be used and that `before` does not contain, or contains with another problem.
    pub fn newly_broken<'a>(
        &'a self,
        before: &'a SkillCatalog,
    ) -> impl Iterator<Item = &'a BrokenSkill> {
        self.broken.iter().filter(|b| !before.broken.contains(b))
    }

    /// Returns a line for agents that names the new, changed and removed skills, compared with `before`. Returns `None`
    /// if the skills are equal.
    pub fn changes_since(&self, before: &SkillCatalog) -> Option<String> {
        let names = |of: &SkillCatalog, keep: &dyn Fn(&Skill) -> bool| {
            let kept = of.skills.iter().filter(|s| keep(s));
            kept.map(|s| s.name.clone()).collect::<BTreeSet<_>>()
        };
        let added = names(self, &|s| before.find(&s.name).is_none());
        let changed = names(self, &|s| before.find(&s.name).is_some_and(|old| old != s));
        let gone = names(before, &|s| self.find(&s.name).is_none());
        let parts: Vec<String> = [("new", added), ("changed", changed), ("removed", gone)]
            .into_iter()
            .filter(|(_, names)| !names.is_empty())
            .map(|(word, names)| {
                let names: Vec<String> = names.into_iter().collect();
                let names = join_names(&names, CHANGES_LISTED_MAX, names.len());
                format!("{word}: {names}")
            })
            .collect();
        (!parts.is_empty()).then(|| format!("skills have changed: {}", parts.join("; ")))
    }
}

/// Returns whether two names are equal regardless of case.
pub fn same(one: &str, other: &str) -> bool {
    one.to_lowercase() == other.to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn skill(name: &str, version: u64) -> Skill {
        Skill {
            name: name.into(),
            description: "No description".into(),
            tags: vec![],
            source: SkillSource::Project,
            path: format!("skills/{name}/SKILL.md"),
            version,
        }
    }

    fn book(skills: &[(&str, u64)]) -> SkillCatalog {
        SkillCatalog {
            skills: skills.iter().map(|(n, v)| skill(n, *v)).collect(),
            ..SkillCatalog::default()
        }
    }

    #[test]
    fn news_lists_added_changed_and_removed_skills() {
        let before = book(&[("gone", 1), ("new-text", 1), ("same", 1)]);
        let after = book(&[("New", 1), ("new-text", 2), ("Same", 1)]);
        assert_eq!(
            after.changes_since(&before).as_deref(),
            Some("skills have changed: new: New; changed: Same, new-text; removed: gone")
        );
        assert_eq!(after.changes_since(&after), None);
        let many: Vec<String> = (10..22).map(|n| format!("s{n}")).collect();
        let many: Vec<(&str, u64)> = many.iter().map(|n| (n.as_str(), 1)).collect();
        let news = book(&many).changes_since(&SkillCatalog::default()).unwrap();
        assert!(news.ends_with("s19 and 2 more"), "{news}");
    }

    #[test]
    fn line_has_tags_only_if_there_are_any() {
        let mut one = skill("pdf", 1);
        assert_eq!(one.line(), "pdf: No description");
        one.tags = vec!["a".into(), "b".into()];
        assert_eq!(one.line(), "pdf: No description [a, b]");
    }

    #[test]
    fn only_newly_broken_files_are_returned() {
        let broken = |why: &str| BrokenSkill {
            path: "skills/a/SKILL.md".into(),
            why: why.into(),
        };
        let with = |why: &[&str]| SkillCatalog {
            skills: vec![],
            broken: why.iter().map(|w| broken(w)).collect(),
            ..SkillCatalog::default()
        };
        let (one, two) = (with(&["x"]), with(&["x", "y"]));
        let broken_since: Vec<_> = two.newly_broken(&one).cloned().collect();
        assert_eq!(broken_since, vec![broken("y")]);
    }
}
