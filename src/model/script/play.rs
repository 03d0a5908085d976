//! Runs a script: selects the rule for each call and streams its response at the script's speed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt, TryStreamExt};

use super::pacing::{TOKEN_CHARS, stream_paced};
use super::rules::{ScriptError, ScriptFile, ScriptRule, ScriptedResponse, SimulatedFault};
use crate::domain::chat::{Block, ToolCall, estimate_tokens};
use crate::domain::ids::CallId;
use crate::domain::text::{clip, one_line};
use crate::domain::usage::Usage;
use crate::model::http::truncated_error;
use crate::model::refusal::scripted_status_error;
use crate::model::{
    Delta, ErrorKind, Model, ModelError, ModelRequest, Reply, StopReason, parse_input,
};

/// A model that answers from the rules of a script instead of calling a server.
pub struct Script {
    name: String,
    window: Option<u64>,
    rules: Arc<Vec<ScriptRule>>,
    /// How often each agent has used each rule. Key: the agent's name in lower case and the index of the rule.
    used: Arc<Mutex<HashMap<(String, usize), u32>>>,
    pace: f64,
    speed: f64,
}

impl Script {
    /// Parses a script. `speed` scales all times: 2.0 answers twice as fast as the script says; 0 and less count as
    /// 1.0.
    ///
    /// # Errors
    /// Fails if the script is invalid; the error says where and why.
    pub fn parse(text: &str, speed: f64) -> Result<Script, ScriptError> {
        let file = ScriptFile::parse(text)?;
        Ok(Script {
            rules: Arc::new(file.rules()?),
            name: file.model,
            window: file.window,
            used: Arc::default(),
            pace: file.pace,
            speed: if speed > 0.0 { speed } else { 1.0 },
        })
    }

    /// Returns the model name that the script sets, by default `script`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the context window in tokens; `None` if the script sets none.
    pub fn window(&self) -> Option<u64> {
        self.window
    }

    /// Selects the first rule that matches the message `last`, and counts its use. Skips rules that `agent` has already
    /// used as often as they allow. Returns the rule's index and its response; `None` if no rule matches.
    fn pick(&self, agent: &str, last: &str) -> Option<(usize, ScriptedResponse)> {
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

    fn scale_delay(&self, millis: f64) -> Duration {
        Duration::try_from_secs_f64(millis / 1000.0 / self.speed).unwrap_or_default()
    }
}

impl Model for Script {
    fn call(&self, request: ModelRequest) -> BoxStream<'static, Result<Delta, ModelError>> {
        let agent = request.agent.to_string();
        let last = last_message(&request);
        let Some((at, answer)) = self.pick(&agent, &last) else {
            let text = format!(
                "the script has no rule for {agent} after the message: {}",
                clip(&one_line(&last), 300)
            );
            let error = ModelError::new(
                ErrorKind::Script,
                text,
                "Add a matching rule to the script.",
            );
            return futures::stream::iter([Err(error)]).boxed();
        };
        let rule = self.rules[at].clone();
        #[allow(clippy::cast_precision_loss)] // milliseconds of a script are small
        let delay = self.scale_delay(rule.delay_ms as f64);
        let step = if self.pace > 0.0 {
            self.scale_delay(1000.0 / self.pace)
        } else {
            Duration::ZERO
        };
        let input = estimate_tokens(&request.messages);
        let message_count = request.messages.len();
        async move {
            tokio::time::sleep(delay).await;
            match rule.fault {
                Some(SimulatedFault::Status {
                    code,
                    retry_after,
                    message,
                }) => {
                    let wait = retry_after.and_then(|s| Duration::try_from_secs_f64(s).ok());
                    Err(scripted_status_error(code, &message, &request.model, wait))
                }
                Some(SimulatedFault::Hang) => std::future::pending().await,
                Some(SimulatedFault::Empty) => Ok(stream(
                    ScriptedResponse::default(),
                    None,
                    input,
                    step,
                    None,
                    message_count,
                )),
                Some(SimulatedFault::Cut(after)) => Ok(stream(
                    answer,
                    Some(after),
                    input,
                    step,
                    None,
                    message_count,
                )),
                Some(SimulatedFault::BrokenJson(text)) => {
                    Ok(stream(answer, None, input, step, Some(text), message_count))
                }
                None => Ok(stream(answer, None, input, step, None, message_count)),
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

    fn is_remote(&self) -> bool {
        false
    }
}

/// Joins the texts and tool results of the last message. The rules are matched against the joined text.
fn last_message(request: &ModelRequest) -> String {
    let Some(last) = request.messages.last() else {
        return String::new();
    };
    let texts: Vec<&str> = last
        .blocks
        .iter()
        .filter_map(|b| match b {
            Block::Text { text } => Some(text.as_str()),
            Block::ToolResult { content, .. } => Some(content.as_str()),
            Block::Image(_)
            | Block::Thinking { .. }
            | Block::ProviderItem(_)
            | Block::ToolCall(_) => None,
        })
        .collect();
    texts.join("\n")
}

fn stream(
    answer: ScriptedResponse,
    cut_after: Option<usize>,
    input: u64,
    step: Duration,
    broken: Option<String>,
    message_count: usize,
) -> BoxStream<'static, Result<Delta, ModelError>> {
    let text: String = match cut_after {
        Some(after) => answer.say.chars().take(after).collect(),
        None => answer.say.clone(),
    };
    let thinking = answer.think.clone();
    let mut end = Vec::new();
    if cut_after.is_some() {
        end.push(Err(truncated_error()));
    } else {
        let calls = answer.calls.iter();
        end.extend(calls.map(|(tool, _)| Ok(Delta::ToolCall(tool.clone()))));
        end.push(Ok(Delta::Done(reply(answer, input, broken, message_count))));
    }
    stream_paced(thinking, text, end, step)
}

/// Builds the complete reply. `input` is the estimated number of input tokens. The tool calls' ids contain
/// `message_count`, so that they are unique in the conversation. If `broken` is given, it replaces the input of the
/// first tool call.
fn reply(
    answer: ScriptedResponse,
    input: u64,
    broken: Option<String>,
    message_count: usize,
) -> Reply {
    let output = (answer.think.len() + answer.say.len()) / TOKEN_CHARS + answer.calls.len() * 20;
    let estimate = Usage {
        input,
        output: output as u64,
        ..Usage::default()
    };
    let mut blocks = Vec::new();
    if !answer.think.is_empty() {
        blocks.push(Block::Thinking {
            text: answer.think,
            signature: None,
            origin: None,
        });
    }
    if !answer.say.is_empty() {
        blocks.push(Block::Text { text: answer.say });
    }
    let mut broken = broken;
    for (at, (name, input)) in answer.calls.into_iter().enumerate() {
        let (input, broken) = match broken.take() {
            Some(text) => parse_input(&text),
            None => (input, None),
        };
        let id = CallId(format!("call-{message_count}-{}", at + 1));
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
        usage: answer.usage.unwrap_or(estimate),
    }
}
