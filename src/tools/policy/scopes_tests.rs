//! Tests of which commands a session permission covers.

use std::path::Path;

use pretty_assertions::assert_eq;

use super::*;

fn ruling(command: &str, session: &[PermissionScope]) -> Ruling {
    let rules = PermissionRules {
        session: session.to_vec(),
        ..PermissionRules::default()
    };
    judge(command, &policy_context(&rules))
}

fn policy_context(rules: &PermissionRules) -> PolicyContext<'_> {
    PolicyContext {
        rules,
        gate: PlanGate::Open,
        workdir: Path::new("/work/project"),
    }
}

fn exact(command: &str) -> PermissionScope {
    PermissionScope::Exact {
        command: command.into(),
    }
}

fn begins(words: &str) -> PermissionScope {
    PermissionScope::Begins {
        words: words.into(),
    }
}

#[test]
fn offered_permissions_depend_on_the_command_text() {
    let cases: Vec<(&str, Vec<PermissionScope>)> = vec![
        (
            "cargo build --release",
            vec![exact("cargo build --release"), begins("cargo build")],
        ),
        (
            "docker compose up -d",
            vec![exact("docker compose up -d"), begins("docker compose")],
        ),
        (
            "cd web && npm publish",
            vec![exact("cd web && npm publish"), begins("npm publish")],
        ),
        (
            "cargo test && git push origin main",
            vec![
                exact("cargo test && git push origin main"),
                begins("git push"),
            ],
        ),
        (
            "gh pr create; gh pr list",
            vec![exact("gh pr create; gh pr list"), begins("gh pr")],
        ),
        // Two different programs need approval, so there are no common first words to allow.
        (
            "gh pr create && npm publish",
            vec![exact("gh pr create && npm publish")],
        ),
        // The exact text can be allowed, but the first words cannot: a pipe, redirection or assignment affects the
        // program.
        (
            "docker compose logs | head",
            vec![exact("docker compose logs | head")],
        ),
        (
            "gh pr list > /etc/list",
            vec![exact("gh pr list > /etc/list")],
        ),
        ("PAGER=x gh pr list", vec![exact("PAGER=x gh pr list")]),
        (
            "export PATH=/tmp/x; gh pr list",
            vec![exact("export PATH=/tmp/x; gh pr list")],
        ),
        ("rm -rf build", vec![exact("rm -rf build")]),
        ("rm build -rf", vec![exact("rm build -rf")]),
        ("git -C .. push", vec![exact("git -C .. push")]),
        (
            "./gh pr list && kill 1",
            vec![exact("./gh pr list && kill 1")],
        ),
        // What runs is known only at run time.
        ("gh pr create --body \"$(cat x)\"", vec![]),
        ("kill $PID", vec![]),
        ("rm -rf `cat list`", vec![]),
        ("diff <(ssh a ls) b", vec![]),
        ("echo 'unclosed", vec![]),
    ];
    let rules = PermissionRules::default();
    for (command, expected) in cases {
        assert_eq!(
            scopes(command, &policy_context(&rules)),
            expected,
            "{command}"
        );
    }
}

#[test]
fn programs_that_start_others_get_no_first_words_permission() {
    for command in [
        "sh x",
        "bash deploy",
        "python x",
        "python3.12 manage",
        "node x",
        "perl x",
        "sudo systemctl",
        "env ls",
        "xargs rm",
        "ssh host",
        "timeout ls",
        "nohup ls",
        "su root",
        "eval ls",
        "exec ls",
        "source x",
        "kill all",
        "pkill cargo",
        "rm build",
        "mv important",
        "curl host",
        "dd x",
        "mkfs.ext4 x",
        "systemctl stop",
        "find src",
        "docker run x",
        "docker exec x",
        "kubectl exec x",
        "npm exec x",
        "git config x",
        "gh alias set",
        "psql db",
        "cargo",
    ] {
        let rules = PermissionRules::default();
        let found = scopes(command, &policy_context(&rules));
        assert!(
            found
                .iter()
                .all(|s| matches!(s, PermissionScope::Exact { .. })),
            "{command}: {found:?}"
        );
        // A permission that a user has written for such words is not valid either.
        let made_up = begins(command);
        let more = format!("{command} more");
        if let Ruling::Ask { .. } = ruling(&more, &[]) {
            assert_ne!(ruling(&more, &[made_up]), Ruling::Allow, "{command}");
        }
    }
}

#[test]
fn first_words_permission_covers_only_that_program() {
    let rules = [begins("docker compose"), begins("git push")];
    for covered in [
        "docker compose up",
        "docker compose up -d && docker compose ps",
        "  docker   compose logs",
        "docker 'compose' up",
        "cd web && docker compose up",
        "cargo test && docker compose up",
        "docker compose up; git push",
        "docker compose up &",
        "docker compose up # all of it",
    ] {
        assert_eq!(ruling(covered, &rules), Ruling::Allow, "{covered}");
    }
    for asked in [
        "docker run x",
        "docker composer up",
        "docker",
        "docker -H tcp://x compose up",
        "git pushy; git push --force; kill 1",
        "docker compose up; rm -rf src",
        "docker compose up && sh -c 'kill 1'",
        "docker compose config > .git/hooks/pre-commit",
        "docker compose config > out.yml",
        "docker compose logs | tee log",
        "docker compose logs |\n tee log",
        "(docker compose logs) | tee log",
        "cat secrets | docker compose exec",
        "docker compose up < input",
        "docker compose up <<EOF\nx\nEOF",
        "docker compose up $(cat args)",
        "docker compose up `cat args`",
        "docker compose -f $FILE up",
        "docker compose -f *.yml up",
        "echo $(docker compose up)",
        "diff <(docker compose config) x",
        "DOCKER_HOST=tcp://x docker compose up",
        "PATH=/tmp/x:$PATH; docker compose up",
        "PATH=/tmp; docker compose up",
        "export DOCKER_HOST=x && docker compose up",
        "alias docker=x; docker compose up",
        ". ./env.sh && docker compose up",
        "source env.sh; docker compose up",
        "cd .. && docker compose up",
        "cd /other && docker compose up",
        "cd && docker compose up",
        "cd - && docker compose up",
        "pushd web && docker compose up",
        "/tmp/docker compose up",
        "./docker compose up",
        "sudo docker compose up",
        "env docker compose up",
        "xargs docker compose up",
        "timeout 5 docker compose up",
        "docker() { kill 1; }; docker compose up",
        "if docker compose up; then kill 1; fi",
        "docker compose up 'unclosed",
    ] {
        assert!(
            matches!(ruling(asked, &rules), Ruling::Ask { .. }),
            "{asked}"
        );
    }
}

#[test]
fn exact_permission_covers_only_the_same_text() {
    let command = "docker compose logs | tee /var/log/x";
    let rules = [exact(command), exact("kill $PID")];
    assert_eq!(ruling(command, &rules), Ruling::Allow);
    assert_eq!(ruling(&format!("  {command}\n"), &rules), Ruling::Allow);
    for asked in [
        "docker compose logs | tee /var/log/xy",
        "docker compose  logs | tee /var/log/x",
        "docker compose logs | tee /var/log/x; kill 1",
        "docker compose logs",
        // The text does not show what runs, so not even the exact text can be allowed.
        "kill $PID",
    ] {
        assert!(
            matches!(ruling(asked, &rules), Ruling::Ask { .. }),
            "{asked}"
        );
    }
}
