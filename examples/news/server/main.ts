/** The whole product in one process, for a first look. In production, `npm run web` and `npm run worker` are two. */
import "./web.ts";
import "./worker.ts";
