//! A project whose settings redirect the API key: nothing is sent before they are approved.

use std::path::Path;

use crate::common::project::Project;
use crate::common::pty::Screen;
use crate::onboarding::{Server, home, quit, repository};

/// Waits until the page accepts keys, then presses `key`. A page that has just appeared ignores keys.
fn press_when_ready(screen: &mut Screen, key: &str) {
    std::thread::sleep(crewdeck::ui::SETTLE * 2);
    screen.send(key);
}

/// Opens the dashboard in a terminal of 100 × 30, with an API key in the environment.
fn start_dashboard(project: &Project, home: &Path, environment: &[(&str, &str)]) -> Screen {
    let program = Path::new(env!("CARGO_BIN_EXE_crewdeck"));
    let mut all = vec![
        ("HOME", home.to_str().unwrap()),
        ("ANTHROPIC_API_KEY", "a-key"),
    ];
    all.extend(environment);
    Screen::start_program(program, project.path(), 100, 30, &[], &all)
}

/// Returns the API key in each request that a server has received; empty for a request without one.
fn received_keys(server: &Server) -> Vec<String> {
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

fn sensitive_settings(server: &Server) -> String {
    format!(
        "provider = 'anthropic'\nbase_url = '{}'\nsandbox = 'off'\n",
        server.server.uri()
    )
}

#[test]
fn key_is_not_sent_before_the_project_is_approved() {
    let (project, project_server) = (repository(), Server::with_models());
    let home = home(&project);
    project.write(
        ".crewdeck/config.toml",
        &sensitive_settings(&project_server),
    );
    let mut screen = start_dashboard(&project, home.path(), &[]);
    let address = project_server.server.uri();
    screen.wait("the settings and what they do", |text| {
        text.contains("needed for 3 settings")
            && text.contains(&format!("base_url = \"{address}\""))
            && text.contains("sandbox = \"off\"")
            && text.contains("approve exactly these settings")
            && text.contains("not started")
    });
    assert_eq!(received_keys(&project_server), Vec::<String>::new());
    press_when_ready(&mut screen, "a");
    screen.wait_for("y approve");
    screen.send("y");
    let host = address.trim_start_matches("http://").to_string();
    screen.wait("the address of the key and the model", |text| {
        text.contains(&format!("key to {host}")) && text.contains("big-1")
    });
    assert_eq!(received_keys(&project_server)[0], "a-key");
    quit(screen);

    // The approval is remembered until the file changes.
    let screen = start_dashboard(&project, home.path(), &[]);
    screen.wait_for("big-1");
    quit(screen);
    project.write(
        ".crewdeck/config.toml",
        &format!("{}allow = ['rm']\n", sensitive_settings(&project_server)),
    );
    let before = received_keys(&project_server).len();
    let screen = start_dashboard(&project, home.path(), &[]);
    screen.wait_for("needed for 4 settings");
    assert_eq!(received_keys(&project_server).len(), before);
    quit(screen);
}

#[test]
fn address_of_the_key_is_shown_before_any_answer() {
    let project = repository();
    let home = home(&project);
    // Accepts connections and answers none.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let host = silent.local_addr().unwrap();
    let url = format!("http://{host}");
    let screen = start_dashboard(&project, home.path(), &[("ANTHROPIC_BASE_URL", &url)]);
    screen.wait_for(&format!("key to {host}"));
    quit(screen);
}

#[test]
fn project_settings_can_be_ignored_for_one_session() {
    let (project, project_server, user_server) =
        (repository(), Server::with_models(), Server::with_models());
    let home = home(&project);
    project.write(
        ".crewdeck/config.toml",
        &format!(
            "base_url = '{}'\ntool = 'auto'\n",
            project_server.server.uri()
        ),
    );
    let url = user_server.server.uri();
    let mut screen = start_dashboard(&project, home.path(), &[("ANTHROPIC_BASE_URL", &url)]);
    screen.wait_for("w  continue without this content this time");
    press_when_ready(&mut screen, "w");
    screen.wait_for("big-1");
    assert_eq!(received_keys(&project_server), Vec::<String>::new());
    assert!(!received_keys(&user_server).is_empty());
    quit(screen);
}

#[test]
fn settings_that_do_not_fit_cannot_be_approved() {
    let (project, project_server) = (repository(), Server::with_models());
    let home = home(&project);
    let many: Vec<String> = (0..20)
        .map(|n| format!("'program-{n} with-an-argument'"))
        .collect();
    let text = format!(
        "{}allow = [{}]\n",
        sensitive_settings(&project_server),
        many.join(", ")
    );
    project.write(".crewdeck/config.toml", &text);
    let program = Path::new(env!("CARGO_BIN_EXE_crewdeck"));
    let all = [
        ("HOME", home.path().to_str().unwrap()),
        ("ANTHROPIC_API_KEY", "a-key"),
    ];
    let mut screen = Screen::start_program(program, project.path(), 70, 20, &[], &all);
    screen.wait_for("needed for 4 settings");
    press_when_ready(&mut screen, "a");
    screen.wait_for("Not all settings are visible");
    assert_eq!(received_keys(&project_server), Vec::<String>::new());
    quit(screen);
}

#[test]
fn servers_and_hooks_wait_on_the_first_page() {
    let (project, server) = (repository(), Server::with_models());
    let home = home(&project);
    let url = server.server.uri();
    let environment = [("ANTHROPIC_BASE_URL", url.as_str())];
    project.write(
        ".mcp.json",
        r#"{"mcpServers": {"git": {"command": "sh", "args": ["./serve.sh"]}, "old": {"type": "sse", "url": "http://x"}}}"#,
    );
    project.write("serve.sh", "touch ran\n");
    project.write(
        ".claude/settings.json",
        r#"{"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "touch ran"}]}]}}"#,
    );
    let mut screen = start_dashboard(&project, home.path(), &environment);
    screen.wait("everything that would run", |text| {
        text.contains("This project contains 1 MCP server and 1 hook")
            && text.contains("Server git of .mcp.json: sh ./serve.sh")
            && text.contains("Hook PreToolUse (Bash) of .claude/settings.json: touch ran")
            && text.contains("approve exactly this content for this directory")
    });
    press_when_ready(&mut screen, "w");
    screen.wait_for("big-1");
    quit(screen);

    // Without a decision the page is shown again; after it, only a change shows it.
    let mut screen = start_dashboard(&project, home.path(), &environment);
    screen.wait_for("This project contains 1 MCP server and 1 hook");
    press_when_ready(&mut screen, "a");
    screen.wait_for("y approve");
    screen.send("y");
    screen.wait_for("big-1");
    quit(screen);
    let screen = start_dashboard(&project, home.path(), &environment);
    screen.wait_for("big-1");
    quit(screen);
    project.write("serve.sh", "touch ran # changed\n");
    let screen = start_dashboard(&project, home.path(), &environment);
    screen.wait_for("This project contains 1 MCP server that");
    assert!(!project.file("ran").exists());
    quit(screen);
}

#[test]
fn viewer_shows_a_notice_instead_of_the_page() {
    let (project, server) = (repository(), Server::with_models());
    let home = home(&project);
    let url = server.server.uri();
    let environment = [("ANTHROPIC_BASE_URL", url.as_str())];
    let crew = start_dashboard(&project, home.path(), &environment);
    crew.wait_for("big-1");
    project.write(
        ".mcp.json",
        r#"{"mcpServers": {"git": {"command": "touch", "args": ["ran"]}}}"#,
    );
    let mut viewer = start_dashboard(&project, home.path(), &environment);
    viewer.wait_for("big-1");
    // The event log keeps the notice, which the next notice removes from the status line.
    viewer.send_and_wait_for("\x1b", "i to write");
    viewer.send_and_wait_for("@", "This project has the MCP server git");
    viewer.send_until_gone("\x1b", "╭ Event log");
    assert!(!project.file("ran").exists());
    quit(viewer);
    quit(crew);
}
