//! What every store promises, over each backend: in memory, in Redis, on a Redis Cluster; what those in Redis do when
//! Redis forgets, refuses or goes away; and what the service promises, over real HTTP, with users' chains in each.

mod backends;
mod proxy;
mod redis_server;
mod service;
mod waiting;

use libtest_mimic::Arguments;

fn main() {
    let arguments = Arguments::from_args();
    // What only lists its tests starts no Redis.
    let servers = (!arguments.list).then(redis_server::Servers::start);
    let mut trials = backends::trials(servers.as_ref());
    trials.extend(service::trials(servers.as_ref()));
    let conclusion = libtest_mimic::run(&arguments, trials);
    drop(servers);
    conclusion.exit();
}
