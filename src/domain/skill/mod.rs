//! Skills: what agents can load when they need it, where it comes from, and what changed about it.

mod file;
#[cfg(test)]
mod file_tests;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

pub use file::{BODY_MAX, SkillError, SkillFile};

/// Most skills of a crew; further ones are named as left out.
pub const SKILLS_MAX: usize = 64;
/// Longest name of a skill, in characters.
pub const NAME_MAX: usize = 64;
/// Longest description of a skill, in characters; a longer one ends in `…`.
pub const DESCRIPTION_MAX: usize = 1024;
/// Most tags of a skill; further ones are dropped.
pub const TAGS_MAX: usize = 16;
/// Longest tag, in characters.
pub const TAG_MAX: usize = 32;
/// Most names of one kind in the news; further ones are counted.
const NEWS_MAX: usize = 10;

/// Where a skill comes from; of two skills with one name the earlier source wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SkillSource {
    /// `skills/` of the project.
    Project,
    /// `.claude/skills/` of the project.
    Claude,
    /// The person's own folder, for all projects.
    User,
    /// It ships with crewdeck.
    BuiltIn,
}

impl SkillSource {
    /// The source, for a person.
    pub fn words(self) -> &'static str {
        match self {
            SkillSource::Project | SkillSource::Claude => "project",
            SkillSource::User => "yours",
            SkillSource::BuiltIn => "built in",
        }
    }
}

/// A skill as it is listed: everything but its text. All texts are harmless and on one line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skill {
    /// What it is loaded by; unique without regard to case.
    pub name: String,
    /// What it is good for.
    pub description: String,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// Where it comes from.
    pub source: SkillSource,
    /// Its file as a person would write it; empty for a built-in one.
    pub path: String,
    /// Another number when the file holds another text. It means nothing in another process.
    #[serde(skip)]
    pub version: u64,
}

impl Skill {
    /// One line about it: name, description, tags. The form is the reference's.
    pub fn line(&self) -> String {
        let tags = if self.tags.is_empty() {
            String::new()
        } else {
            format!(" [{}]", self.tags.join(", "))
        };
        format!("{}: {}{tags}", self.name, self.description)
    }
}

/// A file that should be a skill and can not be used.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct BrokenSkill {
    /// The file, as a person would write it.
    pub path: String,
    /// What is wrong with it and what to do, on one line.
    pub why: String,
}

/// All skills, sorted by name, and the files that can not be used.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SkillBook {
    /// The skills; at most [`SKILLS_MAX`].
    pub skills: Vec<Skill>,
    /// What can not be used; at most [`SKILLS_MAX`].
    pub broken: Vec<BrokenSkill>,
}

impl SkillBook {
    /// The skill of that name; case does not matter.
    pub fn find(&self, name: &str) -> Option<&Skill> {
        self.skills.iter().find(|s| same(&s.name, name))
    }

    /// What is broken here and was not, or for another reason, in `before`.
    pub fn newly_broken<'a>(
        &'a self,
        before: &'a SkillBook,
    ) -> impl Iterator<Item = &'a BrokenSkill> {
        self.broken.iter().filter(|b| !before.broken.contains(b))
    }

    /// What agents should hear about the way from `before` to here, on one line; `None`: nothing.
    pub fn news(&self, before: &SkillBook) -> Option<String> {
        let names = |of: &SkillBook, keep: &dyn Fn(&Skill) -> bool| {
            let kept = of.skills.iter().filter(|s| keep(s));
            kept.map(|s| s.name.clone()).collect::<BTreeSet<_>>()
        };
        let added = names(self, &|s| before.find(&s.name).is_none());
        let changed = names(self, &|s| before.find(&s.name).is_some_and(|old| old != s));
        let gone = names(before, &|s| self.find(&s.name).is_none());
        let parts: Vec<String> = [("new", added), ("changed", changed), ("gone", gone)]
            .into_iter()
            .filter(|(_, names)| !names.is_empty())
            .map(|(word, names)| format!("{word}: {}", few(&names)))
            .collect();
        (!parts.is_empty()).then(|| format!("skills have changed: {}", parts.join("; ")))
    }
}

fn few(names: &BTreeSet<String>) -> String {
    let shown: Vec<&str> = names.iter().take(NEWS_MAX).map(String::as_str).collect();
    match names.len().saturating_sub(NEWS_MAX) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// Whether two names mean the same skill: case does not matter.
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

    fn book(skills: &[(&str, u64)]) -> SkillBook {
        SkillBook {
            skills: skills.iter().map(|(n, v)| skill(n, *v)).collect(),
            broken: vec![],
        }
    }

    #[test]
    fn the_news_name_what_came_changed_and_went() {
        let before = book(&[("gone", 1), ("new-text", 1), ("same", 1)]);
        let after = book(&[("New", 1), ("new-text", 2), ("Same", 1)]);
        assert_eq!(
            after.news(&before).as_deref(),
            Some("skills have changed: new: New; changed: Same, new-text; gone: gone")
        );
        assert_eq!(after.news(&after), None);
        let many: Vec<String> = (10..22).map(|n| format!("s{n}")).collect();
        let many: Vec<(&str, u64)> = many.iter().map(|n| (n.as_str(), 1)).collect();
        let news = book(&many).news(&SkillBook::default()).unwrap();
        assert!(news.ends_with("s19 and 2 more"), "{news}");
    }

    #[test]
    fn a_line_has_the_tags_only_where_there_are_some() {
        let mut one = skill("pdf", 1);
        assert_eq!(one.line(), "pdf: No description");
        one.tags = vec!["a".into(), "b".into()];
        assert_eq!(one.line(), "pdf: No description [a, b]");
    }

    #[test]
    fn only_what_is_newly_broken_is_told_again() {
        let broken = |why: &str| BrokenSkill {
            path: "skills/a/SKILL.md".into(),
            why: why.into(),
        };
        let with = |why: &[&str]| SkillBook {
            skills: vec![],
            broken: why.iter().map(|w| broken(w)).collect(),
        };
        let (one, two) = (with(&["x"]), with(&["x", "y"]));
        let told: Vec<_> = two.newly_broken(&one).cloned().collect();
        assert_eq!(told, vec![broken("y")]);
    }
}
