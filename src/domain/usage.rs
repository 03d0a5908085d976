//! Token usage as reported by the server, and its cost if the price is known.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Tokens of one model answer, or the sum of several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Input tokens that were neither read from nor written to the prompt cache.
    pub input: u64,
    pub output: u64,
    /// Input tokens read from the prompt cache.
    pub cache_read: u64,
    /// Input tokens written to the prompt cache.
    pub cache_write: u64,
}

impl Usage {
    /// Returns all input tokens, cached or not: the size of the prompt in the context window.
    pub fn prompt(&self) -> u64 {
        self.input
            .saturating_add(self.cache_read)
            .saturating_add(self.cache_write)
    }

    /// Returns input and output tokens together.
    pub fn total(&self) -> u64 {
        self.prompt().saturating_add(self.output)
    }

    pub fn add(&mut self, other: Usage) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
    }
}

/// Prices in US dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Price of input tokens that are neither read from nor written to the prompt cache.
    pub input: f64,
    pub output: f64,
    /// Price of input tokens read from the prompt cache; `None` for the price of `input`.
    pub cache_read: Option<f64>,
    /// Price of input tokens written to the prompt cache; `None` for the price of `input`.
    pub cache_write: Option<f64>,
}

impl Price {
    /// Returns the cost of `usage` in US dollars.
    #[allow(clippy::cast_precision_loss)] // token counts stay far below 2^52
    pub fn cost(&self, usage: &Usage) -> f64 {
        let part = |tokens: u64, price: f64| tokens as f64 * price / 1e6;
        part(usage.input, self.input)
            + part(usage.output, self.output)
            + part(usage.cache_read, self.cache_read.unwrap_or(self.input))
            + part(usage.cache_write, self.cache_write.unwrap_or(self.input))
    }
}

/// What model calls have cost.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Cost {
    /// The amount in US dollars.
    pub dollars: f64,
    /// Whether a part of the amount comes from a price of the built-in table, which may be out of date.
    pub is_estimate: bool,
}

impl Cost {
    /// Creates a cost from the fields of an event or a log; `None` if `dollars` is `None`, which means an unknown cost.
    pub fn from_fields(dollars: Option<f64>, is_estimate: bool) -> Option<Cost> {
        dollars.map(|dollars| Cost {
            dollars,
            is_estimate,
        })
    }

    /// Returns the sum of both costs, which is an estimate if at least one of them is.
    #[must_use]
    pub fn plus(self, other: Cost) -> Cost {
        Cost {
            dollars: self.dollars + other.dollars,
            is_estimate: self.is_estimate || other.is_estimate,
        }
    }
}

/// Shows the amount as [`dollars`] does, with the mark `~` before an estimate: `~$0.12`.
impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = if self.is_estimate { "~" } else { "" };
        write!(f, "{mark}{}", dollars(self.dollars))
    }
}

/// Formats a number in a short form: `812`, `12.4k`, `124k`, `3.1M`. Further digits are cut off, not rounded.
pub fn count(n: u64) -> String {
    let tenths = |unit: u64| format!("{}.{}", n / unit, n % unit * 10 / unit);
    match n {
        0..1_000 => n.to_string(),
        1_000..100_000 => tenths(1_000) + "k",
        100_000..1_000_000 => format!("{}k", n / 1_000),
        1_000_000.. => tenths(1_000_000) + "M",
    }
}

/// Formats an amount in US dollars: with four decimals if it is above zero and below one cent, otherwise with two.
pub fn dollars(cost: f64) -> String {
    if cost > 0.0 && cost < 0.01 {
        format!("${cost:.4}")
    } else {
        format!("${cost:.2}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sum_with_an_estimate_is_marked() {
        let cost = |dollars, is_estimate| Cost {
            dollars,
            is_estimate,
        };
        assert_eq!(
            cost(0.1, false).plus(cost(0.02, false)).to_string(),
            "$0.12"
        );
        assert_eq!(
            cost(0.1, false).plus(cost(0.02, true)).to_string(),
            "~$0.12"
        );
        assert_eq!(
            cost(0.0012, true).plus(cost(0.0, false)).to_string(),
            "~$0.0012"
        );
    }
}
