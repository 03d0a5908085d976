//! A dashboard that views a crew on a hub from another clone of the project, with a real hub.

#[cfg(target_os = "linux")]
mod forged;

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::project::Project;
use crate::common::pty::Screen;

const ALT_W: &str = "\x1bw";
/// Keys that move the focus to the composer from anywhere.
const COMPOSE: &str = "\x1b1i";

/// In this script, the lead runs a command that needs permission.
const SCRIPT: &str = r"
rules:
  - when: ^go$
    say: I clean up.
    calls:
      - { tool: task_create, input: { subject: Sweep the floor } }
      - { tool: bash, input: { command: 'rm -rf gone; echo lead has cleaned' } }
  - when: hello from the viewer
    times: 0
    say: I have your message.
  - when: lead has cleaned
    times: 0
    say: All is clean.
  - when: .
    times: 0
    say: I see.
";

/// A NATS server on loopback.
struct HubServer {
    process: Child,
    folder: tempfile::TempDir,
}

impl Drop for HubServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl HubServer {
    fn start() -> HubServer {
        let program = std::env::var_os("CREWDECK_NATS_SERVER").expect("CREWDECK_NATS_SERVER");
        let folder = tempfile::tempdir().unwrap();
        let process = Command::new(program)
            .args(["--addr", "127.0.0.1", "--port", "-1", "--jetstream"])
            .arg("--store_dir")
            .arg(folder.path().join("store"))
            .arg("--ports_file_dir")
            .arg(folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        HubServer { process, folder }
    }

    /// Returns the address of the crew `web`, once the server accepts connections.
    fn crew(&self) -> String {
        let ports = format!("nats-server_{}.ports", self.process.id());
        let ports = self.folder.path().join(ports);
        let began = Instant::now();
        loop {
            let text = std::fs::read_to_string(&ports).unwrap_or_default();
            let json: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
            if let Some(url) = json["nats"][0].as_str() {
                return format!("{url}/web");
            }
            assert!(began.elapsed() < Duration::from_secs(20), "no server");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

fn quit(mut screen: Screen) {
    screen.send("\x03\x03\x03");
    let (status, is_clean) = screen.wait_for_exit();
    assert!(status.success() && is_clean, "{status:?} {is_clean}");
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn dashboard_of_another_clone_views_and_steers_the_crew() {
    let server = HubServer::start();
    let hub = server.crew();
    let project = Project::repository(&[("a.txt", "a")]);
    let script = project.write("script.yaml", SCRIPT);
    let provider = format!("script:{}", script.display());
    let args = ["--hub", &hub, "--provider", &provider];
    let mut lead = Screen::start(project.path(), 160, 45, &args);
    lead.wait("the crew's own window", |t| {
        t.contains(" to lead ") && t.contains("scripted")
    });
    lead.send_and_wait_for("go\r", "asks for permission");

    // The viewer needs no model.
    let clone = Project::repository(&[("a.txt", "a")]);
    let mut viewer = Screen::start(clone.path(), 160, 45, &["--hub", &hub]);
    viewer.wait("the board, the conversation and the request", |t| {
        [
            "viewing web, led on ",
            "#1 Sweep the floor",
            "I clean up.",
            "lead asks for permission",
            "message to lead",
            "scripted",
        ]
        .iter()
        .all(|part| t.contains(part))
    });
    assert!(!clone.file(".tasks/task_1.json").exists());

    viewer.send_and_wait_for(ALT_W, "╭ 6 Needs you");
    viewer.send("a");
    lead.wait_for("All is clean.");
    viewer.wait_for("All is clean.");

    viewer.send(COMPOSE);
    viewer.send("hello from the viewer\r");
    lead.wait_for("I have your message.");
    viewer.wait("the answer and the message", |t| {
        t.contains("I have your message.") && t.contains("you → lead")
    });
    viewer.send("/model\r");
    viewer.wait_for("which leads this crew, can do that: use its dashboard");

    // Without a lead, the viewer goes on. Another lead is followed.
    quit(lead);
    viewer.wait_for("no host leads it");
    let lead = Screen::start(project.path(), 160, 45, &args);
    lead.wait("the crew's own window", |t| {
        t.contains(" to lead ") && t.contains("scripted")
    });
    viewer.wait_for("viewing web, led on ");
    quit(viewer);
    quit(lead);
}
