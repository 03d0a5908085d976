//! Tests of the files that a command names.

use super::*;

/// Returns a place in the project `/p`.
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

fn relative_paths(paths: &[PathBuf]) -> Vec<String> {
    let below = paths.iter().map(|path| path.strip_prefix("/p").unwrap());
    below.map(|path| path.display().to_string()).collect()
}

fn find_files(texts: &[&str]) -> Vec<String> {
    relative_paths(&paths(&place("/p"), &words(texts)).unwrap().files)
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
        // Names in a folder that the command names, and in one that does not exist yet.
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
        let found = find_files(&texts);
        assert!(
            found.iter().any(|path| path == wanted),
            "{texts:?}: {found:?}"
        );
    }
}

#[test]
fn written_files_and_paths_outside_the_project_are_left_out() {
    assert_eq!(find_files(&["/usr/bin/true", "../x", "/p", "."]), [""; 0]);
    for command in [
        "jq -r .x >> log.txt",
        "cat 2>\"log.txt\" >&1",
        "A=1 cat &> $CLAUDE_PROJECT_DIR/log.txt",
        "cat >log.txt",
    ] {
        let found = find_files(&[command]);
        assert!(!found.iter().any(|path| path == "log.txt"), "{found:?}");
    }
    let many = (0..5000).map(|n| format!("f{n}")).collect::<Vec<_>>();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert!(paths(&place("/p"), &words(&many)).is_err());
    let many = (0..100).map(|n| format!("cd d{n}")).collect::<Vec<_>>();
    assert!(paths(&place("/p"), &words(&[&many.join(";")])).is_err());
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
        let found = relative_paths(&paths(&place("/p"), &command).unwrap().files);
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
    assert_eq!(relative_paths(&found.libraries), ["lib", "more"]);
    assert!(relative_paths(&found.files).contains(&"lib/mod.py".to_string()));
}

#[test]
fn only_relative_paths_start_in_a_worktree() {
    let place = place("/p/.worktrees/a");
    let command = words(&["$CLAUDE_PROJECT_DIR/x.sh; $PWD/y.sh; ./z.sh; /p/w.sh"]);
    let found = relative_paths(&paths(&place, &command).unwrap().files);
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
