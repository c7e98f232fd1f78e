//! The distribution's own server, in a folder of its own.

use std::fs::Permissions;
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use sojourn_load::job::Job;

use super::super::mirror::{Folder, job, skipped};
use super::super::{run, usable};
use super::{PASSWORD, password, refused};

/// PostgreSQL refuses to be root: `nobody` it is then.
const NOBODY: u32 = 65_534;
const RULES: &str = "local all scram scram-sha-256\nlocal all md5 md5\nlocal all clear password\n\
                     local all trusted trust\n";
const ROWS: &str = "CREATE TABLE goods AS SELECT n AS id, 'good ' || n AS name \
                    FROM generate_series(0, 49) AS n;\n";

struct Server {
    child: Child,
    folder: Folder,
}

fn bins() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
    let folders = versions.flatten().map(|entry| entry.path().join("bin"));
    folders.filter(|bins| bins.join("initdb").exists()).max()
}

fn program(bins: &Path, name: &str, folder: &Path) -> Command {
    let mut command = Command::new(bins.join(name));
    command.current_dir(folder).stdout(Stdio::null()).stderr(Stdio::null());
    // SAFETY: takes nothing, and reads the number of who asks.
    if unsafe { libc::geteuid() } == 0 {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

impl Server {
    /// `None`: it is not installed.
    fn start() -> Option<Self> {
        let Some(bins) = bins() else {
            skipped("postgres is not installed");
            return None;
        };
        let folder = Folder::new();
        let at = folder.0.as_path();
        std::fs::set_permissions(at, Permissions::from_mode(0o755)).unwrap();
        let _ = chown(at, Some(NOBODY), Some(NOBODY));
        std::fs::write(at.join("rules"), RULES).unwrap();
        let made = program(&bins, "initdb", at)
            .args(["-D", "data", "-U", "trusted", "--no-sync"])
            .status();
        assert!(made.unwrap().success());
        let mut single = program(&bins, "postgres", at)
            .args(["--single", "-D", "data", "-c", "exit_on_error=on", "postgres"])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let roles = [("scram", "scram-sha-256"), ("md5", "md5"), ("clear", "scram-sha-256")];
        let made = roles.map(|(role, how)| {
            let how = format!("SET password_encryption = '{how}';");
            format!("{how}\nCREATE ROLE {role} LOGIN PASSWORD '{PASSWORD}';\n")
        });
        let commands = [ROWS, &made.concat(), "GRANT SELECT ON goods TO PUBLIC;\n"].concat();
        single.stdin.take().unwrap().write_all(commands.as_bytes()).unwrap();
        assert!(single.wait().unwrap().success());
        let child = program(&bins, "postgres", at)
            .args(["-D", "data", "-k", at.to_str().unwrap(), "-c", "listen_addresses="])
            .args(["-c", "fsync=off", "-c", "hba_file=rules", "-c", "max_connections=20"])
            .spawn()
            .unwrap();
        let mut this = Self { child, folder };
        let state = this.folder.0.join("data/postmaster.pid");
        let deadline = Instant::now() + Duration::from_secs(30);
        while !std::fs::read_to_string(&state).is_ok_and(|text| text.contains("ready")) {
            assert!(this.child.try_wait().unwrap().is_none(), "postgres has ended");
            assert!(Instant::now() < deadline, "postgres does not get ready");
            thread::sleep(Duration::from_millis(10));
        }
        Some(this)
    }

    fn socket(&self) -> PathBuf {
        self.folder.0.join(".s.PGSQL.5432")
    }

    /// Waits until no connection is left: one that is closed or refused keeps its slot of
    /// `max_connections` until the server's process for it has ended.
    fn wait_until_all_slots_are_free(&self) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while !children(self.child.id()).iter().all(|child| is_background(child)) {
            assert!(Instant::now() < deadline, "connections are still held");
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// One that finds all slots free.
    fn job(&self, user: &str, transport: &str) -> Job {
        self.wait_until_all_slots_are_free();
        let target = format!("postgresql://{user}@unix:{}:/postgres", self.socket().display());
        Job {
            query: vec!["SELECT name FROM goods WHERE id = {}".into()],
            items: 50,
            expect_regex: r"^good \d+$".into(),
            auth: password(&self.folder, PASSWORD),
            ..job(target, transport)
        }
    }
}

/// Folders in `/proc` of the processes whose parent is `parent`.
fn children(parent: u32) -> Vec<PathBuf> {
    let is_child = |at: &PathBuf| {
        let stat = std::fs::read_to_string(at.join("stat")).unwrap_or_default();
        let after_name = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
        after_name.split(' ').nth(1) == Some(&parent.to_string())
    };
    let all = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    all.filter(is_child).collect()
}

/// Whether a server's process has a title, and none of those that a connection gives it. One that has
/// just been forked has none yet, one that has ended none any more.
fn is_background(process: &Path) -> bool {
    let title = std::fs::read_to_string(process.join("cmdline")).unwrap_or_default();
    title.starts_with("postgres: ") && !title.contains("[local]")
}

impl Drop for Server {
    fn drop(&mut self) {
        // SAFETY: a signal to a child that has not been waited for.
        unsafe { libc::kill(self.child.id() as libc::pid_t, libc::SIGQUIT) };
        let _ = self.child.wait();
    }
}

#[test]
fn the_real_one_lets_us_in_answers_and_says_what_it_refuses() {
    let Some(server) = Server::start() else { return };
    for (user, prepared) in
        [("scram", "true"), ("md5", "false"), ("clear", "true"), ("trusted", "false")]
    {
        for transport in usable() {
            let option = [("prepared".to_owned(), prepared.to_owned())].into();
            let result = run(Job { option, ..server.job(user, transport) }).result;
            assert!(result.errors.is_empty(), "{user}, {transport}: {:?}", result.errors);
            assert!(result.replies.checked > 50 && result.replies.failed.is_empty(), "{user}");
            assert_eq!((result.replies.bytes_min, result.replies.bytes_max), (Some(6), Some(7)));
        }
    }
    let asking = |user: &str, change: &dyn Fn(&mut Job)| {
        let mut job = server.job(user, "epoll");
        change(&mut job);
        job
    };
    let fault = |user: &str, change: &dyn Fn(&mut Job)| refused(asking(user, change)).to_string();
    let wrong = |job: &mut Job| job.auth = password(&server.folder, "hunter2");
    for user in ["scram", "md5", "clear"] {
        assert!(fault(user, &wrong).contains("28P01"), "{}", fault(user, &wrong));
    }
    assert!(fault("stranger", &|_| ()).contains("pg_hba.conf"));
    let elsewhere = |job: &mut Job| job.target = job.target.replace(":/postgres", ":/none");
    assert!(fault("trusted", &elsewhere).contains("createdb none"));
    let query = |text: &'static str| move |job: &mut Job| job.query = vec![text.into()];
    assert!(fault("trusted", &query("SELEC {}")).contains("42601: syntax error"));
    let many = |job: &mut Job| job.connections = 24; // of 20, and all are tried within 5 s
    assert!(fault("trusted", &many).contains("max_connections"), "{}", fault("trusted", &many));
    let divided = asking("scram", &query("SELECT 1 / ({} % 2)"));
    let result = run(Job { expect_regex: String::new(), ..divided }).result;
    assert!(result.errors["status"] * 3 > result.requests, "{:?}", result.errors);
    let text = "ERROR 22012: division by zero";
    assert!(result.notes.iter().any(|note| note.contains(text)), "{:?}", result.notes);
}
