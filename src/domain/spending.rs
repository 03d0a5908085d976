//! The tokens and costs of all crewdeck processes of the user, by day, and their totals for a day and its month.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::usage::{Cost, Usage};

/// Maximum number of days that are recorded. If there are more, the oldest ones are dropped. More than a month, so that
/// the total of a month is complete.
const DAYS_MAX: usize = 62;

/// A day in the local time zone, as text of the form `2026-11-29`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Day(pub String);

impl Day {
    /// Returns the month of the day, such as `2026-11`.
    pub fn month(&self) -> &str {
        self.0.rsplit_once('-').map_or("", |(month, _)| month)
    }
}

/// The usage of one agent, of the team, or of a period of time.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct UsageTotal {
    /// Input tokens, cached or not, and output tokens.
    pub tokens: u64,
    /// Cost in US dollars, without calls whose price is unknown.
    pub cost: f64,
    /// Whether a part of the cost is an estimate.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
}

impl UsageTotal {
    pub fn add(&mut self, usage: Usage, cost: Option<Cost>) {
        let cost = cost.unwrap_or_default();
        self.add_total(UsageTotal {
            tokens: usage.total(),
            cost: cost.dollars,
            estimated: cost.is_estimate,
        });
    }

    pub fn add_total(&mut self, other: UsageTotal) {
        self.tokens = self.tokens.saturating_add(other.tokens);
        self.cost += other.cost;
        self.estimated |= other.estimated;
    }

    /// Returns whether the total can be a sum of usages: its cost is a finite number of 0 or more.
    fn is_valid(&self) -> bool {
        self.cost.is_finite() && self.cost >= 0.0
    }
}

/// The usage of all crewdeck processes of the user in a day and in the month of that day.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct PeriodUsage {
    pub date: Day,
    pub day: UsageTotal,
    pub month: UsageTotal,
}

impl PeriodUsage {
    /// Returns this usage as of `day`, which is the recorded date or a later day. A day or month that began after the
    /// recorded date has no usage yet, so its total becomes 0.
    #[must_use]
    pub fn on(mut self, day: &Day) -> PeriodUsage {
        if self.date.month() != day.month() {
            self.month = UsageTotal::default();
        }
        if self.date != *day {
            self.day = UsageTotal::default();
        }
        self.date = day.clone();
        self
    }
}

/// The usage by day, as stored in a file that all crewdeck processes of the user share. Unknown fields are ignored,
/// because some of these processes may be newer versions.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct SpendingRecord {
    days: BTreeMap<Day, UsageTotal>,
}

impl SpendingRecord {
    /// Reads a record from JSON. Returns `None` if the text is not a record, or if a cost in it is negative or not
    /// finite.
    pub fn parse(text: &str) -> Option<SpendingRecord> {
        let record: SpendingRecord = serde_json::from_str(text).ok()?;
        let is_sound = record.days.values().all(UsageTotal::is_valid);
        is_sound.then_some(record)
    }

    /// Adds usage to `day`, and drops the oldest days beyond `DAYS_MAX`.
    pub fn add(&mut self, day: &Day, used: UsageTotal) {
        self.days.entry(day.clone()).or_default().add_total(used);
        while self.days.len() > DAYS_MAX {
            self.days.pop_first();
        }
    }

    /// Returns the totals of `day` and of the month that it is in.
    pub fn periods(&self, day: &Day) -> PeriodUsage {
        let mut month = UsageTotal::default();
        let same_month = self.days.iter().filter(|(d, _)| d.month() == day.month());
        same_month.for_each(|(_, used)| month.add_total(*used));
        PeriodUsage {
            date: day.clone(),
            day: self.days.get(day).copied().unwrap_or_default(),
            month,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn tokens(tokens: u64) -> UsageTotal {
        UsageTotal {
            tokens,
            ..UsageTotal::default()
        }
    }

    #[test]
    fn usage_of_a_new_day_or_month_begins_at_zero() {
        let known = PeriodUsage {
            date: Day("2026-10-30".into()),
            day: tokens(1),
            month: tokens(10),
        };
        let on = |day: &str| {
            let usage = known.clone().on(&Day(day.into()));
            (usage.day.tokens, usage.month.tokens)
        };
        assert_eq!(on("2026-10-30"), (1, 10));
        assert_eq!(on("2026-10-31"), (0, 10));
        assert_eq!(on("2026-11-01"), (0, 0));
    }

    #[test]
    fn month_is_the_sum_of_its_days() {
        let mut record = SpendingRecord::default();
        let day = |text: &str| Day(text.into());
        for (date, used) in [
            ("2026-10-31", 1),
            ("2026-11-01", 10),
            ("2026-11-29", 100),
            ("2026-11-29", 100),
            ("2027-11-29", 1000),
        ] {
            record.add(&day(date), tokens(used));
        }
        let of = |date: &str| {
            let periods = record.periods(&day(date));
            (periods.day.tokens, periods.month.tokens)
        };
        assert_eq!(of("2026-11-29"), (200, 210));
        assert_eq!(of("2026-11-30"), (0, 210));
        assert_eq!(of("2026-10-31"), (1, 1));
        assert_eq!(of("2026-12-01"), (0, 0));
        let text = serde_json::to_string(&record).unwrap();
        assert_eq!(SpendingRecord::parse(&text), Some(record));
    }

    #[test]
    fn record_is_bounded_and_damaged_ones_are_rejected() {
        let mut record = SpendingRecord::default();
        for n in 0..200 {
            record.add(&Day(format!("2026-{n:03}")), tokens(1));
        }
        assert_eq!(record.days.len(), DAYS_MAX);
        assert!(record.days.contains_key(&Day("2026-199".into())));
        for text in [
            "",
            "[]",
            "{\"days\": 1}",
            "{\"days\": {\"2026-11-29\": {\"tokens\": -1, \"cost\": 0.0}}}",
            "{\"days\": {\"2026-11-29\": {\"tokens\": 1, \"cost\": -0.5}}}",
        ] {
            assert_eq!(SpendingRecord::parse(text), None, "{text}");
        }
        let newer = "{\"days\": {\"2026-11-29\": {\"tokens\": 7, \"cost\": 0.0, \"calls\": 2}}, \"more\": 1}";
        let read = SpendingRecord::parse(newer).unwrap();
        let day = read.periods(&Day("2026-11-29".into())).day;
        assert_eq!(day.tokens, 7);
    }
}
