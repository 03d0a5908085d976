//! The tool calls of one answer: determines the order in which they run, and ensures exactly one result for each.

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::domain::chat::{self, Block, Outcome, ToolCall};
use crate::domain::ids::CallId;
use crate::domain::mcp::TOOL_PREFIX;
use crate::domain::text::clip;

/// Maximum number of calls in one answer that are run. Further calls get an error as their result.
pub const CALLS_MAX: usize = 64;
/// Maximum number of calls that run in parallel.
const BATCH_MAX: usize = 8;

/// The tool calls of one answer, and their results so far.
#[derive(Debug)]
pub struct Calls {
    order: Vec<CallId>,
    batches: VecDeque<Vec<ToolCall>>,
    running: HashSet<CallId>,
    results: BTreeMap<CallId, (String, Outcome)>,
}

impl Calls {
    /// Splits `calls` into groups. Consecutive calls of the tools in `side_by_side` run in parallel, at most
    /// `BATCH_MAX` at a time; all others run one by one. Calls after the first [`CALLS_MAX`], and calls whose input is
    /// not a JSON object, do not run and get an error as their result.
    pub fn new(calls: Vec<ToolCall>, side_by_side: &BTreeSet<String>) -> Calls {
        let mut this = Calls {
            order: calls.iter().map(|c| c.id.clone()).collect(),
            batches: VecDeque::new(),
            running: HashSet::new(),
            results: BTreeMap::new(),
        };
        let mut open = Vec::new();
        for (at, call) in calls.into_iter().enumerate() {
            if at >= CALLS_MAX {
                let text = format!(
                    "Error: this call was not run, because one answer may contain at most {CALLS_MAX} tool calls. Repeat it in your next answer."
                );
                this.results.insert(call.id, (text, Outcome::Error));
            } else if let Some(raw) = &call.broken {
                let text = format!(
                    "Error: this call was not run, because its input was not a valid JSON object. Send it again. The input began with: {}",
                    clip(raw, 200)
                );
                this.results.insert(call.id, (text, Outcome::Error));
            } else if side_by_side.contains(&call.name) {
                open.push(call);
                if open.len() == BATCH_MAX {
                    this.batches.push_back(std::mem::take(&mut open));
                }
            } else {
                if !open.is_empty() {
                    this.batches.push_back(std::mem::take(&mut open));
                }
                this.batches.push_back(vec![call]);
            }
        }
        if !open.is_empty() {
            this.batches.push_back(open);
        }
        this
    }

    /// Returns the next calls to run in parallel. `None` while calls are running, and after the last calls.
    pub fn next_batch(&mut self) -> Option<Vec<ToolCall>> {
        if !self.running.is_empty() {
            return None;
        }
        let batch = self.batches.pop_front()?;
        self.running = batch.iter().map(|c| c.id.clone()).collect();
        Some(batch)
    }

    /// Stores the result of a running call. Ignores the result of any other call.
    pub fn done(&mut self, call: &CallId, content: String, outcome: Outcome) {
        if self.running.remove(call) {
            self.results.insert(call.clone(), (content, outcome));
        }
    }

    /// Sets the error `why` as the result of every call without a result.
    pub fn close_all(&mut self, why: &str) {
        self.batches.clear();
        self.running.clear();
        for id in &self.order {
            self.results
                .entry(id.clone())
                .or_insert_with(|| (why.into(), Outcome::Error));
        }
    }

    pub fn is_complete(&self) -> bool {
        self.order.iter().all(|id| self.results.contains_key(id))
    }

    /// Takes the results, in the order of the calls. Leaves out calls without a result.
    pub fn take_results(&mut self) -> Vec<Block> {
        let order = std::mem::take(&mut self.order);
        order
            .into_iter()
            .filter_map(|call| {
                let (content, outcome) = self.results.remove(&call)?;
                Some(Block::ToolResult {
                    call,
                    content,
                    outcome,
                })
            })
            .collect()
    }
}

impl super::Turn {
    /// Sets the tools of MCP servers whose calls may run in parallel. Replaces the set of an earlier call of this
    /// method.
    pub fn set_server_tools(&mut self, names: BTreeSet<String>) {
        let parallel = &mut self.limits.parallel_tools;
        parallel.retain(|name| !name.starts_with(TOOL_PREFIX));
        parallel.extend(names);
    }
}

const READ_TOOL: &str = "read_file";

/// Maximum length, in bytes, of a tool call's id. [`tidy`] replaces a longer one.
const ID_MAX: usize = 128;

/// Repairs an answer so that model servers accept it in later requests: removes blank text, and replaces invalid tool
/// names and invalid call ids. A call id is invalid if it is empty, longer than `ID_MAX`, or used by an earlier call
/// of the answer, or if it contains a character that is not visible ASCII.
pub fn tidy(blocks: Vec<Block>) -> Vec<Block> {
    let mut seen: HashSet<CallId> = HashSet::new();
    blocks
        .into_iter()
        .filter_map(|block| match block {
            Block::Text { text } if text.trim().is_empty() => None,
            Block::ToolCall(mut call) => {
                call.name = chat::valid_tool_name(&call.name).into_owned();
                let id = &call.id.0;
                let is_sound =
                    (1..=ID_MAX).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_graphic());
                let base = if is_sound { id.clone() } else { "call".into() };
                let mut id = CallId(base.clone());
                let mut n = 1;
                while !seen.insert(id.clone()) {
                    n += 1;
                    id = CallId(format!("{base}-{n}"));
                }
                call.id = id;
                Some(Block::ToolCall(call))
            }
            Block::Text { .. }
            | Block::Image(_)
            | Block::Thinking { .. }
            | Block::ProviderItem(_)
            | Block::ToolResult { .. } => Some(block),
        })
        .collect()
}

/// Returns a hash of the tool calls of one answer and their results. If several answers have the same hash, the model
/// may be in a loop.
pub fn signature(calls: &[ToolCall], results: &[Block]) -> u64 {
    let mut hash = DefaultHasher::new();
    for call in calls {
        call.name.hash(&mut hash);
        call.input.to_string().hash(&mut hash);
        call.broken.hash(&mut hash);
    }
    for result in results {
        if let Block::ToolResult { content, .. } = result {
            content.hash(&mut hash);
        }
    }
    hash.finish()
}

/// Returns a hash of the input of each successful call of `read_file`.
pub fn reads(calls: &[ToolCall], results: &[Block]) -> Vec<u64> {
    let is_read = |id: &CallId| {
        results.iter().any(|result| {
            matches!(result, Block::ToolResult { call, outcome: Outcome::Ok, .. } if call == id)
        })
    };
    let reads = calls
        .iter()
        .filter(|call| call.name == READ_TOOL && is_read(&call.id));
    reads
        .map(|call| {
            let mut hash = DefaultHasher::new();
            call.input.to_string().hash(&mut hash);
            hash.finish()
        })
        .collect()
}
