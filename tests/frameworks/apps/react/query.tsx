import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { Feed } from "documented-example";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

createRoot(document.querySelector("#app") ?? document.body).render(
  <StrictMode>
    <QueryClientProvider client={new QueryClient()}>
      <Feed userId="ada" />
    </QueryClientProvider>
  </StrictMode>,
);
