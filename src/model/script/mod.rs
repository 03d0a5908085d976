//! The scripted model: a file of rules in place of a server. It fakes the model and nothing else.
//!
//! # Format
//!
//! A script is YAML (JSON is YAML too). At each call the rules are tried in order; the first one that
//! fits and is not used up gives the answer.
//!
//! ```yaml
//! model: my-script          # the name on screen; default: script
//! window: 200000            # the tokens that it claims to hold; default: not known
//! pace: 60                  # tokens a second that text streams at; 0 or missing: at once
//! rules:
//!   - agent: lead           # whose turn; missing: anybody's
//!     when: Fix (\w+)       # a regular expression on the last message; missing: always
//!     times: 1              # how often it may be used by each agent; 0: always; default: 1
//!     delay_ms: 200         # a wait before the answer
//!     think: I should look. # thoughts
//!     say: I look at {{1}}. # words; {{1}} is what the first group of `when` matched, {{agent}} the agent
//!     calls:                # tool calls; {{…}} works in every text of an input
//!       - tool: read_file
//!         input: { path: "{{1}}" }
//!     usage: { input: 900, output: 40 }   # counted tokens; missing: guessed from the length
//!   - when: anything else
//!     fault:                # instead of an answer, one of:
//!       status: 429         #   an HTTP error …
//!       retry_after: 2      #   … that asks to wait (seconds)
//!   - fault: { cut: 10 }    #   says 10 characters of `say` and breaks off
//!     say: This text will not end.
//!   - fault: { hang: true } #   never answers
//!   - fault: { empty: true }        # an answer without anything in it
//!   - fault: { broken_json: '{"a":' } # a call of the first tool of `calls` with this as its input
//!     calls: [{ tool: bash }]
//! ```
//!
//! The last message is the text that entered the conversation last: what the person said, letters, a
//! claimed task, and the results of tool calls, joined by newlines. `^` and `$` match at line ends. A turn
//! without a fitting rule fails with a message that quotes what was said.

mod paced;
mod play;
pub(crate) mod rules;

pub use play::Script;
pub use rules::ScriptError;
