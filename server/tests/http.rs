//! What the service promises, over real HTTP: with users' chains in memory, in Redis and on a Redis Cluster.

#[allow(dead_code)]
mod redis_server;
mod service;
mod waiting;

use libtest_mimic::Arguments;

fn main() {
    let arguments = Arguments::from_args();
    // What only lists its tests starts no Redis.
    let servers = (!arguments.list).then(redis_server::Servers::start);
    let trials = service::trials(servers.as_ref());
    let conclusion = libtest_mimic::run(&arguments, trials);
    drop(servers);
    conclusion.exit();
}
