//! What the scripted models of agents do.

/// Rules of a teammate that writes a file for each task, commits it and completes the task. `delay_ms` is the time before it
/// does so.
pub fn writes_notes(delay_ms: u64) -> String {
    NOTES.replace("DELAY", &delay_ms.to_string())
}

const NOTES: &str = r#"
  - when: '<(?:auto-claimed|reminder)>Task #(\d+)'
    times: 0
    delay_ms: DELAY
    calls:
      - tool: bash
        input:
          command: |
            mkdir -p notes
            echo 'Written by {{agent}}.' > notes/{{1}}.txt
            git add notes
            git diff --cached --quiet || git commit -qm 'Note {{1}}'
      - { tool: task_update, input: { task_id: "{{1}}", status: completed } }
  - times: 0
    say: I go on.
"#;

/// Rules of an agent whose model never answers.
pub const HANGS: &str = "
  - times: 0
    fault: { hang: true }
";
