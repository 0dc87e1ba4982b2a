import { Link } from "react-router-dom";

export default function Article() {
  return (
    <article>
      <Link to="/">Back</Link>
    </article>
  );
}
