//! Facts about a work directory that a checkpoint records beside its files.

/// Maximum size of a [`CheckpointMeta`], in bytes. Entries beyond it are left out.
pub const META_MAX: usize = 8 * 1024 * 1024;

/// Facts about a work directory that a tree cannot hold. All paths are relative to the work directory.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CheckpointMeta {
    /// Files and folders that git ignored. A rewind does not delete what is in them.
    pub ignored: Vec<Vec<u8>>,
    /// Files and folders that exist but are not in the tree. A rewind does not touch them.
    pub skipped: Vec<Vec<u8>>,
    /// Files that only their owner may read.
    pub private: Vec<Vec<u8>>,
    /// Tracked files in ignored folders that did not exist.
    pub gone: Vec<Vec<u8>>,
}

impl CheckpointMeta {
    /// Returns whether `path` may have existed unrecorded, because git ignored it or a folder above it.
    pub fn was_ignored(&self, path: &[u8]) -> bool {
        covers(&self.ignored, path) && !covers(&self.gone, path)
    }

    /// Returns whether `path`, or a folder above it, existed but was not recorded.
    pub fn is_skipped(&self, path: &[u8]) -> bool {
        covers(&self.skipped, path)
    }

    pub fn is_private(&self, path: &[u8]) -> bool {
        self.private
            .binary_search_by(|p| p.as_slice().cmp(path))
            .is_ok()
    }

    /// Formats the lists as records that end with a NUL byte. The first byte of a record is its kind.
    pub fn format(&self) -> Vec<u8> {
        let mut out = Vec::new();
        // The list that protects most comes first, because the end is cut off if there is too much.
        for (kind, paths) in [
            (b's', &self.skipped),
            (b'p', &self.private),
            (b'g', &self.gone),
            (b'i', &self.ignored),
        ] {
            for path in paths {
                if out.len() + path.len() + 2 > META_MAX {
                    return out;
                }
                out.push(kind);
                out.extend(path);
                out.push(0);
            }
        }
        out
    }

    pub fn parse(bytes: &[u8]) -> CheckpointMeta {
        let mut meta = CheckpointMeta::default();
        for record in bytes.split(|byte| *byte == 0) {
            let Some((kind, path)) = record.split_first() else {
                continue;
            };
            let list = match kind {
                b'i' => &mut meta.ignored,
                b's' => &mut meta.skipped,
                b'p' => &mut meta.private,
                b'g' => &mut meta.gone,
                _ => continue,
            };
            list.push(path.to_vec());
        }
        meta
    }
}

/// Returns whether the sorted list `paths` contains `path` or a folder above it.
fn covers(paths: &[Vec<u8>], path: &[u8]) -> bool {
    let is_listed = |path: &[u8]| paths.binary_search_by(|p| p.as_slice().cmp(path)).is_ok();
    let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    let mut above = slashes.map(|(at, _)| &path[..at]);
    is_listed(path) || above.any(is_listed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn meta_survives_a_round_trip_and_covers_what_is_below() {
        let list = |paths: &[&str]| paths.iter().map(|p| p.as_bytes().to_vec()).collect();
        let meta = CheckpointMeta {
            ignored: list(&["a/node_modules", "target"]),
            skipped: list(&["big.bin"]),
            private: list(&[".env", "with\nline"]),
            gone: list(&["target/tracked"]),
        };
        assert_eq!(CheckpointMeta::parse(&meta.format()), meta);
        for (path, expected) in [
            ("target", true),
            ("target/debug/x", true),
            ("target/tracked", false),
            ("targets", false),
            ("a/node_modules/b/c", true),
            ("a", false),
            ("big.bin", false),
        ] {
            assert_eq!(meta.was_ignored(path.as_bytes()), expected, "{path}");
        }
        assert!(meta.is_skipped(b"big.bin") && !meta.is_skipped(b".env"));
    }
}
