//! A backend in memory with injected behavior.

use seenguard::{PendingUpdate, Time};
use seenguard_server::{Backend, Error, Loaded, MemoryBackend, Replacement, async_trait};

/// A backend that calls a function before each load (with `None`) and before each replacement.
pub struct Odd<F> {
    memory: MemoryBackend,
    before: F,
    clock: Option<fn() -> Time>,
}

impl<F, W> Odd<F>
where
    F: Fn(Option<&Replacement>) -> W + Send + Sync + 'static,
    W: Future<Output = ()> + Send,
{
    pub fn new(before: F) -> Self {
        let memory = MemoryBackend::default();
        let clock = None;
        Odd { memory, before, clock }
    }

    /// Gives the backend a clock of its own.
    pub fn clock(self, clock: fn() -> Time) -> Self {
        let clock = Some(clock);
        Odd { clock, ..self }
    }
}

#[async_trait]
impl<F, W> Backend for Odd<F>
where
    F: Fn(Option<&Replacement>) -> W + Send + Sync + 'static,
    W: Future<Output = ()> + Send,
{
    async fn load(&self, user: &str, reported: Option<&PendingUpdate>) -> Result<Loaded, Error> {
        (self.before)(None).await;
        let mut loaded = self.memory.load(user, reported).await?;
        loaded.now = self.clock.map(|clock| clock());
        Ok(loaded)
    }

    async fn store_pending(&self, user: &str, reported: &PendingUpdate) -> Result<Option<Time>, Error> {
        self.memory.store_pending(user, reported).await?;
        Ok(self.clock.map(|clock| clock()))
    }

    async fn replace(&self, user: &str, replacement: &Replacement) -> Result<bool, Error> {
        (self.before)(Some(replacement)).await;
        self.memory.replace(user, replacement).await
    }

    async fn forget(&self, user: &str, replacement: &Replacement) -> Result<bool, Error> {
        self.memory.forget(user, replacement).await
    }
}
