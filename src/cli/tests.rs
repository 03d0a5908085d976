//! Tests of the command line: parsing and help pages.

use super::*;

fn read(line: &str) -> Result<Cli, clap::Error> {
    Cli::parse_args(line.split(' ').map(OsString::from))
}

#[test]
fn clap_definition_is_valid() {
    command().debug_assert();
}

#[test]
fn run_needs_a_prompt_or_the_demo() {
    assert_eq!(read("crewdeck run").unwrap_err().exit_code(), 2);
    for line in [
        "crewdeck run --demo --json",
        "crewdeck --demo run",
        "crewdeck --json --provider demo run",
        "crewdeck run --resume",
        "crewdeck --resume run",
    ] {
        assert!(read(line).is_ok(), "{line}");
    }
    let cli = read("crewdeck run it --tools bash,glob").unwrap();
    assert_eq!(cli.global.tools.unwrap(), ["bash", "glob"]);
    assert!(read("crewdeck --speed 0").is_err());
}

#[test]
fn subcommand_help_refers_to_global_options_once() {
    let mut root = command();
    root.build();
    assert!(root.render_help().to_string().contains("--base-url <"));
    let mut verbs: Vec<Command> = root.get_subcommands().cloned().collect();
    let mut pages = 0;
    while let Some(mut verb) = verbs.pop() {
        if verb.get_name() == "help" {
            continue;
        }
        verbs.extend(verb.get_subcommands().cloned());
        for help in [verb.render_help(), verb.render_long_help()] {
            let help = help.to_string();
            assert!(!help.contains("--base-url <"), "{help}");
            assert_eq!(help.matches(GLOBAL_HINT).count(), 1, "{help}");
        }
        pages += 1;
    }
    assert!(pages > 20, "{pages}");
}

#[test]
fn global_options_work_before_and_after_the_subcommand() {
    for line in [
        "crewdeck --json task list",
        "crewdeck task --json list",
        "crewdeck task list --json",
    ] {
        assert!(read(line).unwrap().global.json, "{line}");
    }
    let cli = read("crewdeck --model a task list --model b --dir x").unwrap();
    assert_eq!(cli.global.model.as_deref(), Some("b"));
    assert!(cli.global.dir.is_some());
}

#[test]
fn blocked_by_accepts_hidden_alias_block_on() {
    for option in ["--blocked-by", "--block-on"] {
        for verb in ["add x", "edit 3"] {
            let cli = read(&format!("crewdeck task {verb} {option} 1,2")).unwrap();
            let Some(Verb::Files(FileVerb::Task(
                TaskVerb::Add { blocked_by, .. } | TaskVerb::Edit { blocked_by, .. },
            ))) = cli.verb
            else {
                panic!("unexpected subcommand");
            };
            assert_eq!(blocked_by.len(), 2, "{verb} {option}");
        }
    }
    let mut task = command();
    let help = task
        .find_subcommand_mut("task")
        .and_then(|task| task.find_subcommand_mut("edit"))
        .unwrap()
        .render_help()
        .to_string();
    assert!(
        help.contains("--blocked-by") && !help.contains("block-on"),
        "{help}"
    );
}

#[test]
fn resume_does_not_take_a_subcommand_as_id() {
    for (line, id) in [
        ("crewdeck --resume run more", ""),
        ("crewdeck --json --resume doctor", ""),
        ("crewdeck --resume 0190aaaa run more", "0190aaaa"),
        ("crewdeck run --resume 0190aaaa more", "0190aaaa"),
        ("crewdeck --resume", ""),
        ("crewdeck --model run --resume task list", ""),
        ("crewdeck --model=run --resume task list", ""),
        ("crewdeck --resume --model task run more", ""),
    ] {
        let cli = read(line).unwrap();
        assert_eq!(cli.global.resume.as_deref(), Some(id), "{line}");
    }
}

#[test]
fn tags_of_a_worker_are_separated_by_one_comma() {
    let read_tags = |list: &str| {
        let line = ["crewdeck", "worker", "--tags", list];
        let cli = Cli::parse_args(line.into_iter().map(OsString::from))?;
        let Some(Verb::Worker(args)) = cli.verb else {
            panic!("unexpected subcommand");
        };
        Ok::<_, clap::Error>(args.tags)
    };
    assert_eq!(read_tags("gpu, rust").unwrap(), ["gpu", "rust"]);
    assert_eq!(read_tags("help wanted").unwrap(), ["help wanted"]);
    for list in ["gpu,", ",gpu", "gpu,,rust", " ", ""] {
        let error = read_tags(list).unwrap_err();
        assert_eq!(error.exit_code(), 2, "{list}");
        let text = error.to_string();
        assert!(text.contains("such as gpu,rust"), "{list}: {text}");
    }
}

/// Parses a `crewdeck task import` command line.
fn read_import(options: &str) -> Result<ImportArgs, clap::Error> {
    let cli = read(&format!("crewdeck task import {options}"))?;
    let Some(Verb::Files(FileVerb::Task(TaskVerb::Import(args)))) = cli.verb else {
        panic!("unexpected subcommand");
    };
    Ok(args)
}

#[test]
fn import_reads_either_a_file_or_issues() {
    for options in [
        "plan.md",
        "-",
        "plan.md --format markdown --dependencies known --dry-run --no-tags",
        "- --format md",
        "x --format jsonl --json",
        "--from github",
        "--from gitlab --label bug --label ui --limit 1000 --repo acme/tool",
    ] {
        assert!(read_import(options).is_ok(), "{options}");
    }
    for options in [
        "--dry-run",
        "plan.md --from github",
        "plan.md more.md",
        "plan.md --label bug",
        "plan.md --limit 3",
        "plan.md --repo acme/tool",
        "plan.md --format toml",
        "--from jira",
        "--from github --format json",
        "--from github --limit 0",
        "--from github --limit 1001",
    ] {
        let error = read_import(options).unwrap_err();
        assert_eq!(error.exit_code(), 2, "{options}");
    }
    assert_eq!(read_import("--from github").unwrap().limit(), 50);
    let limited = read_import("--from github --limit=7 --label=--web").unwrap();
    assert_eq!((limited.limit(), &limited.labels[0][..]), (7, "--web"));
}

#[test]
fn import_examples_are_valid_command_lines() {
    let lines = task_import::EXAMPLES.lines().skip(1);
    let commands = lines.flat_map(|line| line.split('|').filter(|part| part.contains("crewdeck")));
    let mut count = 0;
    for command in commands {
        let command = command.trim().split("   ").next().unwrap();
        assert!(read(command).is_ok(), "{command}");
        count += 1;
    }
    assert_eq!(count, 6);
}

#[test]
fn pull_request_examples_are_valid_command_lines() {
    let mut count = 0;
    for line in worktree_pr::EXAMPLES.lines().skip(1) {
        let command = line.trim().split("   ").next().unwrap();
        let Some(Verb::Files(FileVerb::Worktree(WorktreeVerb::Pr(args)))) =
            read(command.trim()).unwrap().verb
        else {
            panic!("unexpected subcommand: {command}");
        };
        assert_eq!(args.name, "3");
        count += 1;
    }
    assert_eq!(count, 3);
    assert!(read("crewdeck worktree pr 3 --to bitbucket").is_err());
    assert!(read("crewdeck worktree pr").is_err());
}

/// Parses a `crewdeck checkpoint restore` command line.
fn read_restore(options: &str) -> Result<RestoreArgs, clap::Error> {
    let cli = read(&format!("crewdeck checkpoint restore {options}"))?;
    let Some(Verb::Files(FileVerb::Checkpoint(CheckpointVerb::Restore(args)))) = cli.verb else {
        panic!("unexpected subcommand");
    };
    Ok(args)
}

#[test]
fn checkpoint_is_named_by_its_number() {
    for id in ["12", "#12"] {
        assert_eq!(read_restore(id).unwrap().id.0, 12, "{id}");
    }
    let args = read_restore("12 --files --force --json").unwrap();
    assert!(args.files && args.force && !args.conversation);
    for options in [
        "",
        "twelve",
        "-1",
        "1.5",
        "##1",
        "99999999999999999999",
        "1 2",
        "1 --files --conversation",
        "1 --both",
    ] {
        let error = read_restore(options).unwrap_err();
        assert_eq!(error.exit_code(), 2, "{options}");
    }
    let error = read_restore("twelve").unwrap_err().to_string();
    assert!(error.contains("such as 12"), "{error}");
    assert!(read("crewdeck checkpoint diff x").is_err());
    assert!(read("crewdeck checkpoint list --agent bob").is_ok());
}
