//! The size of the lead's first request, which every conversation pays for again.

use crate::common::project::{Project, git};
use wiremock::matchers::method;
use wiremock::{Mock, MockServer, ResponseTemplate};

/// Maximum size of the first request with all tools and a large project, in bytes.
const REQUEST_MAX: usize = 24_000;

/// Creates a repository with so many files and commits that its description in the system prompt has the maximum size.
fn large_project() -> Project {
    let subject = "A subject that is longer than what the system prompt shows of it";
    let project = Project::repository(&[("README.md", "A project.\n")]);
    for folder in 0..12 {
        for file in 0..12 {
            project.write(&format!("folder-{folder:02}/module-{file:02}.rs"), "");
        }
    }
    for _ in 0..3 {
        git(
            &project,
            &["commit", "--quiet", "--allow-empty", "-m", subject],
        );
    }
    project
}

/// Returns the body of the first request that `crewdeck run` sends to the model.
fn first_request(project: &Project, provider: &str) -> String {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let server = runtime.block_on(async {
        let server = MockServer::start().await;
        let refusal = ResponseTemplate::new(400).set_body_string("{}");
        Mock::given(method("POST"))
            .respond_with(refusal)
            .mount(&server)
            .await;
        server
    });
    let mut command = project.command(&[
        "run",
        "hello",
        "--provider",
        provider,
        "--base-url",
        &format!("{}/v1", server.uri()),
        "--model",
        "m",
    ]);
    let ended = command.env("ANTHROPIC_API_KEY", "key").output().unwrap();
    let requests = runtime.block_on(server.received_requests()).unwrap();
    let request = requests.first();
    let request = request.unwrap_or_else(|| panic!("{provider} received nothing: {ended:?}"));
    String::from_utf8(request.body.clone()).unwrap()
}

#[test]
fn first_request_with_all_tools_stays_below_its_limit() {
    let project = large_project();
    for provider in ["openai", "responses", "anthropic"] {
        let request = first_request(&project, provider);
        println!("{provider}: {} bytes", request.len());
        // Over Responses, each tool also says that its schema is strict.
        let strict = request.matches("\"strict\":true").count() * "\"strict\":true,".len();
        assert!(
            request.len() - strict <= REQUEST_MAX,
            "{provider}: {} bytes",
            request.len()
        );
        for part in [
            "How to work:",
            "folder-11/",
            "spawn_teammate",
            "code-review",
        ] {
            assert!(request.contains(part), "{provider}: no {part}");
        }
    }
}
