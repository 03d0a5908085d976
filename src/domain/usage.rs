//! Tokens as the server counted them, and what they cost where the price is known.

use serde::{Deserialize, Serialize};

/// Tokens of one answer, or of many in sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Input tokens that were read afresh (neither from nor into the cache).
    pub input: u64,
    /// Output tokens.
    pub output: u64,
    /// Input tokens read from the prompt cache.
    pub cache_read: u64,
    /// Input tokens written into the prompt cache.
    pub cache_write: u64,
}

impl Usage {
    /// Everything the model had to read: this much of its window was in use.
    pub fn prompt(&self) -> u64 {
        self.input
            .saturating_add(self.cache_read)
            .saturating_add(self.cache_write)
    }

    /// Input and output together.
    pub fn total(&self) -> u64 {
        self.prompt().saturating_add(self.output)
    }

    /// Adds another answer's tokens.
    pub fn add(&mut self, other: Usage) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
    }
}

/// US dollars for a million tokens of each kind; from the settings, never guessed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Fresh input.
    pub input: f64,
    /// Output.
    pub output: f64,
    /// Input from the cache; the price of fresh input where it is not given.
    pub cache_read: Option<f64>,
    /// Input into the cache; the price of fresh input where it is not given.
    pub cache_write: Option<f64>,
}

impl Price {
    /// What `usage` costs, in US dollars.
    #[allow(clippy::cast_precision_loss)] // token counts stay far below 2^52
    pub fn cost(&self, usage: &Usage) -> f64 {
        let part = |tokens: u64, price: f64| tokens as f64 * price / 1e6;
        part(usage.input, self.input)
            + part(usage.output, self.output)
            + part(usage.cache_read, self.cache_read.unwrap_or(self.input))
            + part(usage.cache_write, self.cache_write.unwrap_or(self.input))
    }
}

/// A count of tokens in few characters: `812`, `12.4k`, `3.1M`.
pub fn count(n: u64) -> String {
    let tenths = |unit: u64| format!("{}.{}", n / unit, n % unit * 10 / unit);
    match n {
        0..1_000 => n.to_string(),
        1_000..100_000 => tenths(1_000) + "k",
        100_000..1_000_000 => format!("{}k", n / 1_000),
        1_000_000.. => tenths(1_000_000) + "M",
    }
}

/// US dollars: cents from a cent on, more digits below.
pub fn dollars(cost: f64) -> String {
    if cost > 0.0 && cost < 0.01 {
        format!("${cost:.4}")
    } else {
        format!("${cost:.2}")
    }
}
