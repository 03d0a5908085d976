//! A value that follows from others: made when it is asked for, kept as long as those are the same.

use std::cell::RefCell;

/// Room for one value and what it was made from.
#[derive(Debug)]
pub struct Slot<K, V>(RefCell<Option<(K, V)>>);

impl<K, V> Default for Slot<K, V> {
    fn default() -> Slot<K, V> {
        Slot(RefCell::new(None))
    }
}

impl<K: PartialEq, V: Clone> Slot<K, V> {
    /// The value for `key`; `make` is called when another one is there, or none.
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
    fn it_is_made_once_for_a_key() {
        let slot = Slot::default();
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
