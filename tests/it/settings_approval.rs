//! Settings of a project that need approval before they apply.

use std::os::unix::fs::PermissionsExt;

use crate::common::project::{Project, git};

const SENSITIVE_SETTINGS: &str = "base_url = 'http://127.0.0.1:9/v1'\nmodel = 'm'\ntool = 'auto'\nprovider = 'script:gone.yaml'\n";

/// Asserts that `run` refuses to start because the project's sensitive settings are not approved.
fn expect_approval_required(project: &Project) {
    let line = project.expect_refusal(&["run", "hello"]);
    assert!(
        line.contains(".crewdeck/config.toml of this project sets base_url, provider, tool, which needs your approval"),
        "{line}"
    );
    assert!(line.contains("crewdeck trust"), "{line}");
}

#[test]
fn project_settings_need_approval_from_any_source() {
    // A plain folder, a repository that does not track the file, one that tracks it, and a symlinked folder.
    let plain = Project::new();
    plain.write(".crewdeck/config.toml", SENSITIVE_SETTINGS);
    expect_approval_required(&plain);
    let repository = Project::repository(&[("a.txt", "one\n")]);
    repository.write(".crewdeck/config.toml", SENSITIVE_SETTINGS);
    expect_approval_required(&repository);
    git(&repository, &["add", "--force", ".crewdeck/config.toml"]);
    expect_approval_required(&repository);
    let linked = Project::git();
    linked.write("elsewhere/config.toml", SENSITIVE_SETTINGS);
    std::os::unix::fs::symlink("elsewhere", linked.file(".crewdeck")).unwrap();
    expect_approval_required(&linked);

    let doctor = plain.run(&["doctor"]);
    assert!(
        doctor
            .out()
            .contains("sets base_url, provider, tool, which do not apply"),
        "{}",
        doctor.out()
    );
    // Settings that are not sensitive apply without approval.
    let project = Project::git();
    project.write(".crewdeck/config.toml", "model = 'm'\nwindow = 5000\n");
    let line = project.expect_refusal(&["run", "hello", "--provider", "script:gone.yaml"]);
    assert!(line.contains("gone.yaml cannot be read"), "{line}");
}

#[test]
fn approval_covers_exactly_one_content_and_directory() {
    let project = Project::git();
    project.write(".crewdeck/config.toml", SENSITIVE_SETTINGS);
    // Without a terminal, all settings are shown and nothing is decided.
    let shown = project.run(&["trust"]);
    assert_eq!(shown.code(), 1, "{}", shown.err());
    for line in [
        "base_url = \"http://127.0.0.1:9/v1\"",
        "provider = \"script:gone.yaml\"",
        "tool = \"auto\"",
        "your API key and all that agents read go to this address",
    ] {
        assert!(shown.out().contains(line), "{line}: {}", shown.out());
    }
    assert!(!shown.out().contains("model ="), "{}", shown.out());
    expect_approval_required(&project);

    assert_eq!(project.run(&["trust", "--yes"]).code(), 0);
    let line = project.expect_refusal(&["run", "hello"]);
    assert!(line.contains("gone.yaml cannot be read"), "{line}");
    let file = project.file(".local/state/crewdeck/approved.json");
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    // One more byte needs approval again, and so does a copy in another directory.
    project.write(".crewdeck/config.toml", &format!("{SENSITIVE_SETTINGS}#"));
    expect_approval_required(&project);
    project.write(".crewdeck/config.toml", SENSITIVE_SETTINGS);
    let copy = Project::git();
    copy.write(".crewdeck/config.toml", SENSITIVE_SETTINGS);
    copy.write(
        ".local/state/crewdeck/approved.json",
        &std::fs::read_to_string(&file).unwrap(),
    );
    expect_approval_required(&copy);

    // The decision to ignore the settings is remembered and reported.
    assert_eq!(project.run(&["trust", "--ignore", "--yes"]).code(), 0);
    let ran = project.run(&["run", "hello", "--provider", "script:other.yaml"]);
    assert!(
        ran.err().contains("ignored, as you decided"),
        "{}",
        ran.err()
    );
    assert!(
        ran.err().contains("other.yaml cannot be read"),
        "{}",
        ran.err()
    );
    assert_eq!(project.run(&["trust", "--forget", "--yes"]).code(), 0);
    expect_approval_required(&project);
}

#[test]
fn project_settings_cannot_set_pass_env() {
    let project = Project::git();
    project.write(".crewdeck/config.toml", "pass_env = ['A_TOKEN']\n");
    let line = project.expect_refusal(&["run", "hello"]);
    assert!(line.contains("Move the setting pass_env to"), "{line}");
}
