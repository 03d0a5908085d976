//! The words of a scripted answer as they stream: cut into tokens when each is due, at the pace of the script.

use std::collections::VecDeque;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::{self, BoxStream};
use tokio::time::Instant;
use unicode_segmentation::UnicodeSegmentation;

use crate::model::{Delta, ModelError};

type Item = Result<Delta, ModelError>;

/// Characters that a token stands for: what real models come to on English text.
pub const TOKEN: usize = 4;

/// What is still to come of an answer.
struct Paced {
    thoughts: Text,
    words: Text,
    /// What follows the words, at once.
    end: VecDeque<Item>,
    step: Duration,
    /// When the next token is due. Counted on from token to token, so that the pace holds however late each of them
    /// is fetched: a timer wakes at whole milliseconds.
    due: Option<Instant>,
}

/// A text and how far it was said, in bytes.
struct Text {
    text: String,
    said: usize,
}

impl Text {
    fn new(text: String) -> Text {
        Text { text, said: 0 }
    }

    /// The next token, at borders of characters as people see them.
    fn next(&mut self) -> Option<String> {
        let rest = &self.text[self.said..];
        let length: usize = rest.graphemes(true).take(TOKEN).map(str::len).sum();
        self.said += length;
        (length > 0).then(|| rest[..length].to_string())
    }
}

/// Streams `thoughts`, then `words`, a token every `step`; then `end`.
pub fn paced(
    thoughts: String,
    words: String,
    end: Vec<Item>,
    step: Duration,
) -> BoxStream<'static, Item> {
    let paced = Paced {
        thoughts: Text::new(thoughts),
        words: Text::new(words),
        end: end.into(),
        step,
        due: None,
    };
    stream::unfold(paced, |mut paced| async move {
        let item = paced.next().await?;
        Some((item, paced))
    })
    .boxed()
}

impl Paced {
    async fn next(&mut self) -> Option<Item> {
        let thought = self.thoughts.next().map(Delta::Thinking);
        match thought.or_else(|| self.words.next().map(Delta::Text)) {
            Some(token) => {
                self.wait().await;
                Some(Ok(token))
            }
            None => self.end.pop_front(),
        }
    }

    async fn wait(&mut self) {
        if self.step.is_zero() {
            return;
        }
        let due = self.due.unwrap_or_else(Instant::now) + self.step;
        self.due = Some(due);
        if due > Instant::now() {
            tokio::time::sleep_until(due).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    async fn all(thoughts: &str, words: &str, step: Duration) -> Vec<Item> {
        let end = vec![Ok(Delta::ToolCall("bash".into()))];
        paced(thoughts.into(), words.into(), end, step)
            .collect()
            .await
    }

    #[tokio::test]
    async fn tokens_are_cut_between_characters_as_people_see_them() {
        let thought = |t: &str| Ok(Delta::Thinking(t.into()));
        let said = |t: &str| Ok(Delta::Text(t.into()));
        let expected: Vec<Item> = vec![
            thought("hm"),
            said("abc中"),
            said("👨‍👩‍👧e\u{301}\r\nx"),
            said("y"),
            Ok(Delta::ToolCall("bash".into())),
        ];
        let words = "abc中👨‍👩‍👧e\u{301}\r\nxy";
        assert_eq!(all("hm", words, Duration::ZERO).await, expected);
    }

    #[tokio::test(start_paused = true)]
    async fn the_pace_holds_also_where_it_is_finer_than_a_timer() {
        for (tokens, pace) in [(50, 20.0), (1000, 100.0), (20_000, 7000.0)] {
            let began = Instant::now();
            let words = "word".repeat(tokens);
            let items = all("", &words, Duration::from_secs_f64(1.0 / pace)).await;
            assert_eq!(items.len(), tokens + 1);
            #[allow(clippy::cast_precision_loss)] // a few thousand
            let expected = Duration::from_secs_f64(tokens as f64 / pace);
            let took = began.elapsed();
            let late = took.checked_sub(expected.saturating_sub(Duration::from_millis(1)));
            assert!(
                late.is_some_and(|late| late < Duration::from_millis(5)),
                "{tokens} tokens at {pace} a second took {took:?} and not {expected:?}"
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn who_listens_late_gets_what_is_due_at_once() {
        let mut stream = paced(
            String::new(),
            "abcd".repeat(100),
            Vec::new(),
            Duration::from_millis(10),
        );
        stream.next().await;
        tokio::time::sleep(Duration::from_millis(500)).await;
        let began = Instant::now();
        for _ in 0..49 {
            stream.next().await;
        }
        assert_eq!(began.elapsed(), Duration::ZERO);
    }
}
