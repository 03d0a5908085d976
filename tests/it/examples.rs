//! The examples of every help text: those that need no model are run as they stand, in their order and in a fresh
//! repository; of the others the command line is read.

use std::path::Path;
use std::process::Command;

use crate::common::project::Project;
use clap::{CommandFactory, Parser};
use crewdeck::cli::Cli;

/// The examples of a help text, without the words beside them.
fn examples(of: &clap::Command) -> Vec<String> {
    let text = of.get_after_help().map(ToString::to_string);
    let text = text.unwrap_or_default();
    let lines = text.lines().skip(1);
    let bare = |line: &str| line.trim().split("   ").next().unwrap_or("").to_string();
    lines.map(bare).collect()
}

/// Whether an example can be run without a model, a terminal or work that is there already.
fn can_run(example: &str) -> bool {
    let starts = |words: &str| example.starts_with(&format!("crewdeck {words}"));
    let needs = [
        "run",
        "replay",
        "trust",
        "--",
        "worktree diff",
        "worktree merge",
        "worktree remove",
    ];
    let needs_it = example == "crewdeck" || needs.iter().any(|words| starts(words));
    let needs_shell =
        example.contains("zsh") || example.contains("fish") || example.contains("man -l");
    // What doctor finds here is no matter of the example.
    !(needs_it || needs_shell || starts("doctor"))
}

/// The command lines of crewdeck in an example: between shell words, and without what is around them.
fn command_lines(example: &str) -> Vec<Vec<String>> {
    let parts = example.split(['|', '>', '<', '(', ')', '&']);
    let parts = parts.map(str::trim).filter(|p| p.starts_with("crewdeck"));
    parts.map(words).collect()
}

/// Words as a shell reads them; quotes hold blanks together.
fn words(text: &str) -> Vec<String> {
    let mut out = vec![String::new()];
    let mut is_quoted = false;
    for c in text.chars() {
        match c {
            '"' => is_quoted = !is_quoted,
            ' ' if !is_quoted => out.push(String::new()),
            c => out.last_mut().unwrap().push(c),
        }
    }
    out.retain(|word| !word.is_empty());
    out
}

#[test]
fn every_help_example_works() {
    let mut root = Cli::command();
    root.build();
    let verbs: Vec<clap::Command> = root.get_subcommands().cloned().collect();
    let path = format!(
        "{}:{}",
        Path::new(env!("CARGO_BIN_EXE_crewdeck"))
            .parent()
            .unwrap()
            .display(),
        std::env::var("PATH").unwrap()
    );
    let (mut run, mut read) = (0, 0);
    for command in std::iter::once(&root).chain(&verbs) {
        let project = Project::git();
        for example in examples(command) {
            let lines = command_lines(&example);
            assert!(!lines.is_empty(), "no crewdeck in: {example}");
            for line in lines {
                Cli::try_parse_from(&line).unwrap_or_else(|e| panic!("{example}\n{e}"));
                read += 1;
            }
            if can_run(&example) {
                let ran = Command::new("bash")
                    .args(["-c", &example])
                    .current_dir(project.path())
                    .env_clear()
                    .env("PATH", &path)
                    .env("HOME", project.path())
                    .output()
                    .unwrap();
                assert!(ran.status.success(), "{example}\n{ran:?}");
                run += 1;
            }
        }
    }
    // Fewer would mean that they are not found any more.
    assert!(run >= 14 && read >= 30, "{run} were run, {read} read");
}
