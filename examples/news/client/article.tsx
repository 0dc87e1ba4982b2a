/** One story with its text. */
import { useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { useNavigate, useParams } from "react-router-dom";
import { idsOf } from "../shared/seen.ts";
import type { Article } from "../shared/story.ts";
import { useAccount } from "./account.tsx";
import { requestFor } from "./api.ts";
import { useGuard } from "./seen.ts";
import { ago } from "./stories.tsx";

export function ArticlePage() {
  const { id = "" } = useParams();
  const account = useAccount();
  const guard = useGuard();
  const navigate = useNavigate();
  const path = `/api/articles/${id}`;
  const { data: article, error } = useQuery({
    queryKey: [account.id, path],
    queryFn: () => requestFor(account)<Article>("GET", path),
  });

  useEffect(() => {
    if (!article) return;
    guard.record(idsOf(article));
    requestFor(account)("PUT", `/api/history/${article.id}`).catch(console.error);
  }, [article, guard, account]);

  if (error) return <p role="alert">There is no such story.</p>;
  if (!article) return <p role="status">Loading…</p>;
  return (
    <article data-topic={article.topic}>
      <button className="back" onClick={() => navigate(-1)}>
        ← Back
      </button>
      <p className="topic">{article.topic}</p>
      <h1>{article.title}</h1>
      <p className="source">
        {article.source} · {ago(article.minutesAgo)}
      </p>
      {article.paragraphs.map((paragraph) => (
        <p key={paragraph}>{paragraph}</p>
      ))}
    </article>
  );
}
