//! A project whose settings say where the key goes: nothing is sent before they are approved.

use std::path::Path;

use crate::common::project::Project;
use crate::common::pty::Screen;
use crate::first::{Server, home, leave, repository};

/// Presses a key on the page once it takes keys: those that follow its appearance at once go nowhere.
fn decide(screen: &mut Screen, key: &str) {
    std::thread::sleep(crewdeck::ui::SETTLE * 2);
    screen.send(key);
}

/// Opens the dashboard with a key, in a window of the usual size.
fn open(project: &Project, home: &Path, environment: &[(&str, &str)]) -> Screen {
    let program = Path::new(env!("CARGO_BIN_EXE_crewdeck"));
    let mut all = vec![
        ("HOME", home.to_str().unwrap()),
        ("ANTHROPIC_API_KEY", "a-key"),
    ];
    all.extend(environment);
    Screen::start_program(program, project.path(), 100, 30, &[], &all)
}

/// The keys that a server was sent, one a request.
fn keys(server: &Server) -> Vec<String> {
    let requests = server.server.received_requests();
    let requests = server.runtime.block_on(requests).unwrap();
    let key = |r: &wiremock::Request| {
        r.headers
            .get("x-api-key")
            .map(|v| v.to_str().unwrap().into())
    };
    requests
        .iter()
        .map(|r| key(r).unwrap_or_default())
        .collect()
}

fn settings(server: &Server) -> String {
    format!(
        "provider = 'anthropic'\nbase_url = '{}'\nconfine = 'off'\n",
        server.server.uri()
    )
}

#[test]
fn a_key_is_not_sent_before_the_project_is_approved() {
    let (project, theirs) = (repository(), Server::with_models());
    let home = home(&project);
    project.write(".crewdeck/config.toml", &settings(&theirs));
    let mut screen = open(&project, home.path(), &[]);
    let address = theirs.server.uri();
    screen.wait("the settings and what they do", |text| {
        text.contains("has 3 settings")
            && text.contains(&format!("base_url = \"{address}\""))
            && text.contains("confine = \"off\"")
            && text.contains("approve exactly these settings")
            && text.contains("no crew")
    });
    assert_eq!(keys(&theirs), Vec::<String>::new());
    decide(&mut screen, "a");
    screen.wait_for("y approve");
    screen.send("y");
    let host = address.trim_start_matches("http://").to_string();
    screen.wait("the address of the key and the model", |text| {
        text.contains(&format!("key to {host}")) && text.contains("big-1")
    });
    assert_eq!(keys(&theirs)[0], "a-key");
    leave(screen);

    // It is remembered, until the file changes.
    let screen = open(&project, home.path(), &[]);
    screen.wait_for("big-1");
    leave(screen);
    project.write(
        ".crewdeck/config.toml",
        &format!("{}allow = ['rm']\n", settings(&theirs)),
    );
    let before = keys(&theirs).len();
    let screen = open(&project, home.path(), &[]);
    screen.wait_for("has 4 settings");
    assert_eq!(keys(&theirs).len(), before);
    leave(screen);
}

#[test]
fn one_can_go_on_without_the_settings_of_a_project() {
    let (project, theirs, own) = (repository(), Server::with_models(), Server::with_models());
    let home = home(&project);
    project.write(
        ".crewdeck/config.toml",
        &format!("base_url = '{}'\ntool = 'auto'\n", theirs.server.uri()),
    );
    let url = own.server.uri();
    let mut screen = open(&project, home.path(), &[("ANTHROPIC_BASE_URL", &url)]);
    screen.wait_for("w  continue without them this time");
    decide(&mut screen, "w");
    screen.wait_for("big-1");
    assert_eq!(keys(&theirs), Vec::<String>::new());
    assert!(!keys(&own).is_empty());
    leave(screen);
}

#[test]
fn settings_that_do_not_fit_the_page_are_not_approved_on_it() {
    let (project, theirs) = (repository(), Server::with_models());
    let home = home(&project);
    let many: Vec<String> = (0..20)
        .map(|n| format!("'program-{n} with-an-argument'"))
        .collect();
    let text = format!("{}allow = [{}]\n", settings(&theirs), many.join(", "));
    project.write(".crewdeck/config.toml", &text);
    let program = Path::new(env!("CARGO_BIN_EXE_crewdeck"));
    let all = [
        ("HOME", home.path().to_str().unwrap()),
        ("ANTHROPIC_API_KEY", "a-key"),
    ];
    let mut screen = Screen::start_program(program, project.path(), 70, 20, &[], &all);
    screen.wait_for("has 4 settings");
    decide(&mut screen, "a");
    screen.wait_for("Not all of these settings are in view");
    assert_eq!(keys(&theirs), Vec::<String>::new());
    leave(screen);
}
