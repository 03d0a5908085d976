//! A large team in one crew.

use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;

use super::{scripted, text};

const AGENTS: usize = 100;
/// Maximum memory of the crew in a debug build, in KiB.
const MEMORY_MAX: u64 = 512 * 1024;

#[test]
#[ignore = "long: see the longer rounds in CONTRIBUTING.md"]
fn crew_runs_at_most_a_hundred_teammates() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path();
    std::fs::create_dir_all(home.join(".config/crewdeck")).unwrap();
    let settings = format!("agents_max = {AGENTS}\ncalls_max = 64\n");
    std::fs::write(home.join(".config/crewdeck/config.toml"), settings).unwrap();
    let mut rules = String::new();
    // A reply has at most 64 calls.
    for (reply, first) in (0..=AGENTS).step_by(50).enumerate() {
        let when = if reply == 0 { "    when: ^go$\n" } else { "" };
        rules.push_str(&format!("  - agent: lead\n{when}    calls:\n"));
        for n in first..(first + 50).min(AGENTS + 1) {
            rules.push_str(&format!(
                "      - {{ tool: spawn_teammate, input: {{ name: a{n}, role: r, prompt: greet }} }}\n"
            ));
        }
    }
    rules.push_str("  - times: 0\n    say: ok\n");
    let mut child = scripted(home, &rules, &[])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut most = 0;
    while child.try_wait().unwrap().is_none() {
        let now = std::fs::read_to_string(&status).unwrap_or_default();
        let line = now.lines().find_map(|l| l.strip_prefix("VmHWM:"));
        let kib = line.and_then(|l| l.split_whitespace().next()?.parse().ok());
        most = kib.unwrap_or(0).max(most);
        std::thread::sleep(Duration::from_millis(5));
    }
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(0), "{}", text(&ended.stderr));
    let team = std::fs::read(home.join(".team/config.json")).unwrap();
    let team: Value = serde_json::from_slice(&team).unwrap();
    assert_eq!(team["members"].as_array().unwrap().len(), AGENTS);
    let logs = std::fs::read_dir(home.join(".transcripts")).unwrap();
    let logs: Vec<String> = logs
        .map(|e| std::fs::read_to_string(e.unwrap().path()).unwrap())
        .collect();
    assert_eq!(logs.len(), AGENTS + 1, "the lead and each teammate");
    assert!(logs.iter().all(|log| log.contains("\"ok\"")));
    let is_refused = |log: &String| log.contains("the team is full (100 teammates)");
    assert_eq!(logs.iter().filter(|l| is_refused(l)).count(), 1);
    assert!((1..MEMORY_MAX).contains(&most), "{most} KiB");
}
