//! Counts the usage of the current day and month, which all crews of the user share through a file.

use std::sync::{Arc, Mutex};

use jiff::tz::TimeZone;

use super::context::{CrewContext, lock};
use crate::agent::driver::run_blocking;
use crate::domain::spending::{PeriodUsage, UsageTotal};
use crate::store::{SpendingFile, SpendingUpdate, StoreError, local_day, local_time_zone};

/// The file with the usage of all crews, and what could not be written to it yet.
pub struct PeriodCounter {
    context: Arc<CrewContext>,
    file: SpendingFile,
    /// The time zone in which days begin.
    zone: TimeZone,
    /// The usage of this crew that could not be added to the file. It is added with the next usage.
    unsaved: Mutex<UsageTotal>,
}

impl PeriodCounter {
    pub fn new(context: Arc<CrewContext>, file: SpendingFile) -> PeriodCounter {
        PeriodCounter {
            context,
            file,
            zone: local_time_zone(),
            unsaved: Mutex::default(),
        }
    }

    /// Adds usage to the current day.
    ///
    /// # Errors
    /// When the file cannot be written. The usage is kept in memory and added later.
    pub async fn add(&self, used: UsageTotal) -> Result<SpendingUpdate, StoreError> {
        let mut all = std::mem::take(&mut *lock(&self.unsaved));
        all.add_total(used);
        let (file, day) = (self.file.clone(), local_day(self.context.now(), &self.zone));
        let added = run_blocking(move || file.add(&day, all)).await;
        match added {
            Ok(update) => Ok(SpendingUpdate {
                periods: self.with_unsaved(update.periods),
                damaged: update.damaged,
            }),
            Err(error) => {
                lock(&self.unsaved).add_total(all);
                Err(error)
            }
        }
    }

    /// Returns the current totals; `None` if the file cannot be read or is damaged.
    pub async fn read(&self) -> Option<PeriodUsage> {
        let (file, day) = (self.file.clone(), local_day(self.context.now(), &self.zone));
        let read = run_blocking(move || file.read(&day)).await;
        Some(self.with_unsaved(read.ok()??))
    }

    fn with_unsaved(&self, mut periods: PeriodUsage) -> PeriodUsage {
        let unsaved = *lock(&self.unsaved);
        periods.day.add_total(unsaved);
        periods.month.add_total(unsaved);
        periods
    }
}
