//! Files that are read once in a process: they may be pipes, or logs that are still being written.
//!
//! Every thread's plan and what is found after the run must be of one reading. A log of millions of lines is
//! not read again for each of them.

use std::sync::{Arc, Mutex, PoisonError};

use sojourn_base::Fault;

/// What was made of each file, by the name that it was asked for by.
#[derive(Debug)]
pub struct ReadOnce<T>(Mutex<Vec<(String, Arc<T>)>>);

impl<T> Default for ReadOnce<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> ReadOnce<T> {
    /// An empty one: no file was read yet.
    pub const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// What `read` made of the file `name`, which is read only the first time; a fault is not kept.
    pub fn get(
        &self,
        name: &str,
        read: impl FnOnce() -> Result<T, Fault>,
    ) -> Result<Arc<T>, Fault> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, result)) = known.iter().find(|(of, _)| of == name) {
            return Ok(Arc::clone(result));
        }
        let result = Arc::new(read()?);
        known.push((name.into(), Arc::clone(&result)));
        Ok(result)
    }

    /// Lets go of what was made of the file `name`; who asks for it again reads it again.
    pub fn forget(&self, name: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).retain(|(of, _)| of != name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_is_read_once_and_a_fault_is_tried_again() {
        static ALL: ReadOnce<u32> = ReadOnce::new();
        let fault = || Fault::usage("it is not there", "", "");
        assert!(ALL.get("a", || Err(fault())).is_err());
        assert_eq!(*ALL.get("a", || Ok(1)).unwrap(), 1);
        assert_eq!(*ALL.get("a", || Err(fault())).unwrap(), 1);
        assert_eq!(*ALL.get("b", || Ok(2)).unwrap(), 2);
        ALL.forget("a");
        assert_eq!(*ALL.get("a", || Ok(3)).unwrap(), 3);
        assert_eq!(*ALL.get("b", || Err(fault())).unwrap(), 2);
    }
}
