//! The real tools with a real supervisor: destructive commands do no harm, harmless ones run, links are not followed, and API keys
//! are hidden.

use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crewdeck::process::sandbox::probe;
use crewdeck::tools::policy::{self, PermissionRules, PlanGate, PolicyContext, Ruling};
use serde_json::json;

use crate::common::project::Project;
use crate::common::supervised;
use crate::common::tool_fixture::ToolFixture;

fn sandboxed_tools() -> Option<ToolFixture> {
    let report = probe(Some(&supervised::program()));
    if !supervised::check_available(report.describe_missing()) {
        return None;
    }
    let mut fixture = ToolFixture::new();
    // No temporary folders: everything outside the project is protected.
    fixture.guard = Some(supervised::sandboxed_supervisor(&fixture.root(), &[], &[]));
    Some(fixture)
}

fn ruling(command: &str, workdir: &Path) -> Ruling {
    let rules = PermissionRules::default();
    policy::judge(
        command,
        &PolicyContext {
            rules: &rules,
            gate: PlanGate::Open,
            workdir,
        },
    )
}

/// Destructive commands, many of which a filter for substrings would miss. `@` stands for a folder outside the project.
/// They need approval; if the user approves one by mistake, the sandbox still prevents harm.
const DESTRUCTIVE: &[&str] = &[
    "rm -rf @",
    "rm -fr @",
    "rm  -r  -f  @/*",
    "rm --recursive --force @",
    "\\rm -rf @",
    "r''m -rf @",
    "$(echo rm) -rf @",
    "X=rm; $X -rf @",
    "/bin/rm -rf @",
    "env rm -rf @",
    "nohup rm -rf @",
    "timeout 20 rm -rf @",
    "find @ -delete",
    "find @ -type f -exec rm {} +",
    "find @ -type f | xargs rm -f",
    "bash -c 'rm -rf @'",
    "sh -c \"cd @ && rm -rf *\"",
    "eval 'rm -rf @'",
    "echo 'rm -rf @' | sh",
    "echo 'rm -rf @' | base64 | base64 -d | bash",
    "bash <<'EOF'\nrm -rf @\nEOF",
    "if true; then rm -rf @; fi",
    "for f in @/*; do rm -rf \"$f\"; done",
    "(cd @ && rm -rf -- ./*)",
    "echo $(rm -rf @)",
    ": > @/precious",
    "echo x | tee @/precious",
    "dd if=/dev/zero of=@/precious count=1 conv=notrunc",
    "truncate -s 0 @/precious",
    "mv @/precious @/gone",
    "cp /dev/null @/precious",
    "sed -i s/./x/g @/precious",
    "ln -sf /dev/null @/precious",
    "python3 -c \"import shutil; shutil.rmtree('@')\"",
    "python3 -c \"import os; os.unlink('@/precious')\"",
    "perl -e 'unlink \"@/precious\"'",
    "git init -q @/repo && git -C @ clean -fdx",
    "tar -C @ --remove-files -cf /dev/null precious",
];

#[test]
fn destructive_commands_need_approval_and_do_no_harm() {
    let Some(fixture) = sandboxed_tools() else {
        return;
    };
    let outside = fixture.dir.path().join("theirs");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("precious"), "years of work").unwrap();
    for pattern in DESTRUCTIVE {
        let command = pattern.replace('@', &outside.display().to_string());
        // The test's folder is in /tmp, where deleting is allowed, so check the policy with another path.
        let command_for_policy = pattern.replace('@', "/home/ada");
        assert!(
            matches!(
                ruling(&command_for_policy, &fixture.root()),
                Ruling::Ask { .. } | Ruling::Deny { .. }
            ),
            "{command_for_policy}: {:?}",
            ruling(&command_for_policy, &fixture.root())
        );
        let out = fixture.call_as("alice", "bash", json!({"command": command}));
        let content = std::fs::read_to_string(outside.join("precious")).unwrap_or_default();
        assert_eq!(content, "years of work", "{command}: {}", out.text);
        assert_eq!(
            std::fs::read_dir(&outside).unwrap().count(),
            1,
            "{command}: {}",
            out.text
        );
    }
    let text = fixture.expect_error(
        "bash",
        json!({"command": format!("rm -rf {}", outside.display())}),
    );
    let why = ["ermission denied", "Read-only file system"];
    assert!(why.iter().any(|w| text.contains(w)), "{text}");
    assert_eq!(
        text.matches("[Commands may write only below ").count(),
        1,
        "{text}"
    );
}

#[test]
fn harmless_commands_run_without_approval() {
    let Some(fixture) = sandboxed_tools() else {
        return;
    };
    let build = tempfile::tempdir_in("/tmp").unwrap();
    std::fs::create_dir_all(fixture.root().join("src")).unwrap();
    std::fs::create_dir_all(fixture.root().join("docs")).unwrap();
    fixture.write("src/a.rs", "fn shutdown_protocol() {}\n");
    fixture.write("docs/sudo.md", "never type sudo rm -rf / or reboot\n");
    let mut in_temp = fixture;
    in_temp.guard = Some(supervised::sandboxed_supervisor(
        &in_temp.root(),
        &["/tmp".into()],
        &[],
    ));
    for command in [
        "ls no-such-file 2> /dev/null; true",
        &format!("rm -rf {}", build.path().display()),
        "grep -rn shutdown src",
        "grep -rn 'sudo rm -rf /' docs",
        "test -n shutdown_protocol",
        "cat docs/sudo.md",
        "echo 'never type reboot'",
        "mkdir -p out && echo x > out/x && rm -f out/x",
        "date > /dev/null 2>&1",
    ] {
        assert_eq!(ruling(command, &in_temp.root()), Ruling::Allow, "{command}");
        in_temp.bash(command);
    }
    assert!(!build.path().exists());
}

/// While files are written through a path, a second thread repeatedly replaces a folder of the path by a link.
#[test]
fn racing_symlink_cannot_redirect_a_write() {
    let fixture = ToolFixture::new();
    let root = fixture.root();
    let outside = fixture.dir.path().join("outside");
    for folder in [&outside, &root.join(".git/hooks"), &root.join("plain")] {
        std::fs::create_dir_all(folder).unwrap();
    }
    for target in [outside.clone(), root.join(".git/hooks"), ".tasks".into()] {
        let swaps = root.join("swaps");
        std::os::unix::fs::symlink(&target, root.join("link")).unwrap();
        std::fs::create_dir(&swaps).unwrap();
        let is_finished = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let (link, away) = (root.join("link"), root.join("away"));
                while !is_finished.load(Ordering::SeqCst) {
                    // Replace the folder by the link, and back.
                    let _ = std::fs::rename(&swaps, &away);
                    let _ = std::fs::rename(&link, &swaps);
                    let _ = std::fs::rename(&swaps, &link);
                    let _ = std::fs::rename(&away, &swaps);
                }
            });
            let until = Instant::now() + Duration::from_millis(700);
            let mut written = 0;
            while Instant::now() < until || written == 0 {
                for tool in ["write_file", "edit_file"] {
                    let input = match tool {
                        "write_file" => json!({"path": "swaps/x", "content": "one"}),
                        _ => json!({"path": "swaps/x", "old_text": "one", "new_text": "one two"}),
                    };
                    let out = fixture.call_as("alice", tool, input);
                    written += usize::from(out.outcome == crewdeck::domain::chat::Outcome::Ok);
                }
            }
            is_finished.store(true, Ordering::SeqCst);
        });
        for folder in [&outside, &root.join(".git/hooks"), &root.join(".tasks")] {
            let names: Vec<_> = std::fs::read_dir(folder)
                .unwrap()
                .map(|e| e.unwrap().file_name())
                .collect();
            assert!(names.iter().all(|n| n != "x"), "{target:?}: {names:?}");
        }
        for name in ["swaps", "away"] {
            let _ = std::fs::remove_dir_all(root.join(name));
        }
        let _ = std::fs::remove_file(root.join("swaps"));
        let _ = std::fs::remove_file(root.join("link"));
    }
}

#[test]
fn commands_do_not_inherit_api_keys() {
    let project = Project::new();
    let script = r#"
rules:
  - when: go
    calls:
      - { tool: bash, input: { command: "env > bash.txt; tr '\\0' '\\n' < /proc/$PPID/environ > guard.txt 2>/dev/null; true" } }
      - { tool: background_run, input: { command: "env > job.txt" } }
      - { tool: bash, input: { command: "until [ -s job.txt ]; do sleep 0.05; done" } }
  - say: done
    times: 9
"#;
    let file = project.write("script.yaml", script);
    let ran = project
        .command(&["run", "go", "--tool", "auto", "--provider"])
        .arg(format!("script:{}", file.display()))
        .stdin(Stdio::null())
        .env("ANTHROPIC_API_KEY", "sk-hidden-1")
        .env("OPENAI_API_KEY", "sk-hidden-2")
        .env("MY_SERVICE_TOKEN", "sk-hidden-3")
        .env("AWS_SECRET_ACCESS_KEY", "sk-hidden-4")
        .env("PLAIN", "seen")
        .output()
        .unwrap();
    assert!(
        ran.status.success(),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    for name in ["bash.txt", "job.txt"] {
        let text = std::fs::read_to_string(project.file(name)).unwrap();
        assert!(text.contains("PLAIN=seen"), "{name}: {text}");
        assert!(!text.contains("sk-hidden"), "{name}: {text}");
    }
    let guard = std::fs::read_to_string(project.file("guard.txt")).unwrap_or_default();
    assert!(!guard.contains("sk-hidden"), "{guard}");
}
