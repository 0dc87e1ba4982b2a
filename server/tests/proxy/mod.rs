//! A proxy of Redis that tests slow down, silence and redirect.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;

/// The bytes of one read.
const PORTION: usize = 16 << 10;

pub struct Proxy {
    pub port: u16,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    /// The port to which new connections are forwarded.
    target: AtomicU64,
    /// The number of connections so far.
    opened: AtomicUsize,
    /// The first this many connections are silenced: they forward nothing, but stay open.
    silenced: AtomicUsize,
    /// The limit of the throughput; 0 for none.
    bytes_a_second: AtomicU64,
    is_closed: AtomicBool,
}

impl Proxy {
    pub async fn to(port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let proxy = Proxy {
            port: listener.local_addr().unwrap().port(),
            state: Arc::default(),
        };
        proxy.lead_to(port);
        let state = proxy.state.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let number = state.opened.fetch_add(1, Ordering::SeqCst);
                let target = SocketAddr::from(([127, 0, 0, 1], state.target.load(Ordering::SeqCst) as u16));
                let Ok(server) = TcpStream::connect(target).await else {
                    continue;
                };
                let ((from_client, to_client), (from_server, to_server)) = (client.into_split(), server.into_split());
                tokio::spawn(pass(state.clone(), number, from_client, to_server));
                tokio::spawn(pass(state.clone(), number, from_server, to_client));
            }
        });
        proxy
    }

    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Forwards new connections to this port. Existing ones stay.
    pub fn lead_to(&self, port: u16) {
        self.state.target.store(port.into(), Ordering::SeqCst);
    }

    /// Silences all connections so far, as if the other end were gone without closing them.
    pub fn silence(&self) {
        self.state.silenced.store(self.opened(), Ordering::SeqCst);
    }

    pub fn slow_down(&self, bytes_a_second: u64) {
        self.state.bytes_a_second.store(bytes_a_second, Ordering::SeqCst);
    }

    pub fn opened(&self) -> usize {
        self.state.opened.load(Ordering::SeqCst)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.state.is_closed.store(true, Ordering::SeqCst);
    }
}

async fn pass(
    state: Arc<State>,
    number: usize,
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
) -> std::io::Result<()> {
    let mut portion = vec![0; PORTION];
    loop {
        let length = from.read(&mut portion).await?;
        while number < state.silenced.load(Ordering::SeqCst) {
            if state.is_closed.load(Ordering::SeqCst) {
                return Ok(());
            }
            sleep(Duration::from_millis(50)).await;
        }
        if length == 0 {
            return Ok(());
        }
        to.write_all(&portion[..length]).await?;
        let speed = state.bytes_a_second.load(Ordering::SeqCst);
        if let Some(nanos) = (length as u64 * 1_000_000_000).checked_div(speed) {
            sleep(Duration::from_nanos(nanos)).await;
        }
    }
}
