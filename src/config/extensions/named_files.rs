//! Finds the files of a project that a command may run: files that the command names, and files that its program loads
//! by itself.
//!
//! The search finds too many paths rather than too few; callers ignore paths at which there is no file. It does not
//! search for files that are loaded by a file it has found.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::command_words::CommandWords;
use crate::domain::path::without_dots;

/// Maximum number of paths that are found for one command, and maximum number of words of a command that may name
/// paths.
const PATHS_MAX: usize = 4096;
/// Maximum number of folders in which the files of one command are searched.
const FOLDERS_MAX: usize = 64;
/// Folders outside of the project to which the sandboxed commands of agents can write.
const TEMPORARY: &[&str] = &["/tmp/", "/var/tmp/", "/dev/shm/"];
/// The character that replaces each of the [`ROOT_NAMES`] while a command is split into words.
const ROOT: char = '\u{1}';
/// The character that replaces each of the [`DIR_NAMES`] while a command is split into words.
const DIR: char = '\u{2}';
/// Texts in a command that a shell replaces by the project directory.
const ROOT_NAMES: &[&str] = &[
    "${CLAUDE_PROJECT_DIR}",
    "${CLAUDE_PROJECT_DIR:-.}",
    "$CLAUDE_PROJECT_DIR",
    "${CREWDECK_PROJECT_DIR}",
    "$CREWDECK_PROJECT_DIR",
];
/// Texts in a command that a shell replaces by the work directory.
const DIR_NAMES: &[&str] = &["$(pwd)", "`pwd`", "${PWD}", "$PWD"];
/// Commands and options that are followed by the name of a folder in which a program then runs. Files in this folder
/// are found even if it does not exist yet.
const BEFORE_FOLDER: &[&str] = &[
    "cd",
    "pushd",
    "-C",
    "--cwd",
    "--dir",
    "--directory",
    "--prefix",
    "--project",
];
/// Programs that run packages. They prefer packages in the project to those that they would download.
const PACKAGE_RUNNERS: &[&str] = &["npm", "npx", "pnpm", "pnpx", "yarn", "bun", "bunx"];
/// The folders of a project that contain packages and the programs of packages.
const PACKAGE_FOLDERS: &[&str] = &["node_modules", "node_modules/.bin"];

/// Names of programs, each with the files that the program loads from its work directory.
const BY_PROGRAM: &[(&str, &[&str])] = &[
    ("npm", &["package.json", ".npmrc"]),
    ("npx", &["package.json", ".npmrc"]),
    ("pnpm", &["package.json", ".npmrc"]),
    ("pnpx", &["package.json", ".npmrc"]),
    (
        "yarn",
        &["package.json", ".npmrc", ".yarnrc", ".yarnrc.yml"],
    ),
    ("bun", &["package.json", "bunfig.toml", ".npmrc"]),
    ("bunx", &["package.json", "bunfig.toml", ".npmrc"]),
    ("deno", &["deno.json", "deno.jsonc", "package.json"]),
    ("make", &["GNUmakefile", "makefile", "Makefile"]),
    ("just", &["justfile", "Justfile", ".justfile"]),
    ("task", &["Taskfile.yml", "Taskfile.yaml"]),
    ("uv", &["pyproject.toml", "uv.toml"]),
    ("uvx", &["uv.toml"]),
    ("poetry", &["pyproject.toml"]),
    ("cargo", &["Cargo.toml", "build.rs", ".cargo/config.toml"]),
    ("mise", &["mise.toml", ".mise.toml"]),
    ("direnv", &[".envrc"]),
    ("docker", DOCKER_FILES),
    ("docker-compose", DOCKER_FILES),
    ("podman", DOCKER_FILES),
];

const DOCKER_FILES: &[&str] = &[
    "compose.yaml",
    "compose.yml",
    "docker-compose.yml",
    "docker-compose.yaml",
    "Dockerfile",
];

/// Names of interpreters, each with the suffixes that it appends to the path of a module. For example, `node ./server`
/// loads `./server.js` or `./server/index.js`.
const BY_INTERPRETER: &[(&str, &[&str])] = &[
    (
        "node",
        &[".js", ".cjs", ".mjs", "/index.js", "/package.json"],
    ),
    (
        "tsx",
        &[".ts", ".js", "/index.ts", "/index.js", "/package.json"],
    ),
    (
        "bun",
        &[".ts", ".js", "/index.ts", "/index.js", "/package.json"],
    ),
    ("python", &[".py", "/__main__.py", "/__init__.py"]),
    ("python3", &[".py", "/__main__.py", "/__init__.py"]),
    ("uv", &[".py", "/__main__.py", "/__init__.py"]),
    ("go", &["/main.go"]),
];

/// The directories to which the paths in a command can refer, and the directory in which its files are searched.
#[derive(Debug, Clone, Copy)]
pub struct CommandPlace<'a> {
    /// The project directory, without symbolic links.
    pub root: &'a Path,
    /// The work directory, to which relative paths refer, without symbolic links.
    pub dir: &'a Path,
    /// The directory in which files are searched: the project directory or the worktree.
    pub within: &'a Path,
    /// A function that returns whether a path is that of an existing folder.
    pub is_folder: fn(&Path) -> bool,
}

/// The files and folders that a command may run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NamedPaths {
    /// The absolute paths of the files, sorted. The files need not exist.
    pub files: Vec<PathBuf>,
    /// The absolute paths of the folders from which the program loads libraries, sorted. All files directly in them may
    /// run.
    pub libraries: Vec<PathBuf>,
}

/// Returns the paths below `place.within` and in folders for temporary files that a command may run. A relative path
/// may refer to the work directory and to each folder that the command names.
///
/// # Errors
/// Fails if there are more than [`PATHS_MAX`] paths or words, or more than [`FOLDERS_MAX`] folders.
pub fn paths(place: &CommandPlace<'_>, command: &CommandWords) -> Result<NamedPaths, String> {
    let mut words = Vec::new();
    let mut in_order = Vec::new();
    for text in &command.texts {
        let text = mark_directories(text);
        collect(&text, 0, &mut words);
        in_order.extend(shell_words(&text));
    }
    let mut named_folders = after_folder_options(&in_order);
    for word in words
        .iter()
        .filter(|word| word.contains(char::is_whitespace))
    {
        named_folders.extend(after_folder_options(&shell_words(word)));
    }
    words.sort();
    words.dedup();
    words.retain(|word| !word.is_empty());
    let too_many = || {
        format!(
            "names more than {PATHS_MAX} files, the maximum that crewdeck checks for changes: put the commands into a script"
        )
    };
    if words.len() > PATHS_MAX {
        return Err(too_many());
    }
    let called = |table: &[(&str, &'static [&'static str])]| -> Vec<&'static str> {
        let is_called = |program: &str| words.iter().any(|w| program_of(w) == program);
        let found = table.iter().filter(|(program, _)| is_called(program));
        found.flat_map(|(_, files)| files.iter().copied()).collect()
    };
    let mut ends = called(BY_INTERPRETER);
    let mut by_program = called(BY_PROGRAM);
    let runs_packages = words
        .iter()
        .any(|w| PACKAGE_RUNNERS.contains(&program_of(w)));
    if runs_packages {
        ends.push("/package.json");
        let bare: Vec<String> = words.iter().flat_map(|word| package_names(word)).collect();
        words.extend(bare);
        let folders = PACKAGE_FOLDERS.iter().map(ToString::to_string);
        named_folders.extend(folders);
    }
    named_folders.extend(command.search.iter().cloned());
    let libraries: Vec<String> = command
        .libraries
        .iter()
        .map(|text| mark_directories(text))
        .collect();
    named_folders.extend(libraries.iter().cloned());
    let folders = folders(place, &named_folders, &words)?;

    let mut out = BTreeSet::new();
    // A `docker` command reads these files only if it builds or uses Compose; `docker run` does not.
    if !words
        .iter()
        .any(|word| ["compose", "build", "buildx", "up"].contains(&word.as_str()))
    {
        by_program.retain(|file| !DOCKER_FILES.contains(file));
    }
    for folder in &folders {
        for file in &by_program {
            place.add(folder, file, &mut out);
        }
        for word in &words {
            place.add(folder, word, &mut out);
            for end in &ends {
                let whole = format!("{}{end}", word.trim_end_matches('/'));
                place.add(folder, &whole, &mut out);
                // The word may also be the name of a module, as in `python -m tools.server`.
                if word.contains('.') && !word.contains('/') {
                    let whole = format!("{}{end}", word.replace('.', "/"));
                    place.add(folder, &whole, &mut out);
                }
            }
            if out.len() > PATHS_MAX {
                return Err(too_many());
            }
        }
    }
    let mut libraries: Vec<PathBuf> = libraries
        .iter()
        .map(|text| without_dots(&place.start(place.dir, text)))
        .filter(|path| path.starts_with(place.within))
        .collect();
    libraries.sort();
    libraries.dedup();
    Ok(NamedPaths {
        files: out.into_iter().collect(),
        libraries,
    })
}

/// Returns the folders to which relative paths of a command may refer, the work directory first. Adds each folder in
/// `named`, even if it does not exist, and each word in `words` that names an existing folder.
///
/// # Errors
/// Fails if there are more than [`FOLDERS_MAX`] folders.
fn folders(
    place: &CommandPlace<'_>,
    named: &[String],
    words: &[String],
) -> Result<Vec<PathBuf>, String> {
    let mut out = vec![place.dir.to_owned()];
    let add = |path: PathBuf, out: &mut Vec<PathBuf>| {
        let path = without_dots(&path);
        if path.starts_with(place.within) && !out.contains(&path) {
            out.push(path);
        }
        if out.len() > FOLDERS_MAX {
            return Err(format!(
                "names more than {FOLDERS_MAX} folders, the maximum that crewdeck checks for changes: put the commands into a script"
            ));
        }
        Ok(())
    };
    for folder in named {
        add(place.start(place.dir, folder), &mut out)?;
    }
    // A named folder may be in another named folder, as after `cd a && cd b`.
    let mut at = 0;
    while let Some(folder) = out.get(at).cloned() {
        at += 1;
        for word in words.iter().chain(named) {
            let path = place.start(&folder, word);
            if (place.is_folder)(&path) {
                add(path, &mut out)?;
            }
        }
    }
    Ok(out)
}

impl CommandPlace<'_> {
    /// Returns the path that `word` names. A word that begins with [`ROOT`] or [`DIR`] names a path in the project
    /// directory or the work directory. Any other relative path refers to `folder`.
    fn start(&self, folder: &Path, word: &str) -> PathBuf {
        let below = |mark| {
            word.strip_prefix(mark)
                .map(|rest| rest.trim_start_matches('/'))
        };
        match (below(ROOT), below(DIR)) {
            (Some(rest), _) => self.root.join(rest),
            (None, Some(rest)) => self.dir.join(rest),
            (None, None) => folder.join(word),
        }
    }

    fn add(&self, folder: &Path, word: &str, out: &mut BTreeSet<PathBuf>) {
        let start = self.start(folder, word);
        let is_temporary = TEMPORARY.iter().any(|folder| start.starts_with(folder));
        let normal = without_dots(&start);
        // If `a` is a symbolic link, `a/../b` and `b` are different files, so both paths are added.
        let has_alias = normal != start && normal.starts_with(self.within);
        let as_written = has_alias.then_some(start);
        for path in as_written.into_iter().chain([normal]) {
            let is_ours = path.starts_with(self.within) && path != self.within;
            if is_ours || is_temporary {
                out.insert(path);
            }
        }
    }
}

/// Returns `text` with `ROOT` in place of each name of the project directory, and `DIR` in place of each name of
/// the work directory.
fn mark_directories(text: &str) -> String {
    let mut text = text.replace([ROOT, DIR], " ");
    for (names, mark) in [(ROOT_NAMES, ROOT), (DIR_NAMES, DIR)] {
        for name in names {
            text = text.replace(name, &mark.to_string());
        }
    }
    text
}

/// Returns the folders that follow one of [`BEFORE_FOLDER`], as the next word or in the same word, as in `-Csrv` or
/// `--prefix=srv`.
fn after_folder_options(words: &[String]) -> Vec<String> {
    let mut out = Vec::new();
    for (at, word) in words.iter().enumerate() {
        if BEFORE_FOLDER.contains(&word.as_str()) {
            out.extend(words.get(at + 1).cloned());
        } else if let Some((option, folder)) = word.split_once('=')
            && BEFORE_FOLDER.contains(&option)
        {
            out.push(folder.to_string());
        } else if let Some(folder) = word.strip_prefix("-C") {
            out.push(folder.to_string());
        }
    }
    out
}

/// Returns further names under which [`PACKAGE_FOLDERS`] may contain the package `word`. The first one is `word`
/// without its version. The second one is the last part of that name, which is usually the name of the package's
/// program. Leaves out names equal to `word`.
fn package_names(word: &str) -> Vec<String> {
    let bare = match word.rfind('@') {
        Some(at) if at > 0 => &word[..at],
        _ => word,
    };
    let last = bare.rsplit('/').next().unwrap_or(bare);
    let names = [bare, last].into_iter();
    names
        .filter(|name| !name.is_empty() && *name != word)
        .map(String::from)
        .collect()
}

/// Adds to `out` every part of `text` that may be a path: `text` itself, its words as a shell would split them, its
/// parts between `=`, `:` or `,`, and what follows a short option or an `@`. Words and parts are split again; parts at a
/// `depth` above 3 are only added. Callers begin with a `depth` of 0.
fn collect(text: &str, depth: usize, out: &mut Vec<String>) {
    out.push(text.to_string());
    // More words than `PATHS_MAX` are an error, so the remaining words are not needed.
    if depth > 3 || out.len() > 2 * PATHS_MAX {
        return;
    }
    for word in shell_words(text) {
        if word != text {
            collect(&word, depth + 1, out);
        }
    }
    for separator in ['=', ':', ','] {
        if text.contains(separator) {
            for part in text.split(separator).filter(|part| !part.is_empty()) {
                collect(part, depth + 1, out);
            }
        }
    }
    // A short option or an `@` with a path, such as `-r./x.js` or `@./arguments`.
    let short = text.strip_prefix('@').or_else(|| {
        let rest = text.strip_prefix('-')?;
        rest.get(1..)
            .filter(|path| path.contains(['.', '/', ROOT, DIR]))
    });
    if let Some(path) = short.filter(|path| !path.is_empty()) {
        out.push(path.to_string());
    }
}

/// Splits a shell command at blanks and operators outside of quotes, and removes the quotes. Leaves out the files to
/// which the command only redirects output: a log changes with each run.
///
/// The parser in `tools::policy` is not used: it fails for commands that it cannot judge, while here each possible file
/// counts.
pub fn shell_words(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut word = String::new();
    let mut quote = None;
    let mut is_written = false;
    let mut previous = ' ';
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            (None | Some('"'), '\\') => word.extend(chars.next()),
            (None, c) if c.is_whitespace() || ";&|<>(){}`$".contains(c) => {
                if !word.is_empty() {
                    let word = std::mem::take(&mut word);
                    out.extend((!is_written).then_some(word));
                    is_written = false;
                }
                match c {
                    // `<>` opens the file for reading too.
                    '>' => is_written = previous != '<',
                    ';' | '<' | '(' | ')' | '`' => is_written = false,
                    _ => {}
                }
            }
            (_, c) => word.push(c),
        }
        previous = c;
    }
    out.extend((!word.is_empty() && !is_written).then_some(word));
    out
}

/// Returns whether a program in [`BY_PROGRAM`] loads a file of this name from its work directory.
pub fn is_loaded_by_name(path: &Path) -> bool {
    let mut names = BY_PROGRAM.iter().flat_map(|(_, names)| names.iter());
    names.any(|name| path.ends_with(name))
}

/// Returns the name of the program that `word` names, without folders; `python3` for every `python3.N`.
pub fn program_of(word: &str) -> &str {
    let name = word.rsplit('/').next().unwrap_or(word);
    match name.strip_prefix("python3.") {
        Some(_) => "python3",
        None => name,
    }
}

#[cfg(test)]
#[path = "named_files_tests.rs"]
mod tests;
