//! Files that appear whole or not at all: written beside their place, then renamed into it.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use sojourn_base::Fault;

/// Lets `fill` write the file at `path`; `what` names it in faults ("the interval log").
pub fn write_whole(
    path: &Path,
    what: &str,
    fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<(), Fault> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".part");
    let written = File::create(&beside).and_then(|file| {
        let mut out = BufWriter::new(file);
        fill(&mut out)?;
        out.flush()?;
        fs::rename(&beside, path)
    });
    written.map_err(|error| {
        // What was written of it is of no use; the fault matters more than this.
        let _ = fs::remove_file(&beside);
        let fix =
            "free space on the disk, or name a file in a folder that exists and may be written";
        Fault::failed(format!("{what} cannot be written: {error}"), path.display().to_string(), fix)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_finished_leaves_nothing_behind() {
        let folder = std::env::temp_dir().join(format!("sojourn-files-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("out");
        let full = |out: &mut BufWriter<File>| {
            out.write_all(b"some")?;
            Err(io::Error::from_raw_os_error(28)) // ENOSPC
        };
        let fault = write_whole(&path, "the log", full).unwrap_err();
        assert!(fault.what.contains("the log cannot be written: No space left"), "{fault}");
        assert!(fault.fix.contains("free space"));
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        write_whole(&path, "the log", |out| out.write_all(b"all")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"all");
        fs::remove_dir_all(&folder).unwrap();
    }
}
