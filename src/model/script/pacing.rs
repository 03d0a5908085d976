//! Streams the text of a scripted response token by token at the script's speed.

use std::collections::VecDeque;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::{self, BoxStream};
use tokio::time::Instant;
use unicode_segmentation::UnicodeSegmentation;

use crate::model::{Delta, ModelError};

type Item = Result<Delta, ModelError>;

/// The number of characters per token, about the average of real models for English text.
pub const TOKEN_CHARS: usize = 4;

/// The part of a scripted response that has not been sent yet.
struct PacedResponse {
    thinking: Text,
    text: Text,
    /// The items that follow the text without delay: tool calls, and the reply or an error.
    end: VecDeque<Item>,
    /// The time per token; zero for no delay.
    step: Duration,
    /// When the last token was due; `None` before the first one. The next due time is computed from this time and not
    /// from the clock, so that delays of the timer, which has millisecond resolution, do not add up.
    due: Option<Instant>,
}

/// A text that is sent in parts. `sent` is the number of bytes of `text` that have been sent.
struct Text {
    text: String,
    sent: usize,
}

impl Text {
    fn new(text: String) -> Text {
        Text { text, sent: 0 }
    }

    /// Returns the next grapheme clusters that were not sent yet, at most [`TOKEN_CHARS`]; `None` at the end of the
    /// text.
    fn next(&mut self) -> Option<String> {
        let rest = &self.text[self.sent..];
        let length: usize = rest.graphemes(true).take(TOKEN_CHARS).map(str::len).sum();
        self.sent += length;
        (length > 0).then(|| rest[..length].to_string())
    }
}

/// Streams `thinking`, then `text`, one token per `step`. Then sends the items of `end` without delay.
pub fn stream_paced(
    thinking: String,
    text: String,
    end: Vec<Item>,
    step: Duration,
) -> BoxStream<'static, Item> {
    let response = PacedResponse {
        thinking: Text::new(thinking),
        text: Text::new(text),
        end: end.into(),
        step,
        due: None,
    };
    stream::unfold(response, |mut response| async move {
        let item = response.next().await?;
        Some((item, response))
    })
    .boxed()
}

impl PacedResponse {
    async fn next(&mut self) -> Option<Item> {
        let thinking = self.thinking.next().map(Delta::Thinking);
        match thinking.or_else(|| self.text.next().map(Delta::Text)) {
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

    async fn all(thinking: &str, text: &str, step: Duration) -> Vec<Item> {
        let end = vec![Ok(Delta::ToolCall("bash".into()))];
        stream_paced(thinking.into(), text.into(), end, step)
            .collect()
            .await
    }

    #[tokio::test]
    async fn tokens_do_not_split_grapheme_clusters() {
        let thinking = |t: &str| Ok(Delta::Thinking(t.into()));
        let text = |t: &str| Ok(Delta::Text(t.into()));
        let expected: Vec<Item> = vec![
            thinking("hm"),
            text("abc中"),
            text("👨‍👩‍👧e\u{301}\r\nx"),
            text("y"),
            Ok(Delta::ToolCall("bash".into())),
        ];
        let whole = "abc中👨‍👩‍👧e\u{301}\r\nxy";
        assert_eq!(all("hm", whole, Duration::ZERO).await, expected);
    }

    #[tokio::test(start_paused = true)]
    async fn speed_is_exact_even_below_timer_resolution() {
        for (tokens, pace) in [(50, 20.0), (1000, 100.0), (20_000, 7000.0)] {
            let began = Instant::now();
            let text = "word".repeat(tokens);
            let items = all("", &text, Duration::from_secs_f64(1.0 / pace)).await;
            assert_eq!(items.len(), tokens + 1);
            #[allow(clippy::cast_precision_loss)] // a few thousand
            let expected = Duration::from_secs_f64(tokens as f64 / pace);
            let took = began.elapsed();
            let late = took.checked_sub(expected.saturating_sub(Duration::from_millis(1)));
            assert!(
                late.is_some_and(|late| late < Duration::from_millis(5)),
                "{tokens} tokens at {pace}/s took {took:?}, expected {expected:?}"
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn slow_reader_gets_all_due_tokens_without_delay() {
        let mut stream = stream_paced(
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
