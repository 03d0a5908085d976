//! The question to the user after three red completions, in the dashboard.

use pretty_assertions::assert_eq;

use super::{CHECK, WRITES_BAD, project, settings, task, with_bob};
use crate::common::pty::Screen;
use crate::common::wait::wait_until;

const ALT_W: &str = "\x1bw";

const LIES: &str = r"
  - agent: bob
    when: is not completed
    times: 2
    calls:
      - { tool: task_update, input: { task_id: 1, status: completed } }
";

#[test]
fn three_reds_ask_the_user_who_overrides_with_a_reason() {
    let project = project(&with_bob(&format!("{WRITES_BAD}{LIES}")));
    project.write_user_settings(&settings(CHECK));
    let provider = format!("script:{}", project.file("script.yaml").display());
    let args = ["--provider", &provider, "--tool", "auto"];
    let mut screen = Screen::start(project.path(), 160, 45, &args);
    screen.wait_for("to lead");
    screen.send("begin\r");
    screen.wait("the question with its choices", |t| {
        t.contains("bob asks you") && t.contains("2  Complete it anyway")
    });
    assert_eq!(task(&project, 1)["checks"][0]["reds"], 3);
    screen.send_and_wait_for(ALT_W, "r decline");
    screen.send("2");
    screen.wait_for("Why is task #1 complete");
    screen.send(ALT_W);
    screen.wait_for("c answer");
    screen.send_and_wait_for("ca known failure", "a known failure");
    screen.send("\r");
    wait_until("the task is completed", || {
        task(&project, 1)["status"] == "completed"
    });
    let check = &task(&project, 1)["checks"][0];
    assert_eq!(check["override"], "a known failure");
    assert_eq!(check["outcome"], "red");
    screen.send("\x03\x03\x03");
    let (status, is_clean) = screen.wait_for_exit();
    assert!(status.success() && is_clean, "{status:?} {is_clean}");
}
