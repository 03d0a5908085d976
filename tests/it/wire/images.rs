//! Images in all wire formats.

use crewdeck::domain::attachment::{AttachedImage, ImageData, ImageSize};
use pretty_assertions::assert_eq;

use super::*;

fn image(path: &str, data: Option<&str>) -> Block {
    Block::Image(AttachedImage {
        path: path.into(),
        file: "aa.png".into(),
        size: ImageSize {
            media_type: "image/png".into(),
            width: 3,
            height: 2,
        },
        data: ImageData(data.map(Into::into)),
    })
}

fn with_blocks(blocks: Vec<Block>, images: ImageInput) -> ModelRequest {
    ModelRequest {
        messages: Arc::new(vec![Message::user(blocks)]),
        tools: Arc::default(),
        images,
        ..request()
    }
}

/// Sends a request with a single user message to a server of each kind. Returns the message's content as the servers
/// for Messages and for Chat Completions receive it. Checks that a Responses server receives the same parts as the
/// latter.
async fn sent(request: &ModelRequest) -> (Value, Value) {
    let messages = mock_server(sse(ANTHROPIC)).await;
    send(&anthropic(&messages), request.clone()).await.unwrap();
    let completions = mock_server(sse(OPENAI)).await;
    send(&openai(&completions), request.clone()).await.unwrap();
    let body = |bodies: Vec<Value>, at: usize| bodies[0]["messages"][at]["content"].clone();
    let responses_server = mock_server(sse(RESPONSES)).await;
    send(&responses(&responses_server), request.clone())
        .await
        .unwrap();
    let parts = request_bodies(&responses_server).await[0]["input"][0]["content"].clone();
    let expected = body(request_bodies(&completions).await, 1);
    let expected =
        expected
            .as_array()
            .unwrap()
            .iter()
            .map(|part| match &part["image_url"]["url"] {
                Value::Null => json!({"type": "input_text", "text": part["text"]}),
                url => json!({"type": "input_image", "detail": "auto", "image_url": url}),
            });
    assert_eq!(parts, expected.collect::<Value>());
    (
        body(request_bodies(&messages).await, 0),
        body(request_bodies(&completions).await, 1),
    )
}

#[tokio::test]
async fn images_are_blocks_on_all_wires() {
    let blocks = vec![
        Block::text("look"),
        image("a.png", Some("QUJD")),
        image("gone.png", None),
    ];
    let (messages, completions) = sent(&with_blocks(blocks, ImageInput::Sent)).await;
    let gone = "[image gone.png (3x2) is no longer stored]";
    assert_eq!(
        messages,
        json!([
            {"type": "text", "text": "look"},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD"}},
            {"type": "text", "text": gone, "cache_control": {"type": "ephemeral"}},
        ])
    );
    assert_eq!(
        completions,
        json!([
            {"type": "text", "text": "look"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}},
            {"type": "text", "text": gone},
        ])
    );
}

#[tokio::test]
async fn model_without_images_gets_text_instead() {
    let blocks = vec![Block::text("look"), image("a.png", Some("QUJD"))];
    let (messages, completions) = sent(&with_blocks(blocks, ImageInput::LeftOut)).await;
    let text = "[image a.png (3x2) was not sent: some-model cannot read images]";
    assert_eq!(messages[1]["text"], text);
    assert_eq!(completions[1], json!({"type": "text", "text": text}));
}

#[tokio::test]
async fn only_the_newest_images_are_sent() {
    let large = "x".repeat(5_000_000);
    let blocks: Vec<Block> = (0..6)
        .map(|n| image(&format!("{n}.png"), Some(&large)))
        .collect();
    let (messages, _) = sent(&with_blocks(blocks, ImageInput::Sent)).await;
    let kinds: Vec<&str> = messages
        .as_array()
        .unwrap()
        .iter()
        .map(|part| part["type"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds,
        ["text", "image", "image", "image", "image", "image"].map(|k| k)
    );
    let text = messages[0]["text"].as_str().unwrap();
    assert!(
        text.starts_with("[image 0.png (3x2) was sent earlier"),
        "{text}"
    );
}
