//! The user's time zone.

use std::path::Path;

use jiff::tz::TimeZone;

use super::regular_file;

const LOCAL: &str = "/etc/localtime";
/// Maximum number of bytes to read from [`LOCAL`]. Even the largest time zone files have only a few thousand bytes.
const LOCAL_MAX: u64 = 64 * 1024;

/// Returns the local time zone, which is read from `/etc/localtime`. If `TZ` is set or this file cannot be read, the zone is
/// looked up by name. That lookup reads the whole folder of time zones, which takes milliseconds.
pub fn local_time_zone() -> TimeZone {
    let named = std::env::var_os("TZ").is_some();
    if named {
        return TimeZone::system();
    }
    of_file(Path::new(LOCAL)).unwrap_or_else(TimeZone::system)
}

fn of_file(path: &Path) -> Option<TimeZone> {
    // The file is usually a symbolic link.
    let file = path.canonicalize().ok()?;
    let rules = regular_file::read(&file, LOCAL_MAX).ok()?;
    TimeZone::tzif("Local", &rules).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;
    use pretty_assertions::assert_eq;

    #[test]
    fn zone_file_is_read_through_a_link_or_rejected() {
        let dir = tempfile::tempdir().unwrap();
        // The smallest valid file: version 1, one type, an hour east of Greenwich.
        let mut rules = b"TZif\0".to_vec();
        rules.extend([0; 15]);
        for count in [0_u32, 0, 0, 0, 1, 4] {
            rules.extend(count.to_be_bytes());
        }
        rules.extend(3600_i32.to_be_bytes());
        rules.extend([0, 0]);
        rules.extend(b"XXX\0");
        std::fs::write(dir.path().join("zone"), rules).unwrap();
        let link = dir.path().join("localtime");
        std::os::unix::fs::symlink("zone", &link).unwrap();
        let zone = of_file(&link).unwrap();
        assert_eq!(zone.to_offset(Timestamp::UNIX_EPOCH), jiff::tz::offset(1));
        std::fs::write(dir.path().join("zone"), "no rules").unwrap();
        assert_eq!(of_file(&link), None);
        assert_eq!(of_file(&dir.path().join("none")), None);
    }
}
