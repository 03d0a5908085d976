//! Finds the files of a project that a command may run: those that its words name, and those that its program loads
//! without being given their names. Pure.
//!
//! The result contains too many paths rather than too few; those that are no files are ignored later. Files that a
//! named file loads in turn are not found.

use std::path::{Path, PathBuf};

use crate::domain::path::without_dots;

/// Maximum number of paths of one command, and maximum number of words in which paths are searched.
const PATHS_MAX: usize = 4096;
/// Folders outside of the project to which the sandboxed commands of agents can write.
const TEMPORARY: &[&str] = &["/tmp/", "/var/tmp/", "/dev/shm/"];
/// Replaces the [`ROOT_NAMES`] while the text of a command is split into words.
const ROOT: char = '\u{1}';
/// What a shell replaces by the project directory.
const ROOT_NAMES: &[&str] = &[
    "${CLAUDE_PROJECT_DIR}",
    "${CLAUDE_PROJECT_DIR:-.}",
    "$CLAUDE_PROJECT_DIR",
    "${CREWDECK_PROJECT_DIR}",
    "$CREWDECK_PROJECT_DIR",
    "$(pwd)",
    "`pwd`",
    "${PWD}",
    "$PWD",
];

/// Programs, each with the files that it loads from its work directory.
const BY_PROGRAM: &[(&str, &[&str])] = &[
    ("npm", &["package.json"]),
    ("npx", &["package.json"]),
    ("pnpm", &["package.json"]),
    ("yarn", &["package.json"]),
    ("bun", &["package.json", "bunfig.toml"]),
    ("bunx", &["package.json", "bunfig.toml"]),
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
    (
        "docker",
        &[
            "compose.yaml",
            "compose.yml",
            "docker-compose.yml",
            "Dockerfile",
        ],
    ),
    (
        "podman",
        &[
            "compose.yaml",
            "compose.yml",
            "docker-compose.yml",
            "Dockerfile",
        ],
    ),
];

/// Interpreters, each with the suffixes that it appends to the path of a module: `node ./server` loads `./server.js` or
/// `./server/index.js`.
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

/// Returns the paths below `root` and in temporary folders that a command may run, sorted. `texts` are the command, its
/// arguments and the values of its environment variables. Relative paths start in `dir`. `root` must contain no
/// symbolic links.
///
/// # Errors
/// Fails if there are more than [`PATHS_MAX`] paths or words.
pub fn paths(root: &Path, dir: &Path, texts: &[String]) -> Result<Vec<PathBuf>, String> {
    let mut words = Vec::new();
    for text in texts {
        let mut text = text.replace(ROOT, " ");
        for name in ROOT_NAMES {
            text = text.replace(name, &ROOT.to_string());
        }
        collect(&text, 0, &mut words);
    }
    words.sort();
    words.dedup();
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
    let ends = called(BY_INTERPRETER);
    let mut out = Vec::new();
    let mut add = |path: &str| {
        let start = match path.strip_prefix(ROOT) {
            Some(below) => root.join(below.trim_start_matches('/')),
            None => dir.join(path),
        };
        let is_temporary = TEMPORARY.iter().any(|folder| start.starts_with(folder));
        let normal = without_dots(&start);
        // If `a` is a symbolic link, `a/../b` and `b` are different files, so both paths are added.
        let has_alias = normal != start && normal.starts_with(root);
        let as_written = has_alias.then_some(start);
        for path in as_written.into_iter().chain([normal]) {
            let is_ours = path.starts_with(root) && path != root;
            if (is_ours || is_temporary) && !out.contains(&path) {
                out.push(path);
            }
        }
        out.len()
    };
    for file in called(BY_PROGRAM) {
        add(file);
    }
    for word in words.iter().filter(|word| !word.is_empty()) {
        let mut count = add(word);
        for end in &ends {
            count = add(&format!("{}{end}", word.trim_end_matches('/')));
            // A module name, as in `python -m tools.server`.
            if word.contains('.') && !word.contains('/') {
                count = add(&format!("{}{end}", word.replace('.', "/")));
            }
        }
        if count > PATHS_MAX {
            return Err(too_many());
        }
    }
    out.sort();
    Ok(out)
}

/// Adds to `out` the text itself, its words as a shell would split them, the parts between `=`, `:` or `,`, and the
/// path that follows a short option or an `@`. Words and parts are split again, up to a `depth` of 3.
fn collect(text: &str, depth: usize, out: &mut Vec<String>) {
    out.push(text.to_string());
    // So many words are an error in any case, so the others are not needed.
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
    // `-r./x.js`, `@./arguments`
    let short = text.strip_prefix('@').or_else(|| {
        let rest = text.strip_prefix('-')?;
        rest.get(1..).filter(|path| path.contains(['.', '/', ROOT]))
    });
    if let Some(path) = short.filter(|path| !path.is_empty()) {
        out.push(path.to_string());
    }
}

/// Splits a shell command at blanks and operators outside of quotes, and removes the quotes. Leaves out the files to
/// which the command only redirects output: a log changes with each run.
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
                    // `<>` also reads the file.
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

/// Returns the name of the program that a word names, without folders; `python3` for `python3.12` and the like.
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

    fn found(texts: &[&str]) -> Vec<String> {
        let texts: Vec<String> = texts.iter().map(ToString::to_string).collect();
        let all = paths(Path::new("/p"), Path::new("/p"), &texts).unwrap();
        all.iter()
            .map(|p| p.strip_prefix("/p").unwrap().display().to_string())
            .collect()
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
        let many: Vec<String> = (0..5000).map(|n| format!("f{n}")).collect();
        assert!(paths(Path::new("/p"), Path::new("/p"), &many).is_err());
    }
}
