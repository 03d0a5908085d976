//! Activity bars: how active an agent was recently, with one bar per time slice of ten seconds. Pure.

use std::collections::VecDeque;

use crate::domain::timestamp::Timestamp;

/// Length of the time slice for which one activity bar stands, in seconds.
const SLICE: u64 = 10;
/// Maximum number of time slices in memory: 30 slices are five minutes. If there are more, the oldest is dropped.
pub const SLICES_MAX: usize = 30;

const BARS: [char; 7] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇'];

/// The recent activity of an agent: its number of answers and tool calls in each of the last time slices, at most
/// [`SLICES_MAX`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pulse {
    /// The number of the newest time slice. Slice 0 begins at the Unix epoch.
    newest: u64,
    /// The number of answers and tool calls of the agent in each time slice of ten seconds, oldest first.
    beats: VecDeque<u32>,
}

impl Pulse {
    /// Counts an answer or a tool call of the agent at the time `at`.
    pub fn beat(&mut self, at: Timestamp) {
        let slice = slice(at);
        if self.beats.is_empty() {
            self.newest = slice;
            self.beats.push_back(0);
        }
        let gap = usize::try_from(slice.saturating_sub(self.newest)).unwrap_or(SLICES_MAX);
        for _ in 0..gap.min(SLICES_MAX) {
            self.beats.push_back(0);
        }
        while self.beats.len() > SLICES_MAX {
            self.beats.pop_front();
        }
        self.newest = self.newest.max(slice);
        // If the clock went backwards, the call is counted in the newest time slice.
        if let Some(last) = self.beats.back_mut() {
            *last = last.saturating_add(1);
        }
    }

    /// Returns whether the agent has not given an answer or called a tool yet.
    pub fn is_empty(&self) -> bool {
        self.beats.is_empty()
    }

    /// Returns one bar for each of the last `columns` time slices up to `now`, oldest first. The height of a bar is
    /// relative to the highest count in memory or to 3, whichever is greater. A slice without activity is a blank.
    pub fn bars(&self, now: Timestamp, columns: usize) -> String {
        let passed = usize::try_from(slice(now).saturating_sub(self.newest)).unwrap_or(usize::MAX);
        let most = self.beats.iter().copied().max().unwrap_or(0).max(3);
        let bar = |back: usize| {
            let beats = back
                .checked_sub(passed)
                .and_then(|back| self.beats.iter().rev().nth(back));
            match beats.copied().unwrap_or(0) {
                0 => ' ',
                n => {
                    let high = u64::from(n) * BARS.len() as u64 / u64::from(most);
                    let at = usize::try_from(high.saturating_sub(1)).unwrap_or(0);
                    BARS[at.min(BARS.len() - 1)]
                }
            }
        };
        (0..columns).rev().map(bar).collect()
    }
}

fn slice(at: Timestamp) -> u64 {
    at.since(Timestamp(0.0)).as_secs() / SLICE
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn slices_move_left_and_are_limited() {
        let mut pulse = Pulse::default();
        assert_eq!(pulse.bars(Timestamp(100.0), 4), "    ");
        for at in [100.0, 101.0, 102.0, 103.0, 115.0, 131.0, 132.0] {
            pulse.beat(Timestamp(at));
        }
        let cases = [
            (132.0, 4, "▇▁ ▃"),
            (141.0, 4, "▁ ▃ "),
            (132.0, 2, " ▃"),
            (132.0, 6, "  ▇▁ ▃"),
            (999.0, 4, "    "),
        ];
        for (now, columns, expected) in cases {
            assert_eq!(
                pulse.bars(Timestamp(now), columns),
                expected,
                "{now} {columns}"
            );
        }
        for at in 0..10_000 {
            pulse.beat(Timestamp(200.0 + f64::from(at)));
        }
        assert_eq!(pulse.beats.len(), SLICES_MAX);
        pulse.beat(Timestamp(1e12));
        assert_eq!(
            (pulse.beats.len(), pulse.beats.back()),
            (SLICES_MAX, Some(&1))
        );
        pulse.beat(Timestamp(5.0));
        assert_eq!(pulse.beats.back(), Some(&2));
    }
}
