//! Tests of the conversation log.

use super::*;
use crate::domain::chat::{AnswerOrigin, Block, Message, ProviderItem};
use crate::domain::ids::PromptId;
use crate::store::{PromptQueue, QueuedPrompt};
use pretty_assertions::assert_eq;

fn fixture() -> (tempfile::TempDir, TranscriptFile) {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join(TRANSCRIPTS)).unwrap();
    let transcript = TranscriptFile::open(dir.path(), "s1", &Name::lead());
    (dir, transcript)
}

fn user(text: &str) -> LogRecord {
    LogRecord::Message(Message::user(vec![Block::text(text)]))
}

#[test]
fn written_records_are_loaded() {
    let (dir, transcript) = fixture();
    assert_eq!(transcript.load().unwrap(), LoadedTranscript::default());
    transcript.append(&user("hello")).unwrap();
    let recalled = transcript.load().unwrap();
    assert_eq!(
        recalled.conversation.messages,
        vec![Message::user(vec![Block::text("hello")])]
    );
    assert_eq!(recalled.conversation.turn, TurnState::Open);
    assert_eq!(sessions(dir.path()).unwrap(), vec!["s1"]);
}

#[test]
fn items_of_a_provider_are_loaded_with_secrets_redacted() {
    let (_dir, transcript) = fixture();
    let redactor = Redactor::new([("TOKEN".to_string(), "hunter2-hunter2".to_string())]);
    let transcript = transcript.with_redactor(&redactor);
    let answer = |summary: &str| {
        Message::assistant(vec![
            Block::ProviderItem(ProviderItem {
                origin: AnswerOrigin {
                    server: "responses https://api.openai.com".into(),
                    model: "gpt-5".into(),
                },
                item: serde_json::json!({"type": "reasoning", "summary": [{"text": summary}],
                    "encrypted_content": "gAAAAABl_-x"}),
            }),
            Block::text("fine"),
        ])
    };
    transcript.append(&user("go")).unwrap();
    let record = LogRecord::Message(answer("the token is hunter2-hunter2"));
    transcript.append(&record).unwrap();
    let loaded = transcript.load().unwrap();
    assert_eq!(
        loaded.conversation.messages[1],
        answer("the token is [redacted: TOKEN]")
    );
    assert_eq!(loaded.notices, Vec::<String>::new());
}

#[test]
fn torn_last_line_is_set_aside_at_every_length() {
    let line = serde_json::to_vec(&user("second")).unwrap();
    for cut in 1..line.len() {
        let (dir, transcript) = fixture();
        transcript.append(&user("first")).unwrap();
        let mut file = OpenOptions::new()
            .append(true)
            .open(&transcript.path)
            .unwrap();
        file.write_all(&line[..cut]).unwrap();
        let recalled = transcript.load().unwrap();
        assert_eq!(recalled.conversation.messages.len(), 1);
        assert_eq!(recalled.notices.len(), 1, "cut at {cut}");
        let aside = dir.path().join(".transcripts/s1-lead.damaged-1.jsonl");
        assert_eq!(fs::read(aside).unwrap(), &line[..cut]);
        transcript.append(&user("third")).unwrap();
        let again = transcript.load().unwrap();
        assert_eq!(again.notices, Vec::<String>::new());
        let words = again.conversation.messages[0].text();
        assert_eq!(words, "first\nthird");
    }
}

#[test]
fn subagents_are_counted_by_their_logs() {
    let (dir, transcript) = fixture();
    assert_eq!(last_subagent(dir.path(), "s1").unwrap(), 0);
    transcript.append(&user("x")).unwrap();
    transcript.archive().unwrap();
    for name in ["s1-lead.2", "s1-bob.10", "s1-lead.2.whole-30", "s2-lead.40"] {
        fs::write(
            dir.path().join(TRANSCRIPTS).join(format!("{name}.jsonl")),
            "",
        )
        .unwrap();
    }
    assert_eq!(last_subagent(dir.path(), "s1").unwrap(), 10);
}

#[test]
fn append_after_a_torn_line_starts_a_new_line() {
    let (_dir, transcript) = fixture();
    assert_eq!(
        transcript.append(&user("first")).unwrap(),
        AppendResult::Created
    );
    let mut file = OpenOptions::new()
        .append(true)
        .open(&transcript.path)
        .unwrap();
    file.write_all(b"{\"role\":\"us").unwrap();
    assert_eq!(
        transcript.append(&user("second")).unwrap(),
        AppendResult::Existed
    );
    let words = transcript.load().unwrap().conversation.messages[0].text();
    assert_eq!(words, "first\nsecond");
}

#[test]
fn append_recreates_a_deleted_log_but_append_beside_fails() {
    let (dir, transcript) = fixture();
    transcript.append(&user("first")).unwrap();
    fs::remove_dir_all(dir.path().join(TRANSCRIPTS)).unwrap();
    assert!(transcript.append_existing(&user("beside")).is_err());
    assert_eq!(
        transcript.append(&user("second")).unwrap(),
        AppendResult::Created
    );
}

#[test]
fn only_logs_are_sessions() {
    let (dir, transcript) = fixture();
    transcript.append(&user("first")).unwrap();
    let folder = dir.path().join(TRANSCRIPTS);
    fs::write(folder.join("-lead.jsonl"), "").unwrap();
    fs::create_dir(folder.join("s9-lead.jsonl")).unwrap();
    assert_eq!(sessions(dir.path()).unwrap(), vec!["s1"]);
}

#[test]
fn session_killed_before_its_first_log_is_a_session() {
    let (dir, transcript) = fixture();
    assert!(sessions(dir.path()).unwrap().is_empty());
    let queue = PromptQueue::open(dir.path(), "s2", &Redactor::default());
    let id = PromptId("a".into());
    let prompt = QueuedPrompt {
        id: id.clone(),
        text: "first".into(),
        attachments: Vec::new(),
        context: Vec::new(),
    };
    queue.push(prompt).unwrap();
    assert_eq!(sessions(dir.path()).unwrap(), vec!["s2"]);
    transcript.append(&user("first")).unwrap();
    assert_eq!(sessions(dir.path()).unwrap(), vec!["s1", "s2"]);
    queue.remove(&[id]).unwrap();
    assert_eq!(sessions(dir.path()).unwrap(), vec!["s1"]);
}

#[test]
fn archived_log_stays_unchanged() {
    let (dir, transcript) = fixture();
    transcript.append(&user("long")).unwrap();
    let before = fs::read(&transcript.path).unwrap();
    for n in 1..=2 {
        let aside = transcript.archive().unwrap();
        assert_eq!(aside, format!(".transcripts/s1-lead.whole-{n}.jsonl"));
        transcript.replace(&[user("short")]).unwrap();
    }
    let first = dir.path().join(".transcripts/s1-lead.whole-1.jsonl");
    assert_eq!(fs::read(first).unwrap(), before);
    assert_eq!(sessions(dir.path()).unwrap(), vec!["s1"]);
    assert_eq!(
        transcript.load().unwrap().conversation.messages[0].text(),
        "short"
    );
}
