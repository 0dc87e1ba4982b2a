/** One story with its text. */
import { useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { useNavigate, useParams } from "react-router-dom";
import { ago, type Article } from "../shared/story.ts";
import { useAccount, useRequest } from "./account.tsx";
import { requestFor } from "./api.ts";
import { useSeenStory } from "./stories.tsx";

export function ArticlePage() {
  const { id = "" } = useParams();
  const path = `/api/articles/${id}`;
  const queryKey = [useAccount().id, path];
  const request = useRequest();
  const { data: article, error } = useQuery({ queryKey, queryFn: () => request<Article>("GET", path) });
  if (error) return <p role="alert">There is no such story.</p>;
  return article ? <Text article={article} /> : <p role="status">Loading…</p>;
}

function Text({ article }: { article: Article }) {
  const account = useAccount();
  const navigate = useNavigate();
  useEffect(() => {
    requestFor(account)("PUT", `/api/history/${article.id}`).catch(console.error);
  }, [account, article.id]);
  return (
    <article ref={useSeenStory(article)} data-topic={article.topic}>
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
