//! Setup problems on the dashboard and in `crewdeck run`: no key, a wrong key, no server, an unknown model, no git repository, no
//! commit. Each case is explained, and the setup page offers keys that fix it.

mod starts;
mod trust;

use serde_json::json;
use std::path::Path;
use wiremock::matchers::{method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::common::project::{Project, RunResult, git};
use crate::common::pty::Screen;

fn repository() -> Project {
    let project = Project::git();
    project.write("a.txt", "one\n");
    git(&project, &["add", "a.txt"]);
    let identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
    let commit = [&identity[..], &["commit", "--quiet", "--message", "first"]].concat();
    git(&project, &commit);
    project
}

/// Creates a home folder beside the project. The project must not be the home itself.
fn home(project: &Project) -> tempfile::TempDir {
    tempfile::tempdir_in(project.path().parent().unwrap()).unwrap()
}

fn start_dashboard(
    project: &Project,
    home: &Path,
    args: &[&str],
    environment: &[(&str, &str)],
) -> Screen {
    let program = Path::new(env!("CARGO_BIN_EXE_crewdeck"));
    let mut all = vec![("HOME", home.to_str().unwrap())];
    all.extend(environment);
    Screen::start_program(program, project.path(), 70, 20, args, &all)
}

/// Leaves the composer and presses a key of the setup page. Waits between Esc and the key, because sent together they
/// mean Alt+key.
fn press_page_key(screen: &mut Screen, key: &str) {
    screen.send_until_gone("\x1b", &format!("Esc {key}"));
    screen.send(key);
}

fn quit(mut screen: Screen) {
    screen.send("\x03\x03");
    let (status, is_clean) = screen.wait_for_exit();
    assert!(status.success() && is_clean);
}

fn run(project: &Project, args: &[&str], environment: &[(&str, &str)]) -> RunResult {
    let mut command = project.command(&["run", "do it"]);
    command.args(args).envs(environment.iter().copied());
    RunResult(command.output().unwrap())
}

/// Returns the last line that a run has written to stderr. Panics unless the run failed with exit code 1 and no output.
fn failure_line(ran: &RunResult) -> String {
    assert_eq!((ran.code(), ran.out().as_str()), (1, ""), "{}", ran.err());
    let err = ran.err();
    let last = err.lines().last().unwrap_or_default();
    assert!(last.starts_with("crewdeck: "), "{err}");
    last.to_string()
}

/// A fake model server, with the runtime on which it runs.
struct Server {
    runtime: tokio::runtime::Runtime,
    server: MockServer,
}

impl Server {
    fn start(answers: Vec<(&str, &str, u16, serde_json::Value)>) -> Server {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let server = runtime.block_on(async {
            let server = MockServer::start().await;
            for (verb, at, status, body) in answers {
                let answer = ResponseTemplate::new(status).set_body_json(body);
                let mock = Mock::given(method(verb)).and(path(at));
                mock.respond_with(answer).mount(&server).await;
            }
            server
        });
        Server { runtime, server }
    }

    /// Starts a server that answers every request as Anthropic does if the key is invalid.
    fn rejecting_key() -> Server {
        let error = json!({"type": "error", "error":
            {"type": "authentication_error", "message": "invalid x-api-key"}});
        Server::start(vec![
            ("GET", "/v1/models", 401, error.clone()),
            ("POST", "/v1/messages", 401, error),
        ])
    }

    /// Starts a server that lists two models but refuses calls of any model as unknown.
    fn with_models() -> Server {
        let models = json!({"data": [{"id": "big-1", "type": "model"}, {"id": "small-2", "type": "model"}],
            "has_more": false});
        let error = json!({"type": "error", "error":
            {"type": "not_found_error", "message": "model: big-9"}});
        Server::start(vec![
            ("GET", "/v1/models", 200, models),
            ("POST", "/v1/messages", 404, error),
        ])
    }

    fn environment(&self) -> Vec<(&'static str, String)> {
        vec![
            ("ANTHROPIC_API_KEY", "a-key".into()),
            ("ANTHROPIC_BASE_URL", self.server.uri()),
        ]
    }
}

fn borrow_values<'a>(environment: &'a [(&'static str, String)]) -> Vec<(&'static str, &'a str)> {
    environment.iter().map(|(k, v)| (*k, v.as_str())).collect()
}

/// Returns the address of a port on which no server listens.
fn unused_address() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

#[test]
fn missing_model_page_explains_setup_and_starts_demo() {
    let project = repository();
    let home = home(&project);
    let mut screen = start_dashboard(&project, home.path(), &[], &[]);
    screen.wait_for("No model is configured: there is no API key and no local server.");
    screen.wait_for("export ANTHROPIC_API_KEY=…");
    // While the composer has the focus, characters are text and not keys of the page.
    screen.send_and_wait_for("idemo", "│ demo");
    press_page_key(&mut screen, "d");
    screen.wait_for("I read the requirements before I split the work.");
    assert_eq!(git(&project, &["log", "--all", "--format=%s"]), "first\n");
    // The draft is kept.
    screen.wait_for("│ demo");
    // The lead works, so quitting asks first.
    screen.send("\u{15}/quit\r");
    screen.wait_for("Quit and stop");
    screen.send("y");
    let (status, is_clean) = screen.wait_for_exit();
    assert!(status.success() && is_clean);

    let why = failure_line(&run(&project, &[], &[]));
    assert!(
        why.contains("export ANTHROPIC_API_KEY=…") && why.contains("crewdeck --demo"),
        "{why}"
    );
}

#[test]
fn refused_key_is_reported_before_the_first_prompt() {
    let (project, server) = (repository(), Server::rejecting_key());
    let (home, environment) = (home(&project), server.environment());
    let environment = borrow_values(&environment);
    // Without a model name there is no crew, and the message waits.
    let mut screen = start_dashboard(&project, home.path(), &[], &environment);
    screen.wait_for("The API key was refused (401)");
    screen.wait_for("Check ANTHROPIC_API_KEY: export the right key");
    screen.send_and_wait_for("ibuild it\r", "your text stays in the composer");
    press_page_key(&mut screen, "r");
    screen.wait_for("Checked again: nothing has changed.");
    screen.wait_for("│ build it");
    screen.send("\x03");
    quit(screen);
    // With a model name there is a crew, and the page is shown too. The unanswered message returns to the composer.
    let mut screen = start_dashboard(&project, home.path(), &["--model", "big-1"], &environment);
    screen.wait_for("The API key was refused (401)");
    screen.send("build it\r");
    screen.wait("the message in conversation and composer", |text| {
        text.contains("› build it") && text.contains("│ build it") && text.contains("Check ANTH")
    });
    screen.send("\x03");
    quit(screen);

    for model in [&[][..], &["--model", "big-1"]] {
        let why = failure_line(&run(&project, model, &environment));
        // The key is named as the first cause, the header as the second.
        let (key, header) = (
            why.find("Check ANTHROPIC_API_KEY"),
            why.find("If the key is right"),
        );
        assert!(
            why.contains("invalid x-api-key") && key.is_some() && key < header,
            "{why}"
        );
    }
}

#[test]
fn setup_page_closes_when_the_server_comes_up() {
    let project = repository();
    let (home, url) = (home(&project), unused_address());
    let environment = [
        ("ANTHROPIC_API_KEY", "a-key"),
        ("ANTHROPIC_BASE_URL", url.as_str()),
    ];
    let why = failure_line(&run(&project, &[], &environment));
    assert!(
        why.contains(&url) && why.contains("Start the server"),
        "{why}"
    );

    let mut screen = start_dashboard(&project, home.path(), &[], &environment);
    screen.wait_for("Nothing answers at");
    screen.send_and_wait_for("ibuild it", "│ build it");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let address = url.trim_start_matches("http://").to_string();
    let _server = runtime.block_on(async {
        let listener = std::net::TcpListener::bind(address).unwrap();
        let server = MockServer::builder().listener(listener).start().await;
        let models = json!({"data": [{"id": "big-1", "type": "model"}], "has_more": false});
        Mock::given(method("GET"))
            .respond_with(ResponseTemplate::new(200).set_body_json(models))
            .mount(&server)
            .await;
        server
    });
    let text = screen.wait("the crew", |text| {
        text.contains("big-1") && text.contains("1 idle")
    });
    assert!(!text.contains("Nothing answers"), "{text}");
    screen.wait_for("│ build it");
    screen.send("\x03");
    quit(screen);
}

#[test]
fn unknown_model_is_reported_and_can_be_replaced() {
    let (project, server) = (repository(), Server::with_models());
    let (home, environment) = (home(&project), server.environment());
    let environment = borrow_values(&environment);
    let mut screen = start_dashboard(&project, home.path(), &["--model", "big-9"], &environment);
    screen.wait_for("The model 'big-9' is not among the 2");
    screen.wait_for("The server has big-1, small-2");
    press_page_key(&mut screen, "m");
    screen.wait_for("small-2");
    screen.send("small\r");
    let text = screen.wait_for("The lead plans what you ask for");
    assert!(!text.contains("not among"), "{text}");
    quit(screen);

    let why = failure_line(&run(&project, &["--model", "big-9"], &environment));
    assert!(
        why.contains("'big-9' was not found") && why.contains("--model NAME"),
        "{why}"
    );
}

#[test]
fn key_turns_a_directory_into_a_repository() {
    let project = Project::new();
    project.write("src/a.txt", "one\n");
    project.write("rules.yaml", "rules: [{ say: fine }]\n");
    let home = home(&project);
    let args = ["--provider", "script:rules.yaml"];
    let mut screen = start_dashboard(&project, home.path(), &args, &[]);
    screen.wait_for("This directory is not a git repository.");
    screen.wait_for("Esc g  git init + first commit of the 2 files");
    press_page_key(&mut screen, "g");
    screen.wait("the page has gone", |text| {
        text.contains("This directory is now a git repository with a commit")
            && !text.contains("is not a git repository")
    });
    let files = git(&project, &["ls-files"]);
    assert_eq!(files, "rules.yaml\nsrc/a.txt\n");
    assert_eq!(git(&project, &["status", "--short"]), "");
    quit(screen);

    // `crewdeck run` works outside git and says so.
    let project = Project::new();
    project.write("rules.yaml", "rules: [{ say: fine }]\n");
    let ran = run(&project, &args, &[]);
    assert_eq!((ran.code(), ran.out().trim()), (0, "fine"), "{}", ran.err());
    assert!(
        ran.err().contains("is not a git repository"),
        "{}",
        ran.err()
    );
    assert!(!project.file(".git").exists());
}

#[test]
fn empty_repository_gets_a_commit_by_key_or_by_hand() {
    let rules = "rules: [{ say: fine }]\n";
    // With the key of the page.
    let project = Project::git();
    let home = home(&project);
    let script = home.path().join("rules.yaml");
    std::fs::write(&script, rules).unwrap();
    let provider = format!("script:{}", script.display());
    let args = ["--provider", &provider];
    let mut screen = start_dashboard(&project, home.path(), &args, &[]);
    screen.wait_for("This git repository has no commit yet.");
    screen.wait_for("create empty first commit");
    press_page_key(&mut screen, "g");
    screen.wait_for("now a git repository with a commit");
    assert_eq!(git(&project, &["log", "--format=%s"]), "Start\n");
    quit(screen);
    // With a commit in another terminal.
    let project = Project::git();
    let mut screen = start_dashboard(&project, home.path(), &args, &[]);
    screen.wait_for("This git repository has no commit yet.");
    screen.send_and_wait_for("a draft", "│ a draft");
    let identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
    let commit = [&identity[..], &["commit", "-q", "--allow-empty", "-m", "x"]].concat();
    git(&project, &commit);
    let text = screen.wait("the page has gone", |text| !text.contains("no commit yet"));
    assert!(text.contains("│ a draft"), "{text}");
    screen.send("\x03");
    quit(screen);

    let ran = run(&Project::git(), &args, &[]);
    assert_eq!((ran.code(), ran.out().trim()), (0, "fine"), "{}", ran.err());
    assert!(ran.err().contains("no commit yet"), "{}", ran.err());
}

#[test]
fn complete_setup_shows_the_composer_hint() {
    let (project, server) = (repository(), Server::with_models());
    let (home, environment) = (home(&project), server.environment());
    let screen = start_dashboard(&project, home.path(), &[], &borrow_values(&environment));
    screen.wait("the model and the composer hint", |text| {
        text.contains("big-1") && text.contains("Say what you want done")
    });
    quit(screen);
}

#[test]
fn new_check_applies_a_changed_mouse_setting() {
    let (project, environment) = (repository(), [("OPENAI_BASE_URL", unused_address())]);
    let (home, environment) = (home(&project), borrow_values(&environment));
    let args = ["--provider", "openai"];
    let mut screen = start_dashboard(&project, home.path(), &args, &environment);
    screen.wait_for("r  ask the server again");
    let settings = home.path().join(".config/crewdeck/config.toml");
    std::fs::create_dir_all(settings.parent().unwrap()).unwrap();
    std::fs::write(settings, "mouse = false\n").unwrap();
    screen.send_and_wait_for("r", "Checked again: nothing has changed.");
    let released = b"\x1b[?1000l";
    screen.wait_raw("the mouse to be released", |raw| {
        raw.windows(released.len()).any(|w| w == released)
    });
    quit(screen);
}
