//! The examples in the help texts. Those that need no model run in order in a fresh repository; of all examples the command line
//! is parsed.

use std::path::Path;
use std::process::Command;

use crate::common::project::Project;
use clap::{CommandFactory, Parser};
use crewdeck::cli::Cli;

/// Returns the example commands at the end of a help text, without their descriptions.
fn examples(of: &clap::Command) -> Vec<String> {
    let text = of.get_after_help().map(ToString::to_string);
    let text = text.unwrap_or_default();
    let lines = text.lines().skip(1);
    let command_of = |line: &str| line.trim().split("   ").next().unwrap_or("").to_string();
    lines.map(command_of).collect()
}

/// Returns whether an example runs without a model, a terminal and existing work.
fn can_run(example: &str) -> bool {
    let starts = |words: &str| example.starts_with(&format!("crewdeck {words}"));
    let unsupported = [
        "acp",
        "run",
        "replay",
        "task import --from",
        "trust",
        "mcp approve",
        "mcp test",
        "--",
        "worker",
        "worktree diff",
        "worktree merge",
        "worktree pr",
        "worktree remove",
        "checkpoint diff",
        "checkpoint restore",
    ];
    let is_unsupported = example == "crewdeck" || unsupported.iter().any(|words| starts(words));
    let needs_shell =
        example.contains("zsh") || example.contains("fish") || example.contains("man -l");
    // The exit code of doctor depends on the machine.
    !(is_unsupported || needs_shell || starts("doctor"))
}

/// Returns the arguments of each call of crewdeck in an example, without the shell code around the calls.
fn command_lines(example: &str) -> Vec<Vec<String>> {
    let parts = example.split(['|', '>', '<', '(', ')', '&']);
    let parts = parts.map(str::trim).filter(|p| p.starts_with("crewdeck"));
    parts.map(split_words).collect()
}

/// Splits a command line at spaces outside double quotes.
fn split_words(text: &str) -> Vec<String> {
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
    let (mut run_count, mut parsed_count) = (0, 0);
    for command in std::iter::once(&root).chain(&verbs) {
        let project = Project::git();
        for example in examples(command) {
            let lines = command_lines(&example);
            assert!(!lines.is_empty(), "no crewdeck in: {example}");
            for line in lines {
                Cli::try_parse_from(&line).unwrap_or_else(|e| panic!("{example}\n{e}"));
                parsed_count += 1;
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
                run_count += 1;
            }
        }
    }
    // Lower counts would mean that the examples are not found.
    assert!(
        run_count >= 14 && parsed_count >= 30,
        "{run_count} were run, {parsed_count} parsed"
    );
}
