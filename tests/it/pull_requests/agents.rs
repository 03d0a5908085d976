//! No agent pushes: `crewdeck worktree pr` refuses to run in its commands, and the policy asks about `git push`.

use super::RemoteFixture;
use crate::common::supervised::program;

#[test]
fn commands_of_agents_cannot_push() {
    let fixture = RemoteFixture::github();
    let mut command = fixture.project.command(&["worktree", "pr", "1"]);
    let ran = command.env("CREWDECK_JOB", "1").output().unwrap();
    let err = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert_eq!(ran.status.code(), Some(1), "{err}");
    assert!(
        err.contains("cannot push: the user must run it in a shell outside of crewdeck"),
        "{err}"
    );
    // As a command of the lead: approved, in a script, and by git itself.
    let program = program();
    let script = format!(
        "{0} worktree pr 1 > script.txt 2>&1\nenv -u CREWDECK_JOB {0} worktree pr 1 > unset.txt 2>&1\n\
         (env -u CREWDECK_JOB setsid {0} worktree pr 1 > detached.txt 2>&1 &)\n\
         while ! grep -q . detached.txt; do sleep 0.01; done\n",
        program.display()
    );
    fixture.project.write("pr.sh", &script);
    let rules = |command: &str| {
        format!(
            "rules:\n  - when: ^go$\n    calls:\n      - {{ tool: bash, input: {{ command: \"{command}\" }} }}\n  - say: done\n"
        )
    };
    let run = |command: &str, who: &str| {
        fixture.project.write("rules.yaml", &rules(command));
        let args = [
            "run",
            "go",
            "--provider",
            "script:rules.yaml",
            "--tool",
            who,
        ];
        let ran = fixture.project.run(&args);
        assert_eq!(ran.code(), 0, "{}", ran.err());
    };
    let direct = format!(
        "{} worktree pr 1 > direct.txt 2>&1; true",
        program.display()
    );
    run(&direct, "auto");
    run("sh pr.sh; true", "deny");
    for file in ["direct.txt", "script.txt", "unset.txt", "detached.txt"] {
        let text = std::fs::read_to_string(fixture.project.file(file)).unwrap();
        assert!(text.contains("cannot push"), "{file}: {text}");
    }
    for command in [
        "git push origin wt/task-1",
        "git --attr-source HEAD push origin wt/task-1",
        "git send-pack ../tool.git wt/task-1",
    ] {
        let before = denials(&fixture);
        run(command, "deny");
        assert!(denials(&fixture) > before, "{command}");
    }
    assert!(fixture.is_untouched());
}

/// Returns how many commands were denied because of their approval request.
fn denials(fixture: &RemoteFixture) -> usize {
    let files = std::fs::read_dir(fixture.project.file(".transcripts")).unwrap();
    let texts = files.filter_map(|file| std::fs::read_to_string(file.unwrap().path()).ok());
    texts
        .map(|text| text.matches("rejected by policy").count())
        .sum()
}
