//! When the program is to end.

use std::process;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::sleep;

use crate::Failure;

/// How far the program is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    Running,
    /// It is not ready any more, and serves on: load balancers take a while to notice.
    Draining,
    /// It takes nothing new, and finishes what it has begun.
    Stopping,
}

/// Ctrl-C, or SIGTERM where there are signals, begins the end; a second one is the end.
pub fn requested(drain: Duration) -> Result<watch::Receiver<Stage>, Failure> {
    let (sender, receiver) = watch::channel(Stage::Running);
    let mut signals = signals()?;
    tokio::spawn(async move {
        if signals.recv().await.is_none() {
            return std::future::pending().await;
        }
        tracing::info!("asked to end: what was begun is finished first; asked again, it ends at once");
        tokio::spawn(async move {
            if signals.recv().await.is_some() {
                tracing::warn!("asked to end again");
                process::exit(1);
            }
        });
        sender.send_replace(Stage::Draining);
        sleep(drain).await;
        sender.send_replace(Stage::Stopping);
        // The listeners see a change, not the end of the sender.
        sender.closed().await;
    });
    Ok(receiver)
}

#[cfg(unix)]
fn signals() -> Result<mpsc::Receiver<()>, Failure> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(async move {
        loop {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            if sender.send(()).await.is_err() {
                return;
            }
        }
    });
    Ok(receiver)
}

#[cfg(not(unix))]
fn signals() -> Result<mpsc::Receiver<()>, Failure> {
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(async move { while tokio::signal::ctrl_c().await.is_ok() && sender.send(()).await.is_ok() {} });
    Ok(receiver)
}

/// Waits until the program is as far.
pub async fn wait(stage: &mut watch::Receiver<Stage>, wanted: Stage) {
    // Its sender has gone only when the program has.
    let _ = stage.wait_for(|&stage| stage >= wanted).await;
}
