//! Real Redis servers on free ports of the loopback, which end when they are dropped.

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use redis::{Client, Commands, Connection, cmd};
use rustix::process::{Pid, Signal, kill_process};

use crate::waiting::eventually;

const SLOTS: usize = 16_384;
const NODES: usize = 3;
/// The most attempts to start a server on free ports.
const MAX_STARTS: usize = 5;

/// Returns a free port.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("the loopback has a free port");
    listener.local_addr().expect("it is bound").port()
}

/// A Redis server without persistence.
pub struct RedisServer {
    process: Child,
    pub port: u16,
    settings: Vec<String>,
    directory: PathBuf,
}

impl RedisServer {
    /// Starts a server with additional settings, such as `["--maxmemory", "2mb"]`.
    pub fn start(settings: &[&str]) -> Self {
        Self::start_with(|| settings.iter().map(|&setting| setting.to_owned()).collect())
    }

    /// Starts a server, again with other ports if another process has taken one meanwhile.
    fn start_with(settings: impl Fn() -> Vec<String>) -> Self {
        let started = (0..MAX_STARTS).find_map(|_| {
            let port = free_port();
            let directory = std::env::temp_dir().join(format!("seenguard-redis-{}-{port}", std::process::id()));
            std::fs::create_dir_all(&directory).expect("a directory for temporary files");
            let settings = settings();
            let mut server = RedisServer {
                process: launch(port, &settings, &directory),
                port,
                settings,
                directory,
            };
            server.responds().then_some(server)
        });
        started.expect("Redis starts")
    }

    /// Makes the server accept connections over TLS, too, with a client certificate if `asks_clients`. Returns the URL
    /// for TLS, and the files of the certificate and its key, which clients may use, too.
    pub fn listen_with_tls(&self, asks_clients: bool) -> (String, [PathBuf; 2]) {
        let port = free_port().to_string();
        let files = self.renew_certificates();
        let asks_clients = if asks_clients { "yes" } else { "no" };
        cmd("CONFIG")
            .arg(&["SET", "tls-port", &port, "tls-auth-clients", asks_clients])
            .exec(&mut self.client())
            .expect("Redis was compiled with TLS");
        (format!("rediss://127.0.0.1:{port}"), files)
    }

    /// Replaces the certificate, and trusts only the new one.
    pub fn renew_certificates(&self) -> [PathBuf; 2] {
        let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).expect("a certificate");
        let files = [
            ("certificate.pem", made.cert.pem()),
            ("key.pem", made.signing_key.serialize_pem()),
        ];
        let files = files.map(|(name, text)| {
            let path = self.directory.join(name);
            std::fs::write(&path, text).expect("a temporary file");
            path
        });
        let [certificate, key] = files.each_ref().map(|path| path.to_string_lossy());
        cmd("CONFIG")
            .arg(&["SET", "tls-cert-file", &*certificate, "tls-ca-cert-file", &*certificate])
            .arg(&["tls-key-file", &*key])
            .exec(&mut self.client())
            .expect("Redis was compiled with TLS");
        files
    }

    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// A connection for the test.
    pub fn client(&self) -> Connection {
        let client = Client::open(self.url()).expect("the URL is valid");
        client.get_connection().expect("Redis responds")
    }

    /// Suspends the process: it does not respond, and its connections stay open.
    pub fn pause(&self) {
        self.signal(Signal::STOP);
    }

    /// Resumes the suspended process.
    pub fn resume(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.process), signal).expect("it is our process");
    }

    /// Kills the process.
    pub fn kill(&mut self) {
        self.process.kill().expect("it is our process");
        self.process.wait().expect("it is our process");
    }

    /// Starts the server again on its port, empty.
    pub fn restart(&mut self) {
        self.process = launch(self.port, &self.settings, &self.directory);
        assert!(self.responds(), "Redis has ended");
    }

    /// Waits until it responds. Returns false if it has ended.
    fn responds(&mut self) -> bool {
        eventually("Redis responds", || {
            if self.process.try_wait().expect("it is our process").is_some() {
                return Some(false);
            }
            let client = Client::open(self.url()).ok()?;
            let mut connection = client.get_connection_with_timeout(Duration::from_secs(1)).ok()?;
            connection.ping::<String>().ok().map(|_| true)
        })
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

fn launch(port: u16, settings: &Vec<String>, directory: &PathBuf) -> Child {
    let mut command = Command::new("redis-server");
    command.args([
        "--port",
        &port.to_string(),
        "--bind",
        "127.0.0.1",
        "--save",
        "",
        "--appendonly",
        "no",
        "--dir",
    ]);
    command.arg(directory).args(settings).stdout(Stdio::null());
    command.spawn().expect("redis-server is on PATH: npm run setup")
}

/// A single Redis, and a cluster of three nodes.
pub struct Servers {
    pub single: RedisServer,
    pub cluster: Vec<RedisServer>,
}

impl Servers {
    pub fn start() -> Self {
        let servers = Servers {
            single: RedisServer::start(&[]),
            cluster: (0..NODES).map(|_| start_node()).collect(),
        };
        servers.form_cluster();
        servers
    }

    fn form_cluster(&self) {
        let first = &self.cluster[0];
        for (index, node) in self.cluster.iter().enumerate() {
            let [from, to] = [index, index + 1].map(|part| part * SLOTS / NODES);
            let bus = node.settings.last().expect("a node's last setting is its bus's port");
            let mut client = node.client();
            cmd("CLUSTER")
                .arg(&["ADDSLOTSRANGE", &from.to_string(), &(to - 1).to_string()])
                .exec(&mut client)
                .unwrap();
            cmd("CLUSTER")
                .arg(&["SET-CONFIG-EPOCH", &(index + 1).to_string()])
                .exec(&mut client)
                .unwrap();
            let meet = ["MEET", "127.0.0.1", &node.port.to_string(), bus];
            cmd("CLUSTER").arg(&meet).exec(&mut first.client()).unwrap();
        }
        for node in &self.cluster {
            eventually("the cluster is one", || {
                let info: String = cmd("CLUSTER").arg("INFO").query(&mut node.client()).ok()?;
                let is_one = info.contains("cluster_state:ok") && info.contains("cluster_known_nodes:3");
                is_one.then_some(())
            });
        }
    }
}

fn start_node() -> RedisServer {
    RedisServer::start_with(|| {
        let bus = free_port().to_string();
        let settings = [
            "--cluster-enabled",
            "yes",
            "--cluster-node-timeout",
            "5000",
            "--cluster-port",
            &bus,
        ];
        settings.map(str::to_owned).to_vec()
    })
}
