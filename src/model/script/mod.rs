//! The scripted model: answers from a file of rules instead of a server, for tests and the demo.
//!
//! # Format
//!
//! A script is YAML (JSON is YAML too). At each call the rules are tried in order. The first rule that matches and is
//! not used up supplies the response.
//!
//! ```yaml
//! model: my-script          # the name on screen; default: script
//! window: 200000            # the context window in tokens; default: unknown
//! pace: 60                  # speed of text in tokens per second; 0 or missing: unlimited
//! rules:
//!   - agent: lead           # the agent that calls; missing: any agent
//!     when: Fix (\w+)       # a regular expression on the last message; missing: always matches
//!     times: 1              # how often each agent may use the rule; 0: unlimited; default: 1
//!     delay_ms: 200         # the wait before the response, in milliseconds
//!     think: I should look. # the thinking text
//!     say: I look at {{1}}. # the text; {{1}} is the first group of `when`, {{agent}} the agent
//!     calls:                # the tool calls; {{…}} works in every string of an input
//!       - tool: read_file
//!         input: { path: "{{1}}" }
//!     usage: { input: 900, output: 40 }   # the token counts; missing: estimated from the length
//!   - when: anything else
//!     fault:                # a failure instead of a response, one of:
//!       status: 429         #   an HTTP error …
//!       retry_after: 2      #   … that asks to wait (in seconds)
//!   - fault: { cut: 10 }    #   ends early, after 10 characters of `say`
//!     say: This text will not end.
//!   - fault: { hang: true } #   never responds
//!   - fault: { empty: true }        # an empty response
//!   - fault: { broken_json: '{"a":' } # the first tool of `calls` gets this text as its input
//!     calls: [{ tool: bash }]
//! ```
//!
//! The last message is the text that was added to the conversation last: user input, messages, a claimed task and tool
//! results, joined by newlines. `^` and `$` match at the start and the end of each line. A call without a matching rule
//! fails with an error that quotes the last message.

mod pacing;
mod play;
pub(crate) mod rules;

pub use play::Script;
pub use rules::ScriptError;
