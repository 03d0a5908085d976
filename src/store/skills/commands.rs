//! Reads the slash commands of `.claude/commands`, and offers the skills as slash commands.

use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};
use std::path::{Component, Path, PathBuf};

use super::Skills;
use crate::domain::skill::{BrokenSkill, Skill};
use crate::domain::slash_command::{self, CommandFile, Expansion, SlashCommand, command_name};
use crate::domain::text::one_line;
use crate::store::markdown_files;

/// The folder of the command files, relative to the project's root.
const FOLDER: &str = ".claude/commands";
/// Maximum number of command files. Further ones are ignored and reported.
const COMMANDS_MAX: usize = 200;

/// A slash command of a command file or a skill, with its arguments filled in.
pub struct ExpandedCommand {
    pub name: String,
    pub expansion: Expansion,
}

/// A valid command file.
struct Found {
    command: SlashCommand,
    /// The names of the command's arguments, in order.
    arguments: Vec<String>,
    body: String,
}

impl Skills {
    /// Returns the slash commands of the command files and of `skills`, sorted by name, and the command files that
    /// cannot be used. A file takes precedence over a skill of the same name.
    pub(super) fn commands(&self, skills: &[Skill]) -> (Vec<SlashCommand>, Vec<BrokenSkill>) {
        let (files, broken) = self.command_files();
        let mut commands: Vec<SlashCommand> = files.into_iter().map(|f| f.command).collect();
        let taken: BTreeSet<String> = commands.iter().map(|c| c.name.clone()).collect();
        for skill in skills {
            let Some(name) = command_name(&skill.name).filter(|name| !taken.contains(name)) else {
                continue;
            };
            commands.push(SlashCommand {
                name,
                description: skill.description.clone(),
                hint: String::new(),
                path: skill.path.clone(),
            });
        }
        commands.sort_by(|a, b| a.name.cmp(&b.name));
        commands.dedup_by(|a, b| a.name == b.name);
        (commands, broken)
    }

    /// Reads the slash command with which `message` begins, such as `/fix 12`, and returns its text with the arguments
    /// filled in. Returns `None` if `message` is not a slash command, or if no command file and no skill has its name.
    pub fn expand(&self, message: &str) -> Option<ExpandedCommand> {
        let (name, arguments) = slash_command::split(message)?;
        let root = self.root.to_string_lossy();
        let (files, _) = self.command_files();
        let file = files.into_iter().find(|f| f.command.name == name);
        let (body, names, folder) = match file {
            Some(file) => (file.body, file.arguments, None),
            None => {
                let (loaded, _) = self.scan();
                let skill = loaded
                    .into_iter()
                    .find(|l| command_name(&l.skill.name).as_deref() == Some(name))?;
                (skill.body, Vec::new(), skill.folder)
            }
        };
        let folder = folder.map(|f| f.to_string_lossy().into_owned());
        let mut variables = vec![
            ("CLAUDE_PROJECT_DIR", root.as_ref()),
            ("CLAUDE_SESSION_ID", &self.session),
        ];
        variables.extend(folder.as_deref().map(|f| ("CLAUDE_SKILL_DIR", f)));
        Some(ExpandedCommand {
            name: name.to_string(),
            expansion: slash_command::expand(&body, arguments, &names, &variables),
        })
    }

    pub(super) fn commands_folder(&self) -> PathBuf {
        self.root.join(FOLDER)
    }

    /// Adds the metadata of the command files to `hasher`. Reads no file contents.
    pub(super) fn hash_command_files(&self, hasher: &mut impl Hasher) {
        match markdown_files::open(Some(&self.root), Path::new(FOLDER)) {
            Ok(Some(dir)) => markdown_files::hash_versions(&dir, hasher),
            Ok(None) => 0.hash(hasher),
            Err(why) => why.hash(hasher),
        }
    }

    /// Returns the existing folders to watch for changes of command files: the folder above the commands folder, the
    /// commands folder, and at most `most` of its subfolders.
    pub(super) fn command_folders(&self, most: usize) -> Vec<PathBuf> {
        let folder = self.commands_folder();
        let mut all: Vec<PathBuf> = Vec::new();
        all.extend(
            folder
                .parent()
                .filter(|f| f.is_dir())
                .map(Path::to_path_buf),
        );
        if let Ok(Some(dir)) = markdown_files::open(Some(&self.root), Path::new(FOLDER)) {
            let inside = markdown_files::subfolders(&dir, most);
            all.extend(inside.into_iter().map(|path| folder.join(path)));
            all.push(folder);
        }
        all
    }

    fn command_files(&self) -> (Vec<Found>, Vec<BrokenSkill>) {
        let mut found: Vec<Found> = Vec::new();
        let mut broken = Vec::new();
        let mut report = |path: String, why: String| broken.push(BrokenSkill { path, why });
        let dir = match markdown_files::open(Some(&self.root), Path::new(FOLDER)) {
            Ok(dir) => dir,
            Err(why) => {
                report(FOLDER.into(), why);
                None
            }
        };
        let folder = dir.map(|dir| markdown_files::read_all(&dir, COMMANDS_MAX));
        let folder = folder.unwrap_or_default();
        for (path, why) in folder.unread {
            let path = Path::new(FOLDER).join(path);
            report(one_line(&path.to_string_lossy()), why);
        }
        for (path, text) in folder.files {
            let shown = one_line(&Path::new(FOLDER).join(&path).to_string_lossy());
            let parsed = text.and_then(|text| CommandFile::parse(&text).map_err(|e| e.to_string()));
            let file = match parsed {
                Ok(file) => file,
                Err(why) => {
                    report(shown, why);
                    continue;
                }
            };
            match name_of(&path) {
                None => report(
                    shown,
                    "its name cannot be used as a command: use only letters, digits, '-', '_' and '.'"
                        .into(),
                ),
                Some(name) if found.iter().any(|f| f.command.name == name) => {
                    report(
                        shown,
                        format!("its name '{name}' is used by another file: choose another name"),
                    );
                }
                Some(name) => found.push(Found {
                    command: SlashCommand {
                        name,
                        description: file.description,
                        hint: file.hint,
                        path: shown,
                    },
                    arguments: file.arguments,
                    body: file.body,
                }),
            }
        }
        (found, broken)
    }
}

/// Returns the name of the command in the file at `path`, which is relative to the commands folder. For example, the
/// file `git/fix.md` contains the command `git:fix`. Returns `None` if [`command_name`] rejects the name.
fn name_of(path: &Path) -> Option<String> {
    let path = path.with_extension("");
    let parts: Vec<String> = path
        .components()
        .filter_map(|part| match part {
            Component::Normal(name) => Some(name.to_string_lossy().into_owned()),
            _ => None,
        })
        .collect();
    command_name(&parts.join(":"))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn files_and_skills_are_commands() {
        let dir = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write(
            ".claude/commands/Fix Issue.md",
            "---\nargument-hint: NUMBER\narguments: [number]\n---\nFix issue $number of ${CLAUDE_PROJECT_DIR} in \
             ${CLAUDE_SESSION_ID}.",
        );
        write(".claude/commands/git/undo.md", "Undo.");
        write(".claude/commands/empty.md", "");
        write(".claude/commands/test-first.md", "Mine: $ARGUMENTS");
        let skills = Skills::open(dir.path(), None).with_session("s-1");
        let folders = skills.folders();
        for folder in [".claude", ".claude/commands", ".claude/commands/git"] {
            assert!(folders.contains(&dir.path().join(folder)), "{folders:?}");
        }
        let before = skills.fingerprint();
        write(".claude/commands/git/redo.md", "Redo.");
        assert_ne!(skills.fingerprint(), before);
        std::fs::remove_file(dir.path().join(".claude/commands/git/redo.md")).unwrap();
        assert_eq!(skills.fingerprint(), before);
        assert!(skills.concerns(&dir.path().join(".claude/commands/new.md")));
        assert!(skills.concerns(&dir.path().join(".claude")));
        assert!(!skills.concerns(&dir.path().join(".claude/agents/a.md")));
        let catalog = skills.read();
        let names: Vec<&str> = catalog.commands.iter().map(|c| c.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "code-review",
                "fix-issue",
                "git:undo",
                "planning-a-board",
                "test-first",
                "working-in-a-worktree",
                "writing-a-commit"
            ]
        );
        assert_eq!(
            catalog.command("fix-issue").map(|c| c.hint.as_str()),
            Some("NUMBER")
        );
        assert_eq!(catalog.broken.len(), 1, "{:?}", catalog.broken);
        let text = |message: &str| skills.expand(message).map(|e| e.expansion.text);
        let expected = format!("Fix issue 12 of {} in s-1.", dir.path().display());
        assert_eq!(text("/fix-issue 12"), Some(expected));
        assert_eq!(text("/test-first now").as_deref(), Some("Mine: now"));
        assert!(text("/code-review HEAD~1").is_some_and(|t| t.ends_with("ARGUMENTS: HEAD~1")));
        assert_eq!(
            (text("/gone"), text("fix-issue"), text("/etc/hosts")),
            (None, None, None)
        );
    }
}
