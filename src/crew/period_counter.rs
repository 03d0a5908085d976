//! Counts the usage of the current day and month, which all crews of the user share through a file.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use jiff::tz::TimeZone;

use super::context::{CrewContext, lock};
use crate::agent::driver::run_blocking;
use crate::domain::spending::{Day, PeriodUsage, UsageTotal};
use crate::store::{SpendingFile, SpendingUpdate, StoreError, local_day, local_time_zone};

/// Maximum number of days whose usage waits to be written.
const UNSAVED_MAX: usize = 2;

/// The file with the usage of all crews, and the usage of this crew that could not be written to it yet.
pub struct PeriodCounter {
    context: Arc<CrewContext>,
    file: SpendingFile,
    /// The time zone in which days begin.
    zone: TimeZone,
    /// The usage of this crew that could not be added to the file, by day, at most [`UNSAVED_MAX`] days. It is added
    /// with the next usage, or at the end of the crew.
    unsaved: Mutex<BTreeMap<Day, UsageTotal>>,
    /// The path to which a damaged file was renamed, until [`PeriodCounter::add`] returns it.
    damaged: Mutex<Option<PathBuf>>,
}

/// The result of one attempt to write usage to the file.
struct Written {
    /// The usage that was not written.
    left: BTreeMap<Day, UsageTotal>,
    /// The path to which a damaged file was renamed.
    damaged: Option<PathBuf>,
    /// The totals in the file.
    periods: Result<PeriodUsage, StoreError>,
}

impl PeriodCounter {
    pub fn new(context: Arc<CrewContext>, file: SpendingFile) -> PeriodCounter {
        PeriodCounter {
            context,
            file,
            zone: local_time_zone(),
            unsaved: Mutex::default(),
            damaged: Mutex::default(),
        }
    }

    /// Adds usage to the current day in the file, together with earlier usage that could not be written. Returns the
    /// totals of the current day and month.
    ///
    /// # Errors
    /// Fails if the file cannot be written. The usage is then kept in memory and added later.
    pub async fn add(&self, used: UsageTotal) -> Result<SpendingUpdate, StoreError> {
        let today = self.today();
        let mut all = std::mem::take(&mut *lock(&self.unsaved));
        all.entry(today.clone()).or_default().add_total(used);
        let file = self.file.clone();
        let unwritten = all.clone();
        let written = run_blocking(move || Ok(write(&file, all, &today))).await;
        let written = written.unwrap_or_else(|error| Written {
            left: unwritten,
            damaged: None,
            periods: Err(error),
        });
        self.keep(written.left);
        if let Some(path) = written.damaged {
            lock(&self.damaged).get_or_insert(path);
        }
        let periods = self.with_unsaved(written.periods?);
        let damaged = lock(&self.damaged).take();
        Ok(SpendingUpdate { periods, damaged })
    }

    /// Returns the current day in the user's time zone.
    pub fn today(&self) -> Day {
        local_day(self.context.now(), &self.zone)
    }

    /// Tries once more to add the usage that could not be written.
    pub async fn save(&self) {
        if !lock(&self.unsaved).is_empty() {
            // The first failure was reported to the user, and no notice is read when the crew ends.
            let _ = self.add(UsageTotal::default()).await;
        }
    }

    /// Adds usage that could not be written to the file to `unsaved`. If `unsaved` then has more than [`UNSAVED_MAX`]
    /// days, moves the usage of the oldest day to the next day in `unsaved`.
    fn keep(&self, left: BTreeMap<Day, UsageTotal>) {
        let mut unsaved = lock(&self.unsaved);
        for (day, used) in left {
            unsaved.entry(day).or_default().add_total(used);
        }
        while unsaved.len() > UNSAVED_MAX
            && let Some((_, oldest)) = unsaved.pop_first()
            && let Some(mut next) = unsaved.first_entry()
        {
            next.get_mut().add_total(oldest);
        }
    }

    /// Returns the totals of the current day and month, with the usage that could not be written yet; `None` if the
    /// file cannot be read or is damaged. A missing file counts as empty.
    pub async fn read(&self) -> Option<PeriodUsage> {
        let (file, day) = (self.file.clone(), self.today());
        let read = run_blocking(move || file.read(&day)).await;
        Some(self.with_unsaved(read.ok()??))
    }

    fn with_unsaved(&self, mut periods: PeriodUsage) -> PeriodUsage {
        for (day, used) in lock(&self.unsaved).iter() {
            if *day == periods.date {
                periods.day.add_total(*used);
            }
            if day.month() == periods.date.month() {
                periods.month.add_total(*used);
            }
        }
        periods
    }
}

/// Adds the usage `all` to the file, the earliest day first, up to the first error. `today` must be the last day in `all`.
fn write(file: &SpendingFile, mut all: BTreeMap<Day, UsageTotal>, today: &Day) -> Written {
    let mut damaged = None;
    let mut periods = None;
    while let Some((day, used)) = all.pop_first() {
        match file.add(&day, used) {
            Ok(update) => {
                damaged = damaged.or(update.damaged);
                periods = (day == *today).then_some(Ok(update.periods));
            }
            Err(error) => {
                all.insert(day, used);
                periods = Some(Err(error));
                break;
            }
        }
    }
    Written {
        left: all,
        damaged,
        periods: periods.unwrap_or_else(|| file.read(today).map(Option::unwrap_or_default)),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::crew::test_support::TestCrew;

    fn tokens(tokens: u64) -> UsageTotal {
        UsageTotal {
            tokens,
            ..UsageTotal::default()
        }
    }

    #[tokio::test]
    async fn usage_that_could_not_be_written_counts_for_its_own_day() {
        let crew = TestCrew::new();
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("state");
        // A file in the place of the folder, so that nothing can be written.
        std::fs::write(&folder, "").unwrap();
        let file = SpendingFile::new(&folder);
        let counter = PeriodCounter::new(crew.context.clone(), file.clone());
        let today = local_day(crew.context.now(), &counter.zone);
        assert!(counter.add(tokens(3)).await.is_err());
        let yesterday = Day("1969-12-01".into());
        counter.keep(BTreeMap::from([(yesterday.clone(), tokens(50))]));
        let periods = counter.with_unsaved(PeriodUsage {
            date: today.clone(),
            ..PeriodUsage::default()
        });
        assert_eq!(periods.day.tokens, 3);
        assert_eq!(periods.month.tokens, 3);
        std::fs::remove_file(&folder).unwrap();
        counter.save().await;
        assert_eq!(lock(&counter.unsaved).len(), 0);
        let used = |day: &Day| file.read(day).unwrap().unwrap().day.tokens;
        assert_eq!((used(&yesterday), used(&today)), (50, 3));
        for n in 1..=9 {
            counter.keep(BTreeMap::from([(Day(format!("1969-11-0{n}")), tokens(1))]));
        }
        let kept = lock(&counter.unsaved).clone();
        assert_eq!(kept.len(), UNSAVED_MAX);
        assert_eq!(kept.values().map(|used| used.tokens).sum::<u64>(), 9);
    }
}
