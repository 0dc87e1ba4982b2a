//! What every store promises, over each backend: in memory, in Redis, on a Redis Cluster; and what those in Redis do when
//! Redis forgets, refuses or goes away.

mod backends;
mod proxy;
#[allow(dead_code)]
mod redis_server;
mod waiting;

use libtest_mimic::Arguments;

fn main() {
    let arguments = Arguments::from_args();
    // What only lists its tests starts no Redis.
    let servers = (!arguments.list).then(redis_server::Servers::start);
    let trials = backends::trials(servers.as_ref());
    let conclusion = libtest_mimic::run(&arguments, trials);
    drop(servers);
    conclusion.exit();
}
