//! The first minutes: without a key, with a wrong one, without a server, with a model that is not there, outside git,
//! without a commit; on the screen and without one. Each says what is the case and mends what a key can mend.

mod starts;
mod trust;

use serde_json::json;
use std::path::Path;
use wiremock::matchers::{method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::common::project::{Project, Ran, git};
use crate::common::pty::Screen;

/// A repository with one commit.
fn repository() -> Project {
    let project = Project::git();
    project.write("a.txt", "one\n");
    git(&project, &["add", "a.txt"]);
    let who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
    let commit = [&who[..], &["commit", "--quiet", "--message", "first"]].concat();
    git(&project, &commit);
    project
}

/// A folder of its own as the home, so that the project is not taken for it.
fn home(project: &Project) -> tempfile::TempDir {
    tempfile::tempdir_in(project.path().parent().unwrap()).unwrap()
}

fn open(project: &Project, home: &Path, args: &[&str], environment: &[(&str, &str)]) -> Screen {
    let program = Path::new(env!("CARGO_BIN_EXE_crewdeck"));
    let mut all = vec![("HOME", home.to_str().unwrap())];
    all.extend(environment);
    Screen::start_program(program, project.path(), 70, 20, args, &all)
}

/// Leaves the composer and presses a key of the page. Sent at once the two would be one key, with Alt.
fn press(screen: &mut Screen, key: &str) {
    screen.clear("\x1b", &format!("Esc {key}"));
    screen.send(key);
}

fn leave(mut screen: Screen) {
    screen.send("\x03\x03");
    let (status, is_clean) = screen.end();
    assert!(status.success() && is_clean);
}

fn run(project: &Project, args: &[&str], environment: &[(&str, &str)]) -> Ran {
    let mut command = project.command(&["run", "do it"]);
    command.args(args).envs(environment.iter().copied());
    Ran(command.output().unwrap())
}

/// The last line of a run that failed, as it must: with 1, and nothing on stdout.
fn why(ran: &Ran) -> String {
    assert_eq!((ran.code(), ran.out().as_str()), (1, ""), "{}", ran.err());
    let err = ran.err();
    let last = err.lines().last().unwrap_or_default();
    assert!(last.starts_with("crewdeck: "), "{err}");
    last.to_string()
}

/// A server, and the runtime in which it lives.
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

    /// One that lets nobody in, in Anthropic's words.
    fn refusing() -> Server {
        let no = json!({"type": "error", "error":
            {"type": "authentication_error", "message": "invalid x-api-key"}});
        Server::start(vec![
            ("GET", "/v1/models", 401, no.clone()),
            ("POST", "/v1/messages", 401, no),
        ])
    }

    /// One that has two models.
    fn with_models() -> Server {
        let models = json!({"data": [{"id": "big-1", "type": "model"}, {"id": "small-2", "type": "model"}],
            "has_more": false});
        let no = json!({"type": "error", "error":
            {"type": "not_found_error", "message": "model: big-9"}});
        Server::start(vec![
            ("GET", "/v1/models", 200, models),
            ("POST", "/v1/messages", 404, no),
        ])
    }

    fn environment(&self) -> Vec<(&'static str, String)> {
        vec![
            ("ANTHROPIC_API_KEY", "a-key".into()),
            ("ANTHROPIC_BASE_URL", self.server.uri()),
        ]
    }
}

fn borrowed<'a>(environment: &'a [(&'static str, String)]) -> Vec<(&'static str, &'a str)> {
    environment.iter().map(|(k, v)| (*k, v.as_str())).collect()
}

/// A server's address where nobody listens.
fn nowhere() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

#[test]
fn without_a_model_the_page_says_how_to_set_one_and_starts_the_demo_at_a_key() {
    let project = repository();
    let home = home(&project);
    let mut screen = open(&project, home.path(), &[], &[]);
    screen.wait_for("No model is configured: there is no API key and no local server.");
    screen.wait_for("export ANTHROPIC_API_KEY=…");
    // A letter is no key while it is written: words that come before the page are words.
    screen.press("idemo", "│ demo");
    press(&mut screen, "d");
    screen.wait("the demo at work", |text| {
        text.contains("bob asks you to approve its plan") && text.contains("3 idle")
    });
    assert_eq!(git(&project, &["log", "--all", "--format=%s"]), "first\n");
    // What was written came along.
    screen.wait_for("│ demo");
    // Bob waits for the user and nobody works: leaving needs no question.
    screen.send("\u{15}/quit\r");
    let (status, is_clean) = screen.end();
    assert!(status.success() && is_clean);

    let why = why(&run(&project, &[], &[]));
    assert!(
        why.contains("export ANTHROPIC_API_KEY=…") && why.contains("crewdeck --demo"),
        "{why}"
    );
}

#[test]
fn with_a_wrong_key_the_page_says_so_before_the_first_word() {
    let (project, server) = (repository(), Server::refusing());
    let (home, environment) = (home(&project), server.environment());
    let environment = borrowed(&environment);
    // No model is named: there is no crew, and what is written waits.
    let mut screen = open(&project, home.path(), &[], &environment);
    screen.wait_for("The key was refused (401)");
    screen.wait_for("Check ANTHROPIC_API_KEY: export the right key");
    screen.press("ibuild it\r", "it stays here");
    press(&mut screen, "r");
    screen.wait_for("Checked again: nothing has changed.");
    screen.wait_for("│ build it");
    screen.send("\x03");
    leave(screen);
    // A model is named: there is a crew, and the page is there all the same; what nobody answers comes back.
    let mut screen = open(&project, home.path(), &["--model", "big-1"], &environment);
    screen.wait_for("The key was refused (401)");
    screen.send("build it\r");
    screen.wait("the words in both places", |text| {
        text.contains("› build it") && text.contains("│ build it") && text.contains("Check ANTH")
    });
    screen.send("\x03");
    leave(screen);

    for model in [&[][..], &["--model", "big-1"]] {
        let why = why(&run(&project, model, &environment));
        // The key comes first; the header is what else it can be.
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
fn a_server_that_comes_up_is_found_and_the_page_goes() {
    let project = repository();
    let (home, url) = (home(&project), nowhere());
    let environment = [
        ("ANTHROPIC_API_KEY", "a-key"),
        ("ANTHROPIC_BASE_URL", url.as_str()),
    ];
    let why = why(&run(&project, &[], &environment));
    assert!(
        why.contains(&url) && why.contains("Start the server"),
        "{why}"
    );

    let mut screen = open(&project, home.path(), &[], &environment);
    screen.wait_for("Nothing answers at");
    screen.press("ibuild it", "│ build it");
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
    leave(screen);
}

#[test]
fn a_model_that_the_server_does_not_have_is_said_and_another_one_is_chosen() {
    let (project, server) = (repository(), Server::with_models());
    let (home, environment) = (home(&project), server.environment());
    let environment = borrowed(&environment);
    let mut screen = open(&project, home.path(), &["--model", "big-9"], &environment);
    screen.wait_for("The model 'big-9' is not among the 2");
    screen.wait_for("The server has big-1, small-2");
    press(&mut screen, "m");
    screen.wait_for("small-2");
    screen.send("small\r");
    let text = screen.wait_for("Say what you want done. The lead plans it");
    assert!(!text.contains("not among"), "{text}");
    leave(screen);

    let why = why(&run(&project, &["--model", "big-9"], &environment));
    assert!(
        why.contains("'big-9' was not found") && why.contains("--model NAME"),
        "{why}"
    );
}

#[test]
fn a_directory_outside_git_becomes_a_repository_at_a_key() {
    let project = Project::new();
    project.write("src/a.txt", "one\n");
    project.write("rules.yaml", "rules: [{ say: fine }]\n");
    let home = home(&project);
    let args = ["--provider", "script:rules.yaml"];
    let mut screen = open(&project, home.path(), &args, &[]);
    screen.wait_for("This directory is not a git repository.");
    screen.wait_for("Esc g  git init + first commit of the 2 files");
    press(&mut screen, "g");
    screen.wait("the page has gone", |text| {
        text.contains("This directory is now a git repository with a commit")
            && !text.contains("is not a git repository")
    });
    let files = git(&project, &["ls-files"]);
    assert_eq!(files, "rules.yaml\nsrc/a.txt\n");
    assert_eq!(git(&project, &["status", "--short"]), "");
    leave(screen);

    // Without a screen it works as it is, and says so.
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
fn a_repository_without_a_commit_gets_its_first_one_and_the_page_goes_by_itself_too() {
    let rules = "rules: [{ say: fine }]\n";
    // By a key.
    let project = Project::git();
    let home = home(&project);
    let script = home.path().join("rules.yaml");
    std::fs::write(&script, rules).unwrap();
    let provider = format!("script:{}", script.display());
    let args = ["--provider", &provider];
    let mut screen = open(&project, home.path(), &args, &[]);
    screen.wait_for("This git repository has no commit yet.");
    screen.wait_for("create empty first commit");
    press(&mut screen, "g");
    screen.wait_for("now a git repository with a commit");
    assert_eq!(git(&project, &["log", "--format=%s"]), "Start\n");
    leave(screen);
    // By hand, in another window.
    let project = Project::git();
    let mut screen = open(&project, home.path(), &args, &[]);
    screen.wait_for("This git repository has no commit yet.");
    screen.press("a draft", "│ a draft");
    let who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
    let commit = [&who[..], &["commit", "-q", "--allow-empty", "-m", "x"]].concat();
    git(&project, &commit);
    let text = screen.wait("the page has gone", |text| !text.contains("no commit yet"));
    assert!(text.contains("│ a draft"), "{text}");
    screen.send("\x03");
    leave(screen);

    let ran = run(&Project::git(), &args, &[]);
    assert_eq!((ran.code(), ran.out().trim()), (0, "fine"), "{}", ran.err());
    assert!(ran.err().contains("no commit yet"), "{}", ran.err());
}

#[test]
fn where_all_is_well_the_first_screen_says_what_to_write() {
    let (project, server) = (repository(), Server::with_models());
    let (home, environment) = (home(&project), server.environment());
    let screen = open(&project, home.path(), &[], &borrowed(&environment));
    screen.wait("the model and what to write", |text| {
        text.contains("big-1") && text.contains("Say what you want done. The lead plans it")
    });
    leave(screen);
}

#[test]
fn looking_again_leaves_the_mouse_to_the_terminal_where_the_settings_say_so_now() {
    let (project, environment) = (repository(), [("OPENAI_BASE_URL", nowhere())]);
    let (home, environment) = (home(&project), borrowed(&environment));
    let args = ["--provider", "openai"];
    let mut screen = open(&project, home.path(), &args, &environment);
    screen.wait_for("r  ask the server again");
    let settings = home.path().join(".config/crewdeck/config.toml");
    std::fs::create_dir_all(settings.parent().unwrap()).unwrap();
    std::fs::write(settings, "mouse = false\n").unwrap();
    screen.press("r", "Checked again: nothing has changed.");
    let free = b"\x1b[?1000l";
    screen.wait_raw("a mouse that is free", |raw| {
        raw.windows(free.len()).any(|w| w == free)
    });
    leave(screen);
}
