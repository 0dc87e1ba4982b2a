import { Feed } from "documented-example";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

createRoot(document.querySelector("#app") ?? document.body).render(
  <StrictMode>
    <Feed userId="ada" />
  </StrictMode>,
);
