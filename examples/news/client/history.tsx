/** The stories that this reader has opened, and their deletion. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "react-router-dom";
import { idsOf, type Story } from "../shared/story.ts";
import { useAccount, useGuard, useRequest } from "./account.tsx";

const PATH = "/api/history";

export function History() {
  const account = useAccount();
  const guard = useGuard();
  const request = useRequest();
  const queries = useQueryClient();
  const queryKey = [account.id, PATH];
  const { data: stories } = useQuery({ queryKey, queryFn: () => request<Story[]>("GET", PATH), staleTime: 0 });

  const showAgain = useMutation({
    mutationFn: async (story: Story) => {
      guard?.unsee(idsOf(story));
      await request("DELETE", `${PATH}/${story.id}`);
    },
    onSuccess: () => queries.invalidateQueries({ queryKey }),
  });
  const deleteAll = useMutation({
    mutationFn: () => request("DELETE", PATH),
    // All lists are outdated now.
    onSuccess: () => queries.resetQueries({ queryKey: [account.id] }),
  });

  return (
    <>
      <div className="title">
        <h1>History</h1>
        <button onClick={() => deleteAll.mutate()}>Delete history</button>
      </div>
      <p>
        Deleting it also forgets which stories you have seen: they come again, on all your devices. “Show again” brings
        back one.
      </p>
      {deleteAll.isSuccess && <p role="status">Your history is deleted.</p>}
      <ul className="history">
        {stories?.map((story) => (
          <li key={story.id} data-topic={story.topic}>
            <Link to={`/articles/${story.id}`}>{story.title}</Link>
            <button onClick={() => showAgain.mutate(story)}>Show again</button>
          </li>
        ))}
      </ul>
      {stories?.length === 0 && <p className="end">You have opened no story yet.</p>}
    </>
  );
}
