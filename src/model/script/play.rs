//! Plays a script: picks the rule, streams its answer at the script's pace.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt, TryStreamExt};

use super::paced::{TOKEN, paced};
use super::rules::{Answer, File, Mishap, Rule, ScriptError};
use crate::domain::chat::{Block, ToolCall, estimate_tokens};
use crate::domain::ids::CallId;
use crate::domain::text::{clip, one_line};
use crate::domain::usage::Usage;
use crate::model::http::cut;
use crate::model::refusal::error_for_status;
use crate::model::{Delta, Fault, Model, ModelError, ModelRequest, Reply, StopReason, input_of};

/// A scripted model.
pub struct Script {
    name: String,
    window: Option<u64>,
    rules: Arc<Vec<Rule>>,
    /// How often each agent has used each rule.
    used: Arc<Mutex<HashMap<(String, usize), u32>>>,
    pace: f64,
    speed: f64,
}

impl Script {
    /// Reads a script; it plays `speed` times as fast as it is written.
    ///
    /// # Errors
    /// Where and why it does not fit its format.
    pub fn parse(text: &str, speed: f64) -> Result<Script, ScriptError> {
        let file = File::parse(text)?;
        Ok(Script {
            rules: Arc::new(file.rules()?),
            name: file.model,
            window: file.window,
            used: Arc::default(),
            pace: file.pace,
            speed: if speed > 0.0 { speed } else { 1.0 },
        })
    }

    /// The name that it gives itself.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The tokens that it claims to hold.
    pub fn window(&self) -> Option<u64> {
        self.window
    }

    /// The first rule that fits and is not used up; counts its use.
    fn pick(&self, agent: &str, last: &str) -> Option<(usize, Answer)> {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        self.rules.iter().enumerate().find_map(|(at, rule)| {
            let count = used.entry((agent.to_lowercase(), at)).or_default();
            if rule.times > 0 && *count >= rule.times {
                return None;
            }
            let answer = rule.answer_to(agent, last)?;
            *count += 1;
            Some((at, answer))
        })
    }

    fn scaled(&self, millis: f64) -> Duration {
        Duration::try_from_secs_f64(millis / 1000.0 / self.speed).unwrap_or_default()
    }
}

impl Model for Script {
    fn call(&self, request: ModelRequest) -> BoxStream<'static, Result<Delta, ModelError>> {
        let agent = request.agent.to_string();
        let last = last_words(&request);
        let Some((at, answer)) = self.pick(&agent, &last) else {
            let text = format!(
                "the script has no rule for {agent} after: {}",
                clip(&one_line(&last), 300)
            );
            let error = ModelError::new(Fault::Script, text, "Add a rule for it to the script.");
            return futures::stream::iter([Err(error)]).boxed();
        };
        let rule = self.rules[at].clone();
        #[allow(clippy::cast_precision_loss)] // milliseconds of a script are small
        let delay = self.scaled(rule.delay_ms as f64);
        let step = if self.pace > 0.0 {
            self.scaled(1000.0 / self.pace)
        } else {
            Duration::ZERO
        };
        let input = estimate_tokens(&request.messages);
        let round = request.messages.len();
        async move {
            tokio::time::sleep(delay).await;
            match rule.mishap {
                Some(Mishap::Status {
                    code,
                    retry_after,
                    message,
                }) => {
                    let wait = retry_after.and_then(|s| Duration::try_from_secs_f64(s).ok());
                    Err(error_for_status(code, &message, &request.model, wait))
                }
                Some(Mishap::Hang) => std::future::pending().await,
                Some(Mishap::Empty) => {
                    Ok(stream(Answer::default(), None, input, step, None, round))
                }
                Some(Mishap::Cut(after)) => {
                    Ok(stream(answer, Some(after), input, step, None, round))
                }
                Some(Mishap::BrokenJson(text)) => {
                    Ok(stream(answer, None, input, step, Some(text), round))
                }
                None => Ok(stream(answer, None, input, step, None, round)),
            }
        }
        .into_stream()
        .try_flatten()
        .boxed()
    }

    fn list(&self) -> BoxFuture<'static, Result<Vec<String>, ModelError>> {
        let name = self.name.clone();
        async move { Ok(vec![name]) }.boxed()
    }
}

/// The text that entered the conversation last.
fn last_words(request: &ModelRequest) -> String {
    let Some(last) = request.messages.last() else {
        return String::new();
    };
    let texts: Vec<&str> = last
        .blocks
        .iter()
        .filter_map(|b| match b {
            Block::Text { text } => Some(text.as_str()),
            Block::ToolResult { content, .. } => Some(content.as_str()),
            Block::Thinking { .. } | Block::ToolCall(_) => None,
        })
        .collect();
    texts.join("\n")
}

fn stream(
    answer: Answer,
    cut_after: Option<usize>,
    input: u64,
    step: Duration,
    broken: Option<String>,
    round: usize,
) -> BoxStream<'static, Result<Delta, ModelError>> {
    let said: String = match cut_after {
        Some(after) => answer.say.chars().take(after).collect(),
        None => answer.say.clone(),
    };
    let thoughts = answer.think.clone();
    let mut end = Vec::new();
    if cut_after.is_some() {
        end.push(Err(cut()));
    } else {
        let calls = answer.calls.iter();
        end.extend(calls.map(|(tool, _)| Ok(Delta::ToolCall(tool.clone()))));
        end.push(Ok(Delta::Done(reply(answer, input, broken, round))));
    }
    paced(thoughts, said, end, step)
}

fn reply(answer: Answer, input: u64, broken: Option<String>, round: usize) -> Reply {
    let output = (answer.think.len() + answer.say.len()) / TOKEN + answer.calls.len() * 20;
    let guessed = Usage {
        input,
        output: output as u64,
        ..Usage::default()
    };
    let mut blocks = Vec::new();
    if !answer.think.is_empty() {
        blocks.push(Block::Thinking {
            text: answer.think,
            signature: None,
        });
    }
    if !answer.say.is_empty() {
        blocks.push(Block::Text { text: answer.say });
    }
    let mut broken = broken;
    for (at, (name, input)) in answer.calls.into_iter().enumerate() {
        let (input, broken) = match broken.take() {
            Some(text) => input_of(&text),
            None => (input, None),
        };
        let id = CallId(format!("call-{round}-{}", at + 1));
        blocks.push(Block::ToolCall(ToolCall {
            id,
            name,
            input,
            broken,
        }));
    }
    let calls = blocks.iter().any(|b| matches!(b, Block::ToolCall(_)));
    let stop = if calls {
        StopReason::ToolUse
    } else {
        StopReason::EndTurn
    };
    Reply {
        blocks,
        stop,
        usage: answer.usage.unwrap_or(guessed),
    }
}
