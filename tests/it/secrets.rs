//! Secrets in tool output, prompts and model texts are replaced by redaction placeholders on disk, on screen and in
//! requests to the model.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crewdeck::process::sandbox::{Availability, probe};

use crate::common::project::{Project, RunResult};
use crate::common::supervised::{check_available, program};

const VALUE: &str = "hunter2-and-more";
const KEY: &str = "sk-ant-api03-Ab1cdEFghIJklMNopQRstUVwx";

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(files(&path));
        } else {
            all.push(path);
        }
    }
    all
}

/// Returns the files of the project that contain a secret or half of it.
fn files_with_secrets(project: &Project) -> Vec<String> {
    let all = files(project.path());
    let has = |path: &PathBuf| {
        let bytes = std::fs::read(path).unwrap();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        // Also finds half of a secret.
        text.contains("hunter2-and") || text.contains("Ab1cdEFghIJ")
    };
    let below = |path: PathBuf| {
        path.strip_prefix(project.path())
            .unwrap()
            .display()
            .to_string()
    };
    let mut names: Vec<String> = all.into_iter().filter(has).map(below).collect();
    names.sort();
    names
}

fn run_command(project: &Project, rules: &str, args: &[&str]) -> Command {
    let script = project.write("script.yaml", rules);
    let mut command = project.command(&["run"]);
    command
        .args(args)
        .arg("--provider")
        .arg(format!("script:{}", script.display()))
        .env("MY_SERVICE_PASSWORD", VALUE)
        .stdin(Stdio::null());
    command
}

fn run(project: &Project, rules: &str, args: &[&str]) -> RunResult {
    RunResult(run_command(project, rules, args).output().unwrap())
}

#[test]
fn tool_output_is_redacted_everywhere() {
    let project = Project::git();
    project.write("env.txt", &format!("PASSWORD={VALUE}\nKEY={KEY}\nPORT=1\n"));
    // The secrets are printed in pieces, at the truncation point of the output, and in the background.
    let rules = r#"
rules:
  - when: ^go$
    calls:
      - { tool: read_file, input: { path: env.txt } }
      - { tool: grep, input: { pattern: PASSWORD } }
      - { tool: bash, input: { command: "head -c 11 env.txt; until [ -e output-read ]; do sleep 0.02; done; tail -c +12 env.txt; cat env.txt" } }
      - { tool: bash, input: { command: "head -c 24980 /dev/zero | tr '\\0' y; cat env.txt; head -c 60000 /dev/zero | tr '\\0' z" } }
      - { tool: background_run, input: { command: "head -c 15 env.txt; until [ -e job-read ]; do sleep 0.02; done; tail -c +16 env.txt" } }
      - { tool: write_file, input: { path: env.txt, content: "PASSWORD=[redacted: MY_SERVICE_PASSWORD]\nPORT=2\n" } }
      - { tool: edit_file, input: { path: env.txt, old_text: "KEY=[redacted: Anthropic key]", new_text: "KEY=x" } }
      - { tool: edit_file, input: { path: env.txt, old_text: "PORT=1", new_text: "PORT=2" } }
  - when: .
    times: 0
    say: I see.
"#;
    let mut child = run_command(&project, rules, &["go", "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = String::new();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        let event: Value = serde_json::from_str(&line).unwrap();
        // Each second piece is written only after crewdeck has read the first.
        match event["type"].as_str() {
            Some("tool_output") => drop(project.write("output-read", "")),
            Some("job_output") => drop(project.write("job-read", "")),
            _ => {}
        }
        out.push_str(&line);
        out.push('\n');
    }
    assert!(child.wait().unwrap().success(), "{out}");
    assert_eq!(files_with_secrets(&project), ["env.txt"]);
    assert!(
        !out.contains("hunter2-and") && !out.contains("Ab1cdEFghIJ"),
        "{out}"
    );
    for mark in [
        "[redacted: MY_SERVICE_PASSWORD]",
        "[redacted: Anthropic key]",
    ] {
        assert!(out.matches(mark).count() > 6, "{mark} in {out}");
    }
    assert!(
        out.contains("would overwrite the secret") && out.contains("leave that line out"),
        "{out}"
    );
    let text = std::fs::read_to_string(project.file("env.txt")).unwrap();
    assert_eq!(text, format!("PASSWORD={VALUE}\nKEY={KEY}\nPORT=2\n"));
}

#[test]
fn secret_in_a_prompt_is_redacted_on_disk_but_not_for_tools() {
    let project = Project::git();
    let rules = format!(
        r#"
rules:
  - when: "use {KEY}"
    say: "I take {KEY} and"
    calls:
      - {{ tool: bash, input: {{ command: "printf %s {KEY} | wc -c > length" }} }}
      - {{ tool: task_create, input: {{ subject: "Use {KEY}" }} }}
      - {{ tool: todo, input: {{ items: [{{ id: "1", text: "use {KEY}", status: pending }}] }} }}
      - {{ tool: bash, input: {{ command: "rm -rf / --no-preserve-root {KEY}" }} }}
  - when: .
    times: 0
    say: Done with it.
"#
    );
    let prompt = format!("use {KEY}");
    let ran = run(&project, &rules, &[&prompt, "--json", "--tool", "lead"]);
    assert_eq!(ran.code(), 4, "its task is open: {}", ran.err());
    assert!(!ran.err().contains("Ab1cdEFghIJ"), "{}", ran.err());
    assert_eq!(files_with_secrets(&project), ["script.yaml"]);
    let out = ran.out();
    assert!(!out.contains("Ab1cdEFghIJ"), "{out}");
    assert!(out.contains("[redacted: Anthropic key]"), "{out}");
    let length = std::fs::read_to_string(project.file("length")).unwrap();
    assert_eq!(length.trim(), KEY.len().to_string());
    let task = project.json(&["task", "show", "1"]);
    assert_eq!(task["subject"], "Use [redacted: Anthropic key]");
}

#[test]
fn password_in_a_url_is_not_printed() {
    let project = Project::git();
    let address = "https://ada:s3cr3t-9@model.invalid/v1";
    let error =
        project.expect_refusal(&["run", "go", "--provider", "openai", "--base-url", address]);
    assert!(
        error.contains("ada:[redacted: password]@model.invalid"),
        "{error}"
    );
    let ran = project.run(&["doctor", "--provider", "openai", "--base-url", address]);
    assert!(!ran.out().contains("s3cr3t-9"), "{}", ran.out());
}

const SECRET_NAMES: &[&str] = &[
    "STRIPE_SECRET_KEY",
    "PGPASSWORD",
    "SECRET_KEY",
    "APIKEY",
    "MYSQL_PWD",
    "SENTRY_DSN",
    "NPM_AUTH",
    "GPG_PASSPHRASE",
    "dbPassword",
    "SESSION_COOKIE",
];

/// Returns the environment of an agent's command, in upper case so that the redactor does not hide values.
fn command_environment(project: &Project, own_settings: &str) -> String {
    project.write_user_settings(own_settings);
    // Upper case keeps the redactor from hiding values that the command did see.
    let script = project.write(
        "script.yaml",
        r#"
rules:
  - when: ^go$
    calls:
      - { tool: bash, input: { command: "env | tr 'a-z' 'A-Z' > seen" } }
  - when: .
    times: 0
    say: Done.
"#,
    );
    let mut command = project.command(&["run", "go", "--tool", "auto", "--provider"]);
    command
        .arg(format!("script:{}", script.display()))
        .envs(SECRET_NAMES.iter().map(|name| (*name, "an innocent value")))
        .env("DATABASE_URL", "postgres://ada:s3cr3t@db/shop")
        .env("PLAIN", "ghp_0123456789abcdefghijABCDEFGHIJ012345")
        .env("JAVA_HOME", "/usr/lib/jvm/java-21")
        .env("NODE_OPTIONS", "--max-old-space-size=64")
        .env("RUSTFLAGS", "-C target-cpu=native")
        .stdin(Stdio::null());
    let ran = RunResult(command.output().unwrap());
    assert_eq!(ran.code(), 0, "{}", ran.err());
    std::fs::read_to_string(project.file("seen")).unwrap()
}

#[test]
fn commands_do_not_see_secret_variables() {
    let environment = command_environment(&Project::git(), "");
    for name in SECRET_NAMES.iter().chain(&["DATABASE_URL", "PLAIN"]) {
        let line = format!("{}=", name.to_uppercase());
        assert!(
            !environment.lines().any(|l| l.starts_with(&line)),
            "{name}: {environment}"
        );
    }
    for name in ["PATH", "HOME", "JAVA_HOME", "NODE_OPTIONS", "RUSTFLAGS"] {
        let line = format!("{name}=");
        let times = environment.lines().filter(|l| l.starts_with(&line)).count();
        assert_eq!(times, 1, "{name}: {environment}");
    }
}

#[test]
fn commands_do_not_see_keys_for_git_servers() {
    if !check_available(missing_view()) {
        return;
    }
    let names = [
        ".ssh/id_ed25519",
        ".git-credentials",
        ".netrc",
        ".config/gh/hosts.yml",
    ];
    for (settings, is_seen) in [("", false), ("sockets = ['ssh']\n", true)] {
        // The home of the user is the project.
        let project = Project::git();
        for name in names {
            project.write(name, &format!("content of {name}"));
        }
        project.write_user_settings(settings);
        let command = format!("cat {} > seen 2>&1 || true", names.join(" "));
        let rules = format!(
            "rules:\n  - when: ^go$\n    calls: [{{ tool: bash, input: {{ command: {command} }} }}]\n  - say: done\n"
        );
        let ran = run(&project, &rules, &["go"]);
        assert_eq!(ran.code(), 0, "{}", ran.err());
        let seen = std::fs::read_to_string(project.file("seen")).unwrap();
        for name in names {
            let text = format!("content of {name}");
            assert_eq!(seen.contains(&text), is_seen, "{settings}{name}: {seen}");
            assert_eq!(std::fs::read_to_string(project.file(name)).unwrap(), text);
        }
    }
}

/// Returns why this machine has no mount namespaces; `None` if it has them.
fn missing_view() -> Option<String> {
    match probe(Some(&program())).view {
        Availability::Yes => None,
        Availability::No { why } => Some(why),
    }
}

#[test]
fn commands_do_not_see_variables_in_headers_of_models() {
    let settings = "[models.a]\nbase_url = 'http://127.0.0.1:9/v1'\nheaders = { X-Corp = '${RUSTFLAGS}', X-Java = '${JAVA_HOME}' }\n";
    let passed = format!("pass_env = ['JAVA_HOME']\n{settings}");
    for (settings, times) in [(settings, 0), (&*passed, 1)] {
        let environment = command_environment(&Project::git(), settings);
        assert!(!environment.contains("RUSTFLAGS="), "{environment}");
        let found = environment.matches("JAVA_HOME=").count();
        assert_eq!(found, times, "{environment}");
    }
}

#[test]
fn variables_in_pass_env_reach_commands() {
    let settings = "pass_env = ['PGPASSWORD', 'DATABASE_URL']\n";
    let project = Project::git();
    let environment = command_environment(&project, settings);
    for (name, times) in [("PGPASSWORD", 1), ("DATABASE_URL", 1), ("APIKEY", 0)] {
        let line = format!("{name}=");
        let found = environment.lines().filter(|l| l.starts_with(&line)).count();
        assert_eq!(found, times, "{name}: {environment}");
    }
    let mut doctor = project.command(&["doctor"]);
    doctor.env("PGPASSWORD", "hunter2-x").env("APIKEY", VALUE);
    let out = RunResult(doctor.output().unwrap()).out();
    assert!(out.contains("do not see APIKEY"), "{out}");
    assert!(!out.contains("hunter2"), "{out}");
}
