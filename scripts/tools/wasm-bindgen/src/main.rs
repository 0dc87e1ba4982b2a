//! Generates the JavaScript next to a compiled Wasm module, as `wasm-bindgen` does when it is called with these
//! arguments.

use std::{env, error::Error};

use wasm_bindgen_cli_support::Bindgen;

const USAGE: &str =
    "usage: wasm-bindgen --target web --omit-default-module-path --out-dir DIRECTORY --out-name NAME INPUT";

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let [
        "--target",
        "web",
        "--omit-default-module-path",
        "--out-dir",
        directory,
        "--out-name",
        name,
        input,
    ] = args[..]
    else {
        return Err(USAGE.into());
    };
    Bindgen::new()
        .input_path(input)
        .out_name(name)
        .web(true)?
        .typescript(true)
        .omit_default_module_path(true)
        .generate(directory)?;
    Ok(())
}
