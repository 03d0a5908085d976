//! The login to a server from the dashboard: the browser opens if there is one, and the address is always shown.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::json;

use super::http::login_server;
use super::turns::wait_for_file;
use crate::common::project::Project;
use crate::common::pty::Screen;

/// An opener of web pages that stores the address, and follows it as a browser does.
const OPENER: &str = "#!/bin/sh
printf %s \"$1\" >opened.new
mv opened.new opened
exec python3 -c 'import sys, urllib.request; urllib.request.urlopen(sys.argv[1])' \"$1\"
";

#[test]
fn login_opens_the_browser_and_shows_the_address() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let server = runtime.block_on(login_server());
    for display in [":99", ""] {
        let project = Project::repository(&[("a.txt", "one\n")]);
        let config = json!({"mcpServers": {"docs": {
            "type": "http",
            "url": format!("{}/mcp", server.uri()),
            "oauth": {"clientId": "mine"},
            "alwaysLoad": true,
        }}});
        project.write(".config/crewdeck/mcp.json", &config.to_string());
        project.write("rules.yaml", "rules:\n  - say: done\n");
        project.write("bin/xdg-open", OPENER);
        let opener = project.file("bin/xdg-open");
        std::fs::set_permissions(&opener, PermissionsExt::from_mode(0o755)).unwrap();
        let path = std::env::var("PATH").unwrap();
        let path = format!("{}:{path}", project.file("bin").display());
        let screen = Screen::start_program(
            Path::new(env!("CARGO_BIN_EXE_crewdeck")),
            project.path(),
            140,
            40,
            &["--provider", "script:rules.yaml"],
            &[("PATH", &path), ("DISPLAY", display)],
        );
        log_in(screen, &project, &server.uri(), display);
    }
}

/// Logs out in the dashboard, and after another login in a shell.
fn log_out(mut screen: Screen, project: &Project) {
    let log_out_in_shell = || project.run(&["mcp", "logout", "docs"]);
    screen.send("O");
    screen.wait_for("Logged out of the MCP server docs.");
    screen.wait_for("needs a login");
    assert_eq!(log_out_in_shell().code(), 3);
    screen.send("L");
    screen.wait("the server is used again", |text| {
        text.contains("ready") && !text.contains("needs a login")
    });
    let logins = project.file(".config/crewdeck/mcp-logins");
    let files = std::fs::read_dir(&logins).unwrap().flatten();
    let stored: Vec<_> = files
        .map(|file| (file.path(), std::fs::read(file.path()).unwrap()))
        .collect();
    let ran = log_out_in_shell();
    assert_eq!(ran.code(), 0, "{}", ran.err());
    assert!(ran.err().contains("logged out of docs"), "{}", ran.err());
    screen.send("O");
    screen.wait_for("You are not logged in to the MCP server docs.");
    // The login to a server is deleted with the server.
    std::fs::create_dir_all(&logins).unwrap();
    for (path, tokens) in &stored {
        std::fs::write(path, tokens).unwrap();
    }
    let ran = project.run(&["mcp", "remove", "docs"]);
    assert!(
        ran.err().contains("deleted the login to docs"),
        "{}",
        ran.err()
    );
}

fn log_in(mut screen: Screen, project: &Project, server: &str, display: &str) {
    screen.wait_for("scripted");
    screen.send("/mcp\r");
    screen.wait_for("needs a login");
    screen.send("L");
    let page = format!("{server}/authorize?");
    let opened = project.file("opened");
    if display.is_empty() {
        let text = screen.wait_for("with your browser: open");
        assert!(text.contains(&page), "{text}");
        assert!(!opened.exists());
    } else {
        wait_for_file(&opened);
        let text = screen.wait_for("Logged in to the MCP server docs.");
        assert!(
            text.contains("in the browser that opens, or open"),
            "{text}"
        );
        assert!(text.contains(&page), "{text}");
        let url = std::fs::read_to_string(opened).unwrap();
        assert!(
            url.starts_with(&page) && url.contains("client_id=mine"),
            "{url}"
        );
        screen.wait_for("ready");
        log_out(screen, project);
    }
}
