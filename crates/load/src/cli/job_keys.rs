//! Each flag that was given, put into the key of the job that has its name.

use super::{Args, requests};
use crate::job::Job;

impl Args {
    /// Puts the flags that were given into `job`.
    pub(super) fn override_keys(&self, job: &mut Job) {
        let Self { target, load, content, reply, client, verdict, output } = self;
        put(&mut job.target, target.as_ref());
        put(&mut job.rate, load.rate.as_ref());
        put(&mut job.duration, load.duration.as_ref());
        put(&mut job.warmup, load.warmup.as_ref());
        put(&mut job.drain, load.drain.as_ref());
        put(&mut job.timeout, load.timeout.as_ref());
        put(&mut job.start_at, load.start_at.as_ref());
        put(&mut job.arrivals, load.arrivals.as_ref());
        put(&mut job.sessions, load.sessions.as_ref());
        put(&mut job.seed, load.seed.as_ref());
        put(&mut job.find_max, load.find_max.as_ref());
        put(&mut job.probe_rate, load.probe_rate.as_ref());
        put(&mut job.requests_max, load.requests_max.as_ref());
        put(&mut job.popularity, content.popularity.as_ref());
        put(&mut job.items, content.items.as_ref());
        put(&mut job.key_size, content.key_size.as_ref());
        put(&mut job.value_size, content.value_size.as_ref());
        put(&mut job.set_share, content.set_share.as_ref());
        put(&mut job.multiget_share, content.multiget_share.as_ref());
        put(&mut job.multiget_keys, content.multiget_keys.as_ref());
        let paths =
            content.paths.as_ref().map(|all| all.iter().flat_map(|one| requests::paths(one)));
        put(&mut job.paths, paths.map(Iterator::collect).as_ref());
        put(&mut job.paths_file, content.paths_file.as_ref());
        put(&mut job.log_form, content.log_form.as_ref());
        put(&mut job.method, content.method.as_ref());
        put(&mut job.header, content.header.as_ref());
        put(&mut job.body, content.body.as_ref());
        put(&mut job.body_file, content.body_file.as_ref());
        put(&mut job.query, content.query.as_ref());
        put(&mut job.auth, content.auth.as_ref());
        put(&mut job.expect_status, reply.expect_status.as_ref());
        put(&mut job.expect_bytes, reply.expect_bytes.as_ref());
        put(&mut job.expect_sha256, reply.expect_sha256.as_ref());
        put(&mut job.expect_regex, reply.expect_regex.as_ref());
        put(&mut job.expect_file, reply.expect_file.as_ref());
        put(&mut job.allow_empty, reply.allow_empty.as_ref());
        job.option.extend(content.option.iter().flatten().cloned());
        put(&mut job.preload, content.preload.as_ref());
        put(&mut job.connections, client.connections.as_ref());
        put(&mut job.depth, client.depth.as_ref());
        put(&mut job.threads, client.threads.as_ref());
        put(&mut job.source, client.source.as_ref());
        put(&mut job.cpus, client.cpus.as_ref());
        put(&mut job.turns, client.turns.as_ref());
        put(&mut job.instrument_cpus, client.instrument_cpus.as_ref());
        put(&mut job.server_cpus, client.server_cpus.as_ref());
        put(&mut job.server_pid, client.server_pid.as_ref());
        put(&mut job.ca_file, client.ca_file.as_ref());
        put(&mut job.server_name, client.server_name.as_ref());
        put(&mut job.insecure, client.insecure.as_ref());
        put(&mut job.cert, client.cert.as_ref());
        put(&mut job.key, client.key.as_ref());
        put(&mut job.transport, client.transport.as_ref());
        put(&mut job.wait, client.wait.as_ref());
        put(&mut job.qos_quantile, verdict.qos_quantile.as_ref());
        put(&mut job.qos_bound, verdict.qos_bound.as_ref());
        put(&mut job.pooled, verdict.pooled.as_ref());
        put(&mut job.timely_within, verdict.timely_within.as_ref());
        put(&mut job.outage_over, verdict.outage_over.as_ref());
        put(&mut job.excluded_share_max, verdict.excluded_share_max.as_ref());
        put(&mut job.disturbed_share_max, verdict.disturbed_share_max.as_ref());
        put(&mut job.outage_share_max, verdict.outage_share_max.as_ref());
        put(&mut job.hlog, output.hlog.as_ref());
        put(&mut job.seconds, output.seconds.as_ref());
        put(&mut job.raw, output.raw.as_ref());
        put(&mut job.raw_max, output.raw_max.as_ref());
    }
}

fn put<T: Clone>(key: &mut T, flag: Option<&T>) {
    if let Some(value) = flag {
        key.clone_from(value);
    }
}
