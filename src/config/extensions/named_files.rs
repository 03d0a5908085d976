//! Finds the files of a project that a command may run: files that the command names, and files that its program loads
//! without being given their names.
//!
//! The result contains too many paths rather than too few. Paths that are not those of files are ignored later. Files
//! that a found file loads in turn are not found.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

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
/// Commands and options that are followed by the name of a folder in which a program then runs. The folder counts even
/// if it does not exist yet.
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

/// The parts of a command that determine which files it may run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommandWords {
    /// The command, its arguments, and the values of environment variables from which programs load code.
    pub texts: Vec<String>,
    /// The folders in which programs are searched whose names contain no folder, such as those in `PATH`.
    pub search: Vec<String>,
    /// The folders from which the program loads libraries by name, as in `PYTHONPATH`.
    pub libraries: Vec<String>,
}

impl CommandWords {
    /// If the command is `python -m` or the like, returns the work directory (`.`) as a folder of libraries, because
    /// the interpreter searches modules there first. Otherwise returns `None`.
    pub fn module_folder(&self) -> Option<String> {
        let words: Vec<String> = self
            .texts
            .iter()
            .flat_map(|text| shell_words(text))
            .collect();
        let is_python = |word: &String| matches!(program_of(word), "python" | "python3");
        let loads = |word: &String| ["-m", "-c", "-"].contains(&word.as_str());
        (words.iter().any(is_python) && words.iter().any(loads)).then(|| ".".to_string())
    }
}

/// The directories of a command.
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
    /// The paths of the files, sorted. The files need not exist.
    pub files: Vec<PathBuf>,
    /// The folders from which the program loads libraries. All files directly in them may run.
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
        let text = marked(text);
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
            "names more than {PATHS_MAX} files, more than crewdeck checks for changes: put the commands into a script"
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
    let libraries: Vec<String> = command.libraries.iter().map(|text| marked(text)).collect();
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

/// Returns the folders to which relative paths of a command may refer. `named` are the names of folders that count even
/// if they do not exist; `words` are words that count if a folder has this name.
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
                "names more than {FOLDERS_MAX} folders, more than crewdeck checks for changes: put the commands into a script"
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
    /// Returns the path that `word` names if relative paths refer to `folder`.
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
fn marked(text: &str) -> String {
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

/// Returns the names that a package may have in a folder of packages, if they differ from `word`: `word` without the
/// version, and the last part of that, which is usually the name of the package's program.
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
/// parts between `=`, `:` or `,`, and what follows a short option or an `@`. Words and parts are split again, up to a
/// `depth` of 3.
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

/// Splits a shell command at blanks and operators outside of quotes, and removes the quotes. Leaves out files to which
/// the command only redirects output, because such a file, for example a log, changes with each run.
fn shell_words(text: &str) -> Vec<String> {
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

/// Returns the name of the program that a word names, without folders. Returns `python3` for `python3.12` and similar
/// names.
fn program_of(word: &str) -> &str {
    let name = word.rsplit('/').next().unwrap_or(word);
    match name.strip_prefix("python3.") {
        Some(_) => "python3",
        None => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the directories of a command in the project `/p`.
    fn place(dir: &str) -> CommandPlace<'_> {
        CommandPlace {
            root: Path::new("/p"),
            dir: Path::new(dir),
            within: Path::new(dir),
            is_folder: |path| {
                let folders = ["/p/srv", "/p/srv/sub", "/p/.claude/hooks"];
                folders.map(Path::new).contains(&path)
            },
        }
    }

    fn words(texts: &[&str]) -> CommandWords {
        CommandWords {
            texts: texts.iter().map(ToString::to_string).collect(),
            ..CommandWords::default()
        }
    }

    fn shown(paths: &[PathBuf]) -> Vec<String> {
        let below = paths.iter().map(|path| path.strip_prefix("/p").unwrap());
        below.map(|path| path.display().to_string()).collect()
    }

    fn found(texts: &[&str]) -> Vec<String> {
        shown(&paths(&place("/p"), &words(texts)).unwrap().files)
    }

    #[test]
    fn files_that_a_command_names_are_found() {
        for (texts, wanted) in [
            (vec!["node", "./server.js"], "server.js"),
            (vec!["node", "tools/server"], "tools/server.js"),
            (vec!["node", "tools/server/"], "tools/server/index.js"),
            (vec!["python3.12", "-m", "tools.server"], "tools/server.py"),
            (vec!["python", "-m", "srv"], "srv/__main__.py"),
            (vec!["npm", "run", "mcp"], "package.json"),
            (vec!["make check"], "Makefile"),
            (vec![".claude/hooks/check.sh"], ".claude/hooks/check.sh"),
            (vec!["/p/a.sh"], "a.sh"),
            (vec!["$CLAUDE_PROJECT_DIR/.claude/a.sh"], ".claude/a.sh"),
            (
                vec!["\"$CLAUDE_PROJECT_DIR\"/.claude/a.sh --x"],
                ".claude/a.sh",
            ),
            (
                vec!["\"${CLAUDE_PROJECT_DIR}/.claude/a b.sh\""],
                ".claude/a b.sh",
            ),
            (vec!["cd sub && ./x.sh; bash 'y.sh'"], "y.sh"),
            (vec!["sh", "-c", "sh -c 'python3 \"inner.py\"'"], "inner.py"),
            (
                vec!["env", "NODE_OPTIONS=--require=./pre.js", "node"],
                "pre.js",
            ),
            (vec!["ruby", "-r./pre.rb"], "pre.rb"),
            (vec!["x --config=conf/a.toml"], "conf/a.toml"),
            (vec!["bin:other/bin"], "other/bin"),
            (vec!["cat<in.txt"], "in.txt"),
            (vec!["sh <> in.sh"], "in.sh"),
            (vec!["cat > x.sh; sh x.sh"], "x.sh"),
            (vec!["tee >(sh in.sh)"], "in.sh"),
            (vec!["a/../b.sh"], "b.sh"),
            (vec!["a\\ b.sh"], "a b.sh"),
            // A file in a folder that the command names, and one in a folder that does not exist yet.
            (
                vec!["uv", "--directory", "srv", "run", "foo.py"],
                "srv/foo.py",
            ),
            (vec!["npm", "--prefix", "srv", "start"], "srv/package.json"),
            (vec!["npm", "--prefix=new", "start"], "new/package.json"),
            (vec!["make", "-C", "srv", "x"], "srv/Makefile"),
            (vec!["make", "-Cnew", "x"], "new/Makefile"),
            (vec!["sh", "-c", "cd srv && node a.js"], "srv/a.js"),
            (vec!["sh", "-c", "sh -c 'cd new; node a.js'"], "new/a.js"),
            (vec!["cd srv && cd sub && ./x.sh"], "srv/sub/x.sh"),
            (
                vec!["cd \"$CLAUDE_PROJECT_DIR\"/.claude/hooks && ./check.sh"],
                ".claude/hooks/check.sh",
            ),
            (vec!["npx", "-y", "a"], "node_modules/.bin/a"),
            (
                vec!["npx", "-y", "@a/b@1.2"],
                "node_modules/@a/b/package.json",
            ),
            (vec!["npx", "-y", "@a/b@1.2"], "node_modules/.bin/b"),
            (vec!["npx", "-y", "a"], ".npmrc"),
        ] {
            let found = found(&texts);
            assert!(
                found.iter().any(|path| path == wanted),
                "{texts:?}: {found:?}"
            );
        }
    }

    #[test]
    fn written_files_and_paths_outside_the_project_are_left_out() {
        assert_eq!(found(&["/usr/bin/true", "../x", "/p", "."]), [""; 0]);
        for command in [
            "jq -r .x >> log.txt",
            "cat 2>\"log.txt\" >&1",
            "A=1 cat &> $CLAUDE_PROJECT_DIR/log.txt",
            "cat >log.txt",
        ] {
            let found = found(&[command]);
            assert!(!found.iter().any(|path| path == "log.txt"), "{found:?}");
        }
        let many = (0..5000).map(|n| format!("f{n}")).collect::<Vec<_>>();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert!(paths(&place("/p"), &words(&many)).is_err());
        let many = (0..100).map(|n| format!("cd d{n};")).collect::<String>();
        assert!(paths(&place("/p"), &words(&[&many])).is_err());
    }

    #[test]
    fn programs_are_found_in_the_search_path_however_they_are_written() {
        for text in [
            "a&&lint",
            "\"lint\"",
            "$(lint)",
            &format!("{}lint", "x ".repeat(99)),
        ] {
            let command = CommandWords {
                search: vec!["/usr/bin".into(), "./bin".into()],
                ..words(&[text])
            };
            let found = shown(&paths(&place("/p"), &command).unwrap().files);
            assert!(
                found.iter().any(|path| path == "bin/lint"),
                "{text}: {found:?}"
            );
        }
    }

    #[test]
    fn folders_of_libraries_are_found() {
        let command = CommandWords {
            libraries: vec!["./lib".into(), "/usr/lib".into(), "$PWD/more".into()],
            ..words(&["python", "-m", "mod"])
        };
        let found = paths(&place("/p"), &command).unwrap();
        assert_eq!(shown(&found.libraries), ["lib", "more"]);
        assert!(shown(&found.files).contains(&"lib/mod.py".to_string()));
    }

    #[test]
    fn only_relative_paths_start_in_a_worktree() {
        let place = place("/p/.worktrees/a");
        let command = words(&["$CLAUDE_PROJECT_DIR/x.sh; $PWD/y.sh; ./z.sh; /p/w.sh"]);
        let found = shown(&paths(&place, &command).unwrap().files);
        for (name, expected) in [
            ("x.sh", false),
            ("y.sh", true),
            ("z.sh", true),
            ("w.sh", false),
        ] {
            let is_found = found.contains(&format!(".worktrees/a/{name}"));
            assert_eq!(is_found, expected, "{name}: {found:?}");
        }
    }
}
