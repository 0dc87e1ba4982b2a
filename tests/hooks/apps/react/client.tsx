import { createRoot, hydrateRoot } from "react-dom/client";
import { BrowserRouter } from "react-router-dom";
import { App } from "./app.tsx";

const container = document.querySelector("#app") ?? document.body;
const app = (
  <BrowserRouter>
    <App initial={window.initial} />
  </BrowserRouter>
);
const report = (error: unknown) => console.error(error);
const root = window.initial?.ssr
  ? hydrateRoot(container, app, { onRecoverableError: report })
  : createRoot(container, { onRecoverableError: report });
if (!window.initial?.ssr) root.render(app);
window.adapterApp.unmount = () => root.unmount();
