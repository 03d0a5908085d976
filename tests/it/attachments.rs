//! Files that the user attaches to a message: what the model gets, what the screen shows, and what a restart keeps.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crewdeck::crew::{Crew, CrewParts};
use crewdeck::domain::chat::Block;
use crewdeck::domain::graph::NewTask;
use crewdeck::domain::ids::Name;
use crewdeck::domain::mention::mentions;
use crewdeck::domain::timestamp::Timestamp;
use crewdeck::domain::usage::Usage;
use crewdeck::model::{
    Delta, ErrorKind, ImageInput, Model, ModelError, ModelRequest, Reply, StopReason,
};
use crewdeck::protocol::event::{AgentEvent, CrewEvent, EventKind, TurnEnd};
use crewdeck::protocol::{Command, CommandId, EventReceiver, SentCommand, bus};
use crewdeck::store::{Board, prepare};
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt, stream};
use pretty_assertions::assert_eq;

use crate::common::crew::crew_parts;

/// A model that records its requests. If `error` is set, the model fails with it until its requests contain no images.
#[derive(Default)]
struct Recorder {
    requests: Mutex<Vec<ModelRequest>>,
    error: Option<ModelError>,
}

impl Model for Recorder {
    fn call(&self, request: ModelRequest) -> BoxStream<'static, Result<Delta, ModelError>> {
        let refuses = request.images == ImageInput::Sent;
        self.requests.lock().unwrap().push(request);
        let reply = Reply {
            blocks: vec![Block::text("I see.")],
            stop: StopReason::EndTurn,
            usage: Usage {
                input: 1000,
                ..Usage::default()
            },
        };
        let answer = match self.error.clone().filter(|_| refuses) {
            Some(error) => Err(error),
            None => Ok(Delta::Done(reply)),
        };
        stream::iter([answer]).boxed()
    }

    fn list(&self) -> BoxFuture<'static, Result<Vec<String>, ModelError>> {
        async { Ok(Vec::new()) }.boxed()
    }

    fn is_remote(&self) -> bool {
        true
    }
}

struct Running {
    crew: Crew,
    events: EventReceiver,
    model: Arc<Recorder>,
}

impl Running {
    async fn start(root: &Path, error: Option<ModelError>, session: Option<&str>) -> Running {
        Running::start_model("script", root, error, session).await
    }

    async fn start_model(
        name: &str,
        root: &Path,
        error: Option<ModelError>,
        session: Option<&str>,
    ) -> Running {
        prepare(root).unwrap();
        let clock = || Timestamp(1.0);
        let (event_sender, events) = bus::bus(clock);
        let model = Arc::new(Recorder {
            error,
            ..Recorder::default()
        });
        let mut parts: CrewParts = crew_parts(root, event_sender, clock, model.clone());
        parts.session.info.session = "0190aaaabbbbcccc".into();
        parts.resumes = session.is_some();
        parts.models.model_config.name = name.into();
        let crew = Crew::start(parts).await.unwrap();
        Running {
            crew,
            events,
            model,
        }
    }

    /// Sends a message to the lead. Each mention in `text` becomes an attachment.
    fn send(&self, text: &str) {
        let command = Command::Prompt {
            to: Name::lead(),
            text: text.into(),
            attachments: mentions(text, |_| true),
        };
        let id = CommandId(7);
        self.crew.submit(SentCommand { id, command }).unwrap();
    }

    /// Waits for an event for which `wanted` returns a value, and returns the value.
    async fn wait<T>(&mut self, mut wanted: impl FnMut(EventKind) -> Option<T>) -> T {
        let search = async {
            loop {
                let event = self.events.next().await.expect("the crew runs");
                if let Some(found) = wanted(event.kind) {
                    return found;
                }
            }
        };
        let found = tokio::time::timeout(Duration::from_secs(60), search).await;
        found.expect("the event comes")
    }

    async fn labels(&mut self) -> Vec<String> {
        self.wait(|event| match event {
            EventKind::Agent {
                event: AgentEvent::Prompted { attachments, .. },
                ..
            } => Some(attachments),
            _ => None,
        })
        .await
    }

    async fn turn_end(&mut self) -> TurnEnd {
        self.wait(|event| match event {
            EventKind::Agent {
                event: AgentEvent::TurnEnded { end },
                ..
            } => Some(end),
            _ => None,
        })
        .await
    }

    async fn refusal(&mut self) -> String {
        self.wait(|event| match event {
            EventKind::Crew(CrewEvent::CommandRejected { command, why }) => {
                assert_eq!(command, Some(CommandId(7)));
                Some(why)
            }
            _ => None,
        })
        .await
    }

    /// Returns the parts of all messages of the newest request.
    fn last_blocks(&self) -> Vec<Block> {
        let requests = self.model.requests.lock().unwrap();
        let last = requests.last().expect("the model was called");
        let blocks = last.messages.iter().flat_map(|m| m.blocks.iter().cloned());
        blocks.collect()
    }
}

fn write_image(path: &Path) {
    let image = image::RgbImage::from_pixel(3, 2, image::Rgb([200, 10, 10]));
    image.save(path).unwrap();
}

fn is_loaded_image(block: &Block) -> bool {
    matches!(block, Block::Image(image) if image.path == "shot.png" && image.data.0.is_some())
}

#[tokio::test]
async fn system_prompt_and_tools_are_the_same_bytes_in_each_turn() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    std::fs::write(root.join("AGENTS.md"), "Be brief.").unwrap();
    let mut running = Running::start(root, None, None).await;
    running.send("one");
    assert_eq!(running.turn_end().await, TurnEnd::Done);
    // What the prompt describes changes between the turns.
    std::fs::write(root.join("AGENTS.md"), "Be verbose.").unwrap();
    std::fs::write(root.join("new.rs"), "").unwrap();
    let new = NewTask {
        subject: "Look".into(),
        ..NewTask::default()
    };
    Board::open(root).create(new, Timestamp(1.0)).unwrap();
    running.send("two");
    assert_eq!(running.turn_end().await, TurnEnd::Done);
    let requests = running.model.requests.lock().unwrap();
    let prefix = |request: &ModelRequest| (request.system.clone(), format!("{:?}", request.tools));
    let prefixes: Vec<_> = requests.iter().map(prefix).collect();
    assert_eq!((prefixes.len(), &prefixes[0]), (2, &prefixes[1]));
    assert!(prefixes[0].1.contains("spawn_teammate"));
    // The conversation is only extended.
    let messages = &requests[1].messages;
    assert!(messages.starts_with(&requests[0].messages) && messages.len() == 3);
}

#[tokio::test]
async fn attached_files_reach_the_model_and_survive_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("src")).unwrap();
    let secret = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789";
    std::fs::write(dir.path().join("a b.md"), format!("one\ntwo {secret}\n")).unwrap();
    std::fs::write(dir.path().join("src/x.rs"), "x").unwrap();
    write_image(&dir.path().join("shot.png"));
    let mut running = Running::start(dir.path(), None, None).await;
    running.send("read @\"a b.md\", @src/ and @shot.png");
    assert_eq!(
        running.labels().await,
        ["a b.md · 2 lines", "src/ · 1 file", "shot.png · 3x2 image"]
    );
    assert_eq!(running.turn_end().await, TurnEnd::Done);
    let blocks = running.last_blocks();
    let texts: Vec<&str> = blocks
        .iter()
        .filter_map(|block| match block {
            Block::Text { text } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(texts[0], "read @\"a b.md\", @src/ and @shot.png");
    assert!(
        texts[1].starts_with("<attachment path=\"a b.md\""),
        "{}",
        texts[1]
    );
    assert!(
        texts[1].contains("one\ntwo ") && !texts[1].contains(secret),
        "{}",
        texts[1]
    );
    assert!(texts[2].contains("x.rs"), "{}", texts[2]);
    assert!(blocks.iter().any(is_loaded_image), "{blocks:?}");
    running.crew.stop().await.unwrap();
    // The log refers to the image.
    let log = dir.path().join(".transcripts/0190aaaabbbbcccc-lead.jsonl");
    let log = std::fs::read_to_string(log).unwrap();
    assert!(
        log.contains("\"type\":\"image\"") && !log.contains("iVBOR"),
        "{log}"
    );

    let mut running = Running::start(dir.path(), None, Some("resume")).await;
    running.send("go on");
    assert_eq!(running.labels().await, [] as [String; 0]);
    running.turn_end().await;
    assert!(running.last_blocks().iter().any(is_loaded_image));
    running.crew.stop().await.unwrap();
}

#[tokio::test]
async fn message_is_refused_when_a_file_cannot_be_attached() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("program"), b"\x7fELF\0\0").unwrap();
    std::fs::write(dir.path().join("fake.png"), "no image").unwrap();
    let mut running = Running::start(dir.path(), None, None).await;
    for (text, why) in [
        (
            "@gone.md",
            "Cannot attach gone.md: it does not exist. The message was not sent.",
        ),
        (
            "@program",
            "Cannot attach program: it is a binary file of 6 bytes. The message was not sent.",
        ),
        (
            "@fake.png",
            "Cannot attach fake.png: it is not a PNG, JPEG or WebP image. The message was not sent.",
        ),
    ] {
        running.send(text);
        assert_eq!(running.refusal().await, why);
    }
    assert_eq!(running.model.requests.lock().unwrap().len(), 0);
    running.crew.stop().await.unwrap();
}

#[tokio::test]
async fn refused_image_ends_the_turn_and_is_not_sent_again() {
    let dir = tempfile::tempdir().unwrap();
    write_image(&dir.path().join("shot.png"));
    let server = "the server failed (500): image input is not supported";
    let error = ModelError::new(ErrorKind::Server, server, "");
    let mut running = Running::start(dir.path(), Some(error), None).await;
    running.send("what is in @shot.png");
    let TurnEnd::Failed { error, hint } = running.turn_end().await else {
        panic!("the turn succeeded");
    };
    assert!(
        error.contains(server) && error.starts_with("the image was not accepted"),
        "{error}"
    );
    assert!(hint.contains("/model"), "{hint}");
    running.send("go on without it");
    assert_eq!(running.turn_end().await, TurnEnd::Done);
    let requests = running.model.requests.lock().unwrap().len();
    assert_eq!(
        requests, 2,
        "an image that is not accepted is not sent again"
    );
    running.crew.stop().await.unwrap();
}

#[tokio::test]
async fn well_known_model_without_images_gets_them_and_its_cost_is_an_estimate() {
    let dir = tempfile::tempdir().unwrap();
    write_image(&dir.path().join("shot.png"));
    let mut running = Running::start_model("zai/glm-4.6", dir.path(), None, None).await;
    let mut notices = Vec::new();
    for _ in 0..2 {
        running.send("look at @shot.png");
        let cost = running.wait(|event| match event {
            EventKind::Crew(CrewEvent::Notice { text, .. }) => {
                notices.push(text);
                None
            }
            EventKind::Agent {
                event:
                    AgentEvent::UsageChanged {
                        cost: Some(cost),
                        estimated,
                        ..
                    },
                ..
            } => Some((cost, estimated)),
            _ => None,
        });
        let (cost, is_estimate) = cost.await;
        assert!(cost > 0.0 && is_estimate, "{cost}");
        assert_eq!(running.turn_end().await, TurnEnd::Done);
        assert!(running.last_blocks().iter().any(is_loaded_image));
    }
    let hints: Vec<_> = notices
        .iter()
        .filter(|text| text.contains("probably cannot read images"))
        .collect();
    assert_eq!(hints.len(), 1, "{notices:?}");
}
