//! The dashboard of a lead while the server does not answer.

use crewdeck::domain::host::HostPresence;
use crewdeck::store::sessions;
use pretty_assertions::{assert_eq, assert_ne};

use crate::common::hub_project::HubProject;
use crate::common::pty::Screen;
use crate::common::wait::wait_for;

/// The life of a lease. With the 15 seconds of users, the test would only take longer.
const LEASE_SECONDS: u64 = 5;

const RULES: &str = "
  - when: begin now
    say: It has begun.
  - when: go on now
    say: It goes on as before.
";

/// Starts the dashboard of the lead with the environment of the other processes of the project.
fn start_dashboard(project: &HubProject) -> Screen {
    let (provider, url) = (project.write_script("lead", RULES), project.server.url());
    let args = ["--hub", &url, "--provider", &provider];
    Screen::start_command(&project.command("lead", &args), 160, 45)
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn dashboard_names_an_outage_and_continues_the_session_after_it() {
    let project = HubProject::with_lease(&[], LEASE_SECONDS);
    let mut screen = start_dashboard(&project);
    screen.wait("the crew's own window", |text| {
        text.contains(" to lead ") && text.contains("scripted")
    });
    screen.send_and_wait_for("begin now\r", "It has begun.");
    let lead = wait_for("the lead has not joined", || project.hosts().pop());
    let dir = project.dir("lead");
    let before = sessions(&dir).unwrap();

    project.server.freeze();
    screen.wait("the cause", |text| {
        text.contains("No agent works here") && text.contains("cannot be reached")
    });
    project.server.thaw();
    let name = lead.info.name.as_str();
    let again = project.wait_for_host(name, "does not lead again", |host| {
        host.session != lead.session && host.presence == HostPresence::Present
    });
    assert_ne!(again.session, lead.session);

    // Its session goes on, with the conversation so far. The cause depends on when the interruption was noticed.
    screen.wait_for("The hub could not be reached for too long (");
    let text = screen.send_and_wait_for("go on now\r", "It goes on as before.");
    assert!(text.contains("It has begun."), "{text}");
    assert_eq!(sessions(&dir).unwrap(), before);
    let conversation = project.conversation("lead", "lead");
    let parts = ["begin now", "It has begun.", "go on now"];
    assert!(
        parts.iter().all(|part| conversation.contains(part)),
        "{conversation}"
    );

    screen.send("\x03\x03\x03");
    let (status, is_clean) = screen.wait_for_exit();
    assert!(status.success() && is_clean, "{status:?} {is_clean}");
    assert_eq!(project.presence(name), Some(HostPresence::Left));
}
