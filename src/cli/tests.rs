//! What may be typed, and what the help pages show.

use super::*;

fn read(line: &str) -> Result<Cli, clap::Error> {
    Cli::read(line.split(' ').map(OsString::from))
}

#[test]
fn the_command_line_is_consistent() {
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
fn help_of_a_verb_names_the_global_options_in_one_line() {
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
fn a_verb_takes_the_global_options_before_and_behind_it() {
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
fn blockers_have_one_option_and_its_older_spelling() {
    for option in ["--blocked-by", "--block-on"] {
        for verb in ["add x", "edit 3"] {
            let cli = read(&format!("crewdeck task {verb} {option} 1,2")).unwrap();
            let Some(Verb::Task(
                TaskVerb::Add { blocked_by, .. } | TaskVerb::Edit { blocked_by, .. },
            )) = cli.verb
            else {
                panic!("another verb");
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
fn a_verb_is_no_session() {
    for (line, id) in [
        ("crewdeck --resume run more", ""),
        ("crewdeck --json --resume doctor", ""),
        ("crewdeck --resume 0190aaaa run more", "0190aaaa"),
        ("crewdeck run --resume 0190aaaa more", "0190aaaa"),
        ("crewdeck --resume", ""),
    ] {
        let cli = read(line).unwrap();
        assert_eq!(cli.global.resume.as_deref(), Some(id), "{line}");
    }
}
