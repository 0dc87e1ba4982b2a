import { render as renderApp } from "svelte/server";
import type { Initial } from "../shared.ts";
import App from "./App.svelte";

export function render(initial: Initial): string {
  return renderApp(App, { props: { initial } }).body;
}
