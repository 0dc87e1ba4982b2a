/** The page's start: the routes, and the query cache. */
import { QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { createBrowserRouter, RouterProvider, useParams } from "react-router-dom";
import { SignIn } from "./account.tsx";
import { ArticlePage } from "./article.tsx";
import { History } from "./history.tsx";
import { Layout } from "./layout.tsx";
import { openQueries } from "./queries.ts";
import { Stories } from "./stories.tsx";
import "./style.css";

const Feed = () => <Stories path="/api/feed" title="New to you" old="drop" />;

function Topic() {
  const { topic = "" } = useParams();
  return <Stories key={topic} path={`/api/topics/${encodeURIComponent(topic)}`} title={topic} old="last" />;
}

const router = createBrowserRouter([
  { path: "/sign-in", element: <SignIn /> },
  {
    element: <Layout />,
    children: [
      { path: "/", element: <Feed /> },
      { path: "/topics/:topic", element: <Topic /> },
      { path: "/articles/:id", element: <ArticlePage /> },
      { path: "/history", element: <History /> },
    ],
  },
]);
const queries = openQueries();

createRoot(document.getElementById("app") as HTMLElement).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </StrictMode>,
);
