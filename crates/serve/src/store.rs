//! Where SET values live: a map with a bound on its bytes.

use std::collections::HashMap;

/// Bytes of keys and values that are stored; a SET beyond it is refused.
const BYTES_MAX: usize = 1 << 30;

/// One value as it was set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Opaque to the server.
    pub flags: u32,
    /// The value.
    pub value: Box<[u8]>,
}

/// All values that clients have set, by key.
#[derive(Debug, Default)]
pub struct Store {
    items: HashMap<Box<[u8]>, Item>,
    bytes: usize,
}

impl Store {
    /// The value of `key`, if one was set.
    pub fn get(&self, key: &[u8]) -> Option<&Item> {
        self.items.get(key)
    }

    /// Keeps `value` under `key`; `false` if there is no room.
    pub fn set(&mut self, key: &[u8], flags: u32, value: &[u8]) -> bool {
        self.remove(key);
        if self.bytes + key.len() + value.len() > BYTES_MAX {
            return false;
        }
        self.bytes += key.len() + value.len();
        self.items.insert(key.into(), Item { flags, value: value.into() });
        true
    }

    /// Forgets `key`; `false` if it was not there.
    pub fn remove(&mut self, key: &[u8]) -> bool {
        let removed = self.items.remove(key);
        self.bytes -= removed.as_ref().map_or(0, |item| key.len() + item.value.len());
        removed.is_some()
    }

    /// Forgets every value that was set.
    pub fn clear(&mut self) {
        self.items.clear();
        self.bytes = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_counted_once_per_key() {
        let mut store = Store::default();
        for _ in 0..3 {
            assert!(store.set(b"key", 7, b"value"));
        }
        assert_eq!(store.bytes, 8);
        assert_eq!(store.get(b"key").unwrap().flags, 7);
        assert!(store.remove(b"key") && !store.remove(b"key"));
        assert_eq!(store.bytes, 0);
    }
}
