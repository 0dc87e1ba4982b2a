//! Tests of the contract of stores over each backend (in memory, in Redis, on a Redis Cluster), of the Redis backend
//! //! during failures of Redis, and of the service over real HTTP with each backend.

mod backends;
mod proxy;
mod redis_server;
mod service;
mod waiting;

use libtest_mimic::Arguments;

fn main() {
    let arguments = Arguments::from_args();
    // Listing the tests starts no Redis.
    let servers = (!arguments.list).then(redis_server::Servers::start);
    let mut trials = backends::trials(servers.as_ref());
    trials.extend(service::trials(servers.as_ref()));
    let conclusion = libtest_mimic::run(&arguments, trials);
    drop(servers);
    conclusion.exit();
}
