/** Serves the app at PORT, by default 3000. */
import type { AddressInfo } from "node:net";
import { app } from "./app.ts";

const server = app.listen(Number(process.env.PORT ?? 3000), () => {
  console.log(`http://localhost:${(server.address() as AddressInfo).port}/`);
});
