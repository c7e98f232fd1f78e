//! A unit for systemd: the black box with no more rights than it needs.
//!
//! It writes one folder, reads /proc, and has the four capabilities of the tracer. systemd starts it again when
//! it ends, and `systemctl reload` opens the log anew.

use std::path::Path;

use sojourn_base::Fault;

const UNIT: &str = "\
[Unit]
Description=Sojourn: the slowest requests of the last minutes, and what made them slow
Documentation=man:systemd.exec(5)
After=network.target

[Service]
Type=exec
ExecStart={command}
ExecReload=/bin/kill -HUP $MAINPID
Restart=on-failure
RestartSec=5
TimeoutStopSec=15
MemoryMax=512M
TasksMax=16
Nice=0
UMask=0077
{state}CapabilityBoundingSet=CAP_BPF CAP_PERFMON CAP_NET_ADMIN CAP_SYS_PTRACE CAP_DAC_READ_SEARCH CAP_SYS_NICE
AmbientCapabilities=
NoNewPrivileges=yes
ProtectSystem=strict
ReadWritePaths={writes}
ProtectHome=read-only
ProtectKernelModules=yes
ProtectKernelLogs=yes
ProtectClock=yes
ProtectHostname=yes
PrivateDevices=yes
PrivateTmp=no
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
RestrictNamespaces=net
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service bpf perf_event_open setns
SystemCallErrorNumber=EPERM

[Install]
WantedBy=multi-user.target
";

/// The folder that systemd makes by itself.
const STATE: &str = "/var/lib/sojourn-ring";

/// The text of the unit that runs `words`, writes dumps into `dumps` and a log into `log`.
///
/// # Errors
/// A word cannot stand in a unit.
pub fn unit(words: &[String], dumps: &Path, log: Option<&Path>) -> Result<String, Fault> {
    let command: Vec<String> = words.iter().map(|word| quoted(word)).collect::<Result<_, _>>()?;
    let mut writes = vec![quoted(&dumps.display().to_string())?];
    if let Some(folder) = log.and_then(Path::parent).filter(|it| !it.as_os_str().is_empty()) {
        writes.push(quoted(&folder.display().to_string())?);
    }
    // A folder of /var/log is made by systemd; without it the unit would not start.
    let logs = log.and_then(Path::parent).and_then(|it| it.strip_prefix("/var/log").ok());
    let logs = match logs.filter(|it| it.components().count() == 1) {
        Some(name) => format!(
            "LogsDirectory={}\nLogsDirectoryMode=0700\n",
            quoted(&name.display().to_string())?
        ),
        None => String::new(),
    };
    let is_own = dumps == Path::new(STATE);
    let state = "StateDirectory=sojourn-ring\nStateDirectoryMode=0700\n";
    Ok(UNIT
        .replace("{command}", &command.join(" "))
        .replace("{state}", &format!("{}{logs}", if is_own { state } else { "" }))
        .replace("{writes}", &writes.join(" ")))
}

/// A word as systemd.service(5) reads it: no specifier, no variable, no end of the quotes.
fn quoted(word: &str) -> Result<String, Fault> {
    if word.is_empty() || word.chars().any(char::is_control) {
        let fix = "name paths and services of plain letters";
        return Err(Fault::usage(format!("{word:?} cannot stand in a unit"), "--systemd", fix));
    }
    let text =
        word.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%").replace('$', "$$");
    Ok(if text != word || word.contains(' ') { format!("\"{text}\"") } else { text })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_runs_the_same_words_and_writes_its_folder_only() {
        let words = ["/opt/a b/sojourn-trace", "--ring", "--comm", "100%"].map(str::to_owned);
        let text =
            unit(&words, Path::new("/srv/dumps"), Some(Path::new("/var/log/x/ring.log"))).unwrap();
        assert!(
            text.contains("ExecStart=\"/opt/a b/sojourn-trace\" --ring --comm \"100%%\"\n"),
            "{text}"
        );
        assert!(
            text.contains("ReadWritePaths=/srv/dumps /var/log/x\n") && !text.contains("StateDir")
        );
        assert!(text.contains("LogsDirectory=x\nLogsDirectoryMode=0700\n"), "{text}");
        for log in ["/var/log/ring.log", "/srv/x/ring.log", "/var/log/a/b/ring.log"] {
            let text = unit(&words, Path::new("/srv/dumps"), Some(Path::new(log))).unwrap();
            assert!(!text.contains("LogsDirectory"), "{text}");
        }
        assert!(!text.contains('{'), "every place is filled: {text}");
        let text = unit(&words, Path::new(STATE), None).unwrap();
        assert!(text.contains("StateDirectory=sojourn-ring\nStateDirectoryMode=0700\nCapability"));
        assert_eq!(unit(&["a\nb".into()], Path::new("/x"), None).unwrap_err().at, "--systemd");
    }
}
