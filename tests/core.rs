//! The core through its public API, in one program: a module for each rule, and in it a module for each file that ends
//! in `.core.rs`.
#![cfg(not(target_arch = "wasm32"))]

mod common;

mod chain {
    #[path = "plan.core.rs"]
    mod plan;
    #[path = "rotation.core.rs"]
    mod rotation;
    #[path = "store-call.core.rs"]
    mod store_call;
    #[path = "texts.core.rs"]
    mod texts;
    #[path = "unseen.core.rs"]
    mod unseen;
}

mod command {
    #[path = "inspect.core.rs"]
    mod inspect;
}

mod delivery {
    #[path = "once.core.rs"]
    mod once;
}

mod formats {
    #[path = "bad-input.core.rs"]
    mod bad_input;
    #[path = "foreign.core.rs"]
    mod foreign;
    #[path = "vectors.core.rs"]
    mod vectors;
}

mod guard {
    #[path = "decisions.core.rs"]
    mod decisions;
}

#[path = "near-duplicates/near-duplicates.core.rs"]
mod near_duplicates;

mod requests {
    #[path = "exchange.core.rs"]
    mod exchange;
    #[path = "json.core.rs"]
    mod json;
    #[path = "pending.core.rs"]
    mod pending;
}

mod storage {
    #[path = "rows.core.rs"]
    mod rows;
}
