//! Stores the tokens and costs that all crewdeck processes of the user have used on each day. Several processes can add
//! to the file at the same time.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::tz::TimeZone;

use super::atomic::{self, Lock};
use super::{StoreError, regular_file};
use crate::domain::spending::{Day, PeriodUsage, SpendingRecord, UsageTotal};
use crate::domain::timestamp::Timestamp;

const FILE: &str = "spending.json";
/// Maximum size of the file, in bytes. A valid [`SpendingRecord`] is far smaller.
const FILE_MAX: u64 = 64 * 1024;
/// Maximum time to wait while another process changes the file.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// The totals after a change, and what was wrong with the file.
#[derive(Debug, Clone, PartialEq)]
pub struct SpendingUpdate {
    pub periods: PeriodUsage,
    /// The path to which a damaged file was renamed; `None` if the file was not damaged. The usage in the damaged file
    /// is not in the totals.
    pub damaged: Option<PathBuf>,
}

/// The file `spending.json` in the folder of the user's state. It is created by the first [`SpendingFile::add`].
#[derive(Debug, Clone)]
pub struct SpendingFile {
    path: PathBuf,
}

impl SpendingFile {
    pub fn new(state_folder: &Path) -> SpendingFile {
        SpendingFile {
            path: state_folder.join(FILE),
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds usage to `day`. The change is complete or not made at all, even if the process is killed. A damaged file is
    /// renamed, and the record starts again.
    ///
    /// # Errors
    /// When another process holds the lock for 10 seconds, or when the file cannot be written. The usage is then not
    /// recorded.
    pub fn add(&self, day: &Day, used: UsageTotal) -> Result<SpendingUpdate, StoreError> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let mut builder = DirBuilder::new();
        let made = builder.recursive(true).mode(0o700).create(folder);
        made.map_err(StoreError::at(folder))?;
        let lock = self.path.with_extension("lock");
        let Some(_lock) = Lock::take_within(&lock, LOCK_TIMEOUT)? else {
            let busy = std::io::Error::from(std::io::ErrorKind::WouldBlock);
            return Err(StoreError::at(&lock)(busy));
        };
        let (mut record, damaged) = match self.load()? {
            Some(record) => (record, None),
            None => (
                SpendingRecord::default(),
                Some(atomic::set_aside(&self.path)?),
            ),
        };
        record.add(day, used);
        let bytes = serde_json::to_vec(&record).map_err(std::io::Error::from)?;
        atomic::write(&self.path, &bytes)?;
        Ok(SpendingUpdate {
            periods: record.periods(day),
            damaged,
        })
    }

    /// Returns the totals of `day` and its month; `None` if the file is damaged. Changes nothing and takes no lock.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn read(&self, day: &Day) -> Result<Option<PeriodUsage>, StoreError> {
        Ok(self.load()?.map(|record| record.periods(day)))
    }

    /// Reads the record, which is empty if there is no file. Returns `None` if the file is damaged.
    fn load(&self) -> Result<Option<SpendingRecord>, StoreError> {
        match regular_file::read_text(&self.path, FILE_MAX) {
            Ok(text) => Ok(SpendingRecord::parse(&text)),
            Err(why) if why.kind() == std::io::ErrorKind::NotFound => {
                Ok(Some(SpendingRecord::default()))
            }
            Err(why) if is_damage(&why) => Ok(None),
            Err(why) => Err(StoreError::at(&self.path)(why)),
        }
    }
}

/// Returns whether an error means that the file is too long or not a regular file.
fn is_damage(why: &std::io::Error) -> bool {
    why.kind() == std::io::ErrorKind::InvalidData || regular_file::is_not_regular_file(why)
}

/// Returns the day of a point in time in a time zone. A time that is out of range counts as the start of 1970.
#[allow(clippy::cast_possible_truncation)] // whole seconds; jiff checks the range
pub fn local_day(now: Timestamp, zone: &TimeZone) -> Day {
    let at = jiff::Timestamp::from_second(now.0 as i64).unwrap_or_default();
    Day(at.to_zoned(zone.clone()).strftime("%Y-%m-%d").to_string())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use pretty_assertions::assert_eq;

    fn used(tokens: u64) -> UsageTotal {
        UsageTotal {
            tokens,
            cost: 0.5,
            estimated: false,
        }
    }

    fn day() -> Day {
        Day("2026-11-29".into())
    }

    #[test]
    fn concurrent_writers_lose_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("state");
        std::thread::scope(|scope| {
            for _ in 0..8 {
                // Each writer opens the file by itself, as a process does.
                let file = SpendingFile::new(&folder);
                scope.spawn(move || {
                    for _ in 0..10 {
                        file.add(&day(), used(3)).unwrap();
                    }
                });
            }
        });
        let file = SpendingFile::new(&folder);
        let periods = file.read(&day()).unwrap().unwrap();
        assert_eq!((periods.day.tokens, periods.day.cost), (240, 40.0));
        assert_eq!(periods.month, periods.day);
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&folder), 0o700);
    }

    #[test]
    fn reading_makes_no_file() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("state");
        let file = SpendingFile::new(&folder);
        let none = PeriodUsage {
            date: day(),
            ..PeriodUsage::default()
        };
        assert_eq!(file.read(&day()).unwrap(), Some(none));
        assert!(!folder.exists());
    }

    #[test]
    fn damaged_file_is_kept_and_the_count_starts_again() {
        let dir = tempfile::tempdir().unwrap();
        let file = SpendingFile::new(dir.path());
        let long = "x".repeat(70_000);
        for (n, bytes) in [&b"{\"days\": {"[..], b"\xff\xfe", long.as_bytes()]
            .into_iter()
            .enumerate()
        {
            std::fs::write(file.path(), bytes).unwrap();
            assert_eq!(file.read(&day()).unwrap(), None);
            let update = file.add(&day(), used(7)).unwrap();
            assert_eq!(update.periods.day.tokens, 7);
            let kept = dir.path().join(format!("spending.json.damaged-{}", n + 1));
            assert_eq!(update.damaged, Some(kept.clone()));
            assert_eq!(std::fs::read(kept).unwrap(), bytes);
            assert_eq!(file.add(&day(), used(1)).unwrap().damaged, None);
        }
    }

    #[test]
    fn day_begins_at_local_midnight() {
        let hour = |hours: i8| TimeZone::fixed(jiff::tz::offset(hours));
        // 2026-11-30 23:30 UTC.
        let late = Timestamp(1_796_081_400.0);
        for (zone, date) in [(-1, "2026-11-30"), (0, "2026-11-30"), (1, "2026-12-01")] {
            assert_eq!(local_day(late, &hour(zone)).0, date);
        }
        assert_eq!(local_day(Timestamp(f64::MAX), &hour(0)).0, "1970-01-01");
    }
}
