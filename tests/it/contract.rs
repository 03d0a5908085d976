//! Odd but legitimate uses of the command line and of the files: what is written down is kept to the letter.

use pretty_assertions::assert_eq;
use serde_json::json;

use crate::common::project::Project;

/// A project whose team is amy, and bob who has shut down.
fn team() -> Project {
    let project = Project::new();
    project.write(
        ".team/config.json",
        r#"{"team_name": "default", "members": [{"name": "amy", "role": "r", "status": "idle"}, {"name": "bob", "status": "shutdown"}]}"#,
    );
    project
}

#[test]
fn looking_at_the_mail_again_and_again_changes_nothing() {
    let project = team();
    let letter = r#"{"type": "message", "from": "lead", "content": "x", "timestamp": 1.0}"#;
    project.write(
        ".team/inbox/amy.jsonl",
        &format!("{{\"torn\": \n{letter}\n"),
    );
    let aside = project.file(".team/inbox/amy.jsonl.damaged-1");
    for _ in 0..3 {
        let list = project.run(&["mail", "list", "amy", "--json"]);
        assert!(list.err().contains("1 damaged line"), "{}", list.err());
        assert!(!aside.exists());
    }
    let read = project.run(&["mail", "read", "amy"]);
    assert!(read.err().contains("were copied to"), "{}", read.err());
    assert_eq!(std::fs::read_to_string(aside).unwrap(), "{\"torn\":\n");
}

#[test]
fn letters_of_no_type_and_for_nobody_are_refused_with_what_there_is() {
    let project = team();
    let line = project.refused(&["mail", "send", "amy", "x", "--type", "mesage"]);
    assert!(line.contains("message, broadcast"), "{line}");
    let line = project.refused(&["mail", "send", "ammy", "x"]);
    assert!(line.contains("amy, bob (shutdown)"), "{line}");
    assert!(!project.file(".team/inbox").join("ammy.jsonl").exists());
    let letter = project.json(&["mail", "send", "amy", "x", "--type", "plan_response"]);
    assert_eq!(letter["type"], "plan_response");
}

#[test]
fn an_empty_tag_is_no_tag() {
    let project = Project::new();
    let task = project.json(&["task", "add", "x", "--tag", "", "--tag", " rust "]);
    assert_eq!(task["tags"], json!(["rust"]));
    let task = project.json(&["task", "edit", "1", "--tag", ""]);
    assert_eq!(task["tags"], json!([]));
}

#[test]
fn every_verb_that_meets_a_damaged_task_sets_it_aside() {
    for verb in [
        &["task", "add", "three"][..],
        &["task", "claim", "--as", "amy"],
        &["task", "done", "2", "--as", "amy"],
        &["task", "edit", "2", "--subject", "more"],
        &["task", "show", "2"],
    ] {
        let project = Project::new();
        project.json(&["task", "add", "one"]);
        project.json(&["task", "add", "two"]);
        project.write(".tasks/task_1.json", "{\"id\": 1, \"subj");
        let done = project.run(verb);
        assert_eq!(done.code(), 0, "{verb:?}: {}", done.err());
        assert!(done.err().contains("damaged-1"), "{verb:?}: {}", done.err());
        assert!(project.file(".tasks/task_1.json.damaged-1").exists());
    }
}

#[test]
fn two_who_take_the_mail_at_once_never_get_the_same_letter() {
    let project = team();
    let mut taken = Vec::new();
    for round in 0..3 {
        for n in 0..10 {
            project.json(&["mail", "send", "amy", &format!("{round}-{n}")]);
        }
        let readers: Vec<_> = (0..4)
            .map(|_| {
                let mut command = project.command(&["mail", "read", "amy", "--json"]);
                command
                    .stdout(std::process::Stdio::piped())
                    .spawn()
                    .unwrap()
            })
            .collect();
        for reader in readers {
            let out = reader.wait_with_output().unwrap();
            let letters: Vec<serde_json::Value> = serde_json::from_slice(&out.stdout).unwrap();
            taken.extend(letters.iter().map(|l| l["content"].to_string()));
        }
    }
    assert_eq!(taken.len(), 30);
    taken.sort();
    taken.dedup();
    assert_eq!(taken.len(), 30);
}

/// An address where nobody listens.
fn nowhere() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

#[test]
fn the_environment_goes_over_the_files_and_options_over_both() {
    let (file, environment, option) = (nowhere(), nowhere(), nowhere());
    let project = Project::new();
    project.own_settings(&format!(
        "provider = 'anthropic'\nmodel = 'm'\nbase_url = '{file}'\n"
    ));
    let said = |args: &[&str], url: Option<&str>| {
        let mut command = project.command(&[&["run", "hello"], args].concat());
        command.envs(url.map(|url| ("ANTHROPIC_BASE_URL", url)));
        String::from_utf8(command.output().unwrap().stderr).unwrap()
    };
    for (args, url, asked) in [
        (&[][..], None, &file),
        (&[], Some(environment.as_str()), &environment),
        (&["--base-url", &option], Some(&environment), &option),
    ] {
        let said = said(args, url);
        assert!(
            said.contains(&format!("nothing answers at {asked}")),
            "{said}"
        );
    }
}

#[test]
fn an_address_alone_says_which_server_is_asked() {
    for (name, provider) in [
        ("ANTHROPIC_BASE_URL", "anthropic"),
        ("OPENAI_BASE_URL", "openai"),
    ] {
        let (project, url) = (Project::new(), nowhere());
        let mut command = project.command(&["run", "hello", "--model", "m"]);
        let said = command.env(name, &url).output().unwrap().stderr;
        let said = String::from_utf8(said).unwrap();
        assert!(
            said.contains(&format!("crewdeck · {provider} · m")),
            "{said}"
        );
        assert!(
            said.contains(&format!("nothing answers at {url}")),
            "{said}"
        );
    }
}

#[test]
fn an_empty_prompt_is_none() {
    let line = Project::new().refused(&["run", " ", "--provider", "openai"]);
    assert!(line.contains("run needs a prompt"), "{line}");
}

#[test]
fn the_demo_comes_to_rest_when_its_lead_decides() {
    let project = Project::new();
    let ran = project.run(&[
        "run", "--demo", "--json", "--speed", "1000", "--plan", "lead",
    ]);
    assert_eq!(ran.code(), 0, "{}", ran.err());
    let is_decided = |line: &str| {
        line.contains("request_changed")
            && line.contains("\"kind\":\"plan\"")
            && line.contains("\"decided_by\":\"lead\"")
    };
    assert!(ran.out().lines().any(is_decided), "{}", ran.out());
}

#[test]
fn the_demo_without_a_person_denies_what_it_is_told_to_ask() {
    let project = Project::new();
    let demo = [
        "--demo", "run", "--json", "--speed", "1000", "--plan", "ask",
    ];
    let ran = project.run(&demo);
    // The plan was denied, so what waits for it may be open.
    assert!([0, 4].contains(&ran.code()), "{}", ran.err());
    assert!(
        ran.err().contains("approved (change it with --shutdown, --tool ")
            && ran.err().contains("denied (change it with --plan "),
        "{}",
        ran.err()
    );
    let last = ran.out().lines().last().unwrap().to_string();
    assert!(last.contains("crew_at_rest"), "{last}");
    let decided = |kind: &str, status: &str| {
        let kind = format!("\"kind\":\"{kind}\"");
        let status = format!("\"status\":\"{status}\"");
        ran.out()
            .lines()
            .any(|l| l.contains("request_changed") && l.contains(&kind) && l.contains(&status))
    };
    assert!(decided("plan", "rejected") && !decided("plan", "approved"));
}
