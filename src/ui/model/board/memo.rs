//! A cache for one computed value, which is computed again only if its key changes.

use std::cell::RefCell;

/// The value that was computed last, with its key; empty before the first use.
#[derive(Debug)]
pub struct Memo<K, V>(RefCell<Option<(K, V)>>);

impl<K, V> Default for Memo<K, V> {
    fn default() -> Memo<K, V> {
        Memo(RefCell::new(None))
    }
}

impl<K: PartialEq, V: Clone> Memo<K, V> {
    /// Returns the value for `key`. Computes it with `make` unless the cached value has this key.
    pub fn get(&self, key: K, make: impl FnOnce() -> V) -> V {
        if let Some((of, value)) = &*self.0.borrow()
            && *of == key
        {
            return value.clone();
        }
        let value = make();
        self.0.replace(Some((key, value.clone())));
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_is_recomputed_only_when_the_key_changes() {
        let slot = Memo::default();
        let mut made = Vec::new();
        for key in [1, 1, 2, 2, 1] {
            let value = slot.get(key, || {
                made.push(key);
                key * 10
            });
            assert_eq!(value, key * 10);
        }
        assert_eq!(made, [1, 2, 1]);
    }
}
